"""Readings as people have them: other separators, other dates, changes only; and what a model remembers of them."""

from __future__ import annotations

import csv
import datetime as dt
from pathlib import Path

import pytest

from discreet.models.store import reading_of
from tests.cli.conftest import POLICY, READINGS, Discreet, error_of

LEARN = ["--zone", "Europe/Paris", "--keep", "hospital"]


def rewritten(
    path: Path, separator: str, date: str = "", header: tuple[str, ...] = ("user", "timestamp", "context")
) -> Path:
    """The example's readings in another form: %d, %m and so on of their own wall clock."""

    with Path(READINGS).open(encoding="utf-8") as file, path.open("w", encoding="utf-8", newline="") as out:
        rows = csv.reader(file)
        next(rows)
        writer = csv.writer(out, delimiter=separator)
        writer.writerow(header)
        for user, when, context in rows:
            writer.writerow((user, dt.datetime.fromisoformat(when).strftime(date) if date else when, context))
    return path


@pytest.mark.parametrize(("separator", "said"), [(";", "';'"), ("\t", "'tab'"), ("|", "'|'")])
def test_separators_are_found_and_said(discreet: Discreet, tmp_path: Path, separator: str, said: str) -> None:
    data = rewritten(tmp_path / "data.csv", separator)
    plain = discreet("learn", READINGS, *LEARN, "--out", tmp_path / "m", "--json").json
    ran = discreet("learn", data, *LEARN, "--out", tmp_path / "m", "--json")
    assert ran.json == plain
    assert f"separated by {said}; --separator says otherwise" in ran.err
    named = discreet("learn", data, *LEARN, "--out", tmp_path / "m", "--separator", said.strip("'"), "--json")
    assert (named.json, named.err) == (plain, "")
    assert "one character" in error_of(discreet("learn", data, *LEARN, "--out", tmp_path / "m", "--separator", ";;"))


def test_dates_of_spreadsheets(discreet: Discreet, tmp_path: Path) -> None:
    plain = discreet("learn", READINGS, *LEARN, "--out", tmp_path / "m", "--json").json
    naive = ["--naive-zone", "Europe/Paris", "--out", tmp_path / "m", "--json"]
    american = discreet("learn", rewritten(tmp_path / "us.csv", ",", "%m/%d/%Y %I:%M %p"), *LEARN, *naive)
    assert american.json == plain
    assert "of the form '%m/%d/%Y %I:%M %p'; --time-format says otherwise" in american.err
    odd = rewritten(tmp_path / "odd.csv", ",", "%d of %m, %Y at %H.%M")
    assert "--time-format" in error_of(discreet("learn", odd, *LEARN, *naive))
    told = discreet("learn", odd, *LEARN, *naive, "--time-format", "%d of %m, %Y at %H.%M")
    assert (told.json, told.err) == (plain, "")


def test_a_day_that_may_be_a_month_is_asked_for(discreet: Discreet, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("user,timestamp,context\np,3/4/2026 08:00,home\np,3/5/2026 08:00,work\n")
    told = error_of(discreet("learn", data, "--naive-zone", "Europe/Paris", "--out", tmp_path / "m"))
    assert "--time-format '%d/%m/%Y %H:%M' or --time-format '%m/%d/%Y %H:%M'" in told


def test_slips_are_pointed_at(discreet: Discreet, tmp_path: Path) -> None:
    ran = discreet("learn", READINGS, "--keep", "hopsital", "--carry", "0", "--out", tmp_path / "m", "--accept-model")
    assert "'hopsital' is kept, and was never visited; did you mean 'hospital'?" in ran.err
    assert "of the slots are unknown: a reading stands for 0 (--carry)" in ran.err
    assert "times are +01:00 from UTC, and days are cut by UTC; give --zone" in ran.err
    assert ran.code == 0


def test_a_model_remembers_how_its_readings_were_read(discreet: Discreet, tmp_path: Path) -> None:
    data = rewritten(tmp_path / "data.csv", ";", header=("who", "at", "place"))
    columns = ["--user", "who", "--time", "at", "--context", "place", "--carry", "6h"]
    model = tmp_path / "p.model"
    assert discreet("learn", data, *LEARN, *columns, "--out", model).code == 0
    assert reading_of(model)["carry"] == "6h"
    verb = ["evaluate", data, "--model", model, "--policy", POLICY, "--mechanism", "no-mask", "--json"]
    bare = discreet(*verb)
    assert "as the model was learned: --user 'who' --time 'at' --context 'place' --carry '6h'" in bare.err
    assert bare.json["parts"][0]["off_model"] == 0
    given = discreet(*verb, *columns)
    assert "as the model was learned" not in given.err
    assert given.json["parts"][0]["utility"] == bare.json["parts"][0]["utility"]
    assert "no column 'place2'" in discreet(*verb, "--context", "place2").err
