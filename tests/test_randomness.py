from __future__ import annotations

import bisect
import hashlib
import itertools
from collections.abc import Sequence

import pytest
from scipy.stats import chi2

from discreet.errors import DiscreetError
from discreet.randomness import Entropy, SeededEntropy, SystemEntropy

FALSE_ALARM = 1e-6
"""How often a chi-square test here rejects a sampler that is right."""


def fits(counts: Sequence[int], weights: Sequence[int]) -> bool:
    """Chi-square: whether counts may come from weights / sum; an output of weight zero that was drawn never does."""
    draws, total = sum(counts), sum(weights)
    if any(count and not weight for count, weight in zip(counts, weights, strict=True)):
        return False
    expected = [draws * weight / total for weight in weights if weight]
    seen = [count for count, weight in zip(counts, weights, strict=True) if weight]
    statistic = sum((count - mean) ** 2 / mean for count, mean in zip(seen, expected, strict=True))
    return bool(chi2.sf(statistic, len(expected) - 1) > FALSE_ALARM) if len(expected) > 1 else True


def drawn(weights: Sequence[int], draws: int, entropy: Entropy) -> list[int]:
    counts = [0] * len(weights)
    for _ in range(draws):
        counts[bisect.bisect(list(itertools.accumulate(weights)), entropy.below(sum(weights)))] += 1
    return counts


@pytest.mark.parametrize("weights", [(1, 1), (1, 2, 3, 4), (5, 0, 3, 0, 2), (97, 3), (0, 7), (3, 0), (1, 0, 0, 12)])
@pytest.mark.parametrize("entropy", [SeededEntropy(11), SystemEntropy()], ids=["seeded", "system"])
def test_draws_below_a_sum_fall_on_its_parts_by_their_weight(weights: tuple[int, ...], entropy: Entropy) -> None:
    assert fits(drawn(weights, 20_000, entropy), weights)


@pytest.mark.parametrize(
    ("weights", "wrong"),
    [((50, 50), (54, 46)), ((50, 50), (46, 54)), ((10, 20, 70), (12, 20, 68)), ((10, 20, 70), (8, 20, 72))],
)
def test_the_same_test_rejects_weights_that_are_off(weights: tuple[int, ...], wrong: tuple[int, ...]) -> None:
    assert not fits(drawn(wrong, 20_000, SeededEntropy(12)), weights)


def test_large_weights_stay_exact() -> None:
    # A float comparison would lose the last unit: 2**70 and one more.
    assert drawn([0, 2**70, 0], 50, SeededEntropy(1)) == [0, 50, 0]
    assert fits(drawn([2**70, 2**70 + 1], 4_000, SeededEntropy(2)), [1, 1])


def test_below_is_uniform_where_the_bound_is_no_power_of_two() -> None:
    for bound in (3, 5, 6, 7, 100):
        entropy = SeededEntropy(bound)
        counts = [0] * bound
        for _ in range(300 * bound):
            counts[entropy.below(bound)] += 1
        assert fits(counts, [1] * bound)


def test_each_bit_is_fair_and_none_is_used_twice() -> None:
    entropy = SeededEntropy(5)
    values = [entropy.bits(13) for _ in range(8_000)]
    for bit in range(13):
        ones = sum(value >> bit & 1 for value in values)
        assert fits([ones, len(values) - ones], [1, 1])
    whole = SeededEntropy(5).bits(13 * 8_000)
    assert values == [whole >> 13 * k & (2**13 - 1) for k in range(8_000)]


def test_edges_of_bits_and_below() -> None:
    entropy = SeededEntropy(3)
    assert [entropy.bits(0) for _ in range(5)] == [0] * 5
    assert [entropy.below(1) for _ in range(5)] == [0] * 5
    assert entropy.bits(16) == SeededEntropy(3).bits(16)  # neither used up a bit
    assert 0 <= entropy.bits(5_000) < 2**5_000
    assert {entropy.below(2) for _ in range(64)} == {0, 1}
    for bound in (0, -1):
        with pytest.raises(DiscreetError, match=rf"no integer lies below {bound} .*; give a bound of 1 or more"):
            entropy.below(bound)
    with pytest.raises(DiscreetError, match=r"-1 bits cannot be drawn; ask for 0 or more"):
        entropy.bits(-1)


def test_seeded_entropy_is_pinned() -> None:
    entropy = SeededEntropy(7)
    assert entropy.bits(64) == 11569609969101449104
    assert [entropy.below(10) for _ in range(8)] == [7, 3, 3, 9, 2, 0, 3, 7]
    by_hand = b"".join(hashlib.shake_256(b"discreet:7:%d" % block).digest(64) for block in (1, 2, 3))
    assert SeededEntropy(7).bits(8 * len(by_hand)) == int.from_bytes(by_hand, "little")


def test_seeds_repeat_and_differ() -> None:
    assert SeededEntropy(1).bits(512) == SeededEntropy(1).bits(512)
    assert len({SeededEntropy(seed).bits(64) for seed in range(-50, 50)}) == 100
    assert SystemEntropy().bits(128) != SystemEntropy().bits(128)


def test_the_base_class_has_no_source() -> None:
    with pytest.raises(DiscreetError, match=r"use SystemEntropy, KeyedEntropy or SeededEntropy"):
        Entropy().bits(1)
