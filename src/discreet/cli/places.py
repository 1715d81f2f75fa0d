"""`discreet places`: the places where a person spends time, as a map that can be edited."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.batch.defaults import looked_at
from discreet.cli import options
from discreet.cli.inputs import in_options, seconds_of_duration
from discreet.cli.terminal import note, note_later, percent, print_json, progress, table
from discreet.clock import Clock
from discreet.errors import DataError, DiscreetError, did_you_mean

if TYPE_CHECKING:
    from discreet.data import Seen
    from discreet.places import Places, Sightings
    from discreet.places.spent import TimeSpent

FINDING = "What a place is"


def places(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Positions: a .csv or .parquet table with columns user, timestamp, latitude, longitude, and perhaps "
            "accuracy (metres) and context, as discreet import writes it.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.geojson", help="Where to write the places; any map editor opens the file.", show_default=False
        ),
    ] = None,
    map_: Annotated[
        Path | None, typer.Option("--map", metavar="FILE.html", help="Draw them on a page that needs no network.")
    ] = None,
    given: Annotated[
        Path | None,
        typer.Option(
            "--places",
            metavar="FILE",
            help="Use the places in this file, perhaps edited by hand, instead of finding them.",
        ),
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(metavar="N=NAME", help="Call place N by this name; may be repeated.")
    ] = None,
    merge: Annotated[
        list[str] | None, typer.Option(metavar="N=M", help="Make place N part of place M; may be repeated.")
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            help="The person's time zone, such as Europe/Paris, for nights and days.",
            show_default="where the nights were spent",
        ),
    ] = None,
    radius: Annotated[
        float, typer.Option(metavar="METRES", help="The radius of a stay, in metres.", rich_help_panel=FINDING)
    ] = (100.0),
    minutes: Annotated[float, typer.Option(help="The shortest stay, in minutes.", rich_help_panel=FINDING)] = 10.0,
    days: Annotated[
        int, typer.Option(help="Keep a place with stays on this many days, however short,", rich_help_panel=FINDING)
    ] = 2,
    hours: Annotated[float, typer.Option(help="or with this many hours in all.", rich_help_panel=FINDING)] = 2.0,
    accuracy: Annotated[
        float,
        typer.Option(
            metavar="METRES",
            help="Leave out positions that are less accurate than this many metres.",
            rich_help_panel=options.READING,
        ),
    ] = 200.0,
    person: options.Person = None,
    carry: options.OwnCarry = None,
    naive_zone: options.NaiveZone = None,
    skip_bad: options.SkipBad = False,
    user: options.UserColumn = "user",
    time: options.TimeColumn = "timestamp",
    context: options.ContextColumn = "context",
    json: options.Json = False,
) -> None:
    """Find the places where a person spends time, name them by rules, and draw them.

    Edit the file to rename and merge places and to draw polygons (rooms in buildings, too), or use --name and --merge.
    Then pass it to learn, release and evaluate as --places. Keep the file and the page private.

    Example: discreet places readings.parquet --out places.geojson --map places.html
    """
    from discreet.data import SightingColumns, read_sightings
    from discreet.files import written_whole
    from discreet.places import Search, find_places, read_places, write_places
    from discreet.places.find import NO_HOME
    from discreet.places.page import places_page
    from discreet.places.spent import spent_at

    if out is None and map_ is None:
        raise DiscreetError("nothing would be written; give --out places.geojson, --map places.html, or both")
    names, merges = _names(name), _merges(merge)
    Clock(24, zone or "UTC")  # what is wrong with it is told before anything is read
    search = Search(radius, minutes, days, hours, None if carry is None else seconds_of_duration(carry) or 1.0)
    drawn = None if given is None else read_places(given)
    with progress(f"reading {data.name}") as report:
        try:
            columns = SightingColumns(user or None, time, context=context)
            seen = read_sightings(
                data, columns=columns, zone=naive_zone, accuracy=accuracy, skip_bad=skip_bad, progress=report
            )
        except DataError as error:
            raise DataError(in_options(str(error))) from None
    whose, sightings = _one(seen, data, person)
    looked = looked_at(sightings)
    clock, hold = Clock(24, looked.zone(zone, note_later)), seconds_of_duration(looked.carry(carry, note_later))
    search = replace(search, gap=hold or 1.0)
    if drawn is None:
        found, spent = find_places(sightings, clock, search)
    else:
        found, spent = drawn, spent_at(sightings, drawn, clock, hold or 1.0)
    found = found.renamed(names).merged(merges)
    page = places_page(found, spent, whose)
    if out is not None:
        write_places(out, found)
    if map_ is not None:
        with written_whole(map_) as file:
            file.write(page.encode("utf-8", "replace"))
    if json:
        print_json(
            {"person": whose, "rows": seen.rows, "inaccurate": seen.vague, "bad_rows": seen.bad.count}
            | _document(found, spent)
        )
    else:
        _print(found, spent, [path for path in (out, map_) if path is not None])
        _tell(seen, zone is None and looked.zones is None)
        if drawn is None and "home" not in found.names:
            note(NO_HOME)


def _one(seen: Seen, data: Path, person: str | None) -> tuple[str, Sightings]:
    """The person asked for, or the only one: `home` is another place for each."""
    if person is not None:
        if person not in seen.people:
            raise DataError(f"{data}: there is no person {person!r}; {did_you_mean(person, seen.people)}")
        return person, seen.people[person]
    if len(seen.people) > 1:
        raise DataError(f"{data}: holds {len(seen.people)} people, and places are one person's; choose with --person")
    return next(iter(seen.people.items()))


def _pair(option: str, given: str, form: str) -> tuple[int, str]:
    match = re.fullmatch(r"\s*(\d{1,9})\s*=\s*(.+?)\s*", given, re.DOTALL)
    if match is None:
        raise DiscreetError(f"{option} is {given!r}; write {form}")
    return int(match[1]), match[2]


def _names(given: list[str] | None) -> dict[int, str]:
    return dict(_pair("--name", one, "a number and a name, such as 3=hospital") for one in given or ())


def _merges(given: list[str] | None) -> dict[int, int]:
    form = "two numbers, such as 3=5"
    pairs = [_pair("--merge", one, form) for one in given or ()]
    for number, other in pairs:
        if not other.isdecimal():
            raise DiscreetError(f"--merge is '{number}={other}'; write {form}")
    return {number: int(other) for number, other in pairs}


def _document(found: Places, spent: TimeSpent) -> dict[str, object]:
    rows = [
        {
            "number": place.number,
            "name": place.name,
            "latitude": place.shape.middle[0],
            "longitude": place.shape.middle[1],
            "square_metres": place.shape.area,
            "hours": float(spent.hours[k]),
            "days": int(spent.days[k]),
            "share": spent.share(k),
            "why": place.properties.get("why"),
        }
        for k, place in enumerate(found.places)
    ]
    n = len(found)
    shares = {"away": spent.share(n), "moving": spent.share(n + 1), "labels": spent.share(n + 2)}
    hours = {"known_hours": spent.known, "unknown_hours": spent.unknown, "unexplained": spent.unexplained}
    return {"first": str(spent.first), "last": str(spent.last), **hours, **shares, "places": rows}


def _print(found: Places, spent: TimeSpent, files: list[Path]) -> None:
    rows = [
        [
            "" if place.number is None else str(place.number),
            place.name,
            f"{spent.hours[k]:.0f}",
            str(int(spent.days[k])),
            percent(float(spent.hours[k]) / (spent.known or 1)),
            _plain(place.properties.get("why")),
        ]
        for k, place in enumerate(found.places)
    ]
    header = ["", "place", "hours", "days", "time", "why"]
    print(table(header, rows, left=2))
    whole = spent.known + spent.unknown
    print(f"\nno place explains {percent(spent.unexplained)} of the known time (away or moving)")
    print(f"nothing is known of {percent(spent.unknown / whole if whole else 1.0)} of all hours")
    print(f"written: {', '.join(map(str, files))}")


def _plain(told: object) -> str:
    """What a file tells, as one line: it may come from anywhere, and a terminal obeys what it is sent."""
    return "".join(letter for letter in str(told or "") if letter.isprintable())[:60]


def _tell(seen: Seen, no_zone: bool) -> None:
    from discreet.places.zones import can_find

    if no_zone:
        found = "" if can_find() else ", or install discreet[places], which finds it by the positions"
        note(f"nights and days are those of UTC; give --zone, such as --zone Europe/Paris{found}")
    if seen.vague:
        note(f"{seen.vague} positions are too inaccurate to say a place, and were left out")
    if seen.bad.count:
        note(f"{seen.bad.count} bad rows were skipped")
