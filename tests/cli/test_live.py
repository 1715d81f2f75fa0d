"""Standard input by the clock, and over restarts."""

from __future__ import annotations

import datetime as dt
import io
import json
import stat
import sys
import time
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from discreet.cli import live
from discreet.cli.live import Lines, by_the_clock
from discreet.clock import Clock
from discreet.live import Stream
from discreet.live.slots import GRACE, SECOND, Schedule
from discreet.live.standing import Label, StandingRule
from discreet.outputs import Released, Skipped
from discreet.randomness import SeededEntropy
from tests.cli.conftest import READINGS, Discreet, error_of
from tests.test_live import FRIDAY
from tests.test_live_endless import ROUTINE, adaptive, stream_of, told_all

PARIS = ZoneInfo("Europe/Paris")


@pytest.mark.parametrize("after", [1, 3, 4, 9])
def test_a_stream_that_is_resumed_goes_on_as_if_nothing_had_happened(after: int) -> None:
    readings = ["home", None, "work", "clinic", "home", "home", None, "never learned", None, "work", "home", "home"]
    whole = stream_of(carry=1)
    expected = [whole.release(reading) for reading in readings]
    rng = SeededEntropy(1)
    first = Stream(ROUTINE, adaptive, start=FRIDAY, carry=1, rng=rng)
    outputs = [first.release(reading) for reading in readings[:after]]
    again = Stream.resume(ROUTINE, adaptive, first.state(), carry=1, rng=rng)
    assert (again.date, again.slot) == (first.date, first.slot)
    outputs += [again.release(reading) for reading in readings[after:]]
    assert outputs == expected
    assert again.off_model == whole.off_model


def test_a_state_is_of_one_mechanism_and_whole() -> None:
    stream = stream_of()
    with pytest.raises(ValueError, match="released something"):
        stream.state()
    stream.release("home")
    state = stream.state()
    with pytest.raises(ValueError, match="another policy"):
        Stream.resume(ROUTINE, told_all, state)
    for damaged, told in (
        ("{", "not JSON"),
        ("[]", "no state"),
        (state.replace('"format": 1', '"format": 9'), "format 9"),
    ):
        with pytest.raises(ValueError, match=told):
            Stream.resume(ROUTINE, adaptive, damaged)
    content = json.loads(state)
    with pytest.raises(ValueError, match="damaged"):
        Stream.resume(ROUTINE, adaptive, json.dumps({key: content[key] for key in content if key != "age"}))


class Fast:
    """A clock that runs a day in a tenth of a second, from a given time on."""

    def __init__(self, start: dt.datetime) -> None:
        self._start, self._began = start, time.monotonic()

    def __call__(self) -> dt.datetime:
        return self._start.astimezone(dt.UTC) + (time.monotonic() - self._began) * dt.timedelta(days=10)


class Scripted:
    """A line or none just before the end of each slot that is waited for, and a clock that the script moves."""

    def __init__(self, start: dt.datetime, heard: list[str | None], after: dt.timedelta) -> None:
        self.time, self._heard, self._after = start, heard, after

    def now(self) -> dt.datetime:
        return self.time

    def until(self, due: int, now: Any) -> tuple[list[Label], bool]:
        if not self._heard:
            return [], False
        self.time = dt.datetime.fromtimestamp(due / SECOND, dt.UTC) + self._after
        line = self._heard.pop(0)
        return ([] if line is None else [Label(due - SECOND, line)]), True


def clocked(stream: Stream, script: Scripted) -> list[Any]:
    lines: Any = script
    return [(row.date, row.slot, row.output) for row in by_the_clock(stream, StandingRule(0), lines, script.now)]


def test_each_slot_has_its_output_when_it_ends() -> None:
    stream = stream_of(told_all)  # four slots a day, from 04:00 on
    script = Scripted(dt.datetime.combine(FRIDAY, dt.time(5), PARIS), ["home", None], dt.timedelta())
    rows = clocked(stream, script)
    assert [row[:2] for row in rows] == [(FRIDAY, 0), (FRIDAY, 1)]
    assert rows[0][2] == Released("home")


def test_slots_that_passed_while_the_computer_slept_are_skipped() -> None:
    stream = stream_of(told_all)
    script = Scripted(dt.datetime.combine(FRIDAY, dt.time(5), PARIS), ["home", "work", "home"], dt.timedelta(hours=13))
    rows = clocked(stream, script)
    assert [isinstance(row[2], Skipped) for row in rows] == [True] * len(rows)
    assert len(rows) == 9  # each time the slot that was waited for, and two more


def test_what_is_late_by_less_than_the_grace_is_decided() -> None:
    stream = stream_of(told_all)
    script = Scripted(dt.datetime.combine(FRIDAY, dt.time(5), PARIS), ["home"], dt.timedelta(seconds=GRACE))
    ((*_, output),) = clocked(stream, script)
    assert output == Released("home")


def test_lines_are_read_beside_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lines, "poll", 0.001)
    stream, clock = stream_of(told_all), Fast(dt.datetime.combine(FRIDAY, dt.time(4, 5), PARIS))
    lines = Lines(io.StringIO("work\n\nhome\n"), clock)
    rows = list(by_the_clock(stream, StandingRule(0), lines, clock, schedule=Schedule(grace=None)))
    assert [row.output for row in rows] == [Released("home")]  # most of the slot; then there are no more lines


def test_now_starts_at_the_present_slot(
    discreet: Discreet, endless: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = Scripted(dt.datetime(2026, 3, 6, 14, 40, tzinfo=PARIS), ["home"], dt.timedelta())
    verb = sys.modules["discreet.cli.release"]
    monkeypatch.setattr(verb, "utc_now", script.now)
    monkeypatch.setattr(verb, "Lines", lambda file: script)
    kept = ["--now", "--state", tmp_path / "p01.state", "--json"]
    (row,) = (json.loads(line) for line in discreet("release", *endless, *kept).out.splitlines())
    assert row["start"] == "2026-03-06T14:30:00+01:00"
    script.time += dt.timedelta(minutes=62)  # two slots in which the computer was off
    rows = [json.loads(line) for line in discreet("release", *endless, *kept).out.splitlines()]
    assert [(one["slot"], one["kind"]) for one in rows] == [(30, "skipped"), (31, "skipped")]


def test_a_pipe_survives_a_restart(
    discreet: Discreet, endless: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    state = tmp_path / "p01.state"
    monkeypatch.setattr("sys.stdin", io.StringIO("home\n" * 30))
    first = discreet("release", *endless, "--date", "2026-03-06", "--state", state, "--json")
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    monkeypatch.setattr("sys.stdin", io.StringIO("home\n" * 20))
    then = discreet("release", *endless, "--state", state, "--json")
    rows = [json.loads(line) for line in (first.out + then.out).splitlines()]
    places = [(row["date"], row["slot"]) for row in rows]
    assert places == [("2026-03-06", slot) for slot in range(48)] + [("2026-03-07", 0), ("2026-03-07", 1)]
    assert "going on at 2026-03-06, slot 30" in then.err
    assert [path.name for path in tmp_path.iterdir()] == ["p01.state"]
    assert "leave --date out" in error_of(discreet("release", *endless, "--state", state, "--date", "2026-03-06"))
    state.write_text("home")
    assert "not JSON" in error_of(discreet("release", *endless, "--state", state))


def test_bad_use(discreet: Discreet, given: list[str], endless: list[str], tmp_path: Path) -> None:
    assert "leave one" in error_of(discreet("release", *endless, "--now", "--date", "2026-03-06"))
    for option in (["--now"], ["--state", tmp_path / "s"]):
        assert f"{option[0]} is for streams without end" in error_of(discreet("release", *given, *option))
        assert "standard input" in error_of(discreet("release", *endless, READINGS, *option))


def test_an_hour_that_clocks_leave_out_has_no_reading() -> None:
    """On 29 March 2026 in Paris there is no 02:00 to 03:00."""
    clock = Clock(24, "Europe/Paris")
    starts = [clock.start_of(dt.date(2026, 3, 29), slot).timestamp() for slot in range(5)]
    assert starts[2] == starts[3]  # so its slot is released without waiting
    assert live.utc_now().tzinfo is dt.UTC
