"""The data folder: which file is which, made for the owner alone, used by one gateway at a time."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import DiscreetError
from discreet.files import written_whole
from discreet.gateway.store.database import Lock
from discreet.gateway.store.owner_key import owner_key


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
