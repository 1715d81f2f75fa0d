"""The owner's key: 32 random bytes in `owner.key` of the data folder, for its owner alone (mode 0600).

The journal's rows are linked by HMACs with it, so that nobody who may read outputs can check a guess at others. It is
made at the first start and never again: a new key beside an old journal would make every row look altered.
"""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.files import written_whole
from discreet.randomness import KEY_BYTES

NAME = "owner.key"


def owner_key(folder: Path) -> bytes:
    """The key of a data folder, made where the folder is new."""
    path = folder / NAME
    if not path.exists():
        used = [name for name in ("journal.db", "own.db") if (folder / name).exists()]
        if used:
            raise DiscreetError(
                f"{path}: is gone, beside {used[0]}; put it back from a backup: without it the journal cannot be "
                "verified, and a new one would not fit what is written"
            )
        with written_whole(path) as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(os.urandom(KEY_BYTES))
    return known_key(folder)


def known_key(folder: Path) -> bytes:
    """The key of a data folder that has one; refused where others can read it."""
    path = folder / NAME
    try:
        mode, key = path.stat().st_mode, path.read_bytes()
    except OSError as error:
        raise DiscreetError(f"{path}: cannot be read: {error.strerror}; give the folder of discreet serve") from None
    if os.name == "posix" and mode & 0o077:
        raise DiscreetError(f"{path}: others may read it; run: chmod 600 {path}")
    if len(key) != KEY_BYTES:
        raise DiscreetError(f"{path}: has {len(key)} bytes instead of {KEY_BYTES}; put it back from a backup")
    return key
