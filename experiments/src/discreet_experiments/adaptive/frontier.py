"""Several observers at once: what a family of them costs, and what it saves before observers who are not in it.

Habits are learned from the first half of a person's days, and a family of observers from the same half
(models/learning/observers.py). Runs of held-out dates are released without end, and judged by exact observers who
learned elsewhere: from the later days, from every other day, from all days. Beside families stands what a smaller delta
alone would cost and save, judged by the larger one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from discreet.contexts import Day
from discreet.errors import DiscreetError
from discreet.mechanisms import Adaptive
from discreet.mechanisms.adaptive.adaptive import Memory, Outputs
from discreet.models.learning.observers import observers_of, some_weeks, tilted
from discreet.models.routine.routine import Routine
from discreet.policy import Policy
from discreet_experiments.adaptive.picture import PICTURED, Pictured
from discreet_experiments.adaptive.walks import JUDGES, LENGTH, Fit, Subject, subject, walk
from discreet_experiments.adaptive.weeks import weekly
from discreet_experiments.charts import marks
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import Figure
from discreet_experiments.shared.people import Trace
from discreet_experiments.shared.sheets import Cell, Sheet
from discreet_experiments.shared.subjects import Setting

DATA = PICTURED[:3]
"""Reality Mining, StudentLife and Foursquare."""

VARIANTS: tuple[tuple[Outputs, Memory], ...] = (("suppress", "last"), ("deceive", "none"))

SMALLER = (0.7, 0.5, 0.3)
"""Shares of delta, without observers."""


class Family(NamedTuple):
    """Observers by name, the share of delta that the mechanism keeps before them, and its own habits."""

    name: str
    observers: tuple[Routine, ...]
    share: float = 1.0
    routine: Routine | None = None  # by default learned as the others are


@dataclass(frozen=True)
class Tried:
    """One family on one person's runs."""

    slots: int
    days: int
    truth: float  # the chance of the truth, summed over slots
    breached: Mapping[str, int]  # days, before each judge
    excess: Mapping[str, float]  # the worst gain beyond delta of each run, summed; nothing counts as zero
    seconds: float  # of decisions
    observers: int


@dataclass(frozen=True)
class Person:
    """One person's families, by outputs and memory and by name."""

    number: int
    runs: int
    tried: Mapping[tuple[Outputs, Memory], Mapping[str, Tried]]


def families(routine: Routine, learned: Sequence[Day], secrets: Sequence[str], fit: Fit) -> list[Family]:
    """What is compared: none, a smaller delta, each kind of observer by itself, and the family that the command makes.

    The last without each of its pairs says what that pair adds.
    """
    middle = len(learned) // 2
    halves = (fit(learned[:middle]), fit(learned[middle:]))
    weeks = tuple(fit(some_weeks(learned, seed)) for seed in range(4))
    tilts = {times: (tilted(routine, secrets, times), tilted(routine, secrets, 1 / times)) for times in (1.5, 2, 3, 5)}
    made = tuple(observers_of(routine, learned, 6, secrets=secrets))
    return [
        Family("nobody else", ()),
        *(Family(f"nobody else, delta x {share:g}", (), share) for share in SMALLER),
        Family("nobody else, habits calibrated", (), routine=fit(learned, "calibrated")),
        Family("halves", halves),
        Family("half of the weeks, 2", weeks[:2]),
        Family("half of the weeks, 4", weeks),
        *(Family(f"secrets {times:g} times more or less likely", pair) for times, pair in tilts.items()),
        Family("halves, and secrets 3 times more or less likely", (*halves, *tilts[3])),
        Family("the command's 6", made),
    ]


def tried(trace: Trace, setting: Setting, most: int | None) -> Person | None:
    """Every family on the person's runs; None for one who has none, or no place to hide."""
    one = subject(trace, setting, most)
    if one is None:
        return None
    made = families(one.routine, one.learned, one.secrets, Fit(one.routine))
    policy = Policy(one.secrets, delta=setting.delta)
    try:
        found = {variant: {own.name: _tried(own, one, policy, variant) for own in made} for variant in VARIANTS}
    except DiscreetError:  # habits too regular to run without end
        return None
    return Person(one.number, len(one.runs), found)


def _tried(family: Family, one: Subject, policy: Policy, variant: tuple[Outputs, Memory]) -> Tried:
    outputs, memory = variant
    kept = Policy(policy.secrets, delta=family.share * policy.delta)
    start = str(one.runs[0][0].date)
    own = one.routine if family.routine is None else family.routine
    mechanism = Adaptive(own.since(start), kept, outputs=outputs, memory=memory, observers=family.observers)
    walks = [walk(mechanism, days, one.judges, policy, one.number) for days in one.runs]
    return Tried(
        slots=sum(each.slots for each in walks),
        days=LENGTH * len(walks),
        truth=sum(each.truth for each in walks),
        breached={name: sum(len(each.beyond(name)) for each in walks) for name in JUDGES},
        excess={name: sum(each.excess(name) for each in walks) for name in JUDGES},
        seconds=sum(each.seconds for each in walks),
        observers=1 + len(family.observers),
    )


# --- the figure


def on_observers(
    cohort: Cohort, setting: Setting, most: int | None = None, sources: Sequence[Pictured] = DATA
) -> Figure:
    """Every family, over all people: utility against the days on which those outside it gain more than delta."""
    rows: list[dict[str, Cell]] = []
    each: list[dict[str, Cell]] = []
    drawn: dict[str, list[marks.Choice]] = {}
    for source in sources:
        own = weekly(replace(setting, rules=source.rules(setting.rules)))
        traces = cohort.read(own.rules, source.reader)
        people = cohort.over(f"observers, {source.name}", partial(tried, setting=own, most=most), traces, needed=True)
        for variant in VARIANTS:
            names = people[0].tried[variant]
            found = [_row(source.name, variant, name, people) for name in names]
            rows += found
            drawn[f"{source.name}, {variant[0]}"] = [_choice(row) for row in found]
            each += [
                _row(source.name, variant, name, [person]) | {"person": person.number}
                for person in people
                for name in names
            ]
    title = "Before observers who learned elsewhere"
    note = (
        f"smoothing {own.smoothing}, secret: {own.secrets} places at random, delta {own.delta:g}, cut {own.rules.cut}"
    )
    remarks = (
        "utility: the chance of the truth, mean over slots; memory last for suppress, none for deceive",
        "later, odd, even, all days: held-out days on which an exact observer gains more than delta, who learned the "
        "same habits from the later days, from every other of those that the mechanism learned from, or from all; none "
        "is in a family",
        "beyond: how far the worst gain of a run is beyond delta, mean over runs and those four",
        "cost: seconds of a decision, against nobody else",
    )
    chart = partial(marks.frontier, title, note, drawn, across="utility", up="share of days breached")
    return Figure("observers", title, note, Sheet.of(rows), Sheet.of(each), remarks, chart)


def _choice(row: Mapping[str, Cell]) -> marks.Choice:
    name, across, up = str(row["observers"]), row["utility"], row["share breached"]
    assert isinstance(across, float)
    assert isinstance(up, float)
    return marks.Choice(name, across, up, plain=name.startswith("nobody") and "calibrated" not in name)


def _row(data: str, variant: tuple[Outputs, Memory], name: str, people: Sequence[Person]) -> dict[str, Cell]:
    own = [person.tried[variant][name] for person in people]
    alone = [person.tried[variant]["nobody else"] for person in people]
    days, runs = sum(one.days for one in own), sum(person.runs for person in people)
    breached = {judge: sum(one.breached[judge] for one in own) for judge in JUDGES}
    spent = sum(one.seconds for one in own) / sum(one.seconds for one in alone)
    return {
        "data": data,
        "outputs": variant[0],
        "observers": name,
        "number": own[0].observers,
        "people": len(people),
        "days": days,
        "utility": sum(one.truth for one in own) / sum(one.slots for one in own),
        **breached,
        "share breached": sum(breached.values()) / (days * len(JUDGES)),
        "beyond": sum(value for one in own for value in one.excess.values()) / (runs * len(JUDGES)),
        "cost": spent,
    }
