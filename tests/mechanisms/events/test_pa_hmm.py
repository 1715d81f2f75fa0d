"""PA-HMM: its check against all paths in fractions, its search against all vectors, and what the printed ones miss."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.contracts import DayModel
from discreet.laws import check as check_laws
from discreet.mechanisms import PaHmm
from discreet.mechanisms.events.stretches import Stretches
from discreet.policy import Policy
from tests.mechanisms.events.event_models import as_events, event_models, event_policy, paths_of
from tests.strategies import enough, random_chain, random_hidden, searches

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


class AllPaths:
    """Algorithm 5 by brute force: every window, every output of it, every path, exact posteriors."""

    def __init__(self, model: DayModel, policy: Policy, window: int) -> None:
        self.window, self.slots, self.n = min(window, model.slots), model.slots, len(model.contexts)
        self.paths = paths_of(model)
        self.whole = sum(self.paths.values(), Fraction(0))
        index = {context: c for c, context in enumerate(model.contexts)}
        self.secrets = [
            (
                {index[context] for context in secret.contexts},
                set(range(model.slots) if secret.slots is None else secret.slots),
                Fraction(policy.delta_of(secret)),
            )
            for secret in policy.secrets
            if secret.at == "each"
        ]
        self.marginals = [self._marginal(a) for a in range(self.slots - self.window + 1)]
        self.priors = [
            [
                sum((w for p, w in parts.items() if p[k] in members), Fraction(0)) / self.whole
                for k, members, _ in self._asked(a)
            ]
            for a, parts in enumerate(self.marginals)
        ]

    def _asked(self, a: int) -> list[tuple[int, set[int], Fraction]]:
        """What is asked in the window from slot a on: at which of its slots, after which contexts, and its delta."""
        asked = itertools.product(range(self.window), self.secrets)
        return [(k, members, delta) for k, (members, slots, delta) in asked if a + k in slots]

    def _marginal(self, a: int) -> dict[tuple[int, ...], Fraction]:
        found: dict[tuple[int, ...], Fraction] = {}
        for path, weight in self.paths.items():
            part = path[a : a + self.window]
            found[part] = found.get(part, Fraction(0)) + weight
        return found

    def worst(self, silent: Any, *, over_delta: bool = False) -> Fraction:
        """The largest gain (less its delta) at a slot of a window, over all outputs of the window."""
        if over_delta:
            return max((gain - delta for gain, delta in self.gains(silent)), default=Fraction(-2))
        return max((gain for gain, _ in self.gains(silent)), default=Fraction(0))

    def gains(self, silent: Any) -> Iterator[tuple[Fraction, Fraction]]:
        """Each gain at a slot of a window, with its delta."""
        silence = [[Fraction(s) for s in row] for row in silent]
        for a, parts in enumerate(self.marginals):
            told: dict[tuple[int | None, ...], dict[tuple[int, ...], Fraction]] = {}
            for part, weight in parts.items():
                for hidden in itertools.product((True, False), repeat=self.window):
                    chance = weight
                    for k, c in enumerate(part):
                        chance *= silence[a + k][c] if hidden[k] else 1 - silence[a + k][c]
                        if not chance:
                            break
                    if chance:
                        output = tuple(None if hide else c for hide, c in zip(hidden, part, strict=True))
                        told.setdefault(output, {})[part] = chance
            for left in told.values():
                total = sum(left.values(), Fraction(0))
                for (k, members, delta), prior in zip(self._asked(a), self.priors[a], strict=True):
                    belief = sum((w for p, w in left.items() if p[k] in members), Fraction(0)) / total
                    yield belief - prior, delta

    def private(self, silent: Any) -> bool:
        return all(gain <= delta for gain, delta in self.gains(silent))


def models(seed: int, slots: int, n: int = 3) -> list[Any]:
    return [
        random_hidden(seed, states=2, n=n, slots=slots, zeros=(0.0, 0.3)[seed % 2]),
        random_chain(seed, n=n, slots=slots),
    ]


def secret_policy(seed: int) -> Policy:
    rng = np.random.default_rng(seed)
    secrets = [d.Secret("first", {"c0"}), d.Secret("second", {"c1", "c0"}, slots=[1], delta=0.15)]
    return Policy(secrets[: int(rng.integers(1, 3))], delta=float(rng.choice([0.05, 0.1, 0.2])))


# --- the check


@pytest.mark.slow("enumerates every vector or trajectory")
def test_the_check_equals_an_enumeration_of_all_windows() -> None:
    private = 0
    for seed in searches(8):
        for model in models(seed, slots=4):
            policy = secret_policy(seed)
            for window in (3, 4):
                brute = AllPaths(model, policy, window)
                stretches = Stretches(model, policy.for_model(model.contexts, model.slots), window)
                rng = np.random.default_rng([seed, window])
                for _ in range(4):
                    silent = rng.integers(0, 5, (4, 3)) / 4 if rng.random() < 0.5 else rng.integers(3, 5, (4, 3)) / 4
                    silent[:, 0] = 1.0  # or almost nothing is private
                    assert stretches.worst_gain(silent) == pytest.approx(float(brute.worst(silent)), abs=1e-12), seed
                    excess = brute.worst(silent, over_delta=True)
                    assert stretches.is_private(silent) == (excess <= 0), (seed, float(excess))
                    private += excess <= 0
    assert private > 10


def test_privacy_is_monotone() -> None:
    """What publishes less of everything is private if what publishes more is (Proposition 3, "dominates" reversed)."""
    compared = 0
    for seed in searches(30):
        model, policy = models(seed, slots=3)[0], secret_policy(seed)
        stretches = Stretches(model, policy.for_model(model.contexts, model.slots), 3)
        rng = np.random.default_rng(seed)
        for _ in range(20):
            silent = rng.integers(2, 5, (3, 3)) / 4
            silent[:, 0] = 1.0
            more = np.maximum(silent, rng.integers(0, 5, (3, 3)) / 4)
            if stretches.is_private(silent):
                compared += 1
                assert stretches.is_private(more), (seed, silent, more)
    assert compared > enough(50)


# --- the search


def greedy(model: DayModel, brute: AllPaths, grid: int) -> list[list[Fraction]]:
    """The plain twin of one walk: bisection by the brute-force check, slot by slot, the likeliest event first."""
    silent = [[Fraction(1)] * len(model.contexts) for _ in range(model.slots)]
    for t in range(model.slots):
        for e in np.argsort(-model.prior[t], kind="stable").tolist():
            if model.prior[t, e] > 0:
                low, high = 0, grid
                while low < high:
                    middle = (low + high) // 2
                    silent[t][e] = Fraction(middle, grid)
                    low, high = (low, middle) if brute.private(silent) else (middle + 1, high)
                silent[t][e] = Fraction(high, grid)
    return silent


@pytest.mark.slow("enumerates every vector or trajectory")
def test_one_walk_is_that_of_the_plain_loops() -> None:
    moved = 0
    for seed in searches(8):
        for model in models(seed, slots=4):
            policy = secret_policy(seed)
            mechanism = PaHmm(model, policy, grid=5, budget=1)
            expected = np.array(greedy(model, AllPaths(model, policy, 3), 5), dtype=np.float64)
            assert mechanism.p == pytest.approx(1 - expected, abs=1e-12), seed
            moved += int((expected < 1).sum())
    assert moved > 20


@pytest.mark.slow("enumerates every vector or trajectory")
def test_the_search_finds_the_best_vector_on_the_grid() -> None:
    for seed in searches(2):
        model, policy = random_hidden(seed, states=2, n=3, slots=2, zeros=0.0), d.Policy("c0", delta=0.1)
        brute = AllPaths(model, policy, 3)
        prior = [Fraction(float(x)) for row in model.prior for x in row]
        weighted = [[q * Fraction(3 - level, 6) for level in range(4)] for q in prior]

        def value(levels: tuple[int, ...], weighted: list[list[Fraction]] = weighted) -> Fraction:
            return sum((row[level] for row, level in zip(weighted, levels, strict=True)), Fraction(0))

        # From the best on: no vector is looked at that is worth less than the first private one.
        for levels in sorted(itertools.product(range(4), repeat=6), key=value, reverse=True):
            if brute.private([[Fraction(level, 3) for level in part] for part in (levels[:3], levels[3:])]):
                best = value(levels)
                break
        mechanism = PaHmm(model, policy, grid=3, budget=100_000)
        assert mechanism.exhaustive
        assert float(mechanism.expected_utility()) == pytest.approx(float(best), abs=1e-12)


def test_example_1_of_maskit_is_found() -> None:
    """s and x, 1/2 each, delta 1/4: x is published with 2/3, on a grid of tenths with 0.6."""
    model = d.MarkovChain(["s", "x"], [0.5, 0.5], np.zeros((0, 2, 2)))
    mechanism = PaHmm(model, d.Policy("s", delta=0.25))
    assert mechanism.p == pytest.approx(np.array([[0.0, 0.6]]), abs=1e-12)
    assert mechanism.exhaustive
    assert float(mechanism.expected_utility()) == pytest.approx(0.3, abs=1e-12)
    assert mechanism.guarantee.kind == "exact delta"


# --- what is promised


def test_a_window_over_the_whole_day_is_exact() -> None:
    for seed in searches(6):
        for model in event_models(seed, slots=3):
            mechanism = PaHmm(model, event_policy(seed), grid=4, budget=300)
            assert mechanism.guarantee.kind == "exact delta"
            check_laws(mechanism, seed=seed, walks=2)
            result = d.audit(mechanism, method="exact")
            assert result.holds, (seed, result.breach)
            assert result.worst_gain == pytest.approx(mechanism.worst_gain(), abs=1e-10)


@pytest.mark.slow("enumerates every vector or trajectory")
def test_the_promise_is_only_as_wide_as_the_window() -> None:
    """Windows pass, and the audit, which sees all slots, finds what they tell together (theory 7c)."""
    beyond = 0
    for seed in searches(10):
        model = as_events(random_hidden(seed, states=2, n=4, slots=4, zeros=0.0))
        policy = event_policy(seed)
        mechanism = PaHmm(model, policy, grid=4, budget=1)
        assert mechanism.guarantee.kind == "window only"
        assert "3 slots in a row" in mechanism.guarantee.statement
        assert AllPaths(model, policy, 3).worst((1 - mechanism.p).tolist(), over_delta=True) <= 2.0**-40
        result = d.audit(mechanism)
        assert result.worst_gain >= mechanism.worst_gain() - 1e-12
        beyond += result.holds is False
        wider = PaHmm(model, policy, window=4, grid=4, budget=1)
        assert d.audit(wider).holds
    assert beyond > 2


def test_errors_say_what_to_do() -> None:
    model, policy = models(0, slots=3)[0], d.Policy("c0")
    with pytest.raises(d.DiscreetError, match="at least 3"):
        PaHmm(model, policy, window=2)
    with pytest.raises(d.DiscreetError, match="multiples of 1/grid"):
        PaHmm(model, policy, grid=0)
    with pytest.raises(d.DiscreetError, match=r"budget is 0; give a whole number of at least 1 \(checks"):
        PaHmm(model, policy, budget=0)
    with pytest.raises(d.DiscreetError, match=r"window is 3\.5; give a whole number"):
        PaHmm(model, policy, window=3.5)  # type: ignore[arg-type]
    with pytest.raises(d.DiscreetError, match=r"grid is 2\.5; give a whole number"):
        PaHmm(model, policy, grid=2.5)  # type: ignore[arg-type]
