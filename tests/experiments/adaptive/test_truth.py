"""How true habits are of later days: the table of learners, on made-up data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet_experiments.adaptive.picture import PICTURED
from discreet_experiments.adaptive.truth import LEARNERS, OFFERED, Reliability, fared, on_learners
from discreet_experiments.adaptive.weeks import weekly
from discreet_experiments.shared.people import Rules, reality_mining
from discreet_experiments.shared.subjects import Setting
from tests.experiments.quiet import quiet
from tests.experiments.recorded import made_up

SETTING = Setting(Rules(slots=12, least_days=10), secrets=2, days=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("data"), count=2, days=20)


def test_an_error_is_how_far_what_is_said_is_from_what_is_so() -> None:
    said = np.array([0.15, 0.15, 0.15, 0.15, 0.95, 0.95])
    found = Reliability.of(said, np.array([0, 0, 0, 1, 1, 1]))
    assert found.error == pytest.approx((4 * abs(0.15 - 0.25) + 2 * abs(0.95 - 1)) / 6)
    assert found.squares == pytest.approx(3 * 0.15**2 + 0.85**2 + 2 * 0.05**2)
    twice = found + found
    assert twice.pairs == 12
    assert twice.error == pytest.approx(found.error)


def test_every_learner_is_judged_by_the_same_pairs(folder: Path) -> None:
    setting = weekly(SETTING)
    trace = reality_mining(folder, setting.rules)[0]
    answer = fared(trace, setting)
    assert answer is not None
    number, found = answer
    assert number == trace.number
    assert list(found) == list(LEARNERS)
    assert len({(one.prior.pairs, one.ahead.pairs, one.prior.true.sum()) for one in found.values()}) == 1
    assert {name for name, one in found.items() if one.observed is not None} == set(OFFERED)
    for one in found.values():
        assert np.isfinite(one.log_likelihood)
        assert one.observed is None or one.observed.beliefs.pairs == 12 * 2


def test_the_table_has_a_row_for_every_learner(folder: Path) -> None:
    figure = on_learners(quiet(folder, people=1), SETTING, PICTURED[:1])
    rows = figure.summary.records()
    assert [row["learner"] for row in rows] == list(LEARNERS)
    assert all(row["data"] == "Reality Mining" and row["people"] == 1 for row in rows)
