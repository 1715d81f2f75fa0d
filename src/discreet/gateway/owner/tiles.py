"""Tiles of a map that the owner has brought: a file of MBTiles with pictures, read and nothing else.

MBTiles (1.3) is SQLite with the tables `metadata` (name, value) and `tiles` (zoom_level, tile_column, tile_row,
tile_data); rows count from the south.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from urllib.parse import quote

from discreet.errors import DiscreetError

KINDS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}
"""What pictures begin with; nothing else is sent, whatever the file holds."""

DEEPEST = 22


class Tiles:
    """One file, for several threads."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            where = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
            self._rows = sqlite3.connect(where, uri=True, check_same_thread=False)
            least, most = self._rows.execute("SELECT min(zoom_level), max(zoom_level) FROM tiles").fetchone()
            (first,) = self._rows.execute("SELECT tile_data FROM tiles LIMIT 1").fetchone() or (None,)
        except sqlite3.Error as error:
            raise DiscreetError(f"{path}: is no file of MBTiles ({error}); give one with pictures") from None
        if not isinstance(first, bytes) or kind_of(first) is None:
            raise DiscreetError(f"{path}: its tiles are no pictures; give one with PNG, JPEG or WebP (raster tiles)")
        self.least, self.most = max(0, int(least)), min(DEEPEST, int(most))

    def tile(self, zoom: int, x: int, y: int) -> tuple[bytes, str] | None:
        """A picture and its kind, counted from the north-west as addresses of maps do; None where there is none."""
        if not 0 <= zoom <= DEEPEST or not (0 <= x < 1 << zoom and 0 <= y < 1 << zoom):
            return None
        query = "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?"
        with self._lock:
            try:
                found = self._rows.execute(query, (zoom, x, (1 << zoom) - 1 - y)).fetchone()
            except sqlite3.Error:  # a file that was replaced below us
                return None
        if found is None or not isinstance(found[0], bytes):
            return None
        kind = kind_of(found[0])
        return None if kind is None else (found[0], kind)

    def close(self) -> None:
        """Let go of the file."""
        self._rows.close()


def kind_of(picture: bytes) -> str | None:
    """The kind of a picture by what it begins with."""
    return next((kind for begins, kind in KINDS.items() if picture.startswith(begins)), None)
