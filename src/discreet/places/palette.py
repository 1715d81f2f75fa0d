"""One colour a place, the same on every page: told apart by the colour-blind too, and never the red of an alarm.

The colours were chosen one after another, each as far as can be from those before it, as people see them who see all
colours, and who lack red, green or blue. Dark letters can be read on each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from discreet.contexts import UNKNOWN
from discreet.places.named import Places

PALETTE = (
    *("#59a9dd", "#f3d761", "#c2740a", "#99e5f9", "#b8b276", "#678a84", "#a5c8be", "#a06adb"),
    *("#f89404", "#c8e2aa", "#6fccfa", "#81a194", "#b79060", "#b668b4", "#d38dfd", "#f4bc74"),
    *("#d57cc1", "#9db7a3", "#a37ef4", "#d38327", "#80b7dd", "#83874d", "#d2c300", "#b2d8d6"),
)
"""Those of places with most time first, for which they differ most; after the last they begin anew."""


HOME = "home"
"""What is seen most has the first colour that is free."""


def colour_of(number: int) -> str:
    """The colour of a number."""
    return PALETTE[number % len(PALETTE)]


def colours_of(numbers: Mapping[str, int]) -> dict[str, str]:
    """The colour of each name."""
    return {name: colour_of(number) for name, number in numbers.items()}


def numbered(places: Places | None, contexts: Iterable[str], kept: Mapping[str, int] | None = None) -> dict[str, int]:
    """A number for each name: the one that is kept, that of its place on the map, or the first that is free.

    What is unknown is no place, and has none.
    """
    numbers = dict(kept or {})
    by_map = () if places is None else places.places
    for place in by_map:
        wanted = None if place.number is None else place.number - 1
        if place.name not in numbers and wanted is not None and wanted >= 0 and wanted not in numbers.values():
            numbers[place.name] = wanted
    taken = set(numbers.values())
    free = (number for number in count() if number not in taken)
    for name in sorted((*(place.name for place in by_map), *contexts), key=lambda name: name != HOME):
        if name not in numbers and name != UNKNOWN:
            numbers[name] = next(free)
    return numbers
