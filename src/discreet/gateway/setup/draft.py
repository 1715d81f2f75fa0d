"""What has been answered so far on the way to a person: a private folder in the data folder, erased at the end.

Answers are one JSON file, written whole. A step that is done again takes away what followed from it before it begins,
so that whatever is there fits together, whenever the process was stopped.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path, PurePosixPath
from typing import Any

from discreet.errors import DataError, DiscreetError
from discreet.files import written_whole
from discreet.gateway.setup.job import OUT
from discreet.gateway.setup.work import UPLOADS, without_paths
from discreet.setup.steps import STEPS

ANSWERS = "answers.json"
INCOMING = "incoming-"

MOST_FILES = 100
LONGEST_NAME = 120
"""Bytes of a file's name that are kept."""


@dataclass(frozen=True)
class File:
    """A file that was brought."""

    id: str
    name: str
    size: int
    format: str


@dataclass(frozen=True)
class DraftAnswers:
    """Every step's answer, and what came of it; None where it is not there yet."""

    person: str = "me"
    zone: str = ""
    carry: float = 4 * 3600.0
    files: tuple[File, ...] = ()
    history: Mapping[str, Any] | None = None
    names: Mapping[str, str | None] = field(default_factory=dict)
    """By the number of a place; None for one that is dropped."""
    habits: Mapping[str, Any] | None = None
    secrets: tuple[str, ...] = ()
    doubles: bool = False
    """Whether what applications see may at most double anybody's odds of a secret."""
    costs: Mapping[str, Any] | None = None
    delta: float | None = None
    vocabulary: str | None = None
    held: Mapping[str, Any] | None = None
    """What keeping part of delta back would cost, of the choice that it was asked for."""
    share: float | None = None
    """How much of delta is spent, where part of it is kept back."""
    entity: str | None = None
    """The tracker of Home Assistant that was chosen; its history is a file like others."""
    moving: bool = False
    """Whether files may have been moved to their places."""

    @property
    def step(self) -> int:
        """The first step that is not done: 2 for a file, 3 for places, 4 for secrets, 5 for an application."""
        if self.history is not None and "people" in self.history:
            return 2  # who of them it is has yet to be said
        return next((number for number, one in STEPS.items() if getattr(self, one.done) is None), 1 + max(STEPS))

    def without(self, step: int) -> DraftAnswers:
        """Without what came of a step and of those after it."""
        nothing = DraftAnswers()
        gone = [name for number, one in STEPS.items() if number >= step for name in (one.done, *one.others)]
        return replace(self, **{name: getattr(nothing, name) for name in gone})


class Draft:
    """The folder and its answers. Not for several threads at once: whoever has it takes care of that."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers = self._read()
        self._tidy()

    def _read(self) -> DraftAnswers:
        """The answers of last time; those that cannot be read are none: they can be given again."""
        try:
            given = json.loads((self.folder / ANSWERS).read_bytes())
            files = tuple(File(**one) for one in given.pop("files"))
            given["secrets"] = tuple(given["secrets"])
            return DraftAnswers(**given, files=files)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return DraftAnswers()

    def _tidy(self) -> None:
        """Take away what work and uploads left that were cut off."""
        if not self.folder.is_dir():
            return
        for path in self.folder.iterdir():
            if path.name.startswith((OUT, INCOMING)):
                _gone(path)
        kept = {file.id for file in self.answers.files}
        for path in [*(self.folder / UPLOADS).glob("*")]:
            if path.name not in kept:
                _gone(path)
        self._drop_stale()

    def _drop_stale(self) -> None:
        """Files that no answer speaks of any more."""
        for step in STEPS.values():
            if getattr(self.answers, step.done) is None:
                for name in step.files:
                    (self.folder / name).unlink(missing_ok=True)

    def made(self) -> None:
        """The folder, for its owner alone."""
        try:
            (self.folder / UPLOADS).mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
        except OSError as error:
            raise DiscreetError(f"{self.folder}: cannot be made: {error.strerror}; make room, or check it") from None

    def keep(self, answers: DraftAnswers) -> None:
        """Write the answers down."""
        self.made()
        with written_whole(self.folder / ANSWERS) as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(json.dumps(_plain(answers), ensure_ascii=False).encode())
        self.answers = answers
        self._drop_stale()

    def take(self, out: Path) -> None:
        """Make files part of the draft; they take the place of those of the same name."""
        for path in out.iterdir():
            path.replace(self.folder / path.name)

    # --- files that are brought

    def incoming(self, name: str, limit: int) -> Incoming:
        """A file to be filled; it becomes part of the draft at its end, and is gone if that does not come."""
        if len(self.answers.files) >= MOST_FILES:
            raise DataError(f"there are {MOST_FILES} files already; put them into one zip archive")
        self.made()
        path = self.folder / f"{INCOMING}{secrets.token_hex(6)}"
        return Incoming(path, safe_name(name), self._left(limit), limit)

    def _left(self, limit: int) -> int:
        return limit - sum(file.size for file in self.answers.files)

    def accept(self, incoming: Incoming, limit: int) -> File:
        """The file is whole: see what it is. What no importer knows is refused, in the importers' words."""
        from discreet.data.importing import format_of

        incoming.left = self._left(limit)  # others may have come meanwhile
        incoming.check(incoming.size)
        number = 1 + max((int(file.id) for file in self.answers.files), default=0)
        home = self.folder / UPLOADS / f"{number:04}"
        home.mkdir(mode=0o700)
        try:
            path = incoming.path.replace(home / incoming.name)
            file = File(home.name, incoming.name, incoming.size, format_of(path))
            self.keep(replace(self.answers.without(2), files=(*self.answers.files, file)))
            return file
        except DiscreetError as error:
            _gone(home)
            raise DataError(self.without_paths(str(error))) from None
        except BaseException:
            _gone(home)
            raise

    def remove(self, id: str) -> None:
        """Take a file away."""
        left = tuple(file for file in self.answers.files if file.id != id)
        if len(left) == len(self.answers.files):
            raise DataError("there is no such file")
        self.keep(replace(self.answers.without(2), files=left))
        _gone(self.folder / UPLOADS / id)

    def without_paths(self, text: str) -> str:
        """An error without where our copy of a file lies, and without an option that the page does not have."""
        return without_paths(self.folder, text).replace("; or insist on one with --format (format=)", "")

    def erase(self) -> None:
        """All of it."""
        _gone(self.folder)
        self.answers = DraftAnswers()


class Incoming:
    """A file that is being brought: private from its first byte on, of a bounded size."""

    def __init__(self, path: Path, name: str, left: int, limit: int) -> None:
        self.path, self.name, self.size, self.left, self._limit = path, name, 0, left, limit
        try:
            self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        except OSError as error:
            raise DiscreetError(f"the file cannot be written: {error.strerror}; make room") from None

    def check(self, size: int) -> None:
        """Refuse what is too large, whether it is announced or has come."""
        if size > self.left:
            raise TooLargeError(
                f"{self.name}: all files together may have {self._limit // 1_000_000} MB; leave some out, or raise "
                "limits.upload in discreet.toml"
            )

    def write(self, some: bytes) -> None:
        """The next bytes."""
        self.check(self.size + len(some))
        try:
            self._file.write(some)
        except OSError as error:
            raise DiscreetError(f"{self.name}: cannot be written: {error.strerror}; make room") from None
        self.size += len(some)

    def end(self) -> None:
        """All bytes are there."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:
            raise DiscreetError(f"{self.name}: cannot be written: {error.strerror}; make room") from None

    def gone(self) -> None:
        """Leave nothing behind, also where the last bytes find no room."""
        try:
            with suppress(OSError):
                self._file.close()
        finally:
            self.path.unlink(missing_ok=True)


class TooLargeError(DiscreetError):
    """More bytes than are taken."""


def safe_name(given: str) -> str:
    """The last part of a name as somebody's browser gave it, with nothing in it that means something to a file system.

    Its ending says what it is, so that is kept where a name is too long.
    """
    last = PurePosixPath(given.replace("\\", "/")).name
    plain = "".join(one if one.isprintable() and one not in '<>:"|?*/\\' else "_" for one in last).strip(". ")
    if not plain:
        raise DataError("the file has no name; give it one that ends in its format, such as .csv")
    plain = plain.encode("utf-8", "replace").decode()
    ending = "".join(PurePosixPath(plain).suffixes[-2:])[-20:]
    stem = plain.removesuffix(ending).encode()[: LONGEST_NAME - len(ending.encode())].decode("utf-8", "ignore")
    return stem + ending


def _plain(answers: DraftAnswers) -> dict[str, Any]:
    return {one.name: getattr(answers, one.name) for one in fields(answers)} | {
        "files": [asdict(file) for file in answers.files]
    }


def _gone(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
