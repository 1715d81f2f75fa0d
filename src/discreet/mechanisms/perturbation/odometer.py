"""What releases have cost: realised epsilon of a slot, of several queries, of the sequence (Theorems 6.3, 7.1, 7.2).

The epsilon that was asked for holds over edges. Between two contexts that are not joined, outputs may differ by more:
by the norm of the difference of their answers, times epsilon. It is infinite where noise never leads across.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from fractions import Fraction


@dataclass(frozen=True)
class OdometerReading:
    """One slot. `realised` bounds the log-ratio of an output's probabilities between any two possible contexts."""

    slot: int
    epsilon: float  # promised over every edge, and between an exposed context and its protector: the queries' sum
    realised: float  # Theorem 6.3 for each query, added up (Theorem 7.1); inf if some pair is told apart for certain
    by_query: tuple[float, ...]
    possible: int  # contexts in the support
    added: tuple[tuple[int, int], ...]  # edges that protection added

    @property
    def nothing_to_protect(self) -> bool:
        """Whether one context alone was possible: its answer was output as it is, and told nothing new."""
        return self.possible == 1

    def __str__(self) -> str:
        if self.nothing_to_protect:
            return f"slot {self.slot}: one context was possible, so there was nothing left to protect"
        return (
            f"slot {self.slot}: epsilon {self.epsilon:g} over edges, {self.realised:g} over all {self.possible} "
            f"possible contexts, {len(self.added)} edges added"
        )


@dataclass(frozen=True)
class Odometer:
    """The readings of a list of outputs, a day's say. All of it is public: outputs determine it."""

    readings: tuple[OdometerReading, ...]

    @property
    def realised(self) -> float:
        """Theorem 7.2: bounds the log-ratio between any two sequences of contexts that were possible throughout."""
        return math.fsum(reading.realised for reading in self.readings)

    @property
    def epsilon(self) -> float:
        """The sum of what was promised over edges. It bounds no pair of sequences: contexts need not be joined."""
        return math.fsum(reading.epsilon for reading in self.readings)


@dataclass(frozen=True)
class OdometerSums:
    """What a stream without end has cost from slot `since` on: the sums of an odometer, not its readings.

    It has the size of one reading, however long the stream is. Sums are exact, and rounded when they are asked for.
    """

    since: int  # the first slot that is counted
    date: dt.date  # its date
    slot_of_day: int  # and its slot of that day
    answered: int = 0  # slots with an output
    skipped: int = 0  # slots in which nothing was decided: they cost nothing
    promised: Fraction = Fraction(0)  # over edges
    bounded: Fraction = Fraction(0)  # between any two ways, of slots at which that is finite
    unbounded: int = 0  # slots at which some pair of contexts is told apart for certain
    unprotected: int = 0  # slots at which one context alone was possible
    last: OdometerReading | None = None

    def and_then(self, reading: OdometerReading) -> OdometerSums:
        """With one more slot."""
        infinite = math.isinf(reading.realised)
        return replace(
            self,
            answered=self.answered + 1,
            promised=self.promised + Fraction(reading.epsilon),
            bounded=self.bounded if infinite else self.bounded + Fraction(reading.realised),
            unbounded=self.unbounded + infinite,
            unprotected=self.unprotected + reading.nothing_to_protect,
            last=reading,
        )

    def and_a_skip(self) -> OdometerSums:
        """With one more slot in which nothing was decided."""
        return replace(self, skipped=self.skipped + 1)

    @property
    def realised(self) -> float:
        """Theorem 7.2, as `Odometer.realised`: infinite once some pair was told apart for certain."""
        return math.inf if self.unbounded else float(self.bounded)

    @property
    def epsilon(self) -> float:
        """The sum of what was promised over edges, as `Odometer.epsilon`."""
        return float(self.promised)

    def __str__(self) -> str:
        return (
            f"since slot {self.slot_of_day} of {self.date}: {self.answered} slots answered, {self.skipped} skipped; "
            f"epsilon {self.epsilon:g} over edges, {self.realised:g} between any two ways"
        )
