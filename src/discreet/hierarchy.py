"""Trees of contexts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from discreet.errors import HierarchyError, did_you_mean


class Hierarchy:
    """A tree of contexts with one root and leaves of equal depth, read from a nested mapping.

    `Hierarchy({"campus": {"hall": ["dormitory", "kitchen"], "department": ["office"]}})`: inner nodes are keys, the
    leaves stand in lists. `layers[0]` are the leaves (the contexts themselves), `layers[-1]` is the root alone.
    """

    def __init__(self, tree: Mapping[str, object]) -> None:
        parents: dict[str, str | None] = {}
        for parent, child in _edges(None, tree):
            if child in parents:
                raise HierarchyError(f"node {child!r} occurs twice in the hierarchy; names must be unique")
            parents[child] = parent
        self._build(parents)

    @classmethod
    def from_parents(cls, parents: Mapping[str, str | None]) -> Hierarchy:
        """From {child: parent}; the root is the parent that has none (or maps to None)."""
        full: dict[str, str | None] = dict(parents)
        for parent in parents.values():
            if parent is not None:
                full.setdefault(parent, None)
        tree = cls.__new__(cls)
        tree._build(full)
        return tree

    def _build(self, parents: dict[str, str | None]) -> None:
        roots = [node for node, parent in parents.items() if parent is None]
        if len(roots) > 1:
            raise HierarchyError(f"nodes {roots[0]!r} and {roots[1]!r} both have no parent; put one root above them")
        if not roots:
            what = (
                f"node {_in_cycle(parents)!r} is in a cycle: no node is the root"
                if parents
                else "the hierarchy is empty"
            )
            raise HierarchyError(f"{what}; give a tree with one root")
        children: dict[str, list[str]] = {node: [] for node in parents}
        for node, parent in parents.items():
            if parent is not None:
                children[parent].append(node)
        depth = {roots[0]: 0}
        queue = [roots[0]]
        for node in queue:
            for child in children[node]:
                depth[child] = depth[node] + 1
                queue.append(child)
        astray = {node: parent for node, parent in parents.items() if node not in depth}
        if astray:
            raise HierarchyError(
                f"node {_in_cycle(astray)!r} does not reach the root {roots[0]!r}: it is in a cycle; "
                "give it a parent that is not below it"
            )
        leaves = [node for node in parents if not children[node]]
        deepest = max(depth.values())
        for leaf in leaves:
            if depth[leaf] != deepest:
                raise HierarchyError(
                    f"leaf {leaf!r} has depth {depth[leaf]}, others {deepest}; "
                    f"repeat a level above {leaf!r} so that all leaves are equally deep"
                )
        self._parents = parents
        self._children = {node: tuple(kids) for node, kids in children.items()}
        self._layer_of = {node: deepest - depth[node] for node in queue}
        self.root: str = roots[0]
        self.layers: tuple[tuple[str, ...], ...] = tuple(
            tuple(node for node in queue if depth[node] == deepest - layer) for layer in range(deepest + 1)
        )

    @property
    def leaves(self) -> tuple[str, ...]:
        """The contexts at the bottom."""
        return self.layers[0]

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, from the leaves up to the root."""
        return tuple(node for layer in self.layers for node in layer)

    def __contains__(self, node: object) -> bool:
        return node in self._layer_of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hierarchy) and self._parents == other._parents

    def __hash__(self) -> int:
        return hash(frozenset(self._parents.items()))

    def __repr__(self) -> str:
        return f"Hierarchy(root={self.root!r}, layers={[len(layer) for layer in self.layers]})"

    def _known(self, node: str) -> str:
        if node not in self._layer_of:
            raise HierarchyError(
                f"node {node!r} is not in the hierarchy under {self.root!r}; {did_you_mean(str(node), self._layer_of)}"
            )
        return node

    def layer_of(self, node: str) -> int:
        """0 for a leaf, rising towards the root."""
        return self._layer_of[self._known(node)]

    def parent(self, node: str) -> str | None:
        """The node above; None above the root."""
        return self._parents[self._known(node)]

    def children(self, node: str) -> tuple[str, ...]:
        """The nodes just below."""
        return self._children[self._known(node)]

    def ancestors(self, node: str) -> tuple[str, ...]:
        """The nodes above, nearest first, ending with the root."""
        above: list[str] = []
        parent = self.parent(node)
        while parent is not None:
            above.append(parent)
            parent = self._parents[parent]
        return tuple(above)

    def at_layer(self, node: str, layer: int) -> str:
        """The ancestor of a node at a layer at or above its own."""
        line = (node, *self.ancestors(node))
        step = layer - self.layer_of(node)
        if not 0 <= step < len(line):
            raise HierarchyError(
                f"node {node!r} has no ancestor at layer {layer}; the root is layer {len(self.layers) - 1}"
            )
        return line[step]

    def nested(self) -> dict[str, object]:
        """The tree as the nested mapping that makes it: leaves stand in lists."""

        def below(node: str) -> object:
            children = self._children[node]
            lowest = all(self._layer_of[child] == 0 for child in children)
            return list(children) if lowest else {child: below(child) for child in children}

        return {self.root: below(self.root)}

    def leaves_under(self, node: str) -> tuple[str, ...]:
        """The contexts that a node stands for."""
        self._known(node)
        below = [node]
        for current in below:
            below.extend(self._children[current])
        return tuple(leaf for leaf in below if self._layer_of[leaf] == 0)


def _in_cycle(parents: Mapping[str, str | None]) -> str:
    """A node on a cycle of parents, where no node that is given leads to a root."""
    node = next(iter(parents))
    seen: set[str] = set()
    while node not in seen:
        seen.add(node)
        node = parents[node] or node
    return node


def _edges(parent: str | None, tree: object) -> Iterator[tuple[str | None, str]]:
    """(parent, child) pairs of a nested mapping whose leaves stand in lists or as single strings."""
    if isinstance(tree, str):
        yield parent, tree
    elif isinstance(tree, Mapping):
        for node, below in tree.items():
            yield parent, str(node)
            yield from _edges(str(node), below)
    elif isinstance(tree, Iterable):
        for below in tree:
            yield from _edges(parent, below)
    else:
        raise HierarchyError(
            f"below {parent!r} stands {tree!r}; use nested mappings with lists of labels at the bottom"
        )
