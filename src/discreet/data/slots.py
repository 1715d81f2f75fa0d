"""Readings and intervals to slots, and which reading stands in a slot.

A slot is one number here: days since 1970 times the slots of a day, plus the slot. Frames of slots have the columns
person and context (codes), slot, weight (readings, or microseconds), when (an instant) and order (of the rows).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from discreet.clock import Clock
from discreet.data.instants import SECOND, Zone, zone_named
from discreet.deferred import pl

Pick = Literal["last", "modal"]

SPREAD = 500_000
"""Slots that a batch of intervals is spread over at a time."""

UNMERGED = 1_000_000
"""Rows that are put aside before they are merged into the slots so far."""

SLOT_COLUMNS = ("person", "slot", "context", "weight", "when", "order")


def slot_of(clock: Clock, wall: pl.Expr) -> pl.Expr:
    """The slot of a wall-clock time: `Clock.locate`, a column at a time."""
    return (wall - clock.cut_seconds * SECOND) // (clock.slot_seconds * SECOND)


def of_readings(frame: pl.DataFrame, clock: Clock) -> Iterator[pl.DataFrame]:
    """The slot of each reading; each weighs the same."""
    when = pl.col("timestamp_instant")
    slot = slot_of(clock, zone_named(clock.zone).wall(when))
    yield frame.with_columns(slot=slot, weight=pl.lit(1, pl.Int64), when=when).select(SLOT_COLUMNS)


def of_intervals(frame: pl.DataFrame, clock: Clock) -> Iterator[pl.DataFrame]:
    """Every slot that each interval overlaps, weighed by the time it spends there, some rows at a time.

    An interval holds its start and not its end; one that ends as it starts is a reading. It is cut where the clocks
    change, so that within a piece the wall clock runs evenly; a piece counts from when it starts.
    """
    zone = zone_named(clock.zone)
    length, cut = clock.slot_seconds * SECOND, clock.cut_seconds * SECOND
    start, end, slot = pl.col("wall"), pl.col("wall") + pl.col("stay"), pl.col("slot")
    pieces = _pieces(frame, zone).with_columns(
        wall=zone.wall(pl.col("start_instant")), stay=pl.col("end_instant") - pl.col("start_instant")
    )
    pieces = pieces.with_columns(low=slot_of(clock, start), high=slot_of(clock, pl.max_horizontal(end - 1, start)) + 1)
    shares = pieces.with_columns(share=(pl.col("high") - pl.col("low")).cum_sum() // SPREAD)
    for share in shares.partition_by("share", maintain_order=True):
        spread = share.with_columns(slot=pl.int_ranges("low", "high")).explode("slot")
        inside = pl.min_horizontal(end, (slot + 1) * length + cut) - pl.max_horizontal(start, slot * length + cut)
        yield spread.with_columns(weight=inside, when=pl.col("start_instant")).select(SLOT_COLUMNS)


def _pieces(frame: pl.DataFrame, zone: Zone) -> pl.DataFrame:
    """The intervals, cut at each change of the clocks that they span."""
    low, high = frame["start_instant"].min(), frame["end_instant"].max()
    for change in zone.changes.filter(zone.changes.is_between(low, high, closed="none")):
        spans = (pl.col("start_instant") < change) & (pl.col("end_instant") > change)
        spanning = frame.filter(spans)
        if spanning.height:
            before = spanning.with_columns(end_instant=pl.lit(change, pl.Int64))
            after = spanning.with_columns(start_instant=pl.lit(change, pl.Int64))
            frame = pl.concat([frame.filter(~spans), before, after])
    return frame


class Standing:
    """The readings that stand, merged as they come.

    Holds a row a person and slot (`last`), or a person, slot and distinct context (`modal`), and at most as many rows
    again, or `UNMERGED` if that is more, that wait to be merged: however many readings a slot has.
    """

    def __init__(self, pick: Pick) -> None:
        self._keys = ["person", "slot"] if pick == "last" else ["person", "slot", "context"]
        self._order = ["when", "order"] if pick == "last" else ["weight", "when", "order"]
        self._merged: pl.DataFrame | None = None
        self._waiting: list[pl.DataFrame] = []
        self._rows = 0

    def add(self, slots: pl.DataFrame) -> None:
        """Take some more slots."""
        if not slots.height:
            return
        waiting = self._reduced(slots)
        self._waiting.append(waiting)
        self._rows += waiting.height
        if self._rows > max(UNMERGED, 0 if self._merged is None else self._merged.height):
            self._merge()

    def _merge(self) -> None:
        so_far = [] if self._merged is None else [self._merged]
        self._merged = self._reduced(pl.concat([*so_far, *self._waiting]))
        self._waiting, self._rows = [], 0

    def _reduced(self, slots: pl.DataFrame) -> pl.DataFrame:
        """A row a key: the last in time, then in the file, with the weight of all."""
        ordered = slots.sort("when", "order")
        others = [name for name in ("context", "when", "order") if name not in self._keys]
        totals = ordered.group_by(self._keys).agg(pl.col("weight").sum(), *(pl.col(name).last() for name in others))
        return totals.select(SLOT_COLUMNS)

    def result(self) -> pl.DataFrame:
        """One context a person and slot, in their order."""
        if self._waiting:
            self._merge()
        if self._merged is None:
            return pl.DataFrame(schema={"person": pl.UInt32, "slot": pl.Int64, "context": pl.UInt32})
        best = self._merged.sort(self._order).unique(["person", "slot"], keep="last", maintain_order=False)
        return best.select("person", "slot", "context").sort("person", "slot")
