"""The audit: how far its interval is from the truth with exactness switched off, and what exact audits of days cost."""

from __future__ import annotations

import time

import numpy as np
from tests.strategies import RandomMechanism, random_chain

from discreet.adversary.audit import audit
from discreet.mechanisms import MaskSensitive
from discreet.models import MarkovChain
from discreet.policy import Policy, Secret

CHAINS, SLOTS = 12, 6
BUDGETS = (300, 3_000, 30_000, 100_000)


def intervals(contexts: int, states: int) -> None:
    """Random kernels on random dense chains: the hardest case, since nothing is ever revealed."""
    policy = Policy([Secret("each", {"c0"}), Secret("any", {"c1"}, at="any")])
    mechanisms = [
        RandomMechanism(
            random_chain(seed, n=contexts, slots=SLOTS, zeros=0.0), policy, seed=seed, states=states, zeros=0.0
        )
        for seed in range(CHAINS)
    ]
    truths = [audit(mechanism, budget=10**6).by_secret for mechanism in mechanisms]
    trivial = [1 - mechanism.model.prior[:, 0].min() for mechanism in mechanisms]
    told = np.mean([bound - truth["each"] for bound, truth in zip(trivial, truths, strict=True)])
    print(
        f"{contexts} contexts, {SLOTS} slots, {states} public state(s) a slot; "
        f"knowing nothing would be {told:.3f} above"
    )
    for budget in BUDGETS:
        began = time.perf_counter()
        results = [audit(mechanism, budget=budget, method="interval") for mechanism in mechanisms]
        seconds = (time.perf_counter() - began) / CHAINS
        for name in ("each", "any"):
            found = [truth[name] - result.by_secret[name] for truth, result in zip(truths, results, strict=True)]
            above = [result.bound_by_secret[name] - truth[name] for truth, result in zip(truths, results, strict=True)]
            print(
                f"  budget {budget:>6}, at={name:<4}: found {np.mean(found):.4f} below (most {np.max(found):.4f}), "
                f"bound {np.mean(above):.4f} above (most {np.max(above):.4f}), {seconds:.2f} s"
            )


def exact(contexts: int, slots: int) -> None:
    """Windows between releases of a whole day."""
    rng = np.random.default_rng(1)
    rows = 0.8 * np.eye(contexts) + 0.2 * rng.dirichlet(np.ones(contexts), (slots - 1, contexts))
    chain = MarkovChain([f"c{k}" for k in range(contexts)], rng.dirichlet(np.ones(contexts)), rows)
    mechanism = MaskSensitive(chain, Policy(["c0", "c1", Secret("any", {"c2"}, at="any")]))
    began = time.perf_counter()
    result = audit(mechanism)
    print(
        f"exact audit of MaskSensitive, {contexts} contexts, {slots} slots, 3 secrets: "
        f"{time.perf_counter() - began:.2f} s, {result.kernels} merged states, worst gain {result.worst_gain:.3f}"
    )
    assert result.exact


def main() -> None:
    """Print both."""
    for contexts, states in ((3, 1), (3, 3), (4, 1)):
        intervals(contexts, states)
    for contexts, slots in ((12, 48), (20, 48), (20, 96)):
        exact(contexts, slots)
