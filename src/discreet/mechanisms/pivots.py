"""The dual simplex of a slot's programme: pivots, until no flow is negative. Compiled.

One flow of each state is its *key*; columns of the working basis are differences to it (`programme` says why). The
inverse of the working basis is kept as such, and computed anew where rounding has spoilt it. A pivot costs about
K P + 2 N + K^2 operations, with K coupling rows in use, P states and N allowed flows.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.jit import dot, helper, in_place, row_dot, row_square
from discreet.mechanisms.basis import Basis, Problem
from discreet.mechanisms.inverse import inverse_of_some
from discreet.numerics import BoolArray, FloatArray

NOISE = 1e-14
"""What flows may be below zero and rows above it for rounding alone: total mass is one, coefficients at most one."""

NEARLY = 1e-10
"""A flow below zero by less, which no pivot can raise, is left to the check of the rounded kernel."""

SMALLEST_PIVOT = 1e-9
"""Columns that move the leaving flow by less per unit do not enter: they would spoil the inverse."""

TIE = 1e-9
"""Reduced costs that reach zero within this of each other are a tie, which the largest pivot wins (Harris 1973)."""

MARGIN = 1e-9
"""Relative, and far beyond rounding: steps up to so much later are looked at exactly."""

SMALLEST_STEP = 1e-300
"""The same where a step is zero."""

FRESH = 100
"""Pivots after which the inverse and the reduced costs are computed anew."""

DRIFT = 1e-6
"""So far may a pivot, computed by row and by column, disagree before they are computed anew at once."""

RELATIVE = 1e-7
"""Where care is taken, pivots that are smaller than this part of their row do not enter either: with every such pivot
the basis comes closer to a singular one, until what is left of its inverse is rounding."""

ROUNDING = 2.0**-48
"""Where care is taken, flows below zero by no more than this part of what they are sums of are left as they are: it is
rounding, and pivots that chase it are small ones."""

DEPENDENT = 1e-11
"""Where care is taken, columns that have no larger pivot left leave the basis when it is inverted."""

REFUSALS = 20
"""Leaving flows that are passed over at most, because no pivot there can be trusted, before a programme is given up."""

NOTHING = -(2**62)
"""In place of a column: none can enter."""


@in_place
def add_row(problem: Problem, basis: Basis, r: int, o: int, j: int) -> None:
    """Coupling row r, its slack basic: the inverse grows by a row that undoes the new row's entries."""
    basis.row_output[r], basis.row_index[r], basis.basic[r], basis.slack_cost[r] = o, j, -1 - r, 0.0
    basis.rest[r] = _rest_of(problem, basis, r)
    begin = problem.begins[o]
    for i in range(problem.begins[o + 1] - begin):
        basis.own[r, i] = problem.coefficients[j, problem.member[begin + i]]
    inverse, basic, key = basis.inverse, basis.basic, basis.key
    state, output, coefficients = problem.state, problem.output, problem.coefficients[j]
    for i in range(r):  # in loops: assigning a slice takes seconds more to compile
        inverse[r, i] = inverse[i, r] = 0.0
    inverse[r, r] = 1.0
    for i in range(r):
        if basic[i] >= 0:
            m = state[basic[i]]
            entry = coefficients[m] if output[basic[i]] == o else 0.0
            if output[key[m]] == o:
                entry -= coefficients[m]
            if entry != 0.0:
                _subtract(inverse[r, :r], entry, inverse[i, :r])


@in_place
def revalue(basis: Basis, rows: int) -> None:
    """Values of the working basic variables: inverse times what the keys leave of each row, where that has changed."""
    inverse, rest, values, changed = basis.inverse, basis.rest, basis.values, basis.changed
    for i in range(rows):
        if changed[i]:
            values[i] = row_dot(inverse, i, rest, rows)
            changed[i] = False


@in_place
def _all_changed(basis: Basis, rows: int) -> None:
    """No value and no size is that of the inverse any more."""
    for r in range(rows):
        basis.changed[r], basis.size[r] = True, 0.0


@in_place
def _rest_of(problem: Problem, basis: Basis, r: int) -> float:
    """What the keys leave of coupling row r."""
    output, key, mass, coefficients = problem.output, basis.key, problem.mass, problem.coefficients[basis.row_index[r]]
    own, total = basis.row_output[r], 0.0
    for m in range(len(mass)):
        if output[key[m]] == own:
            total -= mass[m] * coefficients[m]
    return total


@helper
def pivoted(problem: Problem, basis: Basis, rows: int, pivots: int, operations: int, patience: int) -> bool:
    """Pivot until no flow is negative; False where a limit is reached or no pivot is left.

    After so many pivots as `patience` says care is taken of rounding, which has piled up by then.
    """
    since = refusals = 0  # pivots since the inverse was fresh; leaving flows that were passed over since
    _all_changed(basis, rows)
    row = np.empty(rows)
    spent, widest = basis.spent, basis.own.shape[1]
    while spent[0] < pivots and spent[1] < operations:
        careful = spent[0] >= patience
        spent[0] += 1
        spent[1] += rows * (2 * rows + widest) + 2 * len(problem.state)
        if since == FRESH:
            spent[1] += rows * rows * rows
            if not _refresh(problem, basis, rows, DEPENDENT if careful else 0.0) and not careful:
                return False
            since = 0
        revalue(basis, rows)
        leaving, lowest = _leaving(problem, basis, rows, ROUNDING if careful else 0.0)
        if leaving < 0:
            spent[0] -= 1
            return refusals == 0
        for r in range(rows):
            row[r] = basis.inverse[leaving, r]
        _combine(problem, basis, row)
        smallest = SMALLEST_PIVOT
        if careful:
            smallest = max(smallest, RELATIVE * math.sqrt(dot(row, row)))
        entering = _entering(problem, basis, row, lowest, smallest)
        if entering == NOTHING and lowest > -NEARLY:  # the rows in use leave no room but rounding
            spent[0] -= 1
            return True
        if entering != NOTHING and _pivot(problem, basis, row, leaving, entering):
            since, refusals = since + 1, _none_refused(basis, rows, refusals)
        elif since > 0 and (careful or entering != NOTHING):
            since = FRESH
        elif careful and refusals < REFUSALS:
            basis.refused[leaving] = True
            refusals += 1
        else:
            return False
    return False


@in_place
def _none_refused(basis: Basis, rows: int, refusals: int) -> int:
    """After a pivot every place may leave again."""
    if refusals > 0:
        for r in range(rows):
            basis.refused[r] = False
    return 0


@in_place
def _leaving(problem: Problem, basis: Basis, rows: int, rounding: float) -> tuple[int, float]:
    """Where the most negative basic flow or slack stands; a negative key first changes places with a working flow.

    Negative for the norm of its row: one that is within `rounding` of it is none.
    """
    basic, state, inverse = basis.basic, problem.state, basis.inverse
    lowest, place, of_key = -NOISE, -1, False
    steepest = rounding * rounding * dot(basis.rest[:rows], basis.rest[:rows]) if rounding > 0.0 else 0.0
    rest, values, sizes, refused = basis.room[0], basis.values, basis.size, basis.refused
    for m in range(len(problem.mass)):
        rest[m] = problem.mass[m]
    for i in range(rows):
        if basic[i] >= 0:
            rest[state[basic[i]]] -= values[i]
        if values[i] < -NOISE and not refused[i]:
            if sizes[i] == 0.0:
                sizes[i] = 1.0 + row_square(inverse, i, rows)
            size = sizes[i]
            if values[i] ** 2 > steepest * size:
                steepest, lowest, place = values[i] ** 2 / size, values[i], i
    for i in range(rows):
        if basic[i] >= 0:
            value = rest[state[basic[i]]]
            if value < -NOISE and value**2 > 2.0 * steepest and not refused[i]:
                steepest, lowest, place, of_key = value**2 / 2.0, value, i, True
    if of_key:
        place = _change_key(problem, basis, rows, problem.state[basis.basic[place]])
    return place, lowest


@in_place
def _change_key(problem: Problem, basis: Basis, rows: int, m: int) -> int:
    """The largest working flow of state m becomes its key, and the key takes its place, which is returned.

    Columns of the working basis are differences to the key's, so those of m change: d becomes d - d_new, and d_new its
    own negative. That is a right factor that is its own inverse; on the inverse it acts on one row.
    """
    best, values = -1, basis.values
    for i in range(rows):
        if basis.basic[i] >= 0 and problem.state[basis.basic[i]] == m and (best < 0 or values[i] > values[best]):
            best = i
    for i in range(rows):
        if i != best and basis.basic[i] >= 0 and problem.state[basis.basic[i]] == m:
            _subtract(basis.inverse[best, :rows], -1.0, basis.inverse[i, :rows])
    for r in range(rows):
        basis.inverse[best, r] *= -1.0
    basis.changed[best], basis.size[best] = True, 0.0
    column, key = basis.basic[best], basis.key[m]
    basis.basic[best] = key
    _set_key(problem, basis, rows, m, column)
    basis.in_basis[key], basis.in_basis[column] = True, False
    return best


@in_place
def _set_key(problem: Problem, basis: Basis, rows: int, m: int, column: int) -> None:
    """The column becomes the key of state m: its mass counts in other coupling rows."""
    coefficients, row_output, row_index, rest = problem.coefficients, basis.row_output, basis.row_index, basis.rest
    before, after, mass = problem.output[basis.key[m]], problem.output[column], problem.mass[m]
    basis.key[m] = column
    inverse, changed = basis.inverse, basis.changed
    for r in range(rows):
        if row_output[r] == before:
            rest[r] += mass * coefficients[row_index[r], m]
        elif row_output[r] == after:
            rest[r] -= mass * coefficients[row_index[r], m]
        else:
            continue
        for i in range(rows):
            changed[i] |= inverse[i, r] != 0.0


@in_place
def _combine(problem: Problem, basis: Basis, prices: FloatArray) -> None:
    """told = the sum of prices times coupling rows, at the place of each flow."""
    told, own, begins, row_output = basis.told, basis.own, problem.begins, basis.row_output
    for k in range(len(told)):
        told[k] = 0.0
    for r in range(len(prices)):
        price = prices[r]
        if price != 0.0:
            begin, end = begins[row_output[r]], begins[row_output[r] + 1]
            for i in range(end - begin):
                told[begin + i] += price * own[r, i]


@in_place
def _entering(problem: Problem, basis: Basis, row: FloatArray, lowest: float, smallest: float) -> int:
    """The column that enters, or NOTHING: of those that reach zero first, up to a tie, the largest pivot.

    A state whose key alone is basic need not stop the step: its whole mass moves to the column that reached zero, its
    new key, as long as the leaving flow stays below zero (the dual simplex's long step, for generalised upper bounds).
    """
    shared, free = basis.marks[0], basis.marks[1]  # states with more than a key in the basis; slacks not basic
    for m in range(len(problem.mass)):
        shared[m] = False
    for r in range(len(row)):
        free[r] = True
    for i in range(len(row)):
        if basis.basic[i] < 0:
            free[-1 - basis.basic[i]] = False
        else:
            shared[problem.state[basis.basic[i]]] = True
    slack_bound = np.inf
    for r in range(len(row)):
        if free[r] and row[r] < -smallest:
            slack_bound = min(slack_bound, (basis.slack_cost[r] - TIE) / row[r])
    while True:
        _early(problem, basis, slack_bound, smallest)
        entering = _first_to_zero(problem, basis, row, free, slack_bound, smallest)
        if entering < 0:
            return entering
        m = problem.state[entering]
        lowest -= problem.mass[m] * basis.alpha[entering]
        if shared[m] or lowest > -NOISE:
            return entering
        cost = basis.reduced[entering]
        for k in range(problem.first[m], problem.first[m + 1]):
            basis.reduced[k] -= cost
        _set_key(problem, basis, len(row), m, entering)


@in_place
def _early(problem: Problem, basis: Basis, slack_bound: float, smallest: float) -> None:
    """The pivot row, and the states with a column that might be the first to enter: few of all of them.

    A column enters no later than `latest`, the least step yet that is relaxed by a tie, and a little more: rounding may
    not leave out a state that the exact ratios (`_first_to_zero`) would choose.
    """
    told, place, alpha, reduced, in_basis = basis.told, problem.place, basis.alpha, basis.reduced, basis.in_basis
    first, key, early = problem.first, basis.key, basis.early
    latest = slack_bound + MARGIN * abs(slack_bound)
    for m in range(len(problem.mass)):
        own, found = told[place[key[m]]], False
        for k in range(first[m], first[m + 1]):
            pivot = told[place[k]] - own
            alpha[k] = pivot
            # Reduced costs are not positive, so this holds for no positive pivot; it seldom does; divisions are dear.
            if reduced[k] > latest * pivot and pivot < -smallest and not in_basis[k]:
                found, step = True, (reduced[k] - TIE) / pivot
                latest = min(latest, step + MARGIN * abs(step) + SMALLEST_STEP)
        early[m] = found


@in_place
def _ratios(problem: Problem, basis: Basis, m: int, smallest: float) -> tuple[float, float]:
    """The step at which the first column of a state enters, and the same, relaxed by a tie."""
    alpha, reduced, in_basis = basis.alpha, basis.reduced, basis.in_basis
    ratio = tied = np.inf
    for k in range(problem.first[m], problem.first[m + 1]):
        pivot = alpha[k]
        first_yet = reduced[k] > ratio * pivot or reduced[k] - TIE > tied * pivot
        if first_yet and pivot < -smallest and not in_basis[k]:
            ratio = min(ratio, reduced[k] / pivot)
            tied = min(tied, (reduced[k] - TIE) / pivot)
    return ratio, tied


@in_place
def _first_to_zero(
    problem: Problem, basis: Basis, row: FloatArray, free: BoolArray, slack_bound: float, smallest: float
) -> int:
    """The largest pivot whose ratio is no more than the least that is relaxed by a tie."""
    alpha, reduced, in_basis, ratio, first = basis.alpha, basis.reduced, basis.in_basis, basis.ratio, problem.first
    bound, early = slack_bound, basis.early
    for m in range(len(first) - 1):
        if early[m]:
            ratio[m], tied = _ratios(problem, basis, m, smallest)
            bound = min(bound, tied)
    largest, entering = -smallest, NOTHING
    for m in range(len(first) - 1):
        if early[m] and ratio[m] <= bound and ratio[m] < np.inf:
            for k in range(first[m], first[m + 1]):
                if alpha[k] < largest and not in_basis[k] and reduced[k] / alpha[k] <= bound:
                    largest, entering = alpha[k], k
    slack_cost = basis.slack_cost
    for r in range(len(row)):
        if free[r] and row[r] < largest and slack_cost[r] / row[r] <= bound:
            largest, entering = row[r], -1 - r
    return entering


@in_place
def _pivot(problem: Problem, basis: Basis, row: FloatArray, leaving: int, entering: int) -> bool:
    """Exchange two basic variables; reduced costs move along the pivot row. False if rounding has spoilt the pivot."""
    rows, inverse, changed, sizes = len(row), basis.inverse, basis.changed, basis.size
    column, scaled = basis.room[1], basis.room[2]
    _column(problem, basis, entering, rows, column)
    expected = basis.alpha[entering] if entering >= 0 else row[-1 - entering]
    if abs(column[leaving] - expected) > DRIFT * abs(expected):
        return False
    cost = basis.reduced[entering] if entering >= 0 else basis.slack_cost[-1 - entering]
    step = min(cost, 0.0) / column[leaving]
    _subtract(basis.reduced, step, basis.alpha)
    _subtract(basis.slack_cost[:rows], step, row)
    for r in range(rows):
        scaled[r] = row[r] / column[leaving]
    rest, values = basis.rest, basis.values
    for i in range(rows):
        factor = column[i]
        if i != leaving and factor != 0.0:
            for r in range(rows):
                inverse[i, r] -= factor * scaled[r]
            values[i], changed[i], sizes[i] = row_dot(inverse, i, rest, rows), False, 0.0
    for r in range(rows):
        inverse[leaving, r] = scaled[r]
    changed[leaving], sizes[leaving] = True, 0.0
    if basis.basic[leaving] >= 0:
        basis.in_basis[basis.basic[leaving]] = False
    basis.basic[leaving] = entering
    if entering >= 0:
        basis.in_basis[entering], basis.reduced[entering] = True, 0.0
    else:
        basis.slack_cost[-1 - entering] = 0.0
    return True


@in_place
def _column(problem: Problem, basis: Basis, entering: int, rows: int, column: FloatArray) -> None:
    """column = the inverse times the entering column, which has few entries."""
    entries, few, inverse = basis.room[3], basis.few, basis.inverse
    _entries(problem, basis, entering, rows, entries)
    count = 0
    for r in range(rows):
        if entries[r] != 0.0:
            few[count], entries[count] = r, entries[r]
            count += 1
    for i in range(rows):
        value = 0.0
        for at in range(count):
            value += inverse[i, few[at]] * entries[at]
        column[i] = value


@in_place
def _entries(problem: Problem, basis: Basis, column: int, rows: int, entries: FloatArray) -> None:
    """A column's entries in the coupling rows; a flow's are differences to those of its state's key."""
    for r in range(rows):
        entries[r] = 0.0
    if column < 0:
        entries[-1 - column] = 1.0
        return
    coefficients, row_output, row_index = problem.coefficients, basis.row_output, basis.row_index
    m = problem.state[column]
    own, key = problem.output[column], problem.output[basis.key[m]]
    for r in range(rows):
        if row_output[r] == own:
            entries[r] += coefficients[row_index[r], m]
        if row_output[r] == key:
            entries[r] -= coefficients[row_index[r], m]


def _subtract_at_once(target: FloatArray, factor: float, other: FloatArray) -> None:
    """The same in NumPy, for interpreted runs."""
    target[: len(other)] -= factor * other


@in_place(plain=_subtract_at_once)
def _subtract(target: FloatArray, factor: float, other: FloatArray) -> None:
    """target -= factor * other, without room for the product."""
    for k in range(len(other)):
        target[k] -= factor * other[k]


@helper
def _refresh(problem: Problem, basis: Basis, rows: int, smallest: float) -> bool:
    """Invert the working basis anew, and price every column with it: rounding does not pile up.

    Columns that are no more than `smallest` beside the others leave for slacks; False, if any did. Prices may then be
    negative, and such a column is the first to enter where it can.
    """
    for r in range(rows):
        basis.rest[r] = _rest_of(problem, basis, r)
    working = np.zeros((rows, rows))
    unit, entries = np.full(rows, -1), basis.room[3]
    for i in range(rows):
        _entries(problem, basis, basis.basic[i], rows, entries)
        for r in range(rows):
            working[r, i] = entries[r]
        if basis.basic[i] < 0:
            unit[i] = -1 - basis.basic[i]
    inverse = inverse_of_some(working, unit, smallest)
    whole = True
    for i in range(rows):
        for r in range(rows):
            basis.inverse[i, r] = inverse[i, r]
        if basis.basic[i] >= 0 and unit[i] >= 0:
            basis.in_basis[basis.basic[i]], basis.basic[i], whole = False, -1 - unit[i], False
    _all_changed(basis, rows)
    _price(problem, basis, rows)
    return whole


@helper
def _price(problem: Problem, basis: Basis, rows: int) -> None:
    """Reduced costs of slacks and columns, from the inverse."""
    prices = np.zeros(rows)
    for i in range(rows):
        column = basis.basic[i]
        if column >= 0:
            worth = problem.value[column] - problem.value[basis.key[problem.state[column]]]
            _subtract(prices, -worth, basis.inverse[i, :rows])
    for r in range(rows):
        basis.slack_cost[r] = -prices[r]
    _combine(problem, basis, prices)
    place, value, told, reduced = problem.place, problem.value, basis.told, basis.reduced
    for m in range(len(problem.mass)):
        own = basis.key[m]
        for k in range(problem.first[m], problem.first[m + 1]):
            reduced[k] = value[k] - value[own] - (told[place[k]] - told[place[own]])


@helper
def most_worth(problem: Problem, basis: Basis, rows: int) -> float:
    """No flows are worth more: by the prices of the rows in use, which may be any that are not negative (duality).

    Where rounding has spoilt prices, it is only larger than it need be.
    """
    prices = np.empty(rows)
    for r in range(rows):
        prices[r] = max(-basis.slack_cost[r], 0.0)
    _combine(problem, basis, prices)
    result = 0.0
    for m in range(len(problem.mass)):
        best = -np.inf
        for k in range(problem.first[m], problem.first[m + 1]):
            best = max(best, problem.value[k] - basis.told[problem.place[k]])
        result += problem.mass[m] * best
    return result
