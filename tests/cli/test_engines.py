"""learn, release and evaluate by every engine: in this process, by two, and by Spark. One body, run for each."""

from __future__ import annotations

import json
import pickle
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.batch import release as batch_release
from discreet.batch.release import ModelFolder, release_of
from discreet.cli.terminal import print_json, print_json_of_many
from discreet.clock import Clock
from discreet.contexts import Day
from discreet.data.columns import Columns
from discreet.mechanisms.named import Spec
from discreet.publish import RunKey
from discreet.publish.engines.spark import session as spark_session
from discreet.publish.engines.spark import work as spark_work
from discreet.publish.engines.spark.readings import ReadingTable
from discreet.publish.key_file import read_key, write_key
from tests.cli.conftest import POLICY, Discreet, error_of
from tests.cli.test_workers import COLUMNS, LEARN, SLOTS, contents
from tests.publish.sparks import LOCAL, session_at

CARRY = 2
"""Slots into which a reading is carried: four hours."""


@pytest.fixture(scope="module")
def session(spark_stops: None) -> Any:
    return session_at(LOCAL)


@pytest.fixture
def spark(session: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The options of Spark, which is started once for all tests."""
    monkeypatch.setattr(spark_session, "running", lambda master: nullcontext(session))
    return ["--engine", "spark", "--master", LOCAL]


@pytest.fixture(params=["two processes", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> list[str]:
    """The options of an engine that is held against one process."""
    found: list[str] = request.getfixturevalue("spark") if request.param == "spark" else ["--workers", "2"]
    return found


@pytest.fixture
def learned(discreet: Discreet, family: Path, tmp_path: Path) -> Path:
    ran = discreet("learn", family, *LEARN, "--out", tmp_path / "models")
    assert ran.code == 0, ran.err
    return tmp_path / "models"


def test_a_long_list_is_printed_as_a_short_one(capsys: pytest.CaptureFixture[str]) -> None:
    items: list[dict[str, object]] = [{"a": [1, {"b": "x\n\u2028 [" + chr(0x85)}], "people": []}, {"a": []}, {}]
    for many in (items, items[:1], []):
        document: dict[str, object] = {"first": {"people": []}, "people": [], "last": float("nan")}
        print_json({**document, "people": many})
        wanted = capsys.readouterr().out
        print_json_of_many(document, "people", iter(many))
        assert capsys.readouterr().out == wanted


def left(folder: Path) -> list[str]:
    """What is there, hidden or not."""
    return sorted(path.name for path in folder.iterdir())


def test_every_engine_learns_the_same(discreet: Discreet, family: Path, tmp_path: Path, engine: list[str]) -> None:
    table = pl.read_csv(family, infer_schema=False)
    late = table["who"].unique(maintain_order=True).to_list()[::-1]  # people stand in the order of the table
    table = pl.concat([table.filter(pl.col("who") == one) for one in late])
    (tmp_path / "parts").mkdir()
    for number, part in enumerate((table.head(400), table.tail(-400))):
        part.write_csv(tmp_path / "parts" / f"{number}.csv")
    bad = tmp_path / "parts" / "1.csv"
    bad.write_text(bad.read_text() + "p01,never,home\n")
    out = tmp_path / "models"
    ran, made = [], []
    for more in (["--json"], [*engine, "--json"], engine):
        one = discreet("learn", tmp_path / "parts", *LEARN, "--skip-bad", "--out", out, *more)
        assert one.code == 0, one.err
        ran.append(one)
        made.append(contents(out))
        assert left(tmp_path) == ["family.csv", "models", "parts"]
        out.rename(tmp_path / "before")
        for file in (tmp_path / "before").iterdir():
            file.unlink()
        (tmp_path / "before").rmdir()
    assert (ran[0].out, ran[0].err) == (ran[1].out, ran[1].err)
    assert [one["person"] for one in ran[1].json["people"]] == late
    assert made[0] == made[1] == made[2]
    assert len(made[0]) == 2
    assert "1 skipped" in ran[2].out


def test_every_engine_learns_one_of_many(discreet: Discreet, family: Path, tmp_path: Path, engine: list[str]) -> None:
    name = pl.read_csv(family)["who"][0]
    for number, more in enumerate(([], engine)):
        ran = discreet("learn", family, *LEARN, "--person", name, "--out", tmp_path / f"{number}.model", *more)
        assert ran.code == 0, ran.err
    assert (tmp_path / "0.model").read_bytes() == (tmp_path / "1.model").read_bytes()
    told = error_of(discreet("learn", family, *LEARN, "--person", "nobody", "--out", tmp_path / "2.model", *engine))
    assert "there is no person 'nobody'" in told
    told = error_of(discreet("learn", family, *LEARN, "--out", tmp_path / "1.model", *engine))
    assert "1.model: is a file, and there are 2 people" in told
    assert left(tmp_path) == ["0.model", "1.model", "family.csv"]


def test_every_engine_releases_the_same_by_a_seed(
    discreet: Discreet, family: Path, learned: Path, tmp_path: Path, engine: list[str]
) -> None:
    ran = []
    for number, more in enumerate(([], engine)):
        out = tmp_path / f"{number}.jsonl"
        one = discreet("release", "--model", learned, "--policy", POLICY, family, "--seed", 3, "--out", out, *more)
        assert one.code == 0, one.err
        assert "drawn with --seed: whoever guesses it can undo the draws" in one.err
        ran.append((one.out.replace(str(out), "OUT"), one.err))
    assert ran[0] == ran[1]
    assert (tmp_path / "0.jsonl").read_bytes() == (tmp_path / "1.jsonl").read_bytes()
    assert left(tmp_path) == ["0.jsonl", "1.jsonl", "family.csv", "models"]


def test_seeds_are_of_one_person_each(discreet: Discreet, family: Path, learned: Path) -> None:
    """Who else is in the table does not matter, and another seed draws otherwise."""
    given = ["--model", learned, "--policy", POLICY, family, "--json"]
    together = discreet("release", *given, "--seed", 1).json["releases"]
    alone = [
        row
        for one in sorted(learned.iterdir())
        for row in discreet("release", *given, "--seed", 1, "--person", one.stem).json["releases"]
    ]
    assert together == alone
    assert together != discreet("release", *given, "--seed", 2).json["releases"]


def test_every_engine_finds_the_same_figures(
    discreet: Discreet, family: Path, learned: Path, tmp_path: Path, engine: list[str]
) -> None:
    def timeless(document: dict[str, Any]) -> dict[str, Any]:
        for one in document["people"]:
            for part in one["parts"]:
                part.pop("seconds_per_decision")
        return document

    using = ["--model", learned, "--policy", POLICY, "--split", "0.7", "--accept-model"]
    plain, other = (discreet("evaluate", family, *using, "--json", *more) for more in ([], engine))
    assert (plain.code, timeless(plain.json), plain.err) == (other.code, timeless(other.json), other.err)
    assert "learned again from the" in other.err
    assert len(other.json["people"]) == 2
    lines, others = (discreet("evaluate", family, *using, *more).out for more in ([], engine))
    assert lines == others
    assert left(tmp_path) == ["family.csv", "models"]


# --- Spark: what it may do again, and what it may not know


@pytest.mark.spark
def test_without_a_seed_the_key_is_for_its_owner_alone_and_goes(
    discreet: Discreet,
    family: Path,
    learned: Path,
    tmp_path: Path,
    spark: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = []
    release = ["release", "--model", learned, "--policy", POLICY, family, *COLUMNS, *spark]
    work_on = spark_work.work_on

    def looked_at(session: Any, table: Any, work: Any, folder: Path, **more: Any) -> Any:
        path = folder / spark_work.KEY
        assert path.stat().st_mode & 0o777 == 0o600
        assert folder.stat().st_mode & 0o777 == 0o700
        key = read_key(path)
        keys.append(key)
        answers = work_on(session, table, work, folder, **more)
        said = answers.records._jdf.queryExecution().toString() + repr(session.sparkContext.getConf().getAll())
        for secret in (key.key.hex(), repr(key.key)[2:-1]):
            assert secret not in said
            assert secret.encode() not in pickle.dumps(work)
        assert key.key not in pickle.dumps(work)
        return answers

    monkeypatch.setattr(spark_work, "work_on", looked_at)
    for number in range(2):
        out = tmp_path / f"{number}.csv"
        ran = discreet(*release, "--out", out)
        assert ran.code == 0, ran.err
    assert keys[0].seed is None
    assert keys[0] != keys[1]
    assert (tmp_path / "0.csv").read_bytes() != (tmp_path / "1.csv").read_bytes()
    assert left(tmp_path) == ["0.csv", "1.csv", "family.csv", "models"]
    # Whoever is not known leaves nothing, and no key.
    next(iter(learned.iterdir())).unlink()
    assert "has no model in" in error_of(discreet(*release, "--out", out))
    assert left(tmp_path) == ["0.csv", "1.csv", "family.csv", "models"]
    # What a run that was killed has left is not drawn from again.
    (tmp_path / ".2.csv.unfinished").mkdir()
    local = [one for one in release if one not in spark]
    for again in (release, local):
        assert "was not finished, or is under way" in error_of(discreet(*again, "--out", tmp_path / "2.csv"))


@dataclass(frozen=True)
class FailsOnce:
    """A work that writes down what came of a person, and fails the first time."""

    folder: ModelFolder
    key: Path
    drawn: Path

    def __call__(self, person: tuple[str, list[Day]]) -> Any:
        answer = release_of(self.folder, Spec("adaptive"), CARRY, self.key, person)
        attempts = len(list(self.drawn.glob(f"{person[0]}.*")))
        text = json.dumps([row.to_wire() for row in answer.releases])
        (self.drawn / f"{person[0]}.{attempts}").write_text(text)
        if attempts == 0:
            raise RuntimeError("made to fail after drawing")
        return answer


@pytest.mark.spark
def test_a_task_that_fails_after_drawing_draws_the_same_again(
    session: Any, family: Path, learned: Path, tmp_path: Path
) -> None:
    folder, _ = ModelFolder.read(learned, Path(POLICY))
    drawn = tmp_path / "drawn"
    drawn.mkdir()
    key = RunKey.new()
    write_key(tmp_path / "key", key)
    table = ReadingTable((str(family),), Clock(SLOTS), Columns("who", "at", "place"))
    answers = spark_work.work_on(session, table, FailsOnce(folder, tmp_path / "key", drawn), tmp_path / "run")
    found = [[row.to_wire() for row in one.releases] for one in answers]
    assert found == [[row.to_wire() for row in one.releases] for one in answers]  # gone through once more
    names = sorted(file.stem for file in learned.iterdir())
    assert list(answers.names()) == names
    for name, rows in zip(names, found, strict=True):
        attempts = [path.read_text() for path in drawn.glob(f"{name}.*")]
        assert len(attempts) >= 2  # failed, and drawn again
        assert set(attempts) == {json.dumps(rows)}
        assert {row["person"] for row in rows} == {name}
    local = batch_release.PeopleRelease(
        {one: learned / f"{one}.model" for one in names}, Path(POLICY), Spec("adaptive")
    )
    readings = table.days(_sound(table, family))
    for name, rows in zip(names, found, strict=True):
        days = readings.people[name]
        one = batch_release.PersonToRelease(
            name, local.habits[name], local.spec, local.policies[name], days, CARRY, key
        )
        assert [row.to_wire() for row in batch_release.released(one).releases] == rows


def _sound(table: ReadingTable, path: Path) -> pl.DataFrame:
    return pl.concat([table.arranged(part) for part in table.sound(str(path)).batches()])


@pytest.mark.spark
def test_stays_parquet_and_separators_are_read_as_elsewhere(
    discreet: Discreet, family: Path, tmp_path: Path, spark: list[str]
) -> None:
    table = pl.read_csv(family)
    stays = table.with_columns(until=pl.col("at") + 1800)
    stays.write_parquet(tmp_path / "stays.parquet", row_group_size=200)
    stays.with_columns(pl.from_epoch("at").dt.strftime("%d.%m.%Y %H:%M")).write_csv(
        tmp_path / "dates.csv", separator=";"
    )
    of_stays = ["--user", "who", "--start", "at", "--end", "until", "--context", "place"]
    of_dates = [*COLUMNS, "--naive-zone", "UTC", "--separator", ";", "--time-format", "%d.%m.%Y %H:%M"]
    for name, how in (("stays.parquet", of_stays), ("dates.csv", of_dates)):
        made: list[dict[str, bytes]] = []
        for more in ([], spark):
            out = tmp_path / f"{name}.{len(made)}"
            ran = discreet("learn", tmp_path / name, *how, "--accept-model", "--out", out, *more)
            assert ran.code == 0, ran.err
            made.append(contents(out))
        assert made[0] == made[1]


def test_what_spark_does_not_do_is_told_before_it_starts(
    discreet: Discreet, family: Path, learned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_session, "missing", lambda: "there is no Java; get it")
    spark = ["--engine", "spark"]
    one = sorted(learned.iterdir())[0]
    learn = ["learn", family, *LEARN, "--out", tmp_path / "other"]
    release = ["release", *COLUMNS, "--model", learned, "--policy", POLICY]
    evaluate = ["evaluate", *COLUMNS, family, "--model", learned, "--policy", POLICY]
    for arguments, message in (
        ([*learn, *spark, "--workers", 2], "--workers is of --engine local"),
        ([*learn, *spark, "--chart", "week.png"], "--chart is of --engine local"),
        ([*evaluate, *spark, "--picture", "x.png"], "--picture is of --engine local"),
        ([*learn, "--master", "local[2]"], "--master is of --engine spark"),
        ([*release, *spark], "--engine spark is for tables, and standard input is one person's"),
        ([*learn, *spark], "there is no Java; get it"),
        ([*release, family, *spark], "there is no Java; get it"),
        ([*evaluate, *spark], "there is no Java; get it"),
    ):
        assert message in error_of(discreet(*arguments))
    monkeypatch.setattr(spark_session, "missing", lambda: None)
    for arguments, message in (
        (["evaluate", family, "--model", one, "--policy", POLICY, *spark], "is for a folder of models"),
        (["release", "--model", one, "--policy", POLICY, family, *spark], "is for a folder of models"),
        ([*release, family, *spark, "--json"], "give --out with --engine spark"),
        ([*release, family, *spark, "--out", tmp_path / "x.doc"], "says no format for releases"),
        ([*learn, *spark, "--places", "map.geojson"], "--places is of --engine local"),
    ):
        assert message in error_of(discreet(*arguments))
    assert left(tmp_path) == ["family.csv", "models"]
