"""From data files to each person's days, by stated rules.

People are numbers from 1 on, in the order of the file: no name or label of the data reaches a result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar, get_args

import polars as pl

from discreet.clock import Clock
from discreet.contexts import OTHER, UNKNOWN, Day, carry_forward, merge_rare
from discreet.data import Columns, read_days
from discreet.errors import DataError, DiscreetError, did_you_mean
from discreet.listener import Progress

Level = Literal["tower", "site", "area", "region", "meal", "venue", "category", "kind", "cell"]
"""What a context is: a cell tower or what lies above it, or (in other files) a meal, a venue or what lies above that,
or a cell of the map."""

TOWERS: tuple[Level, ...] = ("tower", "site", "area", "region")
VENUES: tuple[Level, ...] = ("venue", "category", "kind")
"""The levels of a hierarchy, finest first."""

READINGS = "reality_mining_15min.csv.gz"
HIERARCHY = "reality_mining_hierarchy.csv.gz"
MEALS = "studentlife_dining.csv.gz"
CHECK_INS = "foursquare_calgary.csv.gz"

RECORDED_SLOTS = 96
"""Reality Mining has a row a quarter of an hour."""

NO_SIGNAL = "c0001"
"""Almost surely "no tower in reach": at every level a slot without a reading, unless the rules say otherwise."""

NoSignal = Literal["unknown", "context"]

NOT_PLACES = frozenset({UNKNOWN, OTHER})
"""Labels that stand for no reading and for rare contexts together."""


@dataclass(frozen=True)
class Rules:
    """How recorded days become days of an experiment.

    Towers are named by `level`; the most frequent reading of a slot stands, the later of two equally frequent; a
    reading is carried forward for `carry_hours`, over midnight between consecutive dates, and with `backward` from the
    first reading of a day to its start; then contexts below the share `merge_below` of the person's slots become
    `other`. Only dates with a reading count, and only people with at least `least_days` of them. A phone without a
    signal has no reading, or with `no_signal="context"` is somewhere like any other place.
    """

    level: Level = "area"
    slots: int = 24
    carry_hours: float = 4.0
    backward: bool = True
    merge_below: float = 0.005
    cut: str = "00:00"
    least_days: int = 30
    no_signal: NoSignal = "unknown"

    def __post_init__(self) -> None:
        if self.level not in get_args(Level):
            raise DiscreetError(f"level {self.level!r} is not known; {did_you_mean(self.level, get_args(Level))}")
        if self.slots < 2 or RECORDED_SLOTS % self.slots:
            raise DiscreetError(
                f"96 quarters of an hour cannot be cut into {self.slots} slots; use a divisor of 96 such as 24, 48 "
                "or 96"
            )
        if not self.carry_hours >= 0:  # also catches NaN
            raise DiscreetError(f"readings cannot be carried for {self.carry_hours:g} hours; give 0 or more")
        if self.least_days < 2:
            raise DiscreetError("people need at least 2 days, one to learn from and one to be judged by")


@dataclass(frozen=True)
class Trace:
    """One person's days as recorded; `names[level]` renames the contexts, those left out keep theirs."""

    number: int
    days: tuple[Day, ...]
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


Item = TypeVar("Item")


def spread(items: Sequence[Item], most: int | None) -> list[Item]:
    """At most so many of them, evenly spread; None for all."""
    count = len(items) if most is None else min(most, len(items))
    return [items[k * len(items) // count] for k in range(count)]


def reality_mining(folder: Path, rules: Rules, progress: Progress | None = None) -> list[Trace]:
    """Everybody's towers by quarters of an hour, those with too few days left out."""
    levels = {"tower": {NO_SIGNAL: UNKNOWN}, **_levels(existing(folder, HIERARCHY), TOWERS[1:])}
    days = _read(existing(folder, READINGS), Clock(RECORDED_SLOTS, cut=rules.cut), "context", progress)
    enough = [own for own in days if len(own) >= rules.least_days]
    return [Trace(number, tuple(own), _names_of(own, levels)) for number, own in enumerate(enough, 1)]


def meals(folder: Path, rules: Rules, progress: Progress | None = None) -> list[Trace]:
    """Everybody's meals on campus (StudentLife) by the rules' slots, those with too few days left out."""
    clock = Clock(rules.slots, cut=rules.cut)
    days = _read(existing(folder, MEALS), clock, "meal", progress)
    enough = [own for own in days if len(own) >= rules.least_days]
    return [Trace(number, tuple(own)) for number, own in enumerate(enough, 1)]


def check_ins(folder: Path, rules: Rules, progress: Progress | None = None) -> list[Trace]:
    """Everybody's venues (Foursquare) by the rules' slots, those with too few days left out."""
    path = existing(folder, CHECK_INS)
    levels = _levels(path, VENUES[1:], {"kind": "category_l1"})
    days = _read(path, Clock(rules.slots, cut=rules.cut), "context", progress)
    enough = [own for own in days if len(own) >= rules.least_days]
    return [Trace(number, tuple(own), _names_of(own, levels)) for number, own in enumerate(enough, 1)]


def prepared(trace: Trace, rules: Rules) -> list[Day]:
    """The person's days by the rules."""
    names = dict(trace.names.get(rules.level, {}))
    if rules.no_signal == "context" and NO_SIGNAL in names:
        names[NO_SIGNAL] = NO_SIGNAL
    days = [_coarser(day, [names.get(label, label) for label in day.contexts], rules.slots) for day in trace.days]
    carried = carry_forward(days, int(rules.carry_hours * rules.slots / 24), backward=rules.backward)
    return merge_rare(carried, rules.merge_below)


def _coarser(day: Day, labels: Sequence[str], slots: int) -> Day:
    width = len(labels) // slots
    return replace(day, contexts=tuple(_modal(labels[k : k + width]) for k in range(0, len(labels), width)))


def _modal(labels: Sequence[str]) -> str:
    """The most frequent reading, the later of two equally frequent; unknown if there is none."""
    counts = Counter(label for label in labels if label != UNKNOWN)
    if len(counts) <= 1:
        return next(iter(counts), UNKNOWN)
    most = max(counts.values())
    return next(label for label in reversed(labels) if counts[label] == most)


def existing(folder: Path, name: str) -> Path:
    """The path of a data file, if it is there."""
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder; give the folder that holds {name} as --data")
    path = folder / name
    if not path.is_file():
        raise DataError(f"{path}: there is no such file; this experiment is made from it")
    return path


def _read(path: Path, clock: Clock, context: str, progress: Progress | None) -> list[list[Day]]:
    columns = Columns(context=context)
    # Times are local and say no zone; read and cut in the same one, they stay as they are.
    readings = read_days(path, clock, columns=columns, zone="UTC", pick="modal", progress=progress)
    return list(readings.people.values())


def _levels(path: Path, above: Sequence[Level], columns: Mapping[str, str] | None = None) -> dict[str, dict[str, str]]:
    """{level: {context: its name there}}, from columns called like levels unless `columns` says; none: no reading."""
    column_of = {level: (columns or {}).get(level, level) for level in above}
    try:
        table = pl.read_csv(path, schema_overrides={"context": pl.String}, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path}: cannot be read as CSV: {str(error).splitlines()[0]}") from None
    for column in ("context", *column_of.values()):
        if column not in table.columns:
            wanted = ", ".join(column_of.values())
            raise DataError(f"{path}: has no column {column!r}; its columns should be context, {wanted}")
    contexts = table["context"].to_list()
    return {
        level: dict(zip(contexts, table[column].cast(pl.String).fill_null(UNKNOWN).to_list(), strict=True))
        for level, column in column_of.items()
    }


def _names_of(days: Sequence[Day], levels: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The part of the hierarchy that one person's days need."""
    seen = {label for day in days for label in day.contexts}
    return {level: {label: name for label, name in names.items() if label in seen} for level, names in levels.items()}
