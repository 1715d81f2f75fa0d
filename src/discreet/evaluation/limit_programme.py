"""The linear programme of the limit, solved and then proven: both of its sides are checked in whole numbers.

A solver in floats drops coefficients below 1e-9 and forgives violations of 1e-10, so where contexts are about as
improbable as that, its answer is worth nothing. It is asked for directions only. What counts is computed here.

Shares. Variables are z(x, h) = P(outputs h | contexts x), so that every equation is a plain sum,
    sum over o of z(x c, h o) = z(x, h),
whatever the masses of the paths. Masses, shares and weights are Python integers over powers of two.

Below. Whatever the solver says is turned into a mechanism that meets the equations exactly: in each row the largest
share takes what the others leave. If it meets every privacy row, its releases are within the limit.

Above. For any weights w >= 0 of the privacy rows G z <= 0, the limit is at most the largest releases(z) - w G z of any
mechanism, private or not (weak duality). That is dynamic programming backwards over the tree: each path and history
chooses its best output.

Between. While the two are apart, the solver is asked for what is missing, multiplied by powers of two so that it is of
the order of one: iterative refinement (Gleixner, Steffy and Wolter, INFORMS Journal on Computing 28(3), 2016). The
corrections to the shares, d, and to the weights, which are the multipliers of the second kind of row, come from
    minimise D (regret(w) d + w r)  over  flow(d) = 0,  G d + r = -P violation(z),  d >= -P z,  r >= -P slack(z),
where P and D are the powers of two and regret is what each share loses against the best output under w. Most rounds
have one P and D for all; every third divides each column and row by its own size first, which helps histories that
hardly ever happen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.numerics import FloatArray, IntArray

Integers = npt.NDArray[np.object_]
"""Python integers, which do not overflow."""

Booleans = npt.NDArray[np.bool_]

GAP = 1e-9
"""Expected releases by which the two sides may differ."""

ROUNDS = 20
"""Solves before the programme is given up. Most models need one; some with probabilities of 1e-15 need five."""

BITS = 900
"""Shares and weights are integers over 2**BITS: room for ROUNDS of STEP bits and the last one's 53."""

SLACKS = (40, 60)
"""Bits of the slack that the odds of a secret are given, relative to them. The first is the project's (numerics.SLACK)
and solved in one round mostly; where it would change the limit by more than GAP, the second is tried."""

ROUNDING = Fraction(1, 1 << 50)
"""Relative to delta: what two floats that are meant to add up to one, like 0.7 and 0.3, may fall short of it."""

STEP = 40
"""Bits by which P and D grow in one round at most: the solver's floats hold 53."""

RESOLUTION = 44
"""Shares below 2**-RESOLUTION / P are the solver's rounding, and count as none."""

STAGE = 20
"""Coefficients below 2**-STAGE are written by means of helper variables, so that the solver drops none."""

LARGE = 2.0**24
"""Costs and bounds beyond this are cut to it: a correction is of the order of one, or it waits for another round."""

ATTEMPTS = (
    ("highs-ds", True, 1e-10),
    ("highs-ds", False, 1e-10),
    ("highs-ipm", True, 1e-10),
    ("highs-ds", True, 1e-7),
    ("highs-ds", False, 1e-7),
)
"""Method, presolve and tolerance, until one of them ends well: a later round makes up for a lax one."""


@dataclass(frozen=True)
class Level:
    """One slot of the tree: rows are a path and the history before it, columns the outputs of the slot.

    `parents` (R,) is the share that each row divides, by its number in the slot before; `paths` (R,) the row's path and
    `masses` (R,) that path's probability, up to a common factor; `worths` (R, O) whether the output is the truth.
    """

    parents: IntArray
    paths: IntArray
    masses: Integers
    worths: IntArray


class _Scale(NamedTuple):
    """Powers of two: P and D, and by what columns and rows were divided before."""

    shares: int
    weights: int
    columns: IntArray  # shares, then slacks
    rows: IntArray  # flow, then privacy


class _State(NamedTuple):
    """Shares level by level, weights of the privacy rows, and what is wrong with them, in floats."""

    shares: list[Integers]
    weights: Integers
    excess: FloatArray  # of the privacy rows
    sizes: FloatArray  # shares, then slacks
    regrets: FloatArray  # of shares, then of slacks: their weights


class PrivacyRows:
    """One row for each complete history h and event j: in_j P(j, h) <= out_j P(not j, h).

    A posterior of at most q + delta is odds of at most (q + delta) / (1 - q - delta). Slack is relative, to delta
    (ROUNDING) and to these odds (`halves` of 2**-bits / 2): an absolute one would allow everything of a secret that is
    less probable than the slack. The scale of the rows does not depend on `halves`, so weights fit any.
    Events of no mass, and those whose complement has no more than delta, cannot be told too much of; they have no rows.
    """

    def __init__(
        self, last: Level, histories: IntArray, members: Booleans, deltas: Sequence[float], bits: int, halves: int
    ) -> None:
        masses = _zeros(members.shape[1])
        masses[last.paths] = last.masses
        one = 2 << bits
        exact, plain = [], []  # of each event with rows, its coefficients by path, with slack and without
        for event, delta in zip(members, deltas, strict=True):
            prior, more = Fraction(masses[event].sum(), masses.sum()), (1 + ROUNDING) * Fraction(delta)
            if prior > 0 and prior + more < 1:
                odds = (prior + more) / (1 - prior - more)
                inside, outside = odds.denominator * one * masses, -odds.numerator * masses
                plain.append(np.where(event, inside, outside * one))
                exact.append(np.where(event, inside, outside * (one + halves)))
        self.events = len(exact)
        shape = self.events, len(masses)
        self.coefficients = np.array(exact, dtype=object).reshape(shape)[:, last.paths]  # (J, R)
        self.histories = histories  # (R, O)
        self.size = (int(histories.max()) + 1) * self.events
        self._scale(_bits(np.array(plain, dtype=object).reshape(shape)[:, last.paths]))

    def _scale(self, bits: IntArray) -> None:
        """Each row is divided by a power of two so that its largest coefficient is of the order of one."""
        parts = self.coefficients / _powers(bits)  # (J, R), of the order of one
        self.shifts = np.zeros(self.size, dtype=np.int64)  # the powers, by row
        for j in range(self.events):
            rows = self.histories * self.events + j
            np.maximum.at(self.shifts, rows, np.broadcast_to(bits[j][:, None], rows.shape))
        self.deepest = int(self.shifts.max(initial=0))
        self._floats = parts.astype(np.float64), bits

    def matrix(self, first: int, columns: int) -> Any:
        """(rows, columns) in floats, sparse; the last level's shares are the columns from `first` on."""
        from scipy.sparse import csr_array

        parts, bits = self._floats
        numbers = first + np.arange(self.histories.size)
        rows, values = [], []
        for j in range(self.events):
            rows.append((self.histories * self.events + j).ravel())
            shape = self.histories.shape
            part = np.broadcast_to(parts[j][:, None], shape).ravel()
            bit = np.broadcast_to(bits[j][:, None], shape).ravel()
            values.append(np.ldexp(part, bit - self.shifts[rows[-1]]))
        if not rows:
            return csr_array((0, columns))
        entries = np.concatenate(values), (np.concatenate(rows), np.tile(numbers, self.events))
        return csr_array(entries, shape=(self.size, columns))

    def excess(self, shares: Integers) -> Integers:
        """By how much each row is violated (negative: its slack), not divided by its power of two; shares (R, O)."""
        found = _zeros(self.size)
        for j in range(self.events):
            np.add.at(found, self.histories * self.events + j, self.coefficients[j][:, None] * shares)
        return found

    def cost(self, weights: Integers) -> Integers:
        """(R, O): what the weighted rows take from a whole share, times 2**(BITS + deepest)."""
        total = _zeros(self.histories.shape)
        scaled = weights * _powers(self.deepest - self.shifts)
        for j in range(self.events):
            total = total + scaled[self.histories * self.events + j] * self.coefficients[j][:, None]
        return total


class Programme:
    """A tree of shares, level by level, and the events that its last level may not tell of.

    `histories` (R, O) numbers the complete histories of the last level's shares; `members` (J, paths) says which paths
    are in an event. Column `quiet` of each level is an output that is always possible: a mechanism that outputs nothing
    else tells nothing.
    """

    def __init__(
        self, levels: Sequence[Level], histories: IntArray, members: Booleans, deltas: Sequence[float], quiet: int
    ) -> None:
        self.levels, self.quiet = levels, quiet
        self.whole = int(levels[-1].masses[np.unique(levels[-1].paths, return_index=True)[1]].sum())
        self._given = levels[-1], histories, members, deltas
        self.starts = np.cumsum([0, *(level.worths.size for level in levels)])
        self.flows = sum(len(level.parents) for level in levels)
        self._give_slack(SLACKS[0])

    def _give_slack(self, bits: int) -> None:
        """Rows for a mechanism's check, for the solver, whose rounding has the rest of the slack, and for bounds."""
        self.claimed, self.asked, self.exact = (PrivacyRows(*self._given, bits, halves) for halves in (2, 1, 0))
        self.__dict__.pop("_matrix", None)

    def solve(self) -> tuple[Fraction, Fraction]:
        """Expected releases: what a mechanism that was checked reaches, and what none without slack can exceed."""
        for bits in SLACKS:
            self._give_slack(bits)
            below, above = self._sides()
            if abs(above - below) <= Fraction(GAP):
                return below, above
        raise DiscreetError(
            f"the limit could not be proven: a mechanism with {float(below):.12g} expected releases is known, and none "
            f"has more than {float(above):.12g}, but the solver does not come closer on this model, whose smallest "
            "probabilities are too far from the others; use fewer slots, or set the smallest probabilities to zero"
        )

    def _sides(self) -> tuple[Fraction, Fraction]:
        """The best that is known from below and above after ROUNDS, or when they agree."""
        below, above = Fraction(0), Fraction(len(self.levels))
        shares, weights = self._silent(), _zeros(self.asked.size)
        before = 0, 0
        for turn in range(ROUNDS):
            found = self._refined(self._state(shares, weights), before, turn)
            if found is None:
                break
            shares, tried, before = found
            bound, _ = self._best(self.exact, tried)
            if bound < above:
                above, weights = bound, tried
            if (self.claimed.excess(shares[-1]) <= 0).all():
                below = max(below, self._releases(shares))
            if abs(above - below) <= Fraction(GAP):
                break
        return below, above

    def _silent(self) -> list[Integers]:
        shares: list[Integers] = []
        for level in self.levels:
            rows = _zeros(level.worths.shape)
            rows[:, self.quiet] = self._divided(shares)[level.parents]
            shares.append(rows)
        return shares

    def _divided(self, shares: list[Integers]) -> Integers:
        """What the next level divides: the last level's shares, or the whole."""
        return shares[-1].ravel() if shares else np.array([1 << BITS], dtype=object)

    def _releases(self, shares: list[Integers]) -> Fraction:
        levels = zip(shares, self.levels, strict=True)
        total = sum(int((rows * level.worths * level.masses[:, None]).sum()) for rows, level in levels)
        return Fraction(total, self.whole << BITS)

    def _best(self, private: PrivacyRows, weights: Integers) -> tuple[Fraction, list[Integers]]:
        """The bound of these weights, and the regrets (R, O) of each level, in units of 1 / (whole 2**shift)."""
        shift = BITS + private.deepest
        ahead = -private.cost(weights) * self.whole
        regrets: list[Integers] = []
        for t in range(len(self.levels) - 1, -1, -1):
            level = self.levels[t]
            values = level.worths * (level.masses[:, None] << shift) + ahead.reshape(level.worths.shape)
            best = values.max(axis=1)
            regrets.insert(0, best[:, None] - values)
            ahead = _zeros(self.levels[t - 1].worths.size if t else 1)
            np.add.at(ahead, level.parents, best)
        return Fraction(int(ahead[0]), self.whole << shift), regrets

    def _state(self, shares: list[Integers], weights: Integers) -> _State:
        excess = _floats(self.asked.excess(shares[-1]) / _powers(self.asked.shifts + BITS))
        unit = self.whole << (BITS + self.asked.deepest)
        regrets = [_floats(rows / unit) for rows in self._best(self.asked, weights)[1]]
        sizes = [_floats(rows / (1 << BITS)) for rows in shares]
        heavy = _floats(weights / (1 << BITS))
        slack = np.maximum(-excess, 0)
        return _State(shares, weights, excess, np.concatenate([*sizes, slack]), np.concatenate([*regrets, heavy]))

    def _refined(
        self, state: _State, before: tuple[int, int], turn: int
    ) -> tuple[list[Integers], Integers, tuple[int, int]] | None:
        """Corrected shares and weights, and the P and D of the last round that had one for all."""
        flat = np.concatenate([rows.ravel() for rows in state.shares])
        for own_sizes in (turn % 3 == 0, turn % 3 != 0) if turn else (False,):
            scale = self._scale(state, flat, before, turn, own_sizes)
            over = np.maximum(np.ldexp(state.excess, scale.shares - scale.rows[self.flows :]), 0)
            low = -np.minimum(np.ldexp(state.sizes, scale.shares - scale.columns), LARGE)
            cost = np.minimum(np.ldexp(state.regrets, scale.weights + scale.columns), LARGE)
            answer = self._linear(cost, low, np.concatenate([np.zeros(self.flows), -over]), scale)
            if answer is not None:
                moves, multipliers = answer
                shares = self._moved(flat, moves[: len(flat)], low[: len(flat)], scale)
                bits = BITS - scale.weights - scale.rows[self.flows :]
                weights = np.maximum(state.weights + _exact(multipliers, bits), 0)
                return shares, weights, before if own_sizes else (scale.shares, scale.weights)
        return None

    def _scale(self, state: _State, flat: Integers, before: tuple[int, int], turn: int, own_sizes: bool) -> _Scale:
        """P and D bring to one the worst violation, and the worst regret of a share or slack that is not zero."""
        if own_sizes:
            columns, rows = self._sizes(flat)
            before = 0, 0
        else:
            columns, rows = np.zeros(len(flat), dtype=np.int64), np.zeros(self.flows + self.asked.size, dtype=np.int64)
        columns = np.concatenate([columns, rows[self.flows :]])
        if turn == 0:
            return _Scale(0, 0, columns, rows)
        over = np.ldexp(state.excess, -rows[self.flows :]).max(initial=0)
        used = np.concatenate([flat > 0, state.excess < 0])
        lost = np.ldexp(state.regrets, columns)[used].max(initial=0)
        return _Scale(_grown(over, before[0]), _grown(lost, before[1]), columns, rows)

    def _sizes(self, flat: Integers) -> tuple[IntArray, IntArray]:
        """Of shares the power of two next to each; of rows that of their largest term.

        A share that is zero counts as large as the share it is part of, or as its privacy rows allow.
        """
        matrix = self._matrix.tocoo()
        ours = matrix.col < len(flat)
        row, column, bits = matrix.row[ours], matrix.col[ours], np.frexp(matrix.data[ours])[1]
        columns = _bits(flat) - BITS
        for t, level in enumerate(self.levels):
            here = columns[self.starts[t] : self.starts[t + 1]].reshape(level.worths.shape)
            parents = (
                columns[self.starts[t - 1] : self.starts[t]][level.parents] if t else np.zeros(len(here), np.int64)
            )
            zero = flat[self.starts[t] : self.starts[t + 1]].reshape(here.shape) == 0
            np.copyto(here, parents[:, None], where=zero)
        terms, used = bits + columns[column], (flat > 0)[column]
        nothing = -(1 << 20)
        all_terms, rows = np.full((2, matrix.shape[0]), nothing)
        np.maximum.at(all_terms, row, terms)
        np.maximum.at(rows, row[used], terms[used])
        rows = np.where(rows == nothing, all_terms, rows)
        room, private = columns.copy(), row >= self.flows
        np.minimum.at(room, column[private], (rows[row] - bits)[private])
        return np.where(flat > 0, columns, room), rows

    def _moved(self, flat: Integers, moves: FloatArray, low: FloatArray, scale: _Scale) -> list[Integers]:
        """Shares with their corrections; in each row the largest takes what the others leave of what is divided."""
        bits = BITS - scale.shares + scale.columns[: len(flat)]
        changed = flat + _exact(moves, bits)
        changed[(moves <= low) & (low > -LARGE)] = 0
        changed[changed < _powers(np.maximum(bits - RESOLUTION, 0))] = 0
        shares: list[Integers] = []
        for level, start, end in zip(self.levels, self.starts, self.starts[1:], strict=False):
            rows = changed[start:end].reshape(level.worths.shape)
            left = self._divided(shares)[level.parents]
            largest = np.arange(len(rows)), rows.argmax(axis=1)
            rows[largest] = 0
            rest = rows.sum(axis=1)
            for row in np.flatnonzero(rest > left):
                rows[row] = rows[row] * left[row] // rest[row]
            rows[largest] = left - rows.sum(axis=1)
            shares.append(rows)
        return shares

    @cached_property
    def _matrix(self) -> Any:
        """Flow rows, then privacy rows; shares, then the slacks of the privacy rows."""
        from scipy.sparse import block_array, csr_array, eye_array

        rows, columns, values, first = [], [], [], 0
        for t, level in enumerate(self.levels):
            count, outputs = level.worths.shape
            numbers = first + np.arange(count)
            rows += [np.repeat(numbers, outputs)]
            columns += [self.starts[t] + np.arange(count * outputs)]
            values += [np.ones(count * outputs)]
            if t:
                rows += [numbers]
                columns += [self.starts[t - 1] + level.parents]
                values += [-np.ones(count)]
            first += count
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        flow = csr_array(entries, shape=(self.flows, self.starts[-1]))
        if not self.asked.size:
            return flow
        private = self.asked.matrix(self.starts[-2], self.starts[-1])
        return block_array([[flow, None], [private, eye_array(self.asked.size)]]).tocsr()

    def _linear(
        self, cost: FloatArray, low: FloatArray, right: FloatArray, scale: _Scale
    ) -> tuple[FloatArray, FloatArray] | None:
        """The corrections and the multipliers of the privacy rows, or None where the solver finds nothing."""
        from scipy.optimize import linprog

        matrix = self._matrix.tocoo()
        matrix.data = np.ldexp(matrix.data, scale.columns[matrix.col] - scale.rows[matrix.row])
        staged, depths = _staged(matrix)
        nothing, reach = np.zeros(len(depths)), np.ldexp(2 * LARGE, -STAGE * depths)
        high = np.concatenate([np.full_like(low, LARGE), reach])
        bounds = np.column_stack([np.concatenate([low, -reach]), high])
        cost, right = np.concatenate([cost, nothing]), np.concatenate([right, nothing])
        for method, presolve, tolerance in ATTEMPTS:
            options: dict[str, float] = {
                "presolve": presolve,
                "maxiter": 1000 + 4 * len(cost),
            }  # it can go round in circles
            options |= {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
            result = linprog(cost, A_eq=staged, b_eq=right, bounds=bounds, method=method, options=options)
            if result.status == 0:
                return result.x, -result.eqlin.marginals[self.flows : self.flows + self.asked.size]
        return None


def _staged(matrix: Any) -> tuple[Any, IntArray]:
    """The matrix without small coefficients: helper k of a column is 2**(-STAGE k) of it, by a row of its own.

    Returns it and the helpers' k, in the order of their columns, which follow the given ones.
    """
    from scipy.sparse import csr_array

    height, width = matrix.shape
    stages = np.where(matrix.data == 0, 0, np.maximum(-np.frexp(matrix.data)[1] // STAGE, 0))
    deepest = np.zeros(width, dtype=np.int64)
    np.maximum.at(deepest, matrix.col, stages)
    first = width + np.cumsum(deepest) - deepest  # each column's first helper
    total = int(deepest.sum())
    helpers, rows = width + np.arange(total), height + np.arange(total)
    depths = helpers - np.repeat(first, deepest) + 1
    origins = np.where(depths == 1, np.repeat(np.arange(width), deepest), helpers - 1)
    values = np.ldexp(matrix.data, STAGE * stages), np.ones(total), np.full(total, -(2.0**-STAGE))
    columns = np.where(stages > 0, first[matrix.col] + stages - 1, matrix.col), helpers, origins
    entries = np.concatenate(values), (np.concatenate([matrix.row, rows, rows]), np.concatenate(columns))
    return csr_array(entries, shape=(height + total, width + total)), depths


def _grown(wrong: float, before: int) -> int:
    """The power of two that brings `wrong` to about one, STEP above the one before at most."""
    return min(before + STEP, max(0, -math.frexp(wrong)[1])) if wrong > 0 else before + STEP


def _zeros(shape: int | tuple[int, ...]) -> Integers:
    return np.full(shape, 0, dtype=object)


def _floats(values: Integers) -> FloatArray:
    return values.ravel().astype(np.float64)


def _bits(values: Integers) -> IntArray:
    return np.array([abs(value).bit_length() for value in values.ravel()], dtype=np.int64).reshape(values.shape)


def _powers(bits: IntArray) -> Integers:
    return np.array([1 << bit for bit in bits.ravel().tolist()], dtype=object).reshape(bits.shape)


def _exact(values: FloatArray, bits: IntArray) -> Integers:
    """values 2**bits, cut to integers."""
    found = []
    for value, bit in zip(values.tolist(), bits.tolist(), strict=True):
        above, below = value.as_integer_ratio()
        found.append((above << bit) // below if bit >= 0 else above // (below << -bit))
    return np.array(found, dtype=object)
