from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.contracts import Finite, covers_everything
from discreet.events import Events
from discreet.kernels import FiniteKernel, publishing_kernel, silent_kernel, suppressing_kernel
from discreet.numerics import TOTAL, WEIGHT_BITS
from discreet.outputs import SUPPRESSED, Output, PartialEvent, Released
from discreet.randomness import SeededEntropy
from tests.test_randomness import fits

A, B, C = Released("a"), Released("b"), Released("c")
OUTPUTS: tuple[Output, ...] = (A, B, C, SUPPRESSED)


class Given:
    """Gives the bits it is told to."""

    def __init__(self, value: int) -> None:
        self.value = value

    def bits(self, count: int) -> int:
        assert self.value < 1 << count
        return self.value

    def below(self, bound: int) -> int:
        raise AssertionError(f"a power of two needs no rejection below {bound}")


def test_sampling_is_exact_over_every_draw() -> None:
    weights = [[0, 3, 0, 5], [8, 0, 0, 0], [0, 0, 0, 8], [1, 1, 0, 6]]
    kernel = FiniteKernel(OUTPUTS, weights, 8)
    for private, row in enumerate(weights):
        drawn = [kernel.sample(private, Given(value)) for value in range(8)]
        assert [drawn.count(output) for output in OUTPUTS] == row


@pytest.mark.parametrize("row", [(1, 2, 4, 9), (0, 8, 0, 8), (16, 0, 0, 0), (0, 0, 0, 16), (0, 1, 15, 0)])
def test_samples_fit_the_row(row: tuple[int, ...]) -> None:
    """Chi-square with the false-alarm rate of tests.test_randomness, one in a million."""
    kernel = FiniteKernel(OUTPUTS, [row], 16)
    entropy = SeededEntropy(21)
    drawn = [kernel.sample(0, entropy) for _ in range(10_000)]
    counts = [drawn.count(output) for output in OUTPUTS]
    assert fits(counts, row)
    off = tuple(np.roll(row, 1).tolist())
    assert not fits(counts, off)


@pytest.mark.parametrize("off", [(120, 136), (136, 120)])
def test_the_test_rejects_a_weight_that_is_a_sixteenth_off(off: tuple[int, int]) -> None:
    kernel = FiniteKernel((A, B), [off], 256)
    entropy = SeededEntropy(22)
    drawn = [kernel.sample(0, entropy) for _ in range(20_000)]
    assert not fits([drawn.count(A), drawn.count(B)], (128, 128))


def test_likelihood_is_the_column_and_zero_for_what_is_never_output() -> None:
    kernel: Finite = FiniteKernel((A, SUPPRESSED), [[1, 3], [4, 0]], 4)
    np.testing.assert_array_equal(kernel.likelihood(A), [0.25, 1.0])
    np.testing.assert_array_equal(kernel.likelihood(SUPPRESSED), [0.75, 0.0])
    np.testing.assert_array_equal(kernel.likelihood(C), [0.0, 0.0])


@given(
    st.lists(
        st.lists(st.integers(0, 2**20), min_size=3, max_size=3).filter(any),
        min_size=1,
        max_size=4,
    )
)
def test_rounding_gives_no_output_more_than_was_asked_but_the_filler(rows: list[list[int]]) -> None:
    probabilities = np.array([[value / sum(row) for value in row] for row in rows])
    kernel = FiniteKernel.rounded((A, B, SUPPRESSED), probabilities, filler=2)
    assert kernel.total == 1 << WEIGHT_BITS
    for p, row in enumerate(kernel.weights.tolist()):
        assert sum(row) == kernel.total
        for k in range(3):
            exact = Fraction(row[k], kernel.total)
            assert Fraction(float(kernel.matrix[p, k])) == exact  # the quotient is a float, exactly
            if k < 2:
                asked = Fraction(float(probabilities[p, k]))
                assert 0 <= asked - exact < Fraction(1, kernel.total)


def test_what_is_sampled_cannot_change_under_the_kernel() -> None:
    weights = np.array([[1, 1], [2, 0]])
    kernel = FiniteKernel((A, B), weights, 2)
    weights[0] = 0, 2  # the caller's array is still the caller's
    np.testing.assert_array_equal(kernel.weights, [[1, 1], [2, 0]])
    for array in (kernel.weights, kernel.matrix):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


@pytest.mark.parametrize(
    ("outputs", "weights", "total", "message"),
    [
        ((A, B), [[1, 1, 2]], 4, r"2 outputs need weights of shape \(private states, 2\)"),
        ((A, B), [1, 1], 2, r"need weights of shape"),
        ((), [[]], 1, r"0 outputs need weights"),
        ((A, B), [[1, 2]], 3, r"total is 3; use a power of two up to 2\*\*52"),
        ((A, B), [[0, 0]], 0, r"total is 0; use a power of two"),
        ((A,), [[2**53]], 2**53, r"use a power of two up to 2\*\*52"),
        ((A, B), [[1, 1], [1, 0]], 2, r"every row .* non-negative and sum to 2"),
        ((A, B), [[3, -1]], 2, r"every row .* non-negative and sum to 2"),
        ((A, B, C, SUPPRESSED, Released("d")), [[2**62] * 4 + [2]], 2, r"every row .* sum to 2"),  # 2**64 wraps to 0
        ((A, A), [[1, 1]], 2, r"an output occurs twice in a kernel; merge the columns"),
    ],
)
def test_weights_that_are_no_probabilities_are_refused(
    outputs: tuple[Output, ...], weights: list[list[int]], total: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        FiniteKernel(outputs, weights, total)


def test_rounding_refuses_what_is_no_row_of_probabilities() -> None:
    with pytest.raises(ValueError, match=r"row 1 of a kernel is not a row of probabilities"):
        FiniteKernel.rounded((A, SUPPRESSED), np.array([[0.5, 0.5], [1.5, 0.0]]), filler=1)
    with pytest.raises(ValueError, match=r"row 0 of a kernel is not a row of probabilities"):
        FiniteKernel.rounded((A, SUPPRESSED), np.array([[-0.5, 1.5]]), filler=1)


def test_the_silent_kernel_says_nothing() -> None:
    kernel = silent_kernel(3)
    np.testing.assert_array_equal(kernel.likelihood(SUPPRESSED), np.ones(3))
    assert {kernel.sample(private, SeededEntropy(0)) for private in range(3)} == {SUPPRESSED}


def test_the_suppressing_kernel_is_silent_as_often_as_asked_and_no_less() -> None:
    """Multiples of 2**-52 exactly; anything between them is rounded towards silence."""
    silent = np.array([1.0, 0.25, 0.0, 1 / 3])
    kernel = suppressing_kernel(("a", "b", "c", "d"), silent)
    assert kernel.outputs == (B, C, Released("d"), SUPPRESSED)
    quarter = TOTAL // 4
    assert kernel.weights[:3].tolist() == [[0, 0, 0, TOTAL], [3 * quarter, 0, 0, quarter], [0, TOTAL, 0, 0]]
    asked = Fraction(1 / 3)
    assert asked <= Fraction(int(kernel.weights[3, 3]), TOTAL) < asked + Fraction(1, TOTAL)
    assert suppressing_kernel(("a", "b"), np.ones(2)).outputs == (SUPPRESSED,)


def test_the_publishing_kernel_shows_what_is_kept_and_nothing_is_silence() -> None:
    events = Events(("work", "play"), ("day",), ("here",))
    kernel = publishing_kernel(events, np.array([[True, False, True], [False, False, False]]))
    assert kernel.outputs == (PartialEvent("work", None, "here"), SUPPRESSED)
    assert kernel.weights.tolist() == [[1, 0], [0, 1]]


def test_equal_kernels_have_equal_digests_and_others_do_not() -> None:
    kernel = FiniteKernel((A, B), [[1, 3], [2, 2]], 4)
    assert kernel.digest == FiniteKernel((A, B), np.array([[1, 3], [2, 2]], dtype=np.int32), 4).digest
    others = [
        FiniteKernel((A, C), [[1, 3], [2, 2]], 4),
        FiniteKernel((A, B), [[1, 3], [3, 1]], 4),
        FiniteKernel((A, B), [[2, 6], [4, 4]], 8),
        FiniteKernel((A, B), [[1, 3]], 4),
    ]
    assert len({kernel.digest, *(other.digest for other in others)}) == 5


def test_a_kernel_that_says_it_does_not_cover_everything_does_not() -> None:
    class Saying(FiniteKernel):
        covers_everything = False

    kernel = Saying((SUPPRESSED,), [[1]], 1)
    assert not covers_everything(kernel)
    Saying.covers_everything = True
    assert covers_everything(kernel)
