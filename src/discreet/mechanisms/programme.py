"""The linear programme of a slot, Adaptive's and CAPP's, solved by a dual simplex made for its shape. Compiled.

A private state m has mass p[m] and sends flows f[m, o] >= 0 to the outputs it may use:
    maximise  sum value[m, o] f[m, o]
    subject to  sum_o f[m, o] = p[m]                  for each m      (each unit of mass goes somewhere)
                sum_m a[j, m] f[m, o] <= 0            for each o, j   (no output tells too much: theory section 2)
Flows are probabilities times masses, so that coefficients are differences of beliefs, of size at most one.

The first kind of row couples nothing but one state's own flows (generalised upper bounds, Dantzig and Van Slyke 1967):
one flow of each state is its *key*, and the basis that is inverted has only as many rows as coupling rows are in use.
Those are generated when they are violated: of outputs times rows few ever bind. The start, every state at its most
valued output, is optimal without coupling rows, hence dual feasible; the dual simplex repairs one violated row after
the other. Ties are many (fakes are worth the same), so values are perturbed by less than `PERTURBATION`, the same for
every call.

Here rows are added and dropped; `pivots` is the simplex between. Limits count pivots, never time. Whatever is returned
is checked by the caller: a failed solve costs utility, not privacy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.jit import FLOATS, FLOATS_2D, INT, INTS, compiled, dot, helper, in_place, row_dot
from discreet.mechanisms.basis import Basis, Problem, start
from discreet.mechanisms.pivots import NOISE, add_row, most_worth, pivoted, revalue
from discreet.numerics import FloatArray, IntArray

PERTURBATION = 2.0**-24
"""Most that a value is changed by to break ties; the solution is optimal up to it."""

ROWS = 400
"""Coupling rows in use at most, unless a caller says otherwise; one that needs more is given up, and counted."""

PIVOTS = 6_000
"""Pivots at most, over all rounds and attempts."""

OPERATIONS = 100_000_000
"""Multiplications at most, counted by size and not by time: pivots are dearer with more rows. About 0.1 s."""

ROUNDS = 200
"""Rounds of adding rows at most."""

FEASIBLE = 1e-13
"""Rows above zero by this, relative to the output's mass, count as met."""

IDLE = 1e-6
"""Coupling rows with more slack than this are dropped from the working basis between rounds."""

PERTURBATIONS = (PERTURBATION, 2.0**-20, 2.0**-16)
"""Of the attempts that are made before a programme is given up: where values differ by more, fewer columns are a tie,
and pivots are larger."""

PATIENCE = 400
"""Pivots of the first attempt after which care is taken of rounding (`pivots`); later attempts take it from the start.
Few programmes need so many. Those that do mostly failed after many more, and were then begun anew."""

ATTEMPTS = len(PERTURBATIONS)

GAP = 2.0**-10
"""A solution that is known to be this close to the optimum is taken without another attempt."""


REFINEMENTS = 2
"""Steps of iterative refinement, where care is taken of rounding. Without them some rows in use are met to 1e-8 of
their output only, and mending the rounded kernel costs much of its worth."""

LARGE = 600
"""Private states from which a programme takes longer in plain Python than compiling takes."""


class Solution(NamedTuple):
    """Flows of the columns; `solved` is False where a limit was reached: the flows are then not to be used."""

    solved: bool
    flows: FloatArray  # (N,)
    pivots: int
    rows: int
    bound: float = 0.0  # no flows are worth more


def solve(
    mass: FloatArray,
    state: IntArray,
    output: IntArray,
    value: FloatArray,
    coefficients: FloatArray,
    outputs: int,
    *,
    pivots: int = PIVOTS,
    operations: int = OPERATIONS,
    most_rows: int = ROWS,
    attempts: int = ATTEMPTS,
) -> Solution:
    """The best flows; arguments as in `Problem`, and limits. Every state has at least one column."""
    rows = np.ascontiguousarray(coefficients)
    state, output = np.ascontiguousarray(state), np.ascontiguousarray(output)  # each layout is compiled apart
    first = np.searchsorted(state, np.arange(len(mass) + 1))
    column = np.argsort(output, kind="stable")
    place = np.empty_like(column)
    place[column] = np.arange(len(column))
    begins = np.searchsorted(output[column], np.arange(outputs + 1))
    best, highest, least, took, done = None, -np.inf, np.inf, 0, 0
    for attempt, most in enumerate(PERTURBATIONS[:attempts]):
        perturbed = value - most * scatter(attempt * len(value), len(value))
        problem = Problem(mass, first, state, output, perturbed, rows, outputs, begins, place, state[column], column)
        solved, flows, worth, bound, used, effort, in_use = _solve(
            *problem, pivots - took, operations - done, most_rows, 0 if attempt else PATIENCE
        )
        took, done = took + used, done + effort
        if solved:
            least = min(least, bound + most)  # each attempt bounds all of them, up to what its values were changed by
        if solved and worth > highest:
            best, highest = Solution(True, flows, took, in_use), worth
        if least - highest <= GAP:
            break
    return best._replace(bound=least) if best else Solution(False, np.zeros(len(value)), took, 0)


def scatter(start: int, count: int) -> FloatArray:
    """Multiples of the golden ratio modulo one: in (0, 1), spread evenly, never repeating."""
    return np.asarray((np.arange(1 + start, 1 + start + count) * 0.6180339887498949) % 1.0)


@compiled(
    *(FLOATS, INTS, INTS, INTS, FLOATS, FLOATS_2D, INT, INTS, INTS, INTS, INTS, INT, INT, INT, INT),
    batch=lambda mass, *_: len(mass) > LARGE,
)
def _solve(
    mass: FloatArray,
    first: IntArray,
    state: IntArray,
    output: IntArray,
    value: FloatArray,
    coefficients: FloatArray,
    outputs: int,
    begins: IntArray,
    place: IntArray,
    member: IntArray,
    column: IntArray,
    pivots: int,
    operations: int,
    most_rows: int,
    patience: int,
) -> tuple[bool, FloatArray, float, float, int, int, int]:
    """Rounds of the dual simplex, adding the most violated row of each output in between.

    Whether that ended; flows, their worth, and the most that any are worth; pivots, operations and rows in use. The
    fields of a `Problem` one by one: arrays that may and that may not be written then need one compilation.
    """
    problem = Problem(mass, first, state, output, value, coefficients, outputs, begins, place, member, column)
    basis = start(problem, most_rows)
    rows, spent = 0, basis.spent
    flows = np.zeros(len(state))
    for _ in range(ROUNDS):
        for r in range(rows):  # sums have another order where there are more rows, or fewer
            basis.changed[r] = True
        revalue(basis, rows)
        flows = _flows(problem, basis, rows)
        rows = _drop_idle(basis, rows)
        added = _add_violated(problem, basis, rows, flows)
        if added == 0:
            if spent[0] >= patience:
                flows = _refined(problem, basis, rows, flows)
            bound = most_worth(problem, basis, rows)
            return True, flows, dot(value, flows), bound, spent[0], spent[1], rows
        rows += max(added, 0)
        if added < 0 or not pivoted(problem, basis, rows, pivots, operations, patience):
            break
    return False, flows, 0.0, 0.0, spent[0], spent[1], rows


@helper
def _flows(problem: Problem, basis: Basis, rows: int) -> FloatArray:
    flows, values = np.zeros(len(problem.state)), basis.values
    for m in range(len(problem.mass)):
        flows[basis.key[m]] = problem.mass[m]
    for i in range(rows):
        column = basis.basic[i]
        if column >= 0:
            flows[column] += values[i]
            flows[basis.key[problem.state[column]]] -= values[i]
    return flows


@helper
def _refined(problem: Problem, basis: Basis, rows: int, flows: FloatArray) -> FloatArray:
    """The same flows without what rows in use are off: the inverse that the values come from is rounded.

    Each step of iterative refinement leaves of that the inverse's own relative error.
    """
    off, values, basic, inverse = np.empty(rows), basis.values, basis.basic, basis.inverse
    for _ in range(REFINEMENTS):
        told = _told(problem, flows)[0]
        for r in range(rows):
            off[r] = told[basis.row_output[r], basis.row_index[r]]
        for i in range(rows):
            if basic[i] < 0:
                off[-1 - basic[i]] += values[i]
        for i in range(rows):
            values[i] -= row_dot(inverse, i, off, rows)
        flows = _flows(problem, basis, rows)
    return flows


@helper
def _told(problem: Problem, flows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(O, J): what each output tells, in the order of `dot` over all states; (O,): the sum of its flows.

    Of the terms of `dot` those that are not zero are added to their lanes: most states send an output nothing.
    """
    states, begins, member, column = len(problem.mass), problem.begins, problem.member, problem.column
    coefficients = problem.coefficients
    rows, whole = len(coefficients), states - states % 8
    told, total = np.zeros((problem.outputs, rows)), np.zeros(problem.outputs)
    lanes = np.zeros((rows, 9))
    for o in range(problem.outputs):
        for j in range(rows):
            for lane in range(9):
                lanes[j, lane] = 0.0
        for at in range(begins[o], begins[o + 1]):
            flow, m = flows[column[at]], member[at]
            total[o] += flow
            last = at + 1 == begins[o + 1] or member[at + 1] != m  # of a state's flows to one output, the last counts
            if flow != 0.0 and last:
                lane = m % 8 if m < whole else 8
                for j in range(rows):
                    lanes[j, lane] += flow * coefficients[j, m]
        for j in range(rows):
            low = (lanes[j, 0] + lanes[j, 1]) + (lanes[j, 2] + lanes[j, 3])
            high = (lanes[j, 4] + lanes[j, 5]) + (lanes[j, 6] + lanes[j, 7])
            told[o, j] = (low + high) + lanes[j, 8]
    return told, total


@helper
def _add_violated(problem: Problem, basis: Basis, rows: int, flows: FloatArray) -> int:
    """Add the most violated row of each output, its slack basic; how many, or -1 if there is no room."""
    told, total = _told(problem, flows)
    for r in range(rows):  # a row in use is met up to the precision of its slack
        told[basis.row_output[r], basis.row_index[r]] = 0.0
    added = 0
    for o in range(problem.outputs):
        worst, at = max(FEASIBLE * total[o], NOISE), -1
        for j in range(len(problem.coefficients)):
            if told[o, j] > worst:
                worst, at = told[o, j], j
        if at >= 0:
            if rows + added == len(basis.rest):
                return -1
            add_row(problem, basis, rows + added, o, at)
            added += 1
    return added


@in_place
def _drop_idle(basis: Basis, rows: int) -> int:
    """Drop the coupling rows that are far from binding; they come back if they are violated again.

    Their slack is basic, a unit column of the working basis: its place and its row are simply left out of the inverse.
    """
    place, values = 0, basis.values
    while place < rows:
        if basis.basic[place] >= 0 or values[place] < IDLE:
            place += 1
            continue
        r, last = -1 - basis.basic[place], rows - 1
        basis.basic[place], values[place] = basis.basic[last], values[last]
        for i in range(rows):
            basis.inverse[place, i] = basis.inverse[last, i]
        for i in range(rows):
            basis.inverse[i, r] = basis.inverse[i, last]
        basis.row_output[r], basis.row_index[r] = basis.row_output[last], basis.row_index[last]
        basis.slack_cost[r], basis.rest[r] = basis.slack_cost[last], basis.rest[last]
        for i in range(basis.own.shape[1]):
            basis.own[r, i] = basis.own[last, i]
        for i in range(last):
            if basis.basic[i] == -1 - last:
                basis.basic[i] = -1 - r
        rows = last
    return rows
