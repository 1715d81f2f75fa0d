"""A stream on Apache Spark: readings in, releases out, every slot of everybody told once.

`followed` makes a streaming table of releases from one of readings, by `transformWithState`: people are keys, their
states (`following.Held`, `Stream.state`) lie in RocksDB on the trusted side, and a timer wakes each of them when a slot
is due.

Why a query that is killed goes on without drawing anew. Spark writes down what a batch is (which readings, what time,
which watermark) before it runs it, and that it is done after the sink has it; a batch that is not done is run again as
it was written down, from the states of the batch before. `following.told` is a function of states, readings, time and
keys, and a day's key lies on the disk before it is drawn from: every run of a batch tells the same. What the sink adds
is said in docs/population.md.

Time is the batch's own, as written down: the wall clock's, or, where recorded readings are replayed, the watermark's.
"""

from __future__ import annotations

import datetime as dt
import logging
import secrets
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  as everybody who writes Spark calls it
from pyspark.sql.streaming import StatefulProcessor

from discreet.data.instants import MILLISECONDS_FROM
from discreet.errors import DiscreetError
from discreet.live.slots import AHEAD
from discreet.models.store import files_in
from discreet.outputs import Release, text_of
from discreet.publish.stream.day_keys import DayKeys
from discreet.publish.stream.people import Following, Held, LabelledInstant, People, begun, read, told, written_by

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

RELEASES = "person string, date date, slot int, start timestamp, kind string, value string"
"""As other tables of releases are (`data.releases`)."""

SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"  # transformWithState takes no other
    ),
    # What changed is written at the end of a batch, not the whole database.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}

Form = Literal["csv", "json", "parquet"]

_log = logging.getLogger(__name__)


@lru_cache(maxsize=4)
def _people(following: Following) -> People:
    """What a worker has read and made, kept from batch to batch."""
    return People(following)


@lru_cache(maxsize=1000)
def _without_model(name: str) -> None:
    """Say it once in a worker."""
    _log.warning("readings of %r are left out: there is no model of theirs", name)


class Follower(StatefulProcessor):  # type: ignore[misc]  # pyspark is not looked into
    """One person's states and timer; all that is decided is decided by `following`."""

    def __init__(self, following: Following, since: dt.date | None) -> None:
        self.following, self.since = following, since

    def init(self, handle: Any) -> None:
        """Two values, because readings change only the first, which is small."""
        self._handle = handle
        self._held = handle.getValueState("held", "value binary")
        self._stream = handle.getValueState("stream", "value binary")
        self._people = _people(self.following)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802  Spark's names
        """In the first batch: everybody on the roll begins, whether or not they are ever heard of."""
        self._begin(key[0], self._now(timerValues))

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802
        """Readings are kept until their slots are due."""
        person = self._people.get(key[0])
        if person is None:
            _without_model(key[0])
            return iter(())
        kept = self._held.get()
        held = Held.from_bytes(kept[0]) if kept else self._begin(key[0], self._now(timerValues))
        after = read(self._people, person, held, (LabelledInstant(row.instant, row.context) for row in rows))
        if after != held:
            self._held.update((after.to_bytes(),))
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802
        """What is due is told, and the next timer is set."""
        person = self._people.get(key[0])
        if person is None:
            raise DiscreetError(f"{self.following.models}: the model of {key[0]!r} is gone; put it back")
        held = Held.from_bytes(self._held.get()[0])
        kept = self._stream.get()
        now = self._now(timerValues)
        releases, after, stream = told(self._people, person, held, kept[0] if kept else b"", now)
        if releases:
            self._held.update((after.to_bytes(),))
            self._stream.update((stream,))
        self._handle.registerTimer(after.due)
        return map(_row, releases)

    def _now(self, times: Any) -> int:
        by_clock = self.since is None
        return int(times.getCurrentProcessingTimeInMs() if by_clock else times.getCurrentWatermarkInMs())

    def _begin(self, name: str, now: int) -> Held:
        person = self._people.get(name)
        if person is None:
            raise DiscreetError(f"{self.following.models}: there is no model of {name!r}; put it back")
        held = begun(self._people, person, now, self.since)
        self._held.update((held.to_bytes(),))
        self._handle.registerTimer(held.due)
        return held

    def close(self) -> None:
        """Nothing is open."""


def _row(release: Release) -> Row:
    start = None if release.start is None else release.start.astimezone(dt.UTC)
    return Row(
        person=release.person,
        date=release.date,
        slot=release.slot,
        start=start,
        kind=release.kind,
        value=text_of(release.output),
    )


# --- tables


def followed(readings: DataFrame, following: Following, *, since: dt.date | None = None) -> DataFrame:
    """The releases of a streaming table of readings with columns person, time (a timestamp) and context.

    Everybody who has a model when the query first starts is followed from then on, heard of or not; who gets one later
    joins with their first reading, which tells when that came. Readings without a person, time or context, and those
    whose time is more than `AHEAD` seconds from now, are left out; the query's progress counts them as
    observedMetrics["readings"].

    `since` is for recorded readings: everybody begins on that date, and time is that of the readings, which is
    `margin` behind the latest of anybody.
    """
    spark = readings.sparkSession
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    chosen, time_mode = following, "ProcessingTime"
    usable = _usable(readings).withColumn("instant", F.unix_millis("time"))
    columns = ["person", "instant", "context"]
    if since is not None:
        usable = usable.withWatermark("time", f"{round(following.margin * 1000)} milliseconds")
        columns, time_mode = [*columns, "time"], "EventTime"
        chosen = replace(following, margin=0, grace=None)
    names = list(files_in(following.models))
    roll = spark.createDataFrame([(name,) for name in names], "person string").groupBy("person")
    people = usable.select(*columns).groupBy("person")
    return people.transformWithState(Follower(chosen, since), RELEASES, "Append", time_mode, roll)


def _usable(readings: DataFrame) -> DataFrame:
    bad = F.col("person").isNull() | F.col("time").isNull() | F.col("context").isNull()
    ahead = F.coalesce(F.col("time") > F.current_timestamp() + F.expr(f"INTERVAL {AHEAD} SECONDS"), F.lit(False))
    counted = readings.observe(
        "readings",
        F.count(F.lit(1)).alias("rows"),
        F.count_if(bad).alias("bad"),
        F.count_if(~bad & ahead).alias("ahead"),
    )
    return counted.filter(~bad & ~ahead)


def readings_in(
    spark: SparkSession,
    folder: Path,
    form: Form = "csv",
    *,
    user: str = "user",
    time: str = "timestamp",
    context: str = "context",
    most_files: int | None = None,
) -> DataFrame:
    """The files of a folder as a streaming table of readings, those that come later too.

    Files appear whole, by renaming, and do not change. All have the columns of the first one that is there; of CSV, in
    the same order. `most_files` are read in one batch.
    """
    wanted = [user, time, context]
    there = [one for one in folder.glob("*") if one.is_file() and not one.name.startswith((".", "_"))]
    schema = ", ".join(f"`{name}` string" for name in wanted)
    reader = spark.readStream
    if there and form != "json":
        first = min(there, key=lambda one: (one.stat().st_mtime, one.name))
        found = spark.read.format(form).option("header", "true").load(str(first))
        for name in wanted:
            if name not in found.columns:
                raise DiscreetError(
                    f"{first}: there is no column {name!r}; there are {', '.join(found.columns)}. Name the right ones"
                )
        schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in found.schema.fields)
    elif form == "parquet":
        raise DiscreetError(f"{folder}: there is no Parquet file that says of what types columns are; put one there")
    if most_files is not None:
        reader = reader.option("maxFilesPerTrigger", most_files)
    # By default Spark takes the columns of CSV by their place, whatever a file's header says.
    table = (
        reader.schema(schema).option("header", "true").option("enforceSchema", "false").format(form).load(str(folder))
    )
    moment = _moment(table, time)
    return table.select(
        F.col(f"`{user}`").cast("string").alias("person"), moment.alias("time"), F.col(f"`{context}`").alias("context")
    )


def _moment(table: DataFrame, column: str) -> Any:
    """The instants of a column: timestamps, epoch seconds or milliseconds, or ISO 8601 with its offset; else null.

    A time without an offset is left out: which zone is meant is known where readings are taken, not here.
    """
    kind = table.schema[column].dataType.simpleString()
    cell = F.col(f"`{column}`")
    if kind == "timestamp":
        return cell
    number = F.expr(f"try_cast(`{column}` AS double)")
    is_number = F.lit(kind != "string") | F.trim(cell).rlike(r"^-?[0-9]+(\.[0-9]+)?$")
    seconds = F.when(F.abs(number) >= MILLISECONDS_FROM, number / 1000).otherwise(number)
    epoch = F.when(is_number, F.timestamp_seconds(seconds))
    if kind != "string":
        return epoch
    return epoch.when(cell.rlike(r"[T ][0-9:.]+(Z|[+-][0-9]{2}:?[0-9]{2})$"), F.try_to_timestamp(cell))


# --- a query over folders


def started(
    readings: DataFrame,
    following: Following,
    *,
    out: Path,
    checkpoint: Path,
    since: dt.date | None = None,
    every: float = 2.0,
) -> StreamingQuery:
    """The query that writes releases as Parquet files to a folder, begun or gone on with.

    It looks every so many seconds; where recorded readings are replayed, it ends when all that is there is read.
    """
    check_folders(following, out=out, checkpoint=checkpoint)
    DayKeys.kept_in(following.keys)
    checkpoint.mkdir(mode=0o700, parents=True, exist_ok=True)  # states hold the truth
    tie(following.keys, checkpoint)
    writer = followed(readings, following, since=since).writeStream.queryName("discreet stream").format("parquet")
    writer = writer.option("path", str(out)).option("checkpointLocation", str(checkpoint))
    if since is not None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{round(every * 1000)} milliseconds").start()


def spread(spark: SparkSession) -> None:
    """As many parts as there are cores, unless told otherwise: each has a state store that every batch commits.

    The number stays what it was when the stream was begun; Spark takes it from the checkpoint.
    """
    if spark.sparkContext.getConf().get("spark.sql.shuffle.partitions") is None:
        spark.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))


def check_folders(following: Following, *, out: Path, checkpoint: Path) -> None:
    """Refuse folders that do not belong together: releases would be lost, or drawn anew, in silence."""
    begun_before = (checkpoint / "offsets").is_dir()
    if not begun_before and (out / SINK_LOG).is_dir():
        raise DiscreetError(
            f"{out}: was written by a stream whose checkpoint is not {checkpoint}, and Spark would take new batches "
            "for old ones; give its checkpoint, or another folder"
        )
    if begun_before and not out.is_dir():
        raise DiscreetError(f"{out}: the stream of {checkpoint} wrote elsewhere; give its folder")
    if begun_before and not following.keys.is_dir():
        raise DiscreetError(
            f"{following.keys}: there are no keys, and without those of the stream of {checkpoint} its last batch "
            "would be drawn anew; give their folder, or begin a new stream"
        )
    of_keys = _mark(following.keys)
    if of_keys != _mark(checkpoint) and (begun_before or of_keys is not None):
        _refuse_keys(following.keys, checkpoint)


MARK = "stream"
"""In the checkpoint and beside the keys: which stream both are of."""


def tie(keys: Path, checkpoint: Path) -> None:
    """Keys serve one stream: another one's observer is in another state, and its kernels would be given equal bits."""
    own = _mark(checkpoint) or secrets.token_hex(16)
    (checkpoint / MARK).write_text(own, encoding="ascii")
    try:
        with (keys / MARK).open("x", encoding="ascii") as file:
            file.write(own)
    except FileExistsError:
        if _mark(keys) != own:
            _refuse_keys(keys, checkpoint)


def _mark(folder: Path) -> str | None:
    path = folder / MARK
    return path.read_text(encoding="ascii") if path.is_file() else None


def _refuse_keys(keys: Path, checkpoint: Path) -> NoReturn:
    raise DiscreetError(
        f"{keys}: these are the keys of another stream than that of {checkpoint}, and slots of one day would be drawn "
        "from the same bits under other beliefs; give its own folder, or a new one"
    )


def is_committed(checkpoint: Path) -> bool:
    """Whether the last batch that was written down is done, so that nothing will be computed again."""
    begun, done = (
        {int(one.name) for one in (checkpoint / log).glob("*") if one.name.isdigit()} for log in ("offsets", "commits")
    )
    return not begun or max(begun) in done


SINK_LOG = "_spark_metadata"
"""Where Spark's file sink writes which files count."""


# --- keys


class Eraser:
    """Erases the keys of days that are written for good, as a query's progress says."""

    def __init__(self, following: Following, *, replay: bool = False) -> None:
        self._keys = DayKeys(following.keys)
        self._margin, self._replay = following.margin, replay
        self._first: int | None = None

    def look(self, query: StreamingQuery) -> int:
        """Erase what can be erased, and say how many keys that were.

        Spark reports a batch after it is committed. Every slot that was due by then is in the sink, and no later batch
        draws for it. The first batch of a run may be one of before, whose time is not the reported one; it is not
        looked at. A report without a batch says nothing of slots.
        """
        ran = [one for one in query.recentProgress if "addBatch" in one["durationMs"]]
        if not ran:
            return 0
        if self._first is None:
            self._first = min(one["batchId"] for one in ran)
        done = [self._time(one) for one in ran if one["batchId"] > self._first]
        return self._keys.erase(written_by(max(done), self._margin)) if done else 0

    def _time(self, progress: Any) -> int:
        """Of the batch or before; the watermark is behind the readings by the margin already."""
        if not self._replay:
            return _milliseconds(progress["timestamp"])
        watermark = progress["eventTime"].get("watermark")
        return 0 if watermark is None else _milliseconds(watermark) + round(self._margin * 1000)


def _milliseconds(moment: str) -> int:
    return round(dt.datetime.fromisoformat(moment).timestamp() * 1000)
