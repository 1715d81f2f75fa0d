"""Argument types of compiled loops, declared without loading numba: an interpreted run never needs it."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """A number (no dimensions) or an array stored without gaps; one that is not written may be read-only."""

    dtype: str
    dimensions: int = 0
    written: bool = False


class RecordKind(NamedTuple):
    """A NamedTuple class, and the kinds of its fields."""

    of: type
    fields: tuple[Kind, ...]


Argument = Kind | RecordKind
Signature = tuple[Argument, ...]

FLOAT = Kind("float64")
INT = Kind("int64")
BOOL = Kind("bool")
FLOATS, FLOATS_2D, FLOATS_3D, FLOATS_4D = (Kind("float64", dimensions) for dimensions in (1, 2, 3, 4))
INTS, INTS_2D, INTS_3D = (Kind("int64", dimensions) for dimensions in (1, 2, 3))
BOOLS, BOOLS_2D = (Kind("bool", dimensions) for dimensions in (1, 2))


def written(kind: Kind) -> Kind:
    """The same array, for a loop that writes to it."""
    return kind._replace(written=True)
