"""What the terminal asks at each step of `discreet.setup`, and how it says in a few lines what came of it."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from discreet.choosing import Choice, Suggested
from discreet.choosing.kept_labels import is_unnamed, worth_keeping
from discreet.cli.day_strip import print_day
from discreet.cli.inputs import in_options
from discreet.cli.policy import WIDTH, print_suggested
from discreet.cli.setup.questions import Asker
from discreet.cli.terminal import note, percent, progress, table
from discreet.cli.truth import IF
from discreet.clock import Clock, duration_text, local_zone
from discreet.contexts import UNKNOWN, Day, shares
from discreet.data.entries import NoZoneError
from discreet.data.importing import Imported
from discreet.data.table import IMPORTED
from discreet.errors import DataError, DiscreetError, did_you_mean
from discreet.places import Places, read_places
from discreet.places.spent import TimeSpent
from discreet.places.zones import Zones
from discreet.policy import Policy
from discreet.setup import habits
from discreet.setup.habits import Mapped
from discreet.setup.history import NOBODY, History, called, history_of, imported, users_of, whose
from discreet.setup.steps import Setup

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
    odds: float | None
    hold: float | None
    vocabulary: str | None
    accept_model: bool
    weeks: int


# --- 1. who, and by which clock


def ask_clock(ask: Asker, given: Given, before: Clock | None, zones: Zones | None) -> Clock:
    """The clock: its zone is asked for, the rest has defaults. Where nights were spent is the zone to begin with."""
    slots = given.slots or (48 if before is None else before.slots)
    cut = given.cut or ("00:00" if before is None else before.cut)

    def read(zone: str) -> Clock:
        return Clock(slots, zone, cut)

    if given.zone is not None:
        return read(given.zone)
    usual = before.zone if before is not None else zones.home if zones is not None else local_zone()
    return ask.answer("--zone", "Your time zone?", read, usual)


# --- 2. readings


def brought(given: Given, before: Clock | None) -> Imported | None:
    """What the sources of the options hold, to see whose and from where; None where there are none, or where times
    cannot be read before somebody has said their zone."""
    if not given.sources:
        return None
    zone = given.zone or (None if before is None else before.zone)
    try:
        with progress("reading") as report:
            return imported(given.sources, given.person or NOBODY, zone, report)
    except NoZoneError:
        return None


def ask_history(
    ask: Asker, given: Given, person: str, zone: str, before: Path, found: Imported | None = None
) -> History:
    """The readings of the sources, or those of the last time; `found` is what is read of the sources already."""
    if found is not None:
        return _of_one(called(found, person), person, ask)
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
    try:
        found = pl.read_parquet(before)
    except (OSError, pl.exceptions.PolarsError):
        raise DataError(f"{before}: is damaged, or no Parquet; give your history again") from None
    if found.columns == list(IMPORTED) and found["user"].unique().to_list() == [person]:
        return History(found, f"kept {before.name}")
    return _imported([before], person, zone, ask)


def _paths(text: str) -> list[Path]:
    try:
        return [Path(part).expanduser() for part in shlex.split(text)]
    except ValueError as error:
        raise DiscreetError(f"{text!r} is no list of files: {error}") from None


def _imported(sources: Sequence[Path], person: str, zone: str, ask: Asker) -> History:
    with progress("reading") as report:
        found = imported(sources, person, zone, report)
    return _of_one(found, person, ask)


def _of_one(found: Imported, person: str, ask: Asker) -> History:
    """The readings of one of the people in them."""
    user = whose(found, person)
    if user is None:
        users = users_of(found)

        def read(name: str) -> str:
            if name not in users:
                raise DiscreetError(f"there is no {name!r}; {did_you_mean(name, users)}")
            return name

        listed = ", ".join(users[:6]) + (", ..." if len(users) > 6 else "")
        user = ask.answer("--person", f"There are {len(users)} people ({listed}). Whose history is it?", read)
    return history_of(found, user, person)


# --- 3. places


def ask_places(ask: Asker, given: Given, setup: Setup, before: Path, page: Path) -> Mapped:
    """The map of the last time, or places that are found, with the names that the person gives them.

    `page` is the map to look at while names are asked for.
    """
    keep = given.keep_places
    if before.is_file() and keep is None:
        keep = ask.agreed("--keep-places or --find-places", f"Keep the places of {before.name}?", default=True)
    if keep:
        if not before.is_file():
            raise DiscreetError(f"{before}: there is no map to keep; leave --keep-places out")
        return setup.on_map(read_places(before).renamed(given.names))
    try:
        mapped = setup.find()
    except DataError as error:
        raise DataError(f"{error}, with discreet places; save its map as {before}, and run this again") from None
    mapped = replace(mapped, places=mapped.places.renamed(given.names))
    if not ask.asks:
        return habits.by_time_of_day(mapped)
    habits.draw_places(mapped, setup.person, page)
    print_places(mapped)
    return replace(mapped, places=_named(ask, mapped.places, set(given.names), page))


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


def _usual(spent: TimeSpent, k: int) -> str:
    """When one is there."""
    part, quarter = habits.usual(spent, k)
    return f"{part} {quarter}".strip()


def _named(ask: Asker, places: Places, done: set[int], page: Path) -> Places:
    """Names for places that have only a number."""
    open_ = [place for place in places.places if is_unnamed(place.name) and place.number not in (None, *done)]
    rare = [place for place in open_[ASKED:] if place.name in worth_keeping(places)]  # seldom visited, perhaps secret
    numbers = [place.number for place in (*open_[: ASKED - len(rare)], *rare) if place.number is not None]
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


# --- 4. habits


def days_of(setup: Setup) -> list[Day]:
    """The person's days; errors speak of options."""
    try:
        return setup.days
    except DataError as error:
        raise DataError(in_options(str(error))) from None


def print_days(setup: Setup) -> None:
    """How much there is, and what to mind."""
    days, carry = setup.days, duration_text(setup.carry)
    print(textwrap.fill(f"{len(days)} days, of {', '.join(setup.routine.contexts)}", WIDTH))
    if len(days) < habits.FEWEST_DAYS:
        note(f"{len(days)} days are few to know habits from; bring more, and run this again")
    if (unknown := shares(days).get(UNKNOWN, 0.0)) >= 0.2:
        note(
            f"of {percent(unknown)} of the time nothing is known: a reading stands for {carry} (--carry); where a "
            "source records changes only, as Home Assistant does, give --carry 24h"
        )


# --- 5. secrets


def ask_secrets(ask: Asker, given: Given, setup: Setup) -> Suggested:
    """Those of the options, or of the suggestions that are taken; a context may be named besides."""
    found, routine = setup.suggested, setup.routine
    if given.secrets:
        return setup.chosen(given.secrets)
    taken = ", ".join(str(k) for k, one in enumerate(found.suggestions, 1) if one.proposed)
    if ask.asks:
        print_suggested(found, routine, numbered=True)
        others = [context for context in routine.contexts if context not in ("other", UNKNOWN)]
        print("\n" + textwrap.fill(f"Any of these may be secret, too: {', '.join(others)}.", WIDTH))

    def read(text: str) -> Suggested:
        names = [part.strip() for part in text.split(",") if part.strip()]
        by_number = {str(k): one.name for k, one in enumerate(found.suggestions, 1)}
        return setup.chosen([by_number.get(name, name) for name in names])

    if not ask.asks and not taken:
        raise DiscreetError(
            "nothing is suggested as a secret, because no name speaks of anything that could be one; name places with "
            "--name 3=clinic, by their numbers above, or say what is secret with --secret, such as "
            f"--secret {shlex.quote(next((one for one in routine.contexts if one not in ('other', UNKNOWN)), 'work'))}"
        )
    question = "What is secret? Numbers or names, with commas:" if ask.asks else "What is secret"
    return ask.answer("--secret", question, read, taken or None)


# --- 6. what it costs, and how it looks


def print_preview(setup: Setup, policy: Policy, choice: Choice) -> None:
    """The last day with a secret visit as applications would see it, and the cost."""
    day, told = setup.shown(policy), setup.outputs(policy, choice.vocabulary)
    print(f"\n{day.date:%A %d %B %Y}, released with delta {policy.delta:g} and {choice.vocabulary}, for example:\n")
    print_day(setup.clock, day.contexts, told, policy.contexts)
    print()
    print(cost_in_words(choice))


def cost_in_words(choice: Choice) -> str:
    """Utility and the audit's verdict."""
    shown = f"{100 * choice.utility.mean:.0f} % ± {max(1, round(100 * choice.utility.half_width))}"
    parts = [f"{percent(choice.false)} shown falsely"] if choice.false else []
    parts += [f"{percent(choice.coarse)} shown as a wider place"] if choice.coarse else []
    parts += [f"{percent(choice.silent)} silent"] if choice.silent else []
    verdict = {True: "holds", False: "does not hold", None: "is open"}[choice.holds]
    proof = " by its proof" if choice.holds and choice.rests_on == "proof" else ""
    return f"Expected: {', '.join((f'{shown} of the time true', *parts))}.\nAudit: it {verdict}{proof}, {IF}."


def numbered_names(given: Sequence[str] | None) -> dict[int, str]:
    """--name 3=hospital."""
    found = {}
    for one in given or ():
        match = re.fullmatch(r"\s*(\d{1,9})\s*=\s*(.+?)\s*", one, re.DOTALL)
        if match is None:
            raise DiscreetError(f"--name is {one!r}; write a number and a name, such as 3=hospital")
        found[int(match[1])] = match[2]
    return found
