"""A table of reports: a row a person, for the publisher alone."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from discreet.data.published import ENDINGS
from discreet.data.releases import ROW_GROUP
from discreet.data.streams import as_text, ending_of, written_as
from discreet.errors import DiscreetError
from discreet.publish.report import PersonReport

COLUMNS: dict[str, pl.DataType] = {
    "person": pl.String(),
    "events": pl.Int64(),
    "windows": pl.Int64(),
    "utility": pl.Float64(),
    "silent": pl.Int64(),
    "breached": pl.Int64(),
    "breach_rate": pl.Float64(),
    "worst_gain": pl.Float64(),
    "off_model": pl.Int64(),
    "settled": pl.Int64(),
}


def check_report(path: Path, *others: Path) -> None:
    """Refuse a place where the reports cannot stand, before the work rather than after it."""
    ending_of(path, ENDINGS, "reports")
    if not path.parent.is_dir():
        raise DiscreetError(f"{path}: there is no folder {path.parent}; make it, or choose another")
    if any(path.absolute() == other.absolute() for other in others):
        raise DiscreetError(f"{path}: the report would take the place of another file; give another --report")


def write_reports(path: Path, reports: Iterable[PersonReport], secrets: Sequence[str]) -> None:
    """Write reports as they come, with a column `gain NAME` for each secret; the file appears whole or not at all."""
    schema = COLUMNS | {f"gain {name}": pl.Float64() for name in secrets}
    rows = (_row(one, secrets) for one in reports)
    with written_as(path) as file:
        if ending_of(path, ENDINGS, "reports") == ".csv":
            with as_text(file) as text:
                csv.writer(text, lineterminator="\n").writerows([tuple(schema)])
                csv.writer(text, lineterminator="\n").writerows(rows)
            return

        def frames(
            _columns: list[str] | None, _where: pl.Expr | None, _rows: int | None, _batch: int | None
        ) -> Iterator[pl.DataFrame]:
            for first in rows:
                yield pl.DataFrame([first, *islice(rows, ROW_GROUP - 1)], schema=schema, orient="row")

        register_io_source(frames, schema=schema).sink_parquet(file, row_group_size=ROW_GROUP)


def _row(one: PersonReport, secrets: Sequence[str]) -> tuple[object, ...]:
    values = (
        one.person,
        one.events,
        one.pieces,
        one.utility,
        one.silent,
        one.breached,
        one.breach_rate,
        one.worst_gain,
        one.off_model,
        one.settled,
    )
    return *values, *(one.by_secret.get(name) for name in secrets)
