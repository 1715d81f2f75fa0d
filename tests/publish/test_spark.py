"""Publishing by Spark: tables as they come, tasks that fail, runs that are killed."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.data import read_trajectories
from discreet.errors import DataError, DiscreetError
from discreet.events import Intervals, Trajectory
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.outputs import PartialEvent
from discreet.policy import Policy
from discreet.publish import ChainHabits, Plan, Report, RunKey, TopicHabits, policy_for, publish, publish_person
from discreet.publish.engines.spark.tables import EventTable
from discreet.publish.habits_file import load_some, save_habits
from discreet.publish.key_file import write_key
from discreet.publish.resume import Unfinished
from discreet.publish.work import Done, PublishWork, Work
from tests.data.test_many import odd_dataset
from tests.publish.sparks import LOCAL, clock, report_in, report_rows, rows_in, session_at, times_of, written

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session(spark_stops: None) -> Any:
    return session_at(LOCAL)


def population(people: int = 12, seed: int = 5) -> tuple[Plan, list[Trajectory]]:
    truth = topic_model(people=people, topics=2, sizes=(3, 2, 2), seed=seed)
    policy = policy_for(Policy("activity=activity 1", delta=0.1), truth.events)
    return Plan(TopicHabits(truth), policy, piece_length=4), trajectories(truth, length=(1, 9), seed=seed)


# --- the table that is read

ROUGH = '''user,timestamp,location,activity,note
bob,2026-03-02T23:40:00Z,bar,drink,a
ann,2026-03-02T12:10:00+01:00,canteen,lunch,b
ann,2026-03-02T07:30:00Z,hall,breakfast,c
"c ""d""",1772438400,"the
square",walk,d
bob,2026-03-02T23:40:00Z,bar,drink,e
bob,2026-03-02T23:40:00Z,bar,dance,f
bob,2026-03-02T22:40:00,park,walk,g
bob,2026-03-02T22:40:00Z,park,,h
,2026-03-02T22:40:00Z,park,walk,i
bob,yesterday,park,walk,j
bob,2026-03-03T00:10:00+02:00,park,walk,k
'''


def rough_plan(read: Any) -> Plan:
    return Plan.learn(read, Policy("activity=drink", delta=0.2), habits="chain", piece_length=3)


def test_rough_tables_are_read_as_elsewhere(session: Any, tmp_path: Path) -> None:
    from discreet.publish.engines.spark.publish import publish_table

    (tmp_path / "rough.csv").write_text(ROUGH)
    rule = Intervals.of("morning 05:00, noon 11:00, evening 17:00, night 22:00", zone="Europe/Paris")
    read = read_trajectories(tmp_path / "rough.csv", rule, naive_zone="Europe/Lisbon", skip_bad=True)
    assert (read.rows, read.bad.count, read.duplicates, read.unordered) == (11, 3, 1, 3)
    plan = rough_plan(read)
    wanted: list[Any] = []
    report = publish(plan, read, wanted.extend, seed=3)
    # The same in two files of which the second has its columns in another order, and in one that Spark splits.
    lines = pl.read_csv(tmp_path / "rough.csv", infer_schema=False)
    (tmp_path / "two").mkdir()
    lines.head(4).write_csv(tmp_path / "two" / "0.csv")
    lines.tail(7).select(lines.columns[::-1]).write_csv(tmp_path / "two" / "1.csv")
    lines.write_parquet(tmp_path / "rough.parquet", row_group_size=2)
    for name in ("rough.csv", "two/*.csv", "rough.parquet"):
        table = EventTable((str(tmp_path / name),), rule, naive_zone="Europe/Lisbon", skip_bad=True)
        out = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        done = publish_table(session, plan, table, out, seed=3)
        assert rows_in(done.table) == wanted
        assert report_in(done.report) == report_rows(report)
        found = done.summary
        assert (found.rows, found.bad, found.counts["duplicates"]) == (11, 3, 1)
        assert found.counts["unordered"] == 3
        assert len(found.problems) == 3
        assert {problem.split(":")[0].split(", ")[-1] for problem in found.problems} == {
            "column 'activity'",
            "column 'user'",
            "column 'timestamp'",
        }
        shown = pl.read_parquet(sorted(done.table.iterdir())[0]).columns
        assert shown == ["user", "timestamp", "location", "activity"]
        assert done.report.stat().st_mode & 0o777 == 0o700


def test_what_folders_name_is_text_as_elsewhere(session: Any, tmp_path: Path) -> None:
    """By default Spark takes 007 and 7 for one number, and they would be published as one person."""
    from discreet.publish.engines.spark.tables import read_events

    data = tmp_path / "data"
    for name, place in (("007", "1.0"), ("7", "1")):
        inner = data / f"user={name}" / f"location={place}"
        inner.mkdir(parents=True)
        rows = {"timestamp": ["2026-03-02T12:00:00Z"], "activity": ["walk"]}
        pl.DataFrame(rows).write_parquet(inner / "part.parquet")
    frame, header = read_events(session, EventTable((str(data),)))
    assert {*header} == {"user", "location", "timestamp", "activity"}
    found = {(row["person"], row["location"]) for row in frame.collect()}
    local = {(one.person, event.location) for one in read_trajectories(data) for event in one.events}
    assert found == local == {("007", "1.0"), ("7", "1")}


def test_spark_reads_what_folders_name_as_it_was(session: Any, tmp_path: Path) -> None:
    places = odd_dataset(tmp_path / "set")
    session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    try:
        rows = session.read.parquet(str(tmp_path / "set")).collect()
    finally:
        session.conf.unset("spark.sql.sources.partitionColumnTypeInference.enabled")
    assert {row["user"]: row["location"] for row in rows} == places


def test_what_is_wrong_with_a_table_is_told_as_elsewhere(session: Any, tmp_path: Path) -> None:
    from discreet.publish.engines.spark.publish import publish_table

    (tmp_path / "rough.csv").write_text(ROUGH)
    lines = pl.read_csv(tmp_path / "rough.csv", infer_schema=False)
    lines.write_parquet(tmp_path / "rough.parquet")
    lines.drop("location").write_parquet(tmp_path / "fewer.parquet")
    lines.with_columns(activity=pl.lit(1.5)).write_parquet(tmp_path / "numbers.parquet")
    lines.head(0).write_parquet(tmp_path / "nobody.parquet")
    for name, other in (("lacks", lines.drop("note")), ("kinds", lines.with_columns(location=pl.lit(3)))):
        (tmp_path / name).mkdir()
        lines.write_parquet(tmp_path / name / "0.parquet")
        other.write_parquet(tmp_path / name / "1.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "rough.parquet").read_bytes()[:-9])
    plan = Plan(ChainHabits(), Policy())
    wrong = {
        ("rough.csv", None): r"rough.csv, line 9, column 'timestamp': .* does not say which time zone",
        ("rough.parquet", "UTC"): r"rough.parquet, row 8, column 'activity': an empty field is not an activity; fix it",
        ("fewer.parquet", "UTC"): "there is no column 'location'",
        ("numbers.parquet", "UTC"): "column 'activity' holds double; the activity must be text",
        ("nobody.parquet", "UTC"): "nobody.parquet: the table has no rows",
        ("missing.parquet", "UTC"): "missing.parquet: cannot be read",
        ("lacks", "UTC"): r"1.parquet: has no column 'note', which .*0.parquet has; give all files the same columns",
        ("kinds", "UTC"): r"1.parquet: column 'location' holds INT32, and in other files it holds string; give all",
        ("cut.parquet", "UTC"): "cut.parquet: is not a Parquet file, or is cut off",
    }
    for (name, zone), message in wrong.items():
        with pytest.raises(DataError, match=message):
            publish_table(
                session, plan, EventTable((str(tmp_path / name),), naive_zone=zone), tmp_path / "out.parquet", seed=1
            )
        left = Unfinished.beside(tmp_path / "out.parquet")
        if left.exists():  # the work has begun: the key is kept until somebody decides
            assert left.stat().st_mode & 0o777 == 0o700
            with pytest.raises(DiscreetError, match="--resume"):
                publish_table(session, plan, EventTable((str(tmp_path / name),)), tmp_path / "out.parquet", seed=1)
            subprocess.run(["rm", "-r", str(left)], check=True)
    assert not (tmp_path / "out.parquet").exists()


def test_a_person_with_a_hundred_times_the_events_spans_batches(session: Any, tmp_path: Path) -> None:
    from discreet.publish.engines.spark.publish import publish_table

    plan, people = population()
    long = Trajectory(people[3].person, people[3].events * (2_500 // len(people[3])))
    people[3] = long
    plan = Plan(plan.habits, plan.policy, plan.mechanism, piece_length=4)
    table = written(people[::-1], tmp_path / "events.parquet")
    before = session.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    try:
        done = publish_table(session, plan, table, tmp_path / "published.parquet", seed=2, partitions=3)
    finally:
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", before)
    wanted: list[Any] = []
    assert report_in(done.report) == report_rows(publish(plan, people, wanted.extend, seed=2))
    assert rows_in(done.table) == wanted


# --- draws: a thing that is computed again is drawn alike


@dataclass(frozen=True)
class FailsOnce:
    """A work that writes down what it has drawn, and fails the first time that it is given these people."""

    work: Work
    folder: Path

    def __call__(self, people: pl.DataFrame) -> Done:
        done = self.work(people)
        name = str(people["person"][0]).replace(" ", "-")
        attempts = len(list(self.folder.glob(f"{name}.*")))
        (self.folder / f"{name}.{attempts}").write_text(json.dumps(done.rows.rows()))
        if attempts == 0:
            raise RuntimeError("made to fail after drawing")
        return done


def test_a_task_that_fails_after_drawing_draws_the_same_again(session: Any, tmp_path: Path) -> None:
    from discreet.publish.engines.spark.people import by_person
    from discreet.publish.engines.spark.tables import read_events

    plan, people = population()
    table = written(people, tmp_path / "events.parquet")
    key, drawn = RunKey.new(), tmp_path / "drawn"
    drawn.mkdir()
    write_key(tmp_path / "key", key)
    rows, _ = read_events(session, table)
    work = FailsOnce(PublishWork(plan, tmp_path / "key"), drawn)
    frame = by_person(session, rows, table, work, 2)
    # Two actions on one frame: the second computes all of it again.
    first, second = (frame.select("person", "shown").orderBy("person").collect() for _ in range(2))
    assert first == second
    alone = {one.person: publish_person(plan, one, key)[0] for one in people}
    assert {row["person"]: tuple(PartialEvent(*event) for event in row["shown"]) for row in first} == alone
    attempts = {path.name for path in drawn.iterdir()}
    begun = {name.partition(".")[0] for name in attempts}
    assert begun
    for name in begun:
        texts = {(drawn / one).read_text() for one in attempts if one.startswith(f"{name}.")}
        assert len(texts) == 1  # however often
        assert {f"{name}.0", f"{name}.1", f"{name}.2"} <= attempts  # failed, drawn again, and once more


def test_the_key_is_nowhere_that_spark_shows(session: Any, tmp_path: Path) -> None:
    from discreet.publish.engines.spark.people import by_person
    from discreet.publish.engines.spark.tables import read_events

    plan, people = population(3)
    table = written(people, tmp_path / "events.parquet")
    key = RunKey.new()
    write_key(tmp_path / "key", key)
    rows, _ = read_events(session, table)
    frame = by_person(session, rows, table, PublishWork(plan, tmp_path / "key"), 2)
    said = frame._jdf.queryExecution().toString() + repr(session.sparkContext.getConf().getAll())
    assert key.key.hex() not in said
    assert repr(key.key)[2:-1] not in said


# --- workers that fail for good


@dataclass(frozen=True)
class Ends:
    """A work whose process ends, as one that the system has no memory for."""

    plan: Plan
    key: Path

    def __call__(self, people: pl.DataFrame) -> Done:
        os._exit(9)


@dataclass(frozen=True)
class Full(Ends):
    """A work whose disk is full."""

    def __call__(self, people: pl.DataFrame) -> Done:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_workers_that_fail_are_told_of_in_a_line_and_leave_no_table(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.publish.engines.spark import publish as spark

    plan, people = population(3)
    plan = replace(plan, habits=ChainHabits())
    table, out = written(people, tmp_path / "events.parquet"), tmp_path / "out.parquet"
    for work, message in ((Ends, "a Python worker ended before its time"), (Full, "the disk is full")):
        with monkeypatch.context() as patch:
            patch.setattr(spark, "PublishWork", work)
            with pytest.raises(DiscreetError, match=message) as told:
                spark.publish_table(session, plan, table, out, seed=1, resume=work is Full, partitions=1)
        assert "\n" not in str(told.value)
        assert "--resume" in str(told.value)
        assert not out.exists()
    done = spark.publish_table(session, plan, table, out, seed=1, resume=True, partitions=1)
    wanted: list[Any] = []
    assert report_in(done.report) == report_rows(publish(plan, people, wanted.extend, seed=1))
    assert rows_in(out) == wanted
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "events.parquet",
        "out.parquet",
        "out.parquet.manifest.json",
        "out.report.parquet",
    ]


# --- habits that were learned before


def test_rows_of_habits_meet_their_people(session: Any, tmp_path: Path) -> None:
    """More people than a task or a batch has, some without a row, and rows without events."""
    from discreet.publish.engines.spark.publish import publish_table, spark_run

    truth = topic_model(people=14, topics=2, sizes=(3, 2, 2), seed=5)
    everybody = trajectories(truth, length=(1, 9), seed=5)
    learned = Plan.learn(everybody[:10], Policy("activity=activity 1"), topics=2, sweeps=400, piece_length=4)
    people = everybody[3:]
    assert {one.person for one in people} - {one.person for one in everybody[:10]}
    save_habits(tmp_path / "models", learned.habits)
    kept = replace(learned, habits=load_some(tmp_path / "models", [one.person for one in everybody[:5]]))
    wanted: list[Any] = []
    report = publish(learned, people, wanted.extend, seed=2)
    table = written(people, tmp_path / "events.parquet")
    before = session.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    try:
        for plan, name in ((learned, "learned.parquet"), (kept, "kept.parquet")):
            done = publish_table(session, plan, table, tmp_path / name, seed=2, partitions=5)
            assert rows_in(done.table) == wanted
            assert report_in(done.report) == report_rows(report)
    finally:
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", before)
    with spark_run(session, table, tmp_path / "other.parquet") as run:
        work, own = run._joined(kept)
        assert isinstance(work.plan.habits, TopicHabits)
        assert work.plan.habits.model.people == ()  # what is sent to all
        assert own is not None
        assert own.count() == 10
    subprocess.run(["rm", "-r", str(tmp_path / "models")], check=True)
    save_habits(tmp_path / "models", population(seed=9)[0].habits)
    with pytest.raises(DiscreetError, match="the habits have changed since"):
        publish_table(session, kept, table, tmp_path / "other.parquet")
    assert not Unfinished.beside(tmp_path / "other.parquet").exists()


# --- runs that meet


def test_a_run_is_one_processs_and_one_engines(session: Any, tmp_path: Path) -> None:
    from discreet.publish.engines.spark.publish import publish_table, spark_run

    plan, people = population(3)
    table, out = written(people, tmp_path / "events.parquet"), tmp_path / "published.parquet"
    folder = Unfinished.beside(out)
    with spark_run(session, table, out, seed=1) as run:
        for resume, message in ((True, "unfinished: the run is under way in another process"), (False, "--resume")):
            with pytest.raises(DiscreetError, match=message):
                publish_table(session, plan, table, out, seed=1, resume=resume)
        with pytest.raises(DiscreetError, match="started with --engine spark; resume it the same way"):
            Unfinished.resumed(out, 1)
        assert run.publish(plan).summary.people == 3
    assert not folder.exists()
    Unfinished.begun(tmp_path / "local.parquet", 1)
    with pytest.raises(DiscreetError, match="started with --engine local; resume it the same way"):
        publish_table(session, plan, table, tmp_path / "local.parquet", seed=1, resume=True)


def test_a_run_that_is_all_but_done_is_ended_as_it_was_begun(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.publish.engines.spark import publish as spark
    from discreet.publish.engines.spark.publish import publish_table

    plan, people = population(3)
    table = written(people, tmp_path / "events.parquet")

    def place(made: Path, wanted: Path, _place: Any = spark._place) -> None:
        if made.name == stops_at:
            raise KeyboardInterrupt
        _place(made, wanted)

    def stopped(out: Path, **options: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(spark, "_place", place)
            with pytest.raises(KeyboardInterrupt):
                publish_table(session, plan, table, out, seed=1, **options)

    # Before the report is at its place, it may go to another.
    out, stops_at = tmp_path / "one.parquet", "report"
    stopped(out)
    (tmp_path / "taken.parquet").mkdir()
    with pytest.raises(DataError, match="is there already; delete it"):
        publish_table(session, plan, table, out, report=tmp_path / "taken.parquet", seed=1, resume=True)
    done = publish_table(session, plan, table, out, report=tmp_path / "elsewhere.parquet", seed=1, resume=True)
    assert len(report_in(done.report)) == 3
    assert not Unfinished.beside(out).exists()
    # Later it may not, and no rule may be another one.
    out, stops_at = tmp_path / "two.parquet", "table"
    stopped(out)
    stands = tmp_path / "two.report.parquet"
    with pytest.raises(DataError, match=f"continue with --report {stands}"):
        publish_table(session, plan, table, out, report=tmp_path / "third.parquet", seed=1, resume=True)
    with pytest.raises(DiscreetError, match="other data, habits or rules"):
        publish_table(session, replace(plan, piece_length=3), table, out, seed=1, resume=True)
    with pytest.raises(DiscreetError, match="started with --seed 1"):
        publish_table(session, plan, table, out, resume=True)
    again = publish_table(session, plan, table, out, seed=1, resume=True)
    assert rows_in(again.table) == rows_in(done.table)
    assert report_in(again.report) == report_in(done.report)
    assert again.summary == done.summary
    assert not Unfinished.beside(out).exists()


def test_what_is_on_another_disk_appears_whole_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.publish.engines.spark.publish import REPORT, _place

    made, wanted = tmp_path / "unfinished" / REPORT, tmp_path / "there" / "report.parquet"
    made.mkdir(parents=True, mode=0o700)
    (made / "part-00000.parquet").touch()
    wanted.parent.mkdir()
    rename = Path.rename

    def far(path: Path, target: Path) -> Path:
        if path.parent != Path(target).parent:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", far)
    _place(made, wanted)
    assert [path.name for path in wanted.iterdir()] == ["part-00000.parquet"]
    assert wanted.stat().st_mode & 0o777 == 0o700
    assert [*wanted.parent.iterdir()] == [wanted]
    assert not made.exists()


def test_a_report_has_a_place_of_its_own(tmp_path: Path) -> None:
    from discreet.publish.engines.spark.publish import publish_table

    plan, people = population(3)
    table, out = written(people, tmp_path / "events.parquet"), tmp_path / "out.parquet"
    for report, message in ((out, "take the place of the table"), (tmp_path / "report.csv", "a report of Spark")):
        with pytest.raises(DataError, match=message):
            publish_table(None, plan, table, out, report=report)


# --- a run that is killed

SCRIPT = """
import sys, time
from pathlib import Path
from tests.data.test_many import odd_dataset
from tests.publish.sparks import LOCAL, session_at, written
from tests.publish.test_spark import population
from discreet.publish.engines.spark import publish as spark
from discreet.publish.work import PublishWork

folder = Path(sys.argv[1])
plan, people = population(seed=8)
table = written(people, folder / "events.parquet")

def wait(*given):
    (folder / "begun").touch()
    time.sleep(600)

spark._write_table = wait
spark.publish_table(session_at(LOCAL), plan, table, folder / "published.parquet")
"""


def test_a_run_that_is_killed_is_gone_on_with_and_draws_the_same(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.publish.engines.spark import publish as spark
    from discreet.publish.engines.spark.publish import publish_table
    from discreet.publish.key_file import read_key

    plan, people = population(seed=8)
    out, kept = tmp_path / "published.parquet", Unfinished.beside(tmp_path / "published.parquet")
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)], cwd=Path(__file__).parents[2])
    deadline = time.monotonic() + 300
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    key = read_key(kept / "key")
    assert not out.exists()
    table = EventTable((str(tmp_path / "events.parquet"),), clock(times_of(people)))
    with pytest.raises(DiscreetError, match="--resume"):
        publish_table(session, plan, table, out)
    with pytest.raises(DiscreetError, match="started without --seed"):
        publish_table(session, plan, table, out, seed=1, resume=True)
    # It is ended once more, when all is written but the key is not yet erased.
    with monkeypatch.context() as patch:
        patch.setattr(spark, "_erase", interrupted)
        with pytest.raises(KeyboardInterrupt):
            publish_table(session, plan, table, out, resume=True)
    assert out.exists()
    assert kept.exists()
    done = publish_table(session, plan, table, out, resume=True)
    alone = [publish_person(plan, one, key) for one in people]
    assert rows_in(out) == [(own.person, event) for shown, own in alone for event in shown]
    assert report_in(done.report) == report_rows(Report(tuple(own for _, own in alone)))
    assert not kept.exists()
    with pytest.raises(DataError, match="is there already"):
        publish_table(session, plan, table, out)


def test_a_run_goes_on_with_the_habits_that_its_records_are_of(tmp_path: Path) -> None:
    """Others of the same name would be tested, and told of, in the place of those that the table is made by."""
    from discreet.publish.engines.spark.publish import SparkRun

    plan, people = population(seed=3)
    other = replace(plan, habits=TopicHabits(topic_model(people=12, topics=2, sizes=(3, 2, 2), seed=9)))
    assert other.habits.name == plan.habits.name
    table = written(people, tmp_path / "events.parquet")
    run = SparkRun(None, table, tmp_path, tmp_path / "out.parquet", tmp_path / "report.parquet", None)
    run._same_as_begun(plan)
    run._same_as_begun(plan)
    with pytest.raises(DiscreetError, match="other data, habits or rules"):
        run._same_as_begun(other)


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt
