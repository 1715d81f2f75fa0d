"""Writing files so that nothing is ever half-written."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from discreet.errors import DataError, DiscreetError

ADDRESS = re.compile(r"(s3a?|gs|abfss?|hdfs|https?|ftp|memory):/")
"""The begin of an address, of which a path has one slash."""


def refuse_address(path: str | Path, *, written: bool = False, rows: bool = False) -> None:
    """Refuse what is an address: files of this machine are read and written here, and `rows` in stores by Spark."""
    found = ADDRESS.match(str(path))
    if found is None:
        return
    store = rows and found[1] not in ("http", "https", "ftp", "memory")
    spark = ", or read it with --engine spark" if store else ""
    remedy = "give a file of this machine, and copy it there" if written else f"copy it here{spark}"
    raise DataError(
        f"{found[1]}://{str(path)[found.end() :].lstrip('/')}: addresses are not on this engine, which reads and "
        f"writes files of this machine; {remedy}"
    )


@contextmanager
def written_whole(path: str | Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Write beside the target, then rename: readers see the old file or the whole new one, never a part.

    If the block raises, the target stays as it was and nothing is left beside it. A `private` file is for its owner
    alone from its first byte on; unlike `private_files` this is for threads too.
    """
    refuse_address(path, written=True)
    target = Path(path)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        made = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        file = os.fdopen(made, "wb")
    except OSError as error:
        raise DiscreetError(
            f"{target}: cannot be written: {error.strerror}; choose a folder you can write to"
        ) from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise DiscreetError(
            f"{target}: cannot be written: {error.strerror or error}; make room or choose another place"
        ) from None
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def folder_whole(path: str | Path, *, private: bool = False) -> Iterator[Path]:
    """A folder to fill beside the target, which gets its name at the end: it appears whole or not at all.

    A `private` one is for its owner alone, as every one is until then.
    """
    refuse_address(path, written=True)
    target = Path(path)
    try:
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise DiscreetError(f"{target}: cannot be made: {error.strerror}; choose a folder you can write to") from None
    try:
        yield beside
        if not private:
            beside.chmod(0o755)
        beside.rename(target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


@contextmanager
def folder_beside(path: str | Path | None) -> Iterator[Path]:
    """A folder for its owner alone, beside what is to be written, or in it where that is a folder; gone at the end.

    Where there is nothing to be written, it is where TMPDIR says.
    """
    if path is None:
        prefix, where = "discreet.", None
    else:
        refuse_address(path, written=True)
        target = Path(path).absolute()
        prefix, where = f".{target.name}.", target if target.is_dir() else target.parent
    try:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
    except OSError as error:
        raise DiscreetError(f"{path}: cannot be written: {error.strerror}; choose a folder you can write to") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def private_folder(path: Path, remedy: str) -> Path:
    """A folder for its owner alone, made where there is none."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DiscreetError(f"{path}: cannot be made: {error.strerror}; {remedy}") from None
    return path


@contextmanager
def private_files() -> Iterator[None]:
    """Files and folders made in the block are for their owner alone, from their first byte on.

    It is the process's mask that is set, so this is for commands, not for threads.
    """
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


PICTURES: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}
"""The formats of pictures by the ending of their names, and what matplotlib would write of the day and itself."""


def picture_format(path: str | Path) -> str:
    """The format of a picture, by the ending of its name."""
    ending = Path(path).suffix.lower() if isinstance(path, str | os.PathLike) else ""
    if ending not in PICTURES:
        raise DiscreetError(f"{path}: pictures are PNG, SVG or PDF; end the name in .png, .svg or .pdf")
    return ending


def written_picture(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib in the format of its name; the same figures give the same bytes."""
    import matplotlib

    ending = picture_format(path)
    with matplotlib.rc_context({"svg.hashsalt": "discreet"}), written_whole(path) as file:
        figure.savefig(file, format=ending[1:], metadata=PICTURES[ending])
