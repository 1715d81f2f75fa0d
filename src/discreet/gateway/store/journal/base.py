"""What a journal keeps and promises, whichever database is below.

A row is written once and never changed. The key (person, date, slot) forbids a second decision for a slot, whatever the
wall clock does. Rows hold what everybody may know, and beside it what the own side needs to go on: the likelihood that
the output had (so that a belief outlives a build of the program), a link of the chain, and now and then a checkpoint.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from discreet.gateway.store.database import JournalError as JournalError
from discreet.numerics import FloatArray
from discreet.outputs import Output, from_wire, to_wire

Key = tuple[dt.date, int]
"""A date and a slot of it."""


@dataclass(frozen=True)
class Head:
    """One stream: a run of slots of one person under one promise. A break in the promise starts another."""

    stream: int
    person: str
    start: dt.date
    first: int
    """The slot of `start` at which the stream begins."""
    why: str
    """Why it began, in words: the first, or what broke the one before."""


@dataclass(frozen=True)
class JournalRow:
    """A decided slot."""

    person: str
    date: dt.date
    slot: int
    ends: int
    """When the slot ends, in seconds since 1970."""
    stream: int
    position: int
    """The slot's number in the stream's mechanism, counted on over midnight."""
    output: Output
    kernel: str
    """The kernel's digest; empty for a skip."""
    column: tuple[float, ...]
    """The output's likelihood over private states; empty for a skip."""
    chain: bytes = b""

    @property
    def key(self) -> Key:
        """Identity, within a person."""
        return self.date, self.slot

    @property
    def wire(self) -> str:
        """The output as JSON, the same bytes every time."""
        return json.dumps(to_wire(self.output), ensure_ascii=False, separators=(",", ":"), sort_keys=True)

    def likelihood(self) -> FloatArray | None:
        """The column as an array; None for a skip."""
        return np.array(self.column) if self.column else None

    def linked(self, key: bytes, before: bytes) -> JournalRow:
        """The row with its link: an HMAC with the owner's key over this row and the link before.

        A bare hash would let who sees a coarse view guess the fine one and check the guess.
        """
        fields = (
            self.person,
            self.date.isoformat(),
            self.slot,
            self.ends,
            self.stream,
            self.position,
            self.wire,
            self.kernel,
            [value.hex() for value in self.column],
        )
        message = before + json.dumps(fields, ensure_ascii=False).encode()
        return JournalRow(**{**self.__dict__, "chain": hmac.new(key, message, hashlib.sha256).digest()})


def output_of(text: str) -> Output:
    """The output of a row's wire form."""
    return from_wire(json.loads(text))


class Journal(Protocol):
    """Where decisions are written. Every write is on disk when the call returns, or the call raises."""

    def begin(self, person: str, start: dt.date, first: int, why: str, checkpoint: str = "") -> Head:
        """Begin a stream, with the checkpoint of its beginning: it says which model and policy the stream is of."""

    def head(self, person: str) -> Head | None:
        """The person's latest stream."""

    def heads(self, person: str) -> list[Head]:
        """All streams of a person, the first first."""

    def append(self, rows: Sequence[JournalRow], checkpoints: Sequence[tuple[int, int, str]] = ()) -> None:
        """Write rows, and checkpoints as (stream, position, text), in one transaction: all of them or none."""

    def set_aside(self, person: str, after: int) -> None:
        """Take the rows of a person out that end after an instant, with the checkpoints that rest on them.

        Only ever before a new stream: a clock that was ahead wrote them (`restored`).
        """

    def last(self, person: str) -> JournalRow | None:
        """The person's last decided slot."""

    def latest(self, person: str, count: int) -> list[JournalRow]:
        """The person's last decided slots, at most so many, in order."""

    def of_stream(self, stream: int, after: int = -1) -> list[JournalRow]:
        """The rows of a stream with a position above `after`, in order."""

    def checkpoints(self, stream: int) -> list[tuple[int, str]]:
        """The checkpoints of a stream that are kept, the last first: after how many slots, and the text."""

    def page(
        self,
        person: str,
        *,
        after: Key | None = None,
        until: Key | None = None,
        limit: int = 1000,
    ) -> list[JournalRow]:
        """Rows after one key up to another and including it, in order, at most `limit`."""

    def all_rows(self, person: str) -> Iterator[JournalRow]:
        """Every row of a person, in order."""

    def people(self) -> list[str]:
        """Everybody of whom something was decided."""

    def mark(self) -> str | None:
        """What a backup says of itself; None for a journal that has been the one in use all the time."""

    def set_mark(self, text: str | None) -> None:
        """Mark the journal, or take the mark away."""

    def backup(self, path: Path, mark: str) -> None:
        """Write a consistent and marked copy to a new SQLite file, while running."""

    def close(self) -> None:
        """Let go of the database."""


CHECKPOINTS_KEPT = 8
"""Checkpoints of a stream that are kept. The last one may be damaged, or a slot ahead of the private state; the
others are the mornings of the last week, from which the owner can be told why something was withheld."""


def broken_link(rows: Iterator[JournalRow], key: bytes) -> JournalRow | None:
    """The first row whose link does not fit the rows before it, or None where the chain holds."""
    before = b""
    for row in rows:
        if not hmac.compare_digest(row.linked(key, before).chain, row.chain):
            return row
        before = row.chain
    return None
