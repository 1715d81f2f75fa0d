"""The files among files, folders and zip archives, each to be opened when its turn comes."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, BinaryIO

from discreet.errors import DataError

ZIP = b"PK\x03\x04"
GZIP = b"\x1f\x8b"
HEAD = 1 << 14
"""First bytes that a file is recognised by."""


@dataclass
class Reached:
    """How many bytes of the sources on disk have been read, of how many."""

    done: int = 0
    total: int = 0


@dataclass(frozen=True)
class LogEntry:
    """A file on disk or in an archive. `named` is whether somebody gave it by name, rather than a folder with it."""

    name: str
    inner: PurePath
    named: bool
    reached: Reached
    start: int
    """Bytes of sources that come before it."""
    size: int
    """Bytes that it takes on disk."""
    opener: Callable[[], IO[bytes]] = field(repr=False)
    path: Path | None = None

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Its bytes, decompressed; every way in which reading can fail is a DataError."""
        try:
            with self.opener() as raw:
                counted = io.BufferedReader(_Counted(raw, self), 1 << 16)
                if counted.peek(2)[:2] == GZIP:
                    with gzip.GzipFile(fileobj=counted, mode="rb") as stream:
                        yield io.BufferedReader(stream)
                else:
                    yield counted
        except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
            raise DataError(f"{self.name}: the compressed data are damaged ({error}); copy the file again") from None
        except (RuntimeError, NotImplementedError) as error:  # zipfile's words for a password, or another compression
            raise DataError(
                f"{self.name}: cannot be unpacked ({error}); unpack the archive and give its files"
            ) from None
        except OSError as error:
            raise DataError(f"{self.name}: cannot be read: {error.strerror or error}; check the path") from None

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """The same as a file with a path: its own, or a copy that is gone afterwards."""
        if self.path is not None and not _gzipped(self.path):
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="discreet-") as folder, self.open() as stream:
            copy = Path(folder) / self.inner.name
            with copy.open("wb") as file:
                shutil.copyfileobj(stream, file)
            yield copy

    def head(self) -> bytes:
        """The first bytes."""
        with self.open() as stream:
            return stream.read(HEAD)


class _Counted(io.RawIOBase):
    """Counts what is read, for the progress."""

    def __init__(self, raw: IO[bytes], entry: LogEntry) -> None:
        self._raw, self._entry, self._read = raw, entry, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._raw.read(len(view))
        view[: len(data)] = data
        self._read += len(data)
        self._entry.reached.done = self._entry.start + min(self._read, self._entry.size)
        return len(data)


def _gzipped(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == GZIP


def files_of(
    sources: Sequence[str | Path], reached: Reached, unreadable: Callable[[str, str], None]
) -> Iterator[LogEntry]:
    """The files of the sources in order, archives opened, also one archive within another.

    What cannot be opened is an error if it was named, and told to `unreadable` with its reason if it was found in a
    folder or an archive.
    """
    found = [(path, named) for source in sources for path, named in _walked(Path(source))]
    sizes = [path.stat().st_size for path, _ in found]
    reached.total = sum(sizes)
    start = 0
    for (path, named), size in zip(found, sizes, strict=True):
        try:
            yield from _opened(path, named, reached, start, size, unreadable)
        except DataError as error:
            if named:
                raise
            unreadable(str(path), str(error))
        start += size
        reached.done = start


def _walked(source: Path) -> Iterator[tuple[Path, bool]]:
    """A file, or the files below a folder in order of name; hidden ones are not anybody's data."""
    if source.is_dir():
        for folder, folders, names in os.walk(source):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = Path(folder) / name
                if not name.startswith(".") and path.is_file():
                    yield path, False
    elif source.is_file():
        yield source, True
    else:
        why = "is neither a file nor a folder" if source.exists() else "there is no such file or folder"
        raise DataError(f"{source}: {why}; check the path")


def _opened(
    path: Path, named: bool, reached: Reached, start: int, size: int, unreadable: Callable[[str, str], None]
) -> Iterator[LogEntry]:
    try:
        with path.open("rb") as file:
            zipped = file.read(4) == ZIP
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}; check the path") from None
    if not zipped:
        inner = PurePath(path.resolve())
        opener = lambda: path.open("rb", buffering=0)  # noqa: E731  a closure over this path alone
        yield LogEntry(str(path), _plain(inner), named, reached, start, size, opener, path)
        return
    with _archive(path, str(path)) as archive:
        yield from _members(archive, str(path), reached, start, unreadable, nested=False)


@contextmanager
def _archive(file: Path | IO[bytes], name: str) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except (zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise DataError(f"{name}: the zip archive is damaged ({error}); download it again") from None


def _members(
    archive: zipfile.ZipFile,
    name: str,
    reached: Reached,
    start: int,
    unreadable: Callable[[str, str], None],
    *,
    nested: bool,
) -> Iterator[LogEntry]:
    for info in sorted(archive.infolist(), key=lambda info: info.filename):
        if info.is_dir() or PurePosixPath(info.filename).name.startswith("."):
            continue
        full, inner = f"{name}!{info.filename}", _plain(PurePosixPath(info.filename))
        size = 0 if nested else info.compress_size
        opener = lambda info=info: archive.open(info)  # noqa: E731  bound to this member
        entry = LogEntry(full, inner, False, reached, start, size, opener)
        try:
            zipped = entry.head()[:4] == ZIP
            if zipped and not nested:
                with entry.on_disk() as copy, _archive(copy, full) as within:
                    yield from _members(within, full, reached, start + size, unreadable, nested=True)
            elif zipped:
                unreadable(full, "an archive in an archive in an archive; unpack it and give its files")
            else:
                yield entry
        except DataError as error:
            unreadable(full, str(error))
        start += size


def _plain(path: PurePath) -> PurePath:
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path
