"""The objects of a JSON file one after another, in memory that does not grow with the file.

A file of gigabytes is one document, which parsers take whole. So brackets are matched here, a block of bytes at a time,
and a parser is given one object at a time, or a block of them of which none is damaged: that is as quick as the parser,
and what is lost is one object, not the file. orjson (the extra `[import]`) is used where it is installed, Python's own
parser elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from discreet.data.source import Fault

BLOCK = 1 << 20
"""Bytes read at a time."""

LONGEST = 64 << 20
"""An object of more bytes is none: a bracket or a quote was left open."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

QUOTE, BACKSLASH, OPEN_OBJECT, OPEN_ARRAY, CLOSE_OBJECT, CLOSE_ARRAY = range(1, 7)
_MARKS = bytes(b'"\\{[}]'.find(byte) + 1 for byte in range(256))
"""The kind of each byte, 0 for those that are none of these."""

Offsets = npt.NDArray[np.int64]


def _strict(text: bytes | str) -> Any:
    """Python's own parser without its additions to JSON."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def _best() -> Callable[[bytes | str], Any]:
    try:
        import orjson
    except ImportError:
        return _strict
    loads: Callable[[bytes | str], Any] = orjson.loads
    return loads


loads = _best()
"""The value of a JSON text, or a ValueError."""


def parsed_objects(stream: BinaryIO, level: int) -> Iterator[tuple[int, dict[str, Any] | Fault]]:
    """The objects that stand in arrays at a depth, numbered from 1, or what is wrong with each.

    Level 0 are objects beside each other, 1 those of an array, 2 those of an array in an object or an array. A list
    where an object should be is a fault; numbers and words there are nobody's records.
    """
    first = 1
    for texts in _objects(stream, level):
        if isinstance(texts, Fault):
            yield first, replace(texts, number=first)
            return
        for number, text in enumerate(texts, first):
            yield number, _parsed(number, text)
        first += len(texts)


def parsed_blocks(stream: BinaryIO, level: int) -> Iterator[tuple[int, list[dict[str, Any] | Fault]]]:
    """The same, those of a block at a time, with the number of the first.

    That is quicker for who makes columns of them; who takes one after another had better have each parsed when it is
    its turn: Python's collector of garbage looks through a thousand objects that are held, again and again.
    """
    first = 1
    for texts in _objects(stream, level):
        if isinstance(texts, Fault):
            yield first, [replace(texts, number=first)]
            return
        yield first, _together(texts) or [_parsed(number, text) for number, text in enumerate(texts, first)]
        first += len(texts)


def _together(texts: list[bytes]) -> list[dict[str, Any] | Fault] | None:
    """Objects parsed in one call; None where one of them is no JSON or no object.

    The brackets of each text match, so that where the whole is JSON, each text is one value of it.
    """
    try:
        said: list[Any] = loads(b"[" + b",".join(texts) + b"]")
    except (ValueError, RecursionError):
        return None
    return said if set(map(type, said)) <= {dict} else None


def _parsed(number: int, text: bytes) -> dict[str, Any] | Fault:
    if text.startswith(b"["):
        return Fault(number, None, _start(text), "is a list where an object should be")
    try:
        said: dict[str, Any] = loads(text)
    except (ValueError, RecursionError):
        return Fault(number, None, _start(text), "is not JSON in UTF-8")
    return said


def _start(text: bytes) -> str:
    return text[:80].decode(errors="replace")


def depth_of(start: bytes, field: bytes) -> int:
    """How many brackets are open where a field first stands, in the first bytes of a document."""
    _, kind, _ = _brackets(start[: max(start.find(field), 0)])
    return int(np.where(kind <= OPEN_ARRAY, 1, -1).sum())


@dataclass
class _Place:
    """Between two blocks: how deep, and whether the innermost container above the level is an array."""

    depth: int = 0
    in_array: bool = False


def _objects(stream: BinaryIO, level: int) -> Iterator[list[bytes] | Fault]:
    """The texts of the objects, a block at a time; a fault is the last."""
    place, data = _Place(in_array=level == 0), b""
    first = True
    while more := stream.read(BLOCK):
        data += more
        if first:
            data, first = data.removeprefix(BYTE_ORDER_MARK), False
        starts, ends, used = _matched(data, level, place)
        yield [data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        data = data[used:]
        if place.depth < 0:
            yield Fault(0, None, None, "follows a bracket that nothing opened; what comes after was not read")
            return
        if len(data) > LONGEST:
            yield Fault(0, None, _start(data), "has no end; a bracket or quote was left open")
            return
    if place.depth > 0 or data.strip():
        yield Fault(0, None, _start(data) or None, "breaks off: the file ends before its end")


def _matched(data: bytes, level: int, place: _Place) -> tuple[Offsets, Offsets, int]:
    """Starts and ends of the whole objects in a block, and how many bytes need not be kept; `place` moves there."""
    at, kind, safe = _brackets(data)
    if not len(at):
        return at, at, safe
    step = np.where(kind <= OPEN_ARRAY, 1, -1)
    after = place.depth + np.cumsum(step)
    before = after - step
    opening = np.flatnonzero((step > 0) & (before == level))
    closing = np.flatnonzero((step < 0) & (after == level))
    wanted = _in_arrays(opening, kind, np.flatnonzero((step > 0) & (before == level - 1)), place)
    if place.depth > level:
        closing = closing[1:]  # of something that opened in an earlier block and is no record
    pairs = len(closing)
    starts, ends = at[opening[:pairs][wanted[:pairs]]], at[closing[wanted[:pairs]]] + 1
    if after.min() < 0:
        place.depth = -1
    elif len(opening) > pairs and wanted[-1]:
        place.depth, safe = level, int(at[opening[-1]])
    else:
        place.depth = int(after[-1])
    return starts, ends, safe


def _in_arrays(opening: Offsets, kind: npt.NDArray[np.uint8], above: Offsets, place: _Place) -> npt.NDArray[np.bool_]:
    """Whether each bracket that opens at the level stands in an array: what opened last a level above says so."""
    found = np.searchsorted(above, opening) - 1
    kinds = np.concatenate([[place.in_array], kind[above] == OPEN_ARRAY]).astype(np.bool_)
    place.in_array = bool(kinds[-1])
    inside: npt.NDArray[np.bool_] = kinds[found + 1]
    return inside


def _brackets(data: bytes) -> tuple[Offsets, npt.NDArray[np.uint8], int]:
    """Where brackets outside strings are, which, and where a string starts that has no end in the block."""
    marks = np.frombuffer(data.translate(_MARKS), dtype=np.uint8)
    at = np.flatnonzero(marks != 0)
    kind = marks[at]
    if BACKSLASH in kind:
        plain = ~np.isin(at, _escaped(at[kind == BACKSLASH])) & (kind != BACKSLASH)
        at, kind = at[plain], kind[plain]
    quote = kind == QUOTE
    inside = np.cumsum(quote) & 1
    safe = int(at[quote][-1]) if quote.any() and inside[-1] else len(data)
    outside = ~quote & (inside == 0)
    return at[outside], kind[outside], safe


def _escaped(backslashes: Offsets) -> Offsets:
    """What follows a backslash that is not itself escaped: in a run of them every other one, from the first."""
    fresh = np.concatenate([[True], np.diff(backslashes) > 1])
    run = np.maximum.accumulate(np.where(fresh, np.arange(len(backslashes)), 0))
    escaped: Offsets = backslashes[(np.arange(len(backslashes)) - run) % 2 == 0] + 1
    return escaped
