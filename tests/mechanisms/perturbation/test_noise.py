"""The two laws of noise: what they are, that draws follow them, and that the lattice's keeps its ratio exactly.

Statistical tests fail a right law at most once in 10^6 runs and are shown to fail a scale that is 20 % off, up or down.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, product

import numpy as np
import pytest
from scipy.stats import binom, gamma, kstest, nbinom

from discreet.errors import PolicyError
from discreet.mechanisms.perturbation import ContinuousNoise, Hull, LatticeNoise
from discreet.mechanisms.perturbation.lattice import Ball, LatticeAnswers, cross_polytope, hull_ball
from discreet.mechanisms.perturbation.noise import COARSE, SMALL, BoxScales, Scales, geometric
from discreet.mechanisms.perturbation.protection import Noise, Sensitivity, protection_of
from discreet.numerics import FloatArray, IntArray
from discreet.randomness import SeededEntropy, SystemEntropy
from tests.mechanisms.perturbation.examples import ANSWERS, random_graph, random_integers
from tests.strategies import enough, searches

FALSE_ALARM = 1e-6
SHAPES: dict[str, list[tuple[int, ...]]] = {
    "polygon": [(4, 1), (1, -1), (3, 0)],
    "on the axes": [(5, 0), (0, 2)],
    "segment": [(2, 4)],
    "line": [(7,)],
    "flat in space": [(2, 0, 2), (0, 3, 3)],
    "solid": [(3, 0, 0), (0, 2, 0), (1, 1, 2)],
}


def hull(name: str) -> Hull:
    return Hull.of_differences(np.array(SHAPES[name], dtype=np.float64))


# --- the continuous law


@pytest.mark.parametrize("name", ["polygon", "on the axes"])
def test_the_density_integrates_to_one(name: str) -> None:
    noise = ContinuousNoise(hull(name), 1.3)
    reach, steps = 50.0, 501
    axis = np.linspace(-reach, reach, steps)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    total = np.asarray(noise.density(grid)).sum() * (axis[1] - axis[0]) ** 2
    assert total == pytest.approx(1, abs=2e-3)


def test_the_density_on_a_segment_integrates_to_one_along_it() -> None:
    noise = ContinuousNoise(hull("segment"), 0.7)
    direction = np.array([1, 2]) / np.sqrt(5)
    axis = np.linspace(-200, 200, 400_001)
    total = np.asarray(noise.density(axis[:, None] * direction)).sum() * (axis[1] - axis[0])
    assert total == pytest.approx(1, abs=1e-4)
    assert noise.density((1.0, 2.1)) == 0
    assert ContinuousNoise(Hull.of_differences([(0, 0)]), 1.0).density((0, 0)) == 1


def follows(hull: Hull, epsilon: float, drawn: FloatArray) -> bool:
    """Norms are Gamma(k, 1 / epsilon), whatever the hull, and each facet's cone has its share of the volume."""
    norms = np.asarray(hull.norm(drawn))
    if kstest(norms, gamma(hull.dimension, scale=1 / epsilon).cdf).pvalue < FALSE_ALARM / 2:
        return False
    inner, corners = drawn @ hull.basis.T, hull._corners
    inside = (np.linalg.solve(np.swapaxes(corners, 1, 2)[:, None], inner[None, :, :, None]) >= 0).all(axis=(2, 3))
    counts, shares = inside.sum(axis=1), hull._volumes / hull.volume
    tails = np.minimum(binom.cdf(counts, len(drawn), shares), binom.sf(counts - 1, len(drawn), shares))
    return bool((tails >= FALSE_ALARM / (4 * len(counts))).all())


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("way", ["sample", "isotropic"])
def test_the_planar_isotropic_mechanism_is_k_norm_noise(name: str, way: str) -> None:
    """Drawn in isotropic position and mapped back, or drawn at once: one and the same law, which fails at 20 % off."""
    noise = ContinuousNoise(hull(name), 0.8)
    drawn = getattr(noise, way)(8000, np.random.default_rng(5))
    assert follows(noise.hull, 0.8, drawn)
    assert not follows(noise.hull, 0.8 * 1.2, drawn)
    assert not follows(noise.hull, 0.8 / 1.2, drawn)


# --- the lattice law


def points_around(ball: Ball, norm: int) -> IntArray:
    """Every integer point of the subspace up to a norm."""
    axes = [np.arange(-norm * int(width), norm * int(width) + 1) for width in ball.widths]
    inner = np.array(list(product(*[axis.tolist() for axis in axes])), dtype=np.int64).reshape(-1, ball.dimension)
    points = inner @ ball.basis
    return np.asarray(points[ball.levels(points, 1) <= norm])


def lattice_follows(noise: LatticeNoise, epsilon: float, drawn: IntArray, norm: int) -> bool:
    """Draws against the exact probabilities of each level, and of each half-space within it, for a given epsilon."""
    points = points_around(noise.ball, norm)
    levels = noise.ball.levels(points, noise.parts)
    weights = np.exp(-epsilon / noise.parts * levels)
    rank = 1 + (points @ (7.0 ** np.arange(points.shape[1])) > 0)  # which side of a plane through the origin
    cells = levels * 2 + rank
    chances = np.bincount(cells, weights) / weights.sum()
    mine = noise.ball.levels(drawn, noise.parts)
    counts = np.bincount(mine * 2 + 1 + (drawn @ (7.0 ** np.arange(drawn.shape[1])) > 0), minlength=len(chances))
    tails = np.minimum(
        binom.cdf(counts[: len(chances)], len(drawn), chances),
        binom.sf(counts[: len(chances)] - 1, len(drawn), chances),
    )
    return bool((tails[chances > 0] >= FALSE_ALARM / (4 * len(chances))).all())


@pytest.mark.slow("draws many points")
@pytest.mark.parametrize("name", SHAPES)
def test_draws_follow_the_lattice_law(name: str) -> None:
    """Cut off at a norm of 40, where e^-40 is left: 16000 draws do not see it."""
    epsilon = 2.0 if len(SHAPES[name][0]) == 3 else 1.1
    noise = LatticeNoise(hull_ball(np.array(SHAPES[name])), epsilon)
    rng = SeededEntropy(3)
    drawn = np.array([noise.sample(rng) for _ in range(16_000)])
    norm = 20 if noise.ball.dimension == 3 else 40
    assert lattice_follows(noise, epsilon, drawn, norm)
    assert not lattice_follows(noise, epsilon * 1.2, drawn, norm)
    assert not lattice_follows(noise, epsilon / 1.2, drawn, norm)


def test_every_point_of_a_shell_is_equally_likely() -> None:
    """Points of one level, each binomial: exact tails, one false alarm in 10^6."""
    noise = LatticeNoise(hull_ball(np.array([(2, 1), (0, 2)])), 1.0)
    rng = SeededEntropy(8)
    drawn = [tuple(noise.sample(rng)) for _ in range(20_000)]
    points = points_around(noise.ball, 30)
    weights = np.exp(-noise.epsilon / noise.parts * noise.ball.levels(points, noise.parts))
    chances = weights / weights.sum()
    counted: dict[tuple[int, ...], int] = {}
    for point in drawn:
        counted[point] = counted.get(point, 0) + 1
    likely = chances > 1e-3
    counts = np.array([counted.get(tuple(point), 0) for point in points[likely].tolist()])
    tails = np.minimum(
        binom.cdf(counts, len(drawn), chances[likely]), binom.sf(counts - 1, len(drawn), chances[likely])
    )
    assert (tails > FALSE_ALARM / (2 * likely.sum())).all()


def test_fine_lattices_have_the_continuous_laws_noise() -> None:
    """Mean norm k / epsilon; its standard error over 6000 draws is 0.01, and 5 % (7 of them) is far below 20 %."""
    for epsilon in (0.3, 1.0, 5.0):
        noise = LatticeNoise(hull_ball(np.array(SHAPES["polygon"]) * 2**12), epsilon)
        rng = SeededEntropy(11)
        drawn = np.array([noise.sample(rng) for _ in range(6000)])
        mean = float(np.mean(Hull.of_differences(np.array(SHAPES["polygon"]) * 2.0**12).norm(drawn)))
        assert mean == pytest.approx(2 / epsilon, rel=0.05)


def test_releases_draw_from_the_operating_system() -> None:
    noise = LatticeNoise(hull_ball(np.array(SHAPES["polygon"])), 1.0)
    assert len({tuple(noise.sample(SystemEntropy())) for _ in range(50)}) > 10
    assert LatticeNoise(hull_ball(np.zeros((1, 2), dtype=np.int64)), 1.0).sample(SystemEntropy()) == [0, 0]


def test_the_ratio_over_every_edge_stays_within_e_to_the_epsilon() -> None:
    """In integers: levels of any output differ by `parts` at most: at corners, beyond, far away; flat hulls too."""
    looked = 0
    for seed in searches(60):
        rng = np.random.default_rng(seed)
        d, n = int(rng.integers(1, 4)), int(rng.integers(2, 9))
        answers = LatticeAnswers(random_integers(rng, n, d).astype(np.float64), 1.0)
        graph = random_graph(rng, n)
        inside = rng.random(n) < 0.8
        inside[:2] = True
        kinds: list[Noise] = ["knorm", "laplace"]
        for kind in kinds:
            query = Sensitivity(graph, answers, kind)
            protected = protection_of(graph, (query,), inside, "greedy")
            noise = LatticeNoise(protected.balls[0], float(rng.choice([0.1, 1.0, 4.0])))
            edges = [*graph.restricted(inside).edges.tolist(), *protected.added]
            steps = [s * v for v in noise.ball.vertices for s in (1, 2, 7, 10**6)]
            noises = np.concatenate(
                [rng.integers(-9, 10, size=(20, noise.ball.dimension)) @ noise.ball.basis, *[s[None] for s in steps]]
            )
            for i, j in edges:
                outputs = answers.integers[i] + noises
                here = noise.ball.levels(outputs - answers.integers[i], noise.parts)
                there = noise.ball.levels(outputs - answers.integers[j], noise.parts)
                assert (here >= 0).all(), (seed, kind)
                assert (there >= 0).all(), (seed, kind)
                assert np.abs(here - there).max() <= noise.parts, (seed, kind)
                looked += len(outputs)
    assert looked > enough(10_000)


# --- scales


def test_scales_are_negative_binomial_and_their_table_is_exact() -> None:
    for rate, k in ((Fraction(1, 8), 2), (Fraction(0.07), 3), (Fraction(1, 16), 0)):
        table = Scales(rate, k)
        below, above = table.table(64)
        exact = nbinom(k + 1, -np.expm1(-float(rate))).cdf(np.arange(len(below)))
        np.testing.assert_allclose(np.array(below, dtype=np.float64) / 2.0**64, exact, atol=1e-12)
        assert all(low <= high for low, high in zip(below, above, strict=True))
        assert max(high - low for low, high in zip(below, above, strict=True)) < 2**20
        finer = table.table(128)
        for s in range(0, len(below), 37):  # what more bits say lies within what fewer did
            assert below[s] << 64 <= finer[0][s] <= finer[1][s] <= above[s] << 64
        assert below[-1] > 2**64 - 2**20


class Stuck:
    """Bits that fall exactly on a boundary, then go on at random."""

    def __init__(self, first: int) -> None:
        self.first: int | None = first
        self.entropy = SeededEntropy(1)

    def bits(self, count: int) -> int:
        if self.first is not None:
            first, self.first = self.first, None
            return first
        return self.entropy.bits(count)

    def below(self, bound: int) -> int:
        return self.entropy.below(bound)


def test_a_draw_on_a_boundary_is_settled_by_more_bits() -> None:
    table = Scales(Fraction(1, 8), 2)
    below, above = table.table(64)
    assert table.sample(Stuck(above[10])) == 11
    assert table.sample(Stuck(below[10] - 1)) == 10
    assert {table.sample(Stuck(below[10])) for _ in range(3)} <= {10, 11}
    assert table.sample(Stuck(2**64 - 1)) > 300  # beyond the table of 64 bits


@pytest.mark.parametrize("rate", [Fraction(9, 8), Fraction(5), Fraction(40), Fraction(10**5)])
@pytest.mark.parametrize(("widths", "parts"), [([1], 2), ([262144, 1], 2), ([57, 27, 13], 16)])
def test_tables_enclose_the_law_where_the_lattice_is_coarse(rate: Fraction, widths: list[int], parts: int) -> None:
    """Against sums of 200 terms in 120 digits."""
    with localcontext() as context:
        context.prec = 120
        q = (-Decimal(rate.numerator) / rate.denominator).exp()
        points = [math.prod(2 * (s * width // parts) + 1 for width in widths) for s in range(200)]
        sums = list(accumulate(count * q**s for s, count in enumerate(points)))
        for bits in (64, 128):
            below, above = BoxScales(rate, widths, parts).table(bits)
            assert above == sorted(above)
            for s, (low, high) in enumerate(zip(below, above, strict=True)):
                assert low <= sums[s] / sums[-1] * 2**bits <= high
                assert high - low < 2**20


@pytest.mark.parametrize("epsilon", [6.0, 9.0])
def test_draws_follow_the_law_of_a_needle_on_a_coarse_lattice(epsilon: float) -> None:
    noise = LatticeNoise(hull_ball(np.array([(30, 10), (90, 31)])), epsilon)
    assert epsilon / noise.parts > COARSE
    rng = SeededEntropy(4)
    drawn = np.array([noise.sample(rng) for _ in range(16_000)])
    assert lattice_follows(noise, epsilon, drawn, 8)
    assert not lattice_follows(noise, 1.2 * epsilon, drawn, 8)
    assert not lattice_follows(noise, epsilon / 1.2, drawn, 8)


class Counted(SeededEntropy):
    """Counts what is asked of it."""

    asked = 0

    def bits(self, count: int) -> int:
        self.asked += 1
        return super().bits(count)


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 5.0, 10.0, 20.0, 50.0, 1e3, 1e7])
def test_places_on_a_slanted_line_take_few_tries_whatever_epsilon(epsilon: float) -> None:
    """On the lattice they are a needle 262144 steps long and one wide: 60 calls a draw are some 10 tries."""
    answers = LatticeAnswers(np.array([(0, 0), (1, 1 / 3), (3, 1)])).integers
    noise = LatticeNoise(hull_ball(answers[[1, 2, 2]] - answers[[0, 1, 0]]), epsilon)
    assert noise.ball.widths.min() == 1
    rng = Counted(6)
    for _ in range(200):
        noise.sample(rng)
    assert rng.asked < 200 * 60


def test_far_away_the_ratio_over_an_edge_is_kept_by_the_likelihood_too() -> None:
    """Levels of 10^15 and more, where a float's own rounding is above epsilon."""
    edge = np.array([(4, 1), (1, -1), (3, 0)])
    noise = LatticeNoise(hull_ball(edge), 0.7)
    for far in (10**6, 10**12, 10**17):
        for z in far * np.concatenate([edge, -edge]) + [1, 2]:
            for a in edge:
                both = noise.exponents(np.array([z, z + a]))
                assert both.max() == 0
                assert both.min() >= -0.7
            assert noise.exponents(np.array([z, z + z])).min() < -0.7 * far / 2  # what is further away is less likely


@pytest.mark.parametrize("rate", [Fraction(1, 8), Fraction(1, 3000)])
def test_scales_are_drawn_as_tabled_and_as_geometric_sums(rate: Fraction) -> None:
    """The table's way and that of Canonne, Kamath and Steinke: both pass the same test, which fails at 20 % off."""
    rng = SeededEntropy(2)
    table = Scales(rate, 2)
    assert (rate < SMALL) == (rate == Fraction(1, 3000))
    ways = [[table.sample(rng) for _ in range(3000)]]
    ways.append([sum(geometric(rate.numerator, rate.denominator, rng) for _ in range(3)) for _ in range(3000)])
    for drawn in ways:
        for factor, right in ((1.0, True), (1.2, False), (1 / 1.2, False)):
            law = nbinom(3, -np.expm1(-float(rate) * factor))
            marks = law.ppf([0.1, 0.3, 0.5, 0.7, 0.9])
            counts, chances = (np.array(drawn)[:, None] <= marks).sum(axis=0), law.cdf(marks)
            tails = np.minimum(binom.cdf(counts, 3000, chances), binom.sf(counts - 1, 3000, chances))
            assert (tails.min() > FALSE_ALARM / 10) == right


def test_laplace_noise_is_the_k_norm_noise_of_the_l1_ball() -> None:
    """Theorem 5.1: with as many parts as the radius, levels are l1 norms, so coordinates are independent Laplace."""
    noise = LatticeNoise(cross_polytope(8, 2), 1.0)
    assert noise.parts == 8
    points = np.array([(0, 0), (3, 0), (0, -5), (2, 2), (-40, 1)])
    np.testing.assert_allclose(noise.exponents(points), -np.abs(points).sum(axis=1) / 8)


def test_example_5_2_the_ratio_of_laplace_noise() -> None:
    """l1 sensitivity 2, |f(s5) - f(s3)|_1 = 3: the ratio is exp(3/2 epsilon)."""
    noise = LatticeNoise(cross_polytope(2 * 2**10, 2), 1.0)
    away = ((ANSWERS[4] - ANSWERS[[4, 2, 1]]) * 2**10).astype(np.int64)
    np.testing.assert_allclose(noise.exponents(away), [0, -1.5, -1.5])


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), "1", True])
def test_an_epsilon_that_means_nothing_is_refused(epsilon: float) -> None:
    with pytest.raises(PolicyError, match="give a number above 0"):
        LatticeNoise(cross_polytope(2, 2), epsilon)
