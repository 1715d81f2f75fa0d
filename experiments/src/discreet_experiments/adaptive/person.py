"""Adaptive release on one recorded person: what is expected of it, and what an observer learns of the second half."""

from __future__ import annotations

from dataclasses import dataclass

from discreet_experiments.shared.people import Trace
from discreet_experiments.shared.subjects import Setting, subject
from discreet_experiments.shared.systems import Judged, build, judge

DRAWN = 30
"""Days drawn from the model for the expected utility of deceiving, which is not known exactly."""

OURS = ("suppress", "deceive")
BASELINES = ("mask-sensitive", "hybrid")


@dataclass(frozen=True)
class Halves:
    """A person's held-out days, released by suppressing and by deceiving."""

    number: int
    contexts: int
    impossible: float
    systems: dict[str, Judged]


@dataclass(frozen=True)
class Expected:
    """Utilities that a person's model expects; the half-width is deceiving's, the others are exact."""

    number: int
    utility: dict[str, float]
    half_width: float


def second_half(trace: Trace, setting: Setting) -> Halves | None:
    """Release the held-out days by both; suppressing knows its expected utility from its table."""
    one = subject(trace, setting)
    if one is None:
        return None
    suppress, deceive = (
        judge(name, one, setting.delta, setting.seed, days=days) for name, days in zip(OURS, (1, None), strict=True)
    )
    return Halves(one.number, len(one.chain.contexts), one.impossible, {"suppress": suppress, "deceive": deceive})


def expect(trace: Trace, setting: Setting, days: int = DRAWN) -> Expected | None:
    """What the model expects of the others."""
    one = subject(trace, setting)
    if one is None:
        return None
    policy = one.policy(setting.delta)
    known = {name: build(name, one.chain, policy).expected_utility().mean for name in BASELINES}
    drawn = build("deceive", one.chain, policy).expected_utility(days)
    return Expected(one.number, {**known, "deceive": drawn.mean}, drawn.half_width)
