"""Several people released in one go: a folder with a model for each, and one file of readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from discreet.cli.inputs import Maker, ReadingOptions, ends_at_midnight, read_model, read_policy_for
from discreet.cli.people import each_person
from discreet.cli.terminal import note
from discreet.cli.truth import warn
from discreet.errors import DataError, DiscreetError

if TYPE_CHECKING:
    from discreet.contexts import Day
    from discreet.live import Stream
    from discreet.mechanisms.named import Spec
    from discreet.models.parts import AnyModel
    from discreet.outputs import Release
    from discreet.policy import Policy

LISTED = 5
"""Names in a message."""


class Family:
    """People by name, each with a model of their own: all is looked at before the first output is written."""

    def __init__(self, files: Mapping[str, Path], policy: Path, spec: Spec) -> None:
        self.files, self.spec = files, spec
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

    def read(self, data: Path, reading: ReadingOptions) -> Family:
        """Each person's days; those of whom there is no model are an error, and none is left out in silence."""
        assert self.clock is not None  # seen to above
        self.carried = reading.carried(self.clock)
        # The stream carries readings itself, over dates without any too: a file and a pipe release alike.
        readings = reading.as_they_came().read(data, self.clock)
        without = [name for name in readings.people if name not in self.habits]
        if without:
            raise DataError(
                f"{data}: {len(without)} of {len(readings.people)} people have no model in "
                f"{self.any_file.parent} ({_some(without)}); learn theirs too, or choose one of the "
                "others with --person"
            )
        self.days, self.bad = dict(sorted(readings.people.items())), readings.bad.count
        absent = [name for name in self.habits if name not in self.days]
        if absent and reading.person is None:
            note(f"{len(absent)} of {len(self.habits)} models have no readings in {data} ({_some(absent)})")
        self._served()
        for name in self.days:
            warn(self.files[name])
        return self

    def _served(self) -> None:
        """A date that no part of its model serves is an error now, not after half of the file."""
        from discreet.evaluation.week import every_date
        from discreet.models.parts import part_on

        for name, days in self.days.items():
            try:
                for day in every_date(days):
                    part_on(self.habits[name], day.date)
            except DiscreetError as error:
                raise DiscreetError(f"{name}: {error}") from None

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

    def releases(self, workers: int = 1) -> Iterator[Release]:
        """Person after person, each in a stream of their own, which draws from the operating system's entropy.

        Several processes hold the releases of a few people; one holds none.
        """
        if workers == 1:
            for name in self.days:
                with self._stream(name) as stream:
                    yield from stream.releases(self.days[name])
                self._count(stream.off_model, ends(stream))
            return
        everybody = (self._one(name) for name in self.days)
        for one in each_person(_released, everybody, workers):
            yield from one.releases
            self._count(one.off_model, one.daily)

    def _one(self, name: str) -> _One:
        return _One(self.habits[name], self.spec, self.policies[name], self.days[name], self.carried)

    def _stream(self, name: str) -> Stream:
        return self._one(name).stream()

    def _count(self, off_model: int, daily: bool) -> None:
        self.off_model += off_model
        self.daily = self.daily or daily

    def tell(self) -> None:
        """What only these people may know."""
        _tell(self.daily, self.spec.name, self.bad, self.off_model)


class _One(NamedTuple):
    """One person as a process is sent them."""

    habits: AnyModel
    spec: Spec
    policy: Policy
    days: list[Day]
    carried: int

    def stream(self) -> Stream:
        """The person's own."""
        from discreet.live import Stream, span

        make = Maker(self.spec, self.policy)
        start = span(self.days)[0]
        return Stream(self.habits, make, start=start, carry=self.carried, person=self.days[0].person)


class _Released(NamedTuple):
    releases: list[Release]
    off_model: int
    daily: bool


def _released(one: _One) -> _Released:
    with one.stream() as stream:
        releases = list(stream.releases(one.days))
    return _Released(releases, stream.off_model, ends(stream))


def tell(stream: Stream, name: str, skipped: int = 0) -> None:
    """What only the person may know."""
    _tell(ends(stream), name, skipped, stream.off_model)


def ends(stream: Stream) -> bool:
    """Whether a routine's days are released one at a time."""
    from discreet.models.routine import Routine

    return isinstance(stream.model, Routine) and not stream.endless


def _tell(ends: bool, name: str, skipped: int, off_model: int) -> None:
    """On stderr."""
    if ends:
        note(ends_at_midnight(name))
    if skipped:
        note(f"{skipped} bad rows were skipped")
    if off_model:
        note(f"off model: {off_model} (readings the model has no place for; said here only, not on stdout)")


def _some(names: list[str]) -> str:
    return ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
