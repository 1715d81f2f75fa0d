from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.errors import DiscreetError
from discreet.mechanisms import Hybrid, MaskSensitive
from discreet.models.chain.markov import MarkovChain
from discreet_experiments.maskit import person as maskit
from discreet_experiments.maskit.person import CARRIERS, CHECKS, Checks, compare, sweep, weaken
from discreet_experiments.maskit.study import chosen
from discreet_experiments.shared.people import Rules, Trace, reality_mining
from discreet_experiments.shared.subjects import Setting, subject
from tests.experiments.recorded import RECORDED, made_up

SETTING = Setting(Rules(level="tower", merge_below=0.0, least_days=16))
QUICK = Checks("mondrian")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return reality_mining(made_up(tmp_path_factory.mktemp("data"), count=3, days=16), SETTING.rules)[1]


def test_the_checks_breach_nothing_and_masking_does(trace: Trace) -> None:
    compared = compare(trace, SETTING, QUICK)
    assert compared is not None
    for name in CHECKS:
        assert compared.systems[name].learned.pairs == compared.systems[name].learned.breached == 0
        assert compared.systems[name].learned.worst_gain <= SETTING.delta + 1e-9
    assert compared.systems["mask-sensitive"].learned.pairs > 0
    assert compared.chosen in CHECKS[:2]
    assert compared.systems["hybrid"].learned.shown == compared.systems[compared.chosen].learned.shown


def test_a_sweep_is_what_the_mechanisms_give(trace: Trace) -> None:
    swept = sweep(trace, replace(SETTING, secrets=1), QUICK, (0.1, 0.5))
    one = subject(trace, replace(SETTING, secrets=1))
    assert swept is not None
    assert one is not None
    for delta, point in swept.points.items():
        hybrid = Hybrid(one.chain, one.policy(delta), search="mondrian")
        assert point.expected["hybrid"] == float(hybrid.expected_utility())
        assert point.measured["hybrid"] == point.measured[hybrid.chosen]
        assert point.expected["mask-sensitive"] == float(MaskSensitive(one.chain, one.policy(0)).expected_utility())
    low, high = swept.points.values()
    assert low.expected["hybrid"] <= high.expected["hybrid"]


def test_weaker_adversaries_cost_utility_and_a_kept_promise_more(trace: Trace) -> None:
    each, kept = (weaken(trace, SETTING, QUICK, bound) for bound in ("each", "kept"))
    assert each is not None
    assert kept is not None
    assert tuple(each.points) == CARRIERS
    assert each.points[1].expected == kept.points[1].expected  # one set: the same promise
    for name in CHECKS[:1]:  # the simulatable check does not search: what is allowed can only shrink
        shares = [each.points[count].expected[name] for count in CARRIERS]
        assert shares == sorted(shares, reverse=True)
        assert all(kept.points[count].expected[name] <= each.points[count].expected[name] for count in CARRIERS)
    few = replace(SETTING, rules=replace(SETTING.rules, level="region"))
    assert weaken(trace, few, QUICK, "each") is None


def test_each_set_is_left_delta_whatever_their_number() -> None:
    chain = MarkovChain(("s", "x", "y"), [0.5, 0.5, 0.0], [[[0.4, 0.3, 0.3]] * 3])
    policy = maskit._scaled(chain, "s", {"y": {"y", "s"}}, 0.1)
    assert {(tuple(sorted(secret.slots or ())), secret.delta) for secret in policy.secrets} == {
        ((0,), 0.1),
        ((1,), 0.2),
    }


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded data is not part of the project")
def test_on_recorded_people_the_checks_breach_nothing() -> None:
    found = reality_mining(RECORDED, Rules())
    for number in (3, 50):
        compared = compare(found[number], Setting(), QUICK)
        assert compared is not None
        assert [compared.systems[name].learned.pairs for name in CHECKS] == [0, 0, 0]
        assert compared.systems["mask-sensitive"].learned.pairs > 0


def test_the_study_has_one_transition_for_all_slots(trace: Trace) -> None:
    default, changed = chosen(SETTING, QUICK, "transition")
    assert (default.choice, changed.value) == ("as given", "one for all slots")
    one = subject(trace, changed.setting)
    assert one is not None
    assert (one.chain.transitions == one.chain.transitions[0]).all()
    with pytest.raises(DiscreetError, match="did you mean 'transition'"):
        chosen(SETTING, QUICK, "transitions")
