"""Adaptive release of events: whole, or attribute by attribute. No output on any walk tells more than delta."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import discreet as d
from discreet.adversary.enumerate import expected_releases, prefixes
from discreet.events import Events
from discreet.laws import check as check_laws
from discreet.mechanisms import Adaptive
from discreet.mechanisms.adaptive.slots import Slot
from discreet.mechanisms.programme import PERTURBATION
from discreet.numerics import SLACK, FloatArray
from discreet.outputs import SUPPRESSED, PartialEvent
from discreet.randomness import SeededEntropy
from tests.mechanisms.adaptive.exact_walk import ExactWalk
from tests.mechanisms.adaptive.test_exact import check_walk, lived, unlikely
from tests.mechanisms.events.event_models import SMALL, event_models, event_policy, topics
from tests.strategies import enough, random_chain, random_policy, searches

CUBE = Events(("a", "b", "c"), ("day", "night"), ("x", "y"))
PAPER = Events(tuple("abcd"), ("morning", "noon", "evening"), tuple(f"place {k}" for k in range(8)))


def publishing(model: Any, policy: d.Policy, events: Events = SMALL, **options: Any) -> Adaptive:
    return Adaptive(model, policy, outputs="attributes", events=events, **options)


def test_the_vocabulary_is_every_subset_of_attributes() -> None:
    mechanism = publishing(topics(0, CUBE, states=2, slots=3), event_policy(0, CUBE), CUBE)
    assert len(mechanism.vocabulary.outputs) == (3 + 1) * (2 + 1) * (2 + 1)
    allowed = np.isfinite(mechanism.vocabulary.worth)
    assert (allowed.sum(axis=1) == 8).all()
    worth = mechanism.vocabulary.worth_of
    assert worth("a|day|x", PartialEvent("a", "day", "x")) == 1
    assert worth("a|day|x", PartialEvent(None, "day", "x")) == pytest.approx(2 / 3)
    assert worth("a|day|x", PartialEvent(None, None, "x")) == pytest.approx(1 / 3)
    assert worth("a|day|x", SUPPRESSED) == 0


def test_every_output_of_small_models_is_within_delta_by_enumeration() -> None:
    for seed in searches(4):
        for model in event_models(seed, slots=2):
            policy = random_policy(seed, model)
            mechanism = publishing(model, policy)
            deltas = {secret.name: policy.delta_of(secret) for secret in policy.secrets}
            for prefix in prefixes(mechanism):
                for (name, slot), gain in prefix.gains.items():
                    assert gain <= deltas[name] + SLACK, (seed, name, slot, prefix.outputs)
            check_laws(mechanism, seed=seed, walks=2, budget=300)
            assert d.audit(mechanism).holds, seed
            by_hand = float(expected_releases(mechanism)) / model.slots
            assert float(mechanism.expected_utility()) == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize("outputs", ["suppress", "attributes"])
def test_no_output_of_a_random_event_model_tells_more_than_delta(outputs: str) -> None:
    for seed in searches(4):
        for model in (*event_models(seed, slots=6), topics(seed, SMALL, states=3, slots=8)):
            for policy in (random_policy(seed, model), event_policy(seed)):
                mechanism: Any = Adaptive(model, policy, outputs=outputs, events=SMALL, plan="lazy")  # type: ignore[arg-type]
                for choose in (lived(mechanism, seed), unlikely(seed)):
                    check_walk(mechanism, choose, (seed, outputs, type(model).__name__))


def test_no_output_at_the_papers_sizes_tells_more_than_delta() -> None:
    """4 activities, 3 intervals, 8 locations; 10 positions, because exact integers grow with every one."""
    model = topics(5, PAPER, states=4, slots=10, spread=0.3)
    policy = d.Policy([PAPER.secret("activity", "a"), PAPER.secret("location", "place 0", delta=0.05)], delta=0.1)
    mechanism = publishing(model, policy, PAPER)
    check_walk(mechanism, lived(mechanism, 0), "paper")


def test_the_walk_notices_a_delta_that_is_a_millionth_too_large() -> None:
    found = 0
    for seed in range(3):
        model = topics(seed, SMALL, states=2, slots=4)
        secret = SMALL.secret("activity", "play")
        mechanism = publishing(model, d.Policy(secret, delta=0.1))
        walked = ExactWalk(mechanism, d.Policy(secret, delta=0.1 - 1e-6))
        choose = lived(mechanism, seed)
        for slot in range(walked.slots):
            kernel = walked.kernel()
            following = walked.gains(kernel)
            found += sum(not gain.within() for gains in following.values() for gain in gains)
            walked.follow(kernel, choose(following, kernel, slot))
    assert found


def best_by_highs(slot: Slot, worth: FloatArray) -> float:
    """The programme of a slot with a row for every gain and output, by another solver."""
    flows = [(m, o) for m, c in enumerate(slot.context) for o in np.flatnonzero(np.isfinite(worth[c]))]
    values = [-worth[slot.context[m], o] for m, o in flows]
    whole = np.array([[m == k for m, _ in flows] for k in range(len(slot.mass))], dtype=float)
    rows = [np.zeros(len(flows))]  # a row that always holds, for slots in which no gain can exceed its limit
    (view,) = slot.views
    coefficients = view.coefficients
    for j, k in np.ndindex(slot.rows, worth.shape[1]):
        rows.append(np.array([coefficients[j, m] * (o == k) for m, o in flows]))
    return -float(linprog(values, np.array(rows), np.zeros(len(rows)), whole, slot.mass).fun)


def test_the_programme_is_as_good_as_another_solvers() -> None:
    """All flows, those of outputs that one state alone uses among them: these are settled before our solver starts."""
    solved = 0
    for seed in searches(6):
        model = topics(seed, CUBE, states=3, slots=3)
        mechanism = publishing(model, event_policy(seed, CUBE), CUBE)
        state = mechanism.start()
        for context in model.sample_codes(1, seed)[0].tolist():
            slot, decision = mechanism.decider.slot(state.belief), mechanism.decider.decide(state.belief)
            best = best_by_highs(slot, mechanism.vocabulary.worth)
            assert decision.worth == pytest.approx(best, abs=2 * PERTURBATION), (seed, state.outputs)
            solved += slot.rows > 0
            state = mechanism.advance(state, mechanism.kernel(state).sample(context, SeededEntropy(seed)))
    assert solved > enough(6)


def test_attributes_are_worth_more_than_whole_events() -> None:
    """Whole events are among the subsets: on one position the programme over more outputs is never worse."""
    better = 0
    for seed in searches(6):
        model = topics(seed, CUBE, states=3, slots=1)
        policy = event_policy(seed, CUBE)
        parts = float(publishing(model, policy, CUBE).expected_utility())
        whole = float(Adaptive(model, policy).expected_utility())
        assert parts >= whole - 1e-6  # ties are broken by perturbing values by 2**-24
        better += parts > whole + 0.01
    assert better > enough(2)


def test_a_long_trajectory_is_not_spent_at_its_start() -> None:
    """With everything spent at once, a hidden model falls silent for good; what is held back keeps it going."""
    model = topics(0, CUBE, states=4, slots=40)
    mechanism = Adaptive(model, d.Policy(CUBE.secret("activity", "a"), delta=0.2))
    late = 0
    for day in model.sample_codes(6, seed=2).tolist():
        state = mechanism.start()
        for slot, context in enumerate(day):
            kernel: Any = mechanism.kernel(state)
            late += slot >= 20 and kernel.matrix[context, :-1].sum() > 0.5
            state = mechanism.advance(state, kernel.outputs[int(kernel.weights[context].argmax())])
    assert late > 12  # of 120 positions in the second halves; with nothing held back there was none
    assert mechanism.effort.given_up == 0


def test_errors_say_what_to_do() -> None:
    model, policy = event_models(0)[0], event_policy(0)
    with pytest.raises(d.DiscreetError, match="'c0' is not the label of an event"):
        Adaptive(random_chain(0), d.Policy("c0"), outputs="attributes")
    with pytest.raises(d.DiscreetError, match="learn the model from the same events"):
        publishing(model, policy, CUBE)
    with pytest.raises(d.DiscreetError, match="'attributes'"):
        Adaptive(model, policy, outputs="parts")  # type: ignore[arg-type]
