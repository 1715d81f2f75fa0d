"""Several people released from one table of readings, each by a model of their own, from a folder of models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from heapq import nsmallest
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from discreet.batch.inputs import Maker, check_policy, ends_at_midnight, read_model, read_policy_for
from discreet.batch.reading import ReadingOptions, reading_table
from discreet.batch.truth import warn
from discreet.batch.workers import BySpark, by_spark, each_person
from discreet.errors import DataError, DiscreetError, FileFormatError
from discreet.listener import NOBODY, Listener, Note, ignore

if TYPE_CHECKING:
    from discreet.clock import Clock
    from discreet.contexts import Day
    from discreet.live import Stream
    from discreet.mechanisms.named import Spec
    from discreet.models.routine.parts import AnyModel
    from discreet.outputs import Release
    from discreet.policy import Policy
    from discreet.publish.draws import PieceDraws, RunKey

LISTED = 5
"""Names in a message."""


class PeopleRelease:
    """People by name, each with a model of their own: all is looked at before the first output is written."""

    def __init__(self, files: Mapping[str, Path], policy: Path, spec: Spec, listener: Listener = NOBODY) -> None:
        self.files, self.spec, self.listener = files, spec, listener
        self.habits: dict[str, AnyModel] = {name: read_model(path) for name, path in files.items()}
        clocks = {habits.clock for habits in self.habits.values()}
        if len(clocks) > 1 or None in clocks:
            raise DiscreetError(
                f"{self.any_file.parent}: the models have several clocks, or none, and a file is read by "
                "one; learn all with the same, or release one person at a time"
            )
        (self.clock,) = clocks
        self.policies = {name: read_policy_for(policy, habits) for name, habits in self.habits.items()}
        self.days: dict[str, list[Day]] = {}
        self.bad = self.carried = self.off_model = 0
        self.daily = False

    @property
    def any_file(self) -> Path:
        """One of the models: all were learned from one file of readings, and remember how it was read."""
        return next(iter(self.files.values()))

    def __len__(self) -> int:
        return len(self.days)

    def read(self, data: Path, reading: ReadingOptions) -> PeopleRelease:
        """Each person's days; those of whom there is no model are an error, and none is left out in silence."""
        assert self.clock is not None  # seen to above
        self.carried = reading.carried(self.clock)
        # The stream carries readings itself, over dates without any too: a file and a pipe release alike.
        readings = reading.as_they_came().read(data, self.clock, listener=self.listener)
        without = [name for name in readings.people if name not in self.habits]
        if without:
            raise DataError(
                f"{data}: {len(without)} of {len(readings.people)} people have no model in "
                f"{self.any_file.parent} ({_some(without)}); learn theirs too, or choose one of the "
                "others with --person"
            )
        self.days, self.bad = dict(sorted(readings.people.items())), readings.bad.count
        absent = [name for name in self.habits if name not in self.days]
        if reading.person is None:
            _tell_absent(absent, len(absent), len(self.habits), data, self.listener.note)
        self._served()
        for name in self.days:
            warn(self.files[name], self.listener.note)
        return self

    def _served(self) -> None:
        for name, days in self.days.items():
            check_served(name, self.habits[name], days)

    @property
    def dates(self) -> int:
        """Of all people together."""
        from discreet.live import span

        return sum(span(days)[1] for days in self.days.values())

    @property
    def outputs(self) -> int:
        """One a slot."""
        assert self.clock is not None  # seen to above
        return self.dates * self.clock.slots

    def releases(self, workers: int = 1, seed: int | None = None) -> Iterator[Release]:
        """Person after person, each in a stream of their own, which draws from the operating system's entropy.

        With a seed, from the run's key that it gives. Several processes hold the releases of a few people; one holds
        none.
        """
        from discreet.publish.draws import RunKey

        key = None if seed is None else RunKey.of_seed(seed)
        everybody = (
            PersonToRelease(name, self.habits[name], self.spec, self.policies[name], days, self.carried, key)
            for name, days in self.days.items()
        )
        if workers == 1:
            for person in everybody:
                stream, rows = person.opened()
                with stream:
                    yield from rows
                self._count(stream.off_model, ends(stream))
            return
        for one in each_person(released, everybody, workers):
            yield from one.releases
            self._count(one.off_model, one.daily)

    def _count(self, off_model: int, daily: bool) -> None:
        self.off_model += off_model
        self.daily = self.daily or daily

    def tell(self) -> None:
        """What only these people may know."""
        _tell(self.daily, self.spec.name, self.bad, self.off_model, self.listener.note)


def check_served(name: str, habits: AnyModel, days: list[Day]) -> None:
    """A date that no part of its model serves is an error now, not after half of the file."""
    from discreet.evaluation.week import every_date
    from discreet.models.routine.parts import part_on

    try:
        for day in every_date(days):
            part_on(habits, day.date)
    except DiscreetError as error:
        raise DiscreetError(f"{name}: {error}") from None


class PersonToRelease(NamedTuple):
    """One person as a process is sent them."""

    name: str
    habits: AnyModel
    spec: Spec
    policy: Policy
    days: list[Day]
    carried: int
    key: RunKey | None
    """Of the run: for draws that can be repeated."""

    def opened(self) -> tuple[Stream, Iterator[Release]]:
        """The person's own stream, and its releases as they are drawn."""
        from discreet.live import Stream, span
        from discreet.publish.draws import habits_decision_of

        draws = None
        if self.key is not None:
            draws = self.key.stream(self.name, habits_decision_of(self.habits, self.policy, self.spec))
        make, start = Maker(self.spec, self.policy), span(self.days)[0]
        stream = Stream(self.habits, make, start=start, carry=self.carried, person=self.name, rng=draws)
        rows = stream.releases(self.days)
        return stream, rows if draws is None else _slot_by_slot(rows, draws)


def _slot_by_slot(rows: Iterator[Release], draws: PieceDraws) -> Iterator[Release]:
    """Each slot from bits of its own: a release is drawn when it is asked for."""
    for slot in count():
        draws.at(slot)
        row = next(rows, None)
        if row is None:
            return
        yield row


class PersonReleased(NamedTuple):
    """What came of one person."""

    releases: list[Release]
    off_model: int
    daily: bool


def released(one: PersonToRelease) -> PersonReleased:
    """One person's releases: what every engine calls."""
    stream, rows = one.opened()
    with stream:
        releases = list(rows)
    return PersonReleased(releases, stream.off_model, ends(stream))


# --- Spark: each person's model is read where the person is worked on


@dataclass(frozen=True)
class ModelFolder:
    """A folder of models as workers are sent it; all see it under the same name."""

    models: Path
    clock: Clock
    file: Path
    """Of the policy, for messages: workers need not see it."""
    policy: Policy
    stated: Clock | None
    """The clock that the policy's times were read on."""
    note: Note = ignore

    @classmethod
    def read(cls, models: Path, policy: Path, note: Note = ignore) -> tuple[ModelFolder, Path]:
        """The folder, and any of its models: all were learned by one clock and from one table."""
        from discreet.policy import read_policy

        first = models / min(_model_files(models), default="")
        if first == models:
            raise FileFormatError(f"{models}: holds no model; make one for each person with `discreet learn`")
        clock = read_model(first).clock
        if clock is None:
            raise DiscreetError(f"{first}: {NO_CLOCK}")
        return cls(models.absolute(), clock, policy, *read_policy(policy, clock), note), first

    def habits(self, name: str, days: list[Day]) -> AnyModel:
        """A person's habits, looked at as `PeopleRelease` does before anything is released or judged."""
        from discreet.models.store import files_for

        path = files_for(self.models, [name, ""])[name]
        if not path.is_file():
            raise DataError(
                f"{name}: has no model in {self.models}; learn theirs too, or choose one of the others with --person"
            )
        habits = read_model(path)
        if habits.clock != self.clock:
            raise DiscreetError(f"{path}: {NO_CLOCK}")
        check_policy(self.file, self.policy, self.stated, habits)
        check_served(name, habits, days)
        warn(path, self.note)
        return habits

    def tell_absent(self, found: BySpark, data: Path) -> None:
        """Say which models nobody's readings were for; everybody has one."""
        from discreet.models.store import person_of

        models = sum(1 for _ in _model_files(self.models))
        if models > len(found):
            seen = set(found.names())
            others = (name for name in map(person_of, _model_files(self.models)) if name not in seen)
            _tell_absent(nsmallest(LISTED + 1, others), models - len(found), models, data, self.note)


def _model_files(folder: Path) -> Iterator[str]:
    """The names of the models in a folder, however many, one at a time."""
    from discreet.models.store import ENDING

    with os.scandir(folder) as entries:
        yield from (entry.name for entry in entries if entry.name.endswith(ENDING))


NO_CLOCK = "has no clock, or another than the other models, and a table is read by one; learn all with the same"


def release_of(
    folder: ModelFolder, spec: Spec, carried: int, key: Path, person: tuple[str, list[Day]]
) -> PersonReleased:
    """`released` of a person whose model is in a folder, and the run's key in a file."""
    from discreet.publish.key_file import read_key

    name, days = person
    return released(PersonToRelease(name, folder.habits(name, days), spec, folder.policy, days, carried, read_key(key)))


@dataclass
class SparkRelease:
    """A population released by Spark: what `PeopleRelease` is to the command."""

    found: BySpark
    folder: ModelFolder
    spec: Spec
    data: Path
    chosen: bool
    """Whether one person was asked for."""

    def __len__(self) -> int:
        return len(self.found)

    @property
    def dates(self) -> int:
        """Of all people together."""
        return self.found.read.dates

    @property
    def outputs(self) -> int:
        """One a slot."""
        return self.dates * self.folder.clock.slots

    def releases(self) -> Iterator[Release]:
        """Person after person, as Spark has written them; what only these people may know is said at the end."""
        off_model, daily = 0, False
        for one in self.found:
            yield from one.releases
            off_model, daily = off_model + one.off_model, daily or one.daily
        if not self.chosen:
            self.folder.tell_absent(self.found, self.data)
        _tell(daily, self.spec.name, self.found.read.bad.count, off_model, self.folder.note)


@contextmanager
def spark_release(
    folder: ModelFolder,
    data: Path,
    reading: ReadingOptions,
    spec: Spec,
    kept: Path,
    master: str | None,
    listener: Listener = NOBODY,
) -> Iterator[SparkRelease]:
    """Everybody released by Spark, from the key in the folder of the run."""
    from discreet.publish.engines.spark.work import KEY

    # The stream carries readings itself, over dates without any too: a file and a pipe release alike.
    table = reading_table(reading.as_they_came(), data, folder.clock, note_later=listener.note_later)
    work = partial(release_of, folder, spec, reading.carried(folder.clock), kept / KEY)
    with by_spark(work, table, kept, master, only=reading.person, listener=listener) as found:
        yield SparkRelease(found, folder, spec, data, reading.person is not None)


# --- what is said


def tell(stream: Stream, name: str, note: Note, skipped: int = 0) -> None:
    """What only the person may know."""
    _tell(ends(stream), name, skipped, stream.off_model, note)


def ends(stream: Stream) -> bool:
    """Whether a routine's days are released one at a time."""

    from discreet.models.routine.parts import AnyRoutine

    return isinstance(stream.model, AnyRoutine) and not stream.endless


def _tell(ends: bool, name: str, skipped: int, off_model: int, note: Note) -> None:
    if ends:
        note(ends_at_midnight(name))
    if skipped:
        note(f"{skipped} bad rows were skipped")
    if off_model:
        note(f"off model: {off_model} (readings that the model holds impossible; reported here only, not on stdout)")


def _tell_absent(some: list[str], absent: int, models: int, data: Path, note: Note) -> None:
    if absent:
        note(f"{absent} of {models} models have no readings in {data} ({_some(some)})")


def _some(names: list[str]) -> str:
    return ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
