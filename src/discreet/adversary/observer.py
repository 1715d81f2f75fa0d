"""Who observes a mechanism's outputs: the exact adversary of a day, or of a stream without end."""

from __future__ import annotations

from typing import Any

from discreet.adversary.belief import Adversary, Belief
from discreet.adversary.endless import EndlessAdversary
from discreet.adversary.endless_belief import EndlessBelief
from discreet.contracts import is_endless

AnyAdversary = Adversary | EndlessAdversary
AnyBelief = Belief | EndlessBelief


def in_state(mechanism: Any) -> bool:
    """Whether public states hold the belief of the mechanism's own observer, so that nobody has to compute it again.

    A stream's mechanism decides by it; a day's observer follows beside the mechanism.
    """
    return is_endless(mechanism.model)


def observer_of(mechanism: Any) -> Any:
    """The observer who knows the mechanism's own model and policy: an `Adversary`, or an `EndlessAdversary`."""
    return mechanism.adversary if in_state(mechanism) else Adversary(mechanism)
