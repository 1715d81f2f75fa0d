"""MaskIt's experiments (Götz, Nath, Gehrke, SIGMOD 2012, Section 7): what is computed for one person.

Utility is the fraction of held-out slots that is released, as in the paper; beside it stands the utility that the model
expects. The functions on traces are what `runs.Workers` maps over people.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from discreet.mechanisms import Hybrid, MaskSensitive, SetLabelled
from discreet.mechanisms.maskit.probabilistic import BUDGETS, Search
from discreet.models.chain.markov import MarkovChain
from discreet.policy import Policy, Secret
from discreet.randomness import SeededEntropy
from discreet_experiments.shared.people import Trace
from discreet_experiments.shared.replay import observed, replayed
from discreet_experiments.shared.subjects import Setting, Subject, drawn, seed_for, subject
from discreet_experiments.shared.systems import Judged, system

DELTAS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
"""Of the sweeps; those of the paper are lost with its figures."""

CARRIERS = (1, 2, 3, 4, 5, 6, 8, 10)
"""How many contexts carry a label with the secret in it (Figure 7)."""

FEWEST_CONTEXTS, MOST_CONTEXTS = 15, 20
"""People of Figure 7, as in the paper."""

CHECKS = ("simulatable", "probabilistic", "hybrid")
SINGLE = ("simulatable", "probabilistic", "algpr")
"""The checks that hybrid chooses from, and the probabilistic one as the paper searches it."""
SYSTEMS = ("no-mask", "mask-sensitive", *SINGLE, "hybrid")

BUDGET = BUDGETS["best"]
"""Checks that ALGPR may make here, as many as the default search."""


@dataclass(frozen=True)
class Checks:
    """How the checks are built: the probabilistic check's search and grid, the simulatable check's lookahead."""

    search: Search = "best"
    grid: int = 10
    lookahead: bool = False

    def options(self, name: str) -> dict[str, Any]:
        """What a system's constructor takes."""
        ahead: dict[str, Any] = {"lookahead": self.lookahead}
        found: dict[str, Any] = {"search": self.search, "grid": self.grid}
        algpr: dict[str, Any] = {"grid": self.grid, "budget": BUDGET}
        by_name = {"simulatable": ahead, "probabilistic": found, "algpr": algpr, "hybrid": ahead | found}
        return by_name.get(name, {})

    def build(self, name: str, chain: MarkovChain, policy: Policy) -> Any:
        """The system of that name."""
        return system(name).with_options(**self.options(name)).make(chain, policy)


@dataclass(frozen=True)
class Compared:
    """All systems on one person: Figures 4 and 5 and Table 1."""

    number: int
    contexts: int
    trained_days: int
    impossible: float
    chosen: str
    systems: dict[str, Judged]


def compare(trace: Trace, setting: Setting, checks: Checks) -> Compared | None:
    """Release one person's held-out days by every system, before the eyes of the exact adversary."""
    one = subject(trace, setting)
    if one is None:
        return None
    _compile()
    policy, seed = one.policy(setting.delta), seed_for(setting.seed, one.number, "release")
    systems: dict[str, Judged] = {}
    chosen = ""
    for name in SYSTEMS:
        started = time.perf_counter()
        mechanism = checks.build(name, one.chain, policy)
        initialise = time.perf_counter() - started
        chosen = mechanism.chosen if name == "hybrid" else chosen
        learned = observed(mechanism, one.held_out, one.secrets, seed)
        systems[name] = Judged(learned, float(mechanism.expected_utility()), initialise)
    return Compared(one.number, len(one.chain.contexts), one.trained_days, one.impossible, chosen, systems)


@cache
def _compile() -> None:
    """Load compiled code once a process, so that the first person's times are not its."""
    chain = MarkovChain.homogeneous(("a", "b"), [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], 3)
    Hybrid(chain, Policy("a"))


@dataclass(frozen=True)
class Utilities:
    """Utilities of one person at one point of a curve, measured on held-out days and expected by the model."""

    measured: dict[str, float]
    expected: dict[str, float]


@dataclass(frozen=True)
class Swept:
    """One person's curve: figures 6, 7 and 8."""

    number: int
    contexts: int
    impossible: float
    hidden: float
    points: dict[float, Utilities]


def sweep(trace: Trace, setting: Setting, checks: Checks, deltas: Sequence[float] = DELTAS) -> Swept | None:
    """Utility for every delta; MaskSensitive's does not depend on it."""
    one = subject(trace, setting)
    if one is None:
        return None
    masked = utilities(one, {"mask-sensitive": MaskSensitive(one.chain, one.policy(0.0))}, setting.seed)
    points = {}
    for delta in deltas:
        built = {name: checks.build(name, one.chain, one.policy(delta)) for name in SINGLE}
        found = with_hybrid(utilities(one, built, setting.seed))
        points[delta] = Utilities({**masked.measured, **found.measured}, {**masked.expected, **found.expected})
    return Swept(one.number, len(one.chain.contexts), one.impossible, one.hidden, points)


def utilities(one: Subject, mechanisms: Mapping[str, Any], seed: int) -> Utilities:
    """What each releases of the held-out days, with the same draws, and what the model expects."""
    own = seed_for(seed, one.number, "release")
    return Utilities(
        {name: replayed(mechanism, one.held_out, one.secrets, own).utility for name, mechanism in mechanisms.items()},
        {name: float(mechanism.expected_utility()) for name, mechanism in mechanisms.items()},
    )


def with_hybrid(both: Utilities) -> Utilities:
    """The hybrid check follows the better by expectation, the simulatable of equals: its outputs are that check's."""
    simulatable, probabilistic = CHECKS[:2]
    best = probabilistic if both.expected[probabilistic] > both.expected[simulatable] else simulatable
    return Utilities({**both.measured, "hybrid": both.measured[best]}, {**both.expected, "hybrid": both.expected[best]})


Bound = Literal["each", "kept"]


def weaken(trace: Trace, setting: Setting, checks: Checks, bound: Bound) -> Swept | None:
    """Utility against adversaries who take more and more contexts for possibly the one secret (Figure 7).

    `bound="each"` bounds each set by delta, as the paper does: what is promised on the secret is then delta times their
    number. `"kept"` promises delta on the secret, so that each set gets delta / mu (Theorem 7). None for people with
    fewer or more contexts than the paper's.
    """
    one = subject(trace, replace(setting, secrets=1))
    if one is None or not FEWEST_CONTEXTS <= len(one.chain.contexts) <= MOST_CONTEXTS:
        return None
    (secret,) = one.secrets
    others = [context for context in one.chain.contexts if context != secret]
    taken = drawn(others, max(CARRIERS) - 1, SeededEntropy(seed_for(setting.seed, one.number, "labels")))
    points = {}
    for count in CARRIERS:
        labels = {context: {context, secret} for context in taken[: count - 1]}
        policy = _scaled(one.chain, secret, labels, setting.delta) if bound == "each" else one.policy(setting.delta)
        built = {
            name: SetLabelled(
                one.chain, policy, labels=labels, mechanism=system(name).spec.maker, **checks.options(name)
            )
            for name in CHECKS[:2]
        }
        points[float(count)] = with_hybrid(utilities(one, built, setting.seed))
    return Swept(one.number, len(one.chain.contexts), one.impossible, one.hidden, points)


def _scaled(chain: MarkovChain, secret: str, labels: Mapping[str, set[str]], delta: float) -> Policy:
    """The policy that leaves each possible set delta at every slot: delta times how many can occur there."""
    carriers = [k for k, context in enumerate(chain.contexts) if context == secret or context in labels]
    possible = (chain.prior[:, carriers] > 0).sum(axis=1)  # (T,)
    parts = [
        Secret(f"{count} sets", {secret}, slots=np.flatnonzero(possible == count), delta=min(1.0, delta * int(count)))
        for count in np.unique(possible[possible > 0])
    ]
    return Policy(parts, delta=delta)
