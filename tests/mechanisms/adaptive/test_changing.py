"""Habits and policies that change: nobody gains more than delta by the change itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.belief import Adversary
from discreet.adversary.checkpoint import Checkpoint
from discreet.adversary.endless import EndlessAdversary
from discreet.adversary.unrolled import Unrolled
from discreet.mechanisms.adaptive.adaptive import Memory, Outputs
from discreet.mechanisms.adaptive.machine import AdaptiveMachine as Endless
from discreet.models.routine.changing import Changing
from discreet.numerics import SLACK, FloatArray
from discreet.randomness import SeededEntropy
from tests.strategies import searches

START = "2026-11-16"


def rows(rng: np.random.Generator, *shape: int, spread: float = 0.4, floor: float = 0.05) -> FloatArray:
    n = shape[-1]
    return np.asarray((1 - floor) * rng.dirichlet(np.full(n, spread), size=shape[:-1]) + floor / n)


def routine(
    rng: np.random.Generator, labels: tuple[str, ...], slots: int = 2, floor: float = 0.05, spread: float = 0.4
) -> d.Routine:
    n = len(labels)
    chain = d.MarkovChain(labels, np.full(n, 1 / n), rows(rng, slots - 1, n, n, floor=floor, spread=spread))
    return d.Routine({"day": chain}, {("day", "day"): rows(rng, n, n, floor=floor, spread=spread)})


def walked(mechanism: Any, state: Any, slots: int, rng: np.random.Generator) -> tuple[Any, list[FloatArray]]:
    """Random outputs of positive probability from a public state on: the state after them, and their likelihoods."""
    likelihoods = []
    for _ in range(slots):
        kernel = mechanism.kernel(state)
        chances = kernel.matrix.T @ state.belief.predicted()
        output = kernel.outputs[int(rng.choice(len(chances), p=chances / chances.sum()))]
        likelihoods.append(kernel.likelihood(output))
        state = mechanism.advance(state, output)
    return state, likelihoods


def worst_excess(mechanism: Any, likelihoods: list[FloatArray], days: int, after: int = 0) -> float:
    """The largest gain beyond its delta from the output `after` on, by the chain of all days, all rows kept."""
    long: Any = Unrolled(mechanism, days)
    belief, worst = Adversary(long).start(), -np.inf
    for number, likelihood in enumerate(likelihoods):
        belief = belief.after(likelihood)
        if number >= after:
            worst = max(worst, float((belief.gains - belief.adversary.deltas).max()))
    return worst


def variant(seed: int) -> tuple[Outputs, Memory]:
    return "deceive" if seed % 2 else "suppress", "none" if seed // 2 % 2 else "last"


@pytest.mark.slow("walks streams over changes")
def test_a_change_that_is_known_breaches_nothing_before_it_and_after() -> None:
    for seed in searches(25):
        rng = np.random.default_rng(seed)
        labels = ("a", "b", "c")[: 2 + seed % 2]
        model = routine(rng, labels).then(routine(rng, labels), "2026-11-18").since(START)
        outputs, memory = variant(seed)
        mechanism = d.mechanisms.Adaptive(model, d.Policy(["a"], delta=0.1), outputs=outputs, memory=memory)
        for _ in range(8):
            _, likelihoods = walked(mechanism, mechanism.start(), 12, rng)
            assert worst_excess(mechanism, likelihoods, 6) <= SLACK, seed


def announced(seed: int) -> tuple[float, int]:
    """Habits change in mid-stream: the worst excess from then on by the joined chain, and how many days it waited."""
    rng = np.random.default_rng(seed)
    labels = ("a", "b", "c")[: 2 + seed % 2]
    outputs, memory = variant(seed)
    habits = [routine(rng, labels, floor=0.03, spread=0.15) for _ in range(2)]  # sure of themselves
    policy = d.Policy([d.Secret("a", slots=[0])], delta=0.1)  # evenings may be told, if nights tell little
    first = d.mechanisms.Adaptive(habits[0].since(START), policy, outputs=outputs, memory=memory)
    session = d.Session(first, rng=SeededEntropy(seed))
    likelihoods = []
    for slot in range(16):
        if slot == 6:
            date = session.change(routine=habits[1], date="2026-11-19")  # begins now
        kernel = session.mechanism.kernel(session._now.state)
        label = labels[
            int(rng.choice(len(labels), p=session._now.belief.hidden() / session._now.belief.hidden().sum()))
        ]
        likelihoods.append(kernel.likelihood(session.release(label)))
    model: Any = session.mechanism.model
    assert date == model.date_of(model.changes[0])[0]
    return worst_excess(session.mechanism, likelihoods, 8, after=6), model.changes[0] // 2 - 3


def test_a_change_in_mid_stream_waits_until_it_breaches_nothing() -> None:
    found = [announced(seed) for seed in searches(40)]
    assert max(excess for excess, _ in found) <= SLACK
    assert any(waited for _, waited in found)


def test_a_change_in_mid_stream_without_the_check_breaches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The breaker: the same changes, none of which waits."""
    monkeypatch.setattr(EndlessAdversary, "holds", lambda self, belief: True)
    found = [announced(seed) for seed in range(40)]
    assert max(excess for excess, _ in found) > 0.01
    assert not any(waited for _, waited in found)


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
    model: Any = session.mechanism.model
    assert session._now.state.cuts == (model.changes[0],)
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
    with pytest.raises(d.DiscreetError, match="give Adaptive a routine"):
        d.mechanisms.Adaptive(one.day("day"), d.Policy(["a"])).then("2027-01-01")


@pytest.mark.slow("walks streams over changes")
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


def test_gains_are_shown_after_a_secret_was_given_up_and_another_change_follows() -> None:
    """Past rows of secrets that the policy has no more are live for a while, by the name that they had."""
    shown = 0
    for seed in searches(6):
        rng = np.random.default_rng(seed)
        habits = routine(rng, ("a", "b", "c"), slots=4)
        one, two, three = (d.Policy([d.Secret(name, delta=0.1)]) for name in "abc")
        mechanism = d.mechanisms.Adaptive(habits.since(START), one, outputs="deceive")
        mechanism = mechanism.then("2026-11-18", policy=two).then("2026-11-19", policy=three)
        session = d.Session(mechanism, rng=SeededEntropy(seed))
        for _ in range(20):
            session.release(str(rng.choice(["a", "b", "c"])))
            gains = session.gains()
            shown += session.slot > 8 and bool(gains["a"])
            rows, beliefs = session.belief.live()
            assert (beliefs <= rows.limit + SLACK).all()
        assert session.state.cuts == (8, 12)
    assert shown


@pytest.mark.parametrize(
    ("dates", "cuts", "last"),
    [
        ((None, None), (4,), "c"),  # twice on one day: the last one given holds
        (("2026-11-20", "2026-11-18"), (4, 8), "b"),  # the later one first
        (("2026-11-17", "2026-11-19"), (2, 6), "c"),
    ],
)
def test_no_policy_is_lost(dates: tuple[str | None, str | None], cuts: tuple[int, ...], last: str) -> None:
    habits = routine(np.random.default_rng(0), ("a", "b", "c"))
    session = d.Session(d.mechanisms.Adaptive(habits.since(START), d.Policy(["a"])), rng=SeededEntropy(0))
    session.release("b")
    for name, date in zip("bc", dates, strict=True):
        session.change(policy=d.Policy(["a", name]), date=date)
    for _ in range(20):
        session.release("b")
    assert session.state.cuts == cuts
    assert session.belief.adversary.policy == d.Policy(["a", last])


def test_a_policy_for_a_day_that_begins_now_is_refused() -> None:
    habits = routine(np.random.default_rng(0), ("a", "b", "c"))
    session = d.Session(d.mechanisms.Adaptive(habits.since(START), d.Policy(["a"])), rng=SeededEntropy(0))
    session.release("b")
    session.release("b")
    with pytest.raises(d.DiscreetError, match="2026-11-17 has begun"):
        session.change(policy=d.Policy(["a", "b"]), date="2026-11-17")


def test_days_in_which_the_policy_changes_are_not_audited_by_the_first_one() -> None:
    plain = d.mechanisms.Adaptive(
        routine(np.random.default_rng(9), ("a", "b")).since(START), d.Policy(["a"], delta=0.1)
    )
    changed = plain.then("2026-11-18", policy=d.Policy(["b"]))
    assert d.audit(changed, days=2).worst_gain == d.audit(plain, days=2).worst_gain
    with pytest.raises(d.DiscreetError, match="the policy changes at slot 4, within these days"):
        d.audit(changed, days=3)


def test_habits_change_in_a_stream_that_began_in_the_middle_of_a_day() -> None:
    rng = np.random.default_rng(4)
    before, after = routine(rng, ("a", "b"), slots=4), routine(rng, ("a", "b"), slots=4)
    chain = before.since(START, initial=[0.9, 0.1], first=2)
    session = d.Session(d.mechanisms.Adaptive(chain, d.Policy(["a"], delta=0.1)), rng=SeededEntropy(0))
    session.release("a")
    session.change(routine=after)
    model: Any = session.mechanism.model
    assert model.first == 2
    np.testing.assert_array_equal(model.prior_at(5), chain.prior_at(5))
    for _ in range(12):
        session.release("b")


def test_a_change_can_be_taken_back_until_its_date() -> None:
    """Of changes on one date the last counts: the chain is that of the last alone, over the contexts of all."""
    rng = np.random.default_rng(3)
    one, two = routine(rng, ("a", "b")), routine(rng, ("a", "c"))
    back = one.then(two, "2026-11-18").then(one, "2026-11-18").since(START)
    plain = one.since(START)
    assert back.contexts == ("a", "b", "c")
    for t in range(12):
        assert np.array_equal(back.prior_at(t)[:2], plain.prior_at(t))
        assert not back.prior_at(t)[2]
        assert np.array_equal(back.transition(t)[:2, :2], plain.transition(t))
        assert back.known_at(t) == {"a", "b"}
    changing, never = (d.Session(d.mechanisms.Adaptive(plain, d.Policy(["a"], delta=0.3))) for _ in range(2))
    for session in (changing, never):
        for _ in range(3):
            session.release("b")
    changing.change(routine=two, date="2026-11-18")
    assert changing.change(routine=one, date="2026-11-18").isoformat() == "2026-11-18"
    for session in (changing, never):
        for label in ["b", "a", "c", "b"]:
            session.release(label)
    assert changing.off_model == never.off_model > 0, "what only the routine that was taken back knew"
