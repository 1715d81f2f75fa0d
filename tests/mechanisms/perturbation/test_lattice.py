"""Exact integers: planar hulls, integer points of subspaces, reduced bases, levels, against slow twins in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from discreet.errors import PolicyError
from discreet.mechanisms.perturbation import Hull
from discreet.mechanisms.perturbation.lattice import (
    Ball,
    LatticeAnswers,
    _determinant,
    _solid,
    cross_polytope,
    hull_ball,
    primitive,
    reduction,
)
from discreet.mechanisms.perturbation.planar import areas_with, group_differences, symmetric_hull
from discreet.mechanisms.perturbation.protection import Sensitivity
from discreet.numerics import IntArray
from tests.mechanisms.perturbation.examples import ANSWERS, random_graph, random_integers
from tests.mechanisms.perturbation.test_hull import slow_norm
from tests.strategies import searches


def exact_norm(ball: Ball, vector: list[int]) -> Fraction | None:
    """The norm in fractions; None off the subspace."""
    if any(sum(a * b for a, b in zip(row, vector, strict=True)) for row in ball.equations.tolist()):
        return None
    heights = [abs(sum(a * b for a, b in zip(row, vector, strict=True))) for row in ball.rows.tolist()]
    return max((Fraction(h, c) for h, c in zip(heights, ball.offsets.tolist(), strict=True)), default=Fraction(0))


def twice_area(corners: IntArray) -> int:
    """Twice the area of a polygon with these corners (the paper's formula lacks the half)."""
    following = np.roll(corners, -1, axis=0)
    return abs(int((corners[:, 0] * following[:, 1] - corners[:, 1] * following[:, 0]).sum()))


def test_planar_hulls_are_qhulls() -> None:
    for seed in searches(60):
        rng = np.random.default_rng(seed)
        points = random_integers(rng, int(rng.integers(1, 30)), 2)
        corners = symmetric_hull(points)
        both = np.concatenate([points, -points])
        if np.linalg.matrix_rank(points) == 2:
            found = ConvexHull(both)
            assert {tuple(c) for c in corners.tolist()} == {tuple(c) for c in both[found.vertices].tolist()}, seed
            assert twice_area(corners) == pytest.approx(2 * found.volume), seed
        else:
            assert len(corners) <= 2, seed
            assert twice_area(corners) == 0


def test_groups_that_the_support_empties_take_no_room() -> None:
    """The plain function, whose arrays refuse what lies outside, equals the compiled one, which would not notice."""
    plain = group_differences.py_func  # type: ignore[attr-defined]
    for seed in searches(20):
        rng = np.random.default_rng(seed)
        points = random_integers(rng, 9, 2)
        sizes = rng.choice([0, 0, 0, 1, 2, 5], size=30)
        picked = [rng.choice(9, size=size, replace=False) for size in sizes]
        members = np.concatenate([p[np.lexsort((points[p, 1], points[p, 0]))] for p in picked]).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        np.testing.assert_array_equal(plain(points, members, starts), group_differences(points, members, starts))


def test_areas_with_one_more_step_are_those_of_their_hulls() -> None:
    for seed in searches(60):
        rng = np.random.default_rng(seed)
        corners = symmetric_hull(random_integers(rng, int(rng.integers(0, 8)), 2))
        steps = random_integers(rng, 10, 2)
        fast = areas_with(corners[np.lexsort((corners[:, 1], corners[:, 0]))], steps)
        slow = [twice_area(symmetric_hull(np.concatenate([corners, step[None]]))) for step in steps]
        assert fast.tolist() == slow, seed


def test_a_plane_in_space_whose_first_coordinates_are_large() -> None:
    """Differences that only Euclid's longest run tells apart: their coordinates in the plane are made small again."""
    points = np.array([(9973, 9967, 9949), (9941, 9931, 9929), (9973 + 9941, 9967 + 9931, 9949 + 9929), (1, 1, 1)])
    points = np.concatenate([points[:2], points[:1] + points[1:2]])
    ball = hull_ball(points)
    assert ball.dimension == 2
    assert ball.contains(points).all()
    for vector in (points[0] - points[1], 3 * points[2], points[0] * 5 - points[1] * 7):
        exact = exact_norm(ball, vector.tolist())
        assert exact is not None
        assert float(exact) == pytest.approx(Hull.of_differences(points).norm(vector), rel=1e-6)


def test_the_hull_of_group_differences_is_that_of_all_edges() -> None:
    for seed in searches(80):
        rng = np.random.default_rng(seed)
        d, n = int(rng.integers(1, 4)), int(rng.integers(2, 14))
        answers = random_integers(rng, n, d)
        graph = random_graph(rng, n)
        inside = rng.random(n) < 0.8
        inside[0] = True
        differences = Sensitivity(graph, LatticeAnswers(answers.astype(np.float64), 1.0), "knorm").differences(inside)
        edges = graph.restricted(inside).edges
        every = answers[edges[:, 0]] - answers[edges[:, 1]]
        ours, slow = hull_ball(differences), hull_ball(every)
        assert {tuple(v) for v in ours.vertices.tolist()} - {(0,) * d} == {tuple(v) for v in slow.vertices.tolist()} - {
            (0,) * d
        }, seed
        assert ours.contains(every).all()
        assert ours.contains(-every).all()


def test_balls_have_the_norm_of_the_hull() -> None:
    for seed in searches(60):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 5))
        points = random_integers(rng, int(rng.integers(1, 14)), d)
        ball, hull = hull_ball(points), Hull.of_differences(points)
        assert ball.dimension == hull.dimension
        vectors = np.concatenate([points, random_integers(rng, 10, d), np.eye(d, dtype=np.int64)])
        levels = ball.levels(vectors, 8)
        for vector, level, norm in zip(vectors.tolist(), levels.tolist(), hull.norm(vectors), strict=True):  # type: ignore[arg-type]
            exact = exact_norm(ball, vector)
            if exact is None:
                assert level == -1
                assert norm == np.inf
                continue
            assert level == -(-8 * exact.numerator // exact.denominator)
            assert float(exact) == pytest.approx(norm, abs=1e-9), seed
        assert (ball.levels(points, 1) <= 1).all()  # K holds every difference: all that the promise needs
        assert (ball.levels(points, 1) >= 0).all()


def test_levels_are_exact_where_64_bits_are_not_enough() -> None:
    ball = hull_ball(np.array([(2**28, 3), (5, 2**29 - 1), (7, 11)]))
    vector = [2**60 + 1, -(2**59)]
    exact = exact_norm(ball, vector)
    assert exact is not None
    assert ball.levels(np.array([vector], dtype=object), 64)[0] == -(-64 * exact.numerator // exact.denominator)
    assert ball.levels(np.array([vector]), 64)[0] == -(-64 * exact.numerator // exact.denominator)


def test_the_basis_makes_every_integer_point_of_the_subspace_and_no_other() -> None:
    for seed in searches(40):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 5))
        vectors = random_integers(rng, int(rng.integers(1, 6)), d)
        span = primitive(vectors)
        k = int(np.linalg.matrix_rank(vectors))
        assert span.basis.shape == (k, d)
        np.testing.assert_array_equal(span.basis @ span.coordinates, np.eye(k, dtype=np.int64))
        grid = np.stack(np.meshgrid(*[np.arange(-2, 3)] * d), axis=-1).reshape(-1, d)
        on = (grid @ span.equations.T == 0).all(axis=1)
        ranks = [int(np.linalg.matrix_rank(np.concatenate([vectors, point[None]]))) for point in grid]
        np.testing.assert_array_equal(on, np.array(ranks) == k, err_msg=f"seed {seed}")
        np.testing.assert_array_equal(grid[on] @ span.coordinates @ span.basis, grid[on])


def test_flats_in_higher_space_stay_exact_where_64_bits_do_not_hold_their_basis() -> None:
    """The basis is of the subspace, primitive (its maximal minors have no common factor), and holds each difference."""
    for seed in searches(40):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(4, 7))
        k = int(rng.integers(2, d))
        most = 2 ** int(rng.integers(8, 27))
        points = rng.integers(-most, most, size=(9, k)) @ rng.integers(-3, 4, size=(k, d))
        ball = hull_ball(points)
        rank = int(np.linalg.matrix_rank(points))
        assert ball.basis.shape == (rank, d)
        assert not (ball.basis.astype(object) @ ball.equations.T.astype(object)).any(), seed
        assert not (points.astype(object) @ ball.equations.T.astype(object)).any(), seed
        rows = ball.basis.tolist()
        minors = [_determinant([[row[c] for c in columns] for row in rows]) for columns in combinations(range(d), rank)]
        assert math.gcd(*minors) == 1, seed
        assert all((exact_norm(ball, point) or 0) <= 1 for point in points.tolist()), seed


def slow_facets(points: IntArray) -> set[tuple[tuple[int, ...], int]]:
    """Every plane through k of the points with all of them on one side, in fractions' integers: the definition."""
    both = np.unique(np.concatenate([points, -points]), axis=0).tolist()
    found = set()
    for simplex in combinations(both, len(both[0])):
        edges = [[a - b for a, b in zip(point, simplex[0], strict=True)] for point in simplex[1:]]
        normal = [
            (-1) ** j * _determinant([[v for i, v in enumerate(edge) if i != j] for edge in edges])
            for j in range(len(simplex))
        ]
        divisor = math.gcd(*normal)
        if divisor:
            normal = [value // divisor for value in normal]
            heights = [sum(a * b for a, b in zip(normal, point, strict=True)) for point in both]
            if max(heights) == abs(sum(a * b for a, b in zip(normal, simplex[0], strict=True))):
                found |= {(tuple(sign * value for value in normal), max(heights)) for sign in (1, -1)}
    return found


@pytest.mark.slow("compares with a slow twin on many random cases")
def test_facets_and_corners_of_solids_are_those_of_the_definition() -> None:
    """Many points in one plane, duplicates and opposites among them; 64 bits and Python's integers give the same."""
    for seed in searches(60):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(3, 5))
        points = rng.integers(-2, 3, size=(int(rng.integers(k, 9 if k == 3 else 7)), k))
        if np.linalg.matrix_rank(points) < k:
            continue
        slow = slow_facets(points)
        for times in (1, 2**40 + 1):  # beyond 64 bits
            normals, offsets, corners = _solid(points * times)
            both = {(tuple(n), c) for n, c in zip(normals.tolist(), offsets.tolist(), strict=True)}
            both |= {(tuple(-value for value in n), c) for n, c in both}
            assert both == {(normal, offset * times) for normal, offset in slow}, seed
            hull = ConvexHull(np.concatenate([points, -points]))
            found = {tuple(c) for c in hull.points[hull.vertices].astype(np.int64).tolist()}
            assert {tuple(value // times for value in c) for c in corners.tolist()} == found, seed


def test_a_body_is_the_hull_whatever_order_its_differences_have() -> None:
    """Rows, offsets and corners are equal to the last bit, the box too: the shape decides them and nothing else."""
    for seed in searches(20):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 5))
        points = rng.integers(-40, 41, size=(15, d)) * np.array([1, 3, 9, 2])[:d]
        ball = hull_ball(points)
        other = hull_ball(rng.permutation(points) * rng.choice([-1, 1], size=(15, 1)))
        for name in ("rows", "offsets", "vertices"):
            np.testing.assert_array_equal(getattr(ball, name), getattr(other, name), err_msg=f"seed {seed}, {name}")


def test_a_hull_that_floats_give_up_is_exact() -> None:
    """Differences that Qhull finds no hull of within its tolerances: the norm is still the hull's."""
    rows = (
        "29 23 8 4 11, 0 -12 15 49 8, -41 -37 -11 -22 -14, -26 -13 -14 -31 -15, 1 -9 11 20 6, 6 3 5 -1 3, 5 -5 12 15 7"
    )
    answers = np.array([[int(value) for value in row.split()] for row in rows.split(",")])
    first, second = np.triu_indices(len(answers), 1)
    differences = answers[first] - answers[second]
    ball = hull_ball(differences)
    assert ball.contains(differences).all()
    assert ball.contains(-differences).all()
    for vector in (*np.eye(5, dtype=np.int64), *(3 * differences)):
        exact = exact_norm(ball, vector.tolist())
        assert exact is not None
        slow = slow_norm(differences.astype(np.float64), vector.astype(np.float64))
        assert float(exact) == pytest.approx(slow, rel=1e-6)


def test_reduction_is_unimodular_and_boxes_are_filled_whatever_the_shape() -> None:
    """The box holds K, and K a share of it that depends on the dimension alone."""
    for seed in searches(40):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 4))
        round_points = rng.normal(size=(20, d))
        round_points /= np.linalg.norm(round_points, axis=1, keepdims=True)
        long = np.diag(10.0 ** rng.uniform(0, 2, size=d))
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        points = np.rint(round_points @ long @ turn * 100).astype(np.int64)
        forth, back = reduction(points)
        np.testing.assert_array_equal(forth @ back, np.eye(d, dtype=np.int64))
        ball = hull_ball(points)
        assert abs(round(np.linalg.det(ball.basis))) == 1
        inner = ball.vertices @ np.linalg.inv(ball.basis)
        assert (np.abs(inner) <= ball.widths + 1e-6).all()
        share = Hull.of_differences(points).volume / np.prod(2.0 * ball.widths)
        assert share > {2: 0.4, 3: 0.1}[d], (seed, share)


def test_the_cross_polytope_is_the_l1_ball() -> None:
    ball = cross_polytope(5, 3)
    vectors = random_integers(np.random.default_rng(1), 50, 3)
    np.testing.assert_array_equal(ball.levels(vectors, 5), np.abs(vectors).sum(axis=1))


def test_answers_are_exact_on_their_lattice() -> None:
    answers = LatticeAnswers(ANSWERS)
    np.testing.assert_array_equal(answers.integers * answers.step, ANSWERS)
    assert answers.integers_of(answers.point([12345, -7])) == [12345, -7]
    assert answers.integers_of((answers.step / 2, 0.0)) is None
    assert answers.integers_of((float("nan"), 0.0)) is None
    assert answers.integers_of((1.0,)) is None
    places = np.random.default_rng(0).normal(size=(50, 2)) * 0.1 + [39.9, 116.4]
    far = LatticeAnswers(np.array([[116.41, 39.9]] * 3))  # all alike: still told as they are
    np.testing.assert_allclose(far.integers * far.step, [[116.41, 39.9]] * 3, rtol=1e-13)
    fine = LatticeAnswers(places)
    assert np.abs(fine.integers * fine.step - places).max() <= fine.step / 2
    assert fine.step <= np.ptp(places, axis=0).max() * 2.0**-19


@pytest.mark.parametrize(("step", "message"), [(0.3, "power of two"), (-1.0, "power of two"), (2.0**-40, "too fine")])
def test_steps_that_do_not_serve_are_refused(step: float, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        LatticeAnswers(ANSWERS, step)
