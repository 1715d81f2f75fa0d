"""A mechanism of single days as one without end: it starts anew at each cut, and the observer does not.

What is promised of a day ends there. Beliefs are those of the observer who knows how nights join the days, so that they
show what the promise leaves out.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np

from discreet.adversary.endless import EndlessAdversary
from discreet.adversary.endless_belief import LIVE, EndlessBelief
from discreet.adversary.unrolled import Daily, DaysJoined
from discreet.contracts import DayModel, Mechanism, Utility, runs_without_end
from discreet.errors import OneDayError
from discreet.events import Events
from discreet.mechanisms.named import Spec
from discreet.mechanisms.unchanging import UnchangingStream
from discreet.models.kinds import ONE_DAY
from discreet.models.routine.endless import EndlessChain
from discreet.numerics import FloatArray
from discreet.outputs import SKIPPED, Output, Skipped
from discreet.policy import Guarantee, Policy

WEEK = 7


@dataclass(frozen=True)
class DayState:
    """The public state: the slot, counted on over midnight, and the state of that day's mechanism."""

    slot: int
    inner: Any  # None before the day's first output
    skipped: bool
    belief: EndlessBelief = field(compare=False, repr=False)
    today: tuple[Output, ...] = field(default=(), compare=False, repr=False)
    """The outputs since the cut, from which `inner` follows."""
    cuts: tuple[int, ...] = ()  # habits do not change
    others: tuple[EndlessBelief, ...] = ()  # no other observers are in mind


class DayByDay(UnchangingStream, DaysJoined):
    """A day's mechanisms, a kind of day each, as a stream: what a session of each day would release, slot by slot.

    A stream that begins within a day begins as if the slots before had been skipped.
    """

    shares_tables: Literal[True] = True

    def __init__(self, mechanisms: Daily, model: EndlessChain, settings: str) -> None:
        super().__init__(mechanisms, model.routine, model.start, first=model.first)
        self._mechanisms, self.settings = mechanisms, settings
        self.guarantee = Guarantee("none", "what a day's mechanism promises ends at midnight")
        self.adversary = EndlessAdversary(self, anew=self.starting)
        self.adversary.horizon  # noqa: B018  # asked for now: habits without one are refused before the first release

    def start(self) -> DayState:  # type: ignore[override]  # with the belief, which the audit has beside it
        """The stream's first slot."""
        skipped = (SKIPPED,) * (self.model.first % self.model.day_slots)
        return self.restored(self.adversary.start(), False, today=skipped)

    def restored(
        self,
        belief: EndlessBelief,
        skipped: bool,
        cuts: tuple[int, ...] = (),
        others: tuple[EndlessBelief, ...] = (),
        today: tuple[Output, ...] = (),
    ) -> DayState:
        """The public state of a checkpoint, after `today`'s outputs."""
        inner = None
        if today:
            mechanism = self.of(self.model.date_of(belief.slot)[0])
            inner = mechanism.start()
            for output in today:
                inner = mechanism.advance(inner, output)
        return DayState(belief.slot, inner, skipped, belief, today)

    def advance(self, state: Any, output: Output) -> Any:
        """The day's own, and the belief; at midnight the next day's mechanism starts."""
        if isinstance(output, Skipped):
            return self.retraced(state, output, np.ones(len(self.private_contexts)))
        return self.retraced(state, output, self.kernel(state).likelihood(output))

    def retraced(self, state: DayState, output: Output, column: FloatArray) -> DayState:
        """The public state after an output that had this likelihood (P,) when it was drawn."""
        following = super().advance(state, output)  # type: ignore[arg-type]  # slot and inner are all that it reads
        belief = state.belief.unsettled(LIVE).after(column)
        today = () if following.inner is None else (*state.today, output)
        return DayState(following.slot, following.inner, isinstance(output, Skipped), belief, today)

    @property
    def called(self) -> str:
        """By its mechanism."""
        return self.settings

    def since(self, date: dt.date | str, first: int = 0) -> DayByDay:
        """The same mechanisms from another date and slot on, with the kernels that they have made."""
        return DayByDay(self._mechanisms, self.model.routine.since(date, first=first), self.settings)

    def expected_utility(self, days: int | None = None) -> Utility:
        """The mean over a week of the days' own."""
        start = self.model.start
        found = [self.of(start + number * ONE_DAY).expected_utility(days) for number in range(WEEK)]
        means, widths = ([getattr(one, name) for one in found] for name in ("mean", "half_width"))
        return Utility(sum(means) / WEEK, sum(widths) / WEEK)


@dataclass(frozen=True, init=False)
class EachDaySpec(Spec):
    """A mechanism whose promise may end at midnight: over habits without end it starts anew each day, if it has to."""

    def make(self, model: DayModel, policy: Policy | None, *, events: Events | None = None) -> Mechanism[Any]:
        """The mechanism without end, or for each kind of day."""
        make, given = super().make, cast(Any, model)
        if not isinstance(given, EndlessChain):
            return make(model, policy, events=events)
        try:
            made = make(model, policy, events=events)
        except OneDayError:
            made = None
        if made is not None and runs_without_end(made):
            return made
        routine = given.routine
        days = {kind: make(routine.day(kind), policy, events=events) for kind in routine.kinds}
        return DayByDay(days, given, f"{self}, anew each day")
