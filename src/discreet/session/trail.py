"""What a session keeps of its past: the last days of a stream, to recompute what they reveal by now, and a trail of
the kernels and outputs so far. And how far back a mechanism's memory goes."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from discreet.adversary.belief import Belief
from discreet.adversary.endless_belief import EndlessBelief
from discreet.contracts import AnyMechanism, Kernel
from discreet.errors import DiscreetError
from discreet.given import as_date
from discreet.models.kinds import ONE_DAY
from discreet.numerics import FloatArray, digest_of
from discreet.outputs import Output

PAST_DAYS = 14
"""Days of a stream without end whose gains can be asked for."""


class DayLog(NamedTuple):
    """One day of a stream: the belief it began with, and the likelihoods of its outputs."""

    belief: EndlessBelief
    likelihoods: tuple[FloatArray, ...] = ()


class RecentDays(NamedTuple):
    """The last days of a stream, kept to recompute what they reveal by now; nothing where there are no dates."""

    days: tuple[DayLog, ...] = ()

    @classmethod
    def of(cls, belief: Belief | EndlessBelief) -> RecentDays:
        """From this belief on; a session of one day, or of positions, has no other dates."""
        dated = isinstance(belief, EndlessBelief) and belief.adversary.model.day_slots is not None
        return cls((DayLog(belief),)) if dated else cls()  # type: ignore[arg-type]

    def after(self, belief: EndlessBelief, likelihood: FloatArray) -> RecentDays:
        """With one more output, after which the belief is this."""
        if not self.days:
            return self
        last = self.days[-1]
        days = (*self.days[:-1], last._replace(likelihoods=(*last.likelihoods, likelihood)))
        if belief.adversary is not last.belief.adversary:
            return RecentDays.of(belief)  # habits or the policy changed: what came before is judged by others
        if belief.slot % belief.adversary.model.day_slots == 0:
            days = (*days, DayLog(belief))[-PAST_DAYS:]
        return RecentDays(days)

    def gains(self, now: EndlessBelief, date: dt.date | str) -> Mapping[str, FloatArray | float]:
        """The gains of one date, by filtering again from its morning with all of its rows kept."""
        morning, likelihoods = self.since(now, date)
        watched = now.adversary.watching(morning)
        for likelihood in likelihoods:
            watched = watched.after(likelihood)
        return watched.on(as_date(date))

    def since(self, now: EndlessBelief, date: dt.date | str) -> tuple[EndlessBelief, list[FloatArray]]:
        """The belief that a date began with, and the likelihoods of all outputs since."""
        if not self.days:
            raise DiscreetError("a session of one day, or of positions, has no other dates; ask for gains() alone")
        model = now.adversary.model
        asked = as_date(date)
        whole = [
            day.belief.slot in (model.first, model.slot_of(model.date_of(day.belief.slot)[0])) for day in self.days
        ]
        for number, day in enumerate(self.days):
            if whole[number] and model.date_of(day.belief.slot)[0] == asked:
                return day.belief, [one for later in self.days[number:] for one in later.likelihoods]
        first, last = model.date_of(self.days[0].belief.slot)[0], model.date_of(now.slot)[0]
        if not whole[0]:  # it went on from a checkpoint, or changed, within that day
            first += ONE_DAY
        until = f"to {last}" if first <= last else "on"
        raise DiscreetError(f"the outputs of {asked} are not at hand; gains can be asked for from {first} {until}")


class Trail:
    """The kernels and outputs so far. They are hashed when somebody asks: most sessions are never resumed."""

    __slots__ = ("_digest", "_step", "length")

    def __init__(
        self,
        before: Trail | None = None,
        kernel: Kernel | None = None,
        output: Output | None = None,
        *,
        digest: bytes = b"",
    ) -> None:
        self._step = None if before is None else (before, kernel, output)
        self._digest = digest
        self.length: int = 0 if before is None else before.length + 1

    @property
    def digest(self) -> bytes:
        """Of all of them."""
        steps, trail = [], self
        while trail._step is not None:
            steps.append((trail, trail._step))
            trail = trail._step[0]
        digest = trail._digest
        for later, (_, kernel, output) in reversed(steps):
            digest = digest_of((digest, b"" if kernel is None else kernel.digest, output))
            later._digest = digest
        self._step = None  # what came before is in the digest now, and need not be kept
        self.length = 0
        return digest


def memory_span(mechanism: AnyMechanism) -> float:
    """How many readings in a row decide the private state, whatever it was before; infinity if no number does.

    1 without memory, 2 with a memory of the previous context. Two private states that lead to the same ones are one
    class; `apart` (C, C) holds the pairs of classes that equal readings have not brought together yet. It can only
    shrink: where it stays the same, memory never forgets.
    """
    contexts = range(len(mechanism.model.contexts))
    states = range(len(mechanism.private_contexts))
    following = np.array([[mechanism.remember(m, c) for c in contexts] for m in states])  # (P, n)
    classes, group = np.unique(following, axis=0, return_inverse=True)  # (C, n), (P,)
    reached = group.reshape(-1)[classes]  # (C, n): the class that a context leads to
    apart = ~np.eye(len(classes), dtype=np.bool_)
    span = 1
    while apart.any():
        before, (one, other) = apart, np.nonzero(apart)
        apart = np.zeros_like(before)
        for c in contexts:
            apart[reached[one, c], reached[other, c]] = True
        np.fill_diagonal(apart, False)
        if np.array_equal(apart, before):
            return math.inf
        span += 1
    return span
