"""What is kept of a run until its table is written: the key, and the people that are done.

A folder beside the table, for its owner alone: with the key, and with reports that speak of the truth, it is as private
as the data. It goes when the table is there. People are published in order of their names, so those that are done are
the first of them, a line each; the draws of the others are given by the key. So a run that goes on writes, byte for
byte, the table that it would have written.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from discreet.adversary.known import Known
from discreet.errors import DiscreetError
from discreet.outputs import PartialEvent
from discreet.policy import Guarantee
from discreet.publish.draws import RunKey
from discreet.publish.person import Published
from discreet.publish.report import PersonReport

KEY = "key"
DONE = "done"


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
    def begun(cls, table: Path, seed: int | None) -> Unfinished:
        """A new run; one that was not finished is not thrown away unasked."""
        cls.refuse(table)
        folder = cls.beside(table)
        key = RunKey.new() if seed is None else RunKey.of_seed(seed)
        try:
            folder.mkdir(mode=0o700)
            _write_private(folder / KEY, json.dumps({"key": key.key.hex(), "seed": seed}).encode())
            _write_private(folder / DONE, b"")
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise DiscreetError(
                f"{table}: cannot be written: {error.strerror}; make room, or choose a folder you can write to"
            ) from None
        return cls(folder, key)

    @classmethod
    def refuse(cls, table: Path) -> None:
        """Refuse to begin anew where a run was not finished."""
        if cls.beside(table).exists():
            raise DiscreetError(
                f"{table}: a run that writes it was not finished, or is under way; go on from the people that are done "
                f"with --resume, or delete {cls.beside(table)} to begin anew"
            )

    @classmethod
    def resumed(cls, table: Path, seed: int | None) -> Unfinished:
        """The run that was not finished, or a new one where there is none."""
        folder = cls.beside(table)
        if not folder.exists():
            return cls.begun(table, seed)
        try:
            kept = json.loads((folder / KEY).read_bytes())
            key = RunKey(bytes.fromhex(kept["key"]), kept["seed"])
            whole = _whole_bytes(folder / DONE)
        except (OSError, ValueError, KeyError, TypeError):
            raise DiscreetError(f"{folder}: the run cannot be gone on with; delete the folder and begin anew") from None
        if key.seed != seed:
            was = "without --seed" if key.seed is None else f"with --seed {key.seed}"
            raise DiscreetError(f"{folder}: the run was begun {was}; go on with it likewise")
        return cls(folder, key, whole)

    def done(self) -> Iterator[Published]:
        """The people that were done when the run was taken up, in order."""
        with (self.folder / DONE).open("rb") as file:
            while file.tell() < self._whole:
                yield _read(self.folder, file.readline())

    def add(self, done: Published) -> None:
        """One more; the line is there in whole, or is not counted."""
        line = json.dumps(_plain(done), ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        with (self.folder / DONE).open("r+b") as file:
            file.seek(self._whole + self._added)
            file.truncate()
            file.write(line)
        self._added += len(line)

    @property
    def empty(self) -> bool:
        """Whether nobody is done, so that nothing is lost without it."""
        return self._whole + self._added == 0

    def erase(self) -> None:
        """Forget all of it, the key first: overwritten, as far as a file can be."""
        with (self.folder / KEY).open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            file.write(bytes(size))
            file.flush()
            os.fsync(file.fileno())
        shutil.rmtree(self.folder)


@contextmanager
def unfinished(table: Path, seed: int | None = None, *, resume: bool = False) -> Iterator[Unfinished]:
    """The run that writes a table in the block: forgotten at its end, kept where it fails after somebody was done."""
    run = Unfinished.resumed(table, seed) if resume else Unfinished.begun(table, seed)
    try:
        yield run
    except BaseException:
        if run.empty:
            run.erase()
        raise
    run.erase()


def _write_private(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _whole_bytes(path: Path) -> int:
    """Up to the end of the last line that has one."""
    whole = 0
    with path.open("rb") as file:
        for line in file:
            whole += len(line) if line.endswith(b"\n") else 0
    return whole


def _plain(done: Published) -> dict[str, Any]:
    report = asdict(done.report)
    report["guarantee"]["covers"] = sorted(report["guarantee"]["covers"])
    return {
        "given": done.given,
        "rows": [[row.activity, row.time, row.location] for row in done.rows],
        "report": report,
    }


def _read(folder: Path, line: bytes) -> Published:
    try:
        found = json.loads(line)
        report = found["report"]
        guarantee = report["guarantee"]
        report["guarantee"] = Guarantee(**{**guarantee, "covers": frozenset(guarantee["covers"])})
        report["known"] = tuple(Known(**_tuples(one)) for one in report["known"])
        rows = tuple(PartialEvent(*row) for row in found["rows"])
        return Published(rows, PersonReport(**report), found["given"])
    except (ValueError, KeyError, TypeError):
        raise DiscreetError(f"{folder}: a line is damaged; delete the folder and begin anew") from None


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
