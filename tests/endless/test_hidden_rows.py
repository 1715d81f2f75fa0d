"""Hidden models without end: live rows alone give the kernels of all rows, and all else that streams can do."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import discreet as d
from discreet.adversary import endless, endless_belief
from discreet.adversary.checkpoint import Checkpoint
from discreet.adversary.rows import Rows
from discreet.contracts import is_chain, is_endless
from discreet.mechanisms import Adaptive, MaskSensitive
from discreet.mechanisms.perturbation import PolicyGraph
from discreet.models.hidden.endless import BLOCK, EndlessHidden
from discreet.models.sampling import sampled_stream
from discreet.numerics import FloatArray, IntArray
from discreet.randomness import SeededEntropy
from tests.endless.hidden_models import HiddenCase, random_hidden_case
from tests.strategies import searches

POSITIONS = 9


def over_first_positions(case: HiddenCase) -> d.Policy:
    """The same secrets, each about the first positions at most, so that there are finitely many rows."""
    first = range(POSITIONS)
    secrets = [d.Secret(one.name, one.contexts, one.slots or first, one.delta, one.at) for one in case.policy.secrets]
    return d.Policy(secrets, delta=case.policy.delta)


def walked(mechanism: Any, seed: int) -> list[IntArray]:
    """The weights of the kernels along outputs that are drawn by the seed, skips among them."""
    rng, state, found = np.random.default_rng(seed), mechanism.start(), []
    for _ in range(POSITIONS):
        kernel = mechanism.kernel(state)
        found.append(kernel.weights)
        possible = [output for output in kernel.outputs if kernel.likelihood(output).any()]
        skipped = rng.random() < 0.1
        state = mechanism.advance(state, d.Skipped() if skipped else possible[int(rng.integers(len(possible)))])
    return found


def all_rows(stack: FloatArray, limits: FloatArray) -> Any:
    return np.ones(len(stack) - 1, dtype=np.bool_)


@pytest.mark.parametrize("memory", ["none", "last"])
@pytest.mark.parametrize("outputs", ["suppress", "deceive", "generalize"])
def test_kernels_are_those_of_all_rows(outputs: str, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dropped = told = 0
    for seed in searches(12):
        case = random_hidden_case(seed)
        policy = over_first_positions(case)
        live = Adaptive(case.endless(), policy, memory=memory, **case.options(outputs))
        wanted = walked(live, seed)
        with monkeypatch.context() as patched:
            patched.setattr(endless_belief, "_beyond_somewhere", all_rows)
            every = property(lambda rows: np.full(len(rows.secret), -2.0))
            patched.setattr(Rows, "dropped", every)  # every row ahead counts as live
            patched.setattr(endless.EndlessAdversary, "_far", lambda self, t: POSITIONS)
            whole = Adaptive(case.endless(), policy, memory=memory, **case.options(outputs))
            found = walked(whole, seed)
            kept = whole.start()
            for _ in range(POSITIONS):
                kept = whole.advance(kept, d.Skipped())
        for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
            np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}, position {number}")
            told += int((one[:, :-1] > 0).any())
        state = live.start()
        for _ in range(POSITIONS):
            state = live.advance(state, d.Skipped())
        dropped += len(kept.belief.rows.secret) > len(state.belief.rows.secret)
    assert dropped  # some rows were dropped, so the test can tell
    assert told


def test_the_model_is_one_without_end_and_settles() -> None:
    settled = 0
    for seed in searches(20):
        case = random_hidden_case(seed)
        model: Any = case.endless()
        assert [is_endless(model), is_chain(model)] == [True, False]
        unrolled = case.unrolled(3 * BLOCK)
        for t in (0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 7):
            np.testing.assert_allclose(model.prior_at(t), unrolled.prior_at(t), atol=2.0**-43)
            np.testing.assert_array_equal(model.transition(t), unrolled.transition(t))
            np.testing.assert_array_equal(model.emission(t), unrolled.emission(t))
        np.testing.assert_array_equal(model.unrolled(5).prior, case.unrolled(5).prior)
        settled += model.cyclic_at(3 * BLOCK)
    assert settled


def test_a_cycle_of_two_never_settles_and_a_split_model_has_no_stationary_distribution() -> None:
    swapping = EndlessHidden(("a", "b"), [1, 0], [[0, 1], [1, 0]], np.eye(2))
    assert swapping.phase(10 * BLOCK) is None
    np.testing.assert_array_equal(swapping.prior_at(10 * BLOCK + 1), [0, 1])
    split = EndlessHidden(("a", "b"), [0.5, 0.5], np.eye(2), np.eye(2))
    assert split.stationary is None
    assert split.once_cyclic() is None
    np.testing.assert_array_equal(split.prior_at(5 * BLOCK), [0.5, 0.5])


def mixing(initial: Any = (0.9, 0.1)) -> EndlessHidden:
    model = d.HiddenMarkovModel.homogeneous(
        ("home", "work", "clinic"), initial, [[0.8, 0.2], [0.3, 0.7]], [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1]], slots=None
    )
    assert isinstance(model, EndlessHidden)
    return model


POLICY = d.Policy(["clinic", d.Secret("early", {"work"}, slots=range(3), at="any", delta=0.2)], delta=0.1)


@pytest.mark.parametrize("memory", ["none", "last"])
@pytest.mark.parametrize("outputs", ["suppress", "deceive"])
def test_a_session_goes_on_and_is_resumed_from_a_checkpoint(outputs: Any, memory: Any) -> None:
    mechanism = Adaptive(mixing(), POLICY, outputs=outputs, memory=memory)
    session = d.Session(mechanism, rng=SeededEntropy(5))
    path = [mechanism.model.contexts[c] for c in sampled_stream(mechanism.model, 200, 3)]
    for number, context in enumerate(path[:150]):
        session.skip() if number % 40 == 39 else session.release(context)
    assert session.slot == 150
    assert max(session.belief.gains, default=0.0) <= 0.2 + 2.0**-40
    point = Checkpoint.from_json(session.checkpoint().to_json())
    again = d.Session.resume(mechanism, (), session.private, checkpoint=point, rng=SeededEntropy(7))
    session.draw_from(SeededEntropy(7))
    assert [again.release(context) for context in path[150:]] == [session.release(context) for context in path[150:]]
    assert again.digest == session.digest


def test_an_audit_of_positions_is_exact_or_rests_on_the_proof() -> None:
    mechanism = Adaptive(mixing(), POLICY)
    short = d.audit(mechanism, slots=4)
    assert short.exact
    assert short.holds
    assert 0 < short.worst_gain <= 0.2 + 2.0**-40
    assert d.audit(mechanism, slots=40, budget=300).holds
    with pytest.raises(d.DiscreetError, match="need routine="):
        d.audit(mechanism, days=2)


def test_it_obeys_the_laws_and_releases_something() -> None:
    for outputs in ("suppress", "deceive"):
        mechanism: Any = Adaptive(mixing(), POLICY, outputs=outputs)
        d.laws.check(mechanism)
        assert float(mechanism.expected_utility()) > 0.05


def test_ever_is_no_secret() -> None:
    with pytest.raises(d.DiscreetError, match="ever"):
        Adaptive(mixing(), d.Policy([d.Secret("clinic", at="any")]))


def test_changes_and_dates_are_for_days() -> None:
    session = d.Session(Adaptive(mixing(), POLICY))
    session.release("home")
    with pytest.raises(d.DiscreetError, match="has positions and no dates"):
        session.change(policy=d.Policy(["work"]))
    with pytest.raises(d.DiscreetError, match="no other dates"):
        session.gains("2026-03-02")
    assert set(session.gains()) == {"clinic", "early"}


def test_observers_are_held_too() -> None:
    other = d.HiddenMarkovModel.homogeneous(
        ("home", "work", "clinic"), [0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]], [[0.6, 0.2, 0.2], [0.3, 0.6, 0.1]]
    )
    mechanism = Adaptive(mixing(), d.Policy(["clinic"], delta=0.1), outputs="deceive", observers=[other])
    state: Any = mechanism.start()
    rng = np.random.default_rng(2)
    for _ in range(60):
        kernel: Any = mechanism.kernel(state)
        possible = [output for output in kernel.outputs if kernel.likelihood(output).any()]
        state = mechanism.advance(state, possible[int(rng.integers(len(possible)))])
        for belief in state.beliefs.each:
            assert max(belief.gains, default=0.0) <= 0.1 + 2.0**-40


def test_trajectories_of_any_length_are_evaluated() -> None:
    mechanism = Adaptive(mixing(), POLICY, outputs="deceive")
    paths = [sampled_stream(mechanism.model, 10 + 7 * k, k) for k in range(6)]
    days = [d.Day(tuple(mechanism.model.contexts[c] for c in path)) for path in paths]
    found = d.evaluate(mechanism, days)
    assert (found.days, found.slots) == (6, sum(map(len, paths)))
    assert found.breached_days == 0
    assert found.off_model == 0
    assert 0 < found.worst_gain <= 0.2 + 2.0**-40
    careless = d.evaluate(
        MaskSensitive(mixing().unrolled(12), POLICY), [d.Day(day.contexts[:10] + ("home",) * 2) for day in days]
    )
    assert careless.breached


def test_what_is_not_there_for_positions_says_so() -> None:
    mechanism = Adaptive(mixing(), POLICY)
    with pytest.raises(d.DiscreetError, match="give Adaptive a routine"):
        mechanism.then("2026-03-02", policy=POLICY)
    with pytest.raises(d.DiscreetError, match="begins on other dates"):
        mechanism.since("2026-03-02")
    graph, model = PolicyGraph.complete(3), cast(Any, mixing())
    with pytest.raises(d.DiscreetError, match="noise without end is for Markov chains"):
        d.mechanisms.Dphmm(model, None, graph=graph, query=np.eye(3), epsilon=1.0)
    with pytest.raises(d.DiscreetError, match="Markov chain"):
        d.mechanisms.Hybrid(model, POLICY)
