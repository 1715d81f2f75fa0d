"""A mechanism on days: utility, breaches, what the model had no place for, and time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.contexts import Day
from discreet.contracts import Mechanism, Model
from discreet.errors import DiscreetError
from discreet.evaluation.replay import Moment, replay
from discreet.numerics import exceeds
from discreet.outputs import Output, Suppressed
from discreet.policy import Policy
from discreet.randomness import SeededEntropy

Worth = Callable[[str, Output], float]


@dataclass(frozen=True)
class Evaluation:
    """What a mechanism did on days. Gains are realised ones, by the exact adversary, after every prefix of each day."""

    utility: float  # mean worth of a slot's output: of most mechanisms, the fraction released truthfully
    breach_rate: float  # (slot, secret) pairs whose gain exceeded delta at some time, over slots
    worst_gain: float
    off_model: int  # slots whose reading the mechanism's model, or whose output the observer's, has no place for
    suppressed: float  # fraction of slots that were silent
    seconds_per_decision: float  # of Session.release: kernel, draw, advance, and the session's belief
    slots: int
    days: int
    breached_days: int
    by_secret: dict[str, float]  # worst gain of each secret

    @property
    def breached(self) -> bool:
        """Whether some gain was over its delta on some day."""
        return self.breached_days > 0


def evaluate(
    mechanism: Mechanism[Any],
    days: Iterable[Day],
    *,
    policy: Policy | None = None,
    model: Model | None = None,
    worth: Worth | None = None,
    seed: int = 0,
    progress: Callable[[], object] | None = None,
) -> Evaluation:
    """Release each day once and judge what an observer learned; `policy` and `model` as in `audit`.

    Who judges changes nothing that is released: `model` and `policy` are the observer's, the mechanism keeps its own.
    Outputs are worth what the mechanism holds them to be worth, as in its `expected_utility`, unless `worth` is given.
    The draws are seeded, so that an experiment can be repeated.
    """
    tally = _Tally(Adversary(mechanism, model, policy), _own_worth(mechanism) if worth is None else worth)
    for moment in replay(mechanism, days, rng=SeededEntropy(seed), judge=tally.adversary):
        tally.add(moment)
        if moment.ends_day and progress is not None:
            progress()
    return tally.result()


def _own_worth(mechanism: Mechanism[Any]) -> Worth:
    """The mechanism's own, which is defined on its model's contexts; any other is met with silence, worth nothing."""
    known = frozenset(mechanism.model.contexts)
    return lambda context, output: mechanism.worth(context, output) if context in known else 0.0


class _Tally:
    def __init__(self, adversary: Adversary, worth: Worth) -> None:
        self.adversary, self.worth_of = adversary, worth
        self.worth = self.seconds = 0.0
        self.slots = self.days = self.breaches = self.breached_days = self.off_model = self.silent = 0
        self.highest = np.zeros(len(adversary.deltas))  # of the day so far
        self.worst = np.zeros(len(adversary.deltas))

    def add(self, moment: Moment) -> None:
        self.slots += 1
        self.seconds += moment.seconds
        self.worth += self.worth_of(moment.context, moment.output)
        self.silent += isinstance(moment.output, Suppressed)
        self.off_model += moment.off_model
        np.maximum(self.highest, moment.belief.gains, out=self.highest)
        if moment.ends_day:
            self._end_day()

    def _end_day(self) -> None:
        breached = int(exceeds(self.highest, self.adversary.deltas).sum())
        self.breaches += breached
        self.breached_days += breached > 0
        self.days += 1
        np.maximum(self.worst, self.highest, out=self.worst)
        self.highest[:] = 0.0

    def result(self) -> Evaluation:
        if not self.days:
            raise DiscreetError("there are no days to evaluate; give at least one")
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
            by_secret=self.adversary.worst_by_secret(self.worst),
        )
