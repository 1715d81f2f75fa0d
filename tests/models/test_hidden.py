from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.clock import Clock
from discreet.errors import DiscreetError, ModelError
from discreet.models import HiddenMarkovModel
from discreet.numerics import FloatArray
from tests.models.test_chain import LABELS, SLOTS, random_chain, random_rows
from tests.strategies import with_states_seen
from tests.test_randomness import fits

STATES = 2


def random_model(seed: int, *, by_slot: bool) -> HiddenMarkovModel:
    rng = np.random.default_rng(seed)
    emissions = random_rows(rng, SLOTS, STATES, 3) if by_slot else random_rows(rng, STATES, 3)
    return HiddenMarkovModel(LABELS, random_rows(rng, STATES), random_rows(rng, SLOTS - 1, STATES, STATES), emissions)


def enumerated(model: HiddenMarkovModel) -> dict[tuple[str, ...], float]:
    """The probability of every day: the sum over every path of hidden states, multiplied out."""
    days = dict.fromkeys(itertools.product(LABELS, repeat=SLOTS), 0.0)
    for path in itertools.product(range(STATES), repeat=SLOTS):
        walked = float(model.initial[path[0]])
        for t in range(1, SLOTS):
            walked *= float(model.transitions[t - 1, path[t - 1], path[t]])
        for seen in itertools.product(range(3), repeat=SLOTS):
            p = walked
            for t in range(SLOTS):
                p *= float(model.emissions[t, path[t], seen[t]])
            days[tuple(LABELS[k] for k in seen)] += p
    return days


@pytest.mark.parametrize("by_slot", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_prior_and_likelihood_equal_enumeration(seed: int, by_slot: bool) -> None:
    model = random_model(seed, by_slot=by_slot)
    days = enumerated(model)
    for t, k in itertools.product(range(SLOTS), range(3)):
        there = sum(p for day, p in days.items() if day[t] == LABELS[k])
        assert math.isclose(model.prior[t, k], there, abs_tol=1e-12)
    scores = model.log_likelihood(list(days))
    for p, score in zip(days.values(), scores.tolist(), strict=True):
        assert score == -math.inf if p == 0 else math.isclose(score, math.log(p), rel_tol=1e-11)


def test_a_chain_is_the_hidden_model_whose_states_are_seen() -> None:
    chain = random_chain(4)
    hidden = with_states_seen(chain)
    days = list(itertools.product(LABELS, repeat=SLOTS))
    np.testing.assert_allclose(hidden.prior, chain.prior, atol=1e-15)
    np.testing.assert_array_equal(hidden.transitions, chain.transitions)
    np.testing.assert_allclose(
        np.exp(hidden.log_likelihood(days)), np.exp(chain.log_likelihood(days)), rtol=1e-12, atol=0
    )


def test_long_days_do_not_underflow() -> None:
    model = HiddenMarkovModel.homogeneous(LABELS, [0.5, 0.5], np.full((2, 2), 0.5), np.full((2, 3), 1 / 3), 5_000)
    assert math.isclose(model.log_likelihood([["a"] * 5_000])[0], -5_000 * math.log(3), rel_tol=1e-9)


def test_a_homogeneous_model_equals_its_arrays_repeated() -> None:
    rng = np.random.default_rng(1)
    initial, step, seen = random_rows(rng, STATES), random_rows(rng, STATES, STATES), random_rows(rng, STATES, 3)
    once = HiddenMarkovModel.homogeneous(LABELS, initial, step, seen, SLOTS)
    repeated = HiddenMarkovModel(LABELS, initial, np.stack([step] * (SLOTS - 1)), np.stack([seen] * SLOTS))
    assert once.fingerprint == repeated.fingerprint
    assert once.fingerprint != random_model(0, by_slot=False).fingerprint


def test_a_label_never_seen_is_impossible() -> None:
    assert random_model(0, by_slot=False).log_likelihood([["a", "x", "a", "a"]])[0] == -math.inf


def test_sampling_is_repeatable_and_follows_the_model() -> None:
    """Chi-square over the contexts of each slot and over pairs, false-alarm rate one in a million each."""
    model = random_model(2, by_slot=True)
    codes = model.sample_codes(20_000, seed=1)
    np.testing.assert_array_equal(codes, model.sample_codes(20_000, seed=1))
    assert model.sample(1, seed=1)[0].contexts == tuple(LABELS[k] for k in model.sample_codes(1, seed=1)[0])
    days = enumerated(model)
    for t in range(SLOTS - 1):
        pairs = np.bincount(codes[:, t] * 3 + codes[:, t + 1], minlength=9).tolist()
        weights = [
            int(1e9 * sum(p for day, p in days.items() if day[t : t + 2] == pair))
            for pair in itertools.product(LABELS, repeat=2)
        ]
        assert fits(pairs, weights)


I2, T2, E2 = [0.5, 0.5], np.full((3, 2, 2), 0.5), np.full((2, 3), 1 / 3)


@pytest.mark.parametrize(
    ("initial", "transitions", "emissions", "message"),
    [
        ([], T2, E2, r"initial sums to 0; divide|no hidden states"),
        (0.5, T2, E2, r"initial has shape \(\); it must be \(\*,\)"),
        (I2, np.full((3, 3, 3), 1 / 3), E2, r"transitions has shape \(3, 3, 3\); it must be \(\*, 2, 2\)"),
        (I2, T2, E2[:, :2], r"emissions has shape \(2, 2\); it must be \(2, 3\)"),
        (I2, T2, np.full((3, 2, 3), 1 / 3), r"emissions has shape \(3, 2, 3\); it must be \(4, 2, 3\)"),
        (I2, T2, E2 * [[1], [1.5]], r"row \[1\] of emissions sums to 1\.5; divide the row"),
        (I2, T2, [[0.5], [0.5, 0.5]], r"emissions is not an array of numbers"),
        (I2, T2, [[2, -1, 0], [1, 0, 0]], r"emissions\[0, 1\] is -1\.0; probabilities"),
    ],
)
def test_arrays_that_are_no_model_are_refused_with_their_place(
    initial: list[float], transitions: FloatArray, emissions: FloatArray, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        HiddenMarkovModel(LABELS, initial, transitions, emissions)


def test_other_misuse_says_what_to_do() -> None:
    with pytest.raises(DiscreetError, match=r"the clock has 24 slots a day, the model 4; use the same"):
        HiddenMarkovModel(LABELS, I2, T2, E2, clock=Clock(24))
    with pytest.raises(ModelError, match=r"initial has shape \(\); it must be"):
        HiddenMarkovModel.homogeneous(LABELS, 1.0, T2[0], E2, 4)
    with pytest.raises(DiscreetError, match=r"the number of slots is 0; give a whole number, 1 or more"):
        HiddenMarkovModel.homogeneous(LABELS, I2, T2[0], E2, 0)
    with pytest.raises(DiscreetError, match=r"the days have 2 slots, the model has 4; cut them with its clock"):
        HiddenMarkovModel(LABELS, I2, T2, E2).log_likelihood([["a", "a"]])


def test_a_slot_is_asked_for_by_its_number() -> None:
    model = random_model(2, by_slot=True)
    for t in range(model.slots):
        np.testing.assert_array_equal(model.prior_at(t), model.prior[t])
    np.testing.assert_array_equal(model.transition(1), model.transitions[1])
    with pytest.raises(DiscreetError, match="no prior of slot -1"):
        model.prior_at(-1)
