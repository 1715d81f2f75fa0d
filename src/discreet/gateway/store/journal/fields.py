"""A row as a database keeps it: the same fields in every one."""

from __future__ import annotations

import datetime as dt
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from discreet.gateway.store.database import DAMAGE, is_damaged
from discreet.gateway.store.journal.base import Head, JournalError, JournalRow, output_of

FIELDS = "person, date, slot, ends, stream, position, output, kernel, likelihood, chain"

COLUMNS = 10

PAGE = 1000

T = TypeVar("T")


class JournalTables(NamedTuple):
    """All of a journal, as another database takes it: the rows may be read as they are written."""

    streams: Iterable[tuple[Any, ...]]
    rows: Iterable[tuple[Any, ...]]
    checkpoints: Iterable[tuple[Any, ...]]


def batched(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """A page of them at a time."""
    left = iter(rows)
    while some := list(islice(left, PAGE)):
        yield some


def fields(row: JournalRow) -> tuple[object, ...]:
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


def rows_of(found: Iterable[tuple[Any, ...]], where: object) -> list[JournalRow]:
    """The rows of their fields; bits that are not as they were written are an error that names where they stand."""
    return _read(_row, found, where)


def heads_of(found: Iterable[tuple[Any, ...]], where: object) -> list[Head]:
    """The heads of (stream, person, start, first, why), likewise."""
    return _read(_head, found, where)


def _read(one_of: Callable[[tuple[Any, ...]], T], found: Iterable[tuple[Any, ...]], where: object) -> list[T]:
    try:
        return [one_of(one) for one in found]
    except DAMAGE as error:
        raise JournalError(is_damaged(where, error)) from error


def _row(found: tuple[Any, ...]) -> JournalRow:
    person, date, slot, ends, stream, position, output, kernel, column, chain = found
    values = tuple(np.frombuffer(zlib.decompress(column), dtype="<f8").tolist())
    return JournalRow(
        person, dt.date.fromisoformat(date), slot, ends, stream, position, output_of(output), kernel, values, chain
    )


def _head(found: tuple[Any, ...]) -> Head:
    stream, person, start, first, why = found
    return Head(stream, person, dt.date.fromisoformat(start), first, why)
