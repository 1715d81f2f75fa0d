"""The mechanisms of people, shared: people with the same habits, policy and mechanism pay for one table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from discreet.contracts import AnyMechanism, EndlessModel, SharesTables
from discreet.models.routine.routine import Routine

Make = Callable[[EndlessModel], AnyMechanism]


class SharedMechanisms:
    """Mechanisms made so far. A mechanism has no memory of its own, so one object serves any number of people."""

    def __init__(self) -> None:
        self._made: dict[Hashable, AnyMechanism] = {}
        self._first: dict[Hashable, AnyMechanism] = {}

    def of(self, make: Make, routine: Routine, start: dt.date, first: int) -> AnyMechanism:
        """The mechanism over the habits from a slot on; what was decided for an earlier one is shared."""
        kind = (_kind(make), routine.fingerprint, tuple(one.fingerprint for one in routine.observers))
        whole = (kind, start, first)
        if whole not in self._made:
            like = self._first.get(kind)
            made = make(routine.since(start, first=first)) if like is None else since(like, make, start, first)
            self._made[whole] = made
            self._first.setdefault(kind, made)
        return self._made[whole]


def since(like: AnyMechanism, make: Make, start: dt.date, first: int) -> AnyMechanism:
    """A mechanism from another slot on; what `like`, made by the same maker, has decided is shared where it can be."""
    model: Any = like.model
    if isinstance(like, SharesTables) and model.legs == [model]:
        return like.since(start, first)
    return make(model.routine.since(start, first=first))


def _kind(make: Make) -> Hashable:
    """What tells two makers apart: `partial(spec.make, policy=policy)` by spec and policy, any other by itself."""
    if isinstance(make, partial):
        owner = getattr(make.func, "__self__", None)
        kind = (owner, getattr(make.func, "__func__", make.func), make.args, tuple(sorted(make.keywords.items())))
        try:
            hash(kind)
        except TypeError:
            return make
        return kind
    return make
