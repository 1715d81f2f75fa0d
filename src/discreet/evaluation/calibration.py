"""Are beliefs true? Where they say 10 %, is it 10 %: counts in cells, with intervals that keep a stated rate of alarms.

A claim is a belief in a secret at one place (a slot of a date, an event of a person) and whether it was true. Claims
are counted in cells: all of a secret, those of one hour, those whose belief is near 10 %, and so on. If the beliefs are
right, what is true is a draw from them; many such draws (`drawn`) are counted in the same cells, and the truth must
not stand out among them. So the test is exact however claims depend on each other (slots of a day do, strongly) and
however many cells there are (Besag and Clifford 1989; Westfall and Young 1993, the smallest p-value):

1. Of each cell the variance of its count over the draws and the truth gives an effective number of claims, and that a
   binomial p-value of the count: how far it is from what was said, on a scale on which cells compare.
2. The smallest p-value over all cells is found for each draw. With K draws the truth's is smaller than the j-th
   smallest of them with a probability of at most j / (K + 1), if it is one more draw: truth and draws enter 1 alike.
3. That threshold is the level of the intervals that are reported, by Clopper and Pearson on the effective number.

A cell is off if what was said lies outside its interval and the frequency is further from it than is tolerated: habits
are never true to the last digit, and large data would refuse all of them. So false alarms are rarer than `ALARMS`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from discreet.errors import DiscreetError
from discreet.numerics import BoolArray, FloatArray, IntArray

ALARMS = 0.01
"""How often beliefs that are right are called wrong, at most: over all secrets and cells of a check together."""

DRAWS = 399
"""Draws that the truth is compared with: 1 % of alarms is then the fourth smallest of them."""

EDGES = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""The bins of belief, finer where a secret is rare."""

LEAST = 0.005
"""Half a percentage point: what is closer than this is true enough, whatever delta is."""

GROUPS = 3
"""Groups that a cell has claims in, at least."""

Kind = Literal["all", "belief", "hour", "position", "shown", "apart"]
"""What a cell's claims have in common: the secret alone, or besides it how strong the belief is, and so on."""

Drawn = BoolArray
"""(K, N): for each draw, which of the N claims are true in it."""


def tolerated(said: float, delta: float) -> tuple[float, float]:
    """How far below and above what is said a frequency may be.

    A quarter of delta either way, so that a gain of delta is never one of 1.25 delta unnoticed. A rare secret may not
    be more than twice as frequent as said: of a prior of 0.2 % with a truth of 2 % every belief is ten times too small.
    """
    most = max(delta / 4, LEAST)
    return most, min(most, max(said, LEAST))


# --- counting


@dataclass
class _Count:
    """What was counted in one cell."""

    claims: int
    groups: int
    said: float | None  # the sum of beliefs; None where only the draws know it
    true: int
    drawn: IntArray  # (K,)


class ClaimCounts:
    """Counts of claims by cell, group after group, so that memory does not grow with the claims."""

    def __init__(self, draws: int = DRAWS, *, few: int = 0) -> None:
        """Cells of what is shown with fewer than `few` claims are left out: their number is not known beforehand."""
        self.draws, self.groups, self._few = draws, 0, few
        self._counts: dict[tuple[str, Kind, str], _Count] = {}

    def add(
        self,
        secret: str,
        belief: FloatArray,
        true: BoolArray,
        drawn: Drawn,
        places: Sequence[tuple[Kind, Sequence[str]]] = (),
    ) -> None:
        """The claims (N,) of one secret in one group (a day, a person): in all, by belief, and by `places`.

        `places` are more ways to sort them: what they have in common, and of each claim the name of its cell.
        """
        if not len(belief):
            return
        ways: list[tuple[Kind, Sequence[str]]] = [("all", [""] * len(belief)), ("belief", bins(belief)), *places]
        for kind, names in ways:
            number = {name: k for k, name in enumerate(dict.fromkeys(names))}
            cell = np.array([number[name] for name in names])
            order = np.argsort(cell, kind="stable")
            starts = np.searchsorted(cell[order], np.arange(len(number)))
            hits = np.add.reduceat(drawn[:, order], starts, axis=1, dtype=np.int64)  # (K, cells)
            said = np.add.reduceat(belief[order], starts)
            held = np.add.reduceat(true[order], starts, dtype=np.int64)
            sizes = np.diff(np.append(starts, len(cell)))
            for name, c in number.items():
                self._count(secret, kind, name, int(sizes[c]), float(said[c]), int(held[c]), hits[:, c])

    def add_any(self, secret: str, true: BoolArray, drawn: Drawn) -> None:
        """One claim of a secret in one group: that some of these places (N,) are true.

        What is believed of it is what the draws say, the truth among them, so that it is one more draw.
        """
        some, drawn_some = np.array([true.any()]), np.asarray(drawn.any(axis=1))[:, None]
        self.add(secret, np.array([(some.sum() + drawn_some.sum()) / (1 + len(drawn_some))]), some, drawn_some)

    def add_apart(
        self, secret: str, counted: BoolArray, true: BoolArray, drawn: Drawn, distances: Mapping[str, int]
    ) -> None:
        """The claims (N,) of one secret in one group, those that are counted, two by two: both true, so far apart."""
        true, drawn = true & counted, drawn & counted
        for name, distance in distances.items():
            pairs = int((counted[distance:] & counted[:-distance]).sum()) if distance < len(true) else 0
            if pairs:
                both = int((true[distance:] & true[:-distance]).sum())
                drawn_both = (drawn[:, distance:] & drawn[:, :-distance]).sum(axis=1)
                self._count(secret, "apart", name, pairs, None, both, drawn_both)

    def _count(
        self, secret: str, kind: Kind, name: str, claims: int, said: float | None, true: int, drawn: IntArray
    ) -> None:
        cell = self._counts.setdefault(
            (secret, kind, name), _Count(0, 0, None if said is None else 0.0, 0, np.zeros(self.draws, dtype=np.int64))
        )
        cell.claims += claims
        cell.groups += 1
        cell.true += true
        cell.drawn += drawn
        if cell.said is not None and said is not None:
            cell.said += said

    def judged(
        self,
        delta_of: Mapping[str, float],
        *,
        alarms: float = ALARMS,
        learned_from: float | None = None,
        by_belief: bool = True,
    ) -> Calibration:
        """The cells with their intervals.

        `learned_from` is how many groups the habits were learned from, where these are others. What was learned from
        few is uncertain itself, and intervals are then as wide as those of a difference of two frequencies.

        Without `by_belief`, bins of belief are counted but not called off. Habits of people who were learned from few
        events each are drawn towards everybody's, as they should be; on the very events that were learned, who has a
        low belief then has a lower frequency, and who has a high one a higher, though nothing is wrong.
        """
        found = [(key, one) for key, one in self._counts.items() if self._says_something(key[1], one)]
        if not found:
            return Calibration((), {}, alarms, self.groups)
        claims = np.array([one.claims for _, one in found], dtype=np.float64)
        groups = np.array([one.groups for _, one in found], dtype=np.float64)
        counts = np.array([[one.true, *one.drawn] for _, one in found], dtype=np.float64).T  # (1 + K, C)
        means = counts.mean(axis=0)
        sums = np.array([mean if one.said is None else one.said for (_, one), mean in zip(found, means, strict=True)])
        said = np.clip(sums / claims, 0.0, 1.0)
        effective = _effective(counts, said, claims, groups)
        level = _level(_p_values(counts / claims, said, effective), alarms)
        was = counts[0] / claims
        low, high = _interval(was, effective, level)
        if learned_from:
            low, high = _wider((low, was, high), said, _interval(said, effective * learned_from / self.groups, level))
        cells = tuple(
            Cell(
                *key,
                claims=one.claims,
                said=float(said[c]),
                was=one.true / one.claims,
                low=float(low[c]),
                high=float(high[c]),
                tolerated=tolerated(float(said[c]), delta_of[key[0]])
                if by_belief or key[1] != "belief"
                else (1.0, 1.0),
            )
            for c, (key, one) in enumerate(found)
        )
        return Calibration(cells, self._distances(), alarms, self.groups)

    def _says_something(self, kind: Kind, one: _Count) -> bool:
        """Cells that only a group or two have claims in say more of these than of habits; many that are small cost."""
        enough = one.groups >= GROUPS or one.groups == self.groups or kind == "apart"
        return enough and (kind != "shown" or one.claims >= self._few)

    def _distances(self) -> dict[str, tuple[float, float]]:
        """Of each secret, how far beliefs are off on average over its bins, and how far they would be by chance."""
        found: dict[str, tuple[float, float]] = {}
        for secret in dict.fromkeys(key[0] for key in self._counts):
            bins = [one for key, one in self._counts.items() if key[:2] == (secret, "belief")]
            said = np.array([one.said for one in bins], dtype=np.float64)
            claims = sum(one.claims for one in bins)
            if claims:
                true = np.array([one.true for one in bins])
                drawn = np.array([one.drawn for one in bins])  # (bins, K)
                off = np.abs(true - said).sum() / claims
                chance = np.abs(drawn - said[:, None]).sum(axis=0).mean() / claims
                found[secret] = float(off), float(chance)
        return found


def bins(belief: FloatArray) -> list[str]:
    """The name of each belief's bin."""
    places = np.clip(np.searchsorted(EDGES, belief, side="right") - 1, 0, len(EDGES) - 2)
    return [BINS[place] for place in places]


BINS = tuple(f"{100 * low:g} to {100 * high:g} %" for low, high in pairwise(EDGES))


# --- judging: counts (R, C) of the truth (row 0) and the draws, in C cells


def _effective(counts: FloatArray, said: FloatArray, claims: FloatArray, groups: FloatArray) -> FloatArray:
    """(C,): of how many independent claims the counts have the variance; no fewer than groups, no more than claims."""
    variance = ((counts - said * claims) ** 2).mean(axis=0)
    alone = claims * said * (1 - said)
    with np.errstate(divide="ignore", invalid="ignore"):
        number = np.where(variance > 0, claims * alone / variance, claims)
    return np.clip(number, np.minimum(groups, claims), claims)


def _p_values(was: FloatArray, said: FloatArray, number: FloatArray) -> FloatArray:
    """(R, C): twice the smaller binomial tail, of counts that need not be whole."""
    from scipy.special import betainc

    true = was * number
    with np.errstate(invalid="ignore"):
        at_least = np.where(true > 0, betainc(np.maximum(true, 1e-300), number - true + 1, said), 1.0)
        rest = np.maximum(number - true, 0.0)
        at_most = np.where(rest > 0, betainc(np.maximum(rest, 1e-300), true + 1, 1 - said), 1.0)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(at_least, at_most)))


def _level(p_values: FloatArray, alarms: float) -> float:
    """The level below which the truth's smallest p-value is, if it is a draw, at most so often (step 2 above)."""
    smallest = np.sort(p_values[1:].min(axis=1))
    place = math.floor(alarms * (len(smallest) + 1))
    if place < 1:
        raise DiscreetError(
            f"{len(smallest)} draws cannot tell alarms of {alarms}; draw {math.ceil(1 / alarms)} or more"
        )
    return min(float(smallest[place - 1]), alarms)  # counts are whole: intervals are no narrower than for one cell


def _interval(was: FloatArray, number: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """(C,), (C,): Clopper and Pearson's ends."""
    from scipy.special import betaincinv

    true = was * number
    rest = np.maximum(number - true, 0.0)
    low = np.where(true > 0, betaincinv(np.maximum(true, 1e-300), rest + 1, level / 2), 0.0)
    high = np.where(rest > 0, betaincinv(true + 1, np.maximum(rest, 1e-300), 1 - level / 2), 1.0)
    return np.asarray(low), np.asarray(high)


def _wider(
    interval: tuple[FloatArray, FloatArray, FloatArray], said: FloatArray, of_said: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """(C,), (C,): ends that allow for what was said being learned (Newcombe 1998, method 10, for the difference)."""
    low, was, high = interval
    below = np.sqrt((was - low) ** 2 + (of_said[1] - said) ** 2)
    above = np.sqrt((high - was) ** 2 + (said - of_said[0]) ** 2)
    return np.maximum(was - below, 0.0), np.minimum(was + above, 1.0)


# --- what was found


@dataclass(frozen=True)
class Cell:
    """Claims that have something in common: what was said of them on average, and how often it was so."""

    secret: str
    kind: Kind
    name: str
    claims: int
    said: float
    was: float
    low: float
    """The least frequency that the claims allow; together with all other cells' ends."""
    high: float
    tolerated: tuple[float, float]
    """How far below and above what was said is true enough."""

    @property
    def off(self) -> bool:
        """Whether what was said is wrong beyond chance, and by more than is tolerated."""
        below, above = self.tolerated
        return self.supported > 0 and not -below <= self.was - self.said <= above

    @property
    def supported(self) -> float:
        """How far what was said is from the interval, at least; 0 where it lies in it."""
        return max(0.0, self.low - self.said, self.said - self.high)

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        named = {"secret": self.secret, "kind": self.kind, "name": self.name, "claims": self.claims}
        return {**named, "said": self.said, "was": self.was, "low": self.low, "high": self.high, "off": self.off}


@dataclass(frozen=True)
class Calibration:
    """All cells, and how far beliefs are off on average."""

    cells: tuple[Cell, ...]
    distances: Mapping[str, tuple[float, float]]
    """Of each secret: the mean distance between belief and frequency over bins, and what it would be by chance."""
    alarms: float
    groups: int

    @property
    def off(self) -> tuple[Cell, ...]:
        """Cells that are off, the worst first."""
        return tuple(sorted((cell for cell in self.cells if cell.off), key=lambda cell: -cell.supported))

    def of(self, secret: str, kind: Kind) -> list[Cell]:
        """The cells of one secret and kind; bins of belief in their order."""
        found = [cell for cell in self.cells if (cell.secret, cell.kind) == (secret, kind)]
        return sorted(found, key=lambda cell: BINS.index(cell.name)) if kind == "belief" else found

    def notices(self, secret: str) -> float | None:
        """How large an error over all its claims would have had to be to be noticed; None where there are no claims."""
        for cell in self.of(secret, "all"):
            return max(cell.high - cell.was, cell.was - cell.low, *cell.tolerated)
        return None


def calibrated(
    secret: Sequence[str],
    belief: FloatArray,
    true: BoolArray,
    group: Sequence[object],
    *,
    delta_of: Mapping[str, float],
    places: Sequence[tuple[Kind, Sequence[str]]] = (),
    alarms: float = ALARMS,
    draws: int = DRAWS,
    seed: int = 0,
) -> Calibration:
    """Judge claims (N,) of which nothing is known but that groups (days, people) are independent of each other.

    Within a group all claims are drawn as dependent as they can be: one lot for all of them, each true if it lies below
    its belief. No other dependence has counts that vary more, so intervals are wide enough for any.
    """
    rng = np.random.default_rng(seed)
    tally = ClaimCounts(draws)
    for rows in _together(group):
        tally.groups += 1
        lots = rng.random((draws, 1))
        for name in dict.fromkeys(secret[row] for row in rows):
            mine = np.array([row for row in rows if secret[row] == name])
            own: list[tuple[Kind, Sequence[str]]] = [(kind, [names[row] for row in mine]) for kind, names in places]
            tally.add(name, belief[mine], true[mine], lots < belief[mine], own)
    return tally.judged(delta_of, alarms=alarms)


def _together(group: Sequence[object]) -> list[list[int]]:
    rows: dict[object, list[int]] = {}
    for row, one in enumerate(group):
        rows.setdefault(one, []).append(row)
    return list(rows.values())
