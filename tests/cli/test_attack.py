from __future__ import annotations

import csv
import datetime as dt
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet.cli import run
from discreet.clock import Clock
from discreet.contexts import UNKNOWN, Day
from discreet.data import write_releases
from discreet.models.simulate import person
from discreet.outputs import SUPPRESSED, Release
from discreet.places import Circle, Place, Places, write_places
from tests.cli.conftest import Discreet, error_of

pytest.importorskip("sklearn", reason="scikit-learn is not installed; pip install discreet[attack]")

CLOCK = Clock(24, zone="Europe/Paris")


def written(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person's readings and what MaskSensitive released of them; cards of many people, and what was published."""
    folder = tmp_path_factory.mktemp("attacked")
    days = person("p01", days=120, slots=24, seed=5)
    written(folder / "readings.csv", [("user", "timestamp", "context"), *_readings(days)])
    (folder / "policy.toml").write_text('[[secret]]\ncontexts = ["work"]\nbetween = ["08:00", "20:00"]\n')
    given = ["--model", folder / "p01.model", "--policy", folder / "policy.toml", "--mechanism", "mask-sensitive"]
    learned = ["learn", folder / "readings.csv", "--slots", 24, "--zone", CLOCK.zone, "--day-by-day"]
    assert _run(*learned, "--out", folder / "p01.model") == 0
    for name in ("shown.csv", "shown.jsonl", "shown.parquet"):
        assert _run("release", *given, folder / "readings.csv", "--out", folder / name) == 0
    _cards(folder)
    return folder


def _run(*arguments: object) -> int:
    return run([str(argument) for argument in arguments])


def _readings(days: list[Day]) -> list[tuple[object, ...]]:
    return [
        (day.person, CLOCK.start_of(day.date, slot).isoformat(), context)
        for day in days
        for slot, context in enumerate(day.contexts)
        if context != UNKNOWN and day.date is not None
    ]


def _cards(folder: Path) -> None:
    """Who gambles does so at the casino, and nobody else is there."""
    draw, rows = random.Random(1), []
    for number in range(40):
        for hour in range(12):
            what, where = (
                ("gambling", "casino") if draw.random() < 0.1 else draw.choice([("work", "office"), ("eat", "cafe")])
            )
            rows.append((f"p{number}", f"2026-03-02T{8 + hour:02d}:00:00+00:00", where, what))
    written(folder / "cards.csv", [("user", "timestamp", "location", "activity"), *rows])
    (folder / "cards.toml").write_text('[[secret]]\ncontexts = ["activity=gambling"]\n')
    given = ["--policy", folder / "cards.toml", "--mechanism", "sensitive-mask", "--habits", "chain", "--seed", 1]
    for name in ("published.csv", "published.parquet"):
        assert _run("publish", folder / "cards.csv", *given, "--out", folder / name) == 1


@pytest.mark.parametrize("name", ["shown.csv", "shown.jsonl"])
def test_a_release_that_leaks_is_found_out(discreet: Discreet, folder: Path, name: str) -> None:
    given = ["attack", folder / name, folder / "readings.csv", "--policy", folder / "policy.toml", "--zone", CLOCK.zone]
    ran = discreet(*given)
    assert ran.code == 1, ran.err
    assert "work: BEYOND: what is shown supports a belief of" in ran.out
    assert "learned from 48 days, was calibrated on 24 and judged on 48 others" in ran.out
    document = discreet(*given, "--json").json
    assert (document["found"], document["split"], document["left_out"]) == (True, "days", 0)
    (secret,) = document["secrets"]
    assert secret["verdict"] == "beyond"
    assert secret["supported"] > secret["limit"]
    assert secret["judged"] == 48 * 12


def test_silence_is_not(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    days = person("p01", days=120, slots=24, seed=5)
    silent = [
        Release("another name", day.date, slot, CLOCK.start_of(day.date, slot), SUPPRESSED)
        for day in days
        for slot in range(24)
        if day.date is not None
    ]
    write_releases(tmp_path / "silent.csv", silent[:-3])
    given = [folder / "readings.csv", "--policy", folder / "policy.toml", "--zone", CLOCK.zone]
    ran = discreet("attack", tmp_path / "silent.csv", *given)
    assert ran.code == 0, ran.err
    assert "1 days were left out" in ran.err  # the last is not whole
    assert "BEYOND" not in ran.out


@pytest.mark.parametrize("name", ["published.csv", "published.parquet"])
def test_a_published_table_that_leaks_is_found_out(discreet: Discreet, folder: Path, name: str) -> None:
    ran = discreet("attack", folder / name, folder / "cards.csv", "--policy", folder / "cards.toml")
    assert ran.code == 1, ran.err
    assert "480 events in 40 pieces of 40 people" in ran.out
    assert "judged on 16 others" in ran.out
    assert "activity=gambling: BEYOND" in ran.out


def test_too_little_is_not_a_verdict(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[secret]]\ncontexts = ["hopsital"]\n')
    ran = discreet("attack", folder / "shown.csv", folder / "readings.csv", "--policy", policy, "--zone", CLOCK.zone)
    assert ran.code == 3  # neither a yes nor a no
    assert "no secret could be tested. An attack takes at least 20 people" in ran.err
    assert "hopsital: not tested: true for 0 day(s) of those learned from, and 5 are needed" in ran.out
    assert "'hopsital' is nowhere in the truth; did you mean 'hospital'?" in ran.err


def test_positions_are_attacked_by_the_map(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    days = person("p01", days=120, slots=24, seed=5)
    labels = sorted({context for day in days for context in day.contexts} - {UNKNOWN})
    at = {label: (52.5, 13.4 + 0.02 * number) for number, label in enumerate(labels)}  # more than a kilometre apart
    write_places(tmp_path / "map.geojson", Places([Place(name, Circle(*at[name], 100.0)) for name in labels]))
    header = ("user", "timestamp", "latitude", "longitude")
    rows = [(who, when, *at[str(context)]) for who, when, context in _readings(days)]
    truth = written(tmp_path / "positions.csv", [header, *rows])
    files = [folder / "shown.csv", truth, "--policy", folder / "policy.toml", "--zone", CLOCK.zone]
    ran = discreet("attack", *files, "--places", tmp_path / "map.geojson")
    assert ran.code == 1, ran.err
    assert "BEYOND" in ran.out


@pytest.mark.parametrize(
    ("shown", "truth", "policy", "more", "told"),
    [
        ("shown.csv", "readings.csv", "policy.toml", [], "by --zone UTC --cut 00:00"),
        ("shown.parquet", "readings.csv", "policy.toml", ["--zone", CLOCK.zone], "read back from .csv and .jsonl"),
        ("shown.csv", "cards.csv", "policy.toml", ["--zone", CLOCK.zone], "--context"),
        ("shown.csv", "readings.csv", "none.toml", ["--zone", CLOCK.zone], "no such policy file"),
        ("shown.csv", "readings.csv", "policy.toml", ["--zone", CLOCK.zone, "--false-alarms", "0"], "false-alarm rate"),
        ("none.csv", "readings.csv", "policy.toml", [], "none.csv"),
        ("published.csv", "cards.csv", "policy.toml", [], "no clock is known"),
        ("published.csv", "other.csv", "cards.toml", [], "has 12 rows of 'p0', and"),
        ("published.csv", "cards.csv", "cards.toml", ["--activity", "what"], "--activity"),
        ("published.csv", "cards.csv", "cards.toml", ["--piece", "-2"], "pieces of -2"),
        ("twice.csv", "readings.csv", "policy.toml", ["--zone", CLOCK.zone], "slot 3 of 2026-01-05 is there twice"),
        ("shown.csv", "later.csv", "policy.toml", ["--zone", CLOCK.zone], "none of its whole days"),
        ("shown.csv", "readings.csv", "clock.toml", ["--zone", CLOCK.zone], "give the clock of the outputs"),
    ],
)
def test_bad_use_is_told(
    discreet: Discreet, folder: Path, shown: str, truth: str, policy: str, more: list[str], told: str
) -> None:
    lines = (folder / "shown.csv").read_text().splitlines()
    (folder / "twice.csv").write_text("\n".join([*lines[:5], *lines[4:]]))
    (folder / "other.csv").write_text("\n".join((folder / "cards.csv").read_text().splitlines()[:8]))
    late = dt.datetime(2027, 1, 1, 12, tzinfo=dt.UTC).isoformat()
    (folder / "later.csv").write_text(f"user,timestamp,context\np01,{late},home\n")
    (folder / "clock.toml").write_text('[clock]\nslots = 48\n[[secret]]\ncontexts = ["work"]\n')
    assert told in error_of(discreet("attack", folder / shown, folder / truth, "--policy", folder / policy, *more))
