"""Who stands for all where there are too many to learn from or to test on: people by lot, drawn by the run's key.

Whoever's HMAC-SHA256 under the key is among the smallest is chosen. So the choice depends neither on the order of
people nor on what they did, nobody who does not have the key can know or seek it, and a run that goes on has the same.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from heapq import nsmallest

from discreet.errors import DiscreetError
from discreet.publish.draws import RunKey

LEARN_FROM = 10_000
"""People that habits are learned from, at most, and held against, unless told otherwise."""


def checked_sample(most: int) -> None:
    """Refuse to learn from nobody."""
    if most < 1:
        raise DiscreetError(f"habits cannot be learned from {most} people; give 1 or more")


def sampled(people: Iterable[str], most: int, key: RunKey) -> list[str]:
    """At most so many of the people, in order of their names; the others are not held."""
    lots = ((lot(one, key), one) for one in people)
    return sorted(one for _, one in nsmallest(most, lots))


def lot(person: str, key: RunKey) -> bytes:
    """What a person draws."""
    return hmac.digest(key.key, b"discreet sample:" + person.encode(), "sha256")
