"""Work on some people at a time: what every engine calls, whether people come from a list, a file or Spark.

A `Work` is a pure function of each person. So working on two halves of the people and joining what comes of them is
working on all of them, whatever the halves, and an engine may cut, send, repeat and reorder as suits it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl

from discreet.data.population import Triples
from discreet.errors import DiscreetError
from discreet.events import ATTRIBUTES, Trajectory
from discreet.publish.draws import RunKey
from discreet.publish.key_file import read_key
from discreet.publish.mechanism_cache import MOST_BYTES, MechanismCache
from discreet.publish.person import PublishedPerson, published
from discreet.publish.plan import Habits, Plan
from discreet.publish.report_schema import records_frame

PEOPLE: dict[str, Any] = {"person": pl.String, "activity": pl.String, "time": pl.String, "location": pl.String}
"""The columns that publishing reads and gives: an event a row, nothing where an attribute is withheld."""


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
        return Done(_rows(found), records_frame((one.report, one.given) for one in found))

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
