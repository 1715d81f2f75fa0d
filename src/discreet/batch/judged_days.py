"""Recorded days, released as an experiment and judged: one person's, or everybody's by models of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.batch.inputs import Maker, read_model, read_policy_for
from discreet.batch.reading import ReadingOptions, reading_table
from discreet.batch.release import ModelFolder, PeopleRelease
from discreet.batch.truth import KnownByPart, already_learned, check_released, known_json, truth_json
from discreet.batch.workers import by_spark, each_person
from discreet.errors import DiscreetError
from discreet.files import folder_beside
from discreet.listener import NOBODY, Listener, Note, Progress, ignore

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.clock import Clock
    from discreet.contexts import Day
    from discreet.evaluation.metrics import Evaluation
    from discreet.evaluation.truth import Truth
    from discreet.mechanisms.named import Spec
    from discreet.models.routine.parts import AnyModel
    from discreet.policy import Policy


class PersonDays(NamedTuple):
    """One person as a worker is sent them."""

    name: str
    habits: AnyModel
    policy: Policy
    days: list[Day]
    carried: int


class JudgedDays(NamedTuple):
    """What a person's days showed and told."""

    name: str
    clock: Clock | None
    joined: bool
    """Whether days are judged as one stream."""
    days: int
    learned: int | None
    results: dict[str | None, Evaluation]
    truth: Truth
    told: KnownByPart
    endless: bool
    split: float | None
    seed: int

    @property
    def breached(self) -> bool:
        """Whether some secret was, on some day."""
        return any(result.breached for result in self.results.values())

    def document(self, accepted: bool) -> dict[str, Any]:
        """For machines."""
        parts = [
            {
                "part": part,
                **asdict(result),
                "worst_odds": result.worst_odds,
                "breached_dates": sorted(map(str, result.breached_dates)),
            }
            for part, result in self.results.items()
        ]
        return {
            "without_end": self.endless,
            "seed": self.seed,
            "breached": self.breached,
            "split": self.split,
            "learned_days": self.learned,
            "parts": parts,
            "known": known_json(self.told),
            "truth": truth_json(self.truth, accepted),
        }


class JudgedPeople(NamedTuple):
    """What came of everybody, in order of their names, and how many rows were bad."""

    people: Collection[JudgedDays]
    bad: int


@dataclass(frozen=True)
class JudgeOrder:
    """Days to judge: whose, by which habits, under which policy and mechanism."""

    data: Path
    model: Path
    """One person's, or a folder of them."""
    policy: Path
    spec: Spec
    split: float | None
    seed: int
    reading: Callable[[Path], ReadingOptions]
    """How the readings are read, given a model that remembers how its own were."""
    listener: Listener = NOBODY

    @property
    def _work(self) -> partial[JudgedDays]:
        return partial(judge, self.spec, self.split, self.seed, self.listener.note)

    def one(self) -> tuple[JudgedDays, Policy, int]:
        """The days of one person, with the policy that they were judged by and how many rows were bad."""
        habits = read_model(self.model)
        policy, reading = read_policy_for(self.policy, habits), self.reading(self.model)
        days, readings = reading.as_they_came().read_one(self.data, habits, self.listener)
        with self.listener.progress("evaluating") as report:
            found = self._work(PersonDays("", habits, policy, days, reading.carried(habits.clock)), report)
        return found, policy, readings.bad.count

    def everybody(self, workers: int) -> JudgedPeople:
        """Each person of the file by their own model, by processes of this machine."""
        from discreet.models.store import files_in

        people = PeopleRelease(files_in(self.model), self.policy, self.spec, self.listener)
        people.read(self.data, self.reading(people.any_file))
        found: list[JudgedDays] = []
        with self.listener.progress("evaluating") as report:
            coming = (
                PersonDays(name, people.habits[name], people.policies[name], days, people.carried)
                for name, days in people.days.items()
            )
            for done, one in enumerate(each_person(self._work, coming, workers), 1):
                found.append(one)
                report(done, len(people))
        return JudgedPeople(found, people.bad)

    @contextmanager
    def by_spark(self, master: str | None) -> Iterator[JudgedPeople]:
        """The same, by Spark; what came of it is there while the block runs."""
        if not self.model.is_dir():
            raise DiscreetError(
                f"{self.model}: is one person's; --engine spark is for a folder of models, as learn writes it"
            )
        folder, any_file = ModelFolder.read(self.model, self.policy, self.listener.note)
        reading, later = self.reading(any_file), self.listener.note_later
        rows = reading_table(reading.as_they_came(), self.data, folder.clock, note_later=later)
        work = partial(_judge_of, folder, reading.carried(folder.clock), self._work)
        with (
            folder_beside(None) as kept,
            by_spark(work, rows, kept, master, only=reading.person, listener=self.listener) as found,
        ):
            if reading.person is None:
                folder.tell_absent(found, self.data)
            yield JudgedPeople(found, found.read.bad.count)


def _judge_of(
    folder: ModelFolder, carried: int, work: partial[JudgedDays], person: tuple[str, list[Day]]
) -> JudgedDays:
    """`judge` of a person whose model is in a folder."""
    name, days = person
    return work(PersonDays(name, folder.habits(name, days), folder.policy, days, carried))


def judge(
    spec: Spec, split: float | None, seed: int, note: Note, one: PersonDays, report: Progress | None = None
) -> JudgedDays:
    """Release one person's days as an experiment, and hold the habits against them."""
    from discreet.adversary.known import known
    from discreet.evaluation.week import evaluate_parts
    from discreet.models.routine.parts import AnyRoutine

    habits, days, make = one.habits, one.days, Maker(spec, one.policy)
    if split is not None:
        habits, days = _parted(one, split, note)
    learned = already_learned(habits, days)
    results = evaluate_parts(habits, make, days, carry=one.carried, seed=seed, progress=report)
    truth = check_released(habits, make, days, one.policy, spec.name, carry=one.carried, seed=seed)
    told, joined = known(habits, one.policy), isinstance(habits, AnyRoutine)
    return JudgedDays(
        one.name, habits.clock, joined, len(days), learned, results, truth, told, make.endless, split, seed
    )


def _parted(one: PersonDays, share: float, note: Note = ignore) -> tuple[AnyModel, list[Day]]:
    """Habits of the first days, by the rules that the model was learned by, and the days that are left to judge."""
    from discreet.contexts import carry_forward
    from discreet.models.learning.held_out import relearned
    from discreet.models.learning.held_out import split as parted

    if not 0 < share < 1:
        raise DiscreetError(f"--split is {share:g}; give the share of the days to learn from, such as 0.7")
    earlier, later = parted(one.days, 1 - share)
    if not earlier or not later:
        raise DiscreetError(f"--split {share:g} of {len(one.days)} days leaves none to learn from, or none to judge")
    note(
        f"learned again from the {len(earlier)} days until {earlier[-1].date}, by the rules of the model; "
        f"the {len(later)} days from {later[0].date} on are judged"
    )
    return relearned(one.habits, carry_forward(earlier, one.carried), one.policy), list(later)
