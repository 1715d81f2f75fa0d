"""Random models, policies and mechanisms: sparse and dense, with impossible contexts and deterministic rows."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from discreet.contracts import DayModel
from discreet.kernels import FiniteKernel
from discreet.mechanisms.base import ContextMechanism
from discreet.models import HiddenMarkovModel, MarkovChain
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import SUPPRESSED, Generalized, Output, Released, Skipped
from discreet.policy import Guarantee, Policy, Secret

SEARCH = os.environ.get("DISCREET_SEARCH", "")
LONG, SHORT = SEARCH == "long", SEARCH == "short"


def searches(count: int, full: int | None = None) -> range:
    """Seeds for a property search: `count` of them in `make test`, twenty times as many (or as `full`) in `make audit`.

    `make quick` takes the first third. Give `full` where a search takes so long that `make test` does with a part of
    it.
    """
    if SHORT:
        return range(-(-count // 3))
    return range(20 * (full or count) if LONG else count)


def enough(count: int) -> int:
    """How often a search of `make test` must at least have found what it judges; `make quick` asks for a quarter."""
    return count // 4 if SHORT else count


def random_rows(rng: np.random.Generator, shape: tuple[int, ...], zeros: float) -> FloatArray:
    """Rows of probabilities, of which about the share `zeros` is exactly zero; some rows are deterministic."""
    rows = rng.dirichlet(np.full(shape[-1], 0.7), size=shape[:-1])
    rows = np.where(rng.random(shape) < zeros, 0.0, rows)
    keep = rng.integers(shape[-1], size=shape[:-1])
    one_hot = np.eye(shape[-1])[keep]
    rows = np.where(rows.sum(axis=-1, keepdims=True) > 0, rows, one_hot)
    rows = np.where(rng.random((*shape[:-1], 1)) < zeros / 3, one_hot, rows)
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))


def labels(n: int) -> tuple[str, ...]:
    return tuple(f"c{k}" for k in range(n))


def random_chain(seed: int, n: int = 3, slots: int = 3, zeros: float = 0.3) -> MarkovChain:
    rng = np.random.default_rng(seed)
    return MarkovChain(labels(n), random_rows(rng, (n,), zeros), random_rows(rng, (slots - 1, n, n), zeros))


def random_hidden(seed: int, states: int = 3, n: int = 3, slots: int = 3, zeros: float = 0.3) -> HiddenMarkovModel:
    rng = np.random.default_rng(seed)
    shape = (slots, states, n) if seed % 2 else (states, n)
    return HiddenMarkovModel(
        labels(n),
        random_rows(rng, (states,), zeros),
        random_rows(rng, (slots - 1, states, states), zeros),
        random_rows(rng, shape, zeros),
    )


def random_policy(seed: int, model: DayModel, *, caps: bool = False) -> Policy:
    """One to three secrets: single contexts and unions, at each slot and at any, some limited to slots.

    With `caps` most of them have one, at times right at a slot's prior and half a delta.
    """
    rng = np.random.default_rng(seed)
    n = len(model.contexts)
    secrets = []
    for k in range(int(rng.integers(1, 4))):
        size = int(rng.integers(1, n)) if rng.random() < 0.3 else 1
        contexts = {model.contexts[c] for c in rng.choice(n, size=size, replace=False)}
        slots = None
        if rng.random() < 0.3:
            slots = {
                int(slot) for slot in rng.choice(model.slots, size=rng.integers(1, model.slots + 1), replace=False)
            }
        delta = float(rng.choice([0.05, 0.1, 0.3])) if rng.random() < 0.3 else None
        secrets.append(
            Secret(f"secret {k}", contexts, slots=slots, delta=delta, at="any" if rng.random() < 0.3 else "each")
        )
    policy = Policy(secrets, delta=float(rng.choice([0.05, 0.1, 0.2, 0.3])))
    return with_caps(seed, model, policy) if caps else policy


def with_caps(seed: int, model: DayModel, policy: Policy) -> Policy:
    """The same secrets, most of them with a cap: below some priors and above others, or where it just applies."""
    rng = np.random.default_rng([seed, 5])
    secrets = []
    for secret in policy.secrets:
        delta, cap = policy.delta_of(secret), None
        if rng.random() < 0.8:
            inside = [context in secret.contexts for context in model.contexts]
            prior = float(model.prior[rng.integers(model.slots)] @ np.array(inside, dtype=np.float64))
            near = prior + delta * float(rng.choice([0.5, 0.6, 0.8, 0.95]))
            cap = near if rng.random() < 0.7 else float(rng.choice([0.2, 0.4, 0.7]))
            cap = min(max(cap, delta / 2), 1.0)
        secrets.append(replace(secret, cap=cap))
    return Policy(secrets, delta=policy.delta)


@dataclass(frozen=True)
class PublicState:
    slot: int
    code: int  # of the outputs so far, modulo `states`


class RandomMechanism(ContextMechanism):
    """Random kernels chosen by the public state: nothing is promised, so every audit has something to find.

    `states` bounds the public states of a slot, `memory` makes private states (previous, current) pairs.
    """

    guarantee = Guarantee("none", "random kernels promise nothing")

    def __init__(
        self, model: DayModel, policy: Policy, *, seed: int, states: int = 4, memory: bool = False, zeros: float = 0.4
    ) -> None:
        super().__init__(model, policy)
        self._seed, self._states, self._zeros, self._memory = seed, states, zeros, memory
        n = len(model.contexts)
        if memory:  # rows: first contexts alone, then pairs (previous, current)
            self.private_contexts: IntArray = np.concatenate([np.arange(n), np.tile(np.arange(n), n)])
        self.vocabulary: tuple[Output, ...] = (
            *(Released(context) for context in model.contexts),
            SUPPRESSED,
            Generalized("top"),
        )
        self._kernels: dict[PublicState, FiniteKernel] = {}

    def remember(self, memory: int | None, context: int) -> int:
        n = len(self.model.contexts)
        if not self._memory or memory is None:
            return context
        return n + int(self.private_contexts[memory]) * n + context

    def start(self) -> PublicState:
        return PublicState(0, 0)

    def kernel(self, state: PublicState) -> FiniteKernel:
        if state not in self._kernels:
            rng = np.random.default_rng([self._seed, state.slot, state.code])
            rows = random_rows(rng, (len(self.private_contexts), len(self.vocabulary)), self._zeros)
            self._kernels[state] = FiniteKernel.rounded(self.vocabulary, rows, filler=len(self.model.contexts))
        return self._kernels[state]

    def advance(self, state: PublicState, output: Output) -> PublicState:
        number = len(self.vocabulary) if isinstance(output, Skipped) else self.vocabulary.index(output)
        return PublicState(state.slot + 1, (state.code * 31 + number + 1) % self._states)


def random_mechanism(seed: int, *, memory: bool | None = None, **options: Any) -> RandomMechanism:
    """A random model (a chain or hidden), policy and mechanism, small enough to enumerate."""
    rng = np.random.default_rng(seed)
    slots = int(rng.integers(1, 5))
    zeros = float(rng.choice([0.0, 0.3, 0.6]))
    if rng.random() < 0.5:
        model: DayModel = random_chain(seed, n=int(rng.integers(2, 4)), slots=slots, zeros=zeros)
    else:
        model = random_hidden(
            seed, states=int(rng.integers(1, 4)), n=2 if slots > 3 else 3, slots=min(slots, 3), zeros=zeros
        )
    remembers = bool(rng.random() < 0.4) if memory is None else memory
    options = {"states": int(rng.integers(1, 5)), "zeros": float(rng.choice([0.0, 0.4, 0.7])), **options}
    return RandomMechanism(model, random_policy(seed, model), seed=seed, memory=remembers, **options)


seeds = st.integers(min_value=0, max_value=2**32 - 1)
chains = st.builds(
    random_chain, seeds, n=st.integers(2, 4), slots=st.integers(1, 4), zeros=st.sampled_from([0.0, 0.3, 0.6, 0.9])
)
hidden_models = st.builds(
    random_hidden,
    seeds,
    states=st.integers(1, 3),
    n=st.integers(2, 3),
    slots=st.integers(1, 3),
    zeros=st.sampled_from([0.0, 0.3, 0.6]),
)


def with_states_seen(chain: MarkovChain) -> HiddenMarkovModel:
    """A chain as a hidden Markov model whose states are seen."""
    return HiddenMarkovModel(chain.contexts, chain.initial, chain.transitions, np.eye(len(chain.contexts)))


def needs_of(kind: object) -> str:
    """What the mechanisms of a class need of their model."""
    needs: str = getattr(kind, "needs", "any")
    return needs
