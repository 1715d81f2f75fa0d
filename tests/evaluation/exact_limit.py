"""The causal limit in exact fractions: the slow twin of `discreet.limit`, for two slots of two contexts or so.

Masses y(x, h) = P(contexts x, outputs h) and a simplex tableau over fractions, by Bland's rule.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from discreet.evaluation.limit import Outputs
from discreet.models import MarkovChain
from discreet.policy import Policy

Row = list[Fraction]
SILENT = -1


def exact_limit(chain: MarkovChain, policy: Policy, outputs: Outputs) -> Fraction:
    """Expected releases. Rows of the chain are divided by their sums, which floats leave off by their rounding."""
    n, slots = len(chain.contexts), chain.slots
    initial, steps = _row(chain.initial), [[_row(row) for row in step] for step in chain.transitions]

    def step(path: tuple[int, ...]) -> Fraction:
        return steps[len(path) - 2][path[-2]][path[-1]] if len(path) > 1 else initial[path[0]]

    def allowed(path: tuple[int, ...]) -> list[tuple[int, ...]]:
        choices = [(*range(n), SILENT) if outputs == "deceive" else (c, SILENT) for c in path]
        return list(product(*choices))

    nodes: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for t in range(slots):
        for path in [path for path in nodes if len(path) == t]:
            nodes |= {(*path, c): nodes[path] * step((*path, c)) for c in range(n) if step((*path, c))}
    pairs = [(path, history) for path in nodes if path for history in allowed(path)]
    number = {pair: k for k, pair in enumerate(pairs)}
    worth = [Fraction(path[-1] == history[-1]) for path, history in pairs]
    equal, right = [], []
    for path in (path for path in nodes if path):
        for history in allowed(path[:-1]):
            row = [Fraction(0)] * len(pairs)
            for output in dict.fromkeys(one[-1] for one in allowed(path)):
                row[number[path, (*history, output)]] = Fraction(1)
            if history:
                row[number[path[:-1], history]] = -step(path)
            equal.append(row)
            right.append(Fraction(0) if history else step(path))
    whole = [path for path in nodes if len(path) == slots]
    private = []
    for members, delta in _events(chain, policy, whole):
        bound = sum((nodes[path] for path in members), Fraction(0)) + delta
        for history in dict.fromkeys(history for path in whole for history in allowed(path)):
            row = [Fraction(0)] * len(pairs)
            for path in whole:
                if (path, history) in number:
                    row[number[path, history]] = (path in members) - bound
            private.append(row)
    return maximum(worth, equal, right, private)


def _row(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Row:
    exact = [Fraction(float(value)) for value in values]
    return [value / sum(exact) for value in exact]


def _events(
    chain: MarkovChain, policy: Policy, paths: list[tuple[int, ...]]
) -> list[tuple[set[tuple[int, ...]], Fraction]]:
    events = []
    for secret in policy.secrets:
        inside = {chain.contexts.index(context) for context in secret.contexts}
        slots = range(chain.slots) if secret.slots is None else sorted(secret.slots)
        delta = Fraction(policy.delta if secret.delta is None else secret.delta)
        windows = [list(slots)] if secret.at == "any" else [[slot] for slot in slots]
        events += [({path for path in paths if any(path[t] in inside for t in window)}, delta) for window in windows]
    return events


def maximum(worth: Row, equal: list[Row], right: Row, private: list[Row]) -> Fraction:
    """The largest worth y over y >= 0 with equal y = right >= 0 and private y <= 0."""
    width, slacks = len(worth), len(private)
    zero, one = Fraction(0), Fraction(1)
    table = []
    for k, row in enumerate(private):
        table.append([*row, *(one if i == k else zero for i in range(slacks)), *([zero] * len(equal)), zero])
    for k, row in enumerate(equal):
        table.append([*row, *([zero] * slacks), *(one if i == k else zero for i in range(len(equal))), right[k]])
    basis = list(range(width, width + slacks + len(equal)))  # slacks, then an artificial variable for each equation
    real = width + slacks
    first = [sum((row[i] for row in table[slacks:]), zero) if i < real else zero for i in range(len(table[0]))]
    first[-1] = sum(right, zero)
    _pivot_to_the_end(table, basis, first, real)
    assert first[-1] == 0, "the programme has no solution"
    for k in range(len(basis)):  # artificial variables that stayed at zero leave, unless their equation says nothing
        entering = next((i for i in range(real) if table[k][i] != 0), None)
        if basis[k] >= real and entering is not None:
            _pivot(table, basis, first, k, entering)
    costs = [*worth, *([zero] * (len(table[0]) - width))]
    for k, variable in enumerate(basis):
        if costs[variable] != 0:
            factor = costs[variable]
            costs = [cost - factor * entry for cost, entry in zip(costs, table[k], strict=True)]
    _pivot_to_the_end(table, basis, costs, real)
    return -costs[-1]


def _pivot_to_the_end(table: list[Row], basis: list[int], costs: Row, real: int) -> None:
    """Bland's rule: the first variable that gains enters, and of the rows that bind, the first variable leaves."""
    while (entering := next((i for i in range(real) if costs[i] > 0), None)) is not None:
        ratios = [(row[-1] / row[entering], basis[k], k) for k, row in enumerate(table) if row[entering] > 0]
        _pivot(table, basis, costs, min(ratios)[2], entering)


def _pivot(table: list[Row], basis: list[int], costs: Row, leaving: int, entering: int) -> None:
    pivot = table[leaving][entering]
    table[leaving] = [entry / pivot for entry in table[leaving]]
    for row in (*(row for k, row in enumerate(table) if k != leaving), costs):
        if row[entering] != 0:
            factor = row[entering]
            row[:] = [entry - factor * by for entry, by in zip(row, table[leaving], strict=True)]
    basis[leaving] = entering
