"""The mechanisms that experiments compare, by name, and what one of them does for one person."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discreet.evaluation.metrics import Worth
from discreet.experiments.shared.replay import Learned, observed
from discreet.experiments.shared.subjects import Subject, seed_for
from discreet.experiments.shared.tables import Cell
from discreet.hierarchy import Hierarchy
from discreet.mechanisms import Adaptive, Capp, EfficientFake, Fdh, Hybrid, MaskSensitive, Simulatable
from discreet.models.chain import MarkovChain
from discreet.policy import Policy

System = Literal[
    "no-mask",
    "mask-sensitive",
    "simulatable",
    "probabilistic",
    "hybrid",
    "fdh",
    "efficient-fake",
    "capp",
    "capp-bayes",
    "suppress",
    "generalize",
    "deceive",
]

NAMES: dict[System, str] = {
    "no-mask": "NoMask",
    "mask-sensitive": "MaskSensitive",
    "simulatable": "Simulatable",
    "probabilistic": "Probabilistic",
    "hybrid": "Hybrid",
    "fdh": "FDH",
    "efficient-fake": "EfficientFake",
    "capp": "CAPP",
    "capp-bayes": "CAPP, Bayes",
    "suppress": "Adaptive suppress",
    "generalize": "Adaptive generalize",
    "deceive": "Adaptive deceive",
}

NEED_HIERARCHY: tuple[System, ...] = ("fdh", "generalize")


@dataclass(frozen=True)
class Judged:
    """One system on one person's held-out days."""

    learned: Learned
    expected: float  # utility by the model; not a number where it was not asked for
    initialise: float  # seconds
    half_width: float = 0.0  # of `expected`, where days were drawn
    follows: str = ""

    def columns(self) -> dict[str, Cell]:
        """What every table of people says of a system."""
        return {
            "utility": self.learned.shown.utility,
            "expected": self.expected,
            "pairs over": self.learned.pairs,
            "worst gain": self.learned.worst_gain,
            "off model": self.learned.off_model,
        }


_BUILD: Mapping[System, Callable[..., Any]] = {
    "mask-sensitive": lambda chain, policy, tree: MaskSensitive(chain, policy),
    "simulatable": lambda chain, policy, tree: Simulatable(chain, policy),
    "hybrid": lambda chain, policy, tree: Hybrid(chain, policy),
    "fdh": lambda chain, policy, tree: Fdh(chain, policy, hierarchy=tree),
    "efficient-fake": lambda chain, policy, tree: EfficientFake(chain, policy),
    "capp": lambda chain, policy, tree: Capp(chain, policy),
    "capp-bayes": lambda chain, policy, tree: Capp(chain, policy, constraints="bayes"),
    "suppress": lambda chain, policy, tree: Adaptive(chain, policy),
    "generalize": lambda chain, policy, tree: Adaptive(chain, policy, outputs="generalize", hierarchy=tree),
    "deceive": lambda chain, policy, tree: Adaptive(chain, policy, outputs="deceive"),
}


def build(name: System, chain: MarkovChain, policy: Policy, tree: Hierarchy | None = None) -> Any:
    """The system of that name with its defaults."""
    return _BUILD[name](chain, policy, tree)


def judge(
    name: System,
    one: Subject,
    delta: float,
    seed: int,
    *,
    days: int | None = None,
    tree: Hierarchy | None = None,
) -> Judged:
    """Release the person's held-out days before the eyes of the exact adversary.

    `days` asks for the expected utility too: exact where the mechanism knows it, else from that many days of the model.
    Every system of a person has draws of the same seed.
    """
    started = time.perf_counter()
    mechanism = build(name, one.chain, one.policy(delta), tree)
    initialise = time.perf_counter() - started
    learned = observed(mechanism, one.held_out, one.secrets, seed_for(seed, one.number, "release"), _worth(mechanism))
    follows = getattr(mechanism, "follows", "")
    if days is None:
        return Judged(learned, float("nan"), initialise, follows=follows)
    drawn = isinstance(mechanism, Adaptive)  # FDH draws as many days as it thinks fit
    utility = mechanism.expected_utility(days) if drawn else mechanism.expected_utility()
    return Judged(learned, utility.mean, initialise, utility.half_width, follows)


def _worth(mechanism: Any) -> Worth:
    """What an output of this mechanism is worth, as in its expected utility."""
    worth: Worth = mechanism.worth
    return worth
