"""What secrets are about in a stream without end: rows, those ahead, windows, and the tables that they are kept in."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from discreet.numerics import SLACK, BoolArray, FloatArray, IntArray, slack_of

DROPPED = SLACK / 4
"""A row that no state brings beyond its limit by more than this is not live; of tiny limits, `Rows.dropped`."""


class Rows(NamedTuple):
    """What R rows are about: which secret, from which to which slot, and where their limits are."""

    secret: IntArray
    opens: IntArray
    closes: IntArray
    prior: FloatArray
    delta: FloatArray

    @classmethod
    def none(cls) -> Rows:
        """No rows."""
        number, value = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(number, number, number, value, value)

    @property
    def limit(self) -> FloatArray:
        """What the belief must stay within."""
        return self.prior + self.delta

    @property
    def dropped(self) -> FloatArray:
        """What some state must bring a row beyond its limit by to be live: a quarter of its slack."""
        return slack_of(self.limit) / 4

    def only(self, which: BoolArray | IntArray) -> Rows:
        """Some of them."""
        return Rows(self.secret[which], self.opens[which], self.closes[which], self.prior[which], self.delta[which])

    def and_then(self, others: Rows) -> Rows:
        """These, then those."""
        return Rows(
            np.concatenate([self.secret, others.secret]),
            np.concatenate([self.opens, others.opens]),
            np.concatenate([self.closes, others.closes]),
            np.concatenate([self.prior, others.prior]),
            np.concatenate([self.delta, others.delta]),
        )

    def shifted(self, slots: int) -> Rows:
        """The same so many slots later."""
        return self._replace(opens=self.opens + slots, closes=self.closes + slots)


class Front(NamedTuple):
    """The rows that have not opened before slot t, live ones alone: chance[j, z] = P(j | Z_t = z)."""

    rows: Rows
    chance: FloatArray  # (F, K)
    whole: bool = True  # there are no others further ahead than is looked

    def shifted(self, slots: int) -> Front:
        """The same so many slots later."""
        return self._replace(rows=self.rows.shifted(slots))


class Window(NamedTuple):
    """One window of a secret at="any"."""

    opens: int
    closes: int
    later: FloatArray  # (slots of the window, S): P(first visit after that slot, by the end | model's state in it)
    here: FloatArray  # (slots of the window, S): the same, from that slot on
    chance: FloatArray  # (2, S): P(visited at all | model's state in its first slot), a pair of floats
    prior: float


class Tables:
    """What lies ahead, day by day: computed when asked for, kept for the latest; shared where priors repeat."""

    def __init__(self) -> None:
        self.fronts: OrderedDict[tuple[bool, int], list[Front]] = OrderedDict()  # by (repeating, place or slot)
        self.windows: OrderedDict[tuple[int, bool, int, int], Window] = OrderedDict()
        self.opened: dict[tuple[int, bool, bool], tuple[Rows, FloatArray, FloatArray]] = {}  # counted from the slot
        self.steps: dict[tuple[str | int, ...], tuple[FloatArray, FloatArray]] = {}
        self.reach: dict[int, int] = {}  # of each cycle
        self.far: dict[bytes, int] = {}  # of states that are possible, where all steps are alike
        self.horizon: int | None = None
