"""Several files as one table: those that a pattern finds, or a folder whose subfolders may name values (`key=value`).

Files are taken in order of their names. All have the same columns: where one differs from the first, that is an error
that names the file and the column, because a column that is missing from some files would be taken for one that is
empty there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from discreet.data.columns import ColumnNames
from discreet.data.source import Batch, Source
from discreet.deferred import pl
from discreet.errors import DataError

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows that have no value."""

WILD = "*?["


class ManyFiles:
    """The rows of all files that a path stands for, in order of their names.

    The values that a file's folders name stand as columns behind its own, as text.
    """

    def __init__(self, path: Path, open_file: Callable[[Path], Source]) -> None:
        self.path = path
        self.files, self._keys = files_of(path)
        self._sources = [open_file(file) for file in self.files]

    @property
    def name(self) -> str:
        """The pattern or the folder."""
        return str(self.path)

    @property
    def header(self) -> list[str]:
        """The columns of the first file, and the keys of its folders."""
        return self._whole(self._sources[0], self._keys[0])

    def batches(self, columns: ColumnNames) -> Iterator[Batch]:
        """The rows of one file after another; `done` counts bytes of files that are read to their end."""
        header = self.header
        sizes = [file.stat().st_size for file in self.files]
        kinds: dict[str, pl.DataType] = {}
        done = 0
        for file, source, keys, size in zip(self.files, self._sources, self._keys, sizes, strict=True):
            self._same(header, self._whole(source, keys), file)
            given = {role: name for role, name in columns.names().items() if name in keys}
            unread: dict[str, Any] = dict.fromkeys(given)  # what folders say, files need not
            inside = replace(columns, **unread)
            for batch in source.batches(inside):
                self._same_kinds(kinds, batch.frame, columns, file)
                frame = batch.frame.with_columns(
                    pl.lit(keys[name], dtype=pl.String).alias(role) for role, name in given.items()
                )
                far = done + size * batch.done // max(batch.total, 1)
                yield replace(batch, frame=frame, done=far, total=sum(sizes))
            done += size

    def _whole(self, source: Source, keys: dict[str, str | None]) -> list[str]:
        header = list(source.header)
        for key in keys:
            if key in header:
                raise DataError(
                    f"{source.name}: column {key!r} stands in the file and in the name of its folder; leave one out"
                )
        return [*header, *keys]

    def _same(self, first: Sequence[str], other: Sequence[str], file: Path) -> None:
        """Refuse a file whose columns are not those of the first; their order does not matter."""
        odd = [name for name in first if name not in other]
        more = [name for name in other if name not in first]
        if odd or more:
            has = f"has no column {odd[0]!r}, which" if odd else f"has a column {more[0]!r}, which"
            whose = f"{self.files[0]} has" if odd else f"{self.files[0]} has not"
            raise DataError(f"{file}: {has} {whose}; give all files the same columns, or read them apart")

    def _same_kinds(self, kinds: dict[str, pl.DataType], frame: pl.DataFrame, columns: ColumnNames, file: Path) -> None:
        """Refuse a column that is text in one file and numbers in another: the first file's rows say what it means."""
        for role, name in columns.names().items():
            if role in frame.columns and kinds.setdefault(role, frame.schema[role]) != frame.schema[role]:
                raise DataError(
                    f"{file}: column {name!r} holds {frame.schema[role]}, and in {self.files[0]} it holds "
                    f"{kinds[role]}; give all files the same columns, or read them apart"
                )


def is_many(path: Path) -> bool:
    """Whether a path stands for several files: a folder, or a pattern where there is no such file."""
    return path.is_dir() or (not path.exists() and any(mark in str(path) for mark in WILD))


def files_of(path: Path) -> tuple[list[Path], list[dict[str, str | None]]]:
    """The files of a folder or a pattern in order of their names, and the values that each file's folders name."""
    if path.is_dir():
        found = [inner for inner in path.rglob("*") if inner.is_file() and not _hidden(inner.relative_to(path))]
        nothing = f"{path}: the folder holds no files; check the path"
    else:
        anchor = Path(path.anchor or ".")
        pattern = str(path.relative_to(path.anchor)) if path.anchor else str(path)
        found = [inner for inner in anchor.glob(pattern) if inner.is_file()]
        nothing = f"{path}: no file is called so; check the pattern, and quote it so that the shell leaves it as it is"
    if not found:
        raise DataError(nothing)
    found.sort()
    return found, [_keys(inner) for inner in found]


def _hidden(path: Path) -> bool:
    """What other programs leave beside data: _SUCCESS, checksums, files that are not finished."""
    return any(part.startswith(("_", ".")) for part in path.parts)


def _keys(file: Path) -> dict[str, str | None]:
    keys: dict[str, str | None] = {}
    for folder in file.parent.parts:
        key, equals, value = folder.partition("=")
        if equals and key:
            keys[unquote(key)] = None if value == NO_VALUE else unquote(value)
    return keys
