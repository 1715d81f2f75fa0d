"""XML documents as streams: what a reader of one format tells of its points, as the parser goes along.

Documents with a type declaration are refused, because entities declared there can make gigabytes of a few bytes.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol

from discreet.data.rows import EntryContent
from discreet.data.source import Fault

BLOCK = 1 << 16
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class Opened(Protocol):
    """Something with bytes in it, such as a `LogFile`."""

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Its bytes."""


class RefusedError(Exception):
    """A document type declaration was met."""


class Points:
    """What a parser calls, and the entries that ended since they were last taken; a format says what they are."""

    def __init__(self) -> None:
        self.count = 0
        self._done: list[tuple[int, EntryContent]] = []

    def tell(self, *told: EntryContent) -> None:
        """One entry has ended, and says this."""
        self.count += 1
        self._done += [(self.count, one) for one in told]

    def take(self) -> list[tuple[int, EntryContent]]:
        """The entries that ended."""
        done, self._done = self._done, []
        return done

    def doctype(self, name: str, public: str, system: str) -> None:
        """Called before anything that it declares could be used."""
        raise RefusedError

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element starts."""

    def data(self, text: str) -> None:
        """Text between tags, perhaps in parts."""

    def end(self, tag: str) -> None:
        """An element ends."""

    def close(self) -> None:
        """The document ends."""


def has_root(head: bytes, name: bytes) -> bool:
    """Whether the first bytes have an element of this name, in whichever encoding XML may be."""
    if head.startswith(UTF_16):
        head = head.decode("utf-16", errors="ignore").encode()
    return re.search(rb"<(?:\w+:)?" + name + rb"[\s>]", head) is not None


def read_points(file: Opened, points: Points) -> Iterator[tuple[int, EntryContent]]:
    """What a document says, as far as it goes; blanks before its first line, which some programs write, are no harm."""
    parser = ET.XMLParser(target=points)
    begun = False
    with file.open() as stream:
        try:
            while more := stream.read(BLOCK):
                more = more if begun else more.lstrip(b" \t\r\n")
                begun = begun or bool(more)
                parser.feed(more)
                yield from points.take()
            parser.close()
        except (ET.ParseError, ValueError, LookupError) as error:  # the others: an encoding that expat has not
            yield from points.take()
            yield points.count + 1, Fault(0, None, str(error), "is where the XML breaks; what follows was not read")
        except RefusedError:
            yield (
                points.count + 1,
                Fault(0, None, "<!DOCTYPE", "declares a type, which may hide anything; remove it"),
            )
