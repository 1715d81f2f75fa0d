"""Every mechanism obeys the laws, and every law catches a mechanism that breaks it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.contracts import Rng
from discreet.kernels import FiniteKernel
from discreet.laws import LawBroken, check
from discreet.mechanisms import NoMask
from discreet.mechanisms.perturbation import PolicyGraph
from discreet.outputs import SUPPRESSED, Output, Perturbed, Released
from discreet.policy import Guarantee
from tests.mechanisms.events.event_models import event_models, event_policy
from tests.strategies import random_chain, random_hidden, random_mechanism, random_policy, searches

MECHANISMS = [name for name in d.mechanisms.__all__ if hasattr(getattr(d.mechanisms, name), "kernel")]

OPTIONS: dict[str, dict[str, Any]] = {
    "SetLabelled": {"labels": {"c0": frozenset({"c0", "c1"}), "c1": frozenset({"c0", "c1"}), "c2": frozenset({"c2"})}},
    "Dphmm": {
        "graph": PolicyGraph.from_edges(3, [[0, 1]]),
        "query": np.array([[0.0, 0.0], [1.0, 0.5], [0.0, 2.0]]),
        "epsilon": 1.0,
    },
    "Fdh": {"hierarchy": d.Hierarchy({"top": {"left": ["c0", "c1"], "right": ["c2"]}})},
}


EVENTS_ONLY = {"PaMarkov", "NoInternal"}

CHAINS_ONLY = {"Hybrid", "Probabilistic", "SetLabelled", "Simulatable", "Capp", "EfficientFake", "Fdh"}


def each_slot(policy: d.Policy) -> d.Policy:
    """The policy's secrets at each slot, single contexts first: what every mechanism can be asked for."""
    return d.Policy([secret for secret in policy.secrets if secret.at == "each"] or ["c0"], delta=policy.delta)


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_obeys_on_random_models(name: str) -> None:
    """All that discreet.mechanisms has, found by itself: a new one is done when this passes."""
    kind, options = getattr(d.mechanisms, name), OPTIONS.get(name, {})
    checked = 0
    for seed in searches(6):
        for model in event_models(seed) if name in EVENTS_ONLY else (random_chain(seed), random_hidden(seed, slots=2)):
            policy = event_policy(seed) if name in EVENTS_ONLY else random_policy(seed, model)
            for asked in (policy, each_slot(policy)):
                if name in CHAINS_ONLY and model.emissions is not None:
                    with pytest.raises(d.DiscreetError, match="chain"):
                        kind(model, asked, **options)
                    continue
                check(kind(model, asked, **options), seed=seed, walks=2)
                checked += 1
    assert checked >= 12


def test_a_gain_beyond_the_audits_bound_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(mechanism: Any, **options: Any) -> d.Audit:
        return replace(d.audit(mechanism, **options), worst_gain=0.0, bound=0.0)

    monkeypatch.setattr("discreet.laws.audit", blind)
    with pytest.raises(LawBroken, match="the audit bounds every realised gain"):
        check(spoiled())


def test_a_random_mechanism_that_promises_nothing_obeys_the_rest() -> None:
    for seed in searches(15):
        check(random_mechanism(seed), seed=seed)


class Broken(NoMask):
    """A mechanism to spoil, one law at a time."""


def spoiled(**methods: Any) -> Broken:
    kind = type("Spoiled", (Broken,), methods)
    return kind(random_chain(1, n=3, slots=3, zeros=0.0), d.Policy(["c0"], delta=0.1))  # type: ignore[no-any-return]


def kernel_of(self: Broken, weights: Any, total: int) -> FiniteKernel:
    return FiniteKernel(tuple(Released(context) for context in self.model.contexts), weights, total)


def test_a_delta_that_does_not_hold_is_caught() -> None:
    mechanism = spoiled(guarantee=Guarantee("exact delta", "a lie"))
    with pytest.raises(LawBroken, match="a claimed delta holds for every output"):
        check(mechanism)


def test_rows_that_do_not_sum_are_caught() -> None:
    def kernel(self: Broken, state: int) -> FiniteKernel:
        made = kernel_of(self, np.eye(3, dtype=np.int64), 1)
        made.weights = np.eye(3, dtype=np.int64) * 2
        return made

    with pytest.raises(LawBroken, match="sum to one exactly"):
        check(spoiled(kernel=kernel))


def test_a_kernel_that_depends_on_when_it_is_asked_is_caught() -> None:
    def kernel(self: Any, state: int) -> FiniteKernel:
        self.asked = getattr(self, "asked", 0) + 1
        return kernel_of(self, np.tile([self.asked, 1, 2**20 - 1 - self.asked], (3, 1)), 2**20)

    with pytest.raises(LawBroken, match="same public state, same kernel"):
        check(spoiled(kernel=kernel))


def test_a_state_that_remembers_more_than_the_outputs_is_caught() -> None:
    def advance(self: Any, state: int, output: Output) -> int:
        self.count = getattr(self, "count", 0) + 1
        return state + 1 + 1000 * int(self.count)

    with pytest.raises(LawBroken, match="public outputs determine the public state"):
        check(spoiled(advance=advance))


def test_a_likelihood_that_disagrees_with_the_matrix_is_caught() -> None:
    class Liar(FiniteKernel):
        def likelihood(self, output: Output) -> Any:
            return np.ones(len(self.weights)) / 3

    def kernel(self: Broken, state: int) -> FiniteKernel:
        return Liar(tuple(Released(context) for context in self.model.contexts), np.eye(3, dtype=np.int64), 1)

    with pytest.raises(LawBroken, match="likelihood agrees"):
        check(spoiled(kernel=kernel))


def test_samples_that_do_not_follow_the_weights_are_caught() -> None:
    class Loaded(FiniteKernel):
        def sample(self, private: int, rng: Rng) -> Output:
            return super().sample(private, rng) if rng.bits(2) else self.outputs[0]

    def kernel(self: Broken, state: int) -> FiniteKernel:
        weights = np.array([[1, 1, 2], [1, 1, 2], [1, 1, 2]])
        return Loaded(tuple(Released(context) for context in self.model.contexts), weights, 4)

    with pytest.raises(LawBroken, match="samples follow"):
        check(spoiled(kernel=kernel))


class Spoilt:
    """Noise whose draws and likelihood need not agree: both shift with the private state, each by its own amount."""

    def __init__(self, drawn: float, told: float) -> None:
        self.drawn, self.told = drawn, told

    def sample(self, private: int, rng: Rng) -> Output:
        return Perturbed((private * self.drawn + (rng.bits(20) + rng.bits(20)) * 2.0**-20,))

    def likelihood(self, output: Output) -> Any:
        assert isinstance(output, Perturbed)
        away = [abs(output.point[0] - private * self.told - 1) for private in range(3)]
        return np.array([max(1 - x, 0.0) for x in away]) + 1e-9  # triangular, as the sum of two uniforms is


@pytest.mark.parametrize(
    ("drawn", "told", "right"), [(0.3, 0.3, True), (0.0, 0.3, False), (0.6, 0.0, False), (0.9, 0.3, False)]
)
def test_continuous_draws_that_do_not_follow_the_likelihood_are_caught(drawn: float, told: float, right: bool) -> None:
    mechanism = spoiled(kernel=lambda self, state: Spoilt(drawn, told))
    if right:
        for seed in searches(10):
            check(mechanism, seed=seed)
        return
    with pytest.raises(LawBroken, match="told apart as the likelihood says"):
        check(mechanism, walks=8)


def test_a_private_state_of_another_context_is_caught() -> None:
    def remember(self: Broken, memory: int | None, context: int) -> int:
        return 0

    with pytest.raises(LawBroken, match="remember returns"):
        check(spoiled(remember=remember))


def test_refusing_silence_is_caught() -> None:
    def advance(self: Broken, state: int, output: Output) -> int:
        if output == SUPPRESSED:
            raise KeyError(output)
        return state + 1

    with pytest.raises(LawBroken, match="accepts silence"):
        check(spoiled(advance=advance))
