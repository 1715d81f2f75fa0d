"""One day and two: what the audit says of a day and of two days that nights join (docs/guarantee.md)."""

from __future__ import annotations

from discreet.adversary.audit import Audit, audit
from discreet.contracts import AnyMechanism
from discreet.mechanisms import (
    Adaptive,
    Capp,
    EfficientFake,
    Hybrid,
    MaskSensitive,
    NoMask,
    Probabilistic,
    Simulatable,
)
from discreet.models import MarkovChain
from discreet.models.routine.routine import Routine
from discreet.policy import Policy, Secret

STEP = [[0.6, 0.1, 0.3], [0.9, 0.1, 0.0], [0.3, 0.0, 0.7]]
HABITS = MarkovChain.homogeneous(("home", "clinic", "work"), [0.8, 0.0, 0.2], STEP, slots=4)
NIGHTS = [[0.95, 0.0, 0.05], [1.0, 0.0, 0.0], [0.61, 0.0, 0.39]]
ROUTINE = Routine({"day": HABITS}, {("day", "day"): NIGHTS})
EACH = Policy(["clinic"], delta=0.1)
BOTH = Policy(["clinic", Secret("clinic today", {"clinic"}, at="any")], delta=0.1)


def told(name: str, secrets: str, one: Audit | None, two: Audit) -> None:
    """One line of the table."""
    day = "" if one is None else f"{one.worst_gain:.3f} {'holds' if one.holds else 'does not hold'}"
    print(f"{name:<22} {secrets:<14} {day:<20} {two.worst_gain:.3f} {'holds' if two.holds else 'does not hold'}")


def main() -> None:
    """Every mechanism that takes this example without options."""
    print(f"{'mechanism':<22} {'clinic':<14} {'one day':<20} two days")
    classes = (NoMask, MaskSensitive, Simulatable, Probabilistic, Hybrid, Capp, EfficientFake, Adaptive)
    for policy, secrets in ((EACH, "at each slot"), (BOTH, "and at any")):
        for kind in classes:
            mechanism: AnyMechanism = kind(HABITS, policy)
            told(kind.__name__, secrets, audit(mechanism), audit(mechanism, routine=ROUTINE, days=2))
        told("Adaptive, without end", secrets, None, audit(Adaptive(ROUTINE.since("2026-11-16"), policy), days=2))
