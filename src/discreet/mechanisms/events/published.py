"""PA-HMM's check and search as its authors printed them (Li and Sun 2020): Eq. 19 to 22, and Algorithms 5 and 6.

*The check* finds the topics' posterior from the outputs by the emissions of Eq. 19, which is exact, and from it the
secrets', P(s at u | O) = sum_y P(Y_u = y | O) W_u(y) (Eq. 22). W_u(y) adds up "b^i" over the events with s in them.
What that is can be read in two ways, and both are here (`emissions`):
- "topics": the topics' own emissions. A published event then tells about topics, and not about itself.
- "published": Eq. 19's b', emission times the chance of being published. Then a secret that is always withheld is
  believed to be impossible, and silence says that it is not there.
Neither is the posterior, but for one case: where the hidden state is the event itself, the first is.

*The search* raises one coordinate after the other from 0 (Algorithm 6), positions in order and the events of each in
the model's. What is printed leaves a coordinate at the last middle of its bisection, an odd number of sixteenths,
whether the check passed there or not; after one that failed, most checks fail, and most coordinates end at 1/16. It
calls p dominated by p' where p is nowhere *less*; the walk leaves no coordinate at 0, so the one candidate (0, ..., 0)
has no successors, and the first walk is the last. (Read as Proposition 3 needs it, every step of every walk makes as
many candidates as there are coordinates, and most of them fail: `tests/mechanisms/events/test_published.py` has both.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from discreet.contracts import DayModel
from discreet.jit import product
from discreet.mechanisms.events.stretches import SlotEvidence, Stretches
from discreet.numerics import ROOM, BoolArray, FloatArray, IntArray
from discreet.policy import SecretTable

Emissions = Literal["topics", "published"]


class PublishedStretches(Stretches):
    """Stretches whose secrets are judged by Eq. 22: `emissions` are those that it adds up."""

    def __init__(self, model: DayModel, secrets: SecretTable, window: int, emissions: Emissions) -> None:
        super().__init__(model, secrets, window)
        self._of_topics = emissions == "topics"

    def known(self, t: int, silent: FloatArray, over: FloatArray) -> SlotEvidence:
        """What the outputs of slot t tell: each of them about the secrets of the slot itself, too (Eq. 22)."""
        told, silence = self._told(t, silent)
        excess = self._excess_of(t, silent, over)
        inside = (told[:, None, :] * excess).reshape(-1, told.shape[1])
        return SlotEvidence(told, silence, inside, np.repeat(told, len(excess), axis=0))

    def _excess_of(self, t: int, silent: FloatArray, over: FloatArray) -> FloatArray:
        """(secrets at t, K): W - theta."""
        members = self.members[self.active[:, t]]
        shown = members if self._of_topics else members * (1 - silent)
        return product(shown, self.emissions[t].T) - self.theta(t, over)[:, None]

    def certain(self, t: int, silent: FloatArray, over: FloatArray) -> float:
        """Eq. 22 overlooks that a published event reveals itself."""
        return -1.0

    def silence_over(self, t: int, silent: FloatArray, over: FloatArray) -> FloatArray:
        """(secrets at t, K): (W - theta) silence."""
        return np.asarray(self._excess_of(t, silent, over) * product(self.emissions[t], silent))

    def events_over(self, t: int, silent: FloatArray, points: FloatArray, over: FloatArray) -> BoolArray:
        """(n,): the events whose publication, seen from points (P, K), gives Eq. 22 more than theta."""
        found: BoolArray = np.zeros(self.contexts, dtype=np.bool_)
        for row in self._excess_of(t, silent, over):
            found |= (product(points * row, self.emissions[t]) > 0).any(axis=0)
        return found

    def _lower_slot(
        self, t: int, levels: IntArray, grid: int, order: IntArray, knowns: list[SlotEvidence], over: FloatArray
    ) -> None:
        """Lower slot t's levels (n,) in place, each by bisection: Eq. 22 is not linear in them."""
        check = SlotCheck(self, t, knowns, over)
        for e in order:
            low, high = 0, int(levels[e])
            while low < high:
                levels[e] = (low + high) // 2
                low, high = (low, int(levels[e])) if check.holds(levels / grid) else (int(levels[e]) + 1, high)
            levels[e] = high


class SlotCheck:
    """Whether all stretches that contain slot t pass, for any vector of its silences; the other slots are fixed."""

    def __init__(self, stretches: Stretches, t: int, knowns: list[SlotEvidence], over: FloatArray) -> None:
        self._stretches, self._t, self._over = stretches, t, over
        self._rows, self._points = stretches.constraints(t, knowns)
        self._refused: BoolArray = np.asarray((product(self._rows, stretches.emissions[t]) > 0).any(axis=0))
        self._seen: tuple[bytes, BoolArray] = (b"", self._refused)

    def holds(self, silent: FloatArray) -> bool:
        """Whether they pass if the events of the slot are silent with probabilities (n,)."""
        of, t = self._stretches, self._t
        shown = (silent < 1) & of.possible[t]
        if (self._refused & shown).any() or (self._events_over(silent) & shown).any():
            return False
        silence = product(of.emissions[t], silent)
        if (product(self._rows, silence) > 0).any():
            return False
        return not (product(self._points, of.silence_over(t, silent, self._over).T) > 0).any()

    def _events_over(self, silent: FloatArray) -> BoolArray:
        """Kept until the chance of a secret event changes: nothing else matters to them."""
        key = np.where(self._stretches.members.any(axis=0), silent, 1.0).tobytes()
        if self._seen[0] != key:
            self._seen = key, self._stretches.events_over(self._t, silent, self._points, self._over)
        return self._seen[1]


def vector_search(stretches: Stretches, *, tries_one: bool = True) -> tuple[FloatArray, bool]:
    """Algorithm 6 as printed: the chances of silence (T, n) that it returns, and whether they pass the check.

    `tries_one=False` leaves out lines 6 to 8, by which a coordinate that passes at 1 stays there.
    """
    over = stretches.deltas + ROOM
    silent = np.ones((stretches.slots, stretches.contexts))
    knowns = [stretches.known(t, silent[t], over) for t in range(stretches.slots)]
    passes = True
    for t in range(stretches.slots):
        check, row = SlotCheck(stretches, t, knowns, over), silent[t]
        for e in np.flatnonzero(stretches.possible[t]):

            def passes_at(chance: float, e: int = int(e), row: FloatArray = row, check: SlotCheck = check) -> bool:
                row[e] = 1 - chance
                return check.holds(row)

            row[e], passes = _bisected(passes_at, tries_one)
        knowns[t] = stretches.known(t, row, over)
        if not passes and _beyond_repair(stretches, t, row, knowns, over):
            silent[t + 1 :] = np.where(stretches.possible[t + 1 :], 1 - LAST, 1.0)  # every check fails from here on
            break
    return silent, passes


LAST = 1 / 16
"""Where Algorithm 6 leaves a coordinate at which every check fails: the last middle between 0 and 1."""


def _bisected(check: Callable[[float], bool], tries_one: bool) -> tuple[float, bool]:
    """Lines 6 to 15 for one coordinate that is 0: the silence it is left at, and whether the check passed there."""
    low = middle = 0.0
    high = 1.0
    if tries_one and check(high):
        return 0.0, True
    passed = False
    while high - low >= 0.1:
        middle = (high + low) / 2
        passed = check(middle)
        low, high = (middle, high) if passed else (low, middle)
    return 1 - middle, passed


def _beyond_repair(
    stretches: Stretches, t: int, silent: FloatArray, knowns: list[SlotEvidence], over: FloatArray
) -> bool:
    """Whether what later slots do cannot make the check pass again: a stretch that ends at slot t fails."""
    if stretches.certain(t, silent, over) > 0:
        return True
    return t >= stretches.window - 1 and len(stretches.members) > 0 and stretches.ending(t, knowns) > 0
