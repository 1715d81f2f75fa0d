"""The history that somebody brings: one person's readings, from whatever the importers read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.deferred import pl
from discreet.listener import Progress
from discreet.numerics import IntArray
from discreet.places import Sightings
from discreet.places.zones import Zones, zones_of

if TYPE_CHECKING:
    from discreet.data.importing import Imported


@dataclass(frozen=True)
class History:
    """One person's readings, and what to say of how they were got."""

    readings: pl.DataFrame
    sentence: str

    @property
    def positions(self) -> int:
        """Readings with a position."""
        return int(self.readings["latitude"].count())

    @property
    def instants(self) -> IntArray:
        """When there was a reading, in microseconds."""
        return np.asarray(self.readings["timestamp"].dt.epoch("us").to_numpy(), dtype=np.int64)

    def zones(self) -> Zones | None:
        """Where the person's nights were spent, as far as positions say."""
        return zones_in(self.readings)


def zones_in(readings: pl.DataFrame) -> Zones | None:
    """Where nights were spent, of readings in order of time."""
    some = readings.drop_nulls(["latitude", "longitude"]).sort("timestamp")
    instants = np.asarray(some["timestamp"].dt.epoch("us").to_numpy(), dtype=np.int64)
    where = np.asarray(some.select("latitude", "longitude").to_numpy(), dtype=np.float64)
    return zones_of(Sightings(instants, where, np.full(len(instants), -1)))


def imported(sources: Sequence[Path], person: str, zone: str | None, progress: Progress | None = None) -> Imported:
    """What the importers make of files, folders and archives."""
    from discreet.data.importing import import_logs

    return import_logs(sources, user=person, zone=zone, progress=progress)


NOBODY = "(nobody said)"
"""Whose readings are where a file does not say so and the person is not known yet."""


def users_of(found: Imported) -> list[str]:
    """Whose readings they are, as the files say."""
    users = [str(user) for user in found.readings["user"].unique(maintain_order=True).to_list()]
    return [user for user in users if user != NOBODY]


def called(found: Imported, person: str) -> Imported:
    """The same, where readings that nobody is named in are this person's."""
    user = pl.col("user")
    return replace(found, readings=found.readings.with_columns(user=user.replace({NOBODY: person})))


def whose(found: Imported, person: str) -> str | None:
    """Who in the files is this person; None where there are several, and none has the name."""
    users = users_of(found)
    return person if person in users else users[0] if len(users) == 1 else None


def history_of(found: Imported, user: str, person: str) -> History:
    """The readings of one user of the files, from now on called as the person is."""
    own = found.readings.filter(pl.col("user") == user).with_columns(user=pl.lit(person))
    left_out = sum(one.bad + one.left_out.total() for one in found.files)
    files = f"{len(found.files)} file{'s' if len(found.files) > 1 else ''}"
    return History(own, f"{files} read, {left_out} records left out (discreet import says which and why)")
