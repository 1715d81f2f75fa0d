"""Policy graphs: the four kinds of the paper, cut to what is possible, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import PolicyError
from discreet.mechanisms.perturbation import PolicyGraph
from tests.mechanisms.perturbation.examples import ANSWERS, CATEGORIES, random_graph
from tests.strategies import random_chain, random_hidden, searches


def test_complete_and_categories() -> None:
    assert len(PolicyGraph.complete(5).edges) == 10
    assert PolicyGraph.categories([[0], [1, 2], [3, 4, 5]]) == CATEGORIES
    assert CATEGORIES.neighbours(4).tolist() == [3, 5]
    assert hash(PolicyGraph.categories([[5, 4, 3], [2, 1], [0]])) == hash(CATEGORIES)


def test_within_joins_answers_at_most_a_radius_apart() -> None:
    graph = PolicyGraph.within(ANSWERS, np.sqrt(2))
    near = np.linalg.norm(ANSWERS[:, None] - ANSWERS[None], axis=2) <= np.sqrt(2)
    np.testing.assert_array_equal(graph.adjacency, near & ~np.eye(6, dtype=np.bool_))


def test_transitions_join_what_can_follow_one_context() -> None:
    for seed in searches(20):
        chain = random_chain(seed, n=5, slots=4, zeros=0.6)
        joined = np.zeros((5, 5), dtype=np.bool_)
        for step in chain.transitions:
            for i in range(5):
                joined |= np.outer(step[i] > 0, step[i] > 0)
        np.fill_diagonal(joined, False)
        np.testing.assert_array_equal(PolicyGraph.transitions(chain).adjacency, joined, err_msg=f"seed {seed}")


def test_example_4_1_a_graph_is_cut_to_what_is_possible() -> None:
    """Figure 3d: only s2s3 is left of the categories when s2, s3 and s5 are possible."""
    cut = CATEGORIES.restricted([1, 2, 4])
    assert cut.edges.tolist() == [[1, 2]]
    assert cut.contexts == 6


def test_cutting_equals_cutting_the_adjacency() -> None:
    for seed in searches(40):
        rng = np.random.default_rng(seed)
        graph = random_graph(rng, 7)
        inside = rng.random(7) < 0.6
        inside[rng.integers(7)] = True
        expected = graph.adjacency & inside[:, None] & inside[None]
        np.testing.assert_array_equal(graph.restricted(inside).adjacency, expected, err_msg=f"seed {seed}")
        more = graph.with_edges([(0, 6)]).adjacency
        assert more[0, 6]
        assert (more >= graph.adjacency).all()
        assert more.sum() <= graph.adjacency.sum() + 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PolicyGraph.from_edges(3, [(0, 3)]), "names context 3; contexts are 0 to 2"),
        (lambda: PolicyGraph.from_edges(3, [(-1, 2)]), "names context -1"),
        (lambda: PolicyGraph.from_edges(3, [(1, 1)]), "joins context 1 with itself"),
        (lambda: PolicyGraph.from_edges(3, [0, 1]), "give pairs of context numbers"),
        (lambda: PolicyGraph.categories([[0, 1], [1]]), "exactly once"),
        (lambda: PolicyGraph.within(ANSWERS, float("nan")), "radius is nan"),
        (lambda: PolicyGraph.within([[0.0], [float("nan")]], 1.0), "answer for context 1"),
        (lambda: PolicyGraph.within([["a"]], 1.0), "not a table of numbers"),
        (lambda: PolicyGraph.transitions(random_hidden(1)), "needs a chain"),
        (lambda: PolicyGraph.complete(0), "at least 1"),
        (lambda: CATEGORIES.restricted([]), "support is empty"),
        (lambda: CATEGORIES.restricted(np.zeros(6, dtype=np.bool_)), "support is empty"),
        (lambda: CATEGORIES.restricted([6]), "outside 0 to 5"),
        (lambda: CATEGORIES.restricted([0.5]), "context numbers"),
        (lambda: CATEGORIES.restricted(["s1"]), "context numbers"),
        (lambda: PolicyGraph.from_edges(3, [(0, 1), (2,)]), "edges are not pairs"),
        (lambda: CATEGORIES.restricted(np.ones(5, dtype=np.bool_)), r"shape \(6,\)"),
    ],
)
def test_what_cannot_be_a_graph_or_a_support_is_refused(make: object, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        make()  # type: ignore[operator]
