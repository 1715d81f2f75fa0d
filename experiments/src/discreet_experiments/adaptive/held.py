"""How much of delta to spend (theory, section 16): `discreet policy hold` on recorded people, and the weeks after.

A share of delta is chosen by a person's weeks up to some Monday, and the next weeks are released with it. They are
judged before observers of the kinds that the choice was made by, and before strangers: observers of kinds that it did
not use. Beside it stand the other reserves, and the largest share that would have held, known in hindsight. The same
with the weeks in random order tells drift from the rest: in random order the weeks to come are like those before.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from discreet.contexts import Day
from discreet.errors import DiscreetError
from discreet.evaluation.hold import FEWEST_WEEKS, SHARES, TILT, HeldShare, hold, weeks_of
from discreet.evaluation.week import every_date
from discreet.mechanisms import Adaptive
from discreet.mechanisms.adaptive.adaptive import Memory, Outputs
from discreet.models.learning.observers import observers_of, tilted
from discreet.models.routine.routine import Routine
from discreet.policy import Policy
from discreet_experiments.adaptive.frontier import VARIANTS
from discreet_experiments.adaptive.picture import PICTURED, Pictured
from discreet_experiments.adaptive.walks import Fit, walk
from discreet_experiments.adaptive.weeks import weekly
from discreet_experiments.charts import marks
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import Figure
from discreet_experiments.shared.people import Trace, prepared, spread
from discreet_experiments.shared.sheets import Cell, Sheet, mean
from discreet_experiments.shared.subjects import Setting, chosen_secrets, seed_for

ALPHAS = (0.1, 0.2)
HISTORY, LATER = 12, 2
"""Weeks before, at most, unless told otherwise, and after."""

USED = 15
"""People a data set whom sections 13 and 16 of theory were measured on, at most: others are looked at here."""

STRANGERS = ("later days", "odd days", "even days")

RESERVES: Mapping[str, Mapping[str, Any]] = {
    "doubt 2": {"doubt": 2.0},
    "doubt 5": {"doubt": 5.0},
    "odds 2": {"odds": 2.0},
    "share 0.3, doubt 2": {"share": 0.3, "doubt": 2.0},
    "share 0.3, odds 2": {"share": 0.3, "odds": 2.0},
}
OBSERVERS: Mapping[str, float] = {"4 observers": 1.0, "share 0.3, 4 observers": 0.3}
"""With the command's first four observers, and this share."""


@dataclass(frozen=True)
class Spent:
    """One policy on one person's later weeks."""

    slots: int = 0
    truth: float = 0.0  # the chance of the truth, summed over slots
    days: int = 0
    beyond: int = 0  # days, before any stranger
    own: int = 0  # days, before any observer of the kinds that chose
    excess: float = 0.0  # the worst gain of a week beyond delta before strangers, summed over weeks

    @property
    def utility(self) -> float:
        """The chance of the truth, mean over slots."""
        return self.truth / self.slots

    @property
    def share(self) -> float:
        """The share of days beyond delta before strangers."""
        return self.beyond / self.days


@dataclass(frozen=True)
class Person:
    """One person: what every policy did to the later weeks, and what was chosen, by alpha."""

    number: int
    tried: Mapping[str, Spent]
    held: Mapping[float, HeldShare]
    shuffled: Mapping[float, tuple[float, Spent]]
    """The share that weeks in random order chose, and what it did to those after them."""

    def chosen(self, alpha: float) -> Spent:
        """What the chosen share did."""
        return self.tried[_share(self.held[alpha].share)]

    def hindsight(self, alpha: float) -> Spent:
        """What the largest share did that holds on the later weeks."""
        return self.tried[_share(max(one for one in SHARES if self.tried[_share(one)].share <= alpha))]


def _share(share: float) -> str:
    return f"share {share:g}"


@dataclass(frozen=True)
class _Case:
    """One person's weeks before and after, habits, secrets, and who judges."""

    number: int
    history: list[Day]
    later: list[list[Day]]
    routine: Routine
    policy: Policy
    strangers: Mapping[str, Routine]
    own: Mapping[str, Routine]
    outputs: Outputs
    memory: Memory

    def make(self, model: Any, policy: Policy, observers: Sequence[Routine] = ()) -> Adaptive:
        return Adaptive(model, policy, outputs=self.outputs, memory=self.memory, observers=tuple(observers))

    def spent(self, policy: Policy, observers: Sequence[Routine] = ()) -> Spent:
        """What a policy does to the later weeks, judged by the promised one; share 0 is silence."""
        slots, days = sum(len(day) for week in self.later for day in every_date(week)), sum(map(len, self.later))
        if not policy.share:
            return Spent(slots, 0.0, days)
        truth, excess, beyond, own = 0.0, 0.0, 0, 0
        for week in self.later:
            every = every_date(week)
            mechanism = self.make(self.routine.since(str(every[0].date)), policy, observers)
            found = walk(mechanism, every, {**self.strangers, **self.own}, self.policy, self.number)
            recorded = {k for k, day in enumerate(every) if day.date in {one.date for one in week}}
            truth += found.truth
            excess += max(found.excess(name) for name in self.strangers)
            beyond += len(recorded & found.beyond(*self.strangers))
            own += len(recorded & found.beyond(*self.own))
        return Spent(slots, truth, days, beyond, own, excess)

    def held(self, alpha: float) -> HeldShare:
        """The share that the history chooses."""
        seed = seed_for(0, self.number, "hold")
        return hold(self.routine, self.history, self.policy, self.make, alpha=alpha, shares=SHARES, seed=seed)


def _case(
    weeks: Sequence[list[Day]], number: int, setting: Setting, variant: tuple[Outputs, Memory], secrets: Sequence[str]
) -> _Case:
    later, before = list(weeks[-LATER:]), list(weeks[:-LATER])
    learned = [day for week in before for day in week]
    after = [day for week in later for day in week]
    routine = Routine.fit(learned, smoothing=setting.smoothing, secrets=secrets)
    fit, middle = Fit(routine), len(before) // 2
    judges = fit.judges(learned, after)
    own = {"all days": judges["all days"]}
    own["earlier half"] = fit([day for week in before[:middle] for day in week])
    own["later half"] = fit([day for week in before[middle:] for day in week])
    own |= {f"secrets x {times:g}": tilted(routine, secrets, times) for times in (TILT, 1 / TILT)}
    strangers = {name: judges[name] for name in STRANGERS}
    return _Case(
        number, learned, later, routine, Policy(secrets, delta=setting.delta), strangers, own, variant[0], variant[1]
    )


def tried(trace: Trace, setting: Setting, variant: tuple[Outputs, Memory], history: int = HISTORY) -> Person | None:
    """Every policy on the person's later weeks; None for one with too few weeks, or no place to hide."""
    weeks = weeks_of(prepared(trace, setting.rules))[-(history + LATER) :]
    if len(weeks) < FEWEST_WEEKS + LATER:
        return None
    learned = Routine.fit([day for week in weeks[:-LATER] for day in week], smoothing=setting.smoothing)
    secrets = chosen_secrets(learned.contexts, setting, trace.number)
    if not secrets:
        return None
    try:
        case = _case(weeks, trace.number, setting, variant, secrets)
        family = observers_of(case.routine, case.history, 4, secrets=secrets)
        spent = {_share(share): case.spent(replace(case.policy, share=share)) for share in SHARES}
        spent |= {name: case.spent(replace(case.policy, **terms)) for name, terms in RESERVES.items()}
        spent |= {name: case.spent(replace(case.policy, share=share), family) for name, share in OBSERVERS.items()}
        held = {alpha: case.held(alpha) for alpha in ALPHAS}
        mixed = _case(shuffled(weeks, seed_for(0, trace.number, "weeks")), trace.number, setting, variant, secrets)
        chosen = {alpha: mixed.held(alpha).share for alpha in ALPHAS[-1:]}
        found = {alpha: (share, mixed.spent(replace(case.policy, share=share))) for alpha, share in chosen.items()}
        return Person(trace.number, spent, held, found)
    except DiscreetError:  # habits too regular to run without end
        return None


def shuffled(weeks: Sequence[list[Day]], seed: int) -> list[list[Day]]:
    """The same weeks in random order: each on the dates of the week whose place it takes."""
    mondays = [_monday(week) for week in weeks]
    order = np.random.default_rng(seed).permutation(len(weeks)).tolist()
    return [
        [replace(day, date=mondays[place] + (_date(day) - mondays[k])) for day in weeks[k]]
        for place, k in enumerate(order)
    ]


def _monday(week: Sequence[Day]) -> dt.date:
    first = _date(week[0])
    return first - dt.timedelta(days=first.weekday())


def _date(day: Day) -> dt.date:
    assert day.date is not None
    return day.date


# --- the figure


def on_held(cohort: Cohort, setting: Setting, sources: Sequence[Pictured] = PICTURED, history: int = HISTORY) -> Figure:
    """Every data set: what was chosen, what else there is, and how far each holds."""
    rows: list[dict[str, Cell]] = []
    each: list[dict[str, Cell]] = []
    drawn: dict[str, list[marks.Choice]] = {}
    everybody = replace(cohort, people=None)
    for source in sources:
        own = weekly(replace(setting, rules=source.rules(setting.rules)))
        traces = everybody.read(own.rules, source.reader)
        used = {trace.number for trace in spread(traces, USED)} if len(traces) > USED else set()
        fresh = spread([trace for trace in traces if trace.number not in used], cohort.people)
        for variant in VARIANTS:
            name = f"{source.name}, {variant[0]}"
            people = cohort.over(
                f"hold, {name}", partial(tried, setting=own, variant=variant, history=history), fresh, needed=True
            )
            found = _rows(people)
            rows += [{"data": source.name, "outputs": variant[0], **row} for row in found]
            each += [{"data": source.name, "outputs": variant[0], **row} for one in people for row in _of_one(one)]
            drawn[name] = [_choice(row) for row in found if row["policy"] in people[0].tried]
    title = "How much of delta to spend"
    note = (
        f"{own.rules.slots} slots, smoothing {own.smoothing}, secret: {own.secrets} places at random, delta "
        f"{own.delta:g}, cut {own.rules.cut}, at most {history} weeks before and {LATER} after"
    )
    remarks = (
        "beyond: later days on which any of three strangers gains more than delta, who learned from the later days, "
        "or from odd or even days before; +-: the standard error over people",
        "own: the same before the kinds of observer that chose (all days, halves, secrets twice and half as likely)",
        "excess: how far the worst gain of a week is beyond delta before strangers, mean over weeks",
        "of hindsight's: utility against the largest share of each person that holds on the later weeks",
        "in random order: held by and judged on the same weeks, shuffled",
    )
    chart = partial(marks.frontier, title, note, drawn, across="utility", up="share of later days beyond delta")
    return Figure("held", title, note, Sheet.of(rows), Sheet.of(each), remarks, chart)


def _choice(row: Mapping[str, Cell]) -> marks.Choice:
    across, up = row["utility"], row["beyond"]
    assert isinstance(across, float)
    assert isinstance(up, float)
    name = str(row["policy"])
    return marks.Choice(name, across, up, plain=name.startswith("share") and "," not in name)


def _rows(people: Sequence[Person]) -> list[dict[str, Cell]]:
    found: list[dict[str, Cell]] = []
    for alpha in ALPHAS:
        best = [one.hindsight(alpha) for one in people]
        chosen = {f"held {1 - alpha:g}": [one.chosen(alpha) for one in people]}
        if all(alpha in one.shuffled for one in people):
            chosen[f"held {1 - alpha:g}, in random order"] = [one.shuffled[alpha][1] for one in people]
        guaranteed = sum(one.held[alpha].guaranteed for one in people)
        shares = mean([one.held[alpha].share for one in people])
        found += [
            _row(name, spent) | _of(spent, best) | {"share": shares, "guaranteed": guaranteed}
            for name, spent in chosen.items()
        ]
        found.append(_row(f"hindsight {1 - alpha:g}", best) | _of(best, best) | {"share": None, "guaranteed": None})
    empty: dict[str, Cell] = {"of hindsight's": None, "share": None, "guaranteed": None}
    return found + [_row(name, [one.tried[name] for one in people]) | empty for name in people[0].tried]


def _of(spent: Sequence[Spent], best: Sequence[Spent]) -> dict[str, Cell]:
    most = sum(one.truth for one in best)
    return {"of hindsight's": sum(one.truth for one in spent) / most if most else None}


def _row(name: str, spent: Sequence[Spent]) -> dict[str, Cell]:
    days = sum(one.days for one in spent)
    return {
        "policy": name,
        "people": len(spent),
        "days": days,
        "utility": sum(one.truth for one in spent) / sum(one.slots for one in spent),
        "beyond": mean([one.share for one in spent]),
        "+-": float(np.std([one.share for one in spent], ddof=1) / math.sqrt(len(spent))) if len(spent) > 1 else None,
        "own": mean([one.own / one.days for one in spent]),
        "excess": sum(one.excess for one in spent) / (LATER * len(spent)),
    }


def _of_one(person: Person) -> list[dict[str, Cell]]:
    """One person's choices."""
    return [
        {
            "person": person.number,
            "alpha": alpha,
            "share": person.held[alpha].share,
            "version": person.held[alpha].version,
            "weeks": person.held[alpha].weeks,
            "judged beyond": person.held[alpha].of(person.held[alpha].share).beyond,
            "utility": person.chosen(alpha).utility,
            "beyond": person.chosen(alpha).share,
            "own": person.chosen(alpha).own / person.chosen(alpha).days,
            "hindsight": person.hindsight(alpha).utility,
        }
        for alpha in ALPHAS
    ]
