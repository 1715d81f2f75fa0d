"""Work on some people at a time: what every engine calls, whether people come from a list, a file or Spark.

A `Work` is a pure function of each person. So working on two halves of the people and joining what comes of them is
working on all of them, whatever the halves, and an engine may cut, send, repeat and reorder as suits it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl

from discreet.adversary.known import Known
from discreet.data.triples import Triples
from discreet.errors import DiscreetError
from discreet.events import ATTRIBUTES, Trajectory
from discreet.policy import At, Guarantee, GuaranteeKind
from discreet.publish.draws import RunKey
from discreet.publish.key_file import read_key
from discreet.publish.mechanism_cache import MOST_BYTES, MechanismCache
from discreet.publish.person import PublishedPerson, published
from discreet.publish.plan import Habits, Plan
from discreet.publish.report import PersonReport

PEOPLE: dict[str, Any] = {"person": pl.String, "activity": pl.String, "time": pl.String, "location": pl.String}
"""The columns that publishing reads and gives: an event a row, nothing where an attribute is withheld."""

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
REPORTS: dict[str, Any] = {
    "person": pl.String,
    "events": pl.Int64,
    "pieces": pl.Int64,
    "attributes": pl.Float64,
    "silent": pl.Int64,
    "breached": pl.Int64,
    "off_model": pl.Int64,
    "settled": pl.Int64,
    "by_secret": pl.List(_VALUE),
    "excess_by_secret": pl.List(_VALUE),
    "known": pl.List(_KNOWN),
    "guarantee": _GUARANTEE,
    "given": pl.String,
}
"""The columns of a `PersonReport`, and `PublishedPerson.given`."""


class Done(NamedTuple):
    """What came of some people: `rows` in the order of the events, `reports` with a row a person."""

    rows: pl.DataFrame
    reports: pl.DataFrame


class Work(Protocol):
    """Something done to each person, some people at a time. It pickles."""

    def __call__(self, people: pl.DataFrame) -> Done:
        """Take a table of whole persons, sorted by person and then by time, with the columns that the work reads."""


@dataclass(frozen=True)
class PublishWork:
    """Publishing: `publish.person.published`, person after person.

    `key` is the run's, or the file that holds it (`key_file`), which is read where the work begins. A work that leaves
    the machine has a file: what an engine is sent, it may also show.
    """

    plan: Plan
    key: RunKey | Path
    most_bytes: int = MOST_BYTES
    """Of the tables that people share, in one process."""

    def __call__(self, people: pl.DataFrame) -> Done:
        """Rows and reports of these people; tables are kept from call to call."""
        key, tables = self._begun
        found = [published(self.plan, one, key, tables) for one in trajectories_of(people)]
        return Done(_rows(found), reports_frame(found))

    def under(self, habits: Habits) -> PublishWork:
        """The same work under habits of some of the people, with the key and the tables that this one has."""
        other = replace(self, plan=replace(self.plan, habits=habits))
        other.__dict__["_kept"] = self._begun
        return other

    @property
    def _begun(self) -> tuple[RunKey, MechanismCache]:
        """The key and what people share, in this process: neither is sent with the work."""
        begun: tuple[RunKey, MechanismCache] | None = self.__dict__.get("_kept")
        if begun is None:
            key = read_key(self.key) if isinstance(self.key, Path) else self.key
            begun = key, MechanismCache(self.most_bytes)
            self.__dict__["_kept"] = begun
        return begun

    def __getstate__(self) -> dict[str, Any]:
        return {"plan": self.plan, "key": self.key, "most_bytes": self.most_bytes}


def trajectories_of(people: pl.DataFrame) -> Iterator[Trajectory]:
    """Each person of a table of whole persons; one whose rows do not stand together is an error."""
    if not people.height:
        return
    names = people["person"]
    starts = np.flatnonzero((names != names.shift(1)).fill_null(True).to_numpy())
    if names.n_unique() != len(starts):
        raise DiscreetError("the rows of a person do not stand together; sort the table by person and time")
    triples = Triples.of(people)
    for first, end in pairwise([*starts.tolist(), people.height]):
        yield Trajectory(names[first], triples.between(first, end))


def _rows(found: list[PublishedPerson]) -> pl.DataFrame:
    """A row an event. Few objects are shown very often, so their values are written once and looked up."""
    number = sum(len(one.rows) for one in found)
    different = {id(row): row for one in found for row in one.rows}
    places = {known: place for place, known in enumerate(different)}
    codes = np.fromiter((places[id(row)] for one in found for row in one.rows), np.uint32, number)
    people = np.repeat(np.arange(len(found), dtype=np.uint32), [len(one.rows) for one in found])
    columns = [pl.Series([one.report.person for one in found], dtype=pl.String).gather(pl.Series(people))]
    for name in ATTRIBUTES:
        values = [getattr(row, name) for row in different.values()]
        columns.append(pl.Series(values, dtype=pl.String).gather(pl.Series(codes)))
    return pl.DataFrame(dict(zip(PEOPLE, columns, strict=True)), schema=PEOPLE)


# --- reports as a table


def reports_frame(found: list[PublishedPerson]) -> pl.DataFrame:
    """A row a person: the report, and what it was made from."""
    return pl.DataFrame([{**plain_report(one.report), "given": one.given} for one in found], schema=REPORTS)


def reports_in(frame: pl.DataFrame) -> Iterator[PersonReport]:
    """The reports of a table that `reports_frame` made."""
    return (report_of(row) for row in frame.iter_rows(named=True))


def plain_report(report: PersonReport) -> dict[str, Any]:
    """A report as plain values, by the names of REPORTS."""
    return {
        **{name: getattr(report, name) for name in REPORTS if name != "given"},
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
            **{name: row[name] for name in REPORTS if name != "given"},
            "by_secret": {one["secret"]: one["value"] for one in row["by_secret"]},
            "excess_by_secret": {one["secret"]: one["value"] for one in row["excess_by_secret"]},
            "known": tuple(map(known_of_plain, row["known"])),
            "guarantee": guarantee_of(row["guarantee"]),
        }
    )


def known_of_plain(plain: Mapping[str, Any]) -> Known:
    """What is known of one secret, of plain values."""
    return Known(**{**plain, "told_at": tuple(plain["told_at"]), "uncapped_at": tuple(plain["uncapped_at"])})


def guarantee_of(plain: Mapping[str, Any]) -> Guarantee:
    """A guarantee of plain values."""
    return _guarantee(plain["kind"], plain["statement"], plain["proven"], tuple(plain["covers"]))


@lru_cache(256)
def _guarantee(kind: GuaranteeKind, statement: str, proven: bool, covers: tuple[At, ...]) -> Guarantee:
    """One object for all who are promised the same: there are few kinds of promises, and many people."""
    return Guarantee(kind, statement, proven=proven, covers=frozenset(covers))
