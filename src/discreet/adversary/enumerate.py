"""The brute-force oracle: every path of contexts, every sequence of outputs, sums and divisions. No filter, no tricks.

For tests and tiny models. With `exact=True` all numbers are fractions: of the model's floats, of the kernels' integer
weights, or of the fractions that `ExactModel` holds, so that a bound can be checked without any tolerance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.contracts import DayModel, Mechanism, is_finite, private_in
from discreet.errors import DiscreetError
from discreet.outputs import Output, truthful
from discreet.policy import Policy, Secret

Number = Fraction | float
ObjectArray = npt.NDArray[np.object_]

LARGEST = 2_000_000
"""Paths times outputs beyond which the oracle refuses: it would take minutes."""


@dataclass(frozen=True)
class ExactModel:
    """A model whose probabilities are fractions: nested lists like the arrays of MarkovChain or HiddenMarkovModel."""

    contexts: tuple[str, ...]
    initial: Any
    transitions: Any
    emissions: Any = None

    @property
    def slots(self) -> int:
        """T."""
        return len(self.transitions) + 1


@dataclass(frozen=True)
class Prefix:
    """A sequence of outputs, how likely it is, and what it tells: {(secret, slot): gain}, slot None for at="any"."""

    outputs: tuple[Output, ...]
    probability: Number
    gains: dict[tuple[str, int | None], Number]
    truthful: Number  # P(these outputs, and the last one is the true context; a partial event counts by thirds)


def prefixes(
    mechanism: Mechanism[Any],
    model: DayModel | ExactModel | None = None,
    policy: Policy | None = None,
    *,
    exact: bool = False,
) -> Iterator[Prefix]:
    """Every sequence of 1 to T outputs of positive probability."""
    model = mechanism.model if model is None else model
    chosen = mechanism.policy if policy is None else policy
    paths, chances = _paths(model, exact)
    events = _events(Policy() if chosen is None else chosen, model, paths)
    whole = chances.sum()
    priors = {name: mask @ chances / whole for name, mask in events.items()}
    privates = np.array([_private_path(mechanism, path) for path in paths])
    first = _Node((), mechanism.start(), chances)
    stack = [first]
    while stack:
        node = stack.pop()
        slot = len(node.outputs)
        for output, column in _columns(mechanism, node.state, privates[:, slot], exact):
            chance = node.chances * column
            total = chance.sum()
            if not total > 0:
                continue
            outputs = (*node.outputs, output)
            gains = {name: mask @ chance / total - priors[name] for name, mask in events.items()}
            worths = (truthful(model.contexts[path[slot]], output) for path in paths)
            thirds = np.array([round(3 * worth) for worth in worths], dtype=np.int64)  # exact, whatever the numbers are
            yield Prefix(outputs, total / whole, gains, thirds @ chance / whole / 3)
            if slot + 1 < model.slots:
                stack.append(_Node(outputs, mechanism.advance(node.state, output), chance))


@dataclass(frozen=True)
class _Node:
    outputs: tuple[Output, ...]
    state: Any
    chances: Any  # (paths,): P(path, outputs so far)


def _paths(model: DayModel | ExactModel, exact: bool) -> tuple[list[tuple[int, ...]], Any]:
    """All context paths and their probabilities, summed over hidden paths where there are any."""
    number = Fraction if exact else float
    n, states, slots = len(model.contexts), len(model.initial), model.slots
    if (n * (1 if model.emissions is None else states)) ** slots > LARGEST:
        raise DiscreetError(f"{n} contexts over {slots} slots are too many paths to enumerate; use the audit")
    chances: dict[tuple[int, ...], Any] = {}
    for hidden in itertools.product(range(states), repeat=slots):
        chance = number(model.initial[hidden[0]])
        for t in range(1, slots):
            chance *= number(model.transitions[t - 1][hidden[t - 1]][hidden[t]])
        if not chance > 0:
            continue
        if model.emissions is None:
            chances[hidden] = chance
            continue
        for path in itertools.product(range(n), repeat=slots):
            seen = chance
            for t in range(slots):
                seen *= number(model.emissions[t][hidden[t]][path[t]])
            if seen > 0:
                chances[path] = chances.get(path, number(0)) + seen
    dtype = np.object_ if exact else np.float64
    return list(chances), np.array(list(chances.values()), dtype=dtype)


def _events(
    policy: Policy, model: DayModel | ExactModel, paths: list[tuple[int, ...]]
) -> dict[tuple[str, int | None], Any]:
    """{(secret, slot): which paths are there then}, {(secret, None): which are there at some slot}."""
    events: dict[tuple[str, int | None], Any] = {}
    for secret in policy.secrets:
        inside = np.array([[model.contexts[c] in secret.contexts for c in path] for path in paths], dtype=np.int64)
        slots = sorted(range(model.slots) if secret.slots is None else secret.slots)
        if secret.sequence:
            named = [[model.contexts[c] for c in path] for path in paths]
            events[secret.name, None] = np.array([_meets(path, secret, slots) for path in named], dtype=np.int64)
        elif secret.at == "any":
            events[secret.name, None] = inside[:, slots].max(axis=1)
        else:
            events |= {(secret.name, slot): inside[:, slot] for slot in slots}
    return events


def _meets(path: list[str], secret: Secret, slots: list[int]) -> bool:
    """Whether some slots, in their order and not too far apart, have the pattern's contexts."""
    return any(
        chosen[-1] - chosen[0] <= secret.within and tuple(path[slot] for slot in chosen) == secret.sequence
        for chosen in itertools.combinations(slots, len(secret.sequence))
    )


def _private_path(mechanism: Mechanism[Any], path: tuple[int, ...]) -> list[int]:
    memory: int | None = None
    privates: list[int] = []
    for slot, context in enumerate(path):
        memory = private_in(mechanism, slot, memory, context)
        privates.append(memory)
    return privates


def _columns(mechanism: Mechanism[Any], state: Any, privates: Any, exact: bool) -> Iterator[tuple[Output, Any]]:
    """Each output's likelihood for each path."""
    kernel = mechanism.kernel(state)
    if not is_finite(kernel):
        raise DiscreetError("only kernels with finitely many outputs can be enumerated")
    for k, output in enumerate(kernel.outputs):
        weights = kernel.weights[privates, k]
        if exact:
            yield output, np.array([Fraction(int(weight), kernel.total) for weight in weights], dtype=np.object_)
        else:
            yield output, weights / kernel.total


def worst(
    mechanism: Mechanism[Any],
    model: DayModel | ExactModel | None = None,
    policy: Policy | None = None,
    *,
    exact: bool = False,
) -> tuple[Number, Prefix | None]:
    """The largest gain of any prefix, and that prefix; (0, None) without secrets."""
    best: tuple[Number, Prefix | None] = (Fraction(0) if exact else 0.0, None)
    for prefix in prefixes(mechanism, model, policy, exact=exact):
        gain = max(prefix.gains.values(), default=None)
        if gain is not None and (best[1] is None or gain > best[0]):
            best = gain, prefix
    return best


def tolerated(
    model: DayModel | ExactModel, policy: Policy, *, exact: bool = False
) -> dict[tuple[str, int | None], Number]:
    """{(secret, slot): the gain tolerated there}: share x delta, or what odds, doubt and the cap leave of it.

    A cap applies where the prior q is at most cap - delta/2, and a hair beyond (min(2**-30, delta/4)), which people who
    write down round numbers never meet.
    """
    number = Fraction if exact else float
    paths, chances = _paths(model, exact)
    whole = chances.sum()
    secrets = {secret.name: secret for secret in policy.secrets}
    found: dict[tuple[str, int | None], Number] = {}
    for event, mask in _events(policy, model, paths).items():
        secret, prior = secrets[event[0]], mask @ chances / whole
        delta = number(policy.share) * number(policy.delta_of(secret))
        found[event] = _within_odds(policy, secret, prior, delta)
        if secret.cap is not None:
            cap, hair = number(secret.cap), min(number(2.0**-30), delta / 4)
            found[event] = min(found[event], cap - prior) if prior <= cap - delta / 2 + hair else found[event]
    return found


def _within_odds(policy: Policy, secret: Secret, prior: Number, delta: Number) -> Number:
    """What odds and doubt leave of delta (docs/theory.md, section 13), written as the section has it."""
    factors = [math.inf if one is None else one for one in (secret.odds or policy.odds, policy.doubt)]
    number = type(prior)
    if not 0 < prior < 1:
        return delta if math.isinf(factors[0]) and policy.doubt in (None, 1) else number(0)
    found = [delta]
    if not math.isinf(factors[0]):
        found.append(_belief(number(factors[0]), prior) - prior)
    if policy.doubt is not None:
        wrong = [prior / number(policy.doubt), prior * number(policy.doubt)] if policy.doubt < math.inf else [0, 1]
        others = [other for other in (*wrong, prior) if 0 < other < 1 - delta]
        others += [(1 - delta) / 2] if wrong[0] <= (1 - delta) / 2 <= wrong[1] and delta < 1 else []
        ratios = [(other + delta) * (1 - other) / (other * (1 - other - delta)) for other in others]
        found += [_belief(min(ratios), prior) - prior] if ratios else []
    return min(found)


def _belief(ratio: Number, prior: Number) -> Number:
    """The belief whose odds are the prior's times a ratio."""
    odds = ratio * prior / (1 - prior)
    return odds / (1 + odds)


def worst_excess(
    mechanism: Mechanism[Any],
    model: DayModel | ExactModel | None = None,
    policy: Policy | None = None,
    *,
    exact: bool = False,
) -> tuple[Number, Prefix | None]:
    """The largest gain of any prefix beyond what is tolerated of it, and that prefix; (-1, None) without secrets."""
    model = mechanism.model if model is None else model
    policy = mechanism.policy if policy is None else policy
    best: tuple[Number, Prefix | None] = (Fraction(-1) if exact else -1.0, None)
    allowed = tolerated(model, Policy() if policy is None else policy, exact=exact)
    for prefix in prefixes(mechanism, model, policy, exact=exact):
        over = max((gain - allowed[event] for event, gain in prefix.gains.items()), default=None)
        if over is not None and over > best[0]:
            best = over, prefix
    return best


def expected_releases(
    mechanism: Mechanism[Any], model: DayModel | ExactModel | None = None, *, exact: bool = False
) -> Number:
    """The expected number of slots whose output is the true context."""
    total: Number = Fraction(0) if exact else 0.0
    for prefix in prefixes(mechanism, model, Policy(), exact=exact):
        total += prefix.truthful
    return total
