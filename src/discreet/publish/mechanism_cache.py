"""Mechanisms that several people share: people of equal habits pay for tables and programmes once.

What is kept changes no draw: a mechanism's kernel is a function of the public state alone, whoever asked before.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Protocol, TypeVar

import numpy as np
from cachetools import LRUCache

from discreet.adversary.known import Known
from discreet.errors import DiscreetError
from discreet.numerics import power_of_two
from discreet.policy import Guarantee
from discreet.publish.walk import Judge, Parts, Walk

MOST_BYTES = 128 * 2**20
"""Of what one process keeps, or several together: half of it holds what was walked of a thousand kinds of people."""

RECENT = 50_000
"""Digests that are remembered, to see whether one comes again."""

DECIDED = 64
"""Habits whose digests are remembered as long as they are the same object: those of a few hundred kilobytes each."""

OBJECT_BYTES = 100
"""Of an object that is no array, about."""

NOT_ENTERED = (type, ModuleType, FunctionType, BuiltinFunctionType)
"""What everything shares: it would lead into the whole program."""


Decided = TypeVar("Decided")


class Keepable(Protocol):
    """What can be kept: with a walk it may rest without its parts."""

    walk: Any
    parts: Any


Kept = TypeVar("Kept", bound=Keepable)


@dataclass(eq=False)
class Made:
    """What publishes and judges pieces of one length under one model: made once, used by all who share it."""

    decision: str
    """`draws.decision_of` the model, policy and mechanism."""
    certain: bool
    """Whether the habits leave no doubt of some secret, so that every position is settled."""
    known: tuple[Known, ...]
    guarantee: Guarantee
    judge: Judge
    walk: Walk | None
    """How pieces are published without a session, where they can be."""
    parts: Parts | None
    """Mechanism and adversary, which are the most of it; None while they are laid aside (`MechanismCache`)."""

    @classmethod
    def of(cls, decision: str, parts: Parts, *, certain: bool = False, known: tuple[Known, ...]) -> Made:
        """Of a mechanism and an adversary."""
        return cls(decision, certain, known, parts.mechanism.guarantee, Judge(parts.adversary), Walk.of(parts), parts)

    @cached_property
    def settled(self) -> int:
        """Positions where the habits alone tell a secret."""
        judge = self.judge
        return judge.slots if self.certain else judge.positions(judge.priors + judge.deltas >= 1)


class MechanismCache:
    """An LRU cache of what was made, by what it was made from, bounded by bytes.

    A mechanism takes a hundred kilobytes and more, and what was walked of it a quarter of that. Where pieces are walked
    a mechanism serves little once others of the same habits have gone the same ways. So it is laid aside when its first
    person is done, and made again when a walk leads elsewhere; from then on it stays, until there is no room. What
    cannot be laid aside, because the walk holds on to it, is kept from the second time on that it is asked for: most
    populations have habits of their own for each person, and keeping those would cost memory and serve nobody. As
    mechanisms grow while they are used, what they take is weighed again after 1, 2, 4, ... uses.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        if most_bytes < 0:
            raise DiscreetError(f"tables cannot take {most_bytes} bytes; give 0 or more")
        self._most = most_bytes
        self._recent: LRUCache[str, None] = LRUCache(RECENT)
        self._kept: OrderedDict[str, tuple[Any, int, int]] = OrderedDict()  # with uses and bytes
        self._whole: OrderedDict[str, None] = OrderedDict()  # those kept whose mechanism could be laid aside
        self._fresh: dict[str, Keepable] = {}  # of the person who is being published
        self._bytes = 0
        self._decided: LRUCache[tuple[int, ...], tuple[object, Any]] = LRUCache(DECIDED)
        self._lets_go: dict[type, bool] = {}
        self.made = 0
        """How many mechanisms had to be made."""

    def decided(self, given: tuple[object, ...], decide: Callable[[], Decided]) -> Decided:
        """What was decided from these very objects, none of which can change; the last few are remembered.

        They are kept with it, so that no other object can have the place in memory that they are known by.
        """
        place = tuple(map(id, given))
        found = self._decided.get(place)
        if found is None:
            found = self._decided[place] = given, decide()
        decision: Decided = found[1]
        return decision

    def get(self, source: str, make: Callable[[], Kept]) -> Kept:
        """What is kept of what this digest stands for, or else made now."""
        found = self._kept.pop(source, None)
        if found is not None:
            self._bytes -= found[2]
            self._keep(source, *found)
            kept: Kept = found[0]
            return kept
        self.made += 1
        made = make()
        if source in self._recent:
            self._keep(source, made, 0, 0)
        else:
            self._fresh[source] = made
        self._recent[source] = None
        return made

    def again(self, source: str, make: Callable[[], Parts]) -> Parts:
        """Mechanism and adversary that were laid aside, made again, and kept if there is room."""
        self.made += 1
        parts = make()
        found = self._kept.pop(source, None)
        if found is not None:
            made, _, size = found
            made.parts = parts
            self._bytes -= size
            self._keep(source, made, 0, 0)
        return parts

    def person_done(self) -> None:
        """Whoever asked has been published: what they were the first to need is laid aside."""
        for source, made in self._fresh.items():
            if self._can_rest(made):
                made.parts = None
                self._keep(source, made, 0, 0)
        self._fresh.clear()

    def _can_rest(self, made: Keepable) -> bool:
        """Whether mechanism and adversary can be let go while the walk stays: it is so of all of one kind, or of none.

        Some mechanisms' public states hold on to beliefs, and these to their adversary.
        """
        if made.walk is None or made.parts is None:
            return False
        kind = type(made.parts.mechanism)
        if kind not in self._lets_go:
            self._lets_go[kind] = not _holds(made.walk, made.parts)
        return self._lets_go[kind]

    def _keep(self, source: str, made: Keepable, uses: int, size: int) -> None:
        uses += 1
        if power_of_two(uses):
            size = weight(made)
        self._kept[source] = made, uses, size
        self._bytes += size
        if self._can_rest(made):
            self._whole[source] = None
            self._whole.move_to_end(source)
        while self._bytes > self._most and self._whole:
            self._lay_aside(next(iter(self._whole)))
        while self._bytes > self._most:
            _, (_, _, freed) = self._kept.popitem(last=False)
            self._bytes -= freed

    def _lay_aside(self, source: str) -> None:
        """Let a mechanism go, and stay where it is in the order of use."""
        del self._whole[source]
        made, uses, size = self._kept[source]
        made.parts = None
        rest = weight(made)
        self._kept[source] = made, uses, rest
        self._bytes += rest - size


def _holds(walk: Walk, parts: Parts) -> bool:
    """Whether a mechanism or an adversary would live on with the walk."""
    wanted = {id(parts.mechanism), id(parts.adversary)}
    return any(id(one) in wanted for one in _held_by(walk))


def _held_by(kept: object) -> Iterator[object]:
    """An object, and all that it holds, each once."""
    seen: set[int] = set()
    entered: list[object] = [kept]
    while entered:
        one = entered.pop()
        if id(one) not in seen and not isinstance(one, NOT_ENTERED):
            seen.add(id(one))
            yield one
            entered += gc.get_referents(one)


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
