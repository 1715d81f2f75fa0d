"""Lines: labels that stand apart, and looks that are told apart."""

from __future__ import annotations

import pytest

from discreet_experiments.charts import lines


@pytest.mark.parametrize(
    ("heights", "moved"),
    [
        ([0.1, 0.5, 0.9], [0.1, 0.5, 0.9]),
        ([0.5, 0.5], [0.45, 0.55]),
        ([0.5, 0.5, 0.62], [0.44, 0.54, 0.64]),
        ([], []),
    ],
)
def test_labels_are_moved_apart_and_no_further(heights: list[float], moved: list[float]) -> None:
    assert lines.apart(heights, 0.1) == pytest.approx(moved)


def test_looks_in_turn_differ_in_colour_and_in_marker() -> None:
    looks = lines.in_turn(["a", "b", "c", "d"])
    assert [look.label for look in looks] == ["a", "b", "c", "d"]
    assert len({look.colour for look in looks}) == len({look.marker for look in looks}) == 4
