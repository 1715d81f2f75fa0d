"""The slow twin of the readers: a plain loop with csv and Clock.locate."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from discreet.clock import Clock
from discreet.contexts import UNKNOWN, Day

Row = tuple[str, dt.datetime, dt.datetime | None, str]
"""(person, timestamp or start, end, context)."""

Days = dict[str, list[Day]]


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    with gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def parse(text: str, zone: str | None) -> dt.datetime:
    """A timestamp as the documentation of read_days has it."""
    try:
        number = float(text)
    except ValueError:
        stamp = dt.datetime.fromisoformat(text)
        return stamp if stamp.tzinfo or zone is None else stamp.replace(tzinfo=ZoneInfo(zone)).astimezone(dt.UTC)
    return dt.datetime.fromtimestamp(number if abs(number) < 1e11 else number / 1000, dt.UTC)


def readings(path: Path, clock: Clock, *, zone: str | None = None, pick: str = "last") -> Days:
    """The days of a table of user, timestamp, context."""
    held: dict[tuple[str, dt.date, int], list[tuple[dt.datetime, int, str]]] = defaultdict(list)
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            stamp = parse(row["timestamp"], zone)
            held[(row["user"], *clock.locate(stamp))].append((stamp, number, row["context"]))
    return days({key: stands(sorted(those), pick) for key, those in held.items()}, clock)


def stands(ordered: list[tuple[dt.datetime, int, str]], pick: str) -> str:
    """The context that stands, of (time, row, context) in order."""
    if pick == "last":
        return ordered[-1][2]
    counts: dict[str, int] = defaultdict(int)
    latest = {context: place for place, (_, _, context) in enumerate(ordered)}
    for _, _, context in ordered:
        counts[context] += 1
    return max(counts, key=lambda context: (counts[context], latest[context]))


def minutes_of(start: dt.datetime, end: dt.datetime) -> Iterator[dt.datetime]:
    """Each whole minute that an interval of whole minutes overlaps, in UTC."""
    moment = start.astimezone(dt.UTC)
    yield moment
    while (moment := moment + dt.timedelta(minutes=1)) < end.astimezone(dt.UTC):
        yield moment


def intervals(rows: Iterable[Row], clock: Clock, *, pick: str = "last") -> Days:
    """The days of intervals of whole minutes, walked minute by minute."""
    last: dict[tuple[str, dt.date, int], dict[tuple[dt.datetime, int], str]] = defaultdict(dict)
    spent: dict[tuple[str, dt.date, int], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for number, (person, start, end, context) in enumerate(rows):
        assert end is not None
        began, offset = start.astimezone(dt.UTC), None
        for moment in minutes_of(start, end):
            ahead = moment.astimezone(ZoneInfo(clock.zone)).utcoffset()
            if offset is not None and ahead != offset:
                began = moment  # the clocks change: from here on it is a piece of its own
            offset = ahead
            key = (person, *clock.locate(moment))
            last[key][(began, number)] = context
            spent[key][context] += start < end
    chosen = {}
    for key, those in last.items():
        if pick == "last":
            chosen[key] = those[max(those)]
        else:
            latest = {context: order for order, context in sorted(those.items())}
            chosen[key] = max(latest, key=lambda context: (spent[key][context], latest[context]))
    return days(chosen, clock)


def days(chosen: dict[tuple[str, dt.date, int], str], clock: Clock) -> Days:
    """Days in order, dates without a reading left out."""
    table: dict[tuple[str, dt.date], list[str]] = {}
    for person, date, slot in chosen:
        table.setdefault((person, date), [UNKNOWN] * clock.slots)[slot] = chosen[(person, date, slot)]
    found: Days = {}
    for (person, date), contexts in sorted(table.items()):
        found.setdefault(person, []).append(Day(tuple(contexts), date=date, person=person))
    return found
