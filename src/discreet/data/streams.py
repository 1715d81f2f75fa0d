"""Files as streams of bytes or text, gzipped where their names end in .gz."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, TextIO

from discreet.errors import DataError
from discreet.files import written_whole

MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
"""How text starts that Windows' shells write, the longer marks first; formats of text are UTF-8."""

MAGIC = {
    b"\x1f\x8b": "gzip data; name it {ending}.gz",
    b"PAR1": "a Parquet file; name it .parquet",
    b"PK\x03\x04": "a zip archive or spreadsheet; save it as CSV",
    **{mark: f"{encoding} text; save it as UTF-8" for mark, encoding in MARKS.items()},
}
"""First bytes of what is often taken for text, and what to do about it."""


def wide_encoding(head: bytes) -> str | None:
    """What text is encoded in that is not UTF-8 and says so."""
    return next((encoding for mark, encoding in MARKS.items() if head.startswith(mark)), None)


class FileSize(NamedTuple):
    """As much of `os.stat_result` as readers look at."""

    st_size: int


@dataclass(frozen=True)
class OpenedFile:
    """What a file holds that the caller has opened, with as much of a path as formats ask for."""

    name: str
    content: bytes

    @classmethod
    def of(cls, file: IO[Any], otherwise: str) -> OpenedFile:
        """The rest of an open file, decompressed; one without a name, such as `io.StringIO`, has the other one."""
        name = getattr(file, "name", None)
        name = Path(name).name if isinstance(name, str) and name else otherwise
        try:
            held = file.read()
            content = held.encode() if isinstance(held, str) else bytes(held)
            if content.startswith(b"\x1f\x8b"):
                content, name = gzip.decompress(content), name.removesuffix(".gz")
        except (OSError, ValueError, EOFError, TypeError, zlib.error) as error:
            raise DataError(f"{name}: cannot be read ({error}); open the file for reading, and give it open") from None
        return cls(name, content)

    @property
    def suffix(self) -> str:
        """The ending."""
        return Path(self.name).suffix

    def open(self, _mode: str = "rb") -> io.BufferedReader:
        """The content, from its start."""
        return io.BufferedReader(io.BytesIO(self.content))

    def stat(self) -> FileSize:
        """How large it is."""
        return FileSize(len(self.content))

    def is_dir(self) -> bool:
        """A file is none."""
        return False

    def __str__(self) -> str:
        return self.name


@contextmanager
def opened(path: Path, *, empty: bool = False) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """(the decompressed stream, the file beneath it); every way in which reading can fail is a DataError.

    A file of no bytes is one of them, unless the format has no header and so may be `empty`.
    """
    zipped = path.suffix.lower() == ".gz"
    try:
        with path.open("rb") as raw:
            start = raw.peek(4)[:4]
            if not start and (zipped or not empty):
                raise DataError(f"{path}: the file is empty; expected a header and rows")
            if zipped and not start.startswith(b"\x1f\x8b"):
                raise DataError(f"{path}: the name ends in .gz but this is not gzip data; rename or compress it")
            if not zipped:
                for magic, what in MAGIC.items():
                    if start.startswith(magic):
                        raise DataError(f"{path}: this is {what.format(ending=path.suffix)}")
                yield raw, raw
            else:
                with gzip.GzipFile(fileobj=raw, mode="rb") as stream:
                    yield io.BufferedReader(stream), raw
    except EOFError:
        raise DataError(f"{path}: the gzip data break off before their end; copy or download the file again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: the gzip data are damaged ({error}); copy or download the file again") from None
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> DataError:
    """What is said of a file that cannot be read; the docs' lines name examples that `discreet examples` writes."""
    ours = isinstance(error, FileNotFoundError) and path.parts[:1] == ("examples",)
    remedy = "write the examples with: discreet examples" if ours else "check the path"
    return DataError(f"{path}: cannot be read: {error.strerror or error}; {remedy}")


@contextmanager
def written_as(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """A file that appears whole or not at all, compressed where its name ends in .gz; `private`: for its owner."""
    with written_whole(path, private=private) as file:
        if path.suffix.lower() == ".gz":
            # No time stamp inside: the same rows give the same bytes.
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as zipped:
                yield zipped  # type: ignore[misc]  # a GzipFile is written like any other
        else:
            yield file


def ending_of(path: Path, endings: tuple[str, ...], what: str) -> str:
    """Which of the endings a file that is to hold `what` has, without .gz."""
    for ending in endings:
        if path.name.lower().endswith(ending):
            return ending.removesuffix(".gz")
    raise DataError(f"{path}: the ending says no format for {what}; use {', '.join(endings[:-1])} or {endings[-1]}")


@contextmanager
def as_text(file: BinaryIO) -> Iterator[TextIO]:
    """A text layer that leaves the file beneath it open."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        yield text
        text.flush()
    finally:
        text.detach()
