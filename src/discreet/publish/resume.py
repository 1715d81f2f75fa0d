"""What is kept of a run until its table is written: the key, and the people that are done.

A folder beside the table, for its owner alone: with the key, and with reports that speak of the truth, it is as private
as the data. It goes when the table is there. People are published in order of their names, so those that are done are
the first of them, some at a time in a part of the file, as they were worked on; the draws of the others are given by
the key. So a run that goes on writes, byte for byte, the table that it would have written.

A part is the length of what follows in 8 bytes, rows and reports as Arrow IPC, each with its length before it, and
their SHA-256: it is there in whole, or is not counted.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from discreet.errors import DiscreetError
from discreet.publish.draws import RunKey
from discreet.publish.key_file import erase_key, read_key, write_key
from discreet.publish.work import Done

KEY = "key"
DONE = "done"
DATA = "data"
"""The digest of the data that the run was started with."""
PEOPLE = "people"
"""The folder where people may be sorted (`data.population`)."""
LOCK = "lock"
"""Held by a run of Spark, whose folder has no file of people who are done."""

if sys.platform != "win32":
    import fcntl

LENGTH = 8
CHECK = 32


class Unfinished:
    """The folder of a run that is not at its end; made by `begun` or `resumed`."""

    def __init__(self, folder: Path, key: RunKey, whole_bytes: int = 0) -> None:
        self.folder = folder
        self.key = key
        self._whole = whole_bytes  # of the lines that were written to their end
        self._added = 0

    @staticmethod
    def beside(table: Path) -> Path:
        """The folder of the run that writes this table."""
        return table.with_name(f".{table.name}.unfinished")

    @classmethod
    def begun(cls, table: Path, seed: int | None, data: str = "") -> Unfinished:
        """A new run; one that was not finished is not thrown away unasked."""
        cls.refuse(table)
        folder = cls.beside(table)
        key = RunKey.new() if seed is None else RunKey.of_seed(seed)
        try:
            folder.mkdir(mode=0o700)  # what another run has made meanwhile is not touched
        except OSError as error:
            raise DiscreetError(
                f"{table}: cannot be written: {error.strerror}; choose a folder you can write to"
            ) from None
        try:
            write_key(folder / KEY, key)
            if data:
                (folder / DATA).touch(0o600)
                (folder / DATA).write_text(data, encoding="utf-8")
            (folder / DONE).touch(0o600, exist_ok=False)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if not isinstance(error, OSError):
                raise
            raise DiscreetError(f"{table}: cannot be written: {error.strerror}; make room") from None
        return cls(folder, key)

    @classmethod
    def refuse(cls, table: Path) -> None:
        """Refuse to start again where a run was not finished."""
        if cls.beside(table).exists():
            raise DiscreetError(
                f"{table}: a run that writes it was not finished, or is under way; continue it "
                f"with --resume, or delete {cls.beside(table)} to start again"
            )

    @classmethod
    def resumed(cls, table: Path, seed: int | None, data: str = "") -> Unfinished:
        """The run that was not finished, or a new one where there is none; other data than it was begun with are
        refused, because the people who are done are of those."""
        folder = cls.beside(table)
        if not folder.exists():
            return cls.begun(table, seed, data)
        if (folder / LOCK).exists():
            raise DiscreetError(f"{folder}: the run was started with --engine spark; resume it the same way")
        key = key_begun_with(folder, seed)
        was = folder / DATA
        if data and was.exists() and was.read_text(encoding="utf-8") != data:  # an older run has none
            raise DiscreetError(
                f"{folder}: the run was started with other data; give those again, or delete the folder and start again"
            )
        try:
            return cls(folder, key, _whole_bytes(folder / DONE))
        except OSError as error:
            raise DiscreetError(
                f"{folder}: this run cannot be resumed: {error.strerror}; delete the folder and start again"
            ) from None

    @property
    def people(self) -> Path:
        """Where people may be sorted."""
        return self.folder / PEOPLE

    def done(self) -> Iterator[Done]:
        """The people that were done when the run was taken up, in order."""
        return self._parts(self._whole)

    def all_done(self) -> Iterator[Done]:
        """Those and the ones that were done since."""
        return self._parts(self._whole + self._added)

    def _parts(self, until: int) -> Iterator[Done]:
        with (self.folder / DONE).open("rb") as file:
            while file.tell() < until:
                part = file.read(int.from_bytes(file.read(LENGTH), "big"))
                yield _read(self.folder, part)

    def add(self, done: Done) -> None:
        """Some more."""
        part = _plain(done)
        try:
            with (self.folder / DONE).open("r+b") as file:
                file.seek(self._whole + self._added)
                file.truncate()
                file.write(len(part).to_bytes(LENGTH, "big") + part)
        except OSError as error:
            raise DiscreetError(
                f"{self.folder}: who is done cannot be kept: {error.strerror}; free space, and continue with --resume"
            ) from None
        self._added += LENGTH + len(part)

    @property
    def empty(self) -> bool:
        """Whether nobody is done, so that nothing is lost without it."""
        return self._whole + self._added == 0

    def erase(self) -> None:
        """Forget all of it, the key first: overwritten, as far as a file can be."""
        erase_key(self.folder / KEY)
        shutil.rmtree(self.folder)


@contextmanager
def unfinished(table: Path, seed: int | None = None, *, resume: bool = False, data: str = "") -> Iterator[Unfinished]:
    """The run that writes a table in the block: forgotten at its end, kept where it fails after somebody was done.

    `data` is the digest of what is published (`digest_of`).
    """
    run = Unfinished.resumed(table, seed, data) if resume else Unfinished.begun(table, seed, data)
    with alone(run.folder / DONE):
        try:
            yield run
        except BaseException:
            if run.empty:
                run.erase()
            raise
        run.erase()


def digest_of(digests: Iterable[str]) -> str:
    """SHA-256 over the digests of files, in order."""
    return hashlib.sha256(b"".join(map(bytes.fromhex, digests))).hexdigest()


def key_begun_with(folder: Path, seed: int | None) -> RunKey:
    """The key of a run that is gone on with; one that was begun with another seed is refused."""
    key = read_key(folder / KEY)
    if key.seed != seed:
        was = "without --seed" if key.seed is None else f"with --seed {key.seed}"
        raise DiscreetError(f"{folder}: the run was started {was}; resume it the same way")
    return key


@contextmanager
def alone(held: Path) -> Iterator[None]:
    """Refuse a run that another process is at, by a file in its folder: each would spoil what the other adds.

    The system lets go of it when a process ends, however it does. Where it has no locks, nobody is kept off.
    """
    with held.open("rb") as file:
        if sys.platform != "win32":
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DiscreetError(
                    f"{held.parent}: the run is under way in another process; wait for its end, or end it"
                ) from None
            except OSError:
                pass
        yield


def _whole_bytes(path: Path) -> int:
    """Up to the end of the last part that has one."""
    size, whole = path.stat().st_size, 0
    with path.open("rb") as file:
        while whole < size:
            file.seek(whole)
            end = whole + LENGTH + int.from_bytes(file.read(LENGTH), "big")
            if end > size:
                break
            whole = end
    return whole


def _plain(done: Done) -> bytes:
    parts = []
    for frame in done:
        file = io.BytesIO()
        frame.write_ipc(file, compression="lz4")
        parts += [len(file.getbuffer()).to_bytes(LENGTH, "big"), file.getvalue()]
    content = b"".join(parts)
    return content + hashlib.sha256(content).digest()


def _read(folder: Path, part: bytes) -> Done:
    content, check = part[:-CHECK], part[-CHECK:]
    if hashlib.sha256(content).digest() != check:
        raise DiscreetError(f"{folder}: what is kept is damaged; delete the folder and start again")
    file = io.BytesIO(content)
    rows, reports = (pl.read_ipc(io.BytesIO(file.read(int.from_bytes(file.read(LENGTH), "big")))) for _ in Done._fields)
    return Done(rows, reports)


def refuse_unfinished(out: Path) -> None:
    """Refuse to release to a file beside which a run has left what it drew: a day drawn twice tells more than once."""
    folder = Unfinished.beside(out).absolute()
    if folder.exists():
        raise DiscreetError(
            f"{out}: a run that writes it was not finished, or is under way; if it is not, delete {folder}, which "
            "holds the key of its draws, and start again"
        )
