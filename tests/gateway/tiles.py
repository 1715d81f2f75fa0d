"""Files of tiles that tests bring: PMTiles by its specification, and vector tiles of a made-up town."""

from __future__ import annotations

import gzip
import itertools
import math
import sqlite3
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from discreet.gateway.owner.tiles import number_of

PICTURE = b"\x89PNG\r\n\x1a\n and so on"

Numbered = tuple[int, int, int, int]
"""Of a directory: the first tile, how many, how many bytes, and where."""


def varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _directory(entries: Sequence[Numbered]) -> bytes:
    firsts = [one[0] for one in entries]
    steps = [firsts[0], *(b - a for a, b in itertools.pairwise(firsts))]
    offsets = [
        0 if k and one[3] == entries[k - 1][3] + entries[k - 1][2] else one[3] + 1 for k, one in enumerate(entries)
    ]
    columns = (steps, [one[1] for one in entries], [one[2] for one in entries], offsets)
    return varint(len(entries)) + b"".join(varint(value) for column in columns for value in column)


def written(
    path: Path,
    tiles: Mapping[tuple[int, int, int], bytes],
    *,
    leaf: int = 1000,
    packed: bool = True,
    vector: bool = False,
) -> Path:
    """A file of PMTiles; with more than `leaf` runs of tiles the root has directories below it."""
    pack = gzip.compress if packed else bytes
    entries: list[Numbered] = []
    data = b""
    for number, content in sorted((number_of(*at), content) for at, content in tiles.items()):
        stored = pack(content) if vector else content
        if entries and data[entries[-1][3] :] == stored and entries[-1][0] + entries[-1][1] == number:
            entries[-1] = (entries[-1][0], entries[-1][1] + 1, *entries[-1][2:])
            continue
        entries.append((number, 1, len(stored), len(data)))
        data += stored
    leaves = b""
    if len(entries) > leaf:
        roots: list[Numbered] = []
        for begins in range(0, len(entries), leaf):
            one = pack(_directory(entries[begins : begins + leaf]))
            roots.append((entries[begins][0], 0, len(one), len(leaves)))
            leaves += one
        entries = roots
    root, metadata = pack(_directory(entries)), pack(b"{}")
    at = list(itertools.accumulate([127, len(root), len(metadata), len(leaves)]))
    places = (at[0], len(root), at[1], len(metadata), at[2], len(leaves), at[3], len(data))
    zooms = [zoom for zoom, _, _ in tiles]
    how = 2 if packed else 1
    kinds = (1, how, how if vector else 1, 1 if vector else 2, min(zooms), max(zooms))
    header = struct.pack("<7sB8Q3Q6B", b"PMTiles", 3, *places, 0, 0, 0, *kinds).ljust(127, b"\0")
    path.write_bytes(header + root + metadata + leaves + data)
    return path


def mbtiles(path: Path, picture: bytes = PICTURE, kind: str = "png") -> Path:
    """A file of MBTiles with one tile, 3/4/5 counted from the south."""
    with sqlite3.connect(path) as rows:
        rows.execute("CREATE TABLE metadata (name TEXT, value TEXT)")
        rows.execute("INSERT INTO metadata VALUES ('format', ?)", (kind,))
        rows.execute("CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB)")
        rows.execute("INSERT INTO tiles VALUES (3, 4, 5, ?)", (picture,))
    rows.close()
    return path


# --- vector tiles

Feature = tuple[int, str, str, list[list[tuple[int, int]]]]
"""1 for a point, 2 for lines, 3 for polygons; its kind; its name; and its rings in the tile's own grid."""


def _field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def _geometry(kind: int, rings: Iterable[list[tuple[int, int]]]) -> bytes:
    x = y = 0
    found = b""
    for ring in rings:
        for k, (east, south) in enumerate(ring):
            if k < 2:
                found += varint((1 if k == 0 else len(ring) - 1) << 3 | (1 if k == 0 else 2))
            found += b"".join(varint(2 * step if step >= 0 else -2 * step - 1) for step in (east - x, south - y))
            x, y = east, south
        if kind == 3:
            found += varint(1 << 3 | 7)
    return found


def vector_tile(layers: Mapping[str, Sequence[Feature]], extent: int = 4096) -> bytes:
    """A tile with these layers."""
    found = b""
    for name, features in layers.items():
        texts = sorted({text for _, kind, called, _ in features for text in (kind, called)})
        layer = _field(15, 2) + _field(1, name.encode())
        for kind, what, called, rings in features:
            tags = b"".join(map(varint, (0, texts.index(what), 1, texts.index(called))))
            layer += _field(2, _field(2, tags) + _field(3, kind) + _field(4, _geometry(kind, rings)))
        layer += _field(3, b"kind") + _field(3, b"name")
        layer += b"".join(_field(4, _field(1, text.encode())) for text in texts) + _field(5, extent)
        found += _field(3, layer)
    return found


def town(path: Path, latitude: float, longitude: float, zoom: int = 14, around: int = 3) -> Path:
    """A made-up town: a grid of streets, a river, parks, houses and a name, in the tiles around a position."""
    west, north = tile_at(latitude, longitude, zoom)
    tiles = {
        (zoom, x, y): _quarter(x, y, middle=(x, y) == (west, north))
        for x in range(west - around, west + around + 1)
        for y in range(north - around, north + around + 1)
    }
    return written(path, tiles, vector=True)


def tile_at(latitude: float, longitude: float, zoom: int) -> tuple[int, int]:
    """The tile that a position is in."""
    many = 1 << zoom
    north = (1 - math.asinh(math.tan(math.radians(latitude))) / math.pi) / 2
    return int((longitude + 180) / 360 * many), int(north * many)


def _box(x: int, y: int, wide: int, high: int) -> list[tuple[int, int]]:
    return [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)]


def _quarter(x: int, y: int, *, middle: bool) -> bytes:
    streets = range(0, 4096, 512)
    houses = [(3, "building", "", [_box(a + 90, b + 90, 140, 110)]) for a in streets for b in streets if (a + b) % 1024]
    roads: list[Feature] = [(2, "minor_road", "", [[(at, 0), (at, 4096)]]) for at in streets]
    roads += [(2, "minor_road", "", [[(0, at), (4096, at)]]) for at in streets]
    roads += [(2, "major_road", "", [[(2048, 0), (2048, 4096)]])]
    layers: dict[str, Sequence[Feature]] = {
        "earth": [(3, "earth", "", [_box(-64, -64, 4224, 4224)])],
        "landuse": [(3, "park", "", [_box(512, 1536, 1024, 512)])] if (x + y) % 2 else [],
        "water": [(3, "river", "", [[(-64, 3000), (4160, 2600), (4160, 2900), (-64, 3300)]])],
        "roads": roads + ([(2, "highway", "", [[(0, 4000), (4096, 3600)]])] if y % 3 == 0 else []),
        "buildings": houses,
        "places": [(1, "neighbourhood", "Old Town", [[(2600, 900)]])] if middle else [],
    }
    return vector_tile({name: features for name, features in layers.items() if features})
