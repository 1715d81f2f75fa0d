"""Several observers at once: before each of them, by their own model and prior, no output tells more than delta."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import discreet as d
from discreet.adversary.enumerate import prefixes
from discreet.contracts import DayModel
from discreet.mechanisms import Adaptive
from discreet.mechanisms.adaptive.slots import Slot
from discreet.mechanisms.programme import PERTURBATION
from discreet.numerics import FloatArray
from tests.mechanisms.adaptive.exact_walk import ExactWalk
from tests.mechanisms.adaptive.test_exact import Choice, lived, tree, unlikely
from tests.strategies import random_chain, random_hidden, random_policy, searches

SLACK = Fraction(1, 2**40)
OPTIONS = [(outputs, memory) for outputs in ("suppress", "generalize", "deceive") for memory in (None, "none")]


def family(seed: int, *, observers: int = 3, zeros: float = 0.0, **sizes: Any) -> list[DayModel]:
    """The person's chain and those of others, who agree with it in what is possible and half of the rest."""
    own = random_chain(1000 * seed, zeros=zeros, **sizes)
    rng = np.random.default_rng([seed, 12])

    def otherwise(rows: FloatArray) -> FloatArray:
        found = np.where(rows > 0, rng.dirichlet(np.ones(rows.shape[-1]), size=rows.shape[:-1]) + 1e-3, 0.0)
        return np.asarray(0.5 * rows + 0.5 * found / found.sum(axis=-1, keepdims=True))

    others = [d.MarkovChain(own.contexts, otherwise(own.initial), otherwise(own.transitions)) for _ in range(observers)]
    return [own, *others]


def adaptive(models: list[DayModel], policy: d.Policy, outputs: str, memory: str | None, **options: Any) -> Adaptive:
    if outputs == "generalize":
        options["hierarchy"] = tree(models[0].contexts)
    return Adaptive(models[0], policy, outputs=outputs, memory=memory, observers=models[1:], **options)  # type: ignore[arg-type]


def check_before(mechanism: Any, models: list[DayModel], choose: Choice, message: object) -> int:
    """Walk a day and check all that could be output at each slot, before each; how many slots could tell something."""
    walks = [ExactWalk(mechanism, model=model) for model in models]
    telling = 0
    for slot in range(walks[0].slots):
        kernel = walks[0].kernel()
        each = [walk.gains(kernel) for walk in walks]
        telling += len(each[0]) > 1
        assert all(set(one) == set(each[0]) for one in each), message  # what one may see, each may
        for number, following in enumerate(each):
            for gain in itertools.chain.from_iterable(following.values()):
                assert gain.within(SLACK), (message, number, slot, gain.output, gain.secret, float(gain.excess))
        output = choose(each[0], kernel, slot)
        for walk in walks:
            walk.follow(kernel, output)
    return telling


@pytest.mark.slow("enumerates every output of random models")
@pytest.mark.parametrize(("outputs", "memory"), OPTIONS)
def test_exact_before_each_on_chains(outputs: str, memory: str | None) -> None:
    telling = slots = 0
    for seed in searches(4, full=6):
        models = family(seed, n=4, slots=6, zeros=0.4 * (seed % 2))
        mechanism = adaptive(models, random_policy(seed, models[0]), outputs, memory)
        for choose in (lived(mechanism, seed), unlikely(seed)):
            telling += check_before(mechanism, models, choose, (seed, outputs, memory))
            slots += 6
    assert telling > slots / 4


@pytest.mark.parametrize("outputs", ["suppress", "generalize", "deceive"])
def test_exact_before_each_on_hidden_models(outputs: str) -> None:
    """Hidden states of one's own: as many as one likes, as long as each may follow each."""
    for seed in searches(4):
        models = [random_hidden(1000 * seed + k, states=2 + k, n=4, slots=4, zeros=0.0) for k in range(3)]
        mechanism = adaptive(list(models), random_policy(seed, models[0]), outputs, None)
        check_before(mechanism, list(models), unlikely(seed), (seed, outputs))


@pytest.mark.slow("enumerates every output before each observer")
def test_every_sequence_of_outputs_in_fractions() -> None:
    for seed in searches(6):
        models = family(seed, observers=2, n=3, slots=3)
        policy = random_policy(seed, models[0])
        deltas = {secret.name: policy.delta_of(secret) for secret in policy.secrets}
        mechanism = adaptive(models, policy, "deceive", None)
        for model in models:
            for prefix in prefixes(mechanism, model, exact=True):
                for (name, slot), gain in prefix.gains.items():
                    assert gain <= Fraction(deltas[name]) + SLACK, (seed, prefix.outputs, name, slot)


def test_who_is_left_out_is_told_more() -> None:
    """The same walks find a mechanism out that was not told of the others."""
    found = 0
    for seed in searches(6):
        models = family(seed, n=4, slots=6)
        mechanism = adaptive([models[0]], random_policy(seed, models[0]), "suppress", None)
        walk = ExactWalk(mechanism, model=models[1])
        choose = lived(mechanism, seed)
        for slot in range(walk.slots):
            kernel = walk.kernel()
            following = walk.gains(kernel)
            found += sum(not gain.within(SLACK) for gains in following.values() for gain in gains)
            walk.follow(kernel, choose(following, kernel, slot))
    assert found


def best_by_highs(slot: Slot, worth: FloatArray) -> float:
    """The programme over all observers' rows, in probabilities b(o | m) instead of flows, by another solver."""
    A, outputs = len(slot.context), worth.shape[1]
    allowed = np.isfinite(worth[slot.context])
    values = -(slot.mass[:, None] * np.where(allowed, worth[slot.context], 0.0)).ravel()
    rows = []
    for view in slot.views:
        for line, o in itertools.product(view.coefficients, range(outputs)):
            row = np.zeros((A, outputs))
            row[:, o] = view.mass * line
            rows.append(row.ravel())
    whole = np.kron(np.eye(A), np.ones(outputs))
    bounds = [(0, 1 if one else 0) for one in allowed.ravel()]
    left = np.array(rows) if rows else None
    right = np.zeros(len(rows)) if rows else None
    exactly = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}  # 1e-7 is worth as much
    return -float(linprog(values, left, right, whole, np.ones(A), bounds, options=exactly).fun)


def test_the_programme_is_as_good_as_another_solvers() -> None:
    solved = 0
    for seed in searches(8):
        models = family(seed, observers=2, n=3, slots=4)
        mechanism = adaptive(models, random_policy(seed, models[0]), "deceive", "none", plan="lazy")
        state = mechanism.start()
        for context in models[0].sample_codes(1, seed)[0].tolist():  # type: ignore[attr-defined]
            slot = mechanism.decider.slot(state.beliefs)
            best, worth = best_by_highs(slot, mechanism.vocabulary.worth), mechanism.vocabulary.worth
            worths = np.where(np.isfinite(worth), worth, 0.0)[slot.context]
            flows, _ = next(mechanism.decider._flows(slot))
            assert float((worths * flows).sum()) == pytest.approx(best, abs=2 * PERTURBATION), (seed, state.outputs)
            weights = mechanism.decider.decide(state.beliefs).weights
            told = float((slot.mass * (worths * weights).sum(axis=1)).sum()) / 2**52
            assert told >= best - 2.0**-12, (
                seed,
                state.outputs,
            )  # a column that rounding pushed over is mended by 2**-13
            solved += slot.rows > 0
            kernel: Any = mechanism.kernel(state)
            state = mechanism.advance(state, kernel.outputs[int(kernel.weights[context].argmax())])
    assert solved


@pytest.mark.parametrize("outputs", ["suppress", "deceive"])
def test_an_observer_who_knows_the_same_changes_nothing_of_worth(outputs: str) -> None:
    for seed in searches(4):
        (model,) = family(seed, observers=0, n=3, slots=4)
        policy = random_policy(seed, model)
        alone = adaptive([model], policy, outputs, "none", plan="lazy")
        twice = adaptive([model, model], policy, outputs, "none", plan="lazy")
        assert float(twice.expected_utility()) == pytest.approx(float(alone.expected_utility()), abs=1e-6)


def test_more_observers_cost_worth() -> None:
    models = family(3, n=4, slots=6)
    policy = d.Policy(["c0"], delta=0.1)
    worth = [float(adaptive(models[: k + 1], policy, "suppress", None, plan="lazy").expected_utility()) for k in (0, 3)]
    assert worth[1] < worth[0]


def test_hybrid_which_knows_of_nobody_else_is_not_followed() -> None:
    chain = d.MarkovChain(("c0", "c1"), [0.25, 0.75], [[[0.5, 0.5], [0.0, 1.0]]])
    other = d.MarkovChain(("c0", "c1"), [0.5, 0.5], [[[0.5, 0.5], [0.0, 1.0]]])
    policy = d.Policy(["c1"], delta=0.2)
    assert Adaptive(chain, policy).follows == "hybrid"
    assert Adaptive(chain, policy, observers=[other]).follows == "adaptive"


def test_an_audit_rests_on_the_proof_before_each() -> None:
    models = family(5, n=4, slots=8)
    policy = d.Policy(["c0"], delta=0.1)
    mechanism = adaptive(models, policy, "deceive", None)
    for model in models:
        found = d.audit(mechanism, model=model, budget=50)
        assert found.rests_on == "proof"
        assert found.holds
    assert d.audit(mechanism, model=family(6, n=4, slots=8)[0], budget=50).rests_on != "proof"


def test_observers_that_do_not_fit_are_refused() -> None:
    model = random_chain(1, n=3, slots=4)
    policy = d.Policy(["c0"])
    with pytest.raises(d.DiscreetError, match=r"observer 1 has other slots"):
        Adaptive(model, policy, observers=[random_chain(1, n=3, slots=5)])
    with pytest.raises(d.DiscreetError, match=r"observer 2 knows the contexts"):
        Adaptive(model, policy, observers=[model, random_chain(1, n=4, slots=4)])
    with pytest.raises(d.DiscreetError, match=r"hold the same things possible .*floor"):
        Adaptive(model, policy, observers=[random_chain(1, n=3, slots=4, zeros=0.6)])
    with pytest.raises(d.DiscreetError, match=r"hidden Markov model"):
        Adaptive(model, policy, observers=[random_hidden(1, states=2, n=3, slots=4)])
