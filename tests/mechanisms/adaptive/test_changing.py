"""Habits and policies that change: nobody gains more than delta by the change itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.belief import Adversary
from discreet.adversary.checkpoint import Checkpoint
from discreet.mechanisms.adaptive.adaptive import Memory, Outputs
from discreet.mechanisms.adaptive.changing import Changes
from discreet.mechanisms.adaptive.endless import Endless
from discreet.models.changing import Changing
from discreet.numerics import SLACK, FloatArray
from discreet.randomness import SeededEntropy
from tests.strategies import searches

START = "2026-11-16"


def rows(rng: np.random.Generator, *shape: int, spread: float = 0.4, floor: float = 0.05) -> FloatArray:
    n = shape[-1]
    return np.asarray((1 - floor) * rng.dirichlet(np.full(n, spread), size=shape[:-1]) + floor / n)


def routine(rng: np.random.Generator, labels: tuple[str, ...], slots: int = 2, floor: float = 0.05) -> d.Routine:
    n = len(labels)
    chain = d.MarkovChain(labels, np.full(n, 1 / n), rows(rng, slots - 1, n, n, floor=floor))
    return d.Routine({"day": chain}, {("day", "day"): rows(rng, n, n, floor=floor)})


class Joined:
    """The chain as the mechanism's own states say it was joined, for an observer who computes everything himself."""

    def __init__(self, mechanism: Any, cuts: tuple[int, ...], slots: int) -> None:
        machine = mechanism.machine.machine(cuts)
        chain = mechanism.model.before
        steps = [(machine.model if cuts and t >= cuts[0] - 1 else chain).transition(t) for t in range(slots - 1)]
        self.model = d.MarkovChain(chain.contexts, chain.initial, np.array(steps))
        self.policy = d.Policy(
            [d.Secret(one.name, one.contexts, range(slots), one.delta) for one in mechanism.policy.secrets],
            delta=mechanism.policy.delta,
        )
        self.private_contexts, self.remember = mechanism.private_contexts, mechanism.remember


def worst_excess(mechanism: Any, slots: int, rng: np.random.Generator, walks: int = 12) -> tuple[float, set[Any]]:
    """Over random walks along outputs, judged by the plain chain that was in force, all rows kept."""
    worst, seen = -np.inf, set()
    for _ in range(walks):
        state, likelihoods = mechanism.start(), []
        for _ in range(slots):
            kernel = mechanism.kernel(state)
            row = kernel.matrix[int(rng.integers(len(kernel.matrix)))]
            output = kernel.outputs[int(rng.choice(len(row), p=row))]
            likelihoods.append(kernel.likelihood(output))
            state = mechanism.advance(state, output)
        seen.add(state.cuts)
        judge: Any = Joined(mechanism, state.cuts, slots)
        belief = Adversary(judge).start()
        for likelihood in likelihoods:
            if not (belief.predicted() * likelihood).sum() > 1e-200:
                break  # the walk was drawn from rows of impossible states
            belief = belief.after(likelihood)
            worst = max(worst, float((belief.gains - belief.adversary.deltas).max()))
    return worst, seen


def test_a_change_of_habits_breaches_nothing_whenever_it_is_applied() -> None:
    waited = 0
    for seed in searches(25):
        rng = np.random.default_rng(seed)
        labels = ("a", "b", "c")[: 2 + seed % 2]
        before, after = routine(rng, labels), routine(rng, labels)
        model = before.then(after, "2026-11-18").since(START)
        outputs: Outputs = "deceive" if seed % 2 else "suppress"
        memory: Memory = "none" if seed // 2 % 2 else "last"
        mechanism = d.mechanisms.Adaptive(model, d.Policy(["a"], delta=0.1), outputs=outputs, memory=memory)
        worst, cuts = worst_excess(mechanism, 12, rng)
        assert worst <= SLACK, (seed, worst)
        waited += any(each != (4,) for each in cuts)
    assert waited  # some changes had to wait for a later cut


def test_a_change_that_is_applied_blindly_breaches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The breaker: without the check some of the same changes exceed a limit."""

    def blindly(self: Changes, state: Any) -> Any:
        passed = len(state.cuts)
        if state.slot % self._slots or passed == len(self.changes) or state.slot < self.changes[passed].slot:
            return None
        cuts = (*state.cuts, state.slot)
        adversary = self.machine(cuts).adversary
        belief = replace(state.belief, adversary=adversary)
        return replace(state, key=belief.digest(), belief=belief, cuts=cuts)

    monkeypatch.setattr(Changes, "_changed", blindly)
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        labels = ("a", "b", "c")[: 2 + seed % 2]
        before, after = routine(rng, labels), routine(rng, labels)
        model = before.then(after, "2026-11-18").since(START)
        mechanism = d.mechanisms.Adaptive(model, d.Policy(["a"], delta=0.1), outputs="deceive")
        found.append(worst_excess(mechanism, 8, rng, walks=6)[0])
    assert max(found) > 0.01


def test_new_labels_are_contexts_from_the_change_on_and_other_before() -> None:
    rng = np.random.default_rng(1)
    before, after = routine(rng, ("a", "b", "other")), routine(rng, ("a", "new", "other"))
    changing = before.then(after, "2026-11-17")
    assert isinstance(changing, Changing)
    assert changing.contexts == ("a", "b", "other", "new")
    model = changing.since(START)
    unrolled = model.unrolled(3)
    assert (unrolled.prior[:2, 3] == 0).all()
    assert (unrolled.prior[2:, 3] > 0).all()
    assert (unrolled.prior[2:, 1] == 0).all()
    np.testing.assert_allclose([model.prior_at(t) for t in range(6)], unrolled.prior, atol=1e-12)
    mechanism = d.mechanisms.Adaptive(model, d.Policy(["a"], delta=0.3))
    session = d.Session(mechanism, rng=SeededEntropy(0))
    for _ in range(12):
        session.release("new")
    assert session.off_model == 0
    assert mechanism.known(mechanism.start()) == {"a", "b", "other"}
    assert mechanism.known(session._now.state) == {"a", "new", "other"}


def test_a_policy_changes_at_the_cut_after_next_and_what_was_told_is_listed() -> None:
    rng = np.random.default_rng(5)
    labels = ("a", "b", "c")
    mechanism = d.mechanisms.Adaptive(
        routine(rng, labels, floor=0.01).since(START), d.Policy([d.Secret("b", delta=0.3)])
    )
    session = d.Session(mechanism, rng=SeededEntropy(2))
    session.release("a")
    assert session.change(policy=d.Policy(["a", d.Secret("b", delta=0.3)], delta=0.02)).isoformat() == "2026-11-18"
    while session.slot < 4:
        session.release("a")
    told = session.already_told
    assert session._now.state.cuts == (4,)
    assert "b" not in told
    rows, beliefs = session.belief.live()
    assert (beliefs <= rows.limit + SLACK).all()
    for slot, limit in told.get("a", {}).items():
        assert limit > float(mechanism.model.prior_at(slot)[0]) + 0.02
    for _ in range(40):
        session.release(str(rng.choice(labels)))
        rows, beliefs = session.belief.live()
        assert (beliefs <= rows.limit + SLACK).all()
    with pytest.raises(d.DiscreetError, match="has begun"):
        session.change(policy=d.Policy(["a"]), date=START)


def test_a_stream_that_changed_goes_on_from_a_checkpoint() -> None:
    rng = np.random.default_rng(7)
    mechanism = d.mechanisms.Adaptive(routine(rng, ("a", "b", "other")).since(START), d.Policy(["a"], delta=0.2))
    session = d.Session(mechanism, rng=SeededEntropy(1))
    session.release("a")
    session.change(routine=routine(rng, ("a", "n", "other")), policy=d.Policy(["n"], delta=0.2))
    for label in ["n", "b", "a", "other"] * 6:
        session.release(label)
    assert session._now.state.cuts
    point = Checkpoint.from_json(session.checkpoint().to_json())
    again = d.Session.resume(session.mechanism, checkpoint=point, private=session.private, rng=SeededEntropy(9))
    session._rng = SeededEntropy(9)
    for label in ["n", "a", "other", "n"] * 5:
        assert again.release(label) == session.release(label)
    assert again.digest == session.digest
    with pytest.raises(d.DiscreetError, match="another model"):
        d.Session.resume(mechanism, checkpoint=point)


def test_bad_changes_are_named() -> None:
    rng = np.random.default_rng(0)
    one, two = routine(rng, ("a", "b")), routine(rng, ("a", "b"), slots=3)
    with pytest.raises(d.DiscreetError, match="same clock"):
        one.then(two, "2027-01-01")
    with pytest.raises(d.DiscreetError, match="no date"):
        one.then(one, "tomorrow")
    with pytest.raises(d.DiscreetError, match="dates in order"):
        one.then(one, "2027-01-02").then(one, "2027-01-01")
    with pytest.raises(d.DiscreetError, match="before the stream begins"):
        one.then(one, "2026-11-01").since(START)
    for habits in (one, one.then(one, "2027-01-01")):
        for kind in (d.mechanisms.Adaptive, d.mechanisms.NoMask, d.mechanisms.Hybrid):
            with pytest.raises(d.DiscreetError, match="has no first day"):
                kind(habits, d.Policy(["a"]))  # type: ignore[arg-type]
    with pytest.raises(d.DiscreetError, match="unrolled"):
        d.limit(one.since(START), d.Policy(["a"]))  # type: ignore[arg-type]
    mechanism = d.mechanisms.Adaptive(one.since(START), d.Policy(["a"], delta=0.3))
    d.laws.check(mechanism)
    assert isinstance(mechanism.machine, Endless)
    with pytest.raises(d.DiscreetError, match="no later dates"):
        d.mechanisms.Adaptive(one.day("day"), d.Policy(["a"])).then("2027-01-01")


def test_what_a_stream_is_worth_is_near_the_mean_of_long_chains() -> None:
    rng = np.random.default_rng(3)
    habits = routine(rng, ("a", "b", "c"))
    policy = d.Policy(["a"], delta=0.2)
    stream = d.mechanisms.Adaptive(habits.since(START), policy, outputs="deceive", memory="none")
    long = d.mechanisms.Adaptive(
        habits.since(START).unrolled(20), d.Policy([d.Secret("a", slots=range(40))], delta=0.2), outputs="deceive"
    )
    found, whole = stream.expected_utility(200), long.expected_utility(60)
    assert 0 < found.half_width < 0.1
    assert found.mean == pytest.approx(whole.mean, abs=3 * (found.half_width + whole.half_width))
