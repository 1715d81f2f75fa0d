"""Held-out days released once: what was shown of secrets and the rest, what an observer learned, how long it took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.adversary.belief import Adversary, Belief
from discreet.contexts import Day
from discreet.contracts import Mechanism
from discreet.evaluation.metrics import Worth
from discreet.evaluation.replay import Moment, replay
from discreet.numerics import exceeds
from discreet.outputs import Output, Released, Suppressed
from discreet.policy import Policy
from discreet.randomness import SeededEntropy

Fate = Literal["released", "suppressed", "faked"]
"""What became of a slot."""


@dataclass(frozen=True)
class Shown:
    """How many slots were released, faked and suppressed, where a secret was true and elsewhere.

    A context that is not the true one is a fake; anything else but silence counts as released: the truth, or what
    stands for it.
    """

    released_secret: int = 0
    released_other: int = 0
    suppressed_secret: int = 0
    suppressed_other: int = 0
    faked_secret: int = 0
    faked_other: int = 0
    worth: float = 0.0  # of all outputs together

    @property
    def slots(self) -> int:
        """All of them."""
        return (
            self.released_secret
            + self.released_other
            + self.suppressed_secret
            + self.suppressed_other
            + self.faked_secret
            + self.faked_other
        )

    @property
    def utility(self) -> float:
        """The worth of a slot on average: the fraction released, unless outputs were given other values."""
        return self.worth / self.slots


@dataclass(frozen=True)
class Decisions:
    """Seconds that `Session.release` took on average, belief included, by what came of it; None where nothing did."""

    released: float | None
    suppressed: float | None


@dataclass(frozen=True)
class Learned:
    """What the exact adversary learned.

    `breached` is MaskIt's count: slots whose true context is a secret and whose posterior, given the whole day's
    output, is more than delta above its prior. `pairs` is the stricter count of `discreet.evaluate`: (slot, secret)
    pairs, true or not, whose gain exceeded delta after some prefix of the day.
    """

    shown: Shown
    decisions: Decisions
    breached: int
    breached_silent: int  # of those, the ones that were suppressed
    breached_faked: int  # and the ones that were faked
    pairs: int
    worst_gain: float
    off_model: int


def standing_for(context: str, output: Output) -> float:
    """1 for the true context and for what stands for it, 0 for silence and fakes."""
    return 0.0 if isinstance(output, Suppressed) or is_fake(context, output) else 1.0


def is_fake(context: str, output: Output) -> bool:
    """Whether a context was released that is not the true one."""
    return isinstance(output, Released) and output.context != context


def replayed(mechanism: Mechanism[Any], days: Sequence[Day], secrets: Sequence[str], seed: int) -> Shown:
    """Release the days, with an observer who looks for no secrets: quick, and the outputs are those of `observed`.

    As in every session, a reading that the model holds impossible after the outputs so far is suppressed.
    """
    judge, fates = Adversary(mechanism, policy=Policy()), _Fates(secrets)
    for moment in replay(mechanism, days, rng=SeededEntropy(seed), judge=judge):
        fates.add(moment)
    return fates.shown()


def observed(
    mechanism: Mechanism[Any], days: Sequence[Day], secrets: Sequence[str], seed: int, worth: Worth = standing_for
) -> Learned:
    """Release the days before the eyes of the exact adversary."""
    judge, fates = Adversary(mechanism), _Fates(secrets, worth)
    row_of = {name: k for k, name in enumerate(judge.gain_names)}
    highest, worst = np.zeros(len(judge.deltas)), np.zeros(len(judge.deltas))
    breached = breached_silent = breached_faked = pairs = off_model = 0
    outputs: list[Output] = []
    for moment in replay(mechanism, days, rng=SeededEntropy(seed), judge=judge):
        fates.add(moment)
        outputs.append(moment.output)
        off_model += moment.off_model
        np.maximum(highest, moment.belief.gains, out=highest)
        if not moment.ends_day:
            continue
        over = exceeds(moment.belief.gains, judge.deltas)
        for slot, (context, output) in enumerate(zip(moment.day.contexts, outputs, strict=True)):
            row = row_of.get((context, slot))  # secrets of one context, named after it
            if row is not None and over[row]:
                breached += 1
                breached_silent += isinstance(output, Suppressed)
                breached_faked += is_fake(context, output)
        pairs += int(exceeds(highest, judge.deltas).sum())
        np.maximum(worst, highest, out=worst)
        highest[:] = 0.0
        outputs.clear()
    worst_gain = float(worst.max(initial=0.0))
    return Learned(
        fates.shown(), fates.decisions(), breached, breached_silent, breached_faked, pairs, worst_gain, off_model
    )


class _Fates:
    """Slots and seconds by (was a secret true, what became of it)."""

    def __init__(self, secrets: Sequence[str], worth: Worth = standing_for) -> None:
        self._secrets, self._worth_of = frozenset(secrets), worth
        self._slots: Counter[tuple[bool, Fate]] = Counter()
        self._seconds: dict[Fate, float] = {"released": 0.0, "suppressed": 0.0, "faked": 0.0}
        self._worth = 0.0

    def add(self, moment: Moment[Belief]) -> None:
        context, output = moment.context, moment.output
        fate: Fate = "suppressed" if isinstance(output, Suppressed) else "released"
        if is_fake(context, output):
            fate = "faked"
        self._slots[context in self._secrets, fate] += 1
        self._seconds[fate] += moment.seconds
        self._worth += self._worth_of(context, output)

    def shown(self) -> Shown:
        slots = self._slots
        return Shown(
            slots[True, "released"],
            slots[False, "released"],
            slots[True, "suppressed"],
            slots[False, "suppressed"],
            slots[True, "faked"],
            slots[False, "faked"],
            self._worth,
        )

    def decisions(self) -> Decisions:
        def average(*fates: Fate) -> float | None:
            times = sum(self._slots[secret, fate] for secret in (True, False) for fate in fates)
            return sum(self._seconds[fate] for fate in fates) / times if times else None

        return Decisions(average("released", "faked"), average("suppressed"))
