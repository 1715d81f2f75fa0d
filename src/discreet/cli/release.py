"""`discreet release`: what applications may see, from a file or line by line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.batch.inputs import Maker, read_model, read_policy_for
from discreet.batch.release import ModelFolder, PeopleRelease, PersonToRelease, spark_release, tell
from discreet.batch.truth import warn
from discreet.cli import options
from discreet.cli.inputs import read_spec, seconds_of_duration
from discreet.cli.live import Lines, Now, by_lines, by_the_clock, opened, utc_now
from discreet.cli.terminal import TERMINAL, note, print_json, progress
from discreet.errors import DiscreetError
from discreet.given import counted
from discreet.outputs import Release, text_of

if TYPE_CHECKING:
    from discreet.live import Stream
    from discreet.mechanisms.named import Spec

STDIN = Path("-")


@options.grouped
def release(
    model: options.ModelFile,
    policy: options.PolicyFile,
    mechanism: options.MechanismName = options.DEFAULT,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="[DATA]",
            help="Readings as for learn, released day by day; or - for standard input, one context a line for "
            "each slot, and an empty line if there is no reading.",
        ),
    ] = STDIN,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write .csv, .jsonl (or .gz of them) or .parquet instead of stdout."),
    ] = None,
    date: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="The day on which standard input starts; by default today."),
    ] = None,
    now: Annotated[
        bool,
        typer.Option(
            "--now",
            help="Follow the clock: standard input starts at the present slot. Each slot's output comes when "
            "the slot ends, for the context that lasted longest in it.",
        ),
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Save the position of standard input's stream here, and continue from it if the file exists. "
            "It contains the last readings: keep it to yourself.",
        ),
    ] = None,
    option: options.MechanismOptions = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Repeat the same draws of a population (a folder of models), for tests. A release with a known "
            "seed hides nothing."
        ),
    ] = None,
    engine: options.EngineOptions = options.ENGINE,
    table: options.LearnedTableOptions = options.LEARNED_TABLE,
    json: options.Json = False,
) -> None:
    """Decide slot by slot what applications may see of a person's day.

    In a pipe, each line of standard input is a slot, and is answered at once: with the context that is shown, or an
    empty line for silence; with --json, an object. After the day's last slot comes the next day's first. With --now,
    slots follow the clock instead; with --state FILE, the stream continues after a restart. With a routine, adaptive,
    dphmm and dpls release without end, and so does capp if all days are alike. Others start again each day.

    If --model is a folder with a model for each person, as learn writes it, each person is released with their own
    model, on this machine or, with --engine spark, on Spark.

    Example: discreet release --model p01.model --policy examples/policy.toml today.csv
    """
    from discreet.live import span
    from discreet.models.routine.parts import parts_of
    from discreet.models.store import files_in
    from discreet.publish.resume import refuse_unfinished

    spec = read_spec(mechanism, option)
    if data != STDIN:
        _has_dates(data, date, now, state)
    elif engine.engine == "spark":
        raise DiscreetError("--engine spark is for tables, and standard input is one person's; leave it out")
    engine.check()
    if out is not None:
        refuse_unfinished(out)
    if seed is not None and not model.is_dir():
        raise DiscreetError("--seed is for tests of a population; one person's releases draw from the system's entropy")
    if engine.engine == "spark" or model.is_dir():
        if data == STDIN:
            raise DiscreetError(f"{model}: is a folder, and standard input is one person's; give one model in it")
        if engine.engine == "spark":
            _by_spark(model, policy, spec, data, table, out, seed, engine.master, json)
        else:
            people = PeopleRelease(files_in(model), policy, spec, TERMINAL)
            people.read(data, table.reading(people.any_file))
            rows = _followed(people.releases(engine.workers, seed), people.outputs)
            _write(rows, people.dates, spec.name, out, json, people=len(people))
            people.tell()
        _tell_seed(seed)
        return
    habits = read_model(model)
    warn(model, note)
    secrets = read_policy_for(policy, habits)
    reading = table.reading(model)
    carried = reading.carried(habits.clock)
    if data == STDIN:
        if reading.places is not None:
            raise DiscreetError("--places is for a file of positions; standard input has one context a line and slot")
        if out is not None:
            raise DiscreetError("--out is for files of readings; redirect what comes from standard input with >")
        if not json:
            _check_lines(label for part in parts_of(habits).values() for label in part.contexts)
            _check_lines(_texts(spec.options))
        clock = utc_now if now else None
        with opened(
            habits, Maker(spec, secrets), carry=0 if now else carried, date=date, now=clock, state=state
        ) as stream:
            lines = by_lines(stream, state) if clock is None else _by_the_clock(stream, reading.carry, clock, state)
            _answer(lines, json)
        tell(stream, spec.name, note)
        return
    # The stream carries readings itself, over dates without any too: a file and a pipe release alike.
    days, readings = reading.as_they_came().read_one(data, habits, TERMINAL)
    stream, rows = PersonToRelease(str(days[0].person), habits, spec, secrets, days, carried, None).opened()
    dates = span(days)[1]
    with stream:
        _write(_followed(rows, dates * stream.slots), dates, spec.name, out, json)
    tell(stream, spec.name, note, readings.bad.count)


def _by_spark(
    model: Path,
    policy: Path,
    spec: Spec,
    data: Path,
    table: options.LearnedTableOptions,
    out: Path | None,
    seed: int | None,
    master: str | None,
    json: bool,
) -> None:
    """Everybody's releases are drawn and kept by Spark's workers; here they pass in order, a part at a time."""
    from discreet.data.releases import check_target
    from discreet.publish.engines.spark.work import run_with_key

    if not model.is_dir():
        raise DiscreetError(f"{model}: is one person's; --engine spark is for a folder of models, as learn writes it")
    if out is not None:
        check_target(out)
    elif json:
        raise DiscreetError("--json without --out is one document of everything; give --out with --engine spark")
    folder, any_file = ModelFolder.read(model, policy, note)
    reading = table.reading(any_file)
    with (
        run_with_key(out, seed) as kept,
        spark_release(folder, data, reading, spec, kept, master, TERMINAL) as people,
    ):
        rows = _followed(people.releases(), people.outputs)
        _write(rows, people.dates, spec.name, out, json, people=len(people))


def _tell_seed(seed: int | None) -> None:
    if seed is not None:
        note("drawn with --seed: whoever guesses it can undo the draws; release without one")


def _has_dates(data: Path, date: str | None, now: bool, state: Path | None) -> None:
    """Refuse what is for standard input alone."""
    for given, name in ((date, "--date"), (now, "--now"), (state, "--state")):
        if given:
            raise DiscreetError(f"{name} is for standard input, and {data} has its own dates; leave it out")


def _by_the_clock(stream: Stream, carry: str, now: Now, state: Path | None) -> Iterator[Release]:
    from discreet.live.standing import StandingRule

    return by_the_clock(stream, StandingRule(seconds_of_duration(carry)), Lines(sys.stdin), now, state=state)


def _check_lines(labels: Iterable[str]) -> None:
    """Refuse labels that would take more than a line: whoever reads the answers counts slots by lines."""
    for label in labels:
        if label.splitlines() not in ([label], []):
            raise DiscreetError(
                f"label {label!r} has a line break, and each line of standard output is one slot; use --json, or "
                "rename the label"
            )


def _texts(option: object) -> Iterator[str]:
    """Every text in the mechanism's options: nodes of a hierarchy are output too."""
    if isinstance(option, str):
        yield option
    elif isinstance(option, Mapping):
        for key, value in option.items():
            yield key
            yield from _texts(value)
    elif isinstance(option, tuple):
        for value in option:
            yield from _texts(value)


def _answer(rows: Iterator[Release], json: bool) -> None:
    """A line a slot, flushed: whoever waits for the output has it."""
    for released in rows:
        print(released.to_json() if json else text_of(released.output), flush=True)


def _followed(rows: Iterator[Release], total: int) -> Iterator[Release]:
    with progress("releasing") as report:
        for done, row in enumerate(rows, 1):
            yield row
            report(done, total)


def _write(
    rows: Iterator[Release], days: int, mechanism: str, out: Path | None, json: bool, *, people: int | None = None
) -> None:
    from discreet.data.releases import print_releases, write_releases

    what: dict[str, object] = {"mechanism": mechanism, "days": days}
    what |= {} if people is None else {"people": people}
    if out is not None:
        written = write_releases(out, rows)
        if json:
            print_json({**what, "releases": written, "out": str(out)})
        else:
            whose = "" if people is None else f" of {counted(people, 'person', 'people')}"
            print(f"{counted(written, 'output')} of {counted(days, 'day')}{whose}, by {mechanism}, in {out}")
    elif json:
        print_json({**what, "releases": [row.to_wire() for row in rows]})
    else:
        print_releases(sys.stdout, rows)
