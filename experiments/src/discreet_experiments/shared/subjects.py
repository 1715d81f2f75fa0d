"""A person ready for an experiment: habits learned from the first days, the other days held out, and secrets."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from discreet.contexts import OTHER, Day
from discreet.errors import DiscreetError
from discreet.models.chain.markov import MarkovChain
from discreet.models.learning.counts import Smoothing
from discreet.policy import Policy
from discreet.randomness import SeededEntropy
from discreet_experiments.shared.people import NOT_PLACES, Rules, Trace, prepared, spread

Sensitive = Literal["random", "home", "rare"]
Pool = Literal["places", "all"]


@dataclass(frozen=True)
class Setting:
    """What an experiment is done with, besides its mechanisms.

    The first `training` of a person's days is learned, the rest is judged; with 1 the days that were learned are.
    Held-out labels that were never learned are `other` if that was learned (as in `discreet evaluate`), else
    suppressed. Secrets are drawn from the contexts that were learned, without `unknown` and `other` where `pool` is
    "places": `random` ones, `home` (the most frequent place) or the `rare` ones (the least frequent). One context at
    least stays no secret. With `days`, at most so many held-out days are judged, evenly spread. `homogeneous` habits
    have one transition for all slots, by plain counts.
    """

    rules: Rules = field(default_factory=Rules)
    secrets: int = 3
    sensitive: Sensitive = "random"
    pool: Pool = "places"
    delta: float = 0.1
    smoothing: Smoothing = "none"
    training: float = 0.5
    seed: int = 0
    days: int | None = None
    homogeneous: bool = False

    def __post_init__(self) -> None:
        if self.secrets < 1:
            raise DiscreetError(f"{self.secrets} secrets leave nothing to protect; give 1 or more")
        if not 0 < self.training <= 1:
            raise DiscreetError(f"the share of days to learn from is {self.training}; give a number above 0, at most 1")
        if not 0 <= self.delta <= 1:
            raise DiscreetError(f"delta is {self.delta}; give a number from 0 to 1")
        if self.days is not None and self.days < 1:
            raise DiscreetError(f"{self.days} days cannot be judged; give 1 or more")

    def described(self, *, secrets: bool = True) -> str:
        """The setting in a line, for the head of a table."""
        habits = f"{self.rules.level}s, {self.rules.slots} slots, smoothing {self.smoothing}"
        if not secrets:
            return habits
        pool = "places" if self.pool == "places" else "contexts"
        chosen = {
            "random": f"{self.secrets} {pool if self.secrets > 1 else pool[:-1]} at random",
            "home": "home",
            "rare": f"the {self.secrets} least frequent {pool}",
        }
        return f"{habits}, secret: {chosen[self.sensitive]}, delta {self.delta:g}"


@dataclass(frozen=True)
class Subject:
    """One person in an experiment."""

    number: int
    chain: MarkovChain
    held_out: tuple[Day, ...]
    secrets: tuple[str, ...]
    trained_days: int

    def policy(self, delta: float) -> Policy:
        """Each secret bounded on its own."""
        return Policy(self.secrets, delta=delta)

    @property
    def impossible(self) -> float:
        """The share of held-out steps that the chain holds impossible, labels it never learned included."""
        return float(np.isneginf(self.chain.step_log_likelihood(self.held_out)).mean())

    @property
    def hidden(self) -> float:
        """The share of held-out slots in which a secret is true."""
        counts = Counter(context for day in self.held_out for context in day.contexts)
        return sum(counts[secret] for secret in self.secrets) / counts.total()


def subject(trace: Trace, setting: Setting) -> Subject | None:
    """The person by the rules; None for one with a single context, or none that may be secret."""
    days = prepared(trace, setting.rules)
    learned, held_out = parted(days, setting.training)
    chain = _learned(learned, setting)
    held_out = _fitted(spread(held_out, setting.days), chain.contexts)
    secrets = chosen_secrets(chain.contexts, setting, trace.number)
    if not secrets:
        return None
    return Subject(trace.number, chain, tuple(held_out), secrets, len(learned))


def _learned(days: Sequence[Day], setting: Setting) -> MarkovChain:
    if setting.homogeneous:
        return MarkovChain.fit_sequences([day.contexts for day in days], setting.rules.slots)
    return MarkovChain.fit(days, setting.smoothing)


def parted(days: Sequence[Day], training: float) -> tuple[list[Day], list[Day]]:
    """The first `training` of the days, to learn from, and the others; all days twice where none are left over."""
    split = len(days) if training == 1 else max(1, int(training * len(days)))
    return list(days[:split]), list(days[split:] if split < len(days) else days)


def _fitted(days: list[Day], contexts: tuple[str, ...]) -> list[Day]:
    """The days in the words of the model."""
    if OTHER not in contexts:
        return days
    known = frozenset(contexts)
    return [replace(day, contexts=tuple(label if label in known else OTHER for label in day.contexts)) for day in days]


def chosen_secrets(contexts: tuple[str, ...], setting: Setting, number: int) -> tuple[str, ...]:
    """The person's secrets, of contexts that stand in falling frequency; the first k of 3 drawn are the k drawn."""
    pool = [label for label in contexts if setting.pool == "all" or label not in NOT_PLACES]
    count = min(setting.secrets, max(1, len(pool) - 1))
    if not pool or len(contexts) < 2:
        return ()
    if setting.sensitive == "home":
        return (pool[0],)
    if setting.sensitive == "rare":
        return tuple(pool[-count:])
    return drawn(pool, count, SeededEntropy(seed_for(setting.seed, number, "secrets")))


def drawn(pool: list[str], count: int, rng: SeededEntropy) -> tuple[str, ...]:
    """That many of them, in the order drawn."""
    left = list(pool)
    return tuple(left.pop(rng.below(len(left))) for _ in range(min(count, len(left))))


def seed_for(seed: int, number: int, purpose: str) -> int:
    """A seed of one's own for each person and purpose, whichever process they are in."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{number}:{purpose}".encode()).digest()[:8], "big")
