"""`discreet stream`: many people's readings as they come, on Apache Spark."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from pathlib import Path
from time import monotonic as time_now
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.batch.reading import ReadingOptions
from discreet.cli import options
from discreet.cli.inputs import read_spec, seconds_of_duration
from discreet.cli.terminal import note, print_json
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.publish.stream.people import Following

QUERY_CHECK = 1.0
"""Seconds between looks at how far the query is."""

PATIENCE = 60.0
"""Seconds that Ctrl-C waits for the end of a batch."""

SPARK = "Spark"


def stream(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="The folder for files of readings, with columns user, timestamp, context."
        ),
    ],
    model: Annotated[
        Path, typer.Option("--model", "-m", metavar="FOLDER", help="A model for each person, from discreet learn.")
    ],
    policy: options.PolicyFile,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The releases, as Parquet files.")],
    checkpoint: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="The folder with the stream's position, to continue from. It contains "
            "private data: keep it to yourself.",
        ),
    ],
    mechanism: options.MechanismName = options.DEFAULT,
    option: options.MechanismOptions = None,
    keys: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The keys of the draws, one a day. Whoever has them can compute what was drawn.",
            show_default="the checkpoint's name and .keys",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="YYYY-MM-DD",
            help="Replay recorded readings from this day on, by their own time; the command ends after the last one.",
        ),
    ] = None,
    margin: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds from the end of a slot until it is published; readings that arrive later are late."
        ),
    ] = 2.0,
    every: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds from one batch to the next, unless a batch takes longer.", rich_help_panel=SPARK
        ),
    ] = 2.0,
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where Spark runs: local[2], spark://host:7077, ...",
            rich_help_panel=SPARK,
            show_default="that of spark-submit, or all cores here",
        ),
    ] = None,
    files: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Read at most this many files in a batch.", rich_help_panel=SPARK),
    ] = None,
    format_: Annotated[
        Literal["csv", "json", "parquet"],
        typer.Option("--format", help="The format of the files.", rich_help_panel=options.READING),
    ] = "csv",
    carry: options.LearnedCarry = None,
    user: options.LearnedUser = None,
    time: options.LearnedTime = None,
    context: options.LearnedContext = None,
    json: options.Json = False,
) -> None:
    """Release many people's slots on Spark while their readings arrive: each slot is decided once, when it ends.

    Move complete files of readings into the folder; timestamps are epoch seconds or ISO 8601 with an offset. Releases
    appear as Parquet files. After Ctrl-C or a crash, start it again with the same folders: it continues, and nothing is
    drawn twice.

    Slots are published by the clock, --margin after their end. With --since, by the readings' own time.

    Example: discreet stream incoming --model models --policy policy.toml --out released --checkpoint state
    """
    from discreet.models.store import files_in
    from discreet.publish.engines.spark.session import missing, running
    from discreet.publish.stream.people import Following

    lacks = missing(stream=True)
    if lacks is not None:
        raise DiscreetError(lacks)
    if not data.is_dir():
        raise DiscreetError(f"{data}: is no folder; make it, and move files of readings there")
    if model.is_file():
        raise DiscreetError(
            f"{model}: is the model of one person, and a stream has a folder with one for each; make a folder, and "
            "move it there under the person's name, such as people/jane.model"
        )
    if not model.is_dir():
        raise DiscreetError(
            f"{model}: is no folder; give one with a model for each person, as discreet learn writes it"
        )
    given = {"user": user, "time": time, "context": context, "carry": carry}
    learned = ReadingOptions.as_learned(next(iter(files_in(model).values())), given, note)
    following = Following(
        model.resolve(),
        policy.resolve(),
        (keys or checkpoint.with_name(f"{checkpoint.name}.keys")).resolve(),
        read_spec(mechanism, option),
        carry=seconds_of_duration(learned.carry),
        margin=margin,
    )
    first = _date(since)
    _try_one(following, first)
    with running(master, name="discreet stream") as spark:
        from discreet.publish.stream.spark import is_committed, readings_in, spread, started

        spread(spark)
        readings = readings_in(
            spark, data, format_, user=learned.user, time=learned.time, context=learned.context, most_files=files
        )
        query = started(readings, following, out=out, checkpoint=checkpoint, since=first, every=every)
        done = _watch(query, following, replay=first is not None)
    if not is_committed(checkpoint):
        note("the last batch is not committed: start it again before you change the program, models or policy")
    if json:
        print_json({**done, "out": str(out)})
    else:
        print(f"{done['rows']} readings in {done['batches']} batches; releases in {out}")


def _date(since: str | None) -> dt.date | None:
    try:
        return None if since is None else dt.date.fromisoformat(since)
    except ValueError:
        raise DiscreetError(f"--since is {since!r}; write it as YYYY-MM-DD") from None


def _try_one(following: Following, since: dt.date | None) -> None:
    """What is wrong with models, policy or mechanism is said before Spark starts, as far as one person shows it."""
    from discreet.models.store import files_in
    from discreet.publish.stream.people import People, begun

    people = People(following)
    person = people.get(next(iter(files_in(following.models))))
    assert person is not None
    begun(people, person, round(dt.datetime.now(dt.UTC).timestamp() * 1000), since)


def _watch(query: Any, following: Following, *, replay: bool) -> dict[str, Any]:
    """Until the query ends: keys that have served are erased, and readings that are left out are counted."""
    from discreet.publish.stream.spark import Eraser

    eraser = Eraser(following, replay=replay)
    done: dict[str, Any] = {"batches": 0, "rows": 0, "bad": 0, "ahead": 0, "keys_erased": 0}
    last = -1
    try:
        ended = False
        while not ended:
            ended = query.awaitTermination(QUERY_CHECK)
            for progress in query.recentProgress:
                if progress["batchId"] > last and "addBatch" in progress["durationMs"]:
                    last = progress["batchId"]
                    done["batches"] += 1
                    _count(done, progress)
            done["keys_erased"] += eraser.look(query)
    except KeyboardInterrupt:
        _between_batches(query)
        query.stop()
        note("stopped; start it again with the same folders to go on")
    for name, why in (("bad", "without a person, context or time with its offset"), ("ahead", "ahead of the clock")):
        if done[name]:
            note(f"{done[name]} readings were left out: {why}")
    return done


def _between_batches(query: Any) -> None:
    """Wait for the end of the present batch, but not for ever; a second Ctrl-C does not wait."""
    end = time_now() + PATIENCE
    with suppress(KeyboardInterrupt):
        while query.isActive and query.status["isTriggerActive"] and time_now() < end:
            sleep(0.05)


def _count(done: dict[str, Any], progress: Any) -> None:
    counts = progress["observedMetrics"].get("readings")
    if counts is not None:
        for name in ("rows", "bad", "ahead"):
            done[name] += counts[name]
