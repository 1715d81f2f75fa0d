"""Mechanisms that several people share: people of equal habits pay for tables and programmes once.

What is kept changes no draw: a mechanism's kernel is a function of the public state alone, whoever asked before.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.adversary.known import Known
from discreet.contracts import Mechanism
from discreet.errors import DiscreetError
from discreet.numerics import BoolArray, IntArray, power_of_two
from discreet.publish.walk import Walk

MOST_BYTES = 128 * 2**20
"""Of arrays, in what one process keeps: a quarter of what a laptop's worker may take."""

RECENT = 50_000
"""Digests that are remembered, to see whether one comes again."""

DECIDED = 64
"""Habits whose digests are remembered as long as they are the same object: those of a few hundred kilobytes each."""

OBJECT_BYTES = 100
"""Of an object that is no array, about."""

NOT_ENTERED = (type, ModuleType, FunctionType, BuiltinFunctionType)
"""What everything shares: it would lead into the whole program."""


Decided = TypeVar("Decided")


@dataclass(frozen=True, eq=False)
class Made:
    """What publishes and judges pieces of one length under one model: made once, used by all who share it."""

    decision: str
    """`draws.decision_of` the model, policy and mechanism."""
    mechanism: Mechanism[Any]
    adversary: Adversary
    certain: bool
    """Whether the habits leave no doubt of some secret, so that every position is settled."""
    known: tuple[Known, ...]
    walk: Walk | None = None
    """How pieces are published without a session, where they can be."""

    @cached_property
    def settled(self) -> int:
        """Positions where the habits alone tell a secret."""
        adversary = self.adversary
        if self.certain:
            return adversary.process.slots
        return positions(adversary, adversary.priors + adversary.deltas >= 1)


def positions(adversary: Adversary, rows: BoolArray) -> int:
    """How many positions have one of these rows; a secret at="any" is about all of them."""
    each: IntArray = adversary.row_slot[rows[: len(adversary.row_slot)]]
    return adversary.process.slots if rows[len(adversary.row_slot) :].any() else len(np.unique(each))


class Tables:
    """What was made, by what it was made from, those used longest ago forgotten first.

    Something is kept from the second time on that it is asked for: most populations have habits of their own for each
    person, and keeping those would cost memory and serve nobody. As mechanisms grow while they are used, what they take
    is weighed again after 1, 2, 4, ... uses.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        if most_bytes < 0:
            raise DiscreetError(f"tables cannot take {most_bytes} bytes; give 0 or more")
        self._most = most_bytes
        self._recent: OrderedDict[str, None] = OrderedDict()
        self._kept: OrderedDict[str, tuple[Made, int, int]] = OrderedDict()  # with uses and bytes
        self._bytes = 0
        self._decided: OrderedDict[tuple[int, ...], tuple[object, Any]] = OrderedDict()
        self.made = 0
        """How many had to be made."""

    def decided(self, given: tuple[object, ...], decide: Callable[[], Decided]) -> Decided:
        """What was decided from these very objects, none of which can change; the last few are remembered.

        They are kept with it, so that no other object can have the place in memory that they are known by.
        """
        place = tuple(map(id, given))
        found = self._decided.pop(place, None)
        decision: Decided = decide() if found is None else found[1]
        self._decided[place] = given, decision
        if len(self._decided) > DECIDED:
            self._decided.popitem(last=False)
        return decision

    def get(self, source: str, make: Callable[[], Made]) -> Made:
        """What is kept of what this digest stands for, or else made now."""
        found = self._kept.pop(source, None)
        if found is not None:
            self._bytes -= found[2]
            self._keep(source, *found)
            return found[0]
        self.made += 1
        made = make()
        if source in self._recent:
            self._keep(source, made, 0, 0)
        self._recent[source] = None
        self._recent.move_to_end(source)
        if len(self._recent) > RECENT:
            self._recent.popitem(last=False)
        return made

    def _keep(self, source: str, made: Made, uses: int, size: int) -> None:
        uses += 1
        if power_of_two(uses):
            size = weight(made)
        self._kept[source] = made, uses, size
        self._bytes += size
        while self._bytes > self._most:
            _, (_, _, freed) = self._kept.popitem(last=False)
            self._bytes -= freed


def weight(kept: object) -> int:
    """The bytes of all that an object holds, about: arrays by their size, each stored once."""
    seen: set[int] = set()
    entered: list[object] = [kept]
    total = 0
    while entered:
        one = entered.pop()
        if id(one) in seen or isinstance(one, NOT_ENTERED):
            continue
        seen.add(id(one))
        if isinstance(one, Walk):  # it may hold very many objects, and counts them itself
            total += one.nbytes
            continue
        total += OBJECT_BYTES
        if isinstance(one, np.ndarray):
            if one.base is None:
                total += one.nbytes
            else:
                entered.append(one.base)
        entered += gc.get_referents(one)
    return total
