"""Text files a block of whole lines at a time, and the fields of blocks that are plain throughout.

Machines write millions of lines that look alike. Where a block has nothing odd in it, its fields are columns at once;
otherwise whoever reads it goes line by line, and says the same.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from discreet.data.instants import with_instant
from discreet.deferred import pl

BLOCK = 1 << 18
"""Bytes read at a time."""

LONGEST_PLAIN = 1 << 12
"""Bytes of a line that is nothing out of the ordinary."""

FIRST_YEAR = -62_135_596_800_000_000
"""The instant of 0001-01-01: polars' calendar begins a year earlier than Python's."""


@dataclass(frozen=True)
class LineBlock:
    """Some whole lines, without the last newline."""

    first: int
    """The number of the first line, from 1."""
    offset: int
    """Of its first byte in the file, as long as no line before was cut."""
    content: bytes


def line_blocks(stream: BinaryIO, longest: int) -> Iterator[LineBlock]:
    """The lines of a file; of one that is longer than a block only the first `longest` bytes, at least, are kept."""
    first, offset, rest = 1, 0, b""
    for block in _blocks(stream):
        whole, newline, rest_of = (rest + block).rpartition(b"\n")
        if newline:
            yield LineBlock(first, offset, whole)
            first += whole.count(b"\n") + 1
            offset += len(whole) + 1
        rest = rest_of if len(rest_of) <= max(longest, BLOCK) else rest_of[:longest]
    if rest:
        yield LineBlock(first, offset, rest)


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of a file; where it breaks off, those before the break come before the error."""
    read = getattr(stream, "read1", stream.read)  # what is there, where `read` would lose it to the error behind it
    while True:
        parts: list[bytes] = []
        try:
            while (wanted := BLOCK - sum(map(len, parts))) > 0 and (some := read(wanted)):
                parts.append(some)
        except Exception:
            yield b"".join(parts)
            raise
        if not parts:
            return
        yield b"".join(parts)


def longest_line(content: bytes) -> int:
    """Bytes of the longest of some lines, without its newline."""
    ends = np.flatnonzero(np.frombuffer(content, dtype=np.uint8) == ord("\n"))
    return int(np.diff(ends, prepend=-1, append=len(content)).max()) - 1


def plain_fields(content: bytes, names: Sequence[str]) -> pl.DataFrame | None:
    """The fields of lines as text, parted by commas; None where a line has other fields, quotes or other line ends."""
    lines = content.count(b"\n") + 1
    returns = content.count(b"\r")
    odd = b'"' in content or content.startswith(b"\xef\xbb\xbf") or content.count(b",") != lines * (len(names) - 1)
    if odd or returns != content.count(b"\r\n") + content.endswith(b"\r"):
        return None
    if longest_line(content) > LONGEST_PLAIN:
        return None
    try:
        frame = pl.read_csv(
            io.BytesIO(content),
            has_header=False,
            quote_char=None,
            infer_schema=False,
        ).fill_null("")
    except pl.exceptions.PolarsError:
        return None
    if frame.shape != (lines, len(names)):
        return None
    frame.columns = list(names)
    return frame


def plain_instants(text: pl.Series) -> pl.Series:
    """Instants of `2026-11-16T08:00:00Z`, with a fraction of up to six digits or without; null for anything else."""
    shaped = text.str.contains(r"^\d{4}-\d\d-\d\dT[0-2]\d:[0-5]\d:[0-5]\d(?:\.\d{1,6})?Z$")
    if not shaped.all():
        text = text.to_frame().select(pl.when(shaped).then(pl.col(text.name))).to_series()
    read = with_instant(text.alias("time").to_frame(), "time", zone=None, epoch="seconds")["time_instant"]
    return (
        read.to_frame().select(pl.when(pl.col("time_instant") >= FIRST_YEAR).then(pl.col("time_instant"))).to_series()
    )
