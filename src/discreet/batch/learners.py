"""How habits are learned: anew from a table's days, or by adding days to a routine; each is tested on held-out days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from discreet.batch.truth import KnownByPart, days_learned
from discreet.clock import Clock
from discreet.contexts import Day
from discreet.errors import DiscreetError, PolicyError, did_you_mean
from discreet.listener import Note, ignore

if TYPE_CHECKING:
    from discreet.evaluation.truth import Truth
    from discreet.models.chain.markov import MarkovChain
    from discreet.models.hidden.markov import HiddenMarkovModel
    from discreet.models.learning.guesses import Guesses
    from discreet.models.learning.held_out import Fitted, HeldOut
    from discreet.models.routine.parts import AnyModel
    from discreet.models.routine.routine import Routine
    from discreet.policy import Policy


@dataclass(frozen=True)
class Found:
    """One person's model, the days that it learned, and how habits of the days before fare on the last ones."""

    model: Fitted
    days: list[Day]
    last: HeldOut
    guesses: Guesses | None
    truth: Truth


class Learner(Protocol):
    """Learns each person's days, cut by its clock; the contexts `kept` are not merged."""

    @property
    def clock(self) -> Clock:
        """How the days are cut."""

    @property
    def kept(self) -> Sequence[str]:
        """Contexts that stay what they are, however rare."""

    @property
    def policy(self) -> Policy | None:
        """The secrets that the model is tested on."""

    @property
    def note(self) -> Note:
        """Who is told what is worth a line."""

    def learn(self, days: list[Day]) -> Found:
        """The habits of one person."""


@dataclass(frozen=True)
class FitNew:
    """Habits from these days alone, by the rules that options give."""

    clock: Clock
    kept: Sequence[str]
    policy: Policy | None
    day_by_day: bool
    smoothing: Literal["calibrated", "auto", "none"] | None
    floor: float | None
    weekparts: bool | None
    observers: int | None
    learner: str | None = None
    order: Literal["1", "2", "auto"] | None = None
    note: Note = ignore

    def learn(self, days: list[Day]) -> Found:
        """The model of all days; one of the earlier ones is tried on the last."""
        from discreet.models.learning.guesses import guesses
        from discreet.models.learning.held_out import HeldOut, judged, split

        earlier, last = split(days)
        if not last:
            if self.order == "auto":
                return replace(self, order="1").learn(days)
            return Found(self._observed(days), days, HeldOut(0, None, None), None, _too_few())
        if self.order == "auto":
            return replace(self, order=self._likelier(earlier, last)).learn(days)
        before = self._fit(earlier)
        on = f"the last {len(last)} days, by habits of the {len(earlier)} before,"
        truth = _truth(before, last, self.policy, on, len(earlier))
        return Found(self._observed(days), days, judged(before, last), guesses(before, last), truth)

    def _likelier(self, earlier: Sequence[Day], last: Sequence[Day]) -> Literal["1", "2"]:
        """The order by which habits of the earlier days predict the last ones better."""
        from discreet.models.learning.held_out import judged

        one, two = (judged(replace(self, order=order)._fit(earlier), last) for order in ("1", "2"))
        known = one.log_likelihood is not None and two.log_likelihood is not None
        better: Literal["1", "2"] = "1"
        if known and (two.log_likelihood or 0.0) > (one.log_likelihood or 0.0) and two.impossible == one.impossible:
            better = "2"
        if known:
            self.note(
                f"habits over {'two contexts' if better == '2' else 'one context'} are learned: of a step of the last "
                f"{len(last)} days, the log-likelihood is {one.log_likelihood:.3f} by one and {two.log_likelihood:.3f} "
                "by two"
            )
        return better

    def _observed(self, days: Sequence[Day]) -> Fitted:
        """The model, with its observers where they are asked for."""
        from discreet.models.learning.observers import observers_of
        from discreet.models.routine.routine import Routine

        model = self._fit(days)
        if not self.observers:
            return model
        if not isinstance(model, Routine):
            raise DiscreetError(
                "--observers are for routines over one context; leave --observers out, or --day-by-day and --order"
            )
        found = observers_of(model, days, self.observers, secrets=self.kept)
        if len(found) < self.observers:
            self.note(f"{len(days)} days make {len(found)} observers, not {self.observers}")
        return model.with_observers(found)

    def _fit(self, days: Sequence[Day]) -> Fitted:
        from discreet.models.chain.markov import MarkovChain
        from discreet.models.learning.routine import FLOOR
        from discreet.models.routine.routine import Routine

        if self.learner is not None:
            if self.order is not None:
                raise DiscreetError(f"the learner {self.learner} has an order of its own; leave --order out")
            return self._by_plug_in(self.learner, days)
        smoothing, order = self.smoothing or "auto", 2 if self.order == "2" else 1
        if not self.day_by_day:
            by = None if self.weekparts is False else "weekpart"
            floor = FLOOR if self.floor is None else self.floor
            return Routine.fit(days, by, smoothing, floor, secrets=self.kept, clock=self.clock, order=order)  # type: ignore[arg-type]
        if smoothing == "calibrated":
            raise DiscreetError(
                "--smoothing calibrated is for routines, and --day-by-day learns single days; leave one of them out"
            )
        if self.floor is not None:
            raise DiscreetError("--floor is for routines, and --day-by-day learns single days; leave one of them out")
        if self.weekparts and order == 2:
            raise DiscreetError("--order 2 learns single days all alike, or a routine; leave --weekparts out")
        if self.weekparts:
            return MarkovChain.fit(days, smoothing, by="weekpart", clock=self.clock)
        return MarkovChain.fit(days, smoothing, clock=self.clock, order=order)

    def _by_plug_in(self, name: str, days: Sequence[Day]) -> Fitted:
        """What somebody else's learner makes of the days."""
        from discreet import plugins
        from discreet.models.learning.held_out import Fitted

        known = plugins.names(plugins.LEARNERS)
        if name not in known:
            hint = did_you_mean(name, known) if known else "none is installed"
            raise DiscreetError(f"there is no learner {name!r}; {hint}")
        model = plugins.loaded(plugins.LEARNERS, name)(days, clock=self.clock, secrets=self.kept)
        if not isinstance(model, Fitted):
            raise DiscreetError(f"the learner {name} gave a {type(model).__name__}; it must give a chain or a routine")
        return model


@dataclass(frozen=True)
class Update:
    """Days added to a routine, by the rules that it was learned with; those that it learned before are left out."""

    before: Routine
    file: Path
    declared: Sequence[str]
    policy: Policy | None
    note: Note = ignore

    @property
    def clock(self) -> Clock:
        """The routine's."""
        if self.before.clock is None:
            raise DiscreetError(f"{self.file}: the routine carries no clock; make it with discreet learn")
        return self.before.clock

    @property
    def kept(self) -> Sequence[str]:
        """Contexts of the routine stay what they are."""
        return (*self.declared, *self.before.contexts)

    def learn(self, days: list[Day]) -> Found:
        """The routine with the new days; as it was before, it is tried on them."""
        from discreet.models.learning.guesses import guesses
        from discreet.models.learning.held_out import judged

        learned = self.before.learned
        until = {} if learned is None else learned.until
        new = [
            day for day in days if day.date is not None and (day.person not in until or day.date > until[day.person][0])
        ]
        if not new:
            raise DiscreetError(f"{self.file}: all {len(days)} days were learned before; give a file with later ones")
        model = self.before.updated(new, secrets=self.declared)
        if len(new) < len(days):
            self.note(f"{len(days) - len(new)} days up to {days[len(days) - len(new) - 1].date} were learned before")
        on = f"the {len(new)} new days, by habits as they were before,"
        truth = _truth(self.before, new, self.policy, on, days_learned(self.before))
        return Found(model, new, judged(self.before, new), guesses(self.before, new), truth)


def _truth(before: Fitted, last: Sequence[Day], policy: Policy | None, on: str, learned: int | None) -> Truth:
    """Habits held against days that they have not learned."""
    from discreet.evaluation.truth import DAYS_REMEDY, any_context, check_days

    labels = list(dict.fromkeys(label for one in _chains(before) for label in one.contexts))
    return check_days(
        before,
        last,
        any_context(labels) if policy is None or not policy.secrets else policy,
        on=on,
        held_out=True,
        learned_from=learned,
        remedy=DAYS_REMEDY,
    )


def _chains(model: Fitted) -> list[MarkovChain | HiddenMarkovModel]:
    from discreet.models.routine.parts import parts_of

    return list(parts_of(model).values())


def _too_few() -> Truth:
    from discreet.evaluation.truth import DAYS_REMEDY, FEWEST, Truth

    return Truth("held-out days", (), f"too few days (it takes {FEWEST} that are held out)", DAYS_REMEDY)


def read_routine(path: Path) -> Routine:
    """The routine that days are added to."""
    from discreet.models.routine.routine import Routine
    from discreet.models.store import load_days

    model = load_days(path)
    if not isinstance(model, Routine):
        raise DiscreetError(
            f"{path}: is no routine over one context, so --update cannot add days to it; learn again from all days"
        )
    return model


def other_times(clock: Clock | None, **given: object) -> dict[str, object]:
    """The options that say other times than the clock."""
    return {name: value for name, value in given.items() if value is not None and value != getattr(clock, name, None)}


def refuse(update: Path, **given: object) -> None:
    """An error for each option that an update cannot heed."""
    for name, value in given.items():
        if value is not None:
            option = {"weekparts": "--weekparts or --alike"}.get(name, f"--{name}")
            raise DiscreetError(
                f"{update}: an update goes by the clock and the rules that the routine was learned with; "
                f"leave {option} out, or learn again from all days"
            )


def policy_of(secrets: Path | None, clock: Clock | None) -> Policy | None:
    """The policy whose contexts are kept, if one is given."""
    from discreet.policy import read_policy

    return None if secrets is None else read_policy(secrets, clock)[0]


def declared_by(keep: Sequence[str] | None, policy: Policy | None) -> tuple[str, ...]:
    """The contexts that are not merged: those of --keep and of the policy."""
    named = frozenset() if policy is None else policy.contexts
    return tuple(sorted(named.union(keep or ())))


def told_of(model: AnyModel, secrets: Path | None, policy: Policy | None, note: Note = ignore) -> KnownByPart:
    """What the habits tell of each secret; of none where no policy is given, or the model has no place for it."""
    from discreet.adversary.known import known

    if policy is None:
        return {}
    try:
        return known(model, policy)
    except PolicyError as error:
        note(f"{secrets}: what habits alone tell of its secrets cannot be said: {error}")
        return {}
