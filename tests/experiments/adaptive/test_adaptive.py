from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.contexts import OTHER, UNKNOWN, Day
from discreet.mechanisms import Adaptive, Hybrid, MaskSensitive
from discreet.mechanisms.adaptive.machine import PAIRS
from discreet.models import MarkovChain
from discreet.policy import Policy
from discreet_experiments.adaptive.limits import product_chain, random_hidden, shares_of
from discreet_experiments.adaptive.memory import Variant, _along, density, walked
from discreet_experiments.adaptive.person import expect, second_half
from discreet_experiments.adaptive.picture import (
    PICTURED,
    SYSTEMS,
    everything,
    systems_for,
    two_layers,
)
from discreet_experiments.shared.people import Rules, Trace, reality_mining
from discreet_experiments.shared.subjects import Setting, subject
from tests.experiments.recorded import RECORDED, made_up

RULES = Rules(slots=12, carry_hours=1000.0, least_days=16)
SETTING = Setting(RULES, pool="all", days=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("data"), count=3, days=16)


@pytest.fixture(scope="module")
def trace(folder: Path) -> Trace:
    return reality_mining(folder, RULES)[1]


@pytest.mark.parametrize("smoothing", ["none", "auto"])
def test_nothing_is_breached_in_the_second_half(trace: Trace, smoothing: str) -> None:
    halves = second_half(trace, replace(SETTING, smoothing=smoothing))  # type: ignore[arg-type]  # one of two
    assert halves is not None
    for judged in halves.systems.values():
        assert judged.learned.pairs == 0
        assert judged.learned.worst_gain <= SETTING.delta + 1e-9
        assert judged.learned.off_model >= 0
        assert judged.learned.shown.slots == 2 * RULES.slots
    assert halves.systems["suppress"].follows in ("adaptive", "hybrid")


def test_expected_utilities_are_the_mechanisms_own_and_suppress_is_not_below_hybrid(trace: Trace) -> None:
    known, halves, one = expect(trace, SETTING, 3), second_half(trace, SETTING), subject(trace, SETTING)
    assert known is not None
    assert halves is not None
    assert one is not None
    policy = one.policy(SETTING.delta)
    assert known.utility["hybrid"] == float(Hybrid(one.chain, policy).expected_utility())
    assert known.utility["mask-sensitive"] == float(MaskSensitive(one.chain, policy).expected_utility())
    assert halves.systems["suppress"].expected >= known.utility["hybrid"] - 1e-9
    assert known.half_width > 0


def test_shares_of_the_limit_are_shares() -> None:
    for hidden in (False, True):
        for seed in (7, 8):
            for share in shares_of(seed, hidden):
                assert share.reached <= share.limit + 1e-8
                assert share.worst_gain <= 0.1 + 1e-9
                assert (share.product is None) == (not hidden)
                if share.product is not None:
                    assert share.limit <= share.product + 1e-8


def test_the_product_chain_has_the_models_law() -> None:
    model = random_hidden(5)
    chain, policy, shown = product_chain(model, Policy("c0", delta=0.1))
    drawn = [tuple(shown[label] for label in day.contexts) for day in chain.sample(50, seed=1)]
    assert np.isfinite(model.log_likelihood(drawn)).all()
    (secret,) = policy.secrets
    assert {shown[pair] for pair in secret.contexts} == {"c0"}
    assert len(secret.contexts) == len(model.initial)
    for slot in range(model.slots - 1):  # P(state, context, state', context') by hand
        joint = chain.prior[slot][:, None] * chain.transitions[slot]
        states = joint.reshape(len(model.initial), 3, len(model.initial), 3).sum(axis=(1, 3))
        assert states == pytest.approx(model.state_prior[slot][:, None] * model.transitions[slot], abs=1e-12)


def test_fewer_pairs_are_fewer_states_and_the_library_keeps_its_own_cap(trace: Trace) -> None:
    dense = replace(SETTING, smoothing="auto")
    known = density(trace, dense)
    assert known is not None
    pairs, contexts = known
    assert pairs > contexts
    few, whole = (walked((Variant("suppress", "last", cap), trace), dense, 1) for cap in (contexts, None))
    assert few is not None
    assert whole is not None
    assert few.states < whole.states == contexts + contexts**2
    assert len(whole.seconds) == RULES.slots
    assert Adaptive.pairs == PAIRS


def test_a_walk_of_one_slot_is_the_expected_utility() -> None:
    chain = MarkovChain(("s", "x", "y"), [0.3, 0.3, 0.4], np.zeros((0, 3, 3)))
    mechanism = Adaptive(chain, Policy("s", delta=0.1), outputs="deceive")
    utility, seconds = _along(mechanism, [Day(("s",)), Day(("y",))])
    assert utility == pytest.approx([float(mechanism.expected_utility())] * 2, abs=1e-12)
    assert len(seconds) == 2


def test_systems_that_need_a_hierarchy_are_there_where_one_is(trace: Trace) -> None:
    assert systems_for("region") == SYSTEMS
    assert set(SYSTEMS) - set(systems_for(None)) == {"fdh", "generalize"}
    found = everything(trace, replace(SETTING, days=1, secrets=1), "region", (0.1,))
    assert found is not None
    assert tuple(found[0.1].systems) == SYSTEMS
    for name in ("simulatable", "hybrid", "suppress", "generalize", "deceive"):
        assert found[0.1].systems[name].learned.pairs == 0


def test_contexts_stand_below_their_level_above() -> None:
    names = {"area": {"t1": "a1", "t2": "a1", "t3": "a2"}, "region": {"t1": "r", "t2": "r", "t3": "r"}}
    tree = two_layers(("a1", "a2", OTHER, UNKNOWN), Trace(1, (), names), "area", "region")
    assert tree.parent("a1") == tree.parent("a2") == "region: r"
    assert tree.leaves_under("region: other") == (OTHER,)
    assert len(tree.layers) == 3


def test_every_source_can_be_read(folder: Path) -> None:
    for source in PICTURED:
        rules = source.rules(RULES)
        people = source.reader(folder, rules)
        assert len(people) == 3, source.name
        assert subject(people[0], replace(SETTING, rules=rules)) is not None
        assert (rules.carry_hours > 0) == (source.name == "Reality Mining")


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded data is not part of the project")
def test_on_recorded_people_nothing_is_breached_and_suppress_is_ahead_of_hybrid() -> None:
    rules = Rules(carry_hours=1000.0)
    setting = Setting(rules, pool="all", days=5)
    people = reality_mining(RECORDED, rules)
    for number in (33, 55):
        halves, known = second_half(people[number], setting), expect(people[number], setting, 2)
        assert halves is not None
        assert known is not None
        assert [judged.learned.pairs for judged in halves.systems.values()] == [0, 0]
        assert halves.systems["suppress"].expected > 1.2 * known.utility["hybrid"]
