"""Adaptive release as a share of what any causal mechanism could reach, on random models small enough to know that.

On hidden Markov models two limits bound it. One is that of mechanisms that see what Adaptive sees, the contexts. The
other is that of the product chain, whose contexts are pairs (hidden state, context): a mechanism there sees the hidden
state as well, and still releases contexts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from discreet.adversary.audit import audit
from discreet.contracts import DayModel
from discreet.evaluation.limit import Outputs, limit
from discreet.mechanisms import Adaptive
from discreet.mechanisms.adaptive.adaptive import Memory
from discreet.models import HiddenMarkovModel, MarkovChain
from discreet.numerics import FloatArray
from discreet.policy import Policy
from discreet_experiments.charts import marks
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import NOBODY, Figure
from discreet_experiments.shared.sheets import Cell, Sheet, mean

CONTEXTS = SLOTS = 3
CHAINS, HIDDEN = 100, 60
DELTA = 0.1
OUTPUTS: tuple[Outputs, ...] = ("suppress", "deceive")
NOTHING = 1e-9
"""Expected releases that count as none."""


@dataclass(frozen=True)
class Share:
    """What one variant reaches on one model, beside the limits: all are expected utilities."""

    variant: str
    reached: float
    limit: float
    product: float | None
    worst_gain: float
    follows: str


def shares_of(seed: int, hidden: bool) -> list[Share]:
    """Every variant on the random model of that seed; the first context is the secret."""
    policy = Policy("c0", delta=DELTA)
    model: DayModel = random_hidden(seed) if hidden else random_chain(seed)
    memories: tuple[Memory, ...] = ("none",) if hidden else ("none", "last")
    found = []
    for outputs in OUTPUTS:
        best = float(limit(model, policy, outputs))
        product = _product_limit(model, policy, outputs) if isinstance(model, HiddenMarkovModel) else None
        for memory in memories:
            mechanism = Adaptive(model, policy, outputs=outputs, memory=memory)
            reached, worst = float(mechanism.expected_utility()), audit(mechanism).worst_gain
            name = outputs if hidden else f"{outputs}, memory {memory}"
            found.append(Share(name, reached, best, product, worst, mechanism.follows))
    return found


def _product_limit(model: HiddenMarkovModel, policy: Policy, outputs: Outputs) -> float:
    pairs, secrets, shown = product_chain(model, policy)
    return float(limit(pairs, secrets, outputs, shown=shown))


def product_chain(model: HiddenMarkovModel, policy: Policy) -> tuple[MarkovChain, Policy, dict[str, str]]:
    """The chain over pairs (state, context), the policy over pairs, and the context that each pair shows."""
    states, n = len(model.initial), len(model.contexts)
    emissions = model.emissions  # (T, K, n)
    names = [f"{state}: {context}" for state in range(states) for context in model.contexts]
    initial = (model.initial[:, None] * emissions[0]).ravel()
    steps = [
        np.repeat(step, n, axis=0)[:, :, None] * emissions[slot + 1][None]  # (K n, K, n)
        for slot, step in enumerate(model.transitions)
    ]
    chain = MarkovChain(names, initial, np.array([step.reshape(states * n, states * n) for step in steps]))
    shown = dict(zip(names, model.contexts * states, strict=True))
    secrets = [
        replace(secret, contexts=frozenset(name for name, context in shown.items() if context in secret.contexts))
        for secret in policy.secrets
    ]
    return chain, Policy(secrets, delta=policy.delta), shown


def random_chain(seed: int) -> MarkovChain:
    """Rows from Dirichlet(0.7), three tenths of the entries then zero."""
    rng = np.random.default_rng(seed)
    return MarkovChain(_labels(), _rows(rng, (CONTEXTS,)), _rows(rng, (SLOTS - 1, CONTEXTS, CONTEXTS)))


def random_hidden(seed: int) -> HiddenMarkovModel:
    """Two or three hidden states in turn; emissions are drawn like the rest."""
    rng, states = np.random.default_rng(seed), 2 + seed % 2
    return HiddenMarkovModel(
        _labels(),
        _rows(rng, (states,)),
        _rows(rng, (SLOTS - 1, states, states)),
        _rows(rng, (SLOTS, states, CONTEXTS)),
    )


def _labels() -> tuple[str, ...]:
    return tuple(f"c{k}" for k in range(CONTEXTS))


def _rows(rng: np.random.Generator, shape: tuple[int, ...], zeros: float = 0.3) -> FloatArray:
    rows = rng.dirichlet(np.full(shape[-1], 0.7), size=shape[:-1])
    rows = np.where(rng.random(shape) < zeros, 0.0, rows)
    only = np.eye(shape[-1])[rng.integers(shape[-1], size=shape[:-1])]
    rows = np.where(rows.sum(axis=-1, keepdims=True) > 0, rows, only)
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))


def on_random_models(cohort: Cohort, seed: int, count: int, *, hidden: bool) -> Figure:
    """So many chains with and without memory, or hidden Markov models."""
    first = 1_000_000 * (seed + 1)  # seeds that no test and no benchmark has
    name, kind = ("limit_hidden", "hidden Markov models") if hidden else ("limit_chains", "chains")
    found = cohort.over(f"random {kind}", partial(shares_of, hidden=hidden), range(first, first + count))
    return _figure(name, kind, [share for each in found for share in each], count)


def _figure(name: str, kind: str, found: Sequence[Share], count: int) -> Figure:
    by_variant: dict[str, list[Share]] = {}
    for share in found:
        by_variant.setdefault(share.variant, []).append(share)
    rows: list[dict[str, Cell]] = []
    drawn: dict[str, tuple[float, ...]] = {}
    for variant, all_shares in by_variant.items():
        some = [share for share in all_shares if share.limit > NOTHING]
        of_limit = [share.reached / share.limit for share in some]
        row: dict[str, Cell] = {"variant": variant, "models": len(some), "utility": mean([one.reached for one in some])}
        row |= {"limit": mean([one.limit for one in some]), "share": mean(of_limit), "least": min(of_limit)}
        drawn[variant] = tuple(of_limit)
        products = [share for share in some if share.product is not None]
        if products:
            of_product = [one.reached / one.product for one in products if one.product]
            row |= {"product's limit": mean([one.product or 0.0 for one in products])}
            row |= {"share of it": mean(of_product), "least of it": min(of_product)}
            drawn[f"{variant}, of the product chain"] = tuple(of_product)
        row["silent"] = sum(one.reached <= NOTHING for one in some)
        row["worst gain"] = max(one.worst_gain for one in all_shares)
        row["follows Hybrid"] = sum(one.follows == "hybrid" for one in all_shares)
        rows.append(row)
    title = f"Share of the causal limit: random {kind}"
    note = f"{count} random {kind}, {CONTEXTS} contexts, {SLOTS} slots, one secret, delta {DELTA:g}; exact"
    remarks = (
        "models: those where something can be released at all; silent: those of them where nothing is",
        "utility and limit: means over them; share and least: mean and smallest of utility / limit",
    )
    chart = partial(marks.strips, title, note, drawn, across="utility as a share of the limit")
    return Figure(name, title, note, Sheet.of(rows), NOBODY, remarks, chart)
