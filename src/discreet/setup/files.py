"""The files of one person: what they are called, and how they get to their places."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from discreet.clock import Clock
from discreet.mechanisms.named import Spec

READ: Mapping[str, str | None] = {
    "user": "user",
    "time": "timestamp",
    "context": "context",
    "start": None,
    "end": None,
    "naive_zone": None,
    "separator": None,
    "time_format": None,
}
"""How imported readings are read, as a model's file keeps it beside the carry."""


@dataclass(frozen=True)
class Names:
    """The files of one person in a folder."""

    readings: str
    places: str
    page: str
    model: str
    policy: str

    @classmethod
    def of(cls, person: str, *, first: bool) -> Names:
        """Those of a folder's first person have plain names; those of others begin with theirs."""
        own = quote(person, safe=" @+,")
        return cls.called(f"{own}.model", "" if first else f"{own}-")

    @classmethod
    def called(cls, model: str, prefix: str) -> Names:
        """The names with a beginning."""
        return cls(
            f"{prefix}readings.parquet",
            f"{prefix}places.geojson",
            f"{prefix}places.html",
            model,
            f"{prefix}policy.toml",
        )


@dataclass(frozen=True)
class SetupResult:
    """What was decided of one person, whose files are made."""

    person: str
    clock: Clock
    carry: float
    """Seconds."""
    mechanism: Spec
    mapped: bool


def move(staging: Path, file: Path) -> list[Path]:
    """Every staged file to its place beside the settings, which come last: what they name is then there.

    So at any moment the folder has either the old settings or the new, and the files of whichever it has.
    """
    staged = sorted(staging.iterdir(), key=lambda path: (path.name == file.name, path.name))
    for path in staged:
        with path.open("rb+") as opened:
            os.fsync(opened.fileno())  # or a name could be there before its bytes are, if the machine stops
    return [path.replace(file.parent / path.name) for path in staged]
