"""The observer of a stream without end, against the observer of one long chain who keeps everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary import endless_belief
from discreet.adversary.belief import Adversary, Belief
from discreet.adversary.endless_belief import EndlessBelief
from discreet.adversary.rows import DROPPED, Rows
from discreet.adversary.unrolled import Unrolled
from discreet.mechanisms.adaptive.adaptive import Memory, Outputs
from discreet.numerics import SLACK, BoolArray, FloatArray
from tests.strategies import searches

START = "2026-11-19"  # a Thursday: kinds of day change on the third


def rows(rng: np.random.Generator, *shape: int, floor: float) -> FloatArray:
    n = shape[-1]
    return np.asarray((1 - floor) * rng.dirichlet(np.full(n, 0.4), size=shape[:-1]) + floor / n)


def routine(seed: int, slots: int = 3, floor: float = 0.05, n: int = 3) -> d.Routine:
    rng = np.random.default_rng(seed)
    labels = tuple("abcd"[:n])
    kinds = ("weekday", "weekend")
    chains = {kind: d.MarkovChain(labels, np.full(n, 1 / n), rows(rng, slots - 1, n, n, floor=floor)) for kind in kinds}
    nights = {(one, other): rows(rng, n, n, floor=floor) for one in kinds for other in kinds}
    return d.Routine(chains, nights)


def policy(seed: int, slots: int = 3) -> d.Policy:
    rng = np.random.default_rng(seed + 999)
    some = sorted(rng.choice(slots, size=2, replace=False).tolist())
    secrets = [
        d.Secret("a", {"a"}, delta=float(rng.choice([0.05, 0.1, 0.3]))),
        d.Secret("b, some slots", {"b"}, slots=some, delta=0.1),
        d.Secret("b ever", {"b"}, slots=some, delta=0.2, at="any"),
        d.Secret("a in a night", {"a"}, slots=[0, slots - 1], delta=0.2, at="any", begins=slots - 1),
        d.Secret("c, whatever", {"c"}, delta=0.99),
    ]
    chosen = [secret for secret in secrets if rng.random() < 0.7]
    return d.Policy(chosen or secrets[:1])


def variants(seed: int) -> Iterator[tuple[d.Policy, Outputs, Memory]]:
    memory: Memory = "last" if seed % 2 else "none"
    yield policy(seed), "suppress", memory
    yield policy(seed), "deceive", memory


def walk(mechanism: Any, slots: int, rng: np.random.Generator) -> Iterator[tuple[Any, Any, Any]]:
    """Random outputs of positive probability: (state, kernel, output)."""
    state = mechanism.start()
    for _ in range(slots):
        kernel = mechanism.kernel(state)
        chances = kernel.matrix.T @ state.belief.predicted()
        output = kernel.outputs[int(rng.choice(len(chances), p=chances / chances.sum()))]
        yield state, kernel, output
        state = mechanism.advance(state, output)


def all_gains(belief: Belief, mechanism: Any) -> dict[tuple[str, int], tuple[float, float]]:
    """{(secret, slot at which it opens): (gain, delta)} of the long chain's observer."""
    adversary, slots = belief.adversary, mechanism.model.day_slots
    found = {}
    begins = {secret.name: secret for secret in mechanism.policy.secrets}
    for (name, slot), gain, delta in zip(
        adversary.gain_names, belief.gains.tolist(), adversary.deltas.tolist(), strict=True
    ):
        if slot is None:
            own, day = name.rsplit(" (day ", 1)
            window = begins[own].slots
            assert window is not None
            first = min(s if s >= begins[own].begins else s + slots for s in window) + (int(day[:-1]) - 1) * slots
            slot, name = max(first, 0), own
            if first < 0:  # what is left of a window that began before the stream did
                slot = min(s for s in window if s < begins[own].begins)
        found[name, slot] = gain, delta
    return found


@pytest.mark.parametrize("seed", searches(16))
def test_live_rows_are_the_long_chains_and_what_is_not_live_is_within_its_delta(seed: int) -> None:
    rng = np.random.default_rng(seed)
    days = 5
    for secrets, outputs, memory in variants(seed):
        mechanism = d.mechanisms.Adaptive(routine(seed).since(START), secrets, outputs=outputs, memory=memory)
        long: Any = Unrolled(mechanism, days)
        judge = Adversary(long).start()
        for state, kernel, output in walk(mechanism, days * 3, rng):
            live, beliefs = state.belief.live()
            wanted = all_gains(judge, mechanism)
            names = [(secrets.secrets[g].name, int(u)) for g, u in zip(live.secret, live.opens, strict=True)]
            for key, gain in zip(names, beliefs - live.prior, strict=True):
                if key in wanted:  # rows of windows that end after the long chain are not its
                    assert gain == pytest.approx(wanted[key][0], abs=1e-12)
            for key, (gain, delta) in wanted.items():
                if key not in names:
                    assert gain <= delta + DROPPED
            np.testing.assert_allclose(state.belief.predicted(), judge.predicted(), atol=1e-13)
            judge = judge.after(kernel.likelihood(output))


@pytest.mark.parametrize("seed", searches(10))
def test_kernels_are_the_same_to_the_bit_with_all_rows_kept(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)

    def keeping(stack: FloatArray, limits: FloatArray) -> BoolArray:
        return np.ones(len(limits), dtype=np.bool_)

    for secrets, outputs, memory in variants(seed):
        model = routine(seed).since(START)
        lean = d.mechanisms.Adaptive(model, secrets, outputs=outputs, memory=memory)
        steps = list(walk(lean, 24, rng))
        with monkeypatch.context() as patch:
            patch.setattr(endless_belief, "_beyond_somewhere", keeping)
            whole = d.mechanisms.Adaptive(model, secrets, outputs=outputs, memory=memory)
            whole.machine.adversary.tables.reach[0] = 40
            patch.setattr(Rows, "dropped", property(lambda rows: np.full(len(rows.secret), -2.0)))  # in the tables too
            whole.machine.adversary.tables.fronts.clear()
            state = whole.start()
            for there, kernel, output in steps:
                if not whole.machine.tabled:
                    assert len(state.belief.live()[0].secret) >= len(there.belief.live()[0].secret)
                kept: Any = whole.kernel(state)
                np.testing.assert_array_equal(kept.weights, kernel.weights)
                state = whole.advance(state, output)


@pytest.mark.slow("walks long streams")
@pytest.mark.parametrize("outputs", ["suppress", "deceive"])
def test_streams_that_share_what_was_decided_decide_as_if_alone(outputs: Outputs) -> None:
    """Other dates have other habits at the same slots: nothing of one stream may stand for another's."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        habits, secrets = routine(seed), d.Policy(["a"], delta=0.1)
        first = d.mechanisms.Adaptive(habits.since(START), secrets, outputs=outputs)
        for _ in walk(first, 40, rng):
            pass
        for day in range(8):
            date = first.model.date_of(3 * day)[0]
            shared = first.since(date)
            alone = d.mechanisms.Adaptive(habits.since(date), secrets, outputs=outputs)
            there = alone.start()
            for state, kernel, output in walk(shared, 12, rng):
                own: Any = alone.kernel(there)
                np.testing.assert_array_equal(own.weights, kernel.weights)
                live, beliefs = state.belief.live()
                wanted, theirs = there.belief.live()
                np.testing.assert_array_equal(live.limit, wanted.limit)
                np.testing.assert_array_equal(beliefs, theirs)
                there = alone.advance(there, output)


def test_gains_of_a_past_day_are_the_long_chains() -> None:
    for seed in range(6):
        secrets = policy(seed)
        mechanism = d.mechanisms.Adaptive(routine(seed).since(START), secrets, outputs="deceive")
        session = d.Session(mechanism)
        long: Any = Unrolled(mechanism, 4)
        judge = Adversary(long).start()
        state = mechanism.start()
        for t in range(10):
            output = session.release("abc"[(seed + t) % 3])
            judge = judge.after(mechanism.kernel(state).likelihood(output))
            state = mechanism.advance(state, output)
        wanted = all_gains(judge, mechanism)
        for day in range(3):
            date = mechanism.model.date_of(3 * day)[0]
            gains = session.gains(date)
            for secret in secrets.secrets:
                for (name, slot), (gain, _) in wanted.items():
                    if name == secret.name and 3 * day <= slot < 3 * day + 3:
                        own: Any = gains[name]
                        found = own if secret.at == "any" else own[slot - 3 * day]
                        if secret.at == "each" or secret.begins == 0 or day > 0:
                            assert found == pytest.approx(gain, abs=1e-12), (seed, day, name, slot)


def test_a_day_that_is_no_longer_at_hand_is_an_error() -> None:
    session = d.Session(d.mechanisms.Adaptive(routine(0).since(START), d.Policy(["a"], delta=0.3)))
    for _ in range(3 * 20):
        session.release("a")
    assert set(session.gains("2026-12-08")) == {"a"}
    with pytest.raises(d.DiscreetError, match="not at hand; gains can be asked for from 2026-11-"):
        session.gains(START)


def test_gains_of_a_day_that_is_not_whole_at_hand_are_an_error() -> None:
    """Rows of its earlier slots were dropped: they are not zero."""
    mechanism = d.mechanisms.Adaptive(routine(0).since(START), d.Policy(["a"], delta=0.3))
    session = d.Session(mechanism)
    for _ in range(4):
        session.release("a")
    session = d.Session.resume(mechanism, checkpoint=session.checkpoint(), private=session.private)
    with pytest.raises(d.DiscreetError, match="2026-11-20 are not at hand; gains can be asked for from 2026-11-21 on"):
        session.gains("2026-11-20")
    for _ in range(3):
        session.release("a")
    assert set(session.gains("2026-11-21")) == {"a"}


def test_habits_that_hardly_mix_are_refused_with_the_remedy() -> None:
    stay = d.MarkovChain(("a", "b"), [0.5, 0.5], np.eye(2)[None])
    for nights in (np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])):
        with pytest.raises(d.DiscreetError, match="larger floor"):
            d.mechanisms.Adaptive(d.Routine({"day": stay}, {("day", "day"): nights}).since(START), d.Policy(["a"]))
    sticky = 5e-4 * np.full((2, 2), 0.5) + (1 - 5e-4) * np.eye(2)  # total, and it remembers for thousands of slots
    chain = d.MarkovChain(("a", "b"), [0.5, 0.5], sticky[None])
    with pytest.raises(d.DiscreetError, match="larger delta"):
        d.mechanisms.Adaptive(d.Routine({"day": chain}, {("day", "day"): sticky}).since(START), d.Policy(["a"]))
    never = d.Policy([d.Secret("a", delta=0.6)])  # beyond certainty, so there is nothing to refuse
    still = d.Routine({"day": stay}, {("day", "day"): np.eye(2)}).since(START)
    assert d.mechanisms.Adaptive(still, never).horizon is not None


def test_the_horizon_is_how_far_ahead_rows_are_live() -> None:
    for seed in range(8):
        mechanism = d.mechanisms.Adaptive(routine(seed).since(START), policy(seed))
        adversary = mechanism.adversary
        ahead = [int((front.rows.opens - t).max(initial=0)) for t in range(21) if (front := adversary.front(t))]
        assert max(ahead) == mechanism.horizon


def test_too_many_live_rows_and_states_too_unlikely_are_met_with_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = d.mechanisms.Adaptive(routine(3).since(START), d.Policy(["a", "b"], delta=0.05), outputs="deceive")
    states = [state for state, _, _ in walk(mechanism, 12, np.random.default_rng(0))]
    busy = max(states, key=lambda state: len(state.belief.rows.secret))
    assert len(busy.belief.rows.secret) > 1
    fresh = d.mechanisms.Adaptive(routine(3).since(START), d.Policy(["a", "b"], delta=0.05), outputs="deceive")
    monkeypatch.setattr(endless_belief, "LIVE", 1)
    kernel: Any = fresh.kernel(busy)
    assert (kernel.likelihood(d.Suppressed()) == 1).all()
    assert fresh.effort.given_up == 1
    stack = busy.belief.stack.copy()
    stack[0, 0] = stack[1:, 0] = 2.0**-950
    faint = EndlessBelief(busy.belief.adversary, busy.slot, stack, busy.belief.low * 0, busy.belief.rows)
    assert not faint.sound


def test_a_start_that_is_known_settles_into_the_cycle() -> None:
    habits = routine(5)
    mechanism = d.mechanisms.Adaptive(habits.since(START, initial=[0.0, 1.0, 0.0]), d.Policy(["a"], delta=0.1))
    session = d.Session(mechanism)
    for _ in range(120):
        session.release("b")
        live, beliefs = session.belief.live()
        assert (beliefs <= live.limit + SLACK).all()
    assert mechanism.model.phase(120) is not None
    assert mechanism.model.phase(1) is None


def test_after_priors_settled_rows_are_live_as_far_ahead_as_in_the_cycle() -> None:
    """The first day, whose start is known, may look less far ahead than days of the cycle do."""
    for seed in range(6):
        habits, secrets = routine(seed, floor=0.02), d.Policy(["a", d.Secret("b ever", {"b"}, at="any")], delta=0.05)
        known = d.mechanisms.Adaptive(habits.since(START, initial=[0.0, 0.0, 1.0]), secrets)
        plain = d.mechanisms.Adaptive(habits.since(START), secrets)
        assert (known.horizon or 0) >= (plain.horizon or 0)
        settled = next(t for t in range(0, 6000, 3) if known.model.phase(t) is not None)
        for t in range(settled, settled + 21):
            one, other = known.adversary.front(t), plain.adversary.front(t)
            np.testing.assert_array_equal(one.rows.opens, other.rows.opens)
            np.testing.assert_array_equal(one.chance, other.chance)
