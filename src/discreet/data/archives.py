"""The files among files, folders and zip archives, each to be opened when its turn comes.

An archive is a stranger's: names in it are shown and never written to, and what it unpacks to is bounded.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import shutil
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, BinaryIO

from discreet.errors import DataError


class BrokenOffError(DataError):
    """Compressed bytes that end or break before their end; what came before them is whole."""


ZIP = b"PK\x03\x04"
GZIP = b"\x1f\x8b"
HEAD = 1 << 14
"""First bytes that a file is recognised by."""

UNPACKED = 1 << 30
"""Bytes that any archive or gzipped file may unpack to, in all."""
RATIO = 200
"""Times its own size that a larger one may unpack to. JSON and tables are packed 10 to 40 times; bombs 1000 times."""

BOMB = (
    f"unpacks to more than {RATIO} times the size of its archive and to more than {UNPACKED >> 30} GB, as bombs do; if "
    "it is no bomb, unpack it and give its files"
)


@dataclass
class Reached:
    """How many bytes of the sources on disk have been read, of how many."""

    done: int = 0
    total: int = 0


@dataclass
class Allowance:
    """How many bytes a file on disk may still unpack to, over all that is in it."""

    left: int

    @classmethod
    def of(cls, size: int) -> Allowance:
        """That of a file of so many bytes."""
        return cls(max(UNPACKED, RATIO * size))


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
    allowance: Allowance
    path: Path | None = None

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Its bytes, decompressed; every way in which reading can fail is a DataError."""
        try:
            with self._raw() as raw:
                counted = io.BufferedReader(_Counted(raw, self), 1 << 16)
                if counted.peek(2)[:2] == GZIP:
                    with gzip.GzipFile(fileobj=counted, mode="rb") as stream:
                        yield io.BufferedReader(_Bounded(stream, self))
                elif self.path is None:
                    yield io.BufferedReader(_Bounded(counted, self), 1 << 16)
                else:
                    yield counted
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile) as error:
            raise BrokenOffError(
                f"{self.name}: the compressed data are damaged ({error}); copy the file again"
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
            copy = Path(folder) / f"copy{self.inner.suffix}"  # a name of ours: one in an archive may be anything
            with copy.open("wb") as file:
                shutil.copyfileobj(stream, file)
            yield copy

    def progressed(self, done: int, total: int) -> None:
        """How far a reader is that opened the file by its path."""
        self.reached.done = self.start + int(self.size * done / max(total, 1))

    def _raw(self) -> IO[bytes]:
        try:
            return self.opener()
        except (RuntimeError, NotImplementedError, ValueError) as error:
            # zipfile's words for a password, another compression, a member that is not where the list says
            raise DataError(
                f"{self.name}: cannot be unpacked ({error}); unpack the archive and give its files"
            ) from None

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


class _Bounded(io.RawIOBase):
    """Unpacked bytes, no more of them than the file on disk is allowed."""

    def __init__(self, stream: IO[bytes] | gzip.GzipFile, entry: LogEntry) -> None:
        self._stream, self._entry = stream, entry

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._stream.read(len(view))
        view[: len(data)] = data
        self._entry.allowance.left -= len(data)
        if self._entry.allowance.left < 0:
            raise DataError(f"{self._entry.name}: {BOMB}")
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
            unreadable(_shown(path), str(error))
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
        raise DataError(f"{_shown(source)}: {why}; check the path")


def _opened(
    path: Path, named: bool, reached: Reached, start: int, size: int, unreadable: Callable[[str, str], None]
) -> Iterator[LogEntry]:
    try:
        with path.open("rb") as file:
            zipped = file.read(4) == ZIP
    except OSError as error:
        raise DataError(f"{_shown(path)}: cannot be read: {error.strerror or error}; check the path") from None
    allowance = Allowance.of(size)
    if not zipped and is_tar(path):
        yield from _Archive(reached, unreadable, allowance).packed(path, _shown(path), start)
        return
    if not zipped:
        inner = PurePath(_shown(path.resolve()))
        opener = lambda: path.open("rb", buffering=0)  # noqa: E731  a closure over this path alone
        yield LogEntry(_shown(path), _plain(inner), named, reached, start, size, opener, allowance, path)
        return
    with _archive(path, _shown(path)) as archive:
        yield from _Archive(reached, unreadable, allowance).members(archive, _shown(path), start, nested=False)


@contextmanager
def _archive(file: Path | IO[bytes], name: str) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(file)
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        ValueError,
        OverflowError,
        EOFError,
        OSError,
        struct.error,
    ) as error:
        # what zipfile lets through when the list of members is damaged
        raise DataError(f"{name}: the zip archive is damaged ({error}); download it again") from None
    with archive:
        yield archive


@dataclass(frozen=True)
class _Archive:
    """What all archives within one file on disk share."""

    reached: Reached
    unreadable: Callable[[str, str], None]
    allowance: Allowance

    def members(self, archive: zipfile.ZipFile, name: str, start: int, *, nested: bool) -> Iterator[LogEntry]:
        """The files of an archive in order of name, and those of an archive in it."""
        for info in sorted(archive.infolist(), key=lambda info: info.filename):
            if not info.filename:  # by which `is_dir` breaks
                self.unreadable(f"{name}!", "has no name, so that the archive is damaged; download it again")
                continue
            if info.is_dir() or PurePosixPath(info.filename).name.startswith("."):
                continue
            full, inner = f"{name}!{_shown(info.filename)}", _plain(PurePosixPath(_shown(info.filename)))
            size = 0 if nested else info.compress_size
            opener = lambda info=info: archive.open(info)  # noqa: E731  bound to this member
            entry = LogEntry(full, inner, False, self.reached, start, size, opener, self.allowance)
            try:
                zipped = entry.head()[:4] == ZIP
                if zipped and not nested:
                    with entry.on_disk() as copy, _archive(copy, full) as within:
                        yield from self.members(within, full, start + size, nested=True)
                elif zipped:
                    self.unreadable(full, "is an archive in an archive in an archive; unpack it and give its files")
                else:
                    yield entry
            except DataError as error:
                self.unreadable(full, str(error))
            start += size

    def packed(self, path: Path, name: str, start: int) -> Iterator[LogEntry]:
        """The files of a tar archive in its order, gzipped or not, and those of a zip archive in it.

        Such an archive can only be read from its start, so that each file is copied out before it is its turn.
        """
        met = 0
        with path.open("rb") as raw, tempfile.TemporaryDirectory(prefix="discreet-") as folder:
            try:
                with tarfile.open(fileobj=raw, mode="r|*") as archive:
                    for info in archive:
                        if not info.isfile() or PurePosixPath(info.name).name.startswith("."):
                            continue
                        full, inner = f"{name}!{_shown(info.name)}", _plain(PurePosixPath(_shown(info.name)))
                        copy = Path(folder) / str(met)  # a name of ours: one in an archive may be anything
                        met += 1
                        self._copied(archive, info, copy, full)
                        opener = lambda copy=copy: copy.open("rb", buffering=0)  # noqa: E731  bound to this copy
                        far = start + raw.tell()
                        entry = LogEntry(full, inner, False, self.reached, far, 0, opener, self.allowance, copy)
                        yield from self._unzipped(entry, copy)
                        copy.unlink()
            except DataError as error:  # a bomb: what came before it stays
                if met <= 1:
                    raise
                self.unreadable(name, str(error))
            except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError) as error:
                why = f"the tar archive breaks off or is damaged ({error}); download it again"
                if not met:
                    raise DataError(f"{name}: {why}") from None
                self.unreadable(name, why)

    def _copied(self, archive: tarfile.TarFile, info: tarfile.TarInfo, copy: Path, full: str) -> None:
        """One file of an archive, as far as the whole archive may unpack."""
        stream = archive.extractfile(info)
        with copy.open("wb") as file:
            while stream is not None and (data := stream.read(1 << 20)):
                self.allowance.left -= len(data)
                if self.allowance.left < 0:
                    raise DataError(f"{full}: {BOMB}")
                file.write(data)

    def _unzipped(self, entry: LogEntry, copy: Path) -> Iterator[LogEntry]:
        """A file of a tar archive, or what is in it where it is a zip archive."""
        try:
            if entry.head()[:4] == ZIP:
                with _archive(copy, entry.name) as within:
                    yield from self.members(within, entry.name, entry.start, nested=True)
            else:
                yield entry
        except DataError as error:
            self.unreadable(entry.name, str(error))


def is_tar(path: Path) -> bool:
    """Whether a file is a tar archive, gzipped or not, by the mark in its first header."""
    try:
        with gzip.open(path) if _gzipped(path) else path.open("rb") as file:
            return file.read(512)[257:262] == b"ustar"
    except (OSError, EOFError, zlib.error):
        return False


def _shown(path: str | PurePath) -> str:
    """A name that can be printed: those of files may be no text at all, or turn a terminal's colours."""
    text = os.fsencode(path).decode(errors="replace") if isinstance(path, PurePath) else path
    return "".join(one if one.isprintable() else "\ufffd" for one in text)


def _plain(path: PurePath) -> PurePath:
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path
