"""Observers who share the laws of paths given a row and given its absence, and not how likely the row is.

By brute force in fractions: every path, every sequence of outputs. It shares nothing with `discreet.adversary`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.contracts import private_in
from discreet.outputs import Output
from discreet.policy import Policy


@dataclass(frozen=True)
class Told:
    """What some outputs told of one row: P(outputs, row) and P(outputs, not row), and its prior."""

    secret: int
    outputs: tuple[Output, ...]
    inside: Fraction
    outside: Fraction
    prior: Fraction

    @property
    def belief(self) -> Fraction:
        return self.inside / (self.inside + self.outside)

    def gain_from(self, prior: Fraction) -> Fraction:
        """Of an observer whose prior of the row is another."""
        there, elsewhere = prior * self.inside / self.prior, (1 - prior) * self.outside / (1 - self.prior)
        return there / (there + elsewhere) - prior

    def multiplies_beyond(self, factor: Fraction) -> bool:
        """Whether the odds of the row grew by more than a factor."""
        return self.inside * (1 - self.prior) > factor * self.outside * self.prior


def everything_told(mechanism: Any, policy: Policy) -> Iterator[Told]:
    """Of every row that is not certain, after every sequence of outputs of positive probability."""
    model = mechanism.model
    paths = dict(_paths(model))
    whole = sum(paths.values())
    weights = {path: chance / whole for path, chance in paths.items()}
    rows = [(g, row, sum((weights[path] for path in row), Fraction(0))) for g, row in _rows(policy, model, list(paths))]
    private = {path: _private(mechanism, path) for path in paths}
    waiting: list[tuple[tuple[Output, ...], Any, dict[tuple[int, ...], Fraction]]] = [((), mechanism.start(), weights)]
    while waiting:
        outputs, state, before = waiting.pop()
        kernel, slot = mechanism.kernel(state), len(outputs)
        for k, output in enumerate(kernel.outputs):
            after = {path: chance * int(kernel.weights[private[path][slot], k]) for path, chance in before.items()}
            total = sum(after.values())
            if not total:
                continue
            after = {path: chance / total for path, chance in after.items() if chance}
            for g, row, prior in rows:
                if 0 < prior < 1:
                    inside = sum((after.get(path, Fraction(0)) for path in row), Fraction(0))
                    yield Told(g, (*outputs, output), inside, 1 - inside, prior)
            if slot + 1 < model.slots:
                waiting.append(((*outputs, output), mechanism.advance(state, output), after))


def _paths(model: Any) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    for path in itertools.product(range(len(model.contexts)), repeat=model.slots):
        chance = Fraction(float(model.initial[path[0]]))
        for t in range(1, model.slots):
            chance *= Fraction(float(model.transitions[t - 1][path[t - 1]][path[t]]))
        if chance:
            yield path, chance


def _rows(policy: Policy, model: Any, paths: list[tuple[int, ...]]) -> Iterator[tuple[int, list[tuple[int, ...]]]]:
    """The paths of each row: a secret at a slot, or at some slot."""
    for g, secret in enumerate(policy.secrets):
        members = {model.contexts.index(context) for context in secret.contexts}
        slots = sorted(range(model.slots) if secret.slots is None else secret.slots)
        for group in [slots] if secret.at == "any" else [[slot] for slot in slots]:
            yield g, [path for path in paths if any(path[slot] in members for slot in group)]


def _private(mechanism: Any, path: tuple[int, ...]) -> list[int]:
    memory: int | None = None
    found = []
    for slot, context in enumerate(path):
        memory = private_in(mechanism, slot, memory, context)
        found.append(memory)
    return found
