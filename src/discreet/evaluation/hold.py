"""How much of delta to spend: chosen by the person's own later weeks (theory, section 16).

Limits that are met with equality leave nothing for a model that is wrong, so before observers who learned the habits
elsewhere many days are beyond delta. A share s < 1 of delta is a reserve. It is chosen by conformal risk control
(Angelopoulos and others, 2022): every later week is released at each share s of a grid whose bottom is total silence,
and judged before observers who learned elsewhere. With

    L_b(s) = the share of week b's days on which some gain before some observer is beyond delta,
             replaced by its running maximum from small s up (each week's own),

the largest s with (sum_b L_b(s) + 1) / (n + 1) <= alpha is taken. If the n weeks and the next one are exchangeable, the
next week's expected share of days beyond delta is at most alpha, on average over such choices. Fewer than 1/alpha - 1
weeks can only choose silence; then each week is judged by habits learned from all others, and the largest s with
sum_b L_b(s) / n <= alpha is taken: an estimate without that guarantee. `HeldShare.version` names which of the two it
was.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from discreet.contexts import Day
from discreet.contracts import AnyMechanism
from discreet.errors import DiscreetError
from discreet.evaluation.joined import before_several, streams
from discreet.evaluation.week import every_date
from discreet.models.learning.observers import tilted
from discreet.models.routine.routine import Routine
from discreet.numerics import digest_of, exceeds
from discreet.policy import Policy
from discreet.randomness import SeededEntropy

SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
"""The grid; 0 is total silence, which no observer learns anything from."""

FEWEST_DAYS = 3
"""Days below which a week is no block: too little of it was recorded."""

FEWEST_WEEKS = 3
"""Weeks below which nothing can be said: two to learn from, and one to judge."""

TILT = 2.0
"""How much more or less often an observer may hold each secret to occur."""

Version = Literal["later weeks", "leave one week out"]
Make = Callable[[Any, Policy], AnyMechanism]
"""A mechanism without end from a routine's chain and a policy."""


@dataclass(frozen=True)
class TriedShare:
    """One share of delta, on all judged weeks."""

    share: float
    beyond: float
    """The mean over weeks of L_b(share), running maximum included."""
    bound: float
    """What is compared with alpha."""
    utility: float
    """How much was shown as it was."""


@dataclass(frozen=True)
class HeldShare:
    """The share that was chosen, and what it rests on."""

    share: float
    alpha: float
    version: Version
    weeks: int
    """Weeks that were judged."""
    enough: int
    """Weeks to judge from which on the version with a guarantee is used."""
    tried: tuple[TriedShare, ...]
    """Ascending; shares above the first that does not hold are left out, except 1."""

    def of(self, share: float) -> TriedShare:
        """What became of one share."""
        return next(one for one in self.tried if one.share == share)

    @property
    def guaranteed(self) -> bool:
        """Whether the bound holds for the next week, if it is exchangeable with those that were judged."""
        return self.version == "later weeks"

    @property
    def history(self) -> int:
        """Weeks of history that would give a guarantee."""
        return self.enough + FEWEST_WEEKS - 1

    @property
    def words(self) -> str:
        """In a sentence or two, with the price."""
        days = f"at least {100 * (1 - self.alpha):g} % of days within delta"
        if not self.share:
            return f"No share of delta keeps {days} on these weeks; only silence does. Learn from more weeks."
        chosen, whole = self.of(self.share), self.of(1.0)
        price = f"shows {100 * chosen.utility:.0f} % instead of {100 * whole.utility:.0f} %"
        found = f"{100 * chosen.beyond:.0f} % of days were beyond delta instead of {100 * whole.beyond:.0f} %"
        how = (
            f"The next week keeps this on average, if it is like the {self.weeks} judged"
            if self.guaranteed
            else f"An estimate from {self.weeks} weeks, each left out in turn; {self.history} weeks of history would "
            "give a guarantee"
        )
        return f"A share of {self.share:g} keeps {days}: {price}; {found}. {how}."

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "share": self.share,
            "alpha": self.alpha,
            "version": self.version,
            "guaranteed": self.guaranteed,
            "weeks": self.weeks,
            "enough": self.enough,
            "tried": [vars(one) for one in self.tried],
            "words": self.words,
        }


def hold(
    routine: Routine,
    days: Sequence[Day],
    policy: Policy,
    make: Make,
    *,
    alpha: float = 0.1,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> HeldShare:
    """Choose the share of delta with which at least 1 - alpha of later days stay within delta.

    `days` are one person's, dated; `routine` says by which rules habits are learned. `make` builds the mechanism that
    will run. The draws are seeded, because nothing here is released; each week has its own, at every share the same.
    """
    if not 0 < alpha < 1:
        raise DiscreetError(f"alpha is {alpha:g}; give the share of days that may be beyond delta, between 0 and 1")
    weeks = weeks_of([day.fitted(routine.contexts) for day in days])
    if len(weeks) < FEWEST_WEEKS:
        raise DiscreetError(
            f"there are {len(weeks)} weeks of at least {FEWEST_DAYS} days, too few to hold anything against; record at "
            f"least {FEWEST_WEEKS} weeks ({enough_weeks(alpha) + FEWEST_WEEKS - 1} for a guarantee)"
        )
    plans, version = _plans(routine, weeks, alpha, policy)
    grid = sorted({0.0, 1.0, *shares})
    tried: list[TriedShare] = []
    worst = [0.0] * len(plans)
    for number, share in enumerate(grid):
        if tried and tried[-1].bound > alpha and share < 1:  # the running maximum never falls again
            continue
        found = [_judged(plan, replace(policy, share=share), policy, make, seed) for plan in plans]
        worst = [max(before, one.beyond) for before, one in zip(worst, found, strict=True)]
        shown = sum(one.utility for one in found) / len(found)
        tried.append(TriedShare(share, sum(worst) / len(plans), bound_of(worst, version), shown))
        if progress is not None:
            progress(number + 1, len(grid))
    chosen = max((one.share for one in tried if one.bound <= alpha), default=0.0)
    return HeldShare(chosen, alpha, version, len(plans), enough_weeks(alpha), tuple(tried))


def bound_of(losses: Sequence[float], version: Version) -> float:
    """What is compared with alpha: (sum L_b + 1) / (n + 1), or the mean where there is no guarantee."""
    added = 1 if version == "later weeks" else 0
    return (sum(losses) + added) / (len(losses) + added)


def enough_weeks(alpha: float) -> int:
    """Weeks to judge from which on something above silence can be guaranteed: n >= 1/alpha - 1."""
    return math.ceil(1 / alpha - 1 - 1e-9)


def weeks_of(days: Sequence[Day]) -> list[list[Day]]:
    """The days by calendar week, in order; weeks of too few days are left out."""
    found: dict[tuple[int, int], list[Day]] = {}
    for day in sorted(days, key=_date):
        year, week, _ = _date(day).isocalendar()
        found.setdefault((year, week), []).append(day)
    return [own for own in found.values() if len(own) >= FEWEST_DAYS]


def _date(day: Day) -> dt.date:
    if day.date is None:
        raise DiscreetError("a share of delta is chosen by dated days; give Day(contexts, date=...)")
    return day.date


# --- what each week is released by, and who judges it


@dataclass(frozen=True)
class _Plan:
    """One week, the habits that decide in it, and observers who learned elsewhere."""

    week: Sequence[Day]
    habits: Routine
    observers: Mapping[str, Routine]


@dataclass(frozen=True)
class _Judged:
    beyond: float
    utility: float


def _plans(routine: Routine, weeks: Sequence[list[Day]], alpha: float, policy: Policy) -> tuple[list[_Plan], Version]:
    """The later weeks with habits of the earlier ones; where these are too few, each week with habits of the others.

    What a later week is judged by depends on the earlier weeks and on itself, and on no other later week: so losses of
    exchangeable weeks are exchangeable, the next week's too, of which nothing is known yet.
    """
    fit = _fitter(routine)
    enough = enough_weeks(alpha)
    if len(weeks) >= enough + FEWEST_WEEKS - 1:
        judged = max(enough, len(weeks) // 2)
        earlier, later = weeks[:-judged], weeks[-judged:]
        habits = fit(_days(earlier))
        return [_plan(week, earlier, habits, fit, policy) for week in later], "later weeks"
    plans = []
    for k, week in enumerate(weeks):
        others = [*weeks[:k], *weeks[k + 1 :]]
        plans.append(_plan(week, others, fit(_days(others)), fit, policy))
    return plans, "leave one week out"


def _plan(
    week: list[Day],
    others: Sequence[list[Day]],
    habits: Routine,
    fit: Callable[[Sequence[Day]], Routine],
    policy: Policy,
) -> _Plan:
    """Observers learned from (a) the other weeks and this one, (b) halves of the others, (c) other frequencies."""
    middle = max(1, len(others) // 2)
    halves = {"earlier half": others[:middle], "later half": others[middle:] or others}
    secret = sorted({label for one in policy.secrets for label in one.contexts})
    observers = {"all days": fit(sorted(_days([*others, week]), key=_date))}
    observers |= {name: fit(_days(half)) for name, half in halves.items()}
    observers |= {f"secrets x {times:g}": tilted(habits, secret, times) for times in (TILT, 1 / TILT)}
    return _Plan(week, habits, observers)


def _days(weeks: Sequence[list[Day]]) -> list[Day]:
    return [day for week in weeks for day in week]


def _fitter(routine: Routine) -> Callable[[Sequence[Day]], Routine]:
    """Learns over the same contexts by the same rules as the routine was."""
    learned = routine.learned
    if learned is None:
        raise DiscreetError("a share of delta is chosen for habits that were learned from days; use Routine.fit")

    def fit(days: Sequence[Day]) -> Routine:
        by, smoothing, floor = learned.by, learned.smoothing, learned.floor
        known, declared = routine.contexts, learned.declared
        return Routine.fit(days, by, smoothing, floor, secrets=declared, contexts=known, clock=routine.clock)

    return fit


def _judged(plan: _Plan, kept: Policy, promised: Policy, make: Make, seed: int) -> _Judged:
    """The share of a week's days beyond delta before any of the observers, and what was shown."""
    if not kept.share:  # total silence: no output depends on the truth
        return _Judged(0.0, 0.0)
    mechanism = make(plan.habits.since(_date(plan.week[0])), kept)
    whole = replace(promised, share=1.0)
    recorded = {_date(day) for day in plan.week}
    known = frozenset(mechanism.model.contexts)
    beyond: set[dt.date] = set()
    worth, slots = 0.0, 0
    (days,) = streams(every_date(plan.week), plan.habits.slots, mechanism.model.contexts).values()
    rng = SeededEntropy(_seed_for(seed, plan.week))
    for moment, beliefs in before_several(mechanism, days, plan.observers, rng=rng, policy=whole):
        slots += 1
        worth += mechanism.worth(moment.context, moment.output) if moment.context in known else 0.0
        for belief in beliefs.values():
            rows, believed = belief.live()
            opens = rows.opens[exceeds(believed - rows.prior, rows.delta)]
            beyond.update(belief.adversary.model.date_of(slot)[0] for slot in opens.tolist())
    return _Judged(len(beyond & recorded) / len(recorded), worth / slots)


def _seed_for(seed: int, week: Sequence[Day]) -> int:
    """Draws of its own for each week: the next one's are its own too, and weeks that share theirs are not like it."""
    return int.from_bytes(digest_of((seed, _date(week[0]).toordinal())), "big")


def holding(
    routine: Routine, weeks: Sequence[list[Day]], policy: Policy, make: Make, *, seed: int = 0
) -> Iterator[float]:
    """The share of days beyond delta of each week at the share in force: what the nightly look asks."""
    fit = _fitter(routine)
    for k, week in enumerate(weeks):
        others = [*weeks[:k], *weeks[k + 1 :]]
        yield _judged(_plan(week, others, routine, fit, policy), policy, policy, make, seed).beyond
