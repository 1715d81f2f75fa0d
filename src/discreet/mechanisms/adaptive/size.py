"""Whether adaptive release is too large to begin: what it holds before its first decision, from sizes alone.

Two things grow fast. With memory, a table of every private state and the context after it, n**2 by n where memory tells
all contexts apart. Over a day, how likely each row is from each state of every slot before it, T**2 n for each secret.
"""

from __future__ import annotations

from discreet.contracts import DayModel
from discreet.errors import DiscreetError
from discreet.mechanisms.adaptive.vocabulary import Outputs
from discreet.policy import Policy

MOST_BYTES = 2_000_000_000
"""What may be held before the first decision; a table of that size takes about 20 s to make."""

FOLLOWING = 36
"""Bytes of an entry of the first table while it is made: 34 measured, at 28 million entries."""


def refuse_large_memory(n: int, private: int, outputs: Outputs) -> None:
    """An error that says what would help, where that many private states over n contexts need too much."""
    following = FOLLOWING * private * n if private > n else 0
    if following > MOST_BYTES:
        raise DiscreetError(
            f"{_sizes(n, outputs)} has {private:,} private states with memory, and needs about {_gb(following)} before "
            f"it can decide anything (at most {_gb(MOST_BYTES)}); use memory='none', or merge rare contexts "
            "(merge_rare of the days to learn from)"
        )


def refuse_long_day(model: DayModel, policy: Policy, outputs: Outputs) -> None:
    """An error that says what would help, where the rows of a day need too much."""
    n = len(model.contexts)
    slots = [slot for slot, _ in policy.for_model(model.contexts, model.slots, patterns=True).rows]
    ahead = 8 * n * sum(slots)
    if ahead > MOST_BYTES:
        raise DiscreetError(
            f"{_sizes(n, outputs)} looks ahead at {len(slots):,} pairs of a slot and a secret, and needs about "
            f"{_gb(ahead)} before it can decide anything (at most {_gb(MOST_BYTES)}); use longer slots or fewer "
            "secrets, secrets at='any', or routine.since(date), which looks no further ahead than habits tell"
        )


def _sizes(n: int, outputs: Outputs) -> str:
    return f"Adaptive with outputs={outputs!r} over {n:,} contexts"


def _gb(size: float) -> str:
    return f"{size / 1e9:.1f} GB"
