"""Several observers at once, who learned a person's habits elsewhere (proof.md, "Several observers").

Each has a model and a belief of their own, and filters the same outputs with the same likelihoods. A programme has the
inequalities of all of them. The first is the one whose model the mechanism was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from discreet.contracts import Model, cycle_of, is_chain
from discreet.errors import DiscreetError
from discreet.mechanisms.adaptive.slots import Slot, Slots
from discreet.models.routine.changing import ChangingChain
from discreet.models.routine.endless import EndlessChain
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray, digest_of

Observer = Model | Routine
"""What an observer learned: a model, or a routine where the mechanism's is one of days without end."""


class _Belief(Protocol):
    """What a belief of one day and one without end have in common."""

    @property
    def slot(self) -> int: ...

    @property
    def stack(self) -> FloatArray: ...

    def after(self, likelihood: FloatArray, /) -> Any: ...


B = TypeVar("B", bound=_Belief)


class Beliefs(NamedTuple, Generic[B]):
    """What each observer believes after the same outputs."""

    each: tuple[B, ...]

    @property
    def own(self) -> B:
        """Of the one whose model the mechanism was given."""
        return self.each[0]

    @property
    def slot(self) -> int:
        """The slot that comes next."""
        return self.own.slot

    @property
    def nbytes(self) -> int:
        """Bytes of their measures."""
        return sum(one.stack.nbytes for one in self.each)

    def after(self, likelihood: FloatArray) -> Beliefs[B]:
        """Bayes, for each."""
        return Beliefs(tuple(one.after(likelihood) for one in self.each))


class ObserverSlots:
    """The private states of a slot, and what they tell each observer."""

    def __init__(self, each: Sequence[Slots]) -> None:
        self._each = tuple(each)

    def slot(self, beliefs: Beliefs[Any] | Any) -> Slot:
        """The rows of all observers; of one alone, from a belief alone."""
        if len(self._each) == 1 and not isinstance(beliefs, Beliefs):
            return self._each[0].slot(beliefs)
        return Slot.joined([one.slot(belief) for one, belief in zip(self._each, beliefs.each, strict=True)])


def observers_of(model: Any) -> Sequence[Routine]:
    """The observers that a routine has; habits that change can be held before none of them."""
    if isinstance(model, ChangingChain):
        changing = model.changing
        if any(one.observers for one in (changing.routine, *(one for _, one in changing.changes))):
            raise DiscreetError(
                "habits that change are held before one observer so far, and these routines have others; say that they "
                "are left out (observers=[]), or begin a new stream with the new routine and its observers"
            )
        return ()
    return model.routine.observers if isinstance(model, EndlessChain) else ()


def observing(model: Any, observers: Sequence[Observer]) -> tuple[Any, ...]:
    """The models of the observers, laid over the mechanism's slots; refused where they do not fit.

    All hold the same steps possible, so that an output that one of them may see, each may.
    """
    if isinstance(model, ChangingChain) and observers:
        raise DiscreetError(
            "habits that change are held before one observer; leave observers out, or begin a new stream"
        )
    found = []
    for number, observer in enumerate(observers, 1):
        laid: Any = observer
        if isinstance(model, EndlessChain) and isinstance(observer, Routine):
            laid = observer.since(model.start, None if model.periodic else model.initial, model.first)
        _require_alike(model, laid, f"observer {number}")
        found.append(laid)
    return tuple(found)


def _require_alike(model: Any, other: Any, who: str) -> None:
    endless = model.slots is None
    if isinstance(other, Routine) or endless != (other.slots is None):
        raise DiscreetError(
            f"{who} has a model of {'one day' if endless else 'days without end'}, the mechanism one of "
            f"{'days without end' if endless else 'one day'}; give routines where that is routine.since(date)"
        )
    if isinstance(other, ChangingChain):
        raise DiscreetError(f"{who} has habits that change; give routine.since(date), or a routine for each")
    if other.contexts != model.contexts:
        raise DiscreetError(
            f"{who} knows the contexts {other.contexts}, the mechanism {model.contexts}; learn all over the same "
            "contexts in the same order (contexts=...)"
        )
    if _slots(other) != _slots(model):
        raise DiscreetError(
            f"{who} has other slots, kinds of day or first date than the mechanism's model; use the same"
        )
    if is_chain(model) != is_chain(other):
        raise DiscreetError(f"{who} has a hidden Markov model where the mechanism has a chain, or the other way round")
    for what, own, theirs in _possible(model, other):
        if own.shape != theirs.shape or not np.array_equal(own > 0, theirs > 0):
            raise DiscreetError(
                f"{who} and the mechanism's model do not hold the same things possible ({what}); learn all of them "
                "with a floor (Routine.fit) or smoothing, so that nothing is impossible for one of them alone"
            )


def _slots(model: Any) -> tuple[object, ...]:
    if isinstance(model, EndlessChain):
        return model.day_slots, model.start, model.first, model.routine.rule
    return model.slots, model.first


def _possible(model: Any, other: Any) -> list[tuple[str, FloatArray, FloatArray]]:
    """What must be possible alike: its name, and the probabilities of both.

    Hidden states may be others, and more or fewer. It is enough that each may follow each: what is possible in a slot
    is then what its emissions allow, whatever was output before.
    """
    if isinstance(model, EndlessChain):
        own, theirs = model.routine, other.routine
        found = [("at the start", model.initial, other.initial)]
        found += [(f"on a {kind}", own.day(kind).transitions, theirs.day(kind).transitions) for kind in own.kinds]
        nights = [(a, b) for a, b in own.nights if (a, b) in theirs.nights]  # others never follow each other
        return found + [(f"in a night {a} to {b}", own.nights[a, b], theirs.nights[a, b]) for a, b in nights]
    steps = [("at the start", model.initial, other.initial), ("steps", _steps(model), _steps(other))]
    if is_chain(model):
        return steps
    whole = all((_steps(one) > 0).all() and (one.initial > 0).all() for one in (model, other))
    if whole:
        mine, others = (np.array([one.prior_at(t) for t in cycle_of(model)]) for one in (model, other))
        return [("contexts of each slot", mine, others)]
    return [*steps, ("emissions", model.emissions, other.emissions)]


def _steps(model: Any) -> FloatArray:
    """The transitions of a day, or the one of positions without end."""
    return np.asarray(model.transition(model.first) if model.slots is None else model.transitions)


def fingerprints(observers: Sequence[Any]) -> str:
    """A digest of who observes; empty where nobody does."""
    return digest_of([one.fingerprint for one in observers]).hex() if observers else ""
