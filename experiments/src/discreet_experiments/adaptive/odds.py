"""What bounds on odds cost and save (theory, section 13): doubt and odds on recorded people, suppress and deceive.

Habits are learned from the first half of a person's days; runs of held-out dates are released without end. Each is
judged by an observer with the same habits, by one whose odds of every row are five times as high and who shares its
conditional laws, and by exact observers who learned elsewhere (walks.py), all by delta alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.factors import factors
from discreet.mechanisms import Adaptive
from discreet.mechanisms.adaptive.adaptive import Memory, Outputs
from discreet.numerics import FloatArray
from discreet.policy import Policy
from discreet_experiments.adaptive.frontier import VARIANTS
from discreet_experiments.adaptive.picture import PICTURED, Pictured
from discreet_experiments.adaptive.walks import JUDGES, LENGTH, Subject, subject, walk
from discreet_experiments.adaptive.weeks import weekly
from discreet_experiments.charts import marks
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import Figure
from discreet_experiments.shared.people import Trace
from discreet_experiments.shared.sheets import Cell, Sheet
from discreet_experiments.shared.subjects import Setting

TERMS: Mapping[str, Mapping[str, Any]] = {
    "doubt 1": {},
    "doubt 2": {"doubt": 2.0},
    "doubt 5": {"doubt": 5.0},
    "odds 3": {"odds": 3.0},
    "odds 2": {"odds": 2.0},
    "half of delta": {"share": 0.5},
}
"""What is added to delta; `doubt 1` is delta alone."""

TIMES = 5
"""How much higher the odds are of an observer with other odds."""

OWN = "own"


@dataclass(frozen=True)
class Bounded:
    """One policy on one person's runs."""

    slots: int
    days: int
    truth: float  # the chance of the truth, summed over slots
    breached: Mapping[str, int]  # days, before each judge
    odds: float  # the largest factor
    other: float  # the largest gain of whoever has TIMES the odds


@dataclass(frozen=True)
class Person:
    """One person's policies, by outputs and memory and by name."""

    number: int
    tried: Mapping[tuple[Outputs, Memory], Mapping[str, Bounded]]


def tried(trace: Trace, setting: Setting, most: int | None) -> Person | None:
    """Every policy on the person's runs; None for one who has none, or no place to hide."""
    one = subject(trace, setting, most)
    if one is None:
        return None
    policy = Policy(one.secrets, delta=setting.delta)
    try:
        found = {
            variant: {name: _bounded(one, policy, terms, variant) for name, terms in TERMS.items()}
            for variant in VARIANTS
        }
    except DiscreetError:  # habits too regular to run without end
        return None
    return Person(one.number, found)


def _bounded(one: Subject, policy: Policy, terms: Mapping[str, Any], variant: tuple[Outputs, Memory]) -> Bounded:
    outputs, memory = variant
    start = str(one.runs[0][0].date)
    mechanism = Adaptive(one.routine.since(start), replace(policy, **terms), outputs=outputs, memory=memory)
    everybody = {OWN: one.routine, **one.judges}
    walks = [walk(mechanism, days, everybody, policy, one.number) for days in one.runs]
    odds, other = 1.0, 0.0
    for each in walks:
        priors = each.watching[OWN].priors
        multiplied = factors(priors, priors + each.highest[OWN])
        odds = max(odds, float(multiplied.max(initial=1.0)))
        other = max(other, float(_gains(priors, multiplied).max(initial=0.0)))
    return Bounded(
        slots=sum(each.slots for each in walks),
        days=LENGTH * len(walks),
        truth=sum(each.truth for each in walks),
        breached={name: sum(len(each.beyond(name)) for each in walks) for name in one.judges},
        odds=odds,
        other=other,
    )


def _gains(priors: FloatArray, multiplied: FloatArray) -> FloatArray:
    """What whoever starts from TIMES the odds gains, where odds are multiplied by so much."""
    open_ones = (priors > 0) & (priors < 1)
    before = TIMES * priors[open_ones] / (1 - priors[open_ones])
    after = before * multiplied[open_ones]
    belief = np.where(np.isinf(after), 1.0, after / (1 + np.where(np.isinf(after), 0.0, after)))
    return np.asarray(belief - before / (1 + before))


# --- the figure


def on_odds(
    cohort: Cohort, setting: Setting, most: int | None = None, sources: Sequence[Pictured] = PICTURED
) -> Figure:
    """Every policy, over all people: utility against the days on which others gain more than delta."""
    rows: list[dict[str, Cell]] = []
    each: list[dict[str, Cell]] = []
    drawn: dict[str, list[marks.Choice]] = {}
    for source in sources:
        own = weekly(replace(setting, rules=source.rules(setting.rules)))
        traces = cohort.read(own.rules, source.reader)
        people = cohort.over(f"odds, {source.name}", partial(tried, setting=own, most=most), traces, needed=True)
        for variant in VARIANTS:
            found = {name: _row(source.name, variant, name, people) for name in TERMS}
            rows += found.values()
            drawn[f"{source.name}, {variant[0]}"] = [_choice(name, row) for name, row in found.items()]
            each += [
                _row(source.name, variant, name, [one]) | {"person": one.number} for one in people for name in TERMS
            ]
    title = "Bounds on odds"
    note = (
        f"smoothing {own.smoothing}, secret: {own.secrets} places at random, delta {own.delta:g}, cut {own.rules.cut}"
    )
    remarks = (
        "utility: the chance of the truth, mean over slots; memory last for suppress, none for deceive",
        f"odds: the largest factor before who has the same habits; {TIMES} times the odds: the largest gain of who "
        "starts from so much and shares the conditional laws",
        "share beyond: of held-out days, those on which an exact observer who learned elsewhere gains more than delta, "
        "mean over four of them",
    )
    chart = partial(marks.frontier, title, note, drawn, across="utility", up="share of days beyond delta")
    return Figure("odds", title, note, Sheet.of(rows), Sheet.of(each), remarks, chart)


def _choice(name: str, row: Mapping[str, Cell]) -> marks.Choice:
    across, up = row["utility"], row["share beyond"]
    assert isinstance(across, float)
    assert isinstance(up, float)
    return marks.Choice(name, across, up, plain=name.startswith("doubt"))


def _row(data: str, variant: tuple[Outputs, Memory], name: str, people: Sequence[Person]) -> dict[str, Cell]:
    own = [person.tried[variant][name] for person in people]
    days = sum(one.days for one in own)
    return {
        "data": data,
        "outputs": variant[0],
        "policy": name,
        "people": len(people),
        "days": days,
        "utility": sum(one.truth for one in own) / sum(one.slots for one in own),
        "odds": max(one.odds for one in own),
        f"{TIMES} times the odds": max(one.other for one in own),
        "share beyond": sum(sum(one.breached.values()) for one in own) / (days * len(JUDGES)),
    }
