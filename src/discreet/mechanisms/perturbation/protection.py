"""Degree of protection, exposure, and protectable graphs (DPHMM, Sections 5.2 and 6.1, Algorithms 1 and 3).

A context is exposed when no other possible one has its answer within the noise's ball: then some output tells it from
all others by more than e^epsilon. Edges are added until nobody is. Everything is decided in the lattice's integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from discreet.errors import PolicyError
from discreet.mechanisms.perturbation.hull import Hull
from discreet.mechanisms.perturbation.lattice import Ball, LatticeAnswers, cross_polytope, hull_ball
from discreet.mechanisms.perturbation.planar import areas_with, group_differences, symmetric_hull
from discreet.mechanisms.perturbation.policy_graph import PolicyGraph, Support, checked_query, mask_of
from discreet.numerics import BoolArray, IntArray

Noise = Literal["knorm", "laplace"]
Protect = Literal["greedy", "minimum"]


class Body(Protocol):
    """What noise is shaped by: a `Hull`, or the exact `Ball`."""

    def contains(self, vectors: Any) -> bool | BoolArray:
        """Whether vectors (m, d) lie in it."""


def sensitivity_hull(graph: PolicyGraph, query: npt.ArrayLike, support: Support | None = None) -> Hull:
    """The hull of the answers' differences over all edges of the graph, cut to a support where one is given."""
    answers = checked_query(query, graph.contexts)
    cut = graph if support is None else graph.restricted(support)
    edges = cut.edges
    return Hull.of_differences(answers[edges[:, 0]] - answers[edges[:, 1]])


def degrees_of_protection(body: Body, answers: npt.ArrayLike, support: Support | None = None) -> IntArray:
    """(n,): how many possible contexts have their answer within the body around each one's (Definition 5.2); 0 outside.

    `answers` are the query's for a `Hull`, and the lattice's integers for a `Ball`.
    """
    points = np.asarray(answers)
    inside = np.ones(len(points), dtype=np.bool_) if support is None else mask_of(support, len(points))
    members = np.flatnonzero(inside)
    degrees = np.zeros(len(points), dtype=np.int64)
    for c in members:
        degrees[c] = np.count_nonzero(body.contains(points[members] - points[c]))
    return degrees


def exposed(body: Body, answers: npt.ArrayLike, support: Support | None = None) -> IntArray:
    """The possible contexts that nothing but themselves protects (degree 1)."""
    return np.flatnonzero(degrees_of_protection(body, answers, support) == 1)


class Sensitivity:
    """A query under a policy graph: the ball of its noise for any support. Groups are sorted once, by their answers."""

    def __init__(self, graph: PolicyGraph, answers: LatticeAnswers, noise: Noise) -> None:
        self.answers, self.noise = answers, noise
        self.space = answers.integers.shape[1]
        if self.space > 2:
            self._edges = graph.edges
            return
        plane = np.zeros((len(answers.integers), 2), dtype=np.int64)
        plane[:, : self.space] = answers.integers
        group = np.repeat(np.arange(len(graph.starts) - 1), np.diff(graph.starts))
        order = np.lexsort((plane[graph.members, 1], plane[graph.members, 0], group))
        self._plane, self._members, self._group, self._count = plane, graph.members[order], group, len(graph.starts) - 1

    def differences(self, inside: BoolArray) -> IntArray:
        """(m, d): differences over edges inside the mask, with every corner of their hull (one of two opposites)."""
        if self.space > 2:
            first, second = self._edges[inside[self._edges].all(axis=1)].T
            return np.asarray(self.answers.integers[first] - self.answers.integers[second])
        kept = inside[self._members]
        members, group = self._members[kept], self._group[kept]
        if not len(members):
            return np.zeros((0, self.space), dtype=np.int64)
        sizes = np.bincount(group, minlength=self._count)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return group_differences(self._plane, members, starts)[:, : self.space]

    def ball(self, differences: IntArray) -> Ball:
        """The hull of differences, or the l1 ball of their largest l1 norm for Laplace noise."""
        if self.noise == "laplace":
            return cross_polytope(int(np.abs(differences).sum(axis=1).max(initial=0)), self.space)
        return hull_ball(differences)


@dataclass(frozen=True)
class Protected:
    """A protectable graph of a support: the edges that were added, and the ball of each query's noise."""

    added: tuple[tuple[int, int], ...]
    balls: tuple[Ball, ...]


def protection_of(graph: PolicyGraph, queries: Sequence[Sensitivity], inside: BoolArray, method: Protect) -> Protected:
    """Cut the graph to a support and add edges until no possible context is exposed.

    With several queries one and the same context must protect another in all of them: epsilons add up over a pair, and
    two pairs that are close in one query each are not close in both.
    """
    differences = [query.differences(inside) for query in queries]
    balls = [query.ball(given) for query, given in zip(queries, differences, strict=True)]
    members = np.flatnonzero(inside)
    added: list[tuple[int, int]] = []
    if len(members) > 1:
        joined = np.zeros(len(inside), dtype=np.bool_)
        joined[graph.cut(inside)[0]] = True
        lonely = [int(c) for c in members[~joined[members]] if _alone(int(c), members, queries, balls)]
        for c in lonely:
            if method == "minimum" and not _alone(c, members, queries, balls):
                continue  # an edge added for another protects it too
            other = _nearest(c, members, queries) if method == "greedy" else _least(c, members, queries, differences)
            added.append((min(c, other), max(c, other)))
            for k, query in enumerate(queries):
                step = query.answers.integers[[c]] - query.answers.integers[[other]]
                differences[k] = np.concatenate([differences[k], step])
                if method == "minimum":
                    balls[k] = query.ball(differences[k])
        if lonely and method == "greedy":
            balls = [query.ball(given) for query, given in zip(queries, differences, strict=True)]
    return Protected(tuple(dict.fromkeys(added)), tuple(balls))


def protectable(
    graph: PolicyGraph,
    query: npt.ArrayLike,
    support: Support | None = None,
    *,
    method: Protect = "greedy",
    noise: Noise = "knorm",
    step: float | None = None,
) -> PolicyGraph:
    """The graph cut to a support, with the edges added that leave no context exposed (Algorithms 1 and 3)."""
    answers = checked_query(query, graph.contexts)
    inside = np.ones(graph.contexts, dtype=np.bool_) if support is None else mask_of(support, graph.contexts)
    sensitivity = Sensitivity(graph, LatticeAnswers(answers, step), noise)
    check_method(method, (sensitivity,))
    return graph.restricted(inside).with_edges(protection_of(graph, (sensitivity,), inside, method).added)


def check_method(method: Protect, queries: Sequence[Sensitivity]) -> None:
    """Refuse what is not defined: the minimum is one of areas, for one query in the plane (or of l1 balls)."""
    if method not in ("greedy", "minimum"):
        raise PolicyError(f"protect={method!r} is not known; use 'greedy' or 'minimum'")
    if method == "minimum" and (len(queries) > 1 or (queries[0].noise == "knorm" and queries[0].space != 2)):
        raise PolicyError("protect='minimum' compares areas, so it needs one query with two coordinates; use 'greedy'")


def _alone(c: int, members: IntArray, queries: Sequence[Sensitivity], balls: Sequence[Ball]) -> bool:
    """Whether no other member lies within every query's ball around context c."""
    near = np.ones(len(members), dtype=np.bool_)
    for query, ball in zip(queries, balls, strict=True):
        points = query.answers.integers
        near &= ball.contains(points[members] - points[c])
    return int(near.sum()) == 1


def _nearest(c: int, members: IntArray, queries: Sequence[Sensitivity]) -> int:
    """Algorithm 1, line 3: the member whose answers are nearest (l2), the first of equals."""
    others = members[members != c]
    squared = np.zeros(len(others))
    for query in queries:
        steps = query.answers.integers[others] - query.answers.integers[c]
        squared += np.square(steps * query.answers.step).sum(axis=1)
    return int(others[squared.argmin()])


def _least(c: int, members: IntArray, queries: Sequence[Sensitivity], differences: Sequence[IntArray]) -> int:
    """Algorithm 3, lines 6 to 13: the member whose edge enlarges the ball least; of equals the nearest, the first."""
    others, (query,) = members[members != c], queries
    steps = query.answers.integers[others] - query.answers.integers[c]
    if query.noise == "laplace":
        return int(others[np.abs(steps).sum(axis=1).argmin()])
    corners = symmetric_hull(differences[0])
    areas = areas_with(corners[np.lexsort((corners[:, 1], corners[:, 0]))], steps)
    return int(others[np.lexsort(((steps**2).sum(axis=1), areas))[0]])
