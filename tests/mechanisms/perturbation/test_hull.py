"""The sensitivity hull: norm, volume and vertices against linear programmes and known numbers, flat ones included."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from discreet.errors import DiscreetError
from discreet.mechanisms.perturbation import Hull, sensitivity_hull
from discreet.numerics import FloatArray
from tests.mechanisms.perturbation.examples import ANSWERS, CATEGORIES, random_integers
from tests.strategies import searches

AGREE = 1e-9


def slow_norm(differences: FloatArray, vector: FloatArray) -> float:
    """The smallest sum of weights that makes the vector of differences and opposites: the gauge's definition."""
    both = np.concatenate([differences, -differences]).T
    best = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=vector, bounds=(0, None), method="highs")
    return float(best.fun) if best.status == 0 else float("inf")


def test_example_5_1() -> None:
    """Hull area 11 with vertices +-(4,1), +-(1,-1), +-(3,0); the l1 sensitivity is 5."""
    hull = sensitivity_hull(CATEGORIES, ANSWERS)
    assert hull.volume == pytest.approx(11, abs=AGREE)
    assert {tuple(v) for v in hull.vertices.tolist()} == {(4, 1), (-4, -1), (1, -1), (-1, 1), (3, 0), (-3, 0)}
    edges = CATEGORIES.edges
    assert np.abs(ANSWERS[edges[:, 0]] - ANSWERS[edges[:, 1]]).sum(axis=1).max() == 5


def test_example_5_3_vectors_on_an_axis() -> None:
    hull = Hull.of_differences([(1, 0), (1, -1)])
    assert hull.norm((1, 0)) == pytest.approx(1, abs=AGREE)
    assert hull.norm((0, 1)) == pytest.approx(2, abs=AGREE)
    np.testing.assert_allclose(hull.norm([(0, 0), (0, -3), (2, 0)]), [0, 6, 2], atol=AGREE)
    assert hull.contains((1, 0))
    assert not hull.contains((0, 1))


@pytest.mark.slow("compares with a slow twin on many random cases")
def test_norms_equal_those_of_a_linear_programme() -> None:
    for seed in searches(40):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 5))
        differences = random_integers(rng, int(rng.integers(1, 12)), d).astype(np.float64)
        hull = Hull.of_differences(differences)
        assert hull.dimension == np.linalg.matrix_rank(differences)
        vectors = np.concatenate([differences, random_integers(rng, 6, d), np.eye(d), np.zeros((1, d))])
        slow = np.array([slow_norm(differences, vector) for vector in vectors])
        np.testing.assert_allclose(hull.norm(vectors), slow, atol=1e-6, rtol=1e-6, err_msg=f"seed {seed}")
        np.testing.assert_array_equal(hull.norm(-vectors), hull.norm(vectors))
        assert np.all(hull.contains(differences))


def test_volume_is_qhulls_where_nothing_is_flat() -> None:
    for seed in searches(20):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(10, int(rng.integers(2, 5))))
        expected = ConvexHull(np.concatenate([points, -points])).volume
        assert Hull.of_differences(points).volume == pytest.approx(expected, rel=1e-9), seed


def test_degenerate_hulls() -> None:
    none = Hull.of_differences(np.zeros((0, 2)))
    point = Hull.of_differences([(0, 0), (0, 0)])
    for hull, volume in ((none, 0.0), (point, 1.0)):
        assert (hull.dimension, hull.volume) == (0, volume)
        assert hull.norm((0, 0)) == 0
        assert hull.norm((1e-9, 0)) == np.inf
    segment = Hull.of_differences([(3, 4), (-1.5, -2), (3, 4), (0, 0)])
    assert segment.dimension == 1
    assert segment.volume == pytest.approx(10, abs=AGREE)
    assert segment.norm((6, 8)) == pytest.approx(2, abs=AGREE)
    assert segment.norm((6, 8.001)) == np.inf
    assert {tuple(v) for v in segment.vertices.tolist()} == {(3, 4), (-3, -4)}
    polygon = Hull.of_differences([(1, 0, 1), (0, 1, 1), (1, 1, 2), (0.5, 0.5, 1)])  # in the plane z = x + y
    assert polygon.dimension == 2
    assert polygon.volume == pytest.approx(3 * np.sqrt(3), abs=AGREE)  # hexagon of area 3, and the plane's slope
    assert polygon.norm((1, 1, 2)) == pytest.approx(1, abs=AGREE)
    assert polygon.norm((1, -1, 0)) == pytest.approx(2, abs=AGREE)
    assert polygon.norm((0, 0, 1)) == np.inf
    assert len(polygon.vertices) == 6


def test_a_needle_turned_by_45_degrees_is_no_segment() -> None:
    points = np.array([(1e5, 1e5), (1e-3, -1e-3)])
    hull = Hull.of_differences(points)
    assert hull.dimension == 2
    np.testing.assert_allclose(hull.norm(points), 1, atol=1e-6)
    assert hull.volume == pytest.approx(400, rel=1e-6)


def test_samples_are_uniform() -> None:
    """Counts in r times the hull are binomial with chance r^k: 6 standard deviations fail one in 5e8 right ones."""
    generator = np.random.default_rng(7)
    for points in ([(4.0, 1.0), (1.0, -1.0), (3.0, 0.0)], [(1.0, 0, 1), (0, 1, 1)], [(1.0, 2, 3)], [(0.0, 0.0)]):
        hull = Hull.of_differences(points)
        norms = np.asarray(hull.norm(hull.sample(20_000, generator)))
        for radius in (0.3, 0.6, 0.9):
            chance = radius**hull.dimension
            expected, spread = 20_000 * chance, np.sqrt(20_000 * chance * (1 - chance))
            assert abs((norms <= radius).sum() - expected) <= 6 * spread
        if hull.dimension == 2:  # and each half-plane has its share
            sides = hull.sample(20_000, generator) @ np.array([0.3, 1.0, -0.7])[: hull.space]
            assert abs((sides > 0).sum() - 10_000) <= 6 * np.sqrt(5_000)


def test_covariance_is_that_of_the_samples() -> None:
    hull = Hull.of_differences([(4.0, 1.0), (1.0, -1.0), (3.0, 0.0)])
    drawn = hull.sample(200_000, np.random.default_rng(3)) @ hull.basis.T
    np.testing.assert_allclose(drawn.T @ drawn / len(drawn), hull.covariance, rtol=0.03)


def test_what_has_no_hull_is_refused() -> None:
    with pytest.raises(DiscreetError, match="shape"):
        Hull.of_differences([1.0, 2.0])
    with pytest.raises(DiscreetError, match="finite"):
        Hull.of_differences([[1.0, np.nan]])
    for vectors in ([1.0, 2.0, 3.0, 4.0], [[1.0, 2.0, 3.0]], 1.0):
        with pytest.raises(DiscreetError, match=r"give \(2,\) or \(vectors, 2\)"):
            Hull.of_differences([[1.0, 2.0]]).norm(vectors)


@pytest.mark.parametrize("differences", [[(0, 0)], [(1, 2)], [(1, 0), (0, 1)]])
def test_what_is_no_number_lies_in_no_hull(differences: list[tuple[int, int]]) -> None:
    assert not Hull.of_differences(differences).contains([np.nan, 0.0])
    assert np.shape(Hull.of_differences(differences).norm(np.zeros((0, 2)))) == (0,)
