"""K-norm noise: the continuous law of the paper, and the law on a lattice that is drawn for releases.

Laplace noise is the K-norm noise of the l1 ball, so one law serves both. The proof that the lattice law keeps its
promise, as it is sampled, stands beside this file, in noise.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from numbers import Real

import numpy as np
import numpy.typing as npt

from discreet.contracts import Rng
from discreet.errors import PolicyError
from discreet.mechanisms.perturbation.hull import Hull
from discreet.mechanisms.perturbation.lattice import Ball, product_of
from discreet.mechanisms.perturbation.solid import SAFE
from discreet.numerics import FloatArray, IntArray

FINE = 8
"""Levels of the norm are at most 1 / (8 epsilon) apart where the lattice is fine enough: the expected noise is then
within a thousandth of the continuous law's."""

SMALL = Fraction(1, 2048)
"""Below this rate a table of scales would be long (some 50 / rate entries): geometric variables are drawn instead."""

COARSE = Fraction(1)
"""Above this rate most scales are 0 and boxes hold few points, so that scales are drawn by the number of points."""


def checked_epsilon(epsilon: object) -> float:
    """A privacy level that means something."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real) or not 0 < float(epsilon) < math.inf:
        raise PolicyError(f"epsilon is {epsilon!r}; give a number above 0")
    return float(epsilon)


class ContinuousNoise:
    """Density exp(-epsilon |z|_K) / (k! vol(K) epsilon^-k) on the span of K, k its dimension (DPHMM, Equation 1).

    For measures and experiments. Floats are not real numbers, so what is released is drawn from `LatticeNoise`.
    """

    def __init__(self, hull: Hull, epsilon: float) -> None:
        self.hull, self.epsilon = hull, checked_epsilon(epsilon)

    def density(self, vectors: npt.ArrayLike) -> float | FloatArray:
        """Of one noise vector (d,), or of (m, d), with respect to volume in the hull's own dimension."""
        k = self.hull.dimension
        mass = math.factorial(k) * (self.hull.volume if k else 1.0) * self.epsilon**-k
        density = np.exp(-self.epsilon * np.asarray(self.hull.norm(vectors))) / mass
        return float(density) if density.ndim == 0 else density

    def sample(self, count: int, generator: np.random.Generator) -> FloatArray:
        """(count, d): a point uniform in K, times r from Gamma(k + 1, 1 / epsilon)."""
        uniform = self.hull.sample(count, generator)
        return np.asarray(uniform * generator.gamma(self.hull.dimension + 1, 1 / self.epsilon, count)[:, None])

    def isotropic(self, count: int, generator: np.random.Generator) -> FloatArray:
        """The planar isotropic mechanism's way: draw where K has unit covariance, map back. The same law."""
        hull = self.hull
        if hull.dimension == 0:
            return self.sample(count, generator)
        spread, axes = np.linalg.eigh(hull.covariance)
        there = hull.basis.T @ axes / np.sqrt(spread)  # (d, k): to isotropic position
        back = (np.sqrt(spread)[:, None] * axes.T) @ hull.basis
        round_hull = Hull.of_differences(hull.vertices @ there)
        return np.asarray(ContinuousNoise(round_hull, self.epsilon).sample(count, generator) @ back)


class LatticeNoise:
    """Integer noise z with probability proportional to exp(-epsilon level(z) / parts), level(z) = ceil(parts |z|_K).

    `parts` is a power of two: how many levels one unit of the norm is cut into. A difference of norm 1 moves the level
    by at most `parts`, so probabilities over an edge differ by e^epsilon at most, exactly.
    """

    def __init__(self, ball: Ball, epsilon: float) -> None:
        self.ball, self.epsilon = ball, checked_epsilon(epsilon)
        self.parts = _parts(ball, self.epsilon)
        self._widths = [int(width) for width in ball.widths]
        rate = Fraction(self.epsilon) / self.parts
        self._coarse = rate > COARSE
        self._scales: Inversion = (
            BoxScales(rate, self._widths, self.parts) if self._coarse else scales(rate, ball.dimension)
        )
        self._basis = [[int(value) for value in row] for row in ball.basis]
        self._rows, self._offsets = ball.inner_rows, ball.offsets
        heights = product_of(np.abs(self._rows), ball.widths[:, None])  # over the box, one scale
        wide = self._rows.dtype == object or self._offsets.dtype == object
        self._safe = 0 if wide else SAFE // (4 * self.parts * int(heights.max(initial=1)))  # scales that fit in 64 bits
        self._box = math.prod(2 * width for width in self._widths)

    def exponents(self, vectors: IntArray) -> FloatArray:
        """(m,): log of each noise vector's probability, against the likeliest of these; -inf if it cannot occur."""
        levels = self.ball.levels(vectors, self.parts)
        occurs = levels >= 0
        least = levels[occurs].min() if occurs.any() else 0  # taken off in integers: floats would lose it far away
        return np.where(occurs, -(self.epsilon / self.parts) * (levels - least).astype(np.float64), -np.inf)

    def sample(self, rng: Rng) -> list[int]:
        """Draw noise with exactly those probabilities: no float is compared."""
        k = len(self._widths)
        if k == 0:
            return [0] * self.ball.rows.shape[1]
        while True:
            scale = self._scales.sample(rng)
            halves = [scale * width // self.parts for width in self._widths]
            if not self._coarse:  # proposed as C(scale + k, k) q^scale; thinned to the points of the box, times q^scale
                points = math.prod(2 * half + 1 for half in halves) * self.parts**k
                if rng.below(self._box * math.perm(scale + k, k)) >= points:
                    continue
            inner = [rng.below(2 * half + 1) - half for half in halves]
            if self._inside(inner, scale):
                return [
                    sum(w * b for w, b in zip(inner, column, strict=True)) for column in zip(*self._basis, strict=True)
                ]

    def _inside(self, inner: list[int], scale: int) -> bool:
        """Whether the point with these coordinates lies in K times scale / parts."""
        if scale < self._safe:
            heights = np.abs(self._rows @ np.array(inner))
            return bool((heights * self.parts <= self._offsets * scale).all())
        return all(
            abs(sum(w * r for w, r in zip(inner, row, strict=True))) * self.parts <= offset * scale
            for row, offset in zip(self._rows.tolist(), self._offsets.tolist(), strict=True)
        )


def _parts(ball: Ball, epsilon: float) -> int:
    """The least power of two from 8 epsilon on, but no finer than half a lattice step: boxes are then well filled."""
    wanted = 1 << (math.ceil(FINE * Fraction(epsilon)) - 1).bit_length()
    narrowest = min((int(width) for width in ball.widths), default=1)
    return min(wanted, 1 << (2 * narrowest).bit_length() - 1)


class Inversion(ABC):
    """Integers s = 0, 1, ... with a distribution function F, drawn exactly with as many random bits as it takes.

    s is where F(s - 1) <= U < F(s), and the table holds integers below and above 2^bits F(s). In the rare case that 64
    bits of U leave it open, more bits are drawn.
    """

    def __init__(self) -> None:
        self._tables: dict[int, tuple[list[int], list[int]]] = {}

    def sample(self, rng: Rng) -> int:
        """Draw s."""
        drawn, bits = rng.bits(64), 64
        while True:
            below, above = self.table(bits)
            s = bisect_right(above, drawn)  # U >= F(s - 1), whatever its further bits
            if s < len(below) and drawn < below[s]:
                return s
            drawn, bits = drawn << 64 | rng.bits(64), bits + 64

    def table(self, bits: int) -> tuple[list[int], list[int]]:
        """Integers at most and at least 2^bits F(s), for s from 0 until more of them would tell nothing."""
        if bits not in self._tables:
            self._tables[bits] = self._made(bits)
        return self._tables[bits]

    @abstractmethod
    def _made(self, bits: int) -> tuple[list[int], list[int]]:
        """The table, made."""


class Scales(Inversion):
    """P(s) proportional to C(s + k, k) exp(-rate s), for a rate up to 1: the sum of k + 1 geometric variables."""

    def __init__(self, rate: Fraction, k: int) -> None:
        super().__init__()
        self.rate, self.k = rate, k

    def sample(self, rng: Rng) -> int:
        """Draw s."""
        if self.rate < SMALL:
            return sum(geometric(self.rate.numerator, self.rate.denominator, rng) for _ in range(self.k + 1))
        return super().sample(rng)

    def _made(self, bits: int) -> tuple[list[int], list[int]]:
        one = 1 << bits
        low, high = _exponential(self.rate, bits)
        least, most = one - high, one - low
        for _ in range(self.k):  # (1 - q)^(k + 1)
            least, most = least * (one - high) >> bits, -(-most * (one - low) >> bits)
        below, above = [least], [most]
        while least > 0:
            s = len(below)
            least = least * low * (s + self.k) // (s << bits)
            most = -(-most * high * (s + self.k) // (s << bits))
            below.append(below[-1] + least)
            above.append(min(above[-1] + most, one))
        return below, above


class BoxScales(Inversion):
    """P(s) ∝ N(s) exp(-rate s), N(s) = prod_m (2 floor(s h_m / parts) + 1) points of a box, for a rate from 1 on."""

    def __init__(self, rate: Fraction, widths: list[int], parts: int) -> None:
        super().__init__()
        self.rate, self.widths, self.parts = rate, widths, parts

    def _made(self, bits: int) -> tuple[list[int], list[int]]:
        k, s = len(self.widths), 0
        fine = bits + sum(width.bit_length() + 1 for width in self.widths)  # so that wide boxes lose no bits
        low, high = _exponential(self.rate, fine)
        least = most = 1 << fine  # bounds of 2^fine q^s
        terms = []  # of 2^fine N(s) q^s
        while least > 0 or s < 4 * k:
            points = math.prod(2 * (s * width // self.parts) + 1 for width in self.widths)
            terms.append((points * least, points * most))
            least, most, s = least * low >> fine, -(-most * high >> fine), s + 1
        # What follows: N(s) <= M s^k with M = prod (2 h_m / parts + 1), and s^k q^s falls to less than a half at each
        # step, since q <= e^-1 and (1 + 1 / s)^k <= e^(1/4) from s = 4 k on.
        rest = 2 * math.prod(2 * width // self.parts + 2 for width in self.widths) * s**k * most
        below, above = (list(accumulate(sums)) for sums in zip(*terms, strict=True))
        return (
            [(value << bits) // (above[-1] + rest) for value in below],
            [min(-((-value << bits) // below[-1]), 1 << bits) for value in above],
        )


@lru_cache(maxsize=64)
def scales(rate: Fraction, k: int) -> Scales:
    """One table serves every hull of a dimension at one rate."""
    return Scales(rate, k)


def _exponential(rate: Fraction, bits: int) -> tuple[int, int]:
    """Integers at most and at least 2^bits exp(-rate)."""
    if rate >= bits:
        return 0, 1
    guard = bits + 32
    term, total, k = Fraction(1 << guard), 0, 0
    while True:
        # A term loses less than 1, and the terms that follow from it lose their shares: an alternating series, whose
        # sum k int_0^1 (1 - u)^(k - 1) exp(-rate u) du lies between 0 and 1. So each term errs by less than 1 in all.
        part = int(term)
        if part == 0:
            break
        total += part if k % 2 == 0 else -part
        k += 1
        term = Fraction(part) * rate / k
    return max(0, (total - 2 * k - 2) >> 32), -(-(total + 2 * k + 2) >> 32)


def geometric(numerator: int, denominator: int, rng: Rng) -> int:
    """P(x) ∝ exp(-x numerator / denominator), x = 0, 1, ... (Canonne, Kamath and Steinke 2020, Algorithm 2)."""
    while True:
        remainder = rng.below(denominator)
        if _happens(remainder, denominator, rng):
            break
    whole = 0
    while _happens(1, 1, rng):
        whole += 1
    return (remainder + denominator * whole) // numerator


def _happens(numerator: int, denominator: int, rng: Rng) -> bool:
    """True with probability exp(-numerator / denominator), for a quotient from 0 to 1 (their Algorithm 1)."""
    k = 1
    while rng.below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
