"""The adversary's filter: one slot against the one product that it needs; long sequences against hmmlearn."""

from __future__ import annotations

import numpy as np
from hmmlearn.hmm import CategoricalHMM

from benchmarks._timing import alternating, verdict
from discreet.adversary.belief import Adversary
from discreet.mechanisms import NoMask
from discreet.models import MarkovChain
from discreet.policy import Policy, Secret
from discreet_experiments.s_ppatp.smoother import smoothed

STATES, SLOTS, SECRETS, DAYS = 20, 48, 3, 20
STEPS, SYMBOLS = 10_000, 30


def slot(policy: Policy, name: str) -> None:
    """Every secret's belief at every slot after each output, against (3 * 48, n) x (n, n)."""
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(STATES), (SLOTS - 1, STATES))
    chain = MarkovChain([f"c{k}" for k in range(STATES)], rng.dirichlet(np.ones(STATES)), rows)
    adversary = Adversary(NoMask(chain, policy))
    columns = rng.random((SLOTS, STATES))
    stack, step = rng.random((SECRETS * SLOTS, STATES)), rng.random((STATES, STATES))

    def filtered() -> None:
        for _ in range(DAYS):
            belief = adversary.start()
            for column in columns:
                belief = belief.after(column)
            assert len(belief.gains) == len(adversary.deltas)

    def multiplied() -> None:
        for _ in range(DAYS * SLOTS):
            stack @ step

    best = alternating({"filter": filtered, "product": multiplied}, 20)
    micro = {key: seconds / (DAYS * SLOTS) * 1e6 for key, seconds in best.items()}
    print(f"{name}: a slot {micro['filter']:.1f} us, the product {micro['product']:.1f} us:", end=" ")
    print(verdict(micro["filter"] / micro["product"], 3))


def sequence(states: int) -> None:
    """Posteriors of 10,000 homogeneous steps."""
    rng = np.random.default_rng(0)
    reference = CategoricalHMM(n_components=states, n_features=SYMBOLS, implementation="scaling")
    reference.startprob_ = rng.dirichlet(np.ones(states))
    reference.transmat_ = rng.dirichlet(np.ones(states), states)
    reference.emissionprob_ = rng.dirichlet(np.ones(SYMBOLS), states)
    seen = rng.integers(SYMBOLS, size=STEPS)
    steps = np.broadcast_to(reference.transmat_, (STEPS - 1, states, states))

    def ours() -> object:
        return smoothed(reference.startprob_, steps, reference.emissionprob_.T[seen])[0]

    def theirs() -> object:
        return reference.predict_proba(seen[:, None])

    np.testing.assert_allclose(ours(), theirs(), atol=1e-10)  # type: ignore[call-overload]
    best = alternating({"ours": ours, "hmmlearn": theirs}, 5)
    flops = 4 * states**2 * STEPS
    print(
        f"{STEPS} steps, K = {states}: {best['ours'] * 1e3:.1f} ms ({flops / best['ours'] / 1e9:.1f} Gflop/s), "
        f"hmmlearn {best['hmmlearn'] * 1e3:.1f} ms: {verdict(best['ours'] / best['hmmlearn'], 1)}"
    )


def main() -> None:
    """Print both comparisons."""
    slot(Policy(["c0", "c1", "c2"]), "3 secrets at each slot")
    slot(Policy([Secret("a", {"c0"}, at="any"), "c1", "c2"]), "one of them at any slot")
    for states in (20, 100):
        sequence(states)
