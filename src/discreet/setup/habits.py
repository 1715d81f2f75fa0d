"""Places with the time spent there, and habits that are learned from days and held against later ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from discreet.choosing.kept_labels import is_unnamed, telling
from discreet.clock import Clock
from discreet.contexts import MERGE_BELOW, Day, merge_rare
from discreet.evaluation.truth import DAYS_REMEDY, FEWEST, Truth, check_days
from discreet.files import written_whole
from discreet.models.learning.held_out import split
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray
from discreet.places import Places
from discreet.places.spent import TimeSpent
from discreet.policy import Policy

FEWEST_DAYS = 14
"""Below two weeks a routine knows each weekday once, and it is said."""

MOST_OF_IT = 0.85
"""Of the time at a place, what lies in the hours that are said of it: a few visits at odd times do not count."""

Part = Literal["weekday", "weekend", ""]
QUARTERS = {"nights": range(6), "mornings": range(6, 12), "afternoons": range(12, 18), "evenings": range(18, 24)}


# --- places


@dataclass(frozen=True)
class Mapped:
    """The map, and the time spent at each of its places."""

    places: Places
    spent: TimeSpent
    found: bool
    """Now, and not kept from the last time."""


def draw_places(mapped: Mapped, person: str, page: Path) -> None:
    """The map as a page."""
    from discreet.places.page import places_page

    with written_whole(page) as file:
        file.write(places_page(mapped.places, mapped.spent, person).encode("utf-8", "replace"))


def usual(spent: TimeSpent, k: int) -> tuple[Part, str]:
    """When one is there: the part of the week and the quarter of the day with most of the time."""
    week = spent.week[k]
    quarter = max(QUARTERS, key=lambda name: week[:, QUARTERS[name]].sum())
    weekday, weekend = week[:5].sum() / 5, week[5:].sum() / 2
    return "weekday" if weekday > 2 * weekend else "weekend" if weekend > 2 * weekday else "", quarter


def usual_hours(spent: TimeSpent, k: int, part: Part) -> tuple[int, int]:
    """From which hour to which one is there, as a person would say it: the shortest run of hours with most of the time,
    and hours beside it that are half as usual.

    The same hour twice stands for the whole day.
    """
    days = {"weekday": slice(5), "weekend": slice(5, 7), "": slice(7)}[part]
    hours = spent.week[k][days].sum(axis=0)
    total = float(hours.sum())
    for long in range(1, 24):
        first = max(range(24), key=lambda hour: sum(hours[(hour + step) % 24] for step in range(long)))
        if sum(hours[(first + step) % 24] for step in range(long)) >= MOST_OF_IT * total:
            return _with_edges(hours, first, long)
    return 0, 0


def _with_edges(hours: FloatArray, first: int, long: int) -> tuple[int, int]:
    half = float(np.mean([hours[(first + step) % 24] for step in range(long)])) / 2
    while long < 24 and hours[(first + long) % 24] >= half:
        long += 1
    while long < 24 and hours[(first - 1) % 24] >= half:
        first, long = (first - 1) % 24, long + 1
    return (0, 0) if long == 24 else (first, (first + long) % 24)


def by_time_of_day(mapped: Mapped) -> Mapped:
    """The map with places that have only a number called by when somebody is there; each has a name of its own."""
    taken, names = set(mapped.places.names), {}
    for k, place in enumerate(mapped.places.places):
        if place.number is not None and is_unnamed(place.name):
            part, quarter = usual(mapped.spent, k)
            when = "night" if quarter == "nights" else part or quarter.removesuffix("s")
            name = f"{when} place" if f"{when} place" not in taken else f"{when} place {place.number}"
            taken.add(name)
            names[place.number] = name
    return replace(mapped, places=mapped.places.renamed(names))


# --- habits


def learned(days: Sequence[Day], clock: Clock, keep: Sequence[str]) -> Routine:
    """The routine of the days; what is rare is `other`, unless it has a name to go by or is secret."""
    return Routine.fit(merge_rare(days, MERGE_BELOW, keep=keep, telling=telling), secrets=keep, clock=clock)


def truth_of_days(days: Sequence[Day], clock: Clock, keep: Sequence[str], policy: Policy) -> Truth:
    """Habits of the earlier days held against the last fifth, for the secrets, as discreet learn does it."""
    earlier, last = split(days)
    if not last:
        return Truth("held-out days", (), f"too few days (it takes {FEWEST} that are held out)", DAYS_REMEDY)
    before = learned(earlier, clock, keep)
    return check_days(
        before,
        [day.fitted(before.contexts) for day in last],
        policy,
        on=f"the last {len(last)} days, by habits of the {len(earlier)} before,",
        held_out=True,
        learned_from=len(earlier),
        remedy=DAYS_REMEDY,
    )
