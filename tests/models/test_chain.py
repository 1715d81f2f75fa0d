from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.clock import Clock
from discreet.contexts import Day
from discreet.errors import DiscreetError, ModelError
from discreet.models import MarkovChain
from discreet.numerics import FloatArray
from tests.test_randomness import fits

LABELS = ("a", "b", "c")
SLOTS = 4


def random_rows(rng: np.random.Generator, *shape: int) -> FloatArray:
    """Rows of probabilities, some of them zero."""
    rows = rng.random(shape) * (rng.random(shape) < 0.7)
    rows[..., 0] += 0.1
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))


def random_chain(seed: int) -> MarkovChain:
    rng = np.random.default_rng(seed)
    return MarkovChain(LABELS, random_rows(rng, 3), random_rows(rng, SLOTS - 1, 3, 3))


def enumerated(chain: MarkovChain) -> dict[tuple[str, ...], float]:
    """The probability of every day, multiplied out."""
    days = {}
    for path in itertools.product(range(3), repeat=SLOTS):
        p = float(chain.initial[path[0]])
        for t in range(1, SLOTS):
            p *= float(chain.transitions[t - 1, path[t - 1], path[t]])
        days[tuple(LABELS[k] for k in path)] = p
    return days


@pytest.mark.parametrize("seed", range(5))
def test_prior_and_likelihood_equal_enumeration(seed: int) -> None:
    chain = random_chain(seed)
    days = enumerated(chain)
    assert math.isclose(sum(days.values()), 1, abs_tol=1e-12)
    for t, k in itertools.product(range(SLOTS), range(3)):
        there = sum(p for day, p in days.items() if day[t] == LABELS[k])
        assert math.isclose(chain.prior[t, k], there, abs_tol=1e-12)
    scores = chain.log_likelihood([Day(day) for day in days])
    for p, score in zip(days.values(), scores.tolist(), strict=True):
        assert score == -math.inf if p == 0 else math.isclose(score, math.log(p), rel_tol=1e-12)
    assert any(p == 0 for p in days.values())  # the case of impossible days was met


def test_a_label_never_seen_is_impossible_and_so_is_leaving_it() -> None:
    chain = MarkovChain.homogeneous(("a", "b"), [0.5, 0.5], np.full((2, 2), 0.5), 4)
    steps = chain.step_log_likelihood([["a", "x", "a", "b"]])
    np.testing.assert_array_equal(np.isneginf(steps), [[False, True, True, False]])
    assert chain.log_likelihood([["x", "a", "a", "a"]])[0] == -math.inf


def test_a_homogeneous_chain_equals_its_matrix_repeated() -> None:
    rng = np.random.default_rng(1)
    initial, matrix = random_rows(rng, 3), random_rows(rng, 3, 3)
    once = MarkovChain.homogeneous(LABELS, initial, matrix, SLOTS)
    repeated = MarkovChain(LABELS, initial, np.stack([matrix] * (SLOTS - 1)))
    np.testing.assert_array_equal(once.transitions, repeated.transitions)
    assert once.fingerprint == repeated.fingerprint
    assert once.transitions.strides[0] == 0  # stored once
    assert MarkovChain.homogeneous(LABELS, initial, matrix, 1).prior.shape == (1, 3)


def test_fingerprints_are_equal_where_chains_are_and_differ_where_they_differ() -> None:
    chain = random_chain(0)
    again = MarkovChain(np.array(LABELS).tolist(), chain.initial, chain.transitions)
    assert again.fingerprint == chain.fingerprint
    numpy_labels = MarkovChain(list(np.array(LABELS)), chain.initial, chain.transitions)
    assert numpy_labels.fingerprint == chain.fingerprint
    minus = MarkovChain(("a", "b"), [1.0, -0.0], np.zeros((0, 2, 2)))
    assert minus.fingerprint == MarkovChain(("a", "b"), [1.0, 0.0], np.zeros((0, 2, 2))).fingerprint
    others = [
        MarkovChain(("a", "b", "d"), chain.initial, chain.transitions),
        MarkovChain(LABELS, chain.initial[::-1], chain.transitions),
        MarkovChain(LABELS, chain.initial, chain.transitions[:, ::-1]),
        MarkovChain(LABELS, chain.initial, chain.transitions[:-1]),
    ]
    assert len({chain.fingerprint, *(other.fingerprint for other in others)}) == 5


def test_rows_nearly_one_are_normalised_once_and_then_left_alone() -> None:
    rng = np.random.default_rng(2)
    rows = random_rows(rng, 47, 12, 12)
    chain = MarkovChain([f"c{k}" for k in range(12)], rows[0, 0], rows * (1 + 1e-10))
    np.testing.assert_allclose(chain.transitions.sum(axis=-1), 1, rtol=0, atol=1e-14)
    again = MarkovChain(chain.contexts, chain.initial, chain.transitions)
    np.testing.assert_array_equal(again.transitions, chain.transitions)


def test_a_chain_cannot_be_changed_from_outside() -> None:
    given = np.array([0.5, 0.5])
    chain = MarkovChain(("a", "b"), given, np.full((1, 2, 2), 0.5))
    given[0] = 7
    assert chain.initial[0] == 0.5
    for array in (chain.initial, chain.transitions, chain.prior):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_sampling_is_repeatable_and_follows_the_chain() -> None:
    """Chi-square over all days, false-alarm rate one in a million; impossible days never come."""
    chain = random_chain(3)
    codes = chain.sample_codes(20_000, seed=1)
    np.testing.assert_array_equal(codes, chain.sample_codes(20_000, seed=1))
    assert chain.sample(3, seed=1)[0].contexts == tuple(LABELS[k] for k in chain.sample_codes(3, seed=1)[0])
    days = enumerated(chain)
    cells = np.bincount(codes @ [27, 9, 3, 1], minlength=81).tolist()
    assert all(count == 0 for count, p in zip(cells, days.values(), strict=True) if p == 0)
    common = [k for k, p in enumerate(days.values()) if p > 0.002]
    scale = 10**9
    weights = [int(p * scale) for p in days.values()]
    rest = [k for k in range(81) if k not in common]
    seen = [*(cells[k] for k in common), sum(cells[k] for k in rest)]
    assert fits(seen, [*(weights[k] for k in common), sum(weights[k] for k in rest) or 0])


I3, T3 = [0.5, 0.25, 0.25], np.full((3, 3, 3), 1 / 3)


@pytest.mark.parametrize(
    ("contexts", "initial", "transitions", "message"),
    [
        ((), [], T3, r"no contexts; give at least one label"),
        ("abc", I3, T3, r"contexts is one string, 'abc'; give a tuple"),
        (("a", "a", "b"), I3, T3, r"context 'a' occurs twice; labels must be distinct"),
        (("a", "", "b"), I3, T3, r"context '' is not a label; use non-empty strings"),
        (("a", 3, "b"), I3, T3, r"context 3 is not a label"),
        (LABELS, I3[:2], T3, r"initial has shape \(2,\); it must be \(3,\)"),
        (LABELS, I3, T3[:, :2], r"transitions has shape \(3, 2, 3\); it must be \(\*, 3, 3\)"),
        (LABELS, I3, T3[0], r"transitions is one matrix.*use MarkovChain.homogeneous"),
        (LABELS, [0.5, 0.5, 0.1], T3, r"initial sums to 1\.1; divide the row by its sum"),
        (LABELS, [1.5, -0.5, 0.0], T3, r"initial\[1\] is -0\.5; probabilities must be numbers from 0 to 1"),
        (LABELS, [np.nan, 0.5, 0.5], T3, r"initial\[0\] is nan; probabilities"),
        (LABELS, I3, T3 * [[[1], [1], [1.1]]], r"row \[0, 2\] of transitions sums to 1\.1; divide the row"),
        (LABELS, I3, [[1, 2], [3]], r"transitions is not an array of numbers"),
        (LABELS, ["x", "y", "z"], T3, r"initial is not an array of numbers"),
    ],
)
def test_arrays_that_are_no_chain_are_refused_with_their_place(
    contexts: tuple[str, ...], initial: list[float], transitions: FloatArray, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        MarkovChain(contexts, initial, transitions)


def test_other_misuse_says_what_to_do() -> None:
    chain = random_chain(0)
    with pytest.raises(DiscreetError, match=r"the number of slots is 0; give a whole number, 1 or more"):
        MarkovChain.homogeneous(LABELS, I3, T3[0], 0)
    with pytest.raises(DiscreetError, match=r"the clock has 24 slots a day, the chain 4; use the same"):
        MarkovChain(LABELS, I3, T3, clock=Clock(24))
    with pytest.raises(DiscreetError, match=r"not learned from days.*use MarkovChain.fit"):
        chain.updated([["a"] * 4])
    with pytest.raises(DiscreetError, match=r"the days have 3 slots, the chain has 4; use the clock"):
        chain.log_likelihood([["a"] * 3])
    with pytest.raises(DiscreetError, match=r"'bb' is not a context of the model; did you mean 'b'"):
        chain.index_of("bb")
    with pytest.raises(DiscreetError, match=r"slot 2 of day 1 is 'x'.*known: 'a', 'b', 'c'"):
        chain.codes([["a"] * 4, ["a", "b", "x", "a"]])
    assert chain.index_of("c") == 2


def test_a_slot_is_asked_for_by_its_number() -> None:
    chain = random_chain(4)
    for t in range(chain.slots):
        np.testing.assert_array_equal(chain.prior_at(t), chain.prior[t])
    for t in range(chain.slots - 1):
        np.testing.assert_array_equal(chain.transition(t), chain.transitions[t])
    for t in (-1, chain.slots):
        with pytest.raises(DiscreetError, match=f"no prior of slot {t}"):
            chain.prior_at(t)
    for t in (-1, chain.slots - 1):
        with pytest.raises(DiscreetError, match=f"no transition of slot {t}"):
            chain.transition(t)
    with pytest.raises(DiscreetError, match="have one: none"):
        MarkovChain(("a",), [1], np.ones((0, 1, 1))).transition(0)
