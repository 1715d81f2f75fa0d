"""Tiles that the owner brings: MBTiles and PMTiles, of pictures or vectors; damage and traps end no request."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.gateway.owner.tiles import LARGEST, VECTORS, number_of, opened
from tests.gateway.tiles import PICTURE, mbtiles, written


def test_tiles_that_are_neither_pictures_nor_vectors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DiscreetError, match="neither pictures"):
        opened(mbtiles(tmp_path / "other.mbtiles", b"\x1f\x8b something else"))
    (tmp_path / "text.mbtiles").write_text("no database at all, but long enough for its header to be looked at")
    with pytest.raises(DiscreetError, match="no file of MBTiles"):
        opened(tmp_path / "text.mbtiles")


def test_vector_tiles_are_sent_unpacked_and_never_more_than_a_tile_may_have(tmp_path: Path) -> None:
    tiles = opened(mbtiles(tmp_path / "vector.mbtiles", gzip.compress(b"vectors"), "pbf"))
    assert tiles.vector
    assert tiles.tile(3, 4, 2) == (b"vectors", VECTORS)
    tiles.close()
    for trap in (gzip.compress(bytes(LARGEST + 1)), gzip.compress(b"vectors")[:-9], b"\x1f\x8b no gzip"):
        (tmp_path / "trap.mbtiles").unlink(missing_ok=True)
        tiles = opened(mbtiles(tmp_path / "trap.mbtiles", trap, "pbf"))
        assert tiles.tile(3, 4, 2) is None
        tiles.close()


@pytest.mark.parametrize(
    ("place", "number"),  # of the specification, and one of the reference library
    [
        ((0, 0, 0), 0),
        ((1, 0, 0), 1),
        ((1, 0, 1), 2),
        ((1, 1, 1), 3),
        ((1, 1, 0), 4),
        ((2, 0, 0), 5),
        ((12, 3423, 1763), 19078479),
        ((15, 27360, 15138), 1222593891),
    ],
)
def test_tiles_are_numbered_as_pmtiles_say(place: tuple[int, int, int], number: int) -> None:
    assert number_of(*place) == number


@pytest.mark.parametrize("leaf", [1000, 3])
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("vector", [True, False])
def test_every_tile_of_pmtiles_is_found_and_no_other(tmp_path: Path, leaf: int, packed: bool, vector: bool) -> None:
    """With one directory and with two; tiles of the same bytes are one run."""
    picture = b"a layer" if vector else PICTURE
    there = {(3, x, y): picture + bytes([x, y]) for x in range(2, 7) for y in range(1, 6)}
    there |= {(4, 5, y): picture for y in range(4)}
    file = written(tmp_path / "here.pmtiles", there, leaf=leaf, packed=packed, vector=vector)
    tiles = opened(file)
    assert (tiles.least, tiles.most, tiles.vector) == (3, 4, vector)
    for zoom in range(6):
        for x, y in itertools.product(range(1 << zoom), repeat=2):
            found, wanted = tiles.tile(zoom, x, y), there.get((zoom, x, y))
            assert (None if found is None else found[0]) == wanted
            assert found is None or found[1] == (VECTORS if vector else "image/png")
    assert tiles.tile(3, 8, 0) is None
    tiles.close()


def test_pmtiles_that_cannot_be_read_are_refused_and_damage_ends_no_request(tmp_path: Path) -> None:
    whole = written(tmp_path / "here.pmtiles", {(3, x, 1): PICTURE + bytes([x]) for x in range(8)}).read_bytes()
    refused = {
        "version": whole[:7] + b"\x02" + whole[8:],
        "packed otherwise": whole[:97] + b"\x04" + whole[98:],
        "neither pictures": whole[:99] + b"\x05" + whole[100:],
        "damaged": whole[:140],
    }
    for words, content in refused.items():
        (tmp_path / "bad.pmtiles").write_bytes(content)
        with pytest.raises(DiscreetError, match=words):
            opened(tmp_path / "bad.pmtiles")
    rng = np.random.default_rng(3)
    for _ in range(200):  # whatever a file holds, it is refused, or a tile is there or not
        broken = bytearray(whole)
        for at in rng.integers(100, len(whole), 6):
            broken[at] = rng.integers(256)
        (tmp_path / "bad.pmtiles").write_bytes(broken)
        try:
            tiles = opened(tmp_path / "bad.pmtiles")
        except DiscreetError:
            continue
        for x in range(8):
            tiles.tile(3, x, 1)
        tiles.close()
