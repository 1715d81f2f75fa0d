"""Which columns of a table hold what is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from discreet.errors import DataError, did_you_mean
from discreet.outputs import MARK

Kind = Literal["text", "time", "degrees"]
"""What the values of a role are."""


@dataclass(frozen=True)
class ColumnNames:
    """The names of the columns that are read, by role; all others are left alone."""

    user: str | None = "user"
    timestamp: str = "timestamp"

    texts: ClassVar[tuple[str, ...]]
    """The roles that are text, in the order in which they are checked."""
    one_row: ClassVar[str]
    """What one row describes."""
    degrees: ClassVar[tuple[str, ...]] = ()
    """The roles that are degrees."""
    metres: ClassVar[tuple[str, ...]] = ()
    """The roles that are lengths; one that is no number is not known."""
    one_of: ClassVar[tuple[str, ...]] = ()
    """Roles of which a row may leave some empty, but not all."""
    numbers: ClassVar[bool] = False
    """Whether degrees and metres may come as numbers where all of them are, which is quicker than as text."""
    reserved: ClassVar[str | None] = None
    """What texts other than the user must not contain."""

    @property
    def times(self) -> tuple[str, ...]:
        """The roles that are timestamps."""
        return ("timestamp",)

    def names(self) -> dict[str, str]:
        """{role: column name} of the columns that are read."""
        user, *others = self.texts
        roles = (user, *self.times, *others, *self.degrees, *self.metres)
        return {role: name for role in roles if (name := getattr(self, role)) is not None}

    def kinds(self) -> dict[str, Kind]:
        """{role: what its values are} of the columns that are read."""

        def kind(role: str) -> Kind:
            if role in self.texts:
                return "text"
            return "degrees" if role in (*self.degrees, *self.metres) else "time"

        return {role: kind(role) for role in self.names()}

    def find(self, file: str, header: Sequence[str]) -> dict[str, int]:
        """{role: position in the header}; a name that is not there, or there twice, is an error."""
        found = {}
        for role, name in self.names().items():
            if header.count(name) > 1:
                raise DataError(f"{file}: column {name!r} occurs {header.count(name)} times; rename all but one")
            if name not in header:
                raise DataError(
                    f"{file}: there is no column {name!r} for the {role}; {self._remedy(role, name, header)}"
                )
            found[role] = header.index(name)
        return found

    def _remedy(self, role: str, name: str, header: Sequence[str]) -> str:
        there = ", ".join(repr(column) for column in header[:20]) + (", ..." if len(header) > 20 else "")
        hint = did_you_mean(name, header)
        near = f"{hint} " if hint.startswith("did") else ""
        if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
            near = "the fields seem not to be separated by commas: "
        alone = ", or pass user=None if the file is one person's" if role == "user" else ""
        return f"{near}the columns are {there}; name the right one with {type(self).__name__}({role}=...){alone}"


@dataclass(frozen=True)
class Columns(ColumnNames):
    """The columns of a table of readings.

    A table holds readings (`timestamp`) or intervals (`start` and `end`, which then stand in for `timestamp`).
    With `user=None` the whole file is one person, named after the file.
    """

    context: str = "context"
    start: str | None = None
    end: str | None = None

    texts = ("user", "context")
    one_row = "reading"

    def __post_init__(self) -> None:
        if (self.start is None) != (self.end is None):
            given, missing = ("start", "end") if self.end is None else ("end", "start")
            raise DataError(
                f"the column {given!r} is named but {missing!r} is not; name both for intervals, or neither"
            )

    @property
    def times(self) -> tuple[str, ...]:
        """The roles that are timestamps."""
        return ("timestamp",) if self.start is None else ("start", "end")


@dataclass(frozen=True)
class EventColumns(ColumnNames):
    """The columns of a table of events; with `user=None` the whole file is one person, named after the file."""

    location: str = "location"
    activity: str = "activity"

    texts = ("user", "activity", "location")
    one_row = "event"
    reserved = MARK


@dataclass(frozen=True)
class PositionColumns(ColumnNames):
    """The columns of a table of positions in degrees; with `user=None` the file is one person, named after it."""

    latitude: str = "lat"
    longitude: str = "lon"

    texts = ("user",)
    degrees = ("latitude", "longitude")
    one_row = "position"

    def among(self, header: Sequence[str]) -> PositionColumns:
        """The same for a table with these columns: where there is no `lat` or `lon`, their long names will do."""
        long = {"lat": "latitude", "lon": "longitude"}
        names: dict[str, Any] = {role: getattr(self, role) for role in self.degrees}
        names = {role: role if one not in header and long.get(one) in header else one for role, one in names.items()}
        return replace(self, **names)


@dataclass(frozen=True)
class SightingColumns(ColumnNames):
    """The columns of a table of sightings: positions in degrees, labels, or some of each, as `discreet import` writes.

    A row has a position or a label. Columns that are None are not read.
    """

    latitude: str | None = "latitude"
    longitude: str | None = "longitude"
    accuracy: str | None = "accuracy"
    context: str | None = "context"

    texts = ("user", "context")
    degrees = ("latitude", "longitude")
    metres = ("accuracy",)
    one_of = ("latitude", "longitude", "context")
    one_row = "position"

    def among(self, header: Sequence[str]) -> SightingColumns:
        """The same for a table with these columns: what it may lack, and lacks, is None; `lat` and `lon` will do."""
        short = {"latitude": "lat", "longitude": "lon"}
        names: dict[str, Any] = {}
        for role in (*self.degrees, *self.metres, "context"):
            name = getattr(self, role)
            if name not in header and short.get(name) in header:
                name = short[name]
            names[role] = name if name in header or role in self.degrees else None
        return replace(self, **names)
