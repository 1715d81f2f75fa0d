"""The slot's programme as it was first written, over dense rows: the slow twin of discreet.mechanisms.programme.

Every pivot is the same, and so is every bit of the solution; see there for what it does. Here all values are computed
anew with each pivot, and rows are as long as there are states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.jit import compiled, dot
from discreet.numerics import BoolArray, FloatArray, IntArray

PERTURBATION = 2.0**-24
"""Most that a value is changed by to break ties; the solution is optimal up to it."""

ROWS = 160
"""Coupling rows in use at most, unless a caller says otherwise; one that needs more is given up, and counted."""

PIVOTS = 4_000
"""Pivots at most, over all rounds."""

ROUNDS = 200
"""Rounds of adding rows at most."""

FEASIBLE = 1e-13
"""Rows above zero by this, relative to the output's mass, count as met."""

NOISE = 1e-14
"""What flows may be below zero and rows above it for rounding alone: total mass is one, coefficients at most one."""

NEARLY = 1e-10
"""A flow below zero by less, which no pivot can raise, is left to the check of the rounded kernel."""

SMALLEST_PIVOT = 1e-9
"""Columns that move the leaving flow by less per unit do not enter: they would spoil the inverse."""

TIE = 1e-9
"""Reduced costs that reach zero within this of each other are a tie, which the largest pivot wins (Harris 1973)."""

FRESH = 100
"""Pivots after which the inverse and the reduced costs are computed anew."""

IDLE = 1e-6
"""Coupling rows with more slack than this are dropped from the working basis between rounds."""

DRIFT = 1e-6
"""So far may a pivot, computed by row and by column, disagree before they are computed anew at once."""

ATTEMPTS = 3
"""Perturbations that are tried before a programme is given up."""

NOTHING = -(2**62)
"""In place of a column: none can enter."""


class Problem(NamedTuple):
    """N columns: a flow from state[k] to output[k], worth value[k]; a state's columns stand together, in order."""

    mass: FloatArray  # (P,)
    first: IntArray  # (P + 1,): where each state's columns begin
    state: IntArray  # (N,)
    output: IntArray  # (N,)
    value: FloatArray  # (N,)
    coefficients: FloatArray  # (J, P)
    outputs: int


class Basis(NamedTuple):
    """What the simplex works on, with room for R coupling rows. The slack of coupling row r is the column -1 - r."""

    key: IntArray  # (P,): the key column of each state
    reduced: FloatArray  # (N,): reduced costs of columns
    in_basis: BoolArray  # (N,): whether a column is basic, keys not counted
    slack_cost: FloatArray  # (R,): reduced costs of slacks
    rest: FloatArray  # (R,): what the keys leave of each coupling row
    inverse: FloatArray  # (R, R): of the working basis
    basic: IntArray  # (R,): the column at each place of it
    row_output: IntArray  # (R,): the output of each coupling row
    row_index: IntArray  # (R,): its index into coefficients
    told: FloatArray  # (O, P): room for a combination of coupling rows
    alpha: FloatArray  # (N,): room for the pivot row
    ratio: FloatArray  # (2, P): room for the step at which a column of each state enters; and the same, less a tie


class Solution(NamedTuple):
    """Flows of the columns; `solved` is False where a limit was reached: the flows are then not to be used."""

    solved: bool
    flows: FloatArray  # (N,)
    pivots: int
    rows: int


def solve(
    mass: FloatArray,
    state: IntArray,
    output: IntArray,
    value: FloatArray,
    coefficients: FloatArray,
    outputs: int,
    *,
    pivots: int = PIVOTS,
    most_rows: int = ROWS,
    attempts: int = ATTEMPTS,
) -> Solution:
    """The best flows; arguments as in `Problem`, and limits. Every state has at least one column."""
    rows = np.ascontiguousarray(coefficients)
    first = np.searchsorted(state, np.arange(len(mass) + 1))
    for attempt in range(attempts):
        perturbed = value - PERTURBATION * scatter(attempt * len(value), len(value))
        problem = Problem(mass, first, state, output, perturbed, rows, outputs)
        try:
            solved, flows, took, used = _solve(problem, pivots, most_rows)
        except np.linalg.LinAlgError:  # rounding made the working basis singular
            continue
        if solved:
            return Solution(True, flows, int(took), int(used))
    return Solution(False, np.zeros(len(value)), 0, 0)


def scatter(start: int, count: int) -> FloatArray:
    """Multiples of the golden ratio modulo one: in (0, 1), spread evenly, never repeating."""
    return np.asarray((np.arange(1 + start, 1 + start + count) * 0.6180339887498949) % 1.0)


@compiled()
def _solve(problem: Problem, most: int, most_rows: int) -> tuple[bool, FloatArray, int, int]:
    """Rounds of the dual simplex, adding the most violated row of each output in between."""
    basis = _start(problem, most_rows)
    rows = pivots = 0
    for _ in range(ROUNDS):
        values = _working_values(basis, rows)
        flows = _flows(problem, basis, rows, values)
        rows = _drop_idle(basis, rows, values)
        added = _add_violated(problem, basis, rows, flows)
        if added == 0:
            return True, flows, pivots, rows
        if added < 0:
            return False, flows, pivots, rows
        rows += added
        used = _dual_simplex(problem, basis, rows, most - pivots)
        if used < 0:
            return False, flows, pivots, rows
        pivots += used
    return False, flows, pivots, rows


@compiled()
def _start(problem: Problem, rows: int) -> Basis:
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
    return Basis(
        key,
        reduced,
        np.zeros(columns, np.bool_),
        np.zeros(rows),
        np.zeros(rows),
        np.zeros((rows, rows)),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros((problem.outputs, states)),
        np.zeros(columns),
        np.zeros((2, states)),
    )


@compiled()
def _working_values(basis: Basis, rows: int) -> FloatArray:
    """Values of the working basic variables: inverse times what the keys leave of each row."""
    values = np.empty(rows)
    for i in range(rows):
        values[i] = dot(basis.inverse[i, :rows], basis.rest[:rows])
    return values


@compiled()
def _rest_of(problem: Problem, basis: Basis, r: int) -> float:
    """What the keys leave of coupling row r."""
    output, key, mass, coefficients = problem.output, basis.key, problem.mass, problem.coefficients[basis.row_index[r]]
    own, total = basis.row_output[r], 0.0
    for m in range(len(mass)):
        if output[key[m]] == own:
            total -= mass[m] * coefficients[m]
    return total


@compiled()
def _set_key(problem: Problem, basis: Basis, rows: int, m: int, column: int) -> None:
    """The column becomes the key of state m: its mass counts in other coupling rows."""
    coefficients, row_output, row_index, rest = problem.coefficients, basis.row_output, basis.row_index, basis.rest
    before, after, mass = problem.output[basis.key[m]], problem.output[column], problem.mass[m]
    basis.key[m] = column
    for r in range(rows):
        if row_output[r] == before:
            rest[r] += mass * coefficients[row_index[r], m]
        elif row_output[r] == after:
            rest[r] -= mass * coefficients[row_index[r], m]


@compiled()
def _flows(problem: Problem, basis: Basis, rows: int, values: FloatArray) -> FloatArray:
    flows = np.zeros(len(problem.state))
    for m in range(len(problem.mass)):
        flows[basis.key[m]] = problem.mass[m]
    for i in range(rows):
        column = basis.basic[i]
        if column >= 0:
            flows[column] += values[i]
            flows[basis.key[problem.state[column]]] -= values[i]
    return flows


@compiled()
def _add_violated(problem: Problem, basis: Basis, rows: int, flows: FloatArray) -> int:
    """Add the most violated row of each output, its slack basic; how many, or -1 if there is no room."""
    table = np.zeros((problem.outputs, len(problem.mass)))
    total = np.zeros(problem.outputs)
    for k in range(len(problem.state)):
        table[problem.output[k], problem.state[k]] = flows[k]
        total[problem.output[k]] += flows[k]
    told = np.empty((problem.outputs, len(problem.coefficients)))
    for o in range(problem.outputs):
        for j in range(len(problem.coefficients)):
            told[o, j] = dot(table[o], problem.coefficients[j])
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
            _add_row(problem, basis, rows + added, o, at)
            added += 1
    return added


@compiled()
def _drop_idle(basis: Basis, rows: int, values: FloatArray) -> int:
    """Drop the coupling rows that are far from binding; they come back if they are violated again.

    Their slack is basic, a unit column of the working basis: its place and its row are simply left out of the inverse.
    """
    place = 0
    while place < rows:
        if basis.basic[place] >= 0 or values[place] < IDLE:
            place += 1
            continue
        r, last = -1 - basis.basic[place], rows - 1
        basis.basic[place], values[place] = basis.basic[last], values[last]
        basis.inverse[place, :rows] = basis.inverse[last, :rows]
        basis.inverse[:rows, r] = basis.inverse[:rows, last]
        basis.row_output[r], basis.row_index[r] = basis.row_output[last], basis.row_index[last]
        basis.slack_cost[r], basis.rest[r] = basis.slack_cost[last], basis.rest[last]
        for i in range(last):
            if basis.basic[i] == -1 - last:
                basis.basic[i] = -1 - r
        rows = last
    return rows


@compiled()
def _add_row(problem: Problem, basis: Basis, r: int, o: int, j: int) -> None:
    """Coupling row r, its slack basic: the inverse grows by a row that undoes the new row's entries."""
    basis.row_output[r], basis.row_index[r], basis.basic[r], basis.slack_cost[r] = o, j, -1 - r, 0.0
    basis.rest[r] = _rest_of(problem, basis, r)
    inverse, basic, key = basis.inverse, basis.basic, basis.key
    state, output, coefficients = problem.state, problem.output, problem.coefficients[j]
    inverse[r, : r + 1] = 0.0
    inverse[:r, r] = 0.0
    inverse[r, r] = 1.0
    for i in range(r):
        if basic[i] >= 0:
            m = state[basic[i]]
            entry = coefficients[m] if output[basic[i]] == o else 0.0
            if output[key[m]] == o:
                entry -= coefficients[m]
            if entry != 0.0:
                inverse[r, :r] -= entry * inverse[i, :r]


@compiled()
def _entries(problem: Problem, basis: Basis, column: int, rows: int) -> FloatArray:
    """(rows,): a column's entries in the coupling rows; a flow's are differences to those of its state's key."""
    entries = np.zeros(rows)
    if column < 0:
        entries[-1 - column] = 1.0
        return entries
    coefficients, row_output, row_index = problem.coefficients, basis.row_output, basis.row_index
    m = problem.state[column]
    own, key = problem.output[column], problem.output[basis.key[m]]
    for r in range(rows):
        if row_output[r] == own:
            entries[r] += coefficients[row_index[r], m]
        if row_output[r] == key:
            entries[r] -= coefficients[row_index[r], m]
    return entries


@compiled()
def _dual_simplex(problem: Problem, basis: Basis, rows: int, most: int) -> int:
    """Pivot until no flow is negative; pivots used, or -1 where a limit is reached or no pivot is left."""
    since = 0  # pivots since the inverse was fresh
    for pivot in range(most):
        if since == FRESH:
            _refresh(problem, basis, rows)
            since = 0
        values = _working_values(basis, rows)
        leaving, lowest = _leaving(problem, basis, rows, values)
        if leaving < 0:
            return pivot
        row = basis.inverse[leaving, :rows].copy()
        _combine(problem, basis, row)
        entering = _entering(problem, basis, row, lowest)
        if entering == NOTHING:  # nothing can raise it: the rows in use leave no room but rounding
            return pivot if lowest > -NEARLY else -1
        if _pivot(problem, basis, row, leaving, entering):
            since += 1
        elif since > 0:
            since = FRESH
        else:
            return -1
    return -1


@compiled()
def _combine(problem: Problem, basis: Basis, prices: FloatArray) -> None:
    """told[o, m] = the sum of prices times coupling rows, at the flow from m to o."""
    basis.told[:] = 0.0
    for r in range(len(prices)):
        price = prices[r]
        if price != 0.0:
            told, coefficients = basis.told[basis.row_output[r]], problem.coefficients[basis.row_index[r]]
            for m in range(len(coefficients)):
                told[m] += price * coefficients[m]


@compiled()
def _refresh(problem: Problem, basis: Basis, rows: int) -> None:
    """Invert the working basis anew, and price every column with it: rounding does not pile up."""
    for r in range(rows):
        basis.rest[r] = _rest_of(problem, basis, r)
    working = np.zeros((rows, rows))
    worth = np.zeros(rows)
    for i in range(rows):
        column = basis.basic[i]
        working[:, i] = _entries(problem, basis, column, rows)
        if column >= 0:
            worth[i] = problem.value[column] - problem.value[basis.key[problem.state[column]]]
    basis.inverse[:rows, :rows] = inverted(working)
    prices = np.zeros(rows)
    for i in range(rows):
        _subtract(prices, -worth[i], basis.inverse[i, :rows])
    basis.slack_cost[:rows] = -prices
    _combine(problem, basis, prices)
    output, value, told, reduced = problem.output, problem.value, basis.told, basis.reduced
    for m in range(len(problem.mass)):
        own = basis.key[m]
        for k in range(problem.first[m], problem.first[m + 1]):
            reduced[k] = value[k] - value[own] - (told[output[k], m] - told[output[own], m])


@compiled()
def inverted(matrix: FloatArray) -> FloatArray:
    """Gauss and Jordan with row pivots. A library's inverse would use threads that this size does not repay."""
    size = len(matrix)
    work = np.zeros((size, 2 * size))
    work[:, :size] = matrix
    for i in range(size):
        work[i, size + i] = 1.0
    for column in range(size):
        best = column
        for i in range(column + 1, size):
            if abs(work[i, column]) > abs(work[best, column]):
                best = i
        if work[best, column] == 0.0:
            raise np.linalg.LinAlgError("singular")
        if best != column:
            for k in range(2 * size):
                work[best, k], work[column, k] = work[column, k], work[best, k]
        scale = 1.0 / work[column, column]
        for k in range(column, 2 * size):
            work[column, k] *= scale
        for i in range(size):
            factor = work[i, column]
            if i != column and factor != 0.0:
                for k in range(column, 2 * size):
                    work[i, k] -= factor * work[column, k]
    return work[:, size:].copy()


@compiled()
def _leaving(problem: Problem, basis: Basis, rows: int, values: FloatArray) -> tuple[int, float]:
    """Where the most negative basic flow or slack stands; a negative key first changes places with a working flow."""
    basic, state, inverse = basis.basic, problem.state, basis.inverse
    lowest, place, of_key = -NOISE, -1, False
    steepest = 0.0
    rest = problem.mass.copy()
    for i in range(rows):
        if basic[i] >= 0:
            rest[state[basic[i]]] -= values[i]
        if values[i] < -NOISE:
            size = 1.0 + dot(inverse[i, :rows], inverse[i, :rows])
            if values[i] ** 2 > steepest * size:
                steepest, lowest, place = values[i] ** 2 / size, values[i], i
    for i in range(rows):
        if basic[i] >= 0:
            value = rest[state[basic[i]]]
            if value < -NOISE and value**2 > 2.0 * steepest:
                steepest, lowest, place, of_key = value**2 / 2.0, value, i, True
    if of_key:
        place = _change_key(problem, basis, rows, values, problem.state[basis.basic[place]])
    return place, lowest


@compiled()
def _change_key(problem: Problem, basis: Basis, rows: int, values: FloatArray, m: int) -> int:
    """The largest working flow of state m becomes its key, and the key takes its place, which is returned.

    Columns of the working basis are differences to the key's, so those of m change: d becomes d - d_new, and d_new its
    own negative. That is a right factor that is its own inverse; on the inverse it acts on one row.
    """
    best = -1
    for i in range(rows):
        if basis.basic[i] >= 0 and problem.state[basis.basic[i]] == m and (best < 0 or values[i] > values[best]):
            best = i
    for i in range(rows):
        if i != best and basis.basic[i] >= 0 and problem.state[basis.basic[i]] == m:
            basis.inverse[best, :rows] += basis.inverse[i, :rows]
    basis.inverse[best, :rows] *= -1.0
    column, key = basis.basic[best], basis.key[m]
    basis.basic[best] = key
    _set_key(problem, basis, rows, m, column)
    basis.in_basis[key], basis.in_basis[column] = True, False
    return best


@compiled()
def _entering(problem: Problem, basis: Basis, row: FloatArray, lowest: float) -> int:
    """The column that enters, or NOTHING: of those that reach zero first, up to a tie, the largest pivot.

    A state whose key alone is basic need not stop the step: its whole mass moves to the column that reached zero, its
    new key, as long as the leaving flow stays below zero (the dual simplex's long step, for generalised upper bounds).
    """
    shared = np.zeros(len(problem.mass), np.bool_)  # states with more than a key in the basis
    free = np.ones(len(row), np.bool_)  # slacks that are not basic
    for i in range(len(row)):
        if basis.basic[i] < 0:
            free[-1 - basis.basic[i]] = False
        else:
            shared[problem.state[basis.basic[i]]] = True
    slack_bound = np.inf
    for r in range(len(row)):
        if free[r] and row[r] < -SMALLEST_PIVOT:
            slack_bound = min(slack_bound, (basis.slack_cost[r] - TIE) / row[r])
    _ratios(problem, basis, 0, len(problem.mass))
    while True:
        entering = _first_to_zero(problem, basis, row, free, slack_bound)
        if entering < 0:
            return entering
        m = problem.state[entering]
        lowest -= problem.mass[m] * basis.alpha[entering]
        if shared[m] or lowest > -NOISE:
            return entering
        own = basis.reduced[problem.first[m] : problem.first[m + 1]]
        own -= basis.reduced[entering]
        _set_key(problem, basis, len(row), m, entering)
        _ratios(problem, basis, m, m + 1)


@compiled()
def _ratios(problem: Problem, basis: Basis, start: int, stop: int) -> None:
    """The pivot row at the columns of these states, and the step at which the first column of each enters."""
    told, output, alpha, reduced, in_basis = basis.told, problem.output, basis.alpha, basis.reduced, basis.in_basis
    first, key, ratios = problem.first, basis.key, basis.ratio
    for m in range(start, stop):
        own = told[output[key[m]], m]
        ratio = tied = np.inf
        for k in range(first[m], first[m + 1]):
            pivot = told[output[k], m] - own
            alpha[k] = pivot
            # Reduced costs are not positive, so these hold for no positive pivot; they seldom do; divisions are dear.
            first_yet = reduced[k] > ratio * pivot or reduced[k] - TIE > tied * pivot
            if first_yet and pivot < -SMALLEST_PIVOT and not in_basis[k]:
                ratio = min(ratio, reduced[k] / pivot)
                tied = min(tied, (reduced[k] - TIE) / pivot)
        ratios[0, m], ratios[1, m] = ratio, tied


@compiled()
def _first_to_zero(problem: Problem, basis: Basis, row: FloatArray, free: BoolArray, slack_bound: float) -> int:
    """The largest pivot whose ratio is no more than the least that is relaxed by a tie."""
    alpha, reduced, in_basis, ratio, first = basis.alpha, basis.reduced, basis.in_basis, basis.ratio, problem.first
    bound = slack_bound
    for m in range(len(first) - 1):
        bound = min(bound, ratio[1, m])
    largest, entering = -SMALLEST_PIVOT, NOTHING
    for m in range(len(first) - 1):
        if ratio[0, m] <= bound and ratio[0, m] < np.inf:
            for k in range(first[m], first[m + 1]):
                if alpha[k] < largest and not in_basis[k] and reduced[k] / alpha[k] <= bound:
                    largest, entering = alpha[k], k
    slack_cost = basis.slack_cost
    for r in range(len(row)):
        if free[r] and row[r] < largest and slack_cost[r] / row[r] <= bound:
            largest, entering = row[r], -1 - r
    return entering


@compiled()
def _subtract(target: FloatArray, factor: float, other: FloatArray) -> None:
    """target -= factor * other, without room for the product."""
    for k in range(len(other)):
        target[k] -= factor * other[k]


@compiled()
def _pivot(problem: Problem, basis: Basis, row: FloatArray, leaving: int, entering: int) -> bool:
    """Exchange two basic variables; reduced costs move along the pivot row. False if rounding has spoilt the pivot."""
    rows = len(row)
    inverse = basis.inverse
    column = np.zeros(rows)  # inverse times the entering column
    entries = _entries(problem, basis, entering, rows)
    for r in range(rows):
        if entries[r] != 0.0:
            for i in range(rows):
                column[i] += inverse[i, r] * entries[r]
    expected = basis.alpha[entering] if entering >= 0 else row[-1 - entering]
    if abs(column[leaving] - expected) > DRIFT * abs(expected):
        return False
    cost = basis.reduced[entering] if entering >= 0 else basis.slack_cost[-1 - entering]
    step = min(cost, 0.0) / column[leaving]
    _subtract(basis.reduced, step, basis.alpha)
    _subtract(basis.slack_cost[:rows], step, row)
    scaled = row / column[leaving]
    for i in range(rows):
        if i != leaving and column[i] != 0.0:
            _subtract(inverse[i, :rows], column[i], scaled)
    inverse[leaving, :rows] = scaled
    if basis.basic[leaving] >= 0:
        basis.in_basis[basis.basic[leaving]] = False
    basis.basic[leaving] = entering
    if entering >= 0:
        basis.in_basis[entering], basis.reduced[entering] = True, 0.0
    else:
        basis.slack_cost[-1 - entering] = 0.0
    return True
