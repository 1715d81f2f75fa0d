from __future__ import annotations

from pathlib import Path

import pytest

from discreet.cli.inputs import slots_of
from discreet.cli.terminal import percent, table
from discreet.clock import Clock
from discreet.errors import DiscreetError
from tests.cli.conftest import POLICY, Discreet, error_of


@pytest.mark.parametrize(("time", "slots"), [("4h", 8), ("30m", 1), ("90 min", 3), ("1.5h", 3), ("0", 0), ("10m", 0)])
def test_times_in_slots(time: str, slots: int) -> None:
    assert slots_of(time, Clock(48)) == slots
    assert slots_of(time, None) == 0  # no clock says how long a slot is


def test_a_time_is_read_before_a_clock_is_asked_for() -> None:
    with pytest.raises(DiscreetError, match="--carry is 'long'"):
        slots_of("long", None)


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0 %"), (1, "100 %"), (0.0001, "under 0.1 %"), (0.99999, "over 99.9 %"), (0.034, "3.4 %"), (0.5, "50 %")],
)
def test_percent_never_rounds_to_certainty(share: float, shown: str) -> None:
    assert percent(share) == shown


def test_tables_align() -> None:
    assert table(["a", "b"], [["long", "1"], ["x", "100"]]) == "a       b\nlong    1\nx     100"


def test_an_empty_policy_is_no_promise(discreet: Discreet, models: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("")
    told = error_of(discreet("audit", "--model", models / "p01.model", "--policy", tmp_path / "empty.toml"))
    assert "empty.toml: there is no secret in it; add [[secret]]" in told


def test_what_is_no_model_is_said_without_advice_to_unpickle(discreet: Discreet, tmp_path: Path) -> None:
    (tmp_path / "notes.model").write_text("home, work\n")
    told = error_of(discreet("audit", "--model", tmp_path / "notes.model", "--policy", POLICY))
    assert "not a discreet model" in told
    assert "discreet learn" in told
    assert "pickle" not in told
