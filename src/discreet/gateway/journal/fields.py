"""A row as a database keeps it: the same fields in every one."""

from __future__ import annotations

import datetime as dt
import zlib
from typing import Any

import numpy as np

from discreet.gateway.journal.base import Head, Row, output_of

FIELDS = "person, date, slot, ends, stream, position, output, kernel, likelihood, chain"

COLUMNS = 10

PAGE = 1000


def fields(row: Row) -> tuple[object, ...]:
    """The row's fields, in the order of FIELDS."""
    return (
        row.person,
        row.date.isoformat(),
        row.slot,
        row.ends,
        row.stream,
        row.position,
        row.wire,
        row.kernel,
        zlib.compress(np.array(row.column, dtype="<f8").tobytes(), 1),
        row.chain,
    )


def row_of(found: tuple[Any, ...]) -> Row:
    """The row of its fields."""
    person, date, slot, ends, stream, position, output, kernel, column, chain = found
    values = tuple(np.frombuffer(zlib.decompress(column), dtype="<f8").tolist())
    return Row(
        person, dt.date.fromisoformat(date), slot, ends, stream, position, output_of(output), kernel, values, chain
    )


def head_of(found: tuple[Any, ...]) -> Head:
    """The head of (stream, person, start, first, why)."""
    stream, person, start, first, why = found
    return Head(stream, person, dt.date.fromisoformat(start), first, why)
