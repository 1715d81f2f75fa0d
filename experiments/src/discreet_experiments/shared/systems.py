"""The systems that experiments compare, in one table, and what one of them does for one person."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from discreet.charts.canvas import (
    BLUE,
    BROWN,
    GREEN,
    NAVY,
    ORANGE,
    PINK,
    PURPLE,
    QUIET,
    RED,
    SKY,
    VIOLET,
)
from discreet.contracts import DayModel
from discreet.errors import DiscreetError, did_you_mean
from discreet.hierarchy import Hierarchy
from discreet.mechanisms import Adaptive
from discreet.mechanisms.named import Spec
from discreet.policy import Policy
from discreet_experiments.charts.lines import Look
from discreet_experiments.shared.replay import Learned, observed
from discreet_experiments.shared.sheets import Cell
from discreet_experiments.shared.subjects import Subject, seed_for

PROVEN = "solid: delta is proven"
"""The legend of a chart whose lines are systems."""


@dataclass(frozen=True)
class System:
    """A mechanism with its options, what tables call it, how charts draw it, and whether its delta is proven.

    `given` are the options that depend on the person or the map, and are given when it is made.
    """

    name: str
    label: str
    spec: Spec
    colour: str
    marker: str
    proven: bool = False
    given: tuple[str, ...] = ()

    @property
    def look(self) -> Look:
        """Its line in a chart: solid where delta is proven, wide for ours."""
        return Look(self.label, self.colour, self.marker, self.proven, 2.2 if self.spec.name == "adaptive" else 1.5)

    def with_options(self, **options: object) -> System:
        """The same system with options of its mechanism added or replaced."""
        return replace(self, spec=self.spec.with_options(**options))

    def make(self, model: DayModel, policy: Policy | None, **given: Any) -> Any:
        """The mechanism. Its options are as the constructor takes them, so that its time is the constructor's alone."""
        for name in self.given:
            if given.get(name) is None:
                raise DiscreetError(f"{self.label} needs {name}; give it, or leave the system out")
        return self.spec.maker(model, policy, **self.spec.options, **{name: given[name] for name in self.given})


def _printed(emissions: str) -> Spec:
    """PA-HMM with its authors' check and search, and what Eq. 22 adds up."""
    return Spec("pa-hmm", {"check": "published", "search": "published", "emissions": emissions})


_ON = ("graph", "query", "epsilon", "noise")

ALL = (
    System("no-mask", "NoMask", Spec("no-mask"), QUIET, "D"),
    System("mask-sensitive", "MaskSensitive", Spec("mask-sensitive"), QUIET, "D"),
    System("simulatable", "Simulatable", Spec("simulatable"), BLUE, "o", proven=True),
    System("probabilistic", "Probabilistic", Spec("probabilistic"), ORANGE, "^", proven=True),
    System("algpr", "Probabilistic, ALGPR", Spec("probabilistic", {"search": "algpr"}), PURPLE, "v", proven=True),
    System("hybrid", "Hybrid", Spec("hybrid"), GREEN, "s", proven=True),
    System("fdh", "FDH", Spec("fdh"), BROWN, "P", given=("hierarchy",)),
    System("efficient-fake", "EfficientFake", Spec("efficient-fake"), PINK, "X"),
    System("capp", "CAPP", Spec("capp"), RED, "v"),
    System("capp-bayes", "CAPP, Bayes", Spec("capp", {"constraints": "bayes"}), ORANGE, "^"),
    System("suppress", "Adaptive suppress", Spec("adaptive"), SKY, "s", proven=True),
    System(
        "generalize",
        "Adaptive generalize",
        Spec("adaptive", {"outputs": "generalize"}),
        VIOLET,
        "^",
        proven=True,
        given=("hierarchy",),
    ),
    System("deceive", "Adaptive deceive", Spec("adaptive", {"outputs": "deceive"}), NAVY, "o", proven=True),
    System("sensitive-mask", "SensitiveMask", Spec("sensitive-mask"), PURPLE, "P"),
    System("no-internal", "NoInternal", Spec("no-internal"), ORANGE, "^", given=("events",)),
    System("pa-markov", "PA-Markov", Spec("pa-markov"), RED, "v", given=("events",)),
    System("pa-hmm", "PA-HMM", Spec("pa-hmm"), GREEN, "X"),
    System("pa-hmm-topics", "PA-HMM as printed, by topics", _printed("topics"), BROWN, "X"),
    System("pa-hmm-published", "PA-HMM as printed, by published", _printed("published"), PINK, "X"),
    System("adaptive-events", "Adaptive events", Spec("adaptive"), SKY, "s", proven=True),
    System(
        "adaptive-attributes",
        "Adaptive attributes",
        Spec("adaptive", {"outputs": "attributes"}),
        NAVY,
        "o",
        proven=True,
        given=("events",),
    ),
    System("util", "G_util", Spec("dphmm"), BLUE, "o", given=_ON),
    System("trs", "G_trs", Spec("dphmm"), ORANGE, "s", given=_ON),
    System("dpls", "DPLS", Spec("dpls"), GREEN, "^", given=("query", "epsilon", "noise")),
    System("complete", "G_cplt", Spec("dphmm"), QUIET, "D", given=_ON),
)
"""All of them; DPHMM's four differ in their graphs: near answers joined, contexts with a common predecessor joined,
location sets, everything joined."""

_BY_NAME = {one.name: one for one in ALL}


def system(name: str) -> System:
    """The system of that name."""
    if name not in _BY_NAME:
        raise DiscreetError(f"there is no system {name!r}; {did_you_mean(name, _BY_NAME)}")
    return _BY_NAME[name]


def label(name: str) -> str:
    """What tables call it."""
    return system(name).label


def build(name: str, model: DayModel, policy: Policy, tree: Hierarchy | None = None) -> Any:
    """The system of that name with its defaults."""
    return system(name).make(model, policy, hierarchy=tree)


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


def judge(
    name: str,
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
    learned = observed(mechanism, one.held_out, one.secrets, seed_for(seed, one.number, "release"), mechanism.worth)
    follows = getattr(mechanism, "follows", "")
    if days is None:
        return Judged(learned, float("nan"), initialise, follows=follows)
    drawn = isinstance(mechanism, Adaptive)  # FDH draws as many days as it thinks fit
    utility = mechanism.expected_utility(days) if drawn else mechanism.expected_utility()
    return Judged(learned, utility.mean, initialise, utility.half_width, follows)
