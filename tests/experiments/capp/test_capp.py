from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from discreet.mechanisms import Capp
from discreet_experiments.capp.person import SYSTEMS, compare
from discreet_experiments.capp.run import DRAWN, CappReproduction
from discreet_experiments.shared.compared import UP, Comparison, breaches, swept, utility
from discreet_experiments.shared.figures import FAKED, SHOWN, bar, shares
from discreet_experiments.shared.people import Rules, Trace, reality_mining
from discreet_experiments.shared.subjects import Setting, subject
from discreet_experiments.shared.systems import label
from tests.experiments.quiet import quiet
from tests.experiments.recorded import RECORDED, made_up

SETTING = Setting(Rules(least_days=16), secrets=1, days=3)
KEPT = ("hybrid", "deceive")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return reality_mining(made_up(tmp_path_factory.mktemp("data"), count=3, days=16), SETTING.rules)[1]


def test_what_is_proven_is_kept_and_hiding_the_secret_breaches(trace: Trace) -> None:
    person = compare(trace, replace(SETTING, sensitive="home"), DRAWN)
    assert person is not None
    assert tuple(person.systems) == SYSTEMS
    for name in KEPT:
        assert person.systems[name].learned.pairs == 0
        assert person.systems[name].learned.worst_gain <= SETTING.delta + 1e-9
    assert person.systems["mask-sensitive"].learned.pairs > 0
    found = breaches([person], "mask-sensitive")
    assert found["people breached"] == 1
    assert found["pairs over"] == person.systems["mask-sensitive"].learned.pairs


def test_shares_are_of_all_slots_and_bars_are_whole(trace: Trace) -> None:
    person = compare(trace, SETTING, None)
    assert person is not None
    for name, judged in person.systems.items():
        at = shares(judged.learned)
        assert sum(at[key] for key in (*SHOWN, *FAKED)) == pytest.approx(1)
        assert at["secret shown"] + at["other shown"] == pytest.approx(judged.learned.shown.utility)
        assert utility([person], name) == judged.learned.shown.utility
        drawn = bar(label(name), at)
        assert sum(drawn.parts.values()) == pytest.approx(1)
        assert min(drawn.parts.values()) >= -1e-12
        assert judged.expected != judged.expected  # not asked for


def test_the_expected_utility_is_the_mechanisms_own(trace: Trace) -> None:
    person, one = compare(trace, SETTING, DRAWN), subject(trace, SETTING)
    assert person is not None
    assert one is not None
    capp = Capp(one.chain, one.policy(SETTING.delta))
    assert person.systems["capp"].expected == float(capp.expected_utility())
    assert person.systems["deceive"].half_width > 0  # drawn


def test_a_sweep_is_a_curve_a_system(trace: Trace) -> None:
    points: dict[float, list[Comparison]] = {}
    for delta in (0.1, 0.3):
        person = compare(trace, replace(SETTING, delta=delta), None)
        assert person is not None
        points[delta] = [person]
    curves = swept(points, SYSTEMS)
    assert len(curves) == len(UP)
    released, breached = ({look.label: ys for look, ys in curve.items()} for curve in curves.values())
    assert list(released) == list(breached) == [label(name) for name in SYSTEMS]
    assert len(set(released["MaskSensitive"])) == 1  # it knows no delta
    assert set(breached["Adaptive deceive"]) == {0}
    assert released["CAPP"] == tuple(utility(people, "capp") for people in points.values())


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded data is not part of the project")
def test_on_a_recorded_person_capp_breaches_and_deceiving_does_not() -> None:
    trace = reality_mining(RECORDED, Rules())[18]
    person = compare(trace, Setting(secrets=1, sensitive="home", days=5), None)
    assert person is not None
    assert person.systems["capp"].learned.pairs > 0
    assert person.systems["efficient-fake"].learned.pairs > 0
    assert [person.systems[name].learned.pairs for name in KEPT] == [0, 0]


@pytest.mark.parametrize(("asked", "three", "one"), [(None, 3, 1), (2, 2, 2)])
def test_figure_3_has_three_secrets_and_figure_5_one_as_in_section_5_2(
    tmp_path: Path, asked: int | None, three: int, one: int
) -> None:
    whole = CappReproduction(quiet(tmp_path), SETTING, asked)
    assert whole.setting_of("3", "random").secrets == three
    assert whole.setting_of("5", "random").secrets == one
    assert whole.setting_of("2", "home").sensitive == "home"
