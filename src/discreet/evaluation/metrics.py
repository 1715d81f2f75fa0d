"""A mechanism on days: utility, breaches, what the model had no place for, and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.contexts import Day
from discreet.contracts import Mechanism, Model
from discreet.errors import DiscreetError
from discreet.numerics import SLACK
from discreet.outputs import Output, Suppressed, truthful
from discreet.policy import Policy
from discreet.randomness import SeededEntropy
from discreet.session import Session

Worth = Callable[[str, Output], float]


@dataclass(frozen=True)
class Evaluation:
    """What a mechanism did on days. Gains are realised ones, by the exact adversary, after every prefix of each day."""

    utility: float  # mean worth of a slot's output: the fraction released truthfully, unless worth says otherwise
    breach_rate: float  # (slot, secret) pairs whose gain exceeded delta at some time, over slots
    worst_gain: float
    off_model: int  # readings that the model has no place for, and outputs it holds impossible
    suppressed: float  # fraction of slots that were silent
    seconds_per_decision: float  # of Session.release: kernel, draw, advance, and the observer's belief
    slots: int
    days: int
    breached_days: int
    by_secret: dict[str, float]  # worst gain of each secret


def evaluate(
    mechanism: Mechanism[Any],
    days: Iterable[Day],
    *,
    policy: Policy | None = None,
    model: Model | None = None,
    worth: Worth = truthful,
    seed: int = 0,
    progress: Callable[[], object] | None = None,
) -> Evaluation:
    """Release each day once and judge what an observer learned; `policy` and `model` as in `audit`.

    The draws are seeded, so that an experiment can be repeated.
    """
    adversary = Adversary(mechanism, model, policy)
    rng = SeededEntropy(seed)
    tally = _Tally(adversary)
    for day in days:
        if len(day) != mechanism.model.slots:
            raise DiscreetError(
                f"the day of {day.person or 'a person'} on {day.date or 'an unknown date'} has {len(day)} slots, "
                f"the model {mechanism.model.slots}; cut the days with the clock that the model was learned with"
            )
        tally.add(day, Session(mechanism, rng=rng, adversary=adversary), worth)
        if progress is not None:
            progress()
    return tally.result()


class _Tally:
    def __init__(self, adversary: Adversary) -> None:
        self.adversary = adversary
        self.worth = self.seconds = 0.0
        self.slots = self.days = self.breaches = self.breached_days = self.off_model = self.silent = 0
        self.worst = np.zeros(len(adversary.deltas))

    def add(self, day: Day, session: Session, worth: Worth) -> None:
        highest = np.zeros(len(self.adversary.deltas))
        for context in day.contexts:
            started = time.perf_counter()
            output = session.release(context)
            self.seconds += time.perf_counter() - started
            self.worth += worth(context, output)
            self.silent += isinstance(output, Suppressed)
            np.maximum(highest, session.belief.gains, out=highest)
        breached = int((highest > self.adversary.deltas + SLACK).sum())
        self.breaches += breached
        self.breached_days += breached > 0
        self.worst = np.maximum(self.worst, highest)
        self.slots += len(day)
        self.days += 1
        self.off_model += session.off_model

    def result(self) -> Evaluation:
        if not self.days:
            raise DiscreetError("there are no days to evaluate; give at least one")
        by_secret: dict[str, float] = {}
        for (name, _), gain in zip(self.adversary.gain_names, self.worst, strict=True):
            by_secret[name] = max(by_secret.get(name, 0.0), float(gain))
        return Evaluation(
            utility=self.worth / self.slots,
            breach_rate=self.breaches / self.slots,
            worst_gain=float(self.worst.max(initial=0.0)),
            off_model=self.off_model,
            suppressed=self.silent / self.slots,
            seconds_per_decision=self.seconds / self.slots,
            slots=self.slots,
            days=self.days,
            breached_days=self.breached_days,
            by_secret=by_secret,
        )
