"""A person's hierarchy of contexts and the days in its leaves, rare contexts merged so that it stays a hierarchy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.contexts import UNKNOWN, Day
from discreet.errors import DiscreetError
from discreet.hierarchy import Hierarchy

ROOT = "anywhere"
"""The node above all others: it says nothing."""

Branch = tuple[str, ...]
"""A leaf and the nodes above it, without the root."""

Names = Mapping[str, Mapping[str, str]]
"""`names[level][context]`: what a context is called at a level above its own."""


@dataclass(frozen=True)
class Tree:
    """Days in the leaves of a hierarchy over `levels`, finest first; `lines` has every leaf's."""

    levels: tuple[str, ...]
    days: tuple[Day, ...]
    lines: Mapping[str, Branch]

    @property
    def hierarchy(self) -> Hierarchy:
        """The lines joined under one root."""
        parents: dict[str, str | None] = {}
        for line in self.lines.values():
            parents.update(zip(line, (*line[1:], ROOT), strict=True))
        return Hierarchy.from_parents(parents)

    def is_place(self, leaf: str) -> bool:
        """Whether a leaf is one context: not several merged ones, nor the lack of a reading."""
        return leaf != UNKNOWN and leaf not in self._merged(leaf)

    def nearest(self, leaf: str, known: frozenset[str]) -> str:
        """The leaf itself if it is known, else the known merged one below its nearest ancestor, else itself."""
        return leaf if leaf in known else next((merged for merged in self._merged(leaf) if merged in known), leaf)

    def _merged(self, leaf: str) -> list[str]:
        """What the merged leaf below each of its ancestors would be called, nearest first."""
        return [_merged_line(self.levels[:1], node)[0] for node in (*self.lines[leaf][1:], ROOT)]


def grown(days: Sequence[Day], names: Names, levels: Sequence[str], share: float) -> Tree:
    """The tree over some levels, finest first, of days at the finest.

    A context that fills less than `share` of the slots with a reading joins the other rare ones below its parent. If
    these are rare even together, they join those below the next ancestor, and so on; at the root all that is left is
    one leaf. A merged leaf has a node of its own on each layer below the ancestor that its contexts have in common:
    there it is "another one". `unknown` is never merged, and has nodes of its own up to the root.
    """
    if not 0 <= share < 1:
        raise DiscreetError(f"the share below which contexts are merged is {share}; give a number from 0 to below 1")
    counts = Counter(context for day in days for context in day.contexts)
    least = share * (counts.total() - counts[UNKNOWN])
    lines = {context: _line(context, names, levels) for context in counts}
    rare = {context for context, count in counts.items() if count < least and context != UNKNOWN}
    kept = {context: line for context, line in lines.items() if context not in rare}
    renamed: dict[str, str] = {}
    for layer in range(1, len(levels) + 1):
        for node, pool in _pools(sorted(rare - set(renamed)), lines, layer).items():
            if node == ROOT or sum(counts[context] for context in pool) >= least:
                line = (*_merged_line(levels[:layer], node), *lines[pool[0]][layer:])
                kept[line[0]] = line
                renamed.update(dict.fromkeys(pool, line[0]))
    named = [replace(day, contexts=tuple(renamed.get(context, context) for context in day.contexts)) for day in days]
    return Tree(tuple(levels), tuple(named), kept)


def _pools(contexts: Sequence[str], lines: Mapping[str, Branch], layer: int) -> dict[str, list[str]]:
    """The contexts by their node at a layer; the root is above the last."""
    pools: dict[str, list[str]] = {}
    for context in contexts:
        pools.setdefault((*lines[context], ROOT)[layer], []).append(context)
    return pools


def _line(context: str, names: Names, levels: Sequence[str]) -> Branch:
    """Nodes above the leaves carry their level's name: the same word may stand on two layers."""
    above = (UNKNOWN if context == UNKNOWN else names[level].get(context, UNKNOWN) for level in levels[1:])
    return (context, *(f"{level} {name}" for level, name in zip(levels[1:], above, strict=True)))


def _merged_line(levels: Sequence[str], node: str) -> Branch:
    return tuple(f"other {level} of {node}" for level in levels)
