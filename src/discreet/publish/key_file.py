"""The file that holds a run's key: for its owner alone, on the trusted side, gone when the output is final.

Whoever has the key can tell what was true from what was drawn. So workers on other machines are sent the file's path
and read it themselves: what an engine is sent, it may log, keep or show on a page.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.publish.draws import RunKey

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def write_key(path: Path, key: RunKey) -> None:
    """Write a key to a new file that only its owner can read, from its first byte on."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(json.dumps({"key": key.key.hex(), "seed": key.seed}).encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DiscreetError(
            f"{path}: the run's key cannot be written: {error.strerror}; choose a folder you can write to"
        ) from None


def read_key(path: Path) -> RunKey:
    """Read what `write_key` wrote; a file that others can read is refused."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            kept = json.loads(file.read())
        key = RunKey(bytes.fromhex(kept["key"]), kept["seed"])
    except OSError as error:
        raise DiscreetError(
            f"{path}: the run's key cannot be read: {error.strerror}; let every worker see this folder, as the owner "
            "of the file"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise DiscreetError(f"{path}: holds no run's key; delete its folder and start again") from None
    if os.name == "posix" and mode & OTHERS:
        raise DiscreetError(
            f"{path}: others may have read the run's key (mode {stat.S_IMODE(mode):04o}); delete its folder and begin "
            "anew"
        )
    return key


def erase_key(path: Path) -> None:
    """Overwrite a key, as far as a file can be, and remove it."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        file.write(bytes(size))
        file.flush()
        os.fsync(file.fileno())
    path.unlink()
