"""What the simplex of a slot's programme works on: the programme, and a basis of it. `pivots` moves between bases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.jit import helper
from discreet.numerics import BoolArray, FloatArray, IntArray


class Problem(NamedTuple):
    """N columns: a flow from state[k] to output[k], worth value[k]; a state's columns stand together, in order."""

    mass: FloatArray  # (P,)
    first: IntArray  # (P + 1,): where each state's columns begin
    state: IntArray  # (N,)
    output: IntArray  # (N,)
    value: FloatArray  # (N,)
    coefficients: FloatArray  # (J, P)
    outputs: int
    begins: IntArray  # (O + 1,): the same columns, an output's together: where each output's places begin
    place: IntArray  # (N,): the place of each column there
    member: IntArray  # (N,): the state of each place; an output's are in order
    column: IntArray  # (N,): the column at each place


class Basis(NamedTuple):
    """What the simplex works on, with room for R coupling rows. The slack of coupling row r is the column -1 - r."""

    key: IntArray  # (P,): the key column of each state
    reduced: FloatArray  # (N,): reduced costs of columns
    in_basis: BoolArray  # (N,): whether a column is basic, keys not counted
    slack_cost: FloatArray  # (R,): reduced costs of slacks
    rest: FloatArray  # (R,): what the keys leave of each coupling row
    inverse: FloatArray  # (R, R): of the working basis
    values: FloatArray  # (R,): of the working basic variables
    changed: BoolArray  # (R,): where a value is no longer that of the inverse
    size: FloatArray  # (R,): one more than the squares of a row of the inverse; 0 where it has changed
    basic: IntArray  # (R,): the column at each place of it
    row_output: IntArray  # (R,): the output of each coupling row
    row_index: IntArray  # (R,): its index into coefficients
    own: FloatArray  # (R, most members of an output): the coefficients of its output's members
    told: FloatArray  # (N,): room for a combination of coupling rows, at the places of columns
    alpha: FloatArray  # (N,): room for the pivot row
    ratio: FloatArray  # (P,): room for the step at which a column of each state enters
    early: BoolArray  # (P,): room for the states with a column that may be the first to enter
    room: FloatArray  # (4, max(P, R))
    marks: BoolArray  # (2, max(P, R))
    few: IntArray  # (R,): room for the rows that a column has entries in
    refused: BoolArray  # (R,): places that may not leave, because no pivot there can be trusted
    spent: IntArray  # (2,): pivots and operations so far


@helper
def start(problem: Problem, rows: int) -> Basis:
    """Every state at its most valued output, and room for so many coupling rows."""
    states, columns = len(problem.mass), len(problem.state)
    key = np.full(states, -1)
    for k in range(columns):
        m = problem.state[k]
        if key[m] < 0 or problem.value[k] > problem.value[key[m]]:
            key[m] = k
    reduced = np.empty(columns)
    for k in range(columns):
        reduced[k] = problem.value[k] - problem.value[key[problem.state[k]]]
    widest = 0
    for o in range(problem.outputs):
        widest = max(widest, problem.begins[o + 1] - problem.begins[o])
    return Basis(
        key,
        reduced,
        np.zeros(columns, np.bool_),
        np.zeros(rows),
        np.zeros(rows),
        np.empty((rows, rows)),
        np.zeros(rows),
        np.ones(rows, np.bool_),
        np.zeros(rows),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.empty((rows, widest)),
        np.zeros(columns),
        np.zeros(columns),
        np.zeros(states),
        np.zeros(states, np.bool_),
        np.zeros((4, max(states, rows))),
        np.zeros((2, max(states, rows)), np.bool_),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.bool_),
        np.zeros(2, np.int64),
    )
