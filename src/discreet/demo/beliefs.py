"""What an observer believes of one secret in the end, of a day or of a week: where it was, may be, and is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.numerics import FloatArray, exceeds
from discreet.policy import At


@dataclass(frozen=True)
class SecretBelief:
    """at="each": prior and final of each slot, NaN where the secret does not hold; at="any": of each day."""

    name: str
    at: At
    delta: float
    room: FloatArray
    """The gain that is tolerated of each slot or day: delta, or what a cap leaves."""
    prior: FloatArray
    final: FloatArray

    @property
    def limit(self) -> FloatArray:
        """What belief may reach: prior + room, and never more than certainty."""
        return np.minimum(self.prior + self.room, 1.0)

    @property
    def worst(self) -> int:
        """The slot, or the day of at="any", that is furthest over its limit."""
        return int(np.nanargmax(self.final - self.prior - self.room))

    @property
    def gain(self) -> float:
        """The largest gain."""
        return float(np.nanmax(self.final - self.prior))

    @property
    def breached(self) -> bool:
        """Whether some belief exceeds its limit."""
        return exceeds(self.excess, 0.0)

    @property
    def excess(self) -> float:
        """The largest gain beyond what is tolerated of it."""
        return float(np.nanmax(self.final - self.prior - self.room))


@dataclass(frozen=True)
class DayBelief(SecretBelief):
    """The same of one day's outputs, one after the other, k = 0..T of them.

    at="each": moments[k, u] = P(secret at slot u | k outputs); at="any": moments[k, 0] = P(secret at some slot | k).
    """

    moments: FloatArray
