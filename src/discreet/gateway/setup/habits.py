"""From readings to what is decided on: places with the time spent there, days, habits, secrets, and a day to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from discreet.clock import Clock
from discreet.contexts import Day, merge_rare
from discreet.errors import DiscreetError, did_you_mean

if TYPE_CHECKING:
    from discreet.choosing import Suggested
    from discreet.evaluation.truth import Truth
    from discreet.hierarchy import Hierarchy
    from discreet.models.routine.routine import Routine
    from discreet.outputs import Output
    from discreet.places import Places, Search
    from discreet.places.spent import TimeSpent
    from discreet.policy import Policy

MERGE_BELOW = 0.005
"""As `discreet learn` has it: contexts with less of the time are `other`, unless a name or a secret keeps them."""

FEWEST_DAYS = 14
"""Below two weeks a routine knows each weekday once, and it is said."""

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


def found_places(readings: Path, clock: Clock, search: Search) -> Mapped:
    """The places of the one person in a file of readings."""
    from discreet.data import read_sightings
    from discreet.places import find_places

    (sightings,) = read_sightings(readings).people.values()
    places, spent = find_places(sightings, Clock(24, clock.zone), search)
    return Mapped(places, spent, found=True)


def draw_places(mapped: Mapped, person: str, page: Path) -> None:
    """The map as a page."""
    from discreet.files import written_whole
    from discreet.places.page import places_page

    with written_whole(page) as file:
        file.write(places_page(mapped.places, mapped.spent, person).encode("utf-8", "replace"))


def usual(spent: TimeSpent, k: int) -> tuple[Part, str]:
    """When one is there: the part of the week and the quarter of the day with most of the time."""
    week = spent.week[k]
    quarter = max(QUARTERS, key=lambda name: week[:, QUARTERS[name]].sum())
    weekday, weekend = week[:5].sum() / 5, week[5:].sum() / 2
    return "weekday" if weekday > 2 * weekend else "weekend" if weekend > 2 * weekday else "", quarter


def by_time_of_day(mapped: Mapped) -> Mapped:
    """The map with places that have only a number called by when somebody is there; each has a name of its own."""
    from discreet.choosing.keeping import is_unnamed

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


def days_of(readings: Path, places: Places | None, clock: Clock, carry: float) -> list[Day]:
    """The person's days, a context a slot, nothing merged; `carry` in seconds."""
    from discreet.data import read_days, read_place_days

    if places is not None:
        found = read_place_days(readings, clock, places, hold=carry)
    else:
        found = read_days(readings, clock, carry=int(carry // clock.slot_seconds))
    (days,) = found.people.values()
    return days


def learned(days: Sequence[Day], clock: Clock, keep: Sequence[str]) -> Routine:
    """The routine of the days; what is rare is `other`, unless it has a name to go by or is secret."""
    from discreet.choosing.keeping import telling
    from discreet.models.routine.routine import Routine

    return Routine.fit(merge_rare(days, MERGE_BELOW, keep=keep, telling=telling), secrets=keep, clock=clock)


def truth_of_days(days: Sequence[Day], clock: Clock, keep: Sequence[str], policy: Policy) -> Truth:
    """Habits of the earlier days held against the last fifth, for the secrets, as discreet learn does it."""
    from discreet.evaluation.truth import DAYS_REMEDY, FEWEST, Truth, check_days
    from discreet.models.learning.held_out import split

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


# --- secrets


def chosen(found: Suggested, names: Sequence[str], routine: Routine, places: Places | None) -> Suggested:
    """The suggestions of these names, and contexts of these names as secrets of their own."""
    from discreet.choosing import suggest

    known = {one.name for one in found.suggestions}
    own = [name for name in names if name not in known]
    for name in own:
        if name not in routine.contexts:
            raise DiscreetError(f"there is no {name!r}; {did_you_mean(name, {*known, *routine.contexts})}")
    if not names:
        raise DiscreetError("nothing would be secret; name something")
    again = suggest(routine, places, also=own)
    return again.only([name for name in names if name in {one.name for one in again.suggestions}])


def day_to_show(days: Sequence[Day], routine: Routine, policy: Policy) -> Day:
    """The last day with a secret visit, or the last."""
    fitted = [day.fitted(routine.contexts) for day in days if day.date is not None]
    return ([day for day in fitted if _holds_a_secret(day, policy)] or fitted)[-1]


def told_on(day: Day, routine: Routine, policy: Policy, vocabulary: str, tree: Hierarchy | None) -> list[Output]:
    """What applications would see of a day, as it might be: drawn once, from a seed."""
    from discreet.choosing.choices import spec_of
    from discreet.randomness import SeededEntropy
    from discreet.session import Session

    assert day.date is not None
    mechanism = spec_of(vocabulary, tree).make(routine.since(day.date), policy)  # type: ignore[arg-type]
    with Session(mechanism, rng=SeededEntropy(0)) as today:
        return [today.release(context) for context in day.contexts]


def _holds_a_secret(day: Day, policy: Policy) -> bool:
    """Whether some secret is true of the day, at a slot at which it holds."""
    return any(
        context in secret.contexts and (secret.slots is None or slot in secret.slots)
        for secret in policy.secrets
        for slot, context in enumerate(day.contexts)
    )
