"""Degree of protection, exposure and protectable graphs: the paper's examples; no random graph stays exposed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from discreet.errors import PolicyError
from discreet.mechanisms.perturbation import (
    PolicyGraph,
    degrees_of_protection,
    exposed,
    protectable,
    sensitivity_hull,
)
from discreet.mechanisms.perturbation.lattice import LatticeAnswers, cross_polytope
from discreet.mechanisms.perturbation.protection import Sensitivity, protection_of
from tests.mechanisms.perturbation.examples import ANSWERS, CATEGORIES, random_graph, random_integers
from tests.strategies import enough, searches


def test_figure_9a_a_disconnected_context_may_be_protected() -> None:
    """Support {s2, s4, s5, s6}: s2 is protected by s4 and s5, degree 3."""
    support = [1, 3, 4, 5]
    hull = sensitivity_hull(CATEGORIES, ANSWERS, support)
    degrees = degrees_of_protection(hull, ANSWERS, support)
    assert degrees[1] == 3
    assert degrees[[0, 2]].tolist() == [0, 0]
    assert len(exposed(hull, ANSWERS, support)) == 0
    assert protectable(CATEGORIES, ANSWERS, support) == CATEGORIES.restricted(support)


def test_example_6_1_the_minimum_protectable_graph() -> None:
    """Support {s3 .. s6}: area 9 and s3 exposed; edges to s4, s5, s6 give 14, 16, 20; minimum takes s4, nearest s5."""
    support = [2, 3, 4, 5]
    cut = CATEGORIES.restricted(support)
    hull = sensitivity_hull(cut, ANSWERS)
    assert hull.volume == pytest.approx(9)
    assert exposed(hull, ANSWERS, support).tolist() == [2]
    areas = [sensitivity_hull(cut.with_edges([(2, other)]), ANSWERS).volume for other in (3, 4, 5)]
    assert areas == pytest.approx([14, 16, 20])
    assert protectable(CATEGORIES, ANSWERS, support, method="minimum") == cut.with_edges([(2, 3)])
    assert protectable(CATEGORIES, ANSWERS, support, method="greedy") == cut.with_edges([(2, 4)])


def test_example_5_2_exposure_differs_between_the_hull_and_the_l1_ball() -> None:
    """Support {s2, s3, s5}: l1 sensitivity 2; the hull is a segment, and s5 is exposed to both kinds of noise."""
    support = [1, 2, 4]
    hull = sensitivity_hull(CATEGORIES, ANSWERS, support)
    assert hull.dimension == 1
    assert exposed(hull, ANSWERS, support).tolist() == [4]
    integers = ANSWERS.astype(np.int64)
    assert exposed(cross_polytope(2, 2), integers, support).tolist() == [4]
    assert exposed(cross_polytope(3, 2), integers, support).tolist() == []


def test_example_5_3_protected_by_laplace_only() -> None:
    """Differences (1, 0) and (1, -1): (0, 1) lies in the l1 ball of radius 2, not in the hull."""
    answers = np.array([(0, 0), (1, 0), (0, 1)])
    graph = PolicyGraph.from_edges(3, [(0, 1), (1, 2)])
    hull = sensitivity_hull(graph, answers)
    assert hull.norm((0, 1)) == pytest.approx(2)
    assert not hull.contains((0, 1))
    assert cross_polytope(2, 2).contains(np.array([(0, 1)])).all()


@pytest.mark.parametrize("noise", ["knorm", "laplace"])
@pytest.mark.parametrize("method", ["greedy", "minimum"])
def test_no_context_is_left_exposed(method: str, noise: str) -> None:
    added = 0
    for seed in searches(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 9))
        answers = LatticeAnswers(random_integers(rng, n, 2).astype(np.float64), 1.0)
        graph = random_graph(rng, n)
        inside = rng.random(n) < 0.7
        inside[rng.choice(n, 2, replace=False)] = True
        query = Sensitivity(graph, answers, noise)  # type: ignore[arg-type]
        protected = protection_of(graph, (query,), inside, method)  # type: ignore[arg-type]
        assert len(exposed(protected.balls[0], answers.integers, inside)) == 0, seed
        assert all(inside[i] and inside[j] for i, j in protected.added)
        edges = graph.restricted(inside).with_edges(protected.added).edges
        every = answers.integers[edges[:, 0]] - answers.integers[edges[:, 1]]
        assert protected.balls[0].contains(every).all(), seed
        added += len(protected.added)
    assert added > enough(10)


def test_greedy_joins_the_nearest_and_minimum_the_least_area() -> None:
    """Against loops over every choice, in random planar cases with one exposed context."""
    seen = 0
    for seed in searches(150):
        rng = np.random.default_rng(seed)
        n = 6
        integers = rng.integers(-9, 10, size=(n, 2))
        graph = PolicyGraph(n, [rng.choice(n - 1, 3, replace=False).tolist()])
        hull = sensitivity_hull(graph, integers)
        alone = exposed(hull, integers)
        if alone.tolist() != [n - 1] or len(np.unique(integers, axis=0)) < n:
            continue
        seen += 1
        distances = np.linalg.norm(integers[:-1] - integers[-1], axis=1)
        areas = []
        for other in range(n - 1):
            edges = graph.with_edges([(n - 1, other)]).edges
            steps = integers[edges[:, 0]] - integers[edges[:, 1]]
            both = np.concatenate([steps, -steps])
            areas.append(ConvexHull(both).volume if np.linalg.matrix_rank(both) == 2 else 0.0)
        greedy = protectable(graph, integers, method="greedy", step=1.0)
        least = protectable(graph, integers, method="minimum", step=1.0)
        chosen = [set(g.neighbours(n - 1).tolist()) for g in (greedy, least)]
        assert distances[chosen[0].pop()] == pytest.approx(distances.min()), seed
        assert areas[chosen[1].pop()] == pytest.approx(min(areas)), seed
    assert seen > enough(10)


def test_with_several_queries_one_context_protects_in_all_of_them() -> None:
    """Context 2 is near 0 in one query and near 1 in the other: neither protects it in both, so it is exposed."""
    first = LatticeAnswers(np.array([[0.0], [9.0], [1.0]]), 1.0)
    second = LatticeAnswers(np.array([[0.0], [9.0], [8.0]]), 1.0)
    graph = PolicyGraph.from_edges(3, [])
    queries = tuple(Sensitivity(graph, answers, "knorm") for answers in (first, second))
    protected = protection_of(graph, queries, np.ones(3, dtype=np.bool_), "greedy")
    for c in range(3):
        near = [
            ball.contains(q.answers.integers - q.answers.integers[c])
            for ball, q in zip(protected.balls, queries, strict=True)
        ]
        assert (near[0] & near[1]).sum() > 1


def test_what_is_not_defined_is_refused() -> None:
    with pytest.raises(PolicyError, match="two coordinates"):
        protectable(PolicyGraph.complete(2), [[0.0], [1.0]], method="minimum")
    with pytest.raises(PolicyError, match="not known"):
        protectable(CATEGORIES, ANSWERS, method="nearest")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="answers 6 contexts, the model has 2"):
        protectable(PolicyGraph.complete(2), ANSWERS)
    with pytest.raises(PolicyError, match="support is empty"):
        protectable(CATEGORIES, ANSWERS, [])


def test_one_context_has_nobody_to_be_joined_to() -> None:
    assert len(protectable(CATEGORIES, ANSWERS, [4]).edges) == 0
