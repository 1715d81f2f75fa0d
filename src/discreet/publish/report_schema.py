"""The schema of the publishing report, for every engine: one row for each person, with the same columns and types.

There are two forms. `TABLE` and the columns of each secret (`columns_of`) are what a publisher reads: flat, so that
CSV and Parquet hold the same. `RECORD` is what workers write down for each other: nested, and complete, so that a
`PersonReport` can be read back from it. Both contain private data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import polars as pl

from discreet.adversary.known import Known
from discreet.policy import At, Guarantee, GuaranteeKind
from discreet.publish.report import PersonReport

# --- the table that a publisher reads


@dataclass(frozen=True)
class Column:
    """A column of the report: its name, its type, what it means, and its value for one person."""

    name: str
    type: pl.DataType
    meaning: str
    value: Callable[[PersonReport], object]


@dataclass(frozen=True)
class SecretColumn:
    """A column that the report has for each secret, named `prefix` and the secret's name."""

    prefix: str
    meaning: str
    value: Callable[[PersonReport, str], float | None]

    def name(self, secret: str) -> str:
        """Its name in the table."""
        return f"{self.prefix} {secret}"


def _highest_prior(report: PersonReport, secret: str) -> float | None:
    return max((one.highest for one in report.known if one.name == secret), default=None)


_COUNT, _SHARE, _TEXT = pl.Int64(), pl.Float64(), pl.String()

TABLE: tuple[Column, ...] = (
    Column("person", _TEXT, "Whose events these are, as in the published table.", lambda one: one.person),
    Column("events", _COUNT, "Events of the person.", lambda one: one.events),
    Column("pieces", _COUNT, "Pieces that the events were split into (--piece); 1 if not.", lambda one: one.pieces),
    Column("attributes", _SHARE, "Events' worth of attributes shown: a third for each.", lambda one: one.attributes),
    Column("utility", _SHARE, "The share of the attributes that is shown.", lambda one: one.utility),
    Column("silent", _COUNT, "Events of which nothing is shown.", lambda one: one.silent),
    Column("breached", _COUNT, "Positions where some secret's gain exceeds its delta.", lambda one: one.breached),
    Column("breach_rate", _SHARE, "The share of positions that are breached.", lambda one: one.breach_rate),
    Column("worst_gain", _SHARE, "The largest gain on any secret.", lambda one: one.worst_gain),
    Column(
        "off_model",
        _COUNT,
        "Events that the habits give no probability: withheld, because nothing can be said of them.",
        lambda one: one.off_model,
    ),
    Column(
        "settled",
        _COUNT,
        "Positions where habits alone reveal a secret, so that nothing is left to hide.",
        lambda one: one.settled,
    ),
    Column("guarantee", _TEXT, "The weakest guarantee of the person's pieces.", lambda one: one.guarantee.kind),
    Column(
        "scope",
        _TEXT,
        "What guarantee and gains are about: 'whole trajectory', or 'each piece alone', which says nothing of an "
        "observer who joins the pieces.",
        lambda one: one.scope,
    ),
)
"""The columns that every report has, in their order."""

BY_SECRET: tuple[SecretColumn, ...] = (
    SecretColumn("gain", "The largest gain on this secret.", lambda one, secret: one.by_secret.get(secret)),
    SecretColumn(
        "excess",
        "The largest gain on this secret beyond the limit of its position; below 0, the room that is left.",
        lambda one, secret: one.excess_by_secret.get(secret),
    ),
    SecretColumn("prior", "The highest probability that habits alone give this secret.", _highest_prior),
)
"""The columns that follow, for each secret of the policy."""


def columns_of(secrets: Sequence[str]) -> dict[str, pl.DataType]:
    """{name: type} of a report on these secrets."""
    own = {column.name: column.type for column in TABLE}
    return own | {column.name(secret): _SHARE for secret in secrets for column in BY_SECRET}


def row_of(report: PersonReport, secrets: Sequence[str]) -> tuple[object, ...]:
    """One person's values, in the order of `columns_of`."""
    own = (column.value(report) for column in TABLE)
    return *own, *(column.value(report, secret) for secret in secrets for column in BY_SECRET)


def report_frame(reports: Iterable[PersonReport], secrets: Sequence[str]) -> pl.DataFrame:
    """The report on some people as a table."""
    rows = [row_of(one, secrets) for one in reports]
    return pl.DataFrame(rows, schema=columns_of(secrets), orient="row")


def person_json(report: PersonReport) -> dict[str, Any]:
    """One person's columns as JSON, with the gains by the names of the secrets."""
    return {column.name: column.value(report) for column in TABLE} | {"by_secret": dict(report.by_secret)}


def json_schema() -> dict[str, Any]:
    """A row of the report as JSON Schema. The names of secrets are the policy's, so their columns are patterns."""
    kinds = {_TEXT: "string", _COUNT: "integer", _SHARE: "number"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The report of discreet publish: one row for each person",
        "type": "object",
        "properties": {column.name: {"type": kinds[column.type], "description": column.meaning} for column in TABLE},
        "required": [column.name for column in TABLE],
        "patternProperties": {
            f"^{column.prefix} ": {"type": ["number", "null"], "description": column.meaning} for column in BY_SECRET
        },
        "additionalProperties": False,
    }


# --- the records that workers write

_VALUE = pl.Struct({"secret": pl.String, "value": pl.Float64})
_KNOWN = pl.Struct(
    {
        "name": pl.String,
        "at": pl.String,
        "delta": pl.Float64,
        "cap": pl.Float64,
        "rows": pl.Int64,
        "least": pl.Float64,
        "mean": pl.Float64,
        "highest": pl.Float64,
        "highest_at": pl.Int64,
        "limit": pl.Float64,
        "told": pl.Int64,
        "told_at": pl.List(pl.Int64),
        "uncapped": pl.Int64,
        "uncapped_at": pl.List(pl.Int64),
    }
)
_GUARANTEE = pl.Struct({"kind": pl.String, "statement": pl.String, "proven": pl.Boolean, "covers": pl.List(pl.String)})
_KNOWN_NAMES, _GUARANTEE_NAMES = ([field.name for field in kind.fields] for kind in (_KNOWN, _GUARANTEE))
_SUMMED = ("events", "pieces", "attributes", "silent", "breached", "off_model", "settled")
_OWN_TYPES = {column.name: column.type for column in TABLE}
RECORD: dict[str, Any] = {
    "person": pl.String,
    **{name: _OWN_TYPES[name] for name in _SUMMED},
    "by_secret": pl.List(_VALUE),
    "excess_by_secret": pl.List(_VALUE),
    "known": pl.List(_KNOWN),
    "guarantee": _GUARANTEE,
    "given": pl.String,
}
"""The fields of a `PersonReport`, and a digest of what it was made from (`PublishedPerson.given`)."""


def records_frame(found: Iterable[tuple[PersonReport, str]]) -> pl.DataFrame:
    """One record for each report and its digest."""
    return pl.DataFrame([{**plain_report(one), "given": given} for one, given in found], schema=RECORD)


def reports_in(records: pl.DataFrame) -> Iterator[PersonReport]:
    """The reports of a table that `records_frame` made."""
    return (report_of(row) for row in records.iter_rows(named=True))


def plain_report(report: PersonReport) -> dict[str, Any]:
    """A report as plain values, by the names of RECORD."""
    return {
        **{name: getattr(report, name) for name in RECORD if name != "given"},
        "by_secret": _values(report.by_secret),
        "excess_by_secret": _values(report.excess_by_secret),
        "known": [{name: getattr(known, name) for name in _KNOWN_NAMES} for known in report.known],
        "guarantee": {
            **{name: getattr(report.guarantee, name) for name in _GUARANTEE_NAMES},
            "covers": sorted(report.guarantee.covers),
        },
    }


def _values(by_secret: Mapping[str, float]) -> list[dict[str, Any]]:
    return [{"secret": name, "value": value} for name, value in by_secret.items()]


def report_of(row: Mapping[str, Any]) -> PersonReport:
    """The report of plain values."""
    return PersonReport(
        **{
            **{name: row[name] for name in RECORD if name != "given"},
            "by_secret": {one["secret"]: one["value"] for one in row["by_secret"]},
            "excess_by_secret": {one["secret"]: one["value"] for one in row["excess_by_secret"]},
            "known": tuple(map(known_of_plain, row["known"])),
            "guarantee": guarantee_of(row["guarantee"]),
        }
    )


def known_of_plain(plain: Mapping[str, Any]) -> Known:
    """What is known of one secret, from plain values."""
    return Known(**{**plain, "told_at": tuple(plain["told_at"]), "uncapped_at": tuple(plain["uncapped_at"])})


def guarantee_of(plain: Mapping[str, Any]) -> Guarantee:
    """A guarantee from plain values."""
    return _guarantee(plain["kind"], plain["statement"], plain["proven"], tuple(plain["covers"]))


@lru_cache(256)
def _guarantee(kind: GuaranteeKind, statement: str, proven: bool, covers: tuple[At, ...]) -> Guarantee:
    """One object for everybody with the same guarantee: there are few guarantees, and many people."""
    return Guarantee(kind, statement, proven=proven, covers=frozenset(covers))
