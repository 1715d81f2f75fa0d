"""The data folder: which file is which, made for the owner alone, used by one gateway at a time."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.files import private_folder, written_whole
from discreet.gateway.store.database import Lock
from discreet.randomness import KEY_BYTES


class Folder:
    """`journal.db` has what was released, `own.db` readings and truth, `access.db` tokens, `owner.key` the owner's key
    of the journal's chain."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal, self.own, self.access = path / "journal.db", path / "own.db", path / "access.db"
        self._kept: Lock | None = None

    @classmethod
    def made(cls, path: Path) -> Folder:
        """The folder, made if it is not there."""
        return cls(private_folder(path, "give another folder (--data)"))

    @classmethod
    def existing(cls, path: Path) -> Folder:
        """The folder of a gateway that has run."""
        if not (path / "access.db").is_file():
            raise DiscreetError(f"{path}: holds no gateway's files; give the folder of discreet serve (--data)")
        return cls(path)

    @property
    def aside(self) -> Path:
        """Where slots go that a clock wrote which was ahead (`restored`)."""
        return self.path / "set-aside.jsonl"

    def says_once(self, words: str) -> bool:
        """Whether this has not been said yet of this folder; from now on it has."""
        file = self.path / "said.txt"
        said = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        if words in said:
            return False
        with written_whole(file, private=True) as kept:
            kept.write("".join(f"{line}\n" for line in [*said, words]).encode())
        return True

    def lock(self) -> None:
        """Keep other gateways out as long as this process lives, before the first file is made.

        Two that began together would make a key each, and the chain of one would be by a key that is gone.
        """
        self._kept = Lock(self.path, "folder")

    def unlock(self) -> None:
        """Let others in."""
        if self._kept is not None:
            self._kept.release()
            self._kept = None

    def key(self) -> bytes:
        """The owner's key, made the first time: before any other file is there."""
        return owner_key(self.path)


# --- the owner's key: 32 random bytes, for its owner alone (mode 0600)
#
# HMACs with it link the journal's rows, so that nobody who may read outputs can check a guess at others. It is made at
# the first start and never again: a new key beside an old journal would make every row look altered.


OWNER_KEY = "owner.key"


def owner_key(folder: Path) -> bytes:
    """The key of a data folder, made where the folder is new."""
    path = folder / OWNER_KEY
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
    path = folder / OWNER_KEY
    try:
        mode, key = path.stat().st_mode, path.read_bytes()
    except OSError as error:
        raise DiscreetError(f"{path}: cannot be read: {error.strerror}; give the folder of discreet serve") from None
    if os.name == "posix" and mode & 0o077:
        raise DiscreetError(f"{path}: others may read it; run: chmod 600 {path}")
    if len(key) != KEY_BYTES:
        raise DiscreetError(f"{path}: has {len(key)} bytes instead of {KEY_BYTES}; put it back from a backup")
    return key
