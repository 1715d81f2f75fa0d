"""Learned habits as tables: topics that all share, and a row a person, in Parquet that any engine reads.

Whoever has them publishes without learning again: people in the table have their own row, everybody else is placed
under the topics by their own events (`models.newcomers`). What all share is summed up in the table of topics, so that
rows of people can be read some at a time (`load_some`), or be joined with their events, wherever these are (`joined`).
No pickle. Habits are public by the observer that the promise is about; but a row tells what somebody does, so the
folder is for its owner alone.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.data.releases import sink_parquet
from discreet.errors import DiscreetError, FileFormatError
from discreet.events import ATTRIBUTES, Event, Events
from discreet.files import folder_whole, written_whole
from discreet.models.topics.event_model import EventModel, Strengths
from discreet.models.topics.model import Diagnostics, TopicModel, Totals
from discreet.models.topics.shared import OwnHabits, SharedTopics
from discreet.numerics import FloatArray
from discreet.publish.plan import Habits, TopicHabits

FORMAT, VERSION = "discreet habits", 2
SHARED, PEOPLE = "shared.parquet", "people.parquet"

OWN: dict[str, Any] = {
    "transition": pl.List(pl.Float64),
    "steps": pl.List(pl.Float64),
    "events": pl.List(pl.Int64),
    "topics": pl.List(pl.Float64),
}
"""Of a person's row: transition (K * K), and where counted: steps (K * K), events (E) and topics (E * K)."""

ROWS = 4_096
"""People that are written, and read, at a time: with twenty topics some tens of megabytes."""


def save_habits(folder: Path, habits: Habits) -> None:
    """Write habits to a new folder, which appears whole or not at all; how topics were chosen is not kept."""
    if not isinstance(habits, TopicHabits):
        raise DiscreetError(f"{habits.name} is each person's own events and is not learned; there is nothing to keep")
    if folder.exists():
        raise DiscreetError(f"{folder}: is there already; choose another place for the habits")
    model = habits.model
    if isinstance(model, SharedTopics):
        raise DiscreetError("these are habits of some people; copy the folder that has those of all")
    with folder_whole(folder, private=True) as beside:
        learned = model.learned if isinstance(model, EventModel) else model
        with written_whole(beside / PEOPLE, private=True) as file:
            sink_parquet(file, {"person": pl.String(), **OWN}, _people(learned), ROWS)
        _shared(model, learned, habits.fingerprint, _digest(beside / PEOPLE)).write_parquet(beside / SHARED)


def copy_habits(folder: Path, target: Path) -> None:
    """Copy what was kept, to a new folder for its owner alone."""
    with folder_whole(target, private=True) as beside:
        for name in (SHARED, PEOPLE):
            try:
                shutil.copyfile(folder / name, beside / name)
            except OSError as error:
                raise DiscreetError(f"{target}: {folder / name} cannot be copied: {error.strerror or error}") from None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _shared(model: TopicModel | EventModel, learned: TopicModel, fingerprint: str, people: str) -> pl.DataFrame:
    events, found, totals = learned.events, learned.diagnostics, learned.totals
    occurring = None if events.occurring is None else [event.values for event in events.occurring]
    header = {
        "format": FORMAT,
        "version": VERSION,
        "fingerprint": fingerprint,
        "people": people,
        "strengths": None if model.strengths is None else asdict(model.strengths),
        "events": [events.activities, events.times, events.locations, occurring],
        "diagnostics": None if found is None else {"r_hat": found.r_hat, "converged": found.converged},
    }
    arrays = {name: getattr(learned, name) for name in ("initial", *ATTRIBUTES)}
    arrays["starts"] = np.zeros(0) if totals is None else totals.starts
    arrays["traces"] = np.zeros((0, 0)) if found is None else found.traces
    # Of the model that judges: sums over all people, to the bit as they are made from them.
    arrays |= {f"all {name}": getattr(model, name) for name in ("initial", "emissions", "shared_transition")}
    header["shapes"] = {name: array.shape for name, array in arrays.items()}
    columns = {name: [array.ravel().tolist()] for name, array in arrays.items()}
    schema: dict[str, Any] = {"header": pl.String, **dict.fromkeys(arrays, pl.List(pl.Float64))}
    return pl.DataFrame({"header": [json.dumps(header)], **columns}, schema=schema)


def _people(learned: TopicModel) -> Iterator[pl.DataFrame]:
    """A row a person, some people at a time."""
    for start in range(0, len(learned.people), ROWS):
        some = range(start, min(start + ROWS, len(learned.people)))
        yield pl.DataFrame([_row(learned, number) for number in some], schema={"person": pl.String, **OWN})


def _row(learned: TopicModel, number: int) -> dict[str, Any]:
    person, totals = learned.people[number], learned.totals
    row: dict[str, Any] = {"person": person, "transition": learned.transitions[number].ravel().tolist()}
    if totals is not None:
        pairs = slice(*np.searchsorted(totals.person, [number, number + 1]))
        row["steps"] = totals.steps[number].ravel().tolist()
        row["events"] = totals.event[pairs].tolist()
        row["topics"] = totals.topics[pairs].ravel().tolist()
    return row


def load_habits(folder: Path) -> TopicHabits:
    """Read what `save_habits` wrote: bit for bit the same habits, of everybody."""
    with _told_damaged(folder):
        header, arrays = _read_shared(folder)
        return _habits(header, arrays, pl.read_parquet(folder / PEOPLE, glob=False))


def load_some(folder: Path, people: Iterable[str] = ()) -> TopicHabits:
    """The same habits with the rows of these people alone, as many of them as were learned from."""
    with _told_damaged(folder):
        header, arrays = _read_shared(folder)
        found, strengths = header["diagnostics"], header["strengths"]
        shared = SharedTopics(
            _events(header),
            arrays["all initial"],
            arrays["all emissions"],
            arrays["all shared_transition"],
            header["fingerprint"],
            None if strengths is None else Strengths(**strengths),
            None if found is None else Diagnostics(arrays["traces"], found["r_hat"], found["converged"]),
        )
        wanted = sorted(set(people))
        rows = pl.scan_parquet(folder / PEOPLE, glob=False).filter(pl.col("person").is_in(wanted))
        return joined(TopicHabits(shared, folder=folder), rows.collect(engine="streaming"))


def joined(habits: TopicHabits, rows: pl.DataFrame) -> TopicHabits:
    """Habits that all share, with these rows of people (`person` and OWN) in the place of those that they had."""
    if not isinstance(habits.model, SharedTopics):
        raise DiscreetError("rows of people are joined with topics that all share; read these by load_some")
    K = habits.model.topics
    own = {row["person"]: _own(row, K) for row in rows.iter_rows(named=True)}
    return replace(habits, model=replace(habits.model, own=own))


def _own(row: dict[str, Any], K: int) -> OwnHabits:
    transition = np.reshape(np.array(row["transition"], dtype=np.float64), (K, K))
    if row["steps"] is None:
        return OwnHabits(transition)
    return OwnHabits(
        transition,
        np.reshape(np.array(row["steps"], dtype=np.float64), (K, K)),
        np.array(row["events"], dtype=np.int64),
        np.reshape(np.array(row["topics"], dtype=np.float64), (-1, K)),
    )


@contextmanager
def _told_damaged(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, pl.exceptions.PolarsError, KeyError, TypeError, ValueError, IndexError) as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise FileFormatError(f"{folder}: holds no habits, or damaged ones ({why}); learn them again") from None


def _read_shared(folder: Path) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    shared = pl.read_parquet(folder / SHARED, glob=False).row(0, named=True)
    header = json.loads(shared["header"])
    if header["format"] != FORMAT or header["version"] != VERSION:
        raise FileFormatError(f"{folder}: holds no habits that this version reads; learn them again")
    if _digest(folder / PEOPLE) != header["people"]:
        raise ValueError(f"{PEOPLE} is not the one that was written with {SHARED}")
    shapes = header["shapes"].items()
    return header, {name: np.reshape(np.array(shared[name], dtype=float), shape) for name, shape in shapes}


def _events(header: dict[str, Any]) -> Events:
    activities, times, locations, occurring = header["events"]
    return Events(activities, times, locations, None if occurring is None else tuple(Event(*one) for one in occurring))


def _habits(header: dict[str, Any], arrays: dict[str, FloatArray], people: pl.DataFrame) -> TopicHabits:
    K, found = len(arrays["initial"]), header["diagnostics"]
    learned = TopicModel(
        _events(header),
        tuple(people["person"].to_list()),
        arrays["initial"],
        _stacked(people["transition"], K),
        activity=arrays["activity"],
        time=arrays["time"],
        location=arrays["location"],
        diagnostics=None if found is None else Diagnostics(arrays["traces"], found["r_hat"], found["converged"]),
        totals=None if people["steps"].null_count() else _totals(arrays["starts"], people, K),
    )
    return TopicHabits(EventModel(learned, Strengths(**header["strengths"])) if header["strengths"] else learned)


def _totals(starts: FloatArray, people: pl.DataFrame, K: int) -> Totals:
    own = people["events"].list.len().to_numpy()
    return Totals(
        starts,
        _stacked(people["steps"], K),
        np.repeat(np.arange(people.height), own),
        people["events"].explode(empty_as_null=False).to_numpy().astype(np.int64),
        people["topics"].explode(empty_as_null=False).to_numpy().reshape(-1, K),
    )


def _stacked(column: pl.Series, K: int) -> FloatArray:
    """(U, K, K) of lists of K * K."""
    return np.array(column.explode(empty_as_null=False).to_numpy(), dtype=np.float64).reshape(-1, K, K)
