"""What a person's day is made of: contexts, the clock that cuts time into slots, days, and trees of contexts."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from discreet.errors import DiscreetError, HierarchyError, did_you_mean

UNKNOWN = "unknown"
"""The context of a slot without a reading: learned like any other, because phones fall silent in particular places."""

OTHER = "other"
"""The context into which rare ones are merged."""

DAY_SECONDS = 86_400


def seconds_of(time: str, what: str) -> int:
    """Seconds after midnight of a clock time such as "04:00" or "24:00"."""
    try:
        hours, minutes = (int(part) for part in time.split(":"))
    except (ValueError, AttributeError):  # not two numbers, or not a string
        hours, minutes = -1, -1
    seconds = hours * 3600 + minutes * 60
    if not (0 <= minutes < 60 and 0 <= seconds <= DAY_SECONDS):
        raise DiscreetError(f"{what} is {time!r}; write it as HH:MM, for example 04:00")
    return seconds


@dataclass(frozen=True)
class Clock:
    """Cuts time into days of `slots` equal slots, by the wall clock of `zone`, each day starting at `cut`.

    Every day has the same number of slots. When clocks go back, the repeated hour falls into slots that were there
    already (the later reading stands); when they go forward, the skipped hour has no reading.
    """

    slots: int
    zone: str = "UTC"
    cut: str = "00:00"

    def __post_init__(self) -> None:
        if not isinstance(self.slots, int) or self.slots < 1 or DAY_SECONDS % self.slots:
            raise DiscreetError(
                f"a day cannot be cut into {self.slots!r} slots of whole seconds; use a divisor of 86400 such as 24, 48, 96"
            )
        if seconds_of(self.cut, "the clock's cut") >= DAY_SECONDS:
            raise DiscreetError("the clock's cut is 24:00; write it as 00:00")
        try:
            _ = self._zoneinfo
        except (ZoneInfoNotFoundError, ValueError, TypeError, AttributeError, OSError):
            raise DiscreetError(
                f"time zone {self.zone!r} is not known; use an IANA name such as Europe/Paris"
            ) from None

    @cached_property
    def _zoneinfo(self) -> ZoneInfo:
        return ZoneInfo(self.zone)

    @property
    def slot_seconds(self) -> int:
        """Length of a slot."""
        return DAY_SECONDS // self.slots

    @cached_property
    def cut_seconds(self) -> int:
        """Where the day starts, in seconds after midnight."""
        return seconds_of(self.cut, "the clock's cut")

    def locate(self, timestamp: dt.datetime) -> tuple[dt.date, int]:
        """The (date, slot) of a timestamp; one without a zone is taken as wall-clock time in the clock's zone."""
        wall = timestamp if timestamp.tzinfo is None else timestamp.astimezone(self._zoneinfo)
        shifted = wall.replace(tzinfo=None) - dt.timedelta(seconds=self.cut_seconds)
        second = shifted.hour * 3600 + shifted.minute * 60 + shifted.second
        return shifted.date(), second // self.slot_seconds

    def start_of(self, date: dt.date, slot: int) -> dt.datetime:
        """When a slot of that day starts, on the wall clock of the clock's zone."""
        midnight = dt.datetime.combine(date, dt.time())
        wall = midnight + dt.timedelta(seconds=self.cut_seconds + slot * self.slot_seconds)
        return wall.replace(tzinfo=self._zoneinfo)

    def label(self, slot: int) -> str:
        """The wall-clock time at which a slot starts, such as 07:30."""
        second = (self.cut_seconds + slot * self.slot_seconds) % DAY_SECONDS
        return f"{second // 3600:02d}:{second % 3600 // 60:02d}"

    def between(self, start: str, end: str) -> tuple[int, ...]:
        """The slots that overlap the clock times from start to end, over midnight where end is not after start."""
        first = (seconds_of(start, "the start time") - self.cut_seconds) % DAY_SECONDS
        length = (seconds_of(end, "the end time") - seconds_of(start, "the start time")) % DAY_SECONDS or DAY_SECONDS
        low, high = first // self.slot_seconds, -(-(first + length) // self.slot_seconds)
        return tuple(sorted({slot % self.slots for slot in range(low, high)}))


@dataclass(frozen=True)
class Day:
    """One person's day: a context a slot. A slot without a reading is `unknown`."""

    contexts: tuple[str, ...]
    date: dt.date | None = None
    person: str | None = None

    def __post_init__(self) -> None:
        given: object = self.contexts
        if isinstance(given, str):
            raise DiscreetError(f"a day is one string, {given!r}; give a tuple of labels, one a slot")
        object.__setattr__(self, "contexts", tuple(self.contexts))
        where = f" ({self.person or 'person not given'}, {self.date or 'date not given'})"
        if not self.contexts:
            raise DiscreetError(
                f"a day has no slots{where}; give one context a slot, 'unknown' where there is no reading"
            )
        for slot, context in enumerate(self.contexts):
            if not isinstance(context, str) or not context:
                raise DiscreetError(
                    f"slot {slot} of a day{where} is {context!r}, not a label; use 'unknown' where there is no reading"
                )

    def __len__(self) -> int:
        return len(self.contexts)


def carry_forward(days: Iterable[Day], slots: int, *, backward: bool = False) -> list[Day]:
    """Fill unknown slots with the last reading of the same person, for at most `slots` slots after it.

    Readings carry over midnight between consecutive dates. `backward` also fills the unknown slots at the start of a
    day from its first reading. Days are taken in the order given.
    """
    carried = Carry(slots)
    filled: list[Day] = []
    before: Day | None = None
    for day in days:
        if before is None or not _follows(before, day):
            carried = Carry(slots)
        contexts = [carried.over(context) for context in day.contexts]
        if backward:
            first = next((k for k, context in enumerate(contexts) if context != UNKNOWN), 0)
            contexts[:first] = [contexts[first]] * first
        filled.append(replace(day, contexts=tuple(contexts)))
        before = day
    return filled


class Carry:
    """Carries the last reading over slots without one, slot by slot: a stream and a file are filled alike."""

    def __init__(self, slots: int) -> None:
        if slots < 0:
            raise DiscreetError(f"readings cannot be carried for {slots} slots; give 0 or more")
        self._slots = slots
        self._last, self._age = UNKNOWN, slots

    def over(self, context: str) -> str:
        """The context that stands in the next slot, whose own reading is `context` (or `unknown`)."""
        self._age = self._age + 1 if context == UNKNOWN else 0
        if context != UNKNOWN:
            self._last = context
        return self._last if self._age <= self._slots else UNKNOWN


def _follows(before: Day, day: Day) -> bool:
    if before.person != day.person or before.date is None or day.date is None:
        return False
    return day.date - before.date == dt.timedelta(days=1)


def merge_rare(days: Sequence[Day], share: float, *, into: str = OTHER, keep: Iterable[str] = ()) -> list[Day]:
    """Rename each person's contexts that fill less than `share` of that person's slots to `into`.

    `unknown` and the labels in `keep` (secrets, say) are never merged.
    """
    if not 0 <= share < 1:
        raise DiscreetError(f"the share below which contexts are merged is {share}; give a number from 0 to below 1")
    spared = {UNKNOWN, keep} if isinstance(keep, str) else {UNKNOWN, *keep}
    counts: dict[str | None, Counter[str]] = {}
    for day in days:
        counts.setdefault(day.person, Counter()).update(day.contexts)
    rename = {
        person: {
            label: into for label, count in counter.items() if label not in spared and count < share * counter.total()
        }
        for person, counter in counts.items()
    }
    return [
        replace(day, contexts=tuple(rename[day.person].get(context, context) for context in day.contexts))
        for day in days
    ]


def by_frequency(seen: Mapping[str, int]) -> tuple[str, ...]:
    """Labels from the most often seen to the least; equals in order of name."""
    return tuple(sorted(seen, key=lambda label: (-seen[label], label)))


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
