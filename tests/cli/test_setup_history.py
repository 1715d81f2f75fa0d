"""What `discreet setup` takes from a history itself: whose it is, where it was, how it records; and what it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.cli.setup import STAGING, _staged
from discreet.clock import Clock
from discreet.places import Circle, Place, Places
from discreet.places.spent import TimeSpent
from discreet.places.zones import can_find
from discreet.setup.habits import Mapped, by_time_of_day
from discreet.setup.history import NOBODY, called, imported, users_of, zones_in
from tests.cli.conftest import Discreet
from tests.cli.histories import phone_history
from tests.data.histories import home_assistant_csv
from tests.data.samples import gpx, owntracks_rec

HOLDS = """
import signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as in a terminal: below nohup it is ignored, and stays so
from pathlib import Path
from discreet.cli.setup import _staged
with _staged(Path(sys.argv[1])) as staging:
    (staging / "readings.parquet").write_text("private")
    print(staging, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM"])
def test_nothing_private_stays_where_a_terminal_is_closed(tmp_path: Path, name: str) -> None:
    folder, number = tmp_path / "home", getattr(signal, name)
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(folder)], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        staging = Path(run.stdout.readline().strip())
        assert (staging / "readings.parquet").is_file()
        run.send_signal(number)
        assert run.wait(30) == -number
    assert not folder.exists()


def test_the_next_run_takes_away_what_a_killed_one_left(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left, running = tmp_path / f"{STAGING}{gone.pid}.abc", tmp_path / f"{STAGING}{os.getppid()}.abc"
    for folder in (left, running):
        folder.mkdir()
        (folder / "readings.parquet").write_text("private")
    with _staged(tmp_path) as staging:
        assert not left.exists()
        assert staging.name.startswith(f"{STAGING}{os.getpid()}.")
    assert [path.name for path in tmp_path.iterdir()] == [running.name]


@pytest.mark.skipif(not can_find(), reason="needs tzfpy (discreet[places])")
def test_the_zone_is_where_the_nights_were_and_the_name_is_the_sources(discreet: Discreet, tmp_path: Path) -> None:
    phone = tmp_path / "phone.csv"
    phone_history(phone, days=28, user="jane")
    given = ("setup", phone, "--dir", tmp_path / "home", "--yes", "--secret", "work", "--weeks", "2", "--accept-model")
    ran = discreet(*given)
    assert ran.code == 0, ran.err
    assert "jane: Europe/Paris, 48 slots a day" in ran.out
    assert "Days are cut by europe/paris" not in ran.out
    assert "ays are cut by Europe/Paris, where the positions are" in ran.out
    assert (tmp_path / "home" / "jane.model").is_file()
    other = discreet("setup", phone, "--dir", tmp_path / "far", "--yes", "--zone", "Asia/Tokyo", "--name", "99=x")
    assert "the time zone is Asia/Tokyo, but" in other.err
    assert "nights were in Europe/Paris" in other.err


def test_a_citys_name_is_no_zone_and_suggests_one() -> None:
    for name, zone in (("Paris", "Europe/Paris"), ("new york", "America/New_York"), ("Europe/Pari", "Europe/Paris")):
        with pytest.raises(ValueError, match=f"time zone '{name}' is not known; did you mean '{zone}'"):
            Clock(48, name)
    with pytest.raises(ValueError, match="use an IANA name such as Europe/Paris"):
        Clock(48, "qqqq")


def test_readings_without_a_name_become_the_persons(tmp_path: Path) -> None:
    """One file says who it is of and another does not: both are of whoever sets up."""
    found = imported([owntracks_rec(tmp_path), gpx(tmp_path)], NOBODY, None)
    assert users_of(found) == ["jane"]
    assert set(called(found, "jane").readings["user"]) == {"jane"}
    assert zones_in(pl.DataFrame(schema=found.readings.schema)) is None


def test_changes_only_stand_until_the_next(discreet: Discreet, tmp_path: Path) -> None:
    history = home_assistant_csv(tmp_path)
    given = ("--yes", "--zone", "Europe/Paris", "--secret", "clinic", "--weeks", "2", "--accept-model")
    ran = discreet("setup", history, "--dir", tmp_path / "home", *given)
    assert ran.code == 0, ran.err
    assert "records changes only: a reading stands until the next one, for up to 48h" in " ".join(ran.out.split())
    assert "nothing is known" not in ran.err


def test_places_are_called_by_when_one_is_there_each_by_a_name_of_its_own() -> None:
    week = np.zeros((7, 7, 24))
    week[0, :, 0:6], week[1, 0:5, 9:17], week[2, 0:5, 9:17], week[3, 5:, 12:15] = 1, 1, 1, 1
    spent = TimeSpent(week, np.ones(7, dtype=np.int64), 0.0, *[None] * 2)  # type: ignore[arg-type]
    drawn = [Place(f"place {k}", Circle(48 + k / 10, 2, 100), k) for k in range(1, 5)]
    named = by_time_of_day(Mapped(Places(drawn), spent, found=True)).places
    assert list(named.names) == ["night place", "weekday place", "weekday place 3", "weekend place"]
