"""Habits learned anew for somebody who is served, as work in a process of its own (`setup.job`): nothing changes yet.

What was imported and what the phone has sent since are put together and cut into days by the map as it is drawn. The
habits of these days are held against the last of them, and the change that they would be is tried on the stream.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.adversary.known import Known
from discreet.choosing.kept_labels import worth_keeping
from discreet.choosing.odds import odds
from discreet.clock import Clock, duration_text
from discreet.contexts import UNKNOWN, Day
from discreet.data import read_days, read_place_days
from discreet.data.importing import write_readings
from discreet.deferred import pl
from discreet.errors import DataError
from discreet.gateway.owner.trial import Trial
from discreet.gateway.setup.work import Report
from discreet.gateway.store.own_store import Reading
from discreet.models.store import save
from discreet.places.named import Places
from discreet.setup import habits
from discreet.setup.files import READ

MODEL, READINGS = "habits.model", "readings.parquet"

FEWEST = 7
"""Days below which no routine is learned: each day of the week once."""


def columns() -> dict[str, pl.DataType]:
    """Of the table that readings are learned from."""
    return {
        "user": pl.String(),
        "timestamp": pl.Datetime("us", "UTC"),
        "latitude": pl.Float64(),
        "longitude": pl.Float64(),
        "accuracy": pl.Float64(),
        "context": pl.String(),
    }


@dataclass(frozen=True)
class HistoryOrder:
    """What somebody's days are made from: what was imported, and what came since."""

    person: str
    clock: Clock
    carry: float
    """Seconds."""
    past: Path | None
    """What was imported, where it is kept."""
    recent: tuple[Reading, ...]
    since: dt.date | None
    """From when on days count; None takes all there are."""
    until: dt.date
    """The first date that does not count: by default the first that is not over."""
    places: Places
    """The map as it is drawn; empty where sources say labels."""


@dataclass(frozen=True)
class RelearnOrder(HistoryOrder):
    """All that habits are learned from."""

    keep: tuple[str, ...]
    """Contexts that are part of the habits however rare they are."""
    trial: Trial


def relearned(out: Path, report: Report, part: object, order: RelearnOrder) -> dict[str, Any]:
    """The habits in `out`, and what is said of them before they are announced."""
    report("reading", 0, 0)
    days = days_of(order, out / READINGS)
    if len(days) < FEWEST:
        raise DataError(
            f"{order.person}: there are {len(days)} days to learn from; learn again when there are {FEWEST} or more"
        )
    report("learning", 0, 0)
    before, policy = order.trial.history[-1].routine, order.trial.policy
    keep = sorted({*worth_keeping(order.places), *order.keep, *policy.contexts})
    routine = habits.learned(days, order.clock, keep)
    report("testing", 0, 0)
    truth = habits.truth_of_days(days, order.clock, keep, policy)
    report("trying", 0, 0)
    date = replace(order.trial, routine=routine).date()
    save(out / MODEL, routine, truth.summary(), {**READ, "carry": duration_text(order.carry)})
    was, will = odds(before, policy), odds(routine, policy)
    return {
        "days": len(days),
        "few": len(days) < habits.FEWEST_DAYS,
        "first": str(days[0].date),
        "last": str(days[-1].date),
        "same": routine.fingerprint == before.fingerprint,
        "new": sorted(set(routine.contexts) - set(before.contexts)),
        "gone": sorted(set(before.contexts) - set(routine.contexts)),
        "truth": {"holds": truth.holds, "words": truth.untested or truth.figure},
        "secrets": [
            {"name": name, "before": _odds(was.get(name)), "after": _odds(known)} for name, known in will.items()
        ],
        "from": date.isoformat(),
    }


def _odds(known: Known | None) -> dict[str, float] | None:
    return None if known is None else {"prior": known.highest, "limit": known.limit}


def days_of(order: HistoryOrder, file: Path) -> list[Day]:
    """The days that are over, by the map as it is drawn; `file` is written on the way, and gone at the end.

    A day that is known by half at most is left out at either end: the phone had just come, or readings of its first
    hours are erased by now.
    """
    readings = together(order)
    if readings.is_empty():
        raise DataError(
            f"{order.person}: nothing was imported and no phone has sent anything; there is nothing to learn"
        )
    write_readings(file, readings)
    try:
        if order.places.places:
            found = read_place_days(file, order.clock, order.places, hold=order.carry)
        else:
            found = read_days(file, order.clock, carry=int(order.carry // order.clock.slot_seconds))
    finally:
        file.unlink(missing_ok=True)
    (days,) = found.people.values()
    return _whole([day for day in days if _counts(day, order)])


def together(order: HistoryOrder) -> pl.DataFrame:
    """What was imported and what came since, in order of time."""
    recent = pl.DataFrame(
        {
            "user": [order.person] * len(order.recent),
            "timestamp": [one.instant for one in order.recent],
            "latitude": [None if one.position is None else one.position[0] for one in order.recent],
            "longitude": [None if one.position is None else one.position[1] for one in order.recent],
            "accuracy": [one.accuracy for one in order.recent],
            "context": [one.label for one in order.recent],
        },
        schema={**columns(), "timestamp": pl.Int64()},
    ).with_columns(pl.col("timestamp").cast(columns()["timestamp"]))
    if order.past is None or not order.past.is_file():
        return recent
    past = pl.read_parquet(order.past)
    own = [
        pl.col(name).cast(kind) if name in past.columns else pl.lit(None, kind).alias(name)
        for name, kind in columns().items()
    ]
    before = past.select(own).with_columns(user=pl.lit(order.person))
    if not recent.is_empty():  # what a phone's own log and the phone said alike counts once
        before = before.filter(pl.col("timestamp") < recent["timestamp"].min())
    return pl.concat([before, recent])


def _counts(day: Day, order: HistoryOrder) -> bool:
    assert day.date is not None  # readings have dates
    return day.date < order.until and (order.since is None or day.date >= order.since)


def _whole(days: Sequence[Day]) -> list[Day]:
    found = list(days)
    while found and _sparse(found[0]):
        del found[0]
    while found and _sparse(found[-1]):
        del found[-1]
    return found


def _sparse(day: Day) -> bool:
    return 2 * day.contexts.count(UNKNOWN) > len(day.contexts)
