"""A mechanism on days: utility, breaches, what the model had no place for, and time."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.adversary.belief import Adversary, Belief
from discreet.adversary.endless_belief import EndlessBelief
from discreet.adversary.unrolled import Daily
from discreet.contexts import Day
from discreet.contracts import AnyMechanism, DayModel, runs_without_end
from discreet.errors import DiscreetError
from discreet.evaluation import joined
from discreet.evaluation.replay import Moment, replay
from discreet.factors import factors
from discreet.frames import Rows, Tabular
from discreet.given import checked_mechanism, checked_policy, counted
from discreet.models.arrays import given_days
from discreet.models.routine.parts import AnyRoutine
from discreet.numerics import exceeds
from discreet.outputs import Output, Suppressed
from discreet.policy import Policy
from discreet.randomness import SeededEntropy

if TYPE_CHECKING:
    import polars as pl

Worth = Callable[[str, Output], float]


@dataclass(frozen=True)
class Evaluation(Tabular):
    """What a mechanism did on days. Gains are realised ones, by the exact adversary, after every output.

    Where days are joined, gains are those of live rows alone, over the whole stream: what is not live is within its
    delta, whatever was and will be output. A breach counts on the date of its slot (of its window's first), which may
    be a date that is still to come or that was skipped.
    """

    utility: float  # mean worth of a slot's output: of most mechanisms, the fraction released truthfully
    breach_rate: float  # (slot, secret) pairs whose belief exceeded its limit at some time, over slots
    worst_gain: float
    off_model: int  # slots whose reading the mechanism's model, or whose output the observer's, has no place for
    suppressed: float  # fraction of slots that were silent
    seconds_per_decision: float  # of Session.release: kernel, draw, advance, and the session's belief
    slots: int
    days: int
    breached_days: int
    by_secret: dict[str, float]  # worst gain of each secret
    excess_by_secret: dict[str, float]  # the largest gain beyond its own slot's limit; negative: the room that was left
    breached_dates: frozenset[dt.date] = frozenset()  # of `breached_days`, those that have a date
    odds_by_secret: dict[str, float] = field(default_factory=dict)  # the largest factor on anybody's odds of it

    @property
    def worst_odds(self) -> float:
        """The largest factor by which outputs multiplied the odds of a secret."""
        return max(self.odds_by_secret.values(), default=1.0)

    @property
    def breached(self) -> bool:
        """Whether some belief was over its limit on some day."""
        return self.breached_days > 0

    def to_frame(self) -> pl.DataFrame:
        """One row with what holds for all secrets together, so that several evaluations can be stacked."""
        import polars as pl

        named = ("utility", "breach_rate", "worst_gain", "worst_odds", "off_model", "suppressed")
        counted = ("seconds_per_decision", "slots", "days", "breached_days")
        return pl.DataFrame({name: [getattr(self, name)] for name in (*named, *counted)})

    def __repr__(self) -> str:
        return (
            f"Evaluation({counted(self.days, 'day')}, utility={self.utility:.3f}, worst_gain={self.worst_gain:.3f}, "
            f"{counted(self.breached_days, 'breached day')}, {counted(self.off_model, 'slot')} off the model)"
        )


def evaluate(
    mechanism: Daily,
    days: Iterable[Day] | Rows,
    *,
    policy: Policy | None = None,
    model: DayModel | AnyRoutine | None = None,
    routine: AnyRoutine | None = None,
    worth: Worth | None = None,
    seed: int = 0,
    progress: Callable[[], object] | None = None,
) -> Evaluation:
    """Release each day once and judge what an observer learned; `policy` and `model` as in `audit`.

    Days may also be a table, as for `MarkovChain.fit`; readings are cut by the clock that the model was learned with.
    Who judges changes nothing that is released: `model` and `policy` are the observer's, the mechanism keeps its own.
    Outputs are worth what the mechanism holds them to be worth, as in its `expected_utility`, unless `worth` is given.
    The draws are seeded, so that an experiment can be repeated.

    A mechanism without end releases consecutive dates of a person as one stream, from the first date on; dates without
    a day are skipped, and several people are streams of their own (`model` is then another routine). With `routine`, a
    day's mechanism, or {kind: mechanism}, starts anew on each date, and the observer, who knows how nights join the
    days, does not. Either way dates that repeat or go backwards are an error. Over positions without end, each day is a
    trajectory of its own, of any length.
    """
    several = list(mechanism.values()) if isinstance(mechanism, Mapping) else [mechanism]
    for one in several:
        checked_mechanism(one, "evaluate")
    if policy is not None:
        checked_policy(policy, "evaluate")
    clock = getattr(several[0].model, "clock", None) if several else None
    days = cast(Sequence[Day], given_days(days, clock, "evaluate"))
    if routine is None and (isinstance(mechanism, Mapping) or not runs_without_end(mechanism)):
        if isinstance(mechanism, Mapping):
            raise DiscreetError("mechanisms for kinds of day need routine=, which says which day is of which kind")
        if isinstance(model, AnyRoutine):
            raise DiscreetError("a day's mechanism is judged over midnight with routine=; model= is a day's")
        judge = Adversary(mechanism, model, policy)
        tally: _Tally = _DayTally(_worth_of(mechanism, worth), judge)
        moments: Iterator[Moment[Any]] = replay(mechanism, days, rng=SeededEntropy(seed), judge=judge)
    else:
        tally = _StreamTally(_worth_of(mechanism, worth))
        moments = _joined(mechanism, days, policy, model, routine, seed)
    for moment in moments:
        tally.add(moment)
        if moment.ends_day and progress is not None:
            progress()
    return tally.result()


def _joined(
    mechanism: Daily,
    days: Iterable[Day],
    policy: Policy | None,
    model: DayModel | AnyRoutine | None,
    routine: AnyRoutine | None,
    seed: int,
) -> joined.Moments:
    """Each person's days as a stream, all with one source of chance."""
    rng = SeededEntropy(seed)
    if routine is not None:
        if model is not None:
            raise DiscreetError("a routine is the observer's model; leave model= out")
        for own in joined.streams(days, routine.slots, routine.contexts).values():
            yield from joined.day_by_day(mechanism, own, routine, rng=rng, policy=policy)
        return
    if model is not None and not isinstance(model, AnyRoutine):
        raise DiscreetError("who judges a mechanism without end has a routine in mind; give one as model=")
    habits: Any = mechanism.model  # type: ignore[union-attr]  # a mapping has a routine
    if habits.day_slots is None:
        if policy is not None or model is not None:
            raise DiscreetError("trajectories are judged by the mechanism's own model and policy; leave others out")
        yield from joined.trajectories(mechanism, days, rng=rng)
        return
    for own in joined.streams(days, habits.day_slots, habits.contexts).values():
        yield from joined.without_end(mechanism, own, rng=rng, policy=policy, model=model)


def _worth_of(mechanism: Daily, worth: Worth | None) -> Worth:
    """The mechanism's own, which is defined on its model's contexts; any other is met with silence, worth nothing."""
    if worth is not None:
        return worth
    one: AnyMechanism = next(iter(mechanism.values())) if isinstance(mechanism, Mapping) else mechanism
    known = frozenset(one.model.contexts)
    return lambda context, output: one.worth(context, output) if context in known else 0.0


class _Tally(ABC):
    """What is counted of every slot; what its belief amounts to is the matter of those below."""

    def __init__(self, worth: Worth) -> None:
        self.worth_of = worth
        self.worth = self.seconds = 0.0
        self.slots = self.days = self.breaches = self.breached_days = self.off_model = self.silent = 0
        self.breached_on: set[dt.date] = set()

    def add(self, moment: Moment[Any]) -> None:
        self.slots += 1
        self.seconds += moment.seconds
        self.worth += self.worth_of(moment.context, moment.output)
        self.silent += isinstance(moment.output, Suppressed)
        self.off_model += moment.off_model
        self.judge(moment)
        self.days += moment.ends_day

    @abstractmethod
    def judge(self, moment: Moment[Any]) -> None:
        """Take in what is believed after the slot."""

    @abstractmethod
    def by_secret(self) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        """The worst gain of each secret, the largest beyond its own limit, and the largest factor on its odds."""

    def result(self) -> Evaluation:
        if not self.days:
            raise DiscreetError("there are no days to evaluate; give at least one")
        by_secret, excess, odds = self.by_secret()
        return Evaluation(
            utility=self.worth / self.slots,
            breach_rate=self.breaches / self.slots,
            worst_gain=max(by_secret.values(), default=0.0),
            off_model=self.off_model,
            suppressed=self.silent / self.slots,
            seconds_per_decision=self.seconds / self.slots,
            slots=self.slots,
            days=self.days,
            breached_days=self.breached_days,
            by_secret=by_secret,
            excess_by_secret=excess,
            breached_dates=frozenset(self.breached_on),
            odds_by_secret=odds,
        )


class _DayTally(_Tally):
    """Each day by itself: the highest gain of every slot and secret."""

    def __init__(self, worth: Worth, adversary: Adversary) -> None:
        super().__init__(worth)
        self.adversary = adversary
        self.highest = np.zeros(len(adversary.deltas))  # of the day so far
        self.worst = np.zeros(len(adversary.deltas))

    def judge(self, moment: Moment[Belief]) -> None:
        np.maximum(self.highest, moment.belief.gains, out=self.highest)
        if moment.ends_day:
            breached = int(exceeds(self.highest, self.adversary.deltas).sum())
            self.breaches += breached
            self.breached_days += breached > 0
            if breached and moment.day.date is not None:
                self.breached_on.add(moment.day.date)
            np.maximum(self.worst, self.highest, out=self.worst)
            self.highest[:] = 0.0

    def by_secret(self) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        judge = self.adversary
        odds = factors(judge.priors, judge.priors + self.worst)
        worst = judge.worst_by_secret
        return worst(self.worst), worst(self.worst - judge.deltas), worst(odds)


class _StreamTally(_Tally):
    """Days joined: the live rows, each by its secret and the slot at which it opens."""

    def __init__(self, worth: Worth) -> None:
        super().__init__(worth)
        self.worst: dict[str, float] = {}
        self.excess: dict[str, float] = {}
        self.odds: dict[str, float] = {}
        self.rows: set[tuple[object, int, int]] = set()  # breached: whose, which secret, from which slot on
        self.dates: set[tuple[object, dt.date | None]] = set()

    def judge(self, moment: Moment[EndlessBelief]) -> None:
        adversary = moment.belief.adversary
        dated = adversary.model.day_slots is not None
        whose: object = moment.day.person if dated else self.days  # a trajectory is a stream of its own
        names = adversary.secrets.names
        rows, beliefs = moment.belief.live()
        gains = beliefs - rows.prior
        found = (gains, gains - rows.delta, factors(rows.prior, beliefs))
        # What is not live is within its delta: nothing else is known of it.
        least = (np.zeros(len(names)), -adversary.secrets.least_delta, np.ones(len(names)))
        for values, begins, kept in zip(found, least, (self.worst, self.excess, self.odds), strict=True):
            highest = np.full(len(names), -np.inf)
            np.fmax.at(highest, rows.secret, values)
            for name, begin, value in zip(names, begins.tolist(), highest.tolist(), strict=True):
                kept[name] = max(kept.get(name, begin), value)
        for r in np.flatnonzero(exceeds(gains, rows.delta)).tolist():
            opens = int(rows.opens[r])
            self.rows.add((whose, int(rows.secret[r]), opens))
            date = adversary.model.date_of(opens)[0] if dated else None
            self.dates.add((whose, date))
            if date is not None:
                self.breached_on.add(date)
        self.breaches, self.breached_days = len(self.rows), len(self.dates)

    def by_secret(self) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        return dict(self.worst), dict(self.excess), dict(self.odds)
