"""PA-HMM as printed: Algorithms 5 and 6 and Eq. 19 to 22 against plain loops of them, and what they miss."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import discreet as d
from discreet.contracts import DayModel
from discreet.laws import check as check_laws
from discreet.mechanisms import PaHmm
from discreet.mechanisms.events.published import Emissions, PublishedStretches, vector_search
from discreet.mechanisms.events.stretches import Stretches
from discreet.numerics import SLACK, FloatArray
from discreet.policy import Policy
from tests.strategies import random_chain, random_hidden, searches

READINGS: tuple[Emissions, ...] = ("topics", "published")

Vector = tuple[float, ...]
Check = Callable[[Vector], bool]


def gains_of(model: DayModel, policy: Policy, p: FloatArray, emissions: Emissions) -> list[float]:
    """What Algorithm 5 compares with delta (gain less delta), over all outputs of all positions, by Eq. 17 to 22."""
    n, slots = len(model.contexts), model.slots
    b = [np.eye(n)] * slots if model.emissions is None else [np.asarray(row) for row in model.emissions]
    told = [[*(b[k][:, j] * p[k, j] for j in range(n)), b[k] @ (1 - p[k])] for k in range(slots)]  # Eq. 19
    able = [[o for o in range(n + 1) if told[k][o].sum() > 0] for k in range(slots)]
    found = []
    for outputs in itertools.product(*able):
        columns = [told[k][o] for k, o in enumerate(outputs)]
        alpha = [model.initial]  # Eq. 21: P(Y_i = y, o_1 .. o_{i-1})
        for k in range(1, slots):
            alpha.append((alpha[-1] * columns[k - 1]) @ model.transitions[k - 1])
        beta = [columns[-1]]  # P(o_i .. o_n | Y_i = y)
        for k in range(slots - 2, -1, -1):
            beta.insert(0, columns[k] * (model.transitions[k] @ beta[0]))
        if not (alpha[0] * beta[0]).sum() > 0:
            continue
        for secret in policy.secrets:
            inside = [c for c, label in enumerate(model.contexts) if label in secret.contexts]
            for i in range(slots) if secret.slots is None else secret.slots:
                topics = alpha[i] * beta[i] / (alpha[i] * beta[i]).sum()  # Eq. 20
                shown = b[i] if emissions == "topics" else b[i] * p[i]
                posterior = topics @ shown[:, inside].sum(axis=1)  # Eq. 22
                found.append(float(posterior - model.prior[i][inside].sum() - policy.delta_of(secret)))
    return found


def as_printed(check: Check, size: int, utility: Callable[[Vector], float], *, printed: bool = True) -> Vector:
    """Algorithm 6 line by line. `printed`: "dominates" as defined there (nowhere above), else as in Proposition 3."""
    best: list[Vector] = []
    candidates: list[Vector] = [(0.0,) * size]
    while candidates:
        p = list(candidates[0])
        if check(tuple(p)):
            for i in range(size):
                low, p[i] = p[i], 1.0
                if check(tuple(p)):
                    continue
                high = 1.0
                while high - low >= 0.1:
                    middle = (high + low) / 2
                    p[i] = middle
                    low, high = (middle, high) if check(tuple(p)) else (low, middle)
        best.append(tuple(p))
        following: list[Vector] = []
        for other in candidates:
            above = all(a <= b for a, b in zip(p, other, strict=True))
            below = all(a >= b for a, b in zip(p, other, strict=True))
            if above if printed else below:
                for i in range(size):
                    more = (*other[:i], p[i] + 0.1, *other[i + 1 :])
                    if more[i] <= 1:
                        following.append(more)
        candidates = following
    return max(best, key=utility)


def models(seed: int, slots: int = 3) -> list[DayModel]:
    return [
        random_hidden(seed, states=2, n=3, slots=slots, zeros=(0.0, 0.3)[seed % 2]),
        random_chain(seed, n=3, slots=slots),
    ]


def secrets(seed: int) -> Policy:
    rng = np.random.default_rng(seed)
    both = [d.Secret("first", {"c0"}), d.Secret("second", {"c1", "c0"}, slots=[1], delta=0.15)]
    return Policy(both[: int(rng.integers(1, 3))], delta=float(rng.choice([0.05, 0.1, 0.2])))


def stretches(model: DayModel, policy: Policy, emissions: Emissions, window: int = 3) -> PublishedStretches:
    return PublishedStretches(model, policy.for_model(model.contexts, model.slots), window, emissions)


def test_the_check_is_that_of_the_equations() -> None:
    verdicts = {True: 0, False: 0}
    for seed in searches(6):
        policy, rng = secrets(seed), np.random.default_rng(seed)
        for model, emissions in itertools.product(models(seed), READINGS):
            for _ in range(3):
                silent = rng.integers(0, 5, (3, 3)) / 4
                excess = max(gains_of(model, policy, 1 - silent, emissions))
                fast = stretches(model, policy, emissions)
                found = fast.excess(silent, fast.deltas)  # any number below 0 where nothing is over
                assert max(found, 0) == pytest.approx(max(excess, 0), abs=1e-12), (seed, emissions)
                assert fast.is_private(silent) == (excess <= SLACK)
                verdicts[excess <= SLACK] += 1
    assert min(verdicts.values()) > 5, verdicts


def test_the_search_is_that_of_the_printed_loops_and_says_whether_it_failed() -> None:
    ended = {True: 0, False: 0}
    for seed in searches(6):
        policy = secrets(seed)
        for model, emissions in itertools.product(models(seed), READINGS):
            possible = stretches(model, policy, emissions).possible

            def check(
                p: Vector, model: DayModel = model, policy: Policy = policy, emissions: Emissions = emissions
            ) -> bool:
                return max(gains_of(model, policy, np.reshape(p, (3, 3)), emissions)) <= SLACK

            expected = np.reshape(as_printed(check, 9, sum), (3, 3))
            mechanism = PaHmm(model, policy, check="published", search="published", emissions=emissions)
            assert mechanism.p[possible].tolist() == expected[possible].tolist(), (seed, emissions)
            assert mechanism.passes == check(tuple(mechanism.p.ravel().tolist()))
            ended[mechanism.passes] += 1
    assert min(ended.values()) > 0, ended


def test_where_the_hidden_state_is_the_event_the_topics_reading_is_bayes() -> None:
    for seed in searches(10):
        chain, policy = random_chain(seed, n=3, slots=3), secrets(seed)
        silent = np.random.default_rng(seed).integers(0, 5, (3, 3)) / 4
        exact = Stretches(chain, policy.for_model(chain.contexts, 3), 3)
        read = stretches(chain, policy, "topics")
        found, right = read.excess(silent, read.deltas), exact.excess(silent, exact.deltas)
        assert max(found, 0) == pytest.approx(max(right, 0), abs=1e-12)


EXAMPLE_1 = d.MarkovChain(["s", "x"], [0.5, 0.5], np.zeros((0, 2, 2)))


@pytest.mark.parametrize(("printed", "returned"), [(True, (0.0625, 0.0625)), (False, (0.9625, 1.0))])
def test_algorithm_6_returns_vectors_that_are_not_private(printed: bool, returned: Vector) -> None:
    """On MaskIt's Example 1 (s and x, 1/2 each, delta 1/4), where s may never be published."""

    def check(p: Vector) -> bool:
        told = {"s": (p[0], 0.0), "x": (0.0, p[1]), "NIL": (1 - p[0], 1 - p[1])}
        return all(a / (a + b) - 0.5 <= 0.25 for a, b in told.values() if a + b > 0)

    found = as_printed(check, 2, sum, printed=printed)
    assert found == pytest.approx(returned)
    assert not check(found)
    assert check((0.0, 0.6))


def test_the_mechanism_says_so_and_the_audit_shows_it() -> None:
    mechanism = PaHmm(EXAMPLE_1, d.Policy("s", delta=0.25), search="published")
    assert mechanism.p.tolist() == [[1 / 16, 1 / 16]]
    assert not mechanism.passes
    assert (mechanism.guarantee.kind, mechanism.guarantee.proven) == ("none", False)
    assert "fails it" in mechanism.guarantee.statement
    assert d.audit(mechanism).worst_gain == 0.5
    assert PaHmm(EXAMPLE_1, d.Policy("s", delta=0.5), search="published").guarantee.kind == "exact delta"


def test_the_ceiling_of_a_bisection_that_never_tries_one_is_fifteen_sixteenths() -> None:
    """Table 4's 0.938. As printed, a coordinate that passes at 1 stays there, and everything is published."""
    free = d.Policy("c0", delta=0.999)
    model = random_hidden(1, states=2, n=3, slots=3, zeros=0.0)
    for emissions in READINGS:
        found = PaHmm(model, free, check="published", search="published", emissions=emissions)
        assert found.passes
        assert (found.p == 1).all()
        silent, passes = vector_search(stretches(model, free, emissions), tries_one=False)
        assert passes
        assert set(silent.ravel().tolist()) == {1 / 16}
        assert f"{15 / 16:.3f}" == "0.938"


@pytest.mark.parametrize("emissions", READINGS)
def test_with_a_sound_search_the_printed_check_passes_and_privacy_fails(emissions: Emissions) -> None:
    """One topic, s and x 1/2 each: Eq. 22 does not see that a published event reveals itself."""
    model = d.HiddenMarkovModel(["s", "x"], [1.0], np.zeros((0, 1, 1)), [[0.5, 0.5]])
    mechanism = PaHmm(model, d.Policy("s", delta=0.25), check="published", emissions=emissions)
    assert mechanism.p.tolist() == [[1.0, 1.0]]
    assert mechanism.passes
    assert mechanism.guarantee.kind == "none"
    result = d.audit(mechanism)
    assert (result.worst_gain, result.holds) == (0.5, False)


def test_what_is_always_withheld_is_believed_impossible_by_the_second_reading() -> None:
    """SensitiveMask's zeros in Table 4: W is 0 for secrets that are never published, whatever the topics are."""
    for seed in searches(5):
        model = random_hidden(seed, states=3, n=4, slots=3, zeros=0.0)
        p = np.ones((3, 4))
        p[:, 0] = 0
        policy = d.Policy("c0", delta=0.0)
        assert max(gains_of(model, policy, p, "published")) < 0
        assert max(gains_of(model, policy, p, "topics")) > 0


def test_laws_hold_for_what_is_unsound() -> None:
    for emissions, model in zip(READINGS, models(0, slots=2), strict=True):
        printed = PaHmm(model, Policy("c0", delta=0.1), check="published", search="published", emissions=emissions)
        check_laws(printed, walks=1)


def test_errors() -> None:
    policy = d.Policy("s", delta=0.25)
    with pytest.raises(d.DiscreetError, match="check is 'printed'; use 'exact' or 'published'"):
        PaHmm(EXAMPLE_1, policy, check="printed")  # type: ignore[arg-type]
    with pytest.raises(d.DiscreetError, match="search is 'best'; use 'algpr' or 'published'"):
        PaHmm(EXAMPLE_1, policy, search="best")  # type: ignore[arg-type]
    with pytest.raises(d.DiscreetError, match="emissions is for check='published'"):
        PaHmm(EXAMPLE_1, policy, emissions="published")
