"""Claims in cells: intervals that are right however claims depend, alarms no more often than stated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.errors import DiscreetError
from discreet.evaluation.calibration import (
    ALARMS,
    BINS,
    Calibration,
    ClaimCounts,
    bins,
    calibrated,
    tolerated,
)
from discreet.evaluation.calibration import _interval as interval
from discreet.evaluation.calibration import _p_values as p_values
from tests.strategies import searches


def independent(seed: int, *, truth: float = 0.1, groups: int = 100) -> Calibration:
    """One claim of 10 % in each group, which is true as often as `truth` says."""
    rng = np.random.default_rng(seed)
    true = rng.random(groups) < truth
    belief = np.full(groups, 0.1)
    return calibrated(["a"] * groups, belief, true, list(range(groups)), delta_of={"a": 0.0}, seed=seed)


def test_intervals_are_clopper_and_pearsons() -> None:
    for true, number in ((0, 12), (3, 12), (12, 12), (40, 500)):
        low, high = interval(np.array([true / number]), np.array([float(number)]), 0.02)
        exact = stats.binomtest(true, number).proportion_ci(0.98, method="exact")
        assert (low[0], high[0]) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_p_values_are_twice_the_smaller_binomial_tail() -> None:
    for true, number, said in ((0, 20, 0.1), (7, 20, 0.1), (20, 20, 0.9), (3, 40, 0.5)):
        tails = stats.binom.cdf(true, number, said), stats.binom.sf(true - 1, number, said)
        found = p_values(np.array([[true / number]]), np.array([said]), np.array([float(number)]))
        assert found[0, 0] == pytest.approx(min(1.0, 2 * min(tails)), rel=1e-9)


def test_bins_cover_all_beliefs() -> None:
    assert bins(np.array([0.0, 0.004, 0.005, 0.12, 0.999, 1.0])) == [
        BINS[0],
        BINS[0],
        BINS[1],
        BINS[5],
        BINS[-1],
        BINS[-1],
    ]
    assert BINS[5] == "10 to 15 %"


def test_what_is_tolerated() -> None:
    assert tolerated(0.5, 0.1) == (0.025, 0.025)
    assert tolerated(0.01, 0.1) == (0.025, 0.01)  # a rare secret is no more than twice as frequent
    assert tolerated(0.001, 0.1) == (0.025, 0.005)
    assert tolerated(0.5, 0.0) == (0.005, 0.005)


def test_right_beliefs_are_rarely_called_wrong() -> None:
    """Without tolerance, 1 % of alarms at most. Of 80 checks, 5 or more alarms have a chance of 0.1 %."""
    runs = list(searches(80))
    alarms = sum(any(cell.supported > 0 for cell in independent(seed).cells) for seed in runs)
    assert stats.binom.sf(alarms - 1, len(runs), ALARMS) > 1e-3


@pytest.mark.parametrize("truth", [0.25, 0.0])
def test_wrong_beliefs_are_found_on_either_side(truth: float) -> None:
    found = independent(1, truth=truth)
    assert found.off
    for cell in found.off:
        assert cell.said == pytest.approx(0.1)
        assert cell.low <= truth <= cell.high


def test_slots_of_a_day_are_not_taken_for_independent() -> None:
    """Fifty claims of one day that are all true or all false: as sure as the days are, not fifty times as sure."""
    alarms = 0
    runs = list(searches(60))
    for seed in runs:
        day = np.random.default_rng(seed).random(20) < 0.1
        found = calibrated(
            ["a"] * 1000,
            np.full(1000, 0.1),
            np.repeat(day, 50),
            np.repeat(np.arange(20), 50).tolist(),
            delta_of={"a": 0.0},
            seed=seed,
        )
        (overall,) = found.of("a", "all")
        exact = stats.binomtest(int(day.sum()), 20).proportion_ci(0.98, method="exact")
        assert overall.high > 0.9 * exact.high
        alarms += any(cell.supported > 0 for cell in found.cells)
    assert stats.binom.sf(alarms - 1, len(runs), ALARMS) > 1e-3


def test_many_cells_do_not_make_alarms_more_frequent() -> None:
    """A hundred hours beside the bins: the level of the intervals is the smaller, and alarms are as rare."""
    alarms, runs = 0, list(searches(20))
    for seed in runs:
        rng = np.random.default_rng(seed)
        belief = rng.uniform(0, 1, 400)
        hours = [f"hour {k % 100}" for k in range(400)]
        found = calibrated(
            ["a"] * 400,
            belief,
            rng.random(400) < belief,
            list(range(400)),
            delta_of={"a": 0.0},
            places=[("hour", hours)],
            seed=seed,
        )
        alarms += any(cell.supported > 0 for cell in found.cells)
    assert stats.binom.sf(alarms - 1, len(runs), ALARMS) > 1e-3


def test_what_was_learned_from_few_is_held_less_sure() -> None:
    def width(learned_from: int | None) -> float:
        tally = ClaimCounts()
        tally.groups = 20
        rng = np.random.default_rng(0)
        for _ in range(20):
            tally.add("a", np.array([0.3]), np.array([rng.random() < 0.3]), rng.random((tally.draws, 1)) < 0.3)
        (cell,) = tally.judged({"a": 0.1}, learned_from=learned_from).of("a", "all")
        return cell.high - cell.low

    assert width(10) > width(80) > width(100_000) == pytest.approx(width(None), abs=0.01)


def test_both_true_so_far_apart() -> None:
    tally = ClaimCounts(99)
    tally.groups = 1
    true = np.array([True, False, True, False, True, False])
    drawn = np.zeros((99, 6), dtype=np.bool_)
    tally.add_apart("a", np.ones(6, dtype=np.bool_), true, drawn, {"2": 2, "3": 3, "9": 9})
    found = {cell.name: cell for cell in tally.judged({"a": 0.1}, alarms=0.02).cells}
    assert {name: (cell.claims, cell.was) for name, cell in found.items()} == {"2": (4, 0.5), "3": (3, 0.0)}


def test_too_few_draws_are_refused() -> None:
    with pytest.raises(DiscreetError, match="draw 100 or more"):
        calibrated(["a"], np.array([0.5]), np.array([True]), [0], delta_of={"a": 0.1}, draws=50)


def test_nothing_is_claimed() -> None:
    assert ClaimCounts().judged({}).cells == ()
