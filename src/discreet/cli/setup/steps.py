"""The steps from a history to settings: each asks, works, and says in a few lines what came of it."""

from __future__ import annotations

import os
import re
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cli.inputs import ReadingOptions, in_options, seconds_of_duration, slots_of
from discreet.cli.policy import WIDTH
from discreet.cli.setup.asking import Asker
from discreet.cli.terminal import note, percent, progress, table
from discreet.clock import Clock
from discreet.contexts import UNKNOWN, Day, merge_rare, shares
from discreet.errors import DataError, DiscreetError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from discreet.choosing import Choice, Suggested
    from discreet.evaluation.truth import Truth
    from discreet.gateway.settings import Settings
    from discreet.hierarchy import Hierarchy
    from discreet.models.routine import Routine
    from discreet.places import Places
    from discreet.places.spent import Spent
    from discreet.policy import Policy

MERGE_BELOW = 0.005
"""As `discreet learn` has it: contexts with less of the time are `other`, unless a name or a secret keeps them."""

FEWEST_DAYS = 14
"""Below two weeks a routine knows each weekday once, and it is said."""

KEEP = "keep"
"""The answer that leaves readings as they are."""

ASKED = 12
"""Places whose names are asked for; the others keep their numbers, and can be named in the file."""


@dataclass(frozen=True)
class Given:
    """What options say; None where they say nothing."""

    sources: Sequence[Path]
    person: str | None
    zone: str | None
    slots: int | None
    cut: str | None
    carry: str | None
    keep_places: bool | None
    names: Mapping[int, str]
    secrets: Sequence[str]
    delta: float | None
    vocabulary: str | None
    accept_model: bool
    weeks: int


@dataclass(frozen=True)
class Names:
    """The files of one person in the folder."""

    readings: str
    places: str
    page: str
    model: str
    policy: str

    @classmethod
    def of(cls, person: str, settings: Settings | None) -> Names:
        """Those of a folder's first person have plain names; those of others begin with theirs, unless settings say."""
        from urllib.parse import quote

        own = quote(person, safe=" @+,")
        if settings is None or not settings.people:
            return cls.called(f"{own}.model", "")
        known = settings.people.get(person)
        if known is None:
            return cls.called(f"{own}.model", f"{own}-")
        folder = settings.file.parent.resolve()
        for path in (known.routine, known.policy, known.places):
            if path is not None and path.resolve().parent != folder:
                raise DiscreetError(
                    f"{settings.file}: {path} lies elsewhere, and setup writes into one folder; move it there, or edit "
                    "the settings by hand"
                )
        ending = "policy.toml"
        prefix = known.policy.name.removesuffix(ending) if known.policy.name.endswith(ending) else ""
        names = cls.called(known.routine.name, prefix)
        map_ = names.places if known.places is None else known.places.name
        return replace(names, policy=known.policy.name, places=map_)

    @classmethod
    def called(cls, model: str, prefix: str) -> Names:
        """The names with a beginning."""
        return cls(
            f"{prefix}readings.parquet",
            f"{prefix}places.geojson",
            f"{prefix}places.html",
            model,
            f"{prefix}policy.toml",
        )


# --- 1. who, and by which clock


def local_zone() -> str:
    """The time zone of this computer, as far as it says; else UTC."""
    found = os.environ.get("TZ", "").lstrip(":")
    if not found:
        try:
            found = str(Path("/etc/localtime").resolve()).partition("zoneinfo/")[2]
        except OSError:
            found = ""
    try:
        return Clock(24, found).zone
    except DiscreetError:
        return "UTC"


def ask_clock(ask: Asker, given: Given, before: Clock | None) -> Clock:
    """The clock: its zone is asked for, the rest has defaults."""
    slots = given.slots or (48 if before is None else before.slots)
    cut = given.cut or ("00:00" if before is None else before.cut)

    def read(zone: str) -> Clock:
        return Clock(slots, zone, cut)

    if given.zone is not None:
        return read(given.zone)
    return ask.answer("--zone", "Your time zone?", read, local_zone() if before is None else before.zone)


# --- 2. readings


@dataclass(frozen=True)
class History:
    """One person's readings, and what to say of how they were got."""

    readings: pl.DataFrame
    told: str

    @property
    def positions(self) -> int:
        """Readings with a position."""
        return int(self.readings["latitude"].count())


def ask_history(ask: Asker, given: Given, person: str, zone: str, before: Path) -> History:
    """The readings of the sources, or those of the last time."""
    if given.sources:
        return _imported(given.sources, person, zone, ask)

    def read(text: str) -> History:
        return _kept(before, person, zone, ask) if text == KEEP else _imported(_paths(text), person, zone, ask)

    question = "Your history: files, folders or zip archives?"
    if before.is_file():
        return ask.answer("SOURCE...", question, read, KEEP, f"{KEEP} {before.name}")
    return ask.answer("SOURCE...", question, read)


def _kept(before: Path, person: str, zone: str, ask: Asker) -> History:
    """The readings of the last time as they are; a table that came from elsewhere is imported."""
    import polars as pl

    from discreet.data.table import IMPORTED

    try:
        found = pl.read_parquet(before)
    except (OSError, pl.exceptions.PolarsError):
        raise DataError(f"{before}: is damaged, or no Parquet; give your history anew") from None
    if found.columns == list(IMPORTED) and found["user"].unique().to_list() == [person]:
        return History(found, f"kept {before.name}")
    return _imported([before], person, zone, ask)


def _paths(text: str) -> list[Path]:
    try:
        return [Path(part).expanduser() for part in shlex.split(text)]
    except ValueError as error:
        raise DiscreetError(f"{text!r} is no list of files: {error}") from None


def _imported(sources: Sequence[Path], person: str, zone: str, ask: Asker) -> History:
    import polars as pl

    from discreet.data.importing import import_logs

    with progress("reading") as report:
        found = import_logs(sources, user=person, zone=zone, progress=report)
    users = found.readings["user"].unique(maintain_order=True).to_list()
    whose = person if person in users or len(users) > 1 else users[0]
    if whose not in users:

        def read(name: str) -> str:
            if name not in users:
                raise DiscreetError(f"there is no {name!r}; {did_you_mean(name, users)}")
            return name

        listed = ", ".join(users[:6]) + (", ..." if len(users) > 6 else "")
        whose = ask.answer("--person", f"There are {len(users)} people ({listed}). Whose history is it?", read)
    own = found.readings.filter(pl.col("user") == whose).with_columns(user=pl.lit(person))
    left_out = sum(one.bad + one.left_out.total() for one in found.files)
    files = f"{len(found.files)} file{'s' if len(found.files) > 1 else ''}"
    return History(own, f"{files} read, {left_out} records left out (discreet import says which and why)")


# --- 3. places


@dataclass(frozen=True)
class Mapped:
    """The map, and the time spent at each of its places."""

    places: Places
    spent: Spent
    found: bool
    """Now, and not kept from the last time."""


def ask_places(
    ask: Asker, given: Given, person: str, readings: Path, clock: Clock, hold: float, before: Path, page: Path
) -> Mapped:
    """The map of the last time, or places that are found, with the names that the person gives them.

    `page` is the map to look at while names are asked for.
    """
    from discreet.data import read_sightings
    from discreet.places import Search, find_places, read_places
    from discreet.places.spent import spent_at

    (sightings,) = read_sightings(readings).people.values()
    hourly = Clock(24, clock.zone)
    keep = given.keep_places
    if before.is_file() and keep is None:
        keep = ask.agreed("--keep-places or --find-places", f"Keep the places of {before.name}?", default=True)
    if keep:
        if not before.is_file():
            raise DiscreetError(f"{before}: there is no map to keep; leave --keep-places out")
        places = read_places(before).renamed(given.names)
        return Mapped(places, spent_at(sightings, places, hourly, hold), found=False)
    try:
        places, spent = find_places(sightings, hourly, Search(gap=hold or 1.0))
    except DataError as error:
        raise DataError(f"{error}, with discreet places; save its map as {before}, and run this again") from None
    mapped = Mapped(places.renamed(given.names), spent, found=True)
    if not ask.asks:
        return mapped
    draw_places(mapped, person, page)
    print_places(mapped)
    return replace(mapped, places=_named(ask, mapped.places, set(given.names), page))


def draw_places(mapped: Mapped, person: str, page: Path) -> None:
    """The map as a page."""
    from discreet.files import written_whole
    from discreet.places.page import places_page

    with written_whole(page) as file:
        file.write(places_page(mapped.places, mapped.spent, person).encode("utf-8", "replace"))


def print_places(mapped: Mapped) -> None:
    """A line a place: when one is there says more than where it is."""
    rows = [
        [
            "" if place.number is None else str(place.number),
            place.name,
            _usual(mapped.spent, k),
            f"{mapped.spent.hours[k]:.0f} h",
            f"{int(mapped.spent.days[k])} days",
        ]
        for k, place in enumerate(mapped.places.places)
    ]
    print(table(["", "place", "mostly", "time", "on"], rows, left=3))


def _usual(spent: Spent, k: int) -> str:
    """When one is there: the quarter of the day and the part of the week with most of the time."""
    week = spent.week[k]
    quarters = {"nights": range(6), "mornings": range(6, 12), "afternoons": range(12, 18), "evenings": range(18, 24)}
    quarter = max(quarters, key=lambda name: week[:, quarters[name]].sum())
    weekday, weekend = week[:5].sum() / 5, week[5:].sum() / 2
    part = "weekday " if weekday > 2 * weekend else "weekend " if weekend > 2 * weekday else ""
    return f"{part}{quarter}"


def _named(ask: Asker, places: Places, done: set[int], page: Path) -> Places:
    """Names for places that have only a number."""
    numbers = [place.number for place in places.places if is_number(place.name) and place.number is not None]
    numbers = [number for number in numbers if number not in done][:ASKED]
    if numbers:
        print(f"\nA map, to open in a browser: {page.resolve()}")
        print("What are they: hospital, gym, Kim's flat? Enter leaves a number, . leaves all.")
    for number in numbers:

        def read(text: str, number: int = number, places: Places = places) -> Places | None:
            return None if text == "." else places if text == "-" else places.renamed({number: text})

        renamed = ask.answer(f"--name {number}=NAME", f"  place {number} is:", read, "-", "")
        if renamed is None:
            break
        places = renamed
    return places


def is_number(name: str) -> bool:
    """Whether a place is called by its number, since nobody has named it."""
    return re.fullmatch(r"place \d+", name) is not None


# --- 4. habits


def days_of(readings: Path, mapped: Mapped | None, clock: Clock, carry: str) -> list[Day]:
    """The person's days, a context a slot, nothing merged."""
    from discreet.data import read_days, read_place_days

    try:
        if mapped is not None:
            found = read_place_days(readings, clock, mapped.places, hold=seconds_of_duration(carry))
        else:
            found = read_days(readings, clock, carry=slots_of(carry, clock))
    except DataError as error:
        raise DataError(in_options(str(error))) from None
    (days,) = found.people.values()
    return days


def learned(days: Sequence[Day], clock: Clock, keep: Sequence[str]) -> Routine:
    """The routine of the days; what is rare is `other`, unless it has a name to go by or is secret."""
    from discreet.choosing.suggest import RULES
    from discreet.choosing.words import says
    from discreet.models.routine import Routine

    seen = shares(days)
    telling = [label for label in seen if any(says(label, rule.patterns, rule.unless) for rule in RULES)]
    return Routine.fit(merge_rare(days, MERGE_BELOW, keep=(*telling, *keep)), secrets=keep, clock=clock)


def print_days(days: Sequence[Day], routine: Routine, carry: str) -> None:
    """How much there is, and what to mind."""
    print(textwrap.fill(f"{len(days)} days, of {', '.join(routine.contexts)}", WIDTH))
    if len(days) < FEWEST_DAYS:
        note(f"{len(days)} days are few to know habits from; bring more, and run this again")
    if (unknown := shares(days).get(UNKNOWN, 0.0)) >= 0.2:
        note(
            f"of {percent(unknown)} of the time nothing is known: a reading stands for {carry} (--carry); where a "
            "source records changes only, as Home Assistant does, give --carry 24h"
        )


# --- 5. secrets


def ask_secrets(ask: Asker, given: Given, routine: Routine, places: Places | None) -> Suggested:
    """Those of the options, or of the suggestions that are taken; a context may be named besides."""
    from discreet.choosing import suggest
    from discreet.cli.policy import print_suggested

    found = suggest(routine, places)
    if given.secrets:
        return chosen(found, given.secrets, routine, places)
    taken = ", ".join(str(k) for k, one in enumerate(found.suggestions, 1) if one.proposed)
    if ask.asks:
        print_suggested(found, routine, numbered=True)
        others = [context for context in routine.contexts if context not in ("other", UNKNOWN)]
        print("\n" + textwrap.fill(f"Any of these may be secret, too: {', '.join(others)}.", WIDTH))

    def read(text: str) -> Suggested:
        names = [part.strip() for part in text.split(",") if part.strip()]
        by_number = {str(k): one.name for k, one in enumerate(found.suggestions, 1)}
        return chosen(found, [by_number.get(name, name) for name in names], routine, places)

    question = "What is secret? Numbers or names, with commas:" if ask.asks else "What is secret"
    return ask.answer("--secret", question, read, taken or None)


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


# --- 6. what it costs, and how it looks


def print_preview(
    days: Sequence[Day], routine: Routine, policy: Policy, choice: Choice, tree: Hierarchy | None
) -> None:
    """The last day with a secret visit as applications would see it, and the cost."""
    from discreet.choosing.choices import spec_of
    from discreet.cli.day_strip import print_day
    from discreet.randomness import SeededEntropy
    from discreet.session import Session

    fitted = [day.fitted(routine.contexts) for day in days if day.date is not None]
    visits = [day for day in fitted if _holds_a_secret(day, policy)]
    day = (visits or fitted)[-1]
    assert day.date is not None
    assert routine.clock is not None
    mechanism = spec_of(choice.vocabulary, tree).make(routine.since(day.date), policy)  # type: ignore[arg-type]
    with Session(mechanism, rng=SeededEntropy(0)) as today:
        told = [today.release(context) for context in day.contexts]
    print(f"\n{day.date:%A %d %B %Y}, told with delta {policy.delta:g} and {choice.vocabulary}, as it might be:\n")
    print_day(routine.clock, day.contexts, told, policy.contexts)
    print()
    print(cost_in_words(choice))


def _holds_a_secret(day: Day, policy: Policy) -> bool:
    """Whether some secret is true of the day, at a slot at which it holds."""
    return any(
        context in secret.contexts and (secret.slots is None or slot in secret.slots)
        for secret in policy.secrets
        for slot, context in enumerate(day.contexts)
    )


def cost_in_words(choice: Choice) -> str:
    """Utility and the audit's verdict."""
    from discreet.cli.truth import IF

    shown = f"{100 * choice.utility.mean:.0f} % ± {max(1, round(100 * choice.utility.half_width))}"
    parts = [f"{percent(choice.false)} told falsely"] if choice.false else []
    parts += [f"{percent(choice.coarse)} told more widely"] if choice.coarse else []
    parts += [f"{percent(choice.silent)} not told"] if choice.silent else []
    verdict = {True: "holds", False: "does not hold", None: "is open"}[choice.holds]
    proof = " by its proof" if choice.holds and choice.rests_on == "proof" else ""
    return f"Expected: {shown} of the time as it was, {', '.join(parts)}.\nAudit: it {verdict}{proof}, {IF}."


# --- 7. are the habits true?


def truth_of_days(days: Sequence[Day], clock: Clock, keep: Sequence[str], policy: Policy) -> Truth:
    """Habits of the earlier days held against the last fifth, for the secrets, as discreet learn does it."""
    from discreet.cli.truth import DAYS_REMEDY
    from discreet.evaluation.truth import FEWEST, Truth, check_days
    from discreet.models.held_out import split

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


def reading_kept(carry: str) -> dict[str, str | None]:
    """How the readings were read, for the model's file."""
    return ReadingOptions(carry=carry).remembered()


def numbered_names(given: Sequence[str] | None) -> dict[int, str]:
    """--name 3=hospital."""
    found = {}
    for one in given or ():
        match = re.fullmatch(r"\s*(\d{1,9})\s*=\s*(.+?)\s*", one, re.DOTALL)
        if match is None:
            raise DiscreetError(f"--name is {one!r}; write a number and a name, such as 3=hospital")
        found[int(match[1])] = match[2]
    return found
