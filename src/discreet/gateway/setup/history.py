"""The history that somebody brings: one person's readings, from whatever the importers read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from discreet.data.importing import Imported

Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


@dataclass(frozen=True)
class History:
    """One person's readings, and what to say of how they were got."""

    readings: pl.DataFrame
    told: str

    @property
    def positions(self) -> int:
        """Readings with a position."""
        return int(self.readings["latitude"].count())


def imported(sources: Sequence[Path], person: str, zone: str, progress: Progress | None = None) -> Imported:
    """What the importers make of files, folders and archives."""
    from discreet.data.importing import import_logs

    return import_logs(sources, user=person, zone=zone, progress=progress)


def users_of(found: Imported) -> list[str]:
    """Whose readings they are, as the files say."""
    return [str(user) for user in found.readings["user"].unique(maintain_order=True).to_list()]


def whose(found: Imported, person: str) -> str | None:
    """Who in the files is this person; None where there are several, and none has the name."""
    users = users_of(found)
    return person if person in users else users[0] if len(users) == 1 else None


def history_of(found: Imported, user: str, person: str) -> History:
    """The readings of one user of the files, from now on called as the person is."""
    import polars as pl

    own = found.readings.filter(pl.col("user") == user).with_columns(user=pl.lit(person))
    left_out = sum(one.bad + one.left_out.total() for one in found.files)
    files = f"{len(found.files)} file{'s' if len(found.files) > 1 else ''}"
    return History(own, f"{files} read, {left_out} records left out (discreet import says which and why)")
