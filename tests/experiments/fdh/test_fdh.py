from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.contexts import UNKNOWN, Day
from discreet.contracts import Mechanism
from discreet.errors import DiscreetError
from discreet.mechanisms import Adaptive, Fdh, Hybrid, MaskSensitive
from discreet.models.chain.markov import MarkovChain
from discreet.numerics import SLACK
from discreet.outputs import Generalized, Released, Suppressed
from discreet.policy import Policy
from discreet.randomness import SeededEntropy
from discreet.session import Session
from discreet_experiments.fdh import person as fdh
from discreet_experiments.fdh.figures import Group
from discreet_experiments.fdh.person import (
    SYSTEMS,
    Layered,
    Layers,
    Outcome,
    footprint,
    layered,
    outcome,
    sweep,
    timed,
)
from discreet_experiments.fdh.run import levels_of
from discreet_experiments.shared.people import TOWERS, VENUES, Rules, Trace, check_ins, prepared, reality_mining
from discreet_experiments.shared.subjects import Setting, Subject, seed_for
from discreet_experiments.shared.tree import grown
from tests.experiments.recorded import RECORDED, made_up

RULES = Rules(level="tower", slots=12, merge_below=0.02, least_days=16)
SETTING = Setting(RULES, secrets=3, delta=0.1, days=4)
LAYERS = Layers(TOWERS, memory="none")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("data"), count=3, days=16)


@pytest.fixture(scope="module")
def trace(folder: Path) -> Trace:
    return reality_mining(folder, RULES)[1]


@pytest.fixture(scope="module")
def one(trace: Trace) -> Layered:
    found = layered(trace, SETTING, LAYERS)
    assert found is not None
    return found


def test_a_person_in_a_hierarchy(one: Layered) -> None:
    leaves = one.subject.chain.contexts
    assert set(leaves) <= set(one.hierarchy.leaves)
    assert len(one.hierarchy.layers) == 5
    assert len(one.subject.held_out) == 4
    assert len(one.subject.secrets) == 2  # of three towers that are not rare, one stays no secret
    assert all(secret in leaves and not secret.startswith("other ") for secret in one.subject.secrets)
    assert UNKNOWN not in one.subject.secrets


def test_days_mapped_to_a_layer_teach_the_lumped_chain(trace: Trace) -> None:
    """So FDH's own chains are those that the paper trains, where counts are plain."""
    tree = grown(prepared(trace, replace(RULES, merge_below=0.0)), trace.names, TOWERS, 0.02)
    chain, hierarchy = MarkovChain.fit(tree.days, "none"), tree.hierarchy
    mechanism = Fdh(chain, Policy(chain.contexts[0], delta=0.2), hierarchy=hierarchy, search="mondrian")
    for layer, check in enumerate(mechanism.checks):
        nodes = check.model.contexts
        mapped = [Day(tuple(hierarchy.at_layer(leaf, layer) for leaf in day.contexts)) for day in tree.days]
        trained = MarkovChain.fit(mapped, "none", contexts=nodes)
        np.testing.assert_allclose(check.model.initial, trained.initial, atol=1e-12)
        possible = trained.prior[:-1] > 0
        ours, theirs = check.model.transitions[possible], trained.transitions[possible]
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("name", ["fdh", "adaptive"])
def test_an_outcome_is_what_a_session_shows_slot_by_slot(one: Layered, name: str) -> None:
    """Counted again from sessions: outputs by layer, gains after every prefix, readings outside the model."""
    policy = one.subject.policy(0.1)
    build: dict[str, Callable[[], Mechanism[Any]]] = {
        "fdh": lambda: Fdh(one.subject.chain, policy, hierarchy=one.hierarchy, search="mondrian"),
        "adaptive": lambda: fdh.adaptive(one, policy, LAYERS),
    }
    rng = SeededEntropy(seed_for(0, one.subject.number, "release"))
    mechanism, shown, worth = build[name](), [0] * 5, 0.0
    silent = off = over = 0
    worst = 0.0
    slots = one.subject.chain.slots
    for day in one.subject.held_out:
        session, highest = Session(mechanism, rng=rng), np.zeros((2, slots))
        for context in day.contexts:
            output = session.release(context)
            np.maximum(highest, np.array(list(session.gains().values())), out=highest)
            if isinstance(output, Suppressed):
                silent += 1
                continue
            assert isinstance(output, Released | Generalized)
            layer = 0 if isinstance(output, Released) else one.hierarchy.layer_of(output.node)
            shown[layer] += 1
            worth += (1.0, 0.5, 0.0, 0.0, 0.0)[layer]
        off += session.off_model
        over += int((highest > 0.1 + SLACK).sum())
        worst = max(worst, float(highest.max()))
    count = 4 * slots
    found = outcome(build[name](), one, 0)
    assert found.layers == pytest.approx([number / count for number in shown])
    assert (found.utility, found.silent) == pytest.approx((worth / count, silent / count))
    assert (found.off_model, found.worst_gain) == pytest.approx((off / count, worst))
    assert found.pairs == over
    assert found.withheld == pytest.approx(1 - (shown[0] + off) / count)
    assert found.as_ancestor == pytest.approx(sum(shown[1:4]) / count)


def test_of_readings_leaves_slots_without_one_out() -> None:
    chain = MarkovChain.homogeneous((UNKNOWN, "a"), [0.5, 0.5], [[0.5, 0.5]] * 2, 4)
    tree = grown([Day((UNKNOWN, "a", "a", UNKNOWN))], {}, ("tower",), 0.0)
    held_out = (Day((UNKNOWN, "a", "a", UNKNOWN)),)
    one = Layered(Subject(1, chain, held_out, ("a",), 1), tree.hierarchy, 0.0)
    masked = outcome(MaskSensitive(chain, one.subject.policy(0.1)), one, 0)
    assert (masked.utility, masked.of_readings) == (0.5, 0.0)


def test_a_sweep_keeps_the_promises_that_are_proven(trace: Trace, one: Layered) -> None:
    swept = sweep(trace, SETTING, LAYERS, (0.1, 0.5))
    assert swept is not None
    assert swept.nodes[0] == len(one.subject.chain.contexts)
    assert swept.nodes[-1] == 1
    assert list(swept.nodes) == sorted(swept.nodes, reverse=True)
    for delta, point in swept.points.items():
        assert tuple(point.systems) == SYSTEMS
        for system in ("hybrid", "generalize"):
            assert point.systems[system].pairs == point.systems[system].breached_days == 0
            assert point.systems[system].worst_gain <= delta + SLACK
        for found in point.systems.values():
            assert sum(found.layers) + found.silent == pytest.approx(1)
            assert found.utility == pytest.approx(found.layers[0] + 0.5 * found.layers[1])
        assert 0 < point.memory["hybrid"] < point.memory["fdh"]
        alone = Hybrid(one.subject.chain, one.subject.policy(delta), search="mondrian")
        assert _timeless(outcome(alone, one, 0)) == _timeless(point.systems["hybrid"])
    assert swept.points[0.1].systems["mask-sensitive"].pairs > 0
    assert swept.points[0.1].systems["fdh"].pairs > 0


def _timeless(found: Outcome) -> Outcome:
    return replace(found, seconds=0.0)


def test_times_are_of_each_system_alone(trace: Trace) -> None:
    found = timed(trace, SETTING, LAYERS)
    assert found is not None
    assert set(found.training) == set(found.decision) == {"hybrid", "fdh", "generalize"}
    assert min(*found.training.values(), *found.decision.values()) > 0
    assert found.training["hybrid"] < found.training["fdh"]  # one check against four


def test_nobody_without_two_contexts(trace: Trace) -> None:
    alone = replace(trace, days=tuple(replace(day, contexts=("c0002",) * 96) for day in trace.days))
    assert layered(alone, SETTING, LAYERS) is None
    assert sweep(alone, SETTING, LAYERS) is None
    assert timed(alone, SETTING, LAYERS) is None


def test_a_footprint_counts_everything_once() -> None:
    array = np.zeros(1000)
    assert footprint(array) == footprint(array[:3]) - array[:3].__sizeof__() == array.__sizeof__()
    pair = (array, array)
    assert footprint(pair) == pair.__sizeof__() + 16 + array.__sizeof__()  # a tuple's collector header is 16 bytes
    assert footprint({"a": array, "b": [array]}) < 2 * array.nbytes
    assert footprint(footprint) == footprint(np) == 0


def test_of_withheld_is_of_everybody_together() -> None:
    def person(layers: tuple[float, ...], off: float) -> fdh.LayeredSweep:
        found = Outcome(0.0, None, layers, 1 - sum(layers), off, 0, 0, 0.0, 0.0)
        return fdh.LayeredSweep(1, (2, 1, 1), 1, 1, 0.0, 0.0, {0.1: fdh.Point({"fdh": found}, {})})

    # 0.2 of 0.6 that are withheld, and nothing of 0: not the mean of 1/3 and nothing
    people = [person((0.3, 0.2, 0.4), 0.1), person((1.0, 0.0, 0.0), 0.0)]
    group = Group("here", "home", SETTING, ("tower", "site"), people)
    assert group.of_withheld(0.1, "fdh") == pytest.approx(1 / 3)
    assert np.isnan(Group("here", "home", SETTING, ("tower", "site"), people[1:]).of_withheld(0.1, "fdh"))


@pytest.mark.parametrize("text", ["site,area", "area,tower", "tower,,area", "tower,town", ""])
def test_layers_that_make_no_sense(text: str) -> None:
    with pytest.raises(DiscreetError, match="layers"):
        levels_of(text)


def test_layers_of_towers() -> None:
    assert levels_of("tower, site,area,region") == TOWERS
    assert levels_of("tower,area") == ("tower", "area")


def test_venues_have_a_hierarchy_too(folder: Path) -> None:
    rules = Rules(level="venue", slots=24, carry_hours=0.0, backward=False, merge_below=0.0, least_days=16)
    found = check_ins(folder, rules)
    assert [trace.number for trace in found] == [1, 2, 3]
    one = layered(found[0], Setting(rules, days=2), Layers(VENUES))
    assert one is not None
    assert [len(layer) for layer in one.hierarchy.layers][2:] == [len(set(found[0].names["kind"].values())) + 1, 1]
    sound = fdh.adaptive(one, one.subject.policy(0.1), Layers(VENUES))
    assert isinstance(sound, Adaptive)
    assert sound.memory == "last"
    assert outcome(sound, one, 0).pairs == 0


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded data is not part of the project")
def test_on_recorded_people_fdh_breaches_and_the_sound_ones_do_not() -> None:
    rules = Rules(level="tower", merge_below=0.02)
    trace = reality_mining(RECORDED, rules)[50]
    setting = Setting(rules, secrets=3, smoothing="auto", days=5)
    swept = sweep(trace, setting, Layers(TOWERS, memory="none"), (0.25,))
    assert swept is not None
    systems = swept.points[0.25].systems
    assert systems["fdh"].pairs > 0
    assert systems["hybrid"].pairs == systems["generalize"].pairs == 0
