"""Tables of positions and labels to sightings, and with a map of places to days."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from discreet.clock import Clock
from discreet.contexts import UNKNOWN, Day, merge_rare
from discreet.data.bad_rows import BadRows
from discreet.data.columns import SightingColumns
from discreet.data.formats import open_source
from discreet.data.instants import Epoch, stated_zone
from discreet.data.readings import Readings
from discreet.data.source import Source
from discreet.data.table import Codes, Table, positions_of
from discreet.deferred import pl
from discreet.errors import DataError
from discreet.frames import Rows
from discreet.listener import Progress
from discreet.places.dwell import day_contexts
from discreet.places.named import Places
from discreet.places.sightings import Sightings

ACCURACY = 200.0
"""Metres: a position that says it may be further off is left out, and counted. It would be in one place or the next."""


@dataclass(frozen=True)
class Seen:
    """The sightings of the people in a table, in the order in which they first appear there."""

    people: Mapping[str, Sightings]
    rows: int
    """Rows read, the bad ones included."""
    vague: int
    """Rows left out because their position is too inaccurate, and they have no label."""
    bad: BadRows = field(default_factory=BadRows)
    passed_over: int = 0


def read_sightings(
    source: Source | Rows,
    *,
    columns: SightingColumns = SightingColumns(),  # noqa: B008  frozen, so one for all calls is safe
    naive_zone: str | None = None,
    epoch: Epoch = "auto",
    accuracy: float = ACCURACY,
    skip_bad: bool = False,
    progress: Progress | None = None,
    zone: str | None = None,
) -> Seen:
    """The sightings of each person in a file or other `Source`: positions, labels, or some of each.

    Times and bad rows are as in `read_days`. A position whose accuracy is worse than `accuracy` metres is not known.
    Memory: about 60 bytes a row.
    """
    if not accuracy > 0:  # also catches NaN
        raise DataError(f"the worst accuracy is {accuracy} m; give a number above 0, such as 200")
    opened = open_source(source)
    table = Table(
        opened, columns.among(opened.header), zone=stated_zone(naive_zone, zone), epoch=epoch, skip_bad=skip_bad
    )
    people, labels = Codes(), Codes()
    parts, vague = [], 0
    for sound in table.batches(progress):
        part, left_out = _sightings(sound, people, labels, accuracy)
        parts.append(part)
        vague += left_out
    rows = pl.concat(parts).sort("person", "timestamp_instant", "order")
    if not rows.height:
        raise DataError(f"{opened.name}: all {vague} positions are less accurate than {accuracy:g} m; allow for more")
    bounds = np.searchsorted(rows["person"].to_numpy(), np.arange(len(people.names) + 1))
    instants, where, label = rows["timestamp_instant"].to_numpy(), positions_of(rows), rows["label"].to_numpy()
    names = tuple(labels.names)
    seen = {
        name: Sightings(instants[low:high], where[low:high], label[low:high], names)
        for name, low, high in zip(people.names, bounds[:-1], bounds[1:], strict=True)
        if high > low
    }
    return Seen(seen, table.rows, vague, table.bad, table.passed_over)


def _sightings(sound: pl.DataFrame, people: Codes, labels: Codes, accuracy: float) -> tuple[pl.DataFrame, int]:
    """The sightings of one batch, and how many say too little."""
    text = pl.col("context").str.strip_chars() if "context" in sound.columns else pl.lit(None, pl.String)
    sound = sound.with_columns(context=pl.when(text != "").then(text))
    if "accuracy_metres" in sound.columns:
        near = pl.col("accuracy_metres").fill_null(0.0).fill_nan(0.0) <= accuracy
        sound = sound.with_columns(pl.when(near).then(pl.col("latitude_degrees", "longitude_degrees")))
    useful = sound.filter(pl.col("latitude_degrees").is_not_null() | pl.col("context").is_not_null())
    stated = useful.filter(pl.col("context").is_not_null())
    labels.of(stated["context"])
    number = {name: k for k, name in enumerate(labels.names)}
    label = (
        useful["context"].replace_strict(list(number), list(number.values()), default=-1, return_dtype=pl.Int64)
        if number
        else pl.repeat(-1, useful.height, dtype=pl.Int64, eager=True)
    )
    wanted = ("person", "timestamp_instant", "order", "latitude_degrees", "longitude_degrees", "label")
    part = useful.with_columns(person=people.of(useful["user"]), label=label).select(wanted)
    return part.with_columns(pl.col("latitude_degrees", "longitude_degrees").fill_null(float("nan"))), (
        sound.height - useful.height
    )


def read_place_days(
    source: Source | Rows,
    clock: Clock,
    places: Places,
    *,
    columns: SightingColumns = SightingColumns(),  # noqa: B008  frozen, so one for all calls is safe
    naive_zone: str | None = None,
    epoch: Epoch = "auto",
    accuracy: float = ACCURACY,
    hold: float = 4 * 3600.0,
    merge_below: float = 0.0,
    keep: Iterable[str] = (),
    telling: Callable[[str], bool] | None = None,
    skip_bad: bool = False,
    progress: Progress | None = None,
    zone: str | None = None,
) -> Readings:
    """The days of each person in a table of positions: a context a slot, by the rule of `discreet.places.dwell`.

    `hold` is how long a position stands when none follows, in seconds; nothing is carried besides. As in `read_days`,
    dates without anything known are left out, and rare contexts are merged.
    """
    seen = read_sightings(
        source,
        columns=columns,
        naive_zone=stated_zone(naive_zone, zone),
        epoch=epoch,
        accuracy=accuracy,
        skip_bad=skip_bad,
        progress=progress,
    )
    kept = (keep,) if isinstance(keep, str) else tuple(keep)
    people: dict[str, list[Day]] = {}
    labels: dict[str, None] = {}
    for person, sightings in seen.people.items():
        told = day_contexts(sightings, places, clock, hold)
        days = [Day(tuple(row), date=date, person=person) for date, row in told if any(one != UNKNOWN for one in row)]
        labels |= dict.fromkeys(one for day in days for one in day.contexts if one != UNKNOWN)
        if days:
            people[person] = merge_rare(days, merge_below, keep=kept, telling=telling) if merge_below else days
    if not people:
        raise DataError(f"{source}: nothing is known of any slot; check positions and labels")
    return Readings(people, seen.rows, seen.bad, seen.passed_over, tuple(labels), seen.vague)
