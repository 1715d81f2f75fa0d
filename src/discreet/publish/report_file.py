"""The publishing report as a file of this machine: its columns are those of `report_schema`."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import polars as pl

from discreet.data.many_files import files_of, is_many
from discreet.data.published import ENDINGS
from discreet.data.releases import ROW_GROUP, sink_parquet
from discreet.data.streams import as_text, ending_of, written_as
from discreet.errors import DataError, DiscreetError
from discreet.publish.report import PersonReport
from discreet.publish.report_schema import columns_of, row_of


def check_report(path: Path, out: Path, data: Path) -> None:
    """Refuse a path that the report cannot be written to, before the work rather than after it."""
    ending_of(path, ENDINGS, "reports")
    if not path.parent.is_dir():
        raise DiscreetError(f"{path}: there is no folder {path.parent}; make it, or choose another")
    others = [out, data, *_files_of(data)]
    if any(path.absolute() == one.absolute() or _same(path, one) for one in others):
        raise DiscreetError(f"{path}: the report would take the place of another file; give another --report")


def _files_of(data: Path) -> list[Path]:
    """Those of a folder or a pattern; what is wrong with them is told when they are read."""
    try:
        return files_of(data)[0] if is_many(data) else []
    except DataError:
        return []


def _same(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.samefile(other)


def write_reports(path: Path, reports: Iterable[PersonReport], secrets: Sequence[str]) -> None:
    """Write reports as they come; the file appears whole or not at all.

    It contains private data, so only its owner may read it.
    """
    schema = columns_of(secrets)
    rows = (row_of(one, secrets) for one in reports)
    with written_as(path, private=True) as file:
        if ending_of(path, ENDINGS, "reports") == ".csv":
            with as_text(file) as text:
                csv.writer(text, lineterminator="\n").writerows([tuple(schema)])
                quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
                plain = csv.writer(text, lineterminator="\n")
                for row in rows:  # a lone carriage return in a name would end the row unless quoted
                    (quoted if "\r" in str(row[0]) else plain).writerow(row)
            return
        groups = (pl.DataFrame([first, *islice(rows, ROW_GROUP - 1)], schema=schema, orient="row") for first in rows)
        sink_parquet(file, schema, groups)
