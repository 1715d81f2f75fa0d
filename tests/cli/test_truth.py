"""What the commands say of how true habits are: words, JSON, exit codes, and nothing written when the answer is no."""

from __future__ import annotations

import csv
import datetime as dt
import random
from pathlib import Path

import pytest

from tests.cli.conftest import POLICY, READINGS, Discreet

PARIS = ["--zone", "Europe/Paris"]
EVENTS = ["--secret", "activity=gambling", "--topics", "1", "--seed", "1"]


@pytest.fixture
def moved(tmp_path: Path) -> Path:
    """Readings of somebody who was at work by day for six weeks, and then is at home."""
    path = tmp_path / "moved.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("user", "timestamp", "context"))
        for day in range(50):
            for hour in range(24):
                when = dt.datetime(2026, 1, 5, hour, 10, tzinfo=dt.UTC) + dt.timedelta(days=day)
                writer.writerow(("p", when.isoformat(), "work" if 9 <= hour < 17 and day < 40 else "home"))
    return path


@pytest.fixture
def weekly(tmp_path: Path) -> Path:
    """A table in which everything comes back after seven events, which no habits here can express."""
    path, draw = tmp_path / "weekly.csv", random.Random(1)
    places = {"casino": "gambling", "office": "work", "canteen": "meal", "mall": "shopping"}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("user", "timestamp", "location", "activity"))
        for person in range(40):
            week = draw.choices(list(places), [6, 40, 30, 24], k=7)
            for number in range(28):
                place = week[number % 7]
                when = dt.datetime(2026, 1, 5, draw.choice([8, 20]), tzinfo=dt.UTC) + dt.timedelta(days=number)
                writer.writerow((f"p{person:02}", when.isoformat(), place, places[place]))
    return path


def test_learn_says_how_true_the_habits_are(discreet: Discreet, tmp_path: Path) -> None:
    ran = discreet(
        "learn", READINGS, *PARIS, "--secrets", POLICY, "--out", tmp_path / "m", "--picture", tmp_path / "p.png"
    )
    assert ran.code == 0
    assert "Are the habits true? Nothing speaks against it: on the last 8 days, by habits of the 34 before," in ran.out
    for words in ("home at night", "An observer who sees one slot in four hours:", "by chance", "notices"):
        assert words in ran.out
    assert (tmp_path / "p.png").read_bytes()[1:4] == b"PNG"
    document = discreet("learn", READINGS, *PARIS, "--secrets", POLICY, "--out", tmp_path / "m", "--json").json
    truth = document["people"][0]["truth"]
    assert (truth["holds"], truth["held_out"], truth["accepted"], document["saved"]) == (True, True, False, True)
    assert {"secret", "kind", "name", "claims", "said", "was", "low", "high", "off"} == set(
        truth["looks"][0]["cells"][0]
    )
    said = discreet("audit", "--model", tmp_path / "m", "--policy", POLICY, "--mechanism", "adaptive", "--budget", 20)
    assert f"All of this if the habits are as learned: {truth['figure']}." in said.out


def test_learn_saves_nothing_where_habits_do_not_hold(discreet: Discreet, moved: Path, tmp_path: Path) -> None:
    out = tmp_path / "m"
    ran = discreet("learn", moved, "--slots", 24, "--out", out)
    assert ran.code == 1
    assert "Are the habits true? NO: on the last 10 days" in ran.out
    assert "off: 'work' " in ran.out
    assert "What to do: " in ran.out
    assert "--accept-model" in ran.out
    assert "nothing was saved" in ran.err
    assert not out.exists()
    refused = discreet("learn", moved, "--slots", 24, "--out", out, "--json")
    assert (refused.code, refused.json["saved"]) == (1, False)
    truth = refused.json["people"][0]["truth"]
    assert (truth["holds"], truth["accepted"]) == (False, False)
    assert "work" in truth["findings"][0]["words"] + truth["findings"][1]["words"]
    assert truth["remedy"]
    assert not out.exists()


def test_learn_goes_on_where_told_to_and_others_say_so(discreet: Discreet, moved: Path, tmp_path: Path) -> None:
    out, policy = tmp_path / "m", tmp_path / "work.toml"
    policy.write_text('[[secret]]\ncontexts = ["work"]\n')
    ran = discreet("learn", moved, "--slots", 24, "--secrets", policy, "--out", out, "--accept-model")
    assert ran.code == 0
    assert "Accepted with --accept-model." in ran.out
    assert out.is_file()
    again = discreet("learn", moved, "--slots", 24, "--out", out, "--accept-model", "--json").json
    assert again["people"][0]["truth"]["accepted"] is True
    said = discreet("audit", "--model", out, "--policy", policy, "--mechanism", "mask-sensitive", "--budget", 20)
    assert "All of this if the habits are as learned: on the last 10 days" in said.out
    assert "the habits say" in said.out.splitlines()[-1]
    released = discreet("release", moved, "--model", out, "--policy", policy, "--mechanism", "mask-sensitive")
    assert "these habits did not hold: on the last 10 days" in released.err


def test_few_days_are_not_tested(discreet: Discreet, family: Path, tmp_path: Path) -> None:
    columns = ["--user", "who", "--time", "at", "--context", "place"]
    ran = discreet("learn", family, *columns, "--person", "p1", "--out", tmp_path / "m")
    assert ran.code == 0
    assert "Are the habits true? Not tested: too few days (2; it takes 7)." in ran.out
    ran = discreet("learn", family, *columns, "--out", tmp_path / "all")
    assert "p2: not tested: " in ran.out


def test_evaluate_holds_habits_against_the_days(discreet: Discreet, moved: Path, tmp_path: Path) -> None:
    policy = tmp_path / "work.toml"
    policy.write_text('[[secret]]\ncontexts = ["work"]\n')
    rows = moved.read_text().splitlines()
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    before.write_text("\n".join(rows[: 1 + 24 * 40]) + "\n")
    after.write_text("\n".join([rows[0], *rows[1 + 24 * 40 :]]) + "\n")
    learned = ["--model", tmp_path / "m", "--policy", policy, "--mechanism", "adaptive"]
    assert discreet("learn", before, "--slots", 24, "--out", tmp_path / "m").code == 0
    same = discreet("evaluate", before, *learned)
    assert same.code == 0
    assert "they were learned from the same data, so this says little" in same.out
    other = discreet("evaluate", after, *learned, "--json")
    assert other.code == 1
    assert other.json["breached"] is False
    assert (other.json["truth"]["holds"], other.json["truth"]["held_out"]) == (False, True)
    assert [look["observer"] for look in other.json["truth"]["looks"]][1] == "who sees what adaptive shows"
    accepted = discreet("evaluate", after, *learned, "--accept-model", "--picture", tmp_path / "p.png")
    assert accepted.code == 0
    assert "Accepted with --accept-model." in accepted.out
    assert (tmp_path / "p.png").is_file()


def test_publish_writes_nothing_where_habits_are_not_true(discreet: Discreet, weekly: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "published.csv"
    out.parent.mkdir()
    ran = discreet("publish", weekly, *EVENTS, "--out", out)
    assert ran.code == 1
    assert "Are the habits true? NO: " in ran.out
    assert "'activity=gambling' " in ran.out
    assert "nothing was written" in ran.err
    assert list(out.parent.iterdir()) == []
    document = discreet("publish", weekly, *EVENTS, "--out", out, "--json")
    assert (document.code, document.json["out"], document.json["truth"]["holds"]) == (1, None, False)
    assert list(out.parent.iterdir()) == []


def test_publish_goes_on_where_told_to(discreet: Discreet, weekly: Path, tmp_path: Path) -> None:
    out = tmp_path / "published.csv"
    ran = discreet("publish", weekly, *EVENTS, "--out", out, "--accept-model")
    assert ran.code == 0
    assert out.is_file()
    assert "Accepted with --accept-model." in ran.out
    assert "guarantee (exact delta, proven, if the habits are as learned): " in ran.out
    assert "How true they are: on " in ran.out
    first = out.read_bytes()
    document = discreet("publish", weekly, *EVENTS, "--out", out, "--accept-model", "--again", "--json").json
    assert document["truth"]["accepted"] is True
    assert out.read_bytes() == first  # the check draws from a source of its own
