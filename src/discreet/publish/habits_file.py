"""Learned habits as tables: topics that all share, and a row a person, in Parquet that any engine reads.

Whoever has them publishes without learning again: people in the table have their own row, everybody else is placed
under the topics by their own events (`models.newcomers`). No pickle. Habits are public by the observer that the promise
is about; but a row tells what somebody does, so the folder is for its owner alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import DiscreetError, FileFormatError
from discreet.events import ATTRIBUTES, Event, Events
from discreet.files import folder_whole
from discreet.models.event_model import EventModel, Strengths
from discreet.models.topics import Diagnostics, TopicModel, Totals
from discreet.numerics import FloatArray
from discreet.publish.plan import Habits, TopicHabits

FORMAT, VERSION = "discreet habits", 1
SHARED, PEOPLE = "shared.parquet", "people.parquet"


def save_habits(folder: Path, habits: Habits) -> None:
    """Write habits to a new folder, which appears whole or not at all; how topics were chosen is not kept."""
    if not isinstance(habits, TopicHabits):
        raise DiscreetError(f"{habits.name} is each person's own events and is not learned; there is nothing to keep")
    if folder.exists():
        raise DiscreetError(f"{folder}: is there already; choose another place for the habits")
    model = habits.model
    learned = model.learned if isinstance(model, EventModel) else model
    with folder_whole(folder, private=True) as beside:
        _shared(model, learned).write_parquet(beside / SHARED)
        _people(learned).write_parquet(beside / PEOPLE)


def _shared(model: TopicModel | EventModel, learned: TopicModel) -> pl.DataFrame:
    events, found, totals = learned.events, learned.diagnostics, learned.totals
    occurring = None if events.occurring is None else [event.values for event in events.occurring]
    header = {
        "format": FORMAT,
        "version": VERSION,
        "strengths": asdict(model.strengths) if isinstance(model, EventModel) else None,
        "events": [events.activities, events.times, events.locations, occurring],
        "diagnostics": None if found is None else {"r_hat": found.r_hat, "converged": found.converged},
    }
    arrays = {name: getattr(learned, name) for name in ("initial", *ATTRIBUTES)}
    arrays["starts"] = np.zeros(0) if totals is None else totals.starts
    arrays["traces"] = np.zeros((0, 0)) if found is None else found.traces
    header["shapes"] = {name: array.shape for name, array in arrays.items()}
    columns = {name: [array.ravel().tolist()] for name, array in arrays.items()}
    return pl.DataFrame({"header": [json.dumps(header)], **columns}, schema={"header": pl.String} | _lists(arrays))


def _lists(names: Any) -> dict[str, Any]:
    return {name: pl.List(pl.Float64) for name in names}


def _people(learned: TopicModel) -> pl.DataFrame:
    """person, transition (K * K), and where counted: steps (K * K), events (E) and topics (E * K)."""
    totals, rows = learned.totals, []
    for number, person in enumerate(learned.people):
        row: dict[str, Any] = {"person": person, "transition": learned.transitions[number].ravel().tolist()}
        if totals is not None:
            pairs = slice(*np.searchsorted(totals.person, [number, number + 1]))
            row["steps"] = totals.steps[number].ravel().tolist()
            row["events"] = totals.event[pairs].tolist()
            row["topics"] = totals.topics[pairs].ravel().tolist()
        rows.append(row)
    schema = {"person": pl.String, **_lists(["transition", "steps"]), "events": pl.List(pl.Int64)}
    return pl.DataFrame(rows, schema=schema | _lists(["topics"]))


def load_habits(folder: Path) -> TopicHabits:
    """Read what `save_habits` wrote: bit for bit the same habits."""
    try:
        shared = pl.read_parquet(folder / SHARED, glob=False).row(0, named=True)
        people = pl.read_parquet(folder / PEOPLE, glob=False)
        header = json.loads(shared["header"])
        if header["format"] != FORMAT or header["version"] != VERSION:
            raise FileFormatError(f"{folder}: holds no habits that this version reads; learn them again")
        arrays = {
            name: np.reshape(np.array(shared[name], dtype=float), shape) for name, shape in header["shapes"].items()
        }
        return _habits(header, arrays, people)
    except (OSError, pl.exceptions.PolarsError, KeyError, TypeError, ValueError, IndexError) as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise FileFormatError(f"{folder}: holds no habits, or damaged ones ({why}); learn them again") from None


def _habits(header: dict[str, Any], arrays: dict[str, FloatArray], people: pl.DataFrame) -> TopicHabits:
    activities, times, locations, occurring = header["events"]
    K, found = len(arrays["initial"]), header["diagnostics"]
    learned = TopicModel(
        Events(activities, times, locations, None if occurring is None else tuple(Event(*one) for one in occurring)),
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
