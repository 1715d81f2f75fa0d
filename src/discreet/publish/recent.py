"""What a process keeps of what it made, those used longest ago forgotten first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from discreet.numerics import power_of_two

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def _one(_: object) -> int:
    return 1


class Recent(Generic[Key, Value]):
    """At most so much, by the sum of sizes; each counts as one unless `size` says otherwise.

    As mechanisms grow while they are used, sizes are looked at again after 1, 2, 4, ... uses. What was used last stays,
    however large it is.
    """

    def __init__(self, most: int, size: Callable[[Value], int] = _one) -> None:
        self._most, self._size = most, size
        self._kept: OrderedDict[Key, tuple[Value, int, int]] = OrderedDict()  # with uses and size
        self._total = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Key) -> Value | None:
        """What is kept, if it is."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._put(key, *found)
        return found[0]

    def keep(self, key: Key, value: Value) -> None:
        """Keep it, in the place of what was kept before."""
        self._put(key, value, 0, 0)

    def _put(self, key: Key, value: Value, uses: int, size: int) -> None:
        if key in self._kept:
            self._total -= self._kept.pop(key)[2]
        uses += 1
        if power_of_two(uses):
            size = self._size(value)
        self._kept[key] = value, uses, size
        self._total += size
        while self._total > self._most and len(self._kept) > 1:
            self._total -= self._kept.popitem(last=False)[1][2]
