"""Learning a chain from counts: plain, or backed off to the person's average row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from discreet.contexts import by_frequency
from discreet.errors import DiscreetError
from discreet.models import arrays
from discreet.numerics import FloatArray, IntArray

Smoothing = Literal["auto", "none"]

STRENGTHS = 2.0 ** np.arange(-4, 13)
"""The back-off strengths tried, in readings: from a sixteenth of one to 4096."""


@dataclass(frozen=True)
class Counts:
    """What a chain is learned from: how often each day started where, and each step went where."""

    contexts: tuple[str, ...]
    initial: IntArray  # (n,)
    transitions: IntArray  # (T-1, n, n)
    smoothing: Smoothing = "auto"
    fixed: bool = False  # contexts were given, not found in falling order of frequency

    @classmethod
    def of(cls, rows: Sequence[Sequence[str]], smoothing: Smoothing, contexts: Iterable[str] | None = None) -> Counts:
        """Count days given as rows of labels."""
        checked_smoothing(smoothing)
        if contexts is None:
            found = tuple(set().union(*rows))
            arrays.checked_labels(rows, found)
            codes = arrays.encoded(rows, found)
            seen = dict(zip(found, np.bincount(codes.ravel(), minlength=len(found)).tolist(), strict=True))
            order = by_frequency(seen)
            place = {label: k for k, label in enumerate(order)}
            codes = np.array([place[label] for label in found])[codes]
        else:
            order = arrays.labels(contexts)
            codes = arrays.encoded(rows, order)
        n, slots = len(order), codes.shape[1]
        cells = (np.arange(slots - 1) * n + codes[:, :-1]) * n + codes[:, 1:]
        steps = np.bincount(cells.ravel(), minlength=(slots - 1) * n * n).reshape(slots - 1, n, n)
        return cls(order, np.bincount(codes[:, 0], minlength=n), steps, smoothing, contexts is not None)

    @property
    def days(self) -> int:
        """How many days were counted."""
        return int(self.initial.sum())

    @property
    def occupancy(self) -> IntArray:
        """(n,): how many slots each context filled."""
        return np.asarray(self.initial + self.transitions.sum(axis=(0, 1)), dtype=np.int64)

    def with_days(self, rows: Sequence[Sequence[str]]) -> Counts:
        """The counts with more days: the same as counting all of them at once."""
        if len(rows[0]) != len(self.transitions) + 1:
            raise DiscreetError(
                f"the new days have {len(rows[0])} slots, the chain {len(self.transitions) + 1}; "
                "cut all days with one clock"
            )
        if self.fixed:
            more = Counts.of(rows, self.smoothing, self.contexts)
            return replace(self, initial=self.initial + more.initial, transitions=self.transitions + more.transitions)
        more = Counts.of(rows, self.smoothing)
        union = self.contexts + tuple(label for label in more.contexts if label not in self.contexts)
        both = self.over(union), more.over(union)
        total = Counts(
            union, both[0].initial + both[1].initial, both[0].transitions + both[1].transitions, self.smoothing
        )
        return total.over(by_frequency(dict(zip(union, total.occupancy.tolist(), strict=True))))

    def over(self, contexts: tuple[str, ...]) -> Counts:
        """The same counts with other contexts, or the same in another order."""
        place = {label: k for k, label in enumerate(contexts)}
        at = np.array([place[label] for label in self.contexts])
        n = len(contexts)
        initial = np.zeros(n, dtype=np.int64)
        initial[at] = self.initial
        transitions = np.zeros((len(self.transitions), n, n), dtype=np.int64)
        transitions[:, at[:, None], at[None, :]] = self.transitions
        return replace(self, contexts=contexts, initial=initial, transitions=transitions)


def steps_of(
    sequences: Sequence[Sequence[str]], contexts: Iterable[str] | None = None
) -> tuple[tuple[str, ...], IntArray, IntArray]:
    """(contexts, visits (n,), steps (n, n)) of sequences of any length, counted whenever they occurred."""
    if any(isinstance(sequence, str) for sequence in sequences):
        raise DiscreetError("a sequence is one string; give sequences of labels")
    flat = [label for sequence in sequences for label in sequence]
    if not flat:
        raise DiscreetError("there are no sequences to learn from; give at least one")
    order = arrays.labels(by_frequency(Counter(flat)) if contexts is None else contexts)
    n, codes = len(order), arrays.encoded([flat], order)[0]
    last = np.cumsum([len(sequence) for sequence in sequences]) - 1
    within = np.ones(len(codes), dtype=np.bool_)
    within[last[last >= 0]] = False  # no step leads from one sequence to the next
    steps = np.bincount(codes[:-1][within[:-1]] * n + codes[1:][within[:-1]], minlength=n * n)
    return order, np.bincount(codes, minlength=n), steps.reshape(n, n)


def estimate(counts: Counts) -> tuple[FloatArray, FloatArray]:
    """initial (n,) and transitions (T-1, n, n) of the chain that the counts amount to."""
    if counts.days == 0:
        raise DiscreetError("there are no days to learn from; give at least one")
    n = len(counts.contexts)
    steps = counts.transitions
    if counts.smoothing == "none":
        return counts.initial / counts.days, _rows(steps.astype(np.float64), np.eye(n))
    average = steps.sum(axis=0)  # (n, n): the person's average row of each context
    occupancy = counts.occupancy
    slots = len(steps)
    backing = np.broadcast_to(average, steps.shape)
    strength = _strength(steps.reshape(slots * n, n), backing.reshape(slots * n, n)) if slots else 1.0
    usual = _rows(average.astype(np.float64), np.eye(n))
    transitions = _rows(steps + strength * usual, usual)
    start = _strength(counts.initial[None, :], occupancy[None, :])
    initial = (counts.initial + start * occupancy / occupancy.sum()) / (counts.days + start)
    return initial, transitions


def divided(steps: IntArray) -> FloatArray:
    """Counts (n, n) to probabilities; a context that was never left stays put."""
    return _rows(steps.astype(np.float64), np.eye(len(steps)))


def estimate_homogeneous(initial: IntArray, steps: IntArray, smoothing: Smoothing) -> tuple[FloatArray, FloatArray]:
    """initial (n,) and one transition (n, n) from how often sequences started where, and steps went where.

    "none" divides counts, and a row never seen stays put. "auto" backs off to how often each label is gone to.
    """
    checked_smoothing(smoothing)
    n = len(initial)
    if smoothing == "none":
        return initial / initial.sum(), divided(steps)
    arrived = initial + steps.sum(axis=0)
    usual = arrived / arrived.sum()
    backing = np.broadcast_to(arrived, (n, n))
    transition = _rows(steps + _strength(steps, backing) * usual, usual[None, :])
    start = _strength(initial[None, :], arrived[None, :])
    return (initial + start * usual) / (initial.sum() + start), transition


def backed_off(counts: IntArray, backing: IntArray, usual: FloatArray) -> FloatArray:
    """Rows of counts (R, n) backed off to rows that are usual, (R, n) or (n,), by the strength that predicts best.

    `backing` (R, n) are the counts that the usual rows are made of, the rows' own included.
    """
    return _rows(counts + _strength(counts, backing) * usual, np.broadcast_to(usual, counts.shape))


def checked_smoothing(smoothing: str) -> None:
    """Refuse a smoothing that is not known."""
    if smoothing not in ("auto", "none"):
        raise DiscreetError(f"smoothing={smoothing!r} is not known; use 'auto' or 'none'")


def checked_order(order: int) -> int:
    """Refuse habits over another number of contexts than one or two."""
    if isinstance(order, bool) or order not in (1, 2):
        raise DiscreetError(f"order={order!r} is not known; use 1, or 2 for habits over the last two contexts")
    return order


def _rows(weights: FloatArray, never: FloatArray) -> FloatArray:
    """Rows divided by their sums; a row of zeros becomes the row of `never`."""
    sums = weights.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(sums > 0, weights / np.where(sums > 0, sums, 1.0), never))


def _strength(counts: IntArray, backing: IntArray) -> float:
    """The back-off strength s of (count + s * average) / (total + s) that best predicts each reading from the others.

    counts (R, n) are the rows, backing (R, n) the counts that their averages are made of, the rows' own included. The
    leave-one-out probability of one of the c readings of a cell is ((c - 1) + s a) / ((C - 1) + s) with C the row's sum
    and a the cell's average share without that reading. A cell seen once in all predicts nothing for any s and is left
    out.
    """
    row, column = np.nonzero((counts > 0) & (backing > 1))
    if not row.size:
        return 1.0
    cell = counts[row, column].astype(np.float64)
    total = counts.sum(axis=1)[row].astype(np.float64)
    share = (backing[row, column] - 1) / (backing.sum(axis=1)[row] - 1)
    s = STRENGTHS[:, None]
    scores = (np.log((cell - 1 + s * share) / (total - 1 + s)) * cell).sum(axis=1)
    return float(STRENGTHS[int(np.argmax(scores))])
