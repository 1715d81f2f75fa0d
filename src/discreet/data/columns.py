"""Which columns of a table hold the readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import DataError, did_you_mean


@dataclass(frozen=True)
class Columns:
    """The names of the columns that are read; all others are left alone.

    A table holds readings (`timestamp`) or intervals (`start` and `end`, which then stand in for `timestamp`).
    With `user=None` the whole file is one person, named after the file.
    """

    user: str | None = "user"
    timestamp: str = "timestamp"
    context: str = "context"
    start: str | None = None
    end: str | None = None

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

    def names(self) -> dict[str, str]:
        """{role: column name} of the columns that are read."""
        all_names = {
            "user": self.user,
            "timestamp": self.timestamp,
            "start": self.start,
            "end": self.end,
            "context": self.context,
        }
        roles = ("user", *self.times, "context")
        return {role: name for role in roles if (name := all_names[role]) is not None}

    def find(self, path: Path, header: Sequence[str]) -> dict[str, int]:
        """{role: position in the header}; a name that is not there, or there twice, is an error."""
        found = {}
        for role, name in self.names().items():
            if header.count(name) > 1:
                raise DataError(f"{path}: column {name!r} occurs {header.count(name)} times; rename all but one")
            if name not in header:
                raise DataError(
                    f"{path}: there is no column {name!r} for the {role}; {self._remedy(role, name, header)}"
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
        return f"{near}the columns are {there}; name the right one with Columns({role}=...){alone}"
