from __future__ import annotations

import pytest

from discreet.cli.inputs import slots_of
from discreet.cli.terminal import percent, table
from discreet.clock import Clock
from discreet.errors import DiscreetError


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
