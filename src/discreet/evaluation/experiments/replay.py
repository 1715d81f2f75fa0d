"""Held-out days released once: what was shown of secrets and of the rest, what an observer learned, how long it took."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.contexts import Day
from discreet.contracts import Mechanism
from discreet.numerics import SLACK
from discreet.outputs import Output, Suppressed
from discreet.policy import Policy
from discreet.randomness import SeededEntropy
from discreet.session import Session


@dataclass(frozen=True)
class Shown:
    """How many slots were released and suppressed, where a secret was true and elsewhere.

    Anything but silence counts as released: the mechanisms here output the truth, or the set that stands for it.
    """

    released_secret: int = 0
    released_other: int = 0
    suppressed_secret: int = 0
    suppressed_other: int = 0

    @property
    def slots(self) -> int:
        """All of them."""
        return self.released_secret + self.released_other + self.suppressed_secret + self.suppressed_other

    @property
    def utility(self) -> float:
        """The fraction released."""
        return (self.released_secret + self.released_other) / self.slots


@dataclass(frozen=True)
class Decisions:
    """Seconds that `Session.release` took on average, belief included, by what came of it; None where nothing did."""

    released: float | None
    suppressed: float | None


@dataclass(frozen=True)
class Learned:
    """What the exact adversary learned.

    `breached` is MaskIt's count: slots whose true context is a secret and whose posterior, given the whole day's output,
    is more than delta above its prior. `pairs` is the stricter count of `discreet.evaluate`: (slot, secret) pairs, true or
    not, whose gain exceeded delta after some prefix of the day.
    """

    shown: Shown
    decisions: Decisions
    breached: int
    breached_silent: int  # of those, the ones that were suppressed
    pairs: int
    worst_gain: float
    off_model: int


def replayed(mechanism: Mechanism[Any], days: Sequence[Day], secrets: Sequence[str], seed: int) -> Shown:
    """Release the days, with an observer who looks for no secrets: quick, and the outputs are those of `observed`.

    As in every session, a reading that the model holds impossible after the outputs so far is suppressed.
    """
    rng, adversary, tally = SeededEntropy(seed), Adversary(mechanism, policy=Policy()), _Tally(secrets)
    for day in days:
        session = Session(mechanism, rng=rng, adversary=adversary)
        for context in day.contexts:
            tally.add(context, session.release(context))
    return tally.shown()


def observed(mechanism: Mechanism[Any], days: Sequence[Day], secrets: Sequence[str], seed: int) -> Learned:
    """Release the days before the eyes of the exact adversary."""
    rng, adversary, tally = SeededEntropy(seed), Adversary(mechanism), _Tally(secrets)
    limits = adversary.deltas + SLACK
    worst = np.zeros(len(limits))
    row_of = {name: k for k, name in enumerate(adversary.gain_names)}
    breached = breached_silent = pairs = off_model = 0
    for day in days:
        session = Session(mechanism, rng=rng, adversary=adversary)
        highest, outputs = np.zeros(len(limits)), []
        for context in day.contexts:
            started = time.perf_counter()
            outputs.append(session.release(context))
            tally.add(context, outputs[-1], time.perf_counter() - started)
            np.maximum(highest, session.belief.gains, out=highest)
        over = session.belief.gains > limits
        for slot, (context, output) in enumerate(zip(day.contexts, outputs, strict=True)):
            row = row_of.get((context, slot))  # secrets of one context, named after it
            if row is not None and over[row]:
                breached += 1
                breached_silent += isinstance(output, Suppressed)
        pairs += int((highest > limits).sum())
        off_model += session.off_model
        np.maximum(worst, highest, out=worst)
    worst_gain = float(worst.max(initial=0.0))
    return Learned(tally.shown(), tally.decisions(), breached, breached_silent, pairs, worst_gain, off_model)


class _Tally:
    """Slots and seconds by (was a secret true, was the output silence)."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = frozenset(secrets)
        self._slots = {(secret, silent): 0 for secret in (True, False) for silent in (True, False)}
        self._seconds = {True: 0.0, False: 0.0}

    def add(self, context: str, output: Output, seconds: float = 0.0) -> None:
        silent = isinstance(output, Suppressed)
        self._slots[context in self._secrets, silent] += 1
        self._seconds[silent] += seconds

    def shown(self) -> Shown:
        slots = self._slots
        return Shown(slots[True, False], slots[False, False], slots[True, True], slots[False, True])

    def decisions(self) -> Decisions:
        def average(silent: bool) -> float | None:
            times = self._slots[True, silent] + self._slots[False, silent]
            return self._seconds[silent] / times if times else None

        return Decisions(average(False), average(True))
