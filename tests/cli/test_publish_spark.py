"""`discreet publish --engine spark` against `--engine local`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.publish import TopicHabits
from discreet.publish.engines.spark import session as spark_session
from tests.cli.conftest import Discreet, error_of
from tests.cli.test_publish import cards, given  # noqa: F401  a fixture
from tests.publish.sparks import LOCAL, session_at

SECRET = ("--secret", "activity=activity 1", "--accept-model", "--json")
TOPICS = ("--habits", "topics", "--topics", 2, "--sweeps", 400, "--learn-from", 3)


@pytest.mark.spark
def test_spark_publishes_and_reports_as_this_machine_does(
    discreet: Discreet,
    cards: Path,  # noqa: F811
    tmp_path: Path,
    spark_stops: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With habits that one engine learned and kept, and secrets of each person; the other learns nothing again."""
    monkeypatch.setattr(spark_session, "running", lambda master: nullcontext(session_at(LOCAL)))
    documents: dict[str, Any] = {}
    own = tmp_path / "own.csv"
    own.write_text("person,secret,delta,cap\np2,location=location 2,0.3,\np1,activity=activity 1,0.05,0.5\n")
    for engine in ("local", "spark"):
        out = tmp_path / f"{engine}.parquet"
        more = ("--engine", "spark", "--master", LOCAL) if engine == "spark" else ()
        ran = discreet(
            *given(cards, out, *SECRET, *TOPICS, "--models", tmp_path / "models", "--own-secrets", own, *more)
        )
        assert ran.code == 0, ran.err
        documents[engine] = ran.json
        monkeypatch.setattr(TopicHabits, "learn", refused)
    local, spark = documents["local"], documents["spark"]
    rows = pl.concat([pl.read_parquet(part) for part in sorted((tmp_path / "spark.parquet").iterdir())])
    assert rows.equals(pl.read_parquet(tmp_path / "local.parquet"))
    for name in ("utility", "breach_rate"):  # sums in another order
        assert spark.pop(name) == pytest.approx(local.pop(name), rel=1e-12)
    assert [one["name"] for one in spark.pop("known")] == [one["name"] for one in local.pop("known")]
    for document in documents.values():
        document.pop("out")
    assert local == spark
    manifests = [discreet("verify", tmp_path / f"{engine}.parquet", "--json") for engine in ("local", "spark")]
    assert [ran.code for ran in manifests] == [0, 0]
    one, other = (ran.json["manifest"] for ran in manifests)
    same = ("inputs", "counts", "habits", "policy", "mechanism", "promise")
    assert [one[key] for key in same] == [other[key] for key in same]
    assert [path.suffix for path in map(Path, (file["path"] for file in other["outputs"]))].count(".parquet") >= 2
    people = pl.concat([pl.read_parquet(part) for part in sorted((tmp_path / "spark.report.parquet").iterdir())])
    assert sorted(people["person"]) == sorted(each["person"] for each in local["people"])
    next((tmp_path / "spark.report.parquet").glob("part-*")).unlink()
    assert discreet("verify", tmp_path / "spark.parquet").code == 1


def refused(*_: object, **__: object) -> None:
    raise AssertionError("learned again")


def test_what_spark_does_not_do_is_told_before_it_starts(
    discreet: Discreet,
    cards: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark = ("--engine", "spark", *SECRET)
    out = tmp_path / "out.parquet"
    monkeypatch.setattr(spark_session, "missing", lambda: "there is no Java; get it")
    for more, message in (
        ((*spark, "--workers", 2), "--workers is of --engine local"),
        ((*spark, "--partition-by", "place"), "--partition-by is of --engine local"),
        ((*SECRET, "--master", "local[2]"), "--master is of --engine spark"),
        (spark, "there is no Java; get it"),
    ):
        assert message in error_of(discreet(*given(cards, out, *more)))
    assert "let the name end in .parquet" in error_of(discreet(*given(cards, tmp_path / "out.csv", *spark)))
    assert [path.name for path in tmp_path.iterdir()] == ["cards.csv"]
