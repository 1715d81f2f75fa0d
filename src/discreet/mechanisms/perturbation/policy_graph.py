"""Policy graphs: which contexts must not be told apart (Xiao et al., DPHMM, Section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from discreet.contracts import DayModel
from discreet.errors import PolicyError
from discreet.models.routine.endless import EndlessChain
from discreet.numerics import BoolArray, FloatArray, IntArray

Support = npt.ArrayLike
"""The contexts that are possible: a mask (n,) of booleans, or their indices."""

NEAR = 1 + 1e-9
"""Pairs are searched this much further apart than asked for, then measured here: a search's sums may be fused."""


class PolicyGraph:
    """An undirected graph over n contexts, kept as groups: every two contexts of a group are joined by an edge.

    An edge alone is a group of two. All the graphs of the paper are unions of few groups, and the hull of a group needs
    its outermost answers only, not its edges one by one. Group g is members[starts[g] : starts[g + 1]].
    """

    def __init__(self, contexts: int, groups: Iterable[Iterable[int]]) -> None:
        if contexts < 1:
            raise PolicyError(f"a policy graph over {contexts} contexts has nothing to protect; give at least 1")
        distinct = dict.fromkeys(tuple(sorted({int(c) for c in group})) for group in groups)
        kept = [group for group in distinct if len(group) > 1]
        for group in kept:
            if group[0] < 0 or group[-1] >= contexts:
                wrong = group[0] if group[0] < 0 else group[-1]
                raise PolicyError(f"the policy graph names context {wrong}; contexts are 0 to {contexts - 1}")
        self.contexts = contexts
        self.starts: IntArray = np.cumsum([0, *map(len, kept)], dtype=np.int64)
        self.members: IntArray = np.array([c for group in kept for c in group], dtype=np.int64)
        for array in (self.starts, self.members):
            array.setflags(write=False)

    @classmethod
    def complete(cls, contexts: int) -> PolicyGraph:
        """Every two contexts are joined: complete protection."""
        return cls(contexts, [range(contexts)])

    @classmethod
    def categories(cls, categories: Sequence[Iterable[int]]) -> PolicyGraph:
        """Contexts of one category are joined; each context 0..n-1 stands in exactly one."""
        groups = [list(category) for category in categories]
        listed = sorted(c for group in groups for c in group)
        if listed != list(range(len(listed))):
            raise PolicyError(f"categories must hold each context 0, 1, ... exactly once; these hold {listed}")
        return cls(len(listed), groups)

    @classmethod
    def within(cls, query: npt.ArrayLike, radius: float) -> PolicyGraph:
        """Contexts whose answers (n, d) lie at most `radius` apart (l2) are joined: the utility-oriented policy."""
        answers = checked_query(query)
        if not radius >= 0:  # also catches NaN
            raise PolicyError(f"radius is {radius}; give a distance of 0 or more")
        from scipy.spatial import cKDTree

        pairs = cKDTree(answers).query_pairs(radius * NEAR, output_type="ndarray")  # in any order, some too far
        squared = np.square(answers[pairs[:, 0]] - answers[pairs[:, 1]]).sum(axis=1)
        kept = pairs[squared <= radius * radius]
        return cls.from_edges(len(answers), kept[np.lexsort((kept[:, 1], kept[:, 0]))])

    @classmethod
    def transitions(cls, chain: DayModel | EndlessChain) -> PolicyGraph:
        """Contexts that can follow one and the same context, at any slot of the chain, nights included, are joined."""
        if chain.emissions is not None:
            raise PolicyError("the one-step transition graph needs a chain; a hidden Markov model has no such steps")
        n = len(chain.contexts)
        packed = np.concatenate([np.packbits(steps.reshape(-1, n) > 0, axis=1) for steps in _steps(chain)])
        rows = np.unpackbits(np.unique(packed, axis=0), axis=1, count=n).astype(np.bool_)
        return cls(n, (np.flatnonzero(row).tolist() for row in rows))

    @classmethod
    def from_edges(cls, contexts: int, edges: npt.ArrayLike) -> PolicyGraph:
        """The graph with these edges (m, 2)."""
        try:
            pairs = np.asarray(edges)
        except ValueError:
            raise PolicyError("edges are not pairs; give an array (edges, 2) of context numbers") from None
        if pairs.size == 0:
            return cls(contexts, ())
        if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
            raise PolicyError(f"edges have shape {pairs.shape} and type {pairs.dtype}; give pairs of context numbers")
        loops = pairs[:, 0] == pairs[:, 1]
        if loops.any():
            raise PolicyError(f"an edge joins context {pairs[loops][0, 0]} with itself; edges join two contexts")
        return cls(contexts, pairs.tolist())

    @cached_property
    def adjacency(self) -> BoolArray:
        """(n, n): whether two contexts are joined; nobody is joined with itself."""
        joined = np.zeros((self.contexts, self.contexts), dtype=np.bool_)
        for start, stop in pairwise(self.starts.tolist()):
            group = self.members[start:stop]
            joined[np.ix_(group, group)] = True
        np.fill_diagonal(joined, False)
        joined.setflags(write=False)
        return joined

    @property
    def edges(self) -> IntArray:
        """(m, 2): each edge once, the smaller context first."""
        return np.argwhere(np.triu(self.adjacency))

    def neighbours(self, context: int) -> IntArray:
        """The contexts joined with one, without itself."""
        return np.flatnonzero(self.adjacency[context])

    def with_edges(self, edges: Iterable[tuple[int, int]]) -> PolicyGraph:
        """The same graph with more edges."""
        groups = [group.tolist() for group in np.split(self.members, self.starts[1:-1])] if len(self.members) else []
        return PolicyGraph(self.contexts, [*groups, *edges])

    def restricted(self, support: Support) -> PolicyGraph:
        """The graph cut to the contexts that are possible; the others stay as contexts without edges."""
        inside = mask_of(support, self.contexts)
        members, starts = self.cut(inside)
        groups = np.split(members, starts[1:-1]) if len(members) else []
        return PolicyGraph(self.contexts, (group.tolist() for group in groups))

    def cut(self, inside: BoolArray) -> tuple[IntArray, IntArray]:
        """(members, starts) of the groups cut to a mask, those of fewer than two left out."""
        kept = inside[self.members]
        sizes = np.add.reduceat(kept, self.starts[:-1], dtype=np.int64) if len(kept) else np.zeros(0, dtype=np.int64)
        kept &= np.repeat(sizes > 1, np.diff(self.starts))
        return self.members[kept], np.concatenate([[0], np.cumsum(sizes[sizes > 1])]).astype(np.int64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PolicyGraph):
            return NotImplemented
        return self.contexts == other.contexts and np.array_equal(self.adjacency, other.adjacency)

    def __hash__(self) -> int:
        return hash((self.contexts, np.packbits(self.adjacency).tobytes()))

    def __repr__(self) -> str:
        return f"PolicyGraph({self.contexts} contexts, {len(self.starts) - 1} groups)"


def _steps(chain: DayModel | EndlessChain) -> list[FloatArray]:
    """All steps of a chain, those of a homogeneous one once."""
    if isinstance(chain, EndlessChain):
        routine = chain.routine
        return [*(routine.day(kind).transitions for kind in routine.kinds), *routine.nights.values()]
    steps = chain.transitions
    return [steps[:1] if len(steps) and steps.strides[0] == 0 else steps]


def mask_of(support: Support, contexts: int) -> BoolArray:
    """The mask (n,) of a support; an empty one is an error, because then nobody can be anywhere."""
    given = np.asarray(support)
    if given.dtype == np.bool_:
        if given.shape != (contexts,):
            raise PolicyError(f"the support is a mask of shape {given.shape}; give one of shape ({contexts},)")
        inside = given
    else:
        if given.size and not np.issubdtype(given.dtype, np.integer):
            raise PolicyError(f"the support is of type {given.dtype}; give a mask of booleans, or context numbers")
        indices = given.ravel().astype(np.int64)
        if indices.size and (indices.min() < 0 or indices.max() >= contexts):
            raise PolicyError(f"the support names contexts outside 0 to {contexts - 1}")
        inside = np.zeros(contexts, dtype=np.bool_)
        inside[indices] = True
    if not inside.any():
        raise PolicyError("the support is empty: no context is possible; give at least one")
    return inside


def checked_query(query: npt.ArrayLike, contexts: int | None = None) -> FloatArray:
    """A query's answers (n, d) as floats; (n,) is taken as (n, 1). Missing or infinite answers are an error."""
    try:
        answers = np.array(query, dtype=np.float64)
    except (TypeError, ValueError):
        raise PolicyError("the query is not a table of numbers; give an array (contexts, coordinates)") from None
    if answers.ndim == 1:
        answers = answers[:, None]
    if answers.ndim != 2 or 0 in answers.shape:
        raise PolicyError(f"the query has shape {answers.shape}; give an array (contexts, coordinates)")
    if contexts is not None and len(answers) != contexts:
        raise PolicyError(f"the query answers {len(answers)} contexts, the model has {contexts}; give one row each")
    wrong = ~np.isfinite(answers).all(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise PolicyError(
            f"the query's answer for context {row} is {answers[row]}; every answer must be a finite number"
        )
    return answers
