"""Tiles of a map that the owner has brought: a file of MBTiles or PMTiles, read and nothing else. Nothing is fetched.

MBTiles (1.3) is SQLite with the tables `metadata` (name, value) and `tiles` (zoom_level, tile_column, tile_row,
tile_data); rows count from the south. PMTiles (version 3) is one file with directories of runs of tiles, by their
number along a Hilbert curve. Tiles are pictures, or vectors (MVT), which the page draws by itself.
"""

from __future__ import annotations

import gzip
import sqlite3
import struct
import threading
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from cachetools import LRUCache

from discreet.errors import DiscreetError

PICTURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}
"""What pictures begin with."""

VECTORS = "application/vnd.mapbox-vector-tile"

GZIP = b"\x1f\x8b"

DEEPEST = 22

LARGEST = 4 << 20
"""Bytes of a tile: more is a mistake of the file, or a trap."""

Bytes = tuple[bytes, str]
"""A tile and its kind; nothing else is sent, whatever the file holds."""


class Tiles(Protocol):
    """One file, for several threads."""

    least: int
    most: int
    vector: bool
    """Whether its tiles are vectors."""

    def tile(self, zoom: int, x: int, y: int) -> Bytes | None:
        """A tile, counted from the north-west as addresses of maps do; None where there is none."""

    def close(self) -> None:
        """Let go of the file."""


def opened(path: Path) -> Tiles:
    """The tiles of a file, by what it begins with."""
    try:
        with path.open("rb") as file:
            begins = file.read(len(MAGIC))
    except OSError as error:
        raise DiscreetError(f"{path}: cannot be read: {error.strerror}") from None
    return PmTiles(path) if begins == MAGIC else MbTiles(path)


def described(tiles: Tiles | None) -> dict[str, int | bool] | None:
    """What the page has to know of them."""
    return None if tiles is None else {"least": tiles.least, "most": tiles.most, "vector": tiles.vector}


def kind_of(tile: bytes) -> str | None:
    """The kind of a picture by what it begins with."""
    return next((kind for begins, kind in PICTURES.items() if tile.startswith(begins)), None)


def _there(zoom: int, x: int, y: int) -> bool:
    return 0 <= zoom <= DEEPEST and 0 <= x < 1 << zoom and 0 <= y < 1 << zoom


def unpacked(packed: bytes) -> bytes | None:
    """What gzip packed; None where it is none, or unpacks to more than a tile may have."""
    if not packed.startswith(GZIP):
        return packed if len(packed) <= LARGEST else None
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        found = reader.decompress(packed, LARGEST)
    except zlib.error:
        return None
    return found if reader.eof else None


class MbTiles:
    """A file of MBTiles."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            where = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
            self._rows = sqlite3.connect(where, uri=True, check_same_thread=False)
            least, most = self._rows.execute("SELECT min(zoom_level), max(zoom_level) FROM tiles").fetchone()
            (first,) = self._rows.execute("SELECT tile_data FROM tiles LIMIT 1").fetchone() or (None,)
            named = dict(self._rows.execute("SELECT name, value FROM metadata WHERE name = 'format'"))
        except sqlite3.Error as error:
            raise DiscreetError(f"{path}: is no file of MBTiles or PMTiles ({error}); give one of these") from None
        self.vector = named.get("format") == "pbf"
        if not isinstance(first, bytes) or (kind_of(first) is None and not self.vector):
            raise DiscreetError(f"{path}: its tiles are neither pictures (PNG, JPEG, WebP) nor vectors (pbf)")
        self.least, self.most = max(0, int(least)), min(DEEPEST, int(most))

    def tile(self, zoom: int, x: int, y: int) -> Bytes | None:
        """A tile and its kind."""
        if not _there(zoom, x, y):
            return None
        query = "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?"
        with self._lock:
            try:
                found = self._rows.execute(query, (zoom, x, (1 << zoom) - 1 - y)).fetchone()
            except sqlite3.Error:  # a file that was replaced below us
                return None
        return None if found is None or not isinstance(found[0], bytes) else _told(found[0], self.vector)

    def close(self) -> None:
        """Let go of the file."""
        self._rows.close()


def _told(tile: bytes, vector: bool) -> Bytes | None:
    if vector:
        vectors = unpacked(tile)
        return None if vectors is None else (vectors, VECTORS)
    kind = kind_of(tile)
    return None if kind is None else (tile, kind)


# --- PMTiles, version 3

MAGIC = b"PMTiles"
HEADER = struct.Struct("<7sB8Q3Q6B")
LENGTH = 127
PLAIN, PACKED = 1, 2
"""How directories and tiles may be packed: not at all, or by gzip."""
VECTOR = 1
KINDS = {2, 3, 4}
"""PNG, JPEG and WebP."""
ROOT = 1 << 24
"""Bytes of a directory, at most."""
LEAVES = 64
"""Directories that are kept in memory."""
DEEP = 3
"""Directories on the way to a tile, at most."""


@dataclass(frozen=True)
class Directory:
    """Runs of tiles: the first of each, how many there are, and where their bytes are."""

    firsts: list[int]
    runs: list[int]
    """How many tiles have the same bytes; 0 for a directory below this one."""
    lengths: list[int]
    offsets: list[int]


class PmTiles:
    """A file of PMTiles."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._leaves: LRUCache[int, Directory] = LRUCache(LEAVES)
        self._path = path
        self._file = path.open("rb")
        try:
            self._open()
        except DiscreetError:
            self._file.close()
            raise
        except (ValueError, IndexError, OSError, EOFError, zlib.error, struct.error):
            self._file.close()
            raise DiscreetError(f"{path}: is a damaged file of PMTiles; copy it again") from None

    def _open(self) -> None:
        header = self._file.read(LENGTH)
        _, version, root, root_long, _, _, self._below, _, self._data, _, *rest = HEADER.unpack_from(header)
        *_, self._inner, self._packed, kind, self.least, most = rest
        if version != 3:
            raise DiscreetError(f"{self._path}: is PMTiles of version {version}; give one of version 3")
        if {self._inner, self._packed} - {PLAIN, PACKED}:
            raise DiscreetError(f"{self._path}: is packed otherwise than by gzip; convert it with gzip or none")
        if kind != VECTOR and kind not in KINDS:
            raise DiscreetError(f"{self._path}: its tiles are neither pictures (PNG, JPEG, WebP) nor vectors (MVT)")
        self.vector = kind == VECTOR
        self.most = min(DEEPEST, most)
        self._root = self._directory(root, root_long)

    def tile(self, zoom: int, x: int, y: int) -> Bytes | None:
        """A tile and its kind."""
        if not _there(zoom, x, y):
            return None
        with self._lock:
            try:
                found = self._bytes(number_of(zoom, x, y))
            except (ValueError, IndexError, OSError, EOFError, zlib.error):  # damaged there, or replaced below us
                return None
        return None if found is None else _told(found, self.vector)

    def _bytes(self, number: int) -> bytes | None:
        directory = self._root
        for _ in range(DEEP):
            at = bisect_right(directory.firsts, number) - 1
            if at < 0:
                return None
            offset, long, run = directory.offsets[at], directory.lengths[at], directory.runs[at]
            if run:
                return self._read(self._data + offset, long, LARGEST) if number < directory.firsts[at] + run else None
            if offset not in self._leaves:
                self._leaves[offset] = self._directory(self._below + offset, long)
            directory = self._leaves[offset]
        return None

    def _directory(self, offset: int, long: int) -> Directory:
        content = self._read(offset, long, ROOT)
        return directory_of(gzip.decompress(content) if self._inner == PACKED else content)

    def _read(self, offset: int, long: int, most: int) -> bytes:
        if long > most:
            raise ValueError("too long")
        self._file.seek(offset)
        found = self._file.read(long)
        if len(found) != long:
            raise EOFError
        return found

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def number_of(zoom: int, x: int, y: int) -> int:
    """A tile's number: those of all smaller zooms first, then along a Hilbert curve."""
    number = ((1 << 2 * zoom) - 1) // 3
    for bit in range(zoom - 1, -1, -1):
        side = 1 << bit
        right, down = bool(x & side), bool(y & side)
        number += side * side * ((3 * right) ^ down)
        if not down:
            if right:
                x, y = side - 1 - x, side - 1 - y
            x, y = y, x
    return number


def directory_of(content: bytes) -> Directory:
    """A directory from its bytes: four columns of numbers, the first of differences."""
    values = _numbers(content)
    count = next(values)
    if count > len(content):  # each has a byte at least
        raise ValueError("too many")
    firsts, last = [], 0
    for _ in range(count):
        last += next(values)
        firsts.append(last)
    runs = [next(values) for _ in range(count)]
    lengths = [next(values) for _ in range(count)]
    offsets: list[int] = []
    for at in range(count):
        value = next(values)
        offsets.append(value - 1 if value else offsets[at - 1] + lengths[at - 1])
    return Directory(firsts, runs, lengths, offsets)


def _numbers(content: bytes) -> Iterator[int]:
    """Numbers of seven bits a byte, the lowest first; there are never too few of them."""
    value = shift = 0
    for byte in content:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0
        elif shift > 63:
            raise ValueError("no number")
    raise ValueError("it ends too early")
