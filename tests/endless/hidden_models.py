"""Random hidden Markov models, the same at every position, and policies: sparse, sticky, of order two, extreme."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

import discreet as d
from discreet.numerics import FloatArray
from tests.endless.routines import tree
from tests.strategies import labels, random_rows

Family = Literal["dense", "sparse", "sticky", "lumped", "order two", "near certain", "forgetful"]
FAMILIES: tuple[Family, ...] = ("dense", "sparse", "sticky", "lumped", "order two", "near certain", "forgetful")

WINDOWS = 6
"""Secrets of some positions only are about positions before this one."""


@dataclass(frozen=True, eq=False)
class HiddenCase:
    """A hidden model and what is secret. Hidden states are numbered, K of them; n contexts."""

    seed: int
    family: Family
    contexts: tuple[str, ...]
    initial: FloatArray  # (K,)
    transition: FloatArray  # (K, K)
    emission: FloatArray  # (K, n)
    policy: d.Policy

    def unrolled(self, positions: int) -> d.HiddenMarkovModel:
        """The model of the first positions."""
        return d.HiddenMarkovModel.homogeneous(
            self.contexts, self.initial, self.transition, self.emission, slots=positions
        )

    def endless(self) -> Any:
        """The model without end."""
        homogeneous: Any = d.HiddenMarkovModel.homogeneous
        return homogeneous(self.contexts, self.initial, self.transition, self.emission, slots=None)

    def options(self, outputs: str) -> dict[str, Any]:
        """What `Adaptive` needs for these outputs."""
        return {"outputs": outputs, **({"hierarchy": tree(self.contexts)} if outputs == "generalize" else {})}


def random_hidden_case(seed: int, family: Family | None = None, contexts: int | None = None) -> HiddenCase:
    rng = np.random.default_rng([seed, 23])
    family = FAMILIES[seed % len(FAMILIES)] if family is None else family
    n = int(rng.choice([2, 2, 3, 3, 4])) if contexts is None else contexts
    if family == "order two":
        n = 2 if contexts is None else n  # n * n hidden states
    if family == "lumped":
        n = 2 if n > 3 else n
    transition, emission = _arrays(rng, family, n)
    policy = random_hidden_policy(rng, labels(n), never_forgets=family != "forgetful")
    return HiddenCase(seed, family, labels(n), _initial(rng, transition), transition, emission, policy)


def _arrays(rng: np.random.Generator, family: Family, n: int) -> tuple[FloatArray, FloatArray]:
    """The transition (K, K) and the emission (K, n)."""
    K = int(rng.integers(2, 4))
    if family == "order two":
        return _order_two(rng, n)
    zeros = 0.4 if family == "sparse" else 0.0
    transition, emission = random_rows(rng, (K, K), zeros), random_rows(rng, (K, n), zeros)
    if family == "sticky":
        stays = float(rng.choice([0.7, 0.9, 0.97]))
        transition = stays * np.eye(K) + (1 - stays) * transition
    if family == "lumped":  # each hidden state has one context; two of them may share it
        emission = np.eye(n)[rng.integers(n, size=K)]
    if family == "near certain":  # some contexts are nearly always there, others nearly never
        little = float(rng.choice([1e-3, 1e-6, 1e-9]))
        transition = (1 - little) * np.eye(K)[np.zeros(K, dtype=int)] + little * transition
        emission = (1 - little) * np.eye(n)[rng.integers(n, size=K)] + little * emission
    if family == "forgetful":
        transition = np.broadcast_to(transition[0], (K, K)).copy()
    return transition, emission


def _order_two(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Habits over the last two contexts: hidden state `a n + b` is context b after a."""
    habits = random_rows(rng, (n, n, n), float(rng.choice([0.0, 0.3])))
    transition = np.zeros((n * n, n * n))
    for a in range(n):
        for b in range(n):
            transition[a * n + b, b * n : (b + 1) * n] = habits[a, b]
    return transition, np.tile(np.eye(n), (n, 1))


def _initial(rng: np.random.Generator, transition: FloatArray) -> FloatArray:
    """Where habits lead after a long time, anywhere, or one state for certain or nearly."""
    K, kind = len(transition), int(rng.integers(4))
    if kind == 0:
        return np.asarray(np.linalg.matrix_power(0.5 * np.eye(K) + 0.5 * transition, 200)[0])
    if kind == 1:
        return random_rows(rng, (K,), 0.3)
    little = 0.0 if kind == 2 else float(rng.choice([1e-2, 1e-6, 1e-12]))
    return np.asarray((1 - little) * np.eye(K)[rng.integers(K)] + little / K)


def random_hidden_policy(rng: np.random.Generator, contexts: tuple[str, ...], never_forgets: bool = True) -> d.Policy:
    """One or two secrets: at each position, at each of some positions, or at some position of a window.

    Delta 0 makes rows matter for ever unless the model forgets, so that it is rare where it does not.
    """
    n, secrets = len(contexts), []
    for k in range(int(rng.integers(1, 3))):
        members = {contexts[c] for c in rng.choice(n, size=1 if rng.random() < 0.7 else n - 1, replace=False)}
        at = "any" if rng.random() < 0.4 else "each"
        some = None
        if at == "any" or rng.random() < 0.3:
            some = {int(u) for u in rng.choice(WINDOWS, size=int(rng.integers(1, 5)), replace=False)}
        none = 0.03 if never_forgets and some is None else 0.3
        delta = 0.0 if rng.random() < none else float(rng.choice([0.02, 0.05, 0.1, 0.1, 0.2, 0.3, 0.4]))
        secrets.append(d.Secret(f"secret {k}", members, slots=some, delta=delta, at=at))  # type: ignore[arg-type]
    return d.Policy(secrets)


def one_secret(seed: int, family: Family | None, window: int = 0, contexts: int | None = None) -> HiddenCase:
    """A model with one secret: at each position, or in a window of so many."""
    case = random_hidden_case(seed, family, contexts)
    slots, at = (range(window), "any") if window else (None, "each")
    delta = (0.05, 0.1, 0.2)[seed % 3]
    secret = d.Secret("secret", {"c0"}, slots=slots, at=at, delta=delta)  # type: ignore[arg-type]
    return replace(case, policy=d.Policy([secret]))
