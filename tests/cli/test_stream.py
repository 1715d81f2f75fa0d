"""`discreet stream`: what is wrong is said before Spark starts. That it follows people is tests/publish/'s."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.publish.engines.spark import session as spark_session
from tests.cli.conftest import Discreet
from tests.publish.followed import folder_of


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The options of a stream that could start, if Spark could."""
    following = folder_of(tmp_path, ["ann"])
    (tmp_path / "in").mkdir()
    monkeypatch.setattr(spark_session, "missing", lambda **_: None)

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(spark_session, "running", refused)
    return {
        "": str(tmp_path / "in"),
        "--model": str(following.models),
        "--policy": str(following.policy),
        "--out": str(tmp_path / "out"),
        "--checkpoint": str(tmp_path / "state"),
        "--carry": "0",
    }


def arguments(given: dict[str, str]) -> list[str]:
    return [word for option, value in given.items() for word in (option, value) if word]


def test_java_that_is_missing_is_said_with_its_remedy(
    discreet: Discreet, given: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_session, "missing", lambda **_: f"there is no Java; {spark_session.GET_JAVA}")
    ran = discreet("stream", *arguments(given))
    assert ran.code == 2
    assert "apt install openjdk" in ran.err


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("", "nowhere", "is no folder; make it"),
        ("--model", "nowhere", "a model for each person"),
        ("--model", __file__, "is the model of one person, and a stream has a folder with one for each"),
        ("--since", "March", "YYYY-MM-DD"),
        ("--mechanism", "no-mask", "without end"),
        ("--policy", "nowhere.toml", "no such policy file"),
        ("--carry", "soon", "write a time such as 4h"),
    ],
)
def test_what_is_wrong_is_said_before_spark_starts(
    discreet: Discreet, given: dict[str, str], option: str, value: str, said: str
) -> None:
    ran = discreet("stream", *arguments({**given, option: value}))
    assert ran.code == 2
    assert said in ran.err
    assert not Path(given["--checkpoint"]).exists()


def test_the_last_batch_is_committed_or_not(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'discreet[spark]'")
    from discreet.publish.stream.spark import is_committed

    assert is_committed(tmp_path)
    for log, number in (("offsets", 0), ("commits", 0), ("offsets", 1)):
        (tmp_path / log).mkdir(exist_ok=True)
        (tmp_path / log / str(number)).write_text(json.dumps({}), encoding="utf-8")
        assert is_committed(tmp_path) == (log == "commits")
