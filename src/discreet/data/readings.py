"""Tables of readings to days."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from discreet.clock import Clock
from discreet.contexts import UNKNOWN, Day, carry_forward, merge_rare
from discreet.data.bad_rows import BadRows
from discreet.data.columns import Columns, PositionColumns
from discreet.data.instants import EPOCH, Epoch, stated_zone
from discreet.data.slots import Pick, Standing, of_intervals, of_readings
from discreet.data.source import Source
from discreet.data.table import Codes, Table, check_option, positions_of
from discreet.deferred import pl
from discreet.errors import DataError, DiscreetError
from discreet.frames import Rows, Tabular, frame_of, is_frame
from discreet.given import as_date, counted, words_for
from discreet.listener import Progress
from discreet.places import Cells

DAYS = ("person", "date", "slot", "context")
"""The columns of `Readings.to_frame`: a table of days, a row for each slot."""


@dataclass(frozen=True)
class Readings(Tabular):
    """The days of the people in a table, in the order in which they first appear there."""

    people: Mapping[str, list[Day]]
    rows: int
    """Rows read, the bad ones included."""
    bad: BadRows = field(default_factory=BadRows)
    """Rows skipped, with what was wrong with the first few."""
    passed_over: int = 0
    """Records of something else than readings, in logs that mix several kinds."""
    labels: tuple[str, ...] = ()
    """The contexts as the table has them, before rare ones are merged, in the order in which they first appear."""
    vague: int = 0
    """Positions left out because they are too inaccurate to say a place."""

    @property
    def days(self) -> list[Day]:
        """The days of all people, one person after another."""
        return [day for days in self.people.values() for day in days]

    def to_frame(self) -> pl.DataFrame:
        """A row for each slot: person, date, slot, context. `MarkovChain.fit` and `evaluate` take it as days."""
        rows = [(day.person, day.date, slot, context) for day in self.days for slot, context in enumerate(day.contexts)]
        return pl.DataFrame(
            rows, schema=dict(zip(DAYS, (pl.String, pl.Date, pl.Int64, pl.String), strict=True)), orient="row"
        )

    def __repr__(self) -> str:
        days = sum(len(own) for own in self.people.values())
        people = counted(len(self.people), "person", "people")
        return f"Readings({people}, {counted(days, 'day')}, {counted(self.rows, 'row')}, {len(self.bad)} bad)"


def read_days(
    source: Source | Rows,
    clock: Clock,
    *,
    columns: Columns | PositionColumns = Columns(),  # noqa: B008  frozen, so one for all calls is safe
    cells: Cells | None = None,
    naive_zone: str | dt.tzinfo | None = None,
    epoch: Epoch = "auto",
    time_format: str | None = None,
    pick: Pick = "last",
    carry: int = 0,
    backward: bool = False,
    merge_below: float = 0.0,
    keep: Iterable[str] = (),
    telling: Callable[[str], bool] | None = None,
    empty_days: bool = False,
    skip_bad: bool = False,
    progress: Progress | None = None,
    zone: str | dt.tzinfo | None = None,
) -> Readings:
    """The days of each person in readings or intervals: a file (`formats.FORMATS`) or other `Source`.

    **Timestamps** are numbers (epoch seconds; from 1e11 on milliseconds, unless `epoch` says which), ISO 8601 with an
    offset or Z, or ISO 8601 without one, which `naive_zone` must then place: an IANA name, often the clock's own. A
    time that the zone's clocks show twice is taken as the earlier. Years 1970 to 2099. `zone` is the older word for
    `naive_zone`. Text of another form is read by `time_format`, in the codes of strptime ("%m/%d/%Y %H:%M");
    `dates.form_of` finds it where that is certain.

    **Positions**: with `PositionColumns` and `cells` (`discreet.places`), a context is the cell of a position.

    **Slots** are those of `Clock.locate`. Of several readings in a slot the `last` in time stands, also across an hour
    that is repeated when clocks go back, or the most frequent (`modal`), the later of two equally frequent; of readings
    at one instant the one further down in the file. An interval gives its context to every slot that it overlaps; there
    `last` is the interval that starts last, and `modal` the context that fills most of the slot.

    **Days** run from a person's first to last date with a reading. Slots without a reading are `unknown`. Dates without
    any reading are left out, because a phone that is off for a week says nothing of the person's days; `empty_days`
    keeps those in between as days of `unknown`. Then readings are carried forward for `carry` slots, `backward` to the
    start of the day too. A date without a reading for which one stands all day is a day like others: who wrote nothing
    because nothing changed was there. Contexts below the share `merge_below` of a person's slots become `other`, except
    those in `keep` and those of which `telling` is true (see `carry_forward` and `merge_rare`).

    **Memory** is bounded by the answer, not by the file: some 250 MB to work in (polars itself, and a batch of 4 MiB of
    CSV or 400,000 rows of Parquet; the row groups that polars decodes come on top), about 100 bytes for each person and
    slot with a reading (for `modal`: each distinct context there), then 8 bytes a slot of the days returned. How many
    readings a slot has does not matter.

    **Bad rows** are a DataError that names file, line, column and value, or with `skip_bad` are counted in `.bad`. A
    timestamp whose zone is nowhere stated is always an error: to skip those rows would be to skip the file.
    """
    kept = (keep,) if isinstance(keep, str) else tuple(keep)
    check_option("pick", pick, ("last", "modal"))
    if not isinstance(clock, Clock):
        raise DataError(f"the clock is {words_for(clock)}; give Clock(slots=48, zone='Europe/Paris')")
    _filled([], carry, backward, merge_below, kept, telling)  # a wrong option is told now, not after an hour of reading
    if isinstance(columns, PositionColumns) != (cells is not None):
        missing = "cells=, such as discreet.places.Grid" if cells is None else "columns=PositionColumns(...)"
        raise DataError(f"contexts from positions need both columns and cells; pass {missing} too")
    table = Table(source, columns, zone=stated_zone(naive_zone, zone), epoch=epoch, skip_bad=skip_bad, form=time_format)
    people, contexts, standing = Codes(), Codes(), Standing(pick)
    spread = of_intervals if "start" in columns.times else of_readings
    for sound in table.batches(progress):
        if cells is not None:
            sound = sound.with_columns(context=pl.Series(cells.labels(positions_of(sound)), dtype=pl.String))
        coded = sound.with_columns(person=people.of(sound["user"]), context=contexts.of(sound["context"]))
        for slots in spread(coded, clock):
            standing.add(slots)
    quiet = 0 if empty_days or carry < clock.slots else carry
    days = _days(standing.result(), people.names, contexts.names, clock, quiet, empty_days=empty_days)
    return Readings(
        {person: _filled(own, carry, backward, merge_below, kept, telling) for person, own in days.items()},
        table.rows,
        table.bad,
        table.passed_over,
        tuple(contexts.names),
    )


def days_of(given: Readings | Source | Rows, clock: Clock | None, who: str) -> list[Day]:
    """Days from whatever holds them: `Readings`, a table of days (`DAYS`), or rows that `read_days` reads.

    Timestamps that do not say their time zone are on the wall clock of `clock`, which readings need.
    """
    if isinstance(given, Readings):
        return given.days
    if is_frame(given) and set(DAYS[1:]) <= set((frame := frame_of(given)).columns):
        return _days_in(frame, who)
    if clock is None:
        give = "give" if who.endswith("fit") else "learn the model with"
        raise DiscreetError(
            f"{who}: these are readings, and no clock says how days are cut; {give} clock=Clock(slots=48, "
            "zone='Europe/Paris'), or give days: read_days(table, clock).days"
        )
    return read_days(given, clock, naive_zone=clock.zone).days


def _days_in(frame: pl.DataFrame, who: str) -> list[Day]:
    """The days of a table with a row for each slot, people and dates in the order in which they first appear."""
    keys = [name for name in DAYS[:2] if name in frame.columns]
    days = []
    for key, rows in frame.group_by(keys, maintain_order=True):
        *person, date = key
        own = rows.sort("slot")
        if own["slot"].to_list() != list(range(own.height)):
            raise DiscreetError(
                f"{who}: {date} of {person[0] if person else 'the person'} has slots {own['slot'].to_list()[:5]}...; "
                "give each slot once, counted from 0"
            )
        days.append(Day(own["context"].to_list(), as_date(date), str(person[0]) if person and person[0] else None))
    return days


def _days(
    slots: pl.DataFrame, people: list[str], contexts: list[str], clock: Clock, quiet: int, *, empty_days: bool
) -> dict[str, list[Day]]:
    """The days of each person from the contexts that stand, sorted by person and slot."""
    labels = np.array([*contexts, UNKNOWN], dtype=object)
    person, slot, context = (slots[name].to_numpy() for name in ("person", "slot", "context"))
    bounds = np.searchsorted(person, np.arange(len(people) + 1))
    return {
        name: _own_days(name, slot[low:high], context[low:high], labels, clock.slots, quiet, empty_days=empty_days)
        for name, low, high in zip(people, bounds[:-1], bounds[1:], strict=True)
    }


def _own_days(
    person: str,
    slot: npt.NDArray[np.int64],
    context: npt.NDArray[np.uint32],
    labels: npt.NDArray[np.object_],
    slots: int,
    quiet: int,
    *,
    empty_days: bool,
) -> list[Day]:
    """One person's days; dates on which nothing was read are among them where a reading stands all day (`quiet`)."""
    dates = slot // slots
    shown = np.arange(dates[0], dates[-1] + 1) if empty_days else np.unique(dates)
    if quiet:
        shown = np.union1d(shown, _quiet_dates(slot[labels[context] != UNKNOWN], slots, quiet))
    table = np.full((len(shown), slots), len(labels) - 1, dtype=np.int64)
    table[np.searchsorted(shown, dates), slot % slots] = context
    return [
        Day(tuple(labels[row]), date=EPOCH.date() + dt.timedelta(days=int(date)), person=person)
        for date, row in zip(shown, table, strict=True)
    ]


def _quiet_dates(slot: npt.NDArray[np.int64], slots: int, carry: int) -> npt.NDArray[np.int64]:
    """The dates between two readings, without any, to whose last slot the earlier one is carried."""
    first = slot[:-1] // slots + 1
    count = np.maximum(np.minimum(slot[1:] // slots, (slot[:-1] + carry + 1) // slots) - first, 0)
    before = np.repeat(np.cumsum(count) - count, count)
    dates: npt.NDArray[np.int64] = np.repeat(first, count) + np.arange(int(count.sum())) - before
    return dates


def _filled(
    days: list[Day],
    carry: int,
    backward: bool,
    merge_below: float,
    keep: tuple[str, ...],
    telling: Callable[[str], bool] | None,
) -> list[Day]:
    if carry != 0 or backward:
        days = carry_forward(days, carry, backward=backward)
    if merge_below != 0:
        days = merge_rare(days, merge_below, keep=keep, telling=telling)
    return days
