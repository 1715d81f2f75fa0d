"""Every mechanism obeys the laws, and every law catches a mechanism that breaks it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.contracts import DayModel, Mechanism, MechanismClass, Rng, bounds_ratios, covers_everything
from discreet.kernels import FiniteKernel
from discreet.laws import LawBroken, cases, check
from discreet.mechanisms import Adaptive, Dphmm, MaskSensitive, NoMask
from discreet.outputs import SUPPRESSED, Output, Perturbed, Released
from discreet.policy import Guarantee
from tests.mechanisms.events.event_models import event_models, event_policy
from tests.strategies import needs_of, random_chain, random_hidden, random_mechanism, random_policy, searches, with_caps

MECHANISMS = sorted(d.mechanisms.WHERE)

MEMBERS = [name for name in (*vars(Mechanism), *Mechanism.__annotations__) if not name.startswith("_")]


def each_slot(policy: d.Policy) -> d.Policy:
    """The policy's secrets at each slot, single contexts first: what every mechanism can be asked for."""
    return d.Policy([secret for secret in policy.secrets if secret.at == "each"] or ["c0"], delta=policy.delta)


def models_for(kind: MechanismClass, seed: int) -> Iterator[tuple[DayModel, d.Policy]]:
    """A chain and a hidden model, over events where it needs them, each with two policies; odd seeds have caps."""
    models: list[DayModel] = (
        event_models(seed) if needs_of(kind) == "events" else [random_chain(seed), random_hidden(seed, slots=2)]
    )
    for model in models:
        policy = event_policy(seed) if needs_of(kind) == "events" else random_policy(seed, model)
        policy = with_caps(seed, model, policy) if seed % 2 else policy
        yield from ((model, policy), (model, each_slot(policy)))


@pytest.mark.slow("holds a mechanism to every law on several random models")
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_obeys_on_random_models(name: str) -> None:
    """All that discreet.mechanisms has, found by itself: a new one is done when this passes."""
    kind: MechanismClass = getattr(d.mechanisms, name)
    checked = 0
    for seed in searches(6):
        for model, policy in models_for(kind, seed):
            if needs_of(kind) == "chain" and model.emissions is not None:
                with pytest.raises(d.DiscreetError, match=f"{name} needs a Markov chain"):
                    list(cases(kind, model, policy))
                continue
            for mechanism in cases(kind, model, policy):
                check(mechanism, seed=seed, walks=2)
                checked += 1
    assert checked >= 12


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_has_the_whole_contract(name: str) -> None:
    """Each member of the Protocol; where utility is not defined, an error that says what to measure instead."""
    kind: MechanismClass = getattr(d.mechanisms, name)
    model, policy = next(models_for(kind, 0))
    for mechanism in cases(kind, model, policy):
        for member in MEMBERS:
            assert hasattr(mechanism, member), member
        assert mechanism.needs == needs_of(kind)
        assert mechanism.worth(model.contexts[0], SUPPRESSED) == 0
        try:
            utility = float(mechanism.expected_utility(5))
        except d.DiscreetError as refused:
            told = str(refused)
            assert re.search("not defined; measure .* instead", told), told
        else:
            assert 0 <= utility <= 1


def test_a_new_mechanism_needs_no_list_but_its_own_class() -> None:
    """What it needs of the model, and the options to try it with, stand on the class."""

    class Sometimes(MaskSensitive):
        needs = "chain"

        def __init__(self, model: DayModel, policy: d.Policy, *, often: int) -> None:
            super().__init__(model, policy)
            self.often = often

        @classmethod
        def law_cases(cls, model: DayModel) -> Iterable[Mapping[str, Any]]:
            return {"often": 1}, {"often": len(model.contexts)}

    chain = random_chain(1)
    made = list(cases(Sometimes, chain, d.Policy("c0")))
    assert [mechanism.often for mechanism in made if isinstance(mechanism, Sometimes)] == [1, 3]
    for mechanism in made:
        check(mechanism)
    with pytest.raises(d.DiscreetError, match="Sometimes needs a Markov chain"):
        list(cases(Sometimes, random_hidden(1), d.Policy("c0")))


def test_a_bound_on_ratios_and_covering_everything_are_declared() -> None:
    chain = random_chain(1, zeros=0.0)
    noise, plain = next(cases(Dphmm, chain, d.Policy("c0"))), NoMask(chain, d.Policy("c0"))
    assert covers_everything(noise.kernel(noise.start()))
    assert not covers_everything(plain.kernel(plain.start()))
    assert bounds_ratios(noise)
    assert not bounds_ratios(plain)


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


def test_a_cap_that_is_ignored_is_caught() -> None:
    """A mechanism that keeps every delta and knows nothing of caps claims what does not hold."""

    class Blind(Adaptive):
        def __init__(self, model: DayModel, policy: d.Policy) -> None:
            super().__init__(model, d.Policy([replace(one, cap=None) for one in policy.secrets], delta=policy.delta))
            self.policy = policy

    chain = d.MarkovChain(("a", "b"), [0.3, 0.7], [[[0.6, 0.4], [0.2, 0.8]]])
    policy = d.Policy([d.Secret("a", cap=0.4)], delta=0.2)
    check(Adaptive(chain, policy))
    check(Blind(chain, d.Policy("a", delta=0.2)))
    with pytest.raises(LawBroken, match="a claimed delta holds for every output"):
        check(Blind(chain, policy))


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


def test_a_digest_that_changes_is_caught() -> None:
    class Restless(FiniteKernel):
        @property
        def digest(self) -> bytes:
            return repr(id(self)).encode()

    def kernel(self: Broken, state: int) -> FiniteKernel:
        made = Restless(tuple(Released(context) for context in self.model.contexts), np.eye(3, dtype=np.int64), 1)
        self.__dict__.setdefault("made", []).append(made)  # or the second would be where the first was
        return made

    with pytest.raises(LawBroken, match="equal digests"):
        check(spoiled(kernel=kernel))


def test_a_utility_that_is_not_the_mean_worth_is_caught() -> None:
    for utility in (d.Utility(0.5), d.Utility(float("nan"))):
        with pytest.raises(LawBroken, match="the mean worth of what is output"):
            check(spoiled(expected_utility=lambda self, days=None, utility=utility: utility))
    check(spoiled(worth=lambda self, context, output: 0.25, expected_utility=lambda self, days=None: d.Utility(0.25)))


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

    digest = b"spoilt"

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
