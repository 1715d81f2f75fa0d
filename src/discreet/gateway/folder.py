"""The data folder: which file is which, made for the owner alone, used by one gateway at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.gateway.keys import owner_key


class Folder:
    """`journal.db` has what was released, `own.db` readings and truth, `access.db` tokens, `owner.key` the owner's key
    of the journal's chain."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal, self.own, self.access = path / "journal.db", path / "own.db", path / "access.db"
        self._lock: int | None = None

    @classmethod
    def made(cls, path: Path) -> Folder:
        """The folder, made if it is not there."""
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise DiscreetError(f"{path}: cannot be made: {error.strerror}; give another folder (--data)") from None
        return cls(path)

    @classmethod
    def existing(cls, path: Path) -> Folder:
        """The folder of a gateway that has run."""
        if not (path / "access.db").is_file():
            raise DiscreetError(f"{path}: holds no gateway's files; give the folder of discreet serve (--data)")
        return cls(path)

    def lock(self) -> None:
        """Keep other gateways out as long as this process lives: two would decide the same slots."""
        held = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(held)
            raise DiscreetError(f"{self.path}: another gateway uses this folder; stop it, or give another") from None
        self._lock = held

    def unlock(self) -> None:
        """Let others in."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def key(self) -> bytes:
        """The owner's key, made the first time: before any other file is there."""
        return owner_key(self.path)
