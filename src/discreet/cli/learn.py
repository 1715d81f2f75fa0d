"""`discreet learn`: a person's habits from their readings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Protocol

import typer

from discreet.batch.defaults import kept_of, told_before
from discreet.batch.habits import HabitsSummary, summary_of
from discreet.batch.inputs import Counted
from discreet.batch.learners import (
    FitNew,
    Learner,
    Update,
    declared_by,
    other_times,
    policy_of,
    read_routine,
    refuse,
    told_of,
)
from discreet.batch.reading import reading_table
from discreet.batch.truth import KnownByPart, refused
from discreet.batch.workers import by_spark, each_person
from discreet.cli import options
from discreet.cli.habits import (
    draw_truth,
    draw_week,
    hint_unknown,
    hint_unvisited,
    print_rows,
    print_summaries,
    print_truths,
)
from discreet.cli.inputs import in_options
from discreet.cli.terminal import TERMINAL, note, note_later, print_json_of_many, progress
from discreet.cli.truth import AcceptModel, Picture, check_picture, print_known
from discreet.clock import Clock
from discreet.contexts import MERGE_BELOW, Day
from discreet.errors import DiscreetError
from discreet.files import folder_beside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.data import Readings
    from discreet.evaluation.truth import Truth
    from discreet.models.learning.rhythm import Rhythm

DAY_CLOCK = "The day's clock"
HABITS = "The kind of habits"


@options.grouped
def learn(
    data: options.DataFile,
    out: Annotated[
        Path, typer.Option(metavar="PATH", help="Where to write the model; a folder if there are several people.")
    ],
    update: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL", help="Add the days to this routine, with its own options, instead of starting again."
        ),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(help="Slots a day; 48 are half-hours.", show_default="48", rich_help_panel=DAY_CLOCK),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            help="The person's time zone, such as Europe/Paris.",
            show_default="where the nights of a history with positions were spent, else UTC",
            rich_help_panel=DAY_CLOCK,
        ),
    ] = None,
    cut: Annotated[
        str | None,
        typer.Option(
            metavar="HH:MM",
            help="The time at which one day ends and the next begins.",
            show_default="00:00",
            rich_help_panel=DAY_CLOCK,
        ),
    ] = None,
    merge_below: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Merge contexts with a smaller share of the time into 'other', unless their names suggest a secret.",
            rich_help_panel=options.READING,
        ),
    ] = MERGE_BELOW,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONTEXT",
            help="Never merge this context, such as a secret; a routine has it even if it was never visited. "
            "May be repeated.",
            rich_help_panel=options.READING,
        ),
    ] = None,
    secrets: Annotated[
        Path | None,
        typer.Option(
            metavar="POLICY", help="Keep every context that this policy file names.", rich_help_panel=options.READING
        ),
    ] = None,
    day_by_day: Annotated[
        bool,
        typer.Option(
            "--day-by-day/--routine",
            help="Learn habits of single days, or a routine without end whose days are joined by nights.",
            rich_help_panel=HABITS,
        ),
    ] = False,
    weekparts: Annotated[
        bool | None,
        typer.Option(
            "--weekparts/--alike",
            help="Learn weekdays and weekends separately, or all days together.",
            show_default="apart in a routine, alike day by day",
            rich_help_panel=HABITS,
        ),
    ] = None,
    smoothing: Annotated[
        Literal["calibrated", "auto", "none"] | None,
        typer.Option(
            help="auto: a step never seen at a slot gets the person's average probability; none: plain counts; "
            "calibrated, for routines: recent days count more, and changing habits are less certain.",
            show_default="auto",
            rich_help_panel=HABITS,
        ),
    ] = None,
    floor: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="How much probability a routine's rows give to every context, so that nothing is impossible.",
            show_default="0.001",
            rich_help_panel=HABITS,
        ),
    ] = None,
    observers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Also model this many observers who learned the habits from other data; adaptive keeps its "
            "promise against each of them.",
            show_default="0",
            rich_help_panel=HABITS,
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Use the learner of this name, from a plug-in that you installed.",
            rich_help_panel=HABITS,
        ),
    ] = None,
    order: Annotated[
        Literal["1", "2", "auto"] | None,
        typer.Option(
            help="How many of the last contexts the next one depends on; auto: 2 where that predicts the last days "
            "better. The gateway and `discreet stream` take 1.",
            show_default="1",
            rich_help_panel=HABITS,
        ),
    ] = None,
    engine: options.EngineOptions = options.ENGINE,
    accept_model: AcceptModel = False,
    picture: Picture = None,
    chart: Annotated[
        Path | None,
        typer.Option(
            metavar="PICTURE",
            help="Draw where the time goes, on weekdays and weekends (.png, .svg, .pdf).",
        ),
    ] = None,
    table: options.TableOptions = options.TABLE,
    json: options.Json = False,
) -> None:
    """Learn a person's habits from a file of readings, and save them as a routine: days without end.

    The model is tested on the last fifth of the days: on the secrets of --secrets, or on any context. If it does not
    hold, the exit status is 1 and nothing is saved, unless --accept-model is given. Each person's habits are learned
    separately, on this machine or, with --engine spark, on Spark.

    Example: discreet learn examples/readings.csv --zone Europe/Paris --keep hospital --out p01.model
    """
    from discreet.models.store import move_models

    engine.check(picture=picture, chart=chart, places=table.places)
    check_picture(picture)
    check_picture(chart)
    reading = table.reading()
    if engine.engine == "local" and update is None:
        reading, zone = told_before(data, reading, table.carry, zone, note_later)
    rules = {"smoothing": smoothing, "floor": floor, "weekparts": weekparts, "observers": observers, "learner": learner}
    rules["order"] = order
    how: Learner
    if update is None:
        clock = Clock(48 if slots is None else slots, zone or "UTC", cut or "00:00")
        named = policy_of(secrets, clock)
        declared = declared_by(keep, named)
        own = kept_of(reading.places, declared)
        how = FitNew(clock, own, named, day_by_day, note=_note, **rules)  # type: ignore[arg-type]
    else:
        before = read_routine(update)
        refuse(update, **rules, **other_times(before.clock, slots=slots, zone=zone, cut=cut))
        named = policy_of(secrets, before.clock)
        declared = ()
        how = Update(before, update, declared_by(keep, named), named, _note)
    merge: dict[str, Any] = {"merge_below": merge_below, "keep": kept_of(reading.places, how.kept)}
    begun: AbstractContextManager[Everybody]
    with folder_beside(out) as kept:
        (kept / MODELS).mkdir()
        work = partial(_learn, how, secrets, accept_model, kept / MODELS, reading.remembered())
        if engine.engine == "spark":
            rows = reading_table(reading, data, how.clock, **merge, note_later=note_later)
            begun = by_spark(work, rows, kept, engine.master, by="place", only=reading.person, listener=TERMINAL)
        else:
            read = reading.read(data, how.clock, **merge, listener=TERMINAL)
            begun = nullcontext(_local(work, read, out, engine.workers))
        with begun as found:
            no = sum(refused(one.truth, accept_model) for one in found) > 0
            told = _Answer(found, _Places(out, len(found)), accept_model)
            told.hint(reading.carry, declared)
            told.draw(picture, chart)
            if not no:
                move_models(kept / MODELS, out, len(found))
            if json:
                told.print_json(saved=not no)
            else:
                told.print(how.clock)
    if no:
        note(f"nothing was saved in {out}: the habits do not hold on held-out days")
        raise typer.Exit(1)


def _note(message: str) -> None:
    note(in_options(message))


MODELS = "models"
"""In the folder of a run: where models are until all are there."""


class _Learned(NamedTuple):
    """What came of one person, whose model is saved; its file is named where it is known how many people there are."""

    name: str
    truth: Truth
    told: KnownByPart
    week: Sequence[Rhythm]
    summary: HabitsSummary


def _learn(
    learner: Learner,
    secrets: Path | None,
    accepted: bool,
    folder: Path,
    remembered: Mapping[str, Any],
    person: tuple[str, list[Day]],
) -> _Learned:
    """One person's habits, saved among those of others, and what is said of them: what every engine calls."""
    from discreet.models.learning.rhythm import rhythms
    from discreet.models.store import files_for, save

    name, days = person
    found = learner.learn(days)
    told = told_of(found.model, secrets, learner.policy, learner.note)
    week = rhythms(found.days, learner.clock)
    save(files_for(folder, [name])[name], found.model, found.truth.summary(), remembered)
    summary = summary_of(name, Path(), found, learner.clock, told, week, accepted=accepted)
    return _Learned(name, found.truth, told, week, summary)


class Everybody(Protocol):
    """What came of everybody, in the order of the table; it can be gone through more than once."""

    @property
    def read(self) -> CountedReadings:
        """What was read."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[_Learned]: ...


class CountedReadings(Counted, Protocol):
    """The same of readings."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The contexts as the table has them."""


@dataclass(frozen=True)
class _Local:
    """What processes of this machine found."""

    read: Readings
    found: list[_Learned]

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[_Learned]:
        return iter(self.found)


def _local(work: Callable[[tuple[str, list[Day]]], _Learned], readings: Readings, out: Path, workers: int) -> _Local:
    people = readings.people
    _ = _Places(out, len(people))  # what is wrong with it is told before the work
    found = []
    with progress("learning") as report:
        for one in each_person(work, people.items(), workers):
            found.append(one)
            report(len(found), len(people))
    return _Local(readings, found)


class _Places:
    """Where models go: `out` itself for one person, unless it is a folder, and files in it for several."""

    def __init__(self, out: Path, people: int) -> None:
        self.out, self.several = out, people > 1
        if self.several and out.exists() and not out.is_dir():
            raise DiscreetError(
                f"{out}: is a file, and there are {people} people; give a folder, or choose one person, with --person"
            )

    def of(self, name: str) -> Path:
        """The file of one of them."""
        from discreet.models.store import files_for

        return files_for(self.out, [name, ""] if self.several else [name])[name]

    def picture(self, picture: Path, name: str) -> Path:
        """The file of one person's picture: as named, or with the person's name in it where there are several."""
        return picture.with_stem(f"{picture.stem}-{self.of(name).stem}") if self.several else picture


@dataclass(frozen=True)
class _Answer:
    """What is said of everybody."""

    found: Everybody
    places: _Places
    accepted: bool

    def hint(self, carry: str, declared: Sequence[str]) -> None:
        """What looks like a slip."""
        hint_unvisited(declared, self.found.read.labels)
        hint_unknown((one.summary for one in self.found), carry)

    def draw(self, picture: Path | None, chart: Path | None) -> None:
        """The pictures that were asked for."""
        for one in self.found if picture or chart else ():
            if picture is not None:
                draw_truth(self.places.picture(picture, one.name), one.name, one.truth)
            if chart is not None:
                draw_week(self.places.picture(chart, one.name), one.summary, one.week)

    def _summaries(self) -> Iterator[HabitsSummary]:
        """With the file that each person's model goes to."""
        return (replace(one.summary, model=str(self.places.of(one.name))) for one in self.found)

    def print_json(self, *, saved: bool) -> None:
        """For machines."""
        read = self.found.read
        bad = {"count": read.bad.count, "first": list(read.bad.first)}
        document: dict[str, object] = {"saved": saved, "rows": read.rows, "bad_rows": bad, "people": []}
        print_json_of_many(document, "people", map(asdict, self._summaries()))

    def print(self, clock: Clock) -> None:
        """For people."""
        read, people = self.found.read, len(self.found)
        print_summaries(self._summaries(), people)
        print_rows(read.rows, read.bad)
        for one in self.found if people == 1 else ():
            if one.told:
                print()
                print_known(one.told, clock)
        print_truths(((one.name, one.truth) for one in self.found), people, self.accepted)
