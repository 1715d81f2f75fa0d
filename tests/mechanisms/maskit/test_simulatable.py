"""The simulatable check against enumeration, decision by decision."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.enumerate import expected_releases, worst
from discreet.mechanisms import Simulatable
from discreet.mechanisms.maskit.simulatable import LastRelease
from discreet.numerics import SLACK
from tests.mechanisms.enumeration import Path, Tiny, allowed, simulated, tiny
from tests.mechanisms.maskit.test_probabilistic import random_case, within_delta
from tests.mechanisms.test_baselines import CASES, golden_chain
from tests.strategies import random_chain, random_hidden, searches


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_golden_gain_and_utility(case: dict[str, Any]) -> None:
    check = Simulatable(golden_chain(case), d.Policy(case["secrets"], delta=case["delta"]))
    golden = case["simulatable"]
    releases = float(check.expected_utility()) * check.model.slots
    assert releases == pytest.approx(golden["expected_releases"], abs=1e-12)
    assert max(0.0, float(worst(check)[0])) == pytest.approx(max(0.0, golden["worst_gain"]), abs=1e-12)


@pytest.mark.parametrize("lookahead", [False, True])
def test_utility_and_gain_equal_the_enumeration(lookahead: bool) -> None:
    for seed in searches(200):
        chain, policy = random_case(seed)
        check = Simulatable(chain, policy, lookahead=lookahead)
        releases, _ = simulated(tiny(chain, policy), lookahead=lookahead)
        assert float(check.expected_utility()) * chain.slots == pytest.approx(float(releases), abs=1e-12), seed
        assert expected_releases(check) == pytest.approx(float(releases), abs=1e-12), seed
        assert within_delta(check, policy), seed


def after(chain: Tiny, state: LastRelease) -> dict[Path, Fraction]:
    """The paths that agree with the last release."""
    paths = chain.paths()
    if state.released_slot < 0:
        return paths
    return {path: weight for path, weight in paths.items() if path[state.released_slot] == state.released}


def test_every_decision_of_the_table() -> None:
    """Algorithm 4 from the last release alone, for every (slot, context) that was released lawfully."""
    for seed in searches(150):
        chain, policy = random_case(seed)
        check, twin = Simulatable(chain, policy), tiny(chain, policy)
        todo, seen = [check.start()], set()
        while todo:
            state = todo.pop()
            if state.slot == chain.slots or state in seen:
                continue
            seen.add(state)
            outputs = check.kernel(state).outputs
            paths = after(twin, state)
            releases = any(isinstance(output, d.Released) for output in outputs)
            assert releases == (check.next_release(state) == state.slot)
            assert releases == allowed(twin, paths, state.slot), (seed, state)
            if releases:
                shown = {output.context for output in outputs if isinstance(output, d.Released)}
                assert shown == {chain.contexts[path[state.slot]] for path in paths}
            todo += [check.advance(state, output) for output in outputs if output != d.Suppressed() or not releases]


def test_lookahead_never_loses() -> None:
    for seed in searches(200):
        chain, policy = random_case(seed)
        plain = float(Simulatable(chain, policy).expected_utility())
        assert float(Simulatable(chain, policy, lookahead=True).expected_utility()) >= plain - 1e-12


def test_lookahead_wins_where_an_early_release_forbids_later_ones() -> None:
    """Releasing a at slot 0 makes every later u or v betray s: with all six slots, 1 + 5/2 releases against 4."""
    names = ["a", "b", "s", "y", "z", "u", "v"]
    steps = {"a": {"s": 0.3, "y": 0.7}, "b": {"z": 1.0}, "s": {"u": 1.0}, "y": {"u": 0.5, "v": 0.5}, "z": {"u": 1.0}}
    step = [[steps.get(i, {i: 1.0}).get(j, 0.0) for j in names] for i in names]
    chain = d.MarkovChain.homogeneous(names, [0.5, 0.5, 0, 0, 0, 0, 0], step, slots=6)
    policy = d.Policy("s", delta=0.2)
    plain, ahead = Simulatable(chain, policy), Simulatable(chain, policy, lookahead=True)
    assert float(plain.expected_utility()) * 6 == pytest.approx(3.5, abs=1e-12)
    assert float(ahead.expected_utility()) * 6 == pytest.approx(4.0, abs=1e-12)
    twin = tiny(chain, policy)
    assert simulated(twin)[0] == pytest.approx(3.5, abs=1e-12)
    assert simulated(twin, lookahead=True)[0] == pytest.approx(4.0, abs=1e-12)
    assert within_delta(ahead, policy)


def test_public_states_are_small_and_hashable() -> None:
    check = Simulatable(random_chain(1), d.Policy())
    state = check.start()
    assert check.advance(state, d.Suppressed()) == LastRelease(1)
    assert hash(check.advance(state, d.Released("c2"))) == hash(LastRelease(1, 0, 2))


def test_silence_is_accepted_where_it_could_not_be_output() -> None:
    """At a release slot only an impossible reading is silent; the check then goes on as after any silence."""
    chain = d.MarkovChain(["a", "b"], [1, 0], [[[1, 0], [0, 1]]] * 2)
    check = Simulatable(chain, d.Policy())
    kernel = check.kernel(check.start())
    assert kernel.outputs == (d.Released("a"), d.Suppressed())
    assert kernel.weights.tolist() == [[1, 0], [0, 1]]
    later = check.advance(check.start(), d.Suppressed())
    assert later == LastRelease(1)
    assert check.kernel(later).outputs == (d.Released("a"), d.Suppressed())


def test_decisions_after_an_impossible_reading() -> None:
    """Every silence is accepted anywhere, and what follows is what Algorithm 4 says of the last release."""
    for seed in searches(100):
        chain, policy = random_case(seed)
        for lookahead in (False, True):
            check, twin = Simulatable(chain, policy, lookahead=lookahead), tiny(chain, policy)
            state = check.start()
            for _ in range(chain.slots):
                if check.next_release(state) == state.slot:
                    assert allowed(twin, after(twin, state), state.slot)
                state = check.advance(state, d.Suppressed())


def test_only_contexts_are_accepted() -> None:
    check = Simulatable(random_chain(1), d.Policy())
    with pytest.raises(d.DiscreetError, match="'c9' was never released"):
        check.advance(check.start(), d.Released("c9"))
    with pytest.raises(d.DiscreetError, match="contexts or nothing"):
        check.advance(check.start(), d.Generalized("top"))


# --- bad input and edges


@pytest.mark.parametrize("lookahead", [False, True])
def test_without_secrets_or_with_delta_one_everything_is_released(lookahead: bool) -> None:
    for seed in searches(10):
        chain = random_chain(seed, n=3, slots=4, zeros=0.5)
        for policy in (d.Policy(), d.Policy(["c0", "c1"], delta=1.0)):
            check = Simulatable(chain, policy, lookahead=lookahead)
            assert float(check.expected_utility()) == pytest.approx(1.0, abs=1e-12)


def test_delta_zero_changes_no_belief() -> None:
    for seed in searches(100):
        chain, policy = random_case(seed)
        none = d.Policy([d.Secret(s.name, s.contexts, slots=s.slots) for s in policy.secrets], delta=0.0)
        assert worst(Simulatable(chain, none), policy=none)[0] <= SLACK


def test_secrets_that_are_certain_or_impossible_at_some_slots() -> None:
    step = [[[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]]
    check = Simulatable(d.MarkovChain(["s", "x"], [1, 0], step), d.Policy("s", delta=0.1))
    assert float(check.expected_utility()) == pytest.approx(2 / 3, abs=1e-15)  # slots 0 and 2 tell nothing new


def test_secrets_at_any_slot_are_left_out_and_the_guarantee_says_so() -> None:
    check = Simulatable(random_chain(7), d.Policy([d.Secret("ever", {"c0"}, at="any")], delta=0.1))
    assert float(check.expected_utility()) == pytest.approx(1.0, abs=1e-12)
    assert check.guarantee.covers == {"each"}
    assert "at='any' are not bounded" in check.guarantee.statement


def test_hidden_models_are_refused() -> None:
    with pytest.raises(d.DiscreetError, match="Simulatable needs a Markov chain"):
        Simulatable(random_hidden(1), d.Policy("c0"))


def test_equal_states_have_equal_kernels_in_any_order() -> None:
    chain, policy = random_chain(3, n=4, slots=4, zeros=0.3), d.Policy("c1", delta=0.3)
    first, second = Simulatable(chain, policy), Simulatable(chain, policy)
    states = [LastRelease(t, a, i) for t in range(4) for a in range(t) for i in range(4)]
    for state in states[::-1]:
        second.kernel(state)
    for state in states:
        assert first.kernel(state).outputs == second.kernel(state).outputs
        assert np.array_equal(first.kernel(state).weights, second.kernel(state).weights)
