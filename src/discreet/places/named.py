"""Named places on a map: which one a position is in, and the tree that their nesting makes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from discreet.contexts import OTHER, UNKNOWN
from discreet.errors import DataError
from discreet.given import words_for
from discreet.hierarchy import Hierarchy
from discreet.numerics import FloatArray, IntArray
from discreet.places.ellipsoid import points_of
from discreet.places.shapes import Shape, lies_in

AWAY = "away"
"""The context of a position in no place."""

MOVING = "moving"
"""The same, where the person is on the way."""

RESERVED = (UNKNOWN, OTHER, AWAY, MOVING)
"""What no place may be called: these say that nothing is known, that it is rare, or that there is no place."""

LONGEST_NAME = 100

CHUNK = 100_000
"""Positions that are looked up at a time."""


def checked_name(name: object) -> str:
    """A name that can be a context; anything else is an error."""
    if not isinstance(name, str) or not name.strip():
        raise DataError(f"the name is {name!r}; give text, such as 'home'")
    name = name.strip()
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise DataError(f"the name {name[:40]!r} is too long or has line breaks; give up to {LONGEST_NAME} letters")
    if name in RESERVED:
        raise DataError(f"no place can be called {name!r}, which has a meaning of its own; give another name")
    return name


@dataclass(frozen=True)
class Place:
    """A shape with a name; places of one name are one context. `properties` are whatever else its file says of it."""

    name: str
    shape: Shape
    number: int | None = None
    properties: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", checked_name(self.name))


class Places:
    """Places on one map. A position is in the innermost place that holds it: the smallest, of two alike the first."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.places = tuple(places)
        for place in self.places:
            if not isinstance(place, Place):
                raise DataError(f"a place of the map is {words_for(place)}; give Place(name, Circle(lat, lon, metres))")

    def __len__(self) -> int:
        return len(self.places)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, each once."""
        return tuple(dict.fromkeys(place.name for place in self.places))

    @cached_property
    def _largest_first(self) -> list[int]:
        return sorted(range(len(self.places)), key=lambda k: (-self.places[k].shape.area, -k))

    def at(self, positions: FloatArray) -> IntArray:
        """(m,): the place of each position (m, 2), by its index; -1 where there is none, and for NaN."""
        found = np.full(len(positions), -1, dtype=np.int64)
        for low in range(0, len(positions), CHUNK):
            there = low + np.flatnonzero(~np.isnan(positions[low : low + CHUNK]).any(axis=1))
            some = positions[there]
            points = points_of(some)
            for k in self._largest_first:
                found[there[self.places[k].shape.holds(some, points)]] = k
        return found

    # --- changes

    def renamed(self, names: Mapping[int, str]) -> Places:
        """With other names for the places of these numbers."""
        for number in names:
            self._numbered(number)
        return Places(
            place if place.number is None else replace(place, name=names.get(place.number, place.name))
            for place in self.places
        )

    def merged(self, into: Mapping[int, int]) -> Places:
        """With places that are called as others are: `{3: 5}` makes place 3 part of what place 5 is."""
        last = {}
        for number, target in into.items():
            seen = {number}
            while target in into and target not in seen:  # 3 is part of 5, and that of 7
                seen.add(target)
                target = into[target]
            if target in seen:
                raise DataError(f"place {number} would be part of itself; merge it into another")
            last[number] = self._numbered(target).name
        return self.renamed(last)

    def _numbered(self, number: int) -> Place:
        for place in self.places:
            if place.number == number:
                return place
        known = sorted(place.number for place in self.places if place.number is not None)
        there = f"numbers are {known[0]} to {known[-1]}" if known else "no place here has a number"
        raise DataError(f"there is no place {number}; {there}")

    # --- nesting

    @cached_property
    def within(self) -> tuple[int | None, ...]:
        """For each place the index of the smallest place that it lies in, if any."""
        smallest_first = self._largest_first[::-1]
        found: list[int | None] = []
        for place in self.places:
            outer = (k for k in smallest_first if lies_in(place.shape, self.places[k].shape))
            found.append(next(outer, None))
        return tuple(found)

    def parents(self) -> dict[str, str | None]:
        """{name: the name of the place that it lies in, or None}; an error where places of one name lie apart."""
        found: dict[str, str | None] = {}
        for place, k in zip(self.places, self.within, strict=True):
            while k is not None and self.places[k].name == place.name:  # a place within itself is one place
                k = self.within[k]
            above = None if k is None else self.places[k].name
            if found.setdefault(place.name, above) != above:
                raise DataError(
                    f"places called {place.name!r} lie in {found[place.name] or 'nothing'!r} and in "
                    f"{above or 'nothing'!r}, so there is no tree; give them different names"
                )
        _check_no_cycle(found)
        return found

    def hierarchy(self, others: Sequence[str] = (AWAY, MOVING, OTHER, UNKNOWN)) -> Hierarchy:
        """The tree of the map: `anywhere`, then `in campus`, `in building`, down to the places themselves.

        A place with others in it is also a leaf: whoever is in the building, and in no room of it. All leaves must be
        equally deep; where one is not, a level `at NAME` is put above it. `others` are contexts on no map.
        """
        parents = self.parents()
        holders = {above for above in parents.values() if above is not None}

        def line(name: str) -> list[str]:
            above = [f"in {name}"] if name in holders else []
            outer = parents[name]
            while outer is not None:
                above.append(f"in {outer}")
                outer = parents[outer]
            return above

        lines = {name: line(name) for name in parents} | {name: [] for name in others if name not in parents}
        deepest = max(map(len, lines.values()), default=0)
        tree: dict[str, str | None] = {"anywhere": None}
        for name, above in lines.items():
            levels = [f"at {name}" + " again" * k for k in range(deepest - len(above))]
            chain = [name, *levels, *above, "anywhere"]
            for child, parent in itertools.pairwise(chain):
                if tree.setdefault(child, parent) != parent:
                    raise DataError(f"the name {child!r} is also that of a level of the tree; give another name")
        return Hierarchy.from_parents(tree)


def _check_no_cycle(parents: Mapping[str, str | None]) -> None:
    for name in parents:
        seen, above = {name}, parents[name]
        while above is not None:
            if above in seen:
                raise DataError(f"places called {name!r} lie in {above!r} and around it; give them different names")
            seen.add(above)
            above = parents[above]
