"""What habits alone tell of each secret, in the terminal: said before any "kept" or "holds"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.batch.truth import KnownByPart
from discreet.cli.terminal import percent, table

if TYPE_CHECKING:
    from discreet.adversary.known import Known
    from discreet.clock import Clock


def print_known(told: KnownByPart, clock: Clock | None) -> None:
    """A table of what anybody guesses who knows the habits and sees nothing, and what that leaves to hide."""
    if not any(told.values()):
        return
    parts = len(told) > 1
    rows = [
        [
            one.name + (f" ({part})" if parts else ""),
            percent(one.least),
            percent(one.mean),
            percent(one.highest),
            _when(one, clock),
            percent(one.limit),
        ]
        for part, own in told.items()
        for one in own
    ]
    print("What habits alone tell, before anything is shown, and what belief may reach:\n")
    print(table(["secret", "least", "mean", "highest", "at", "limit there"], rows) + "\n")
    warnings = [
        (f"On a {part}, " if parts else "") + text
        for part, own in told.items()
        for one in own
        for text in one.warnings(clock)
    ]
    for text in warnings:
        print(f"{text[0].upper()}{text[1:]}.")
    if warnings:
        print()


def _when(one: Known, clock: Clock | None) -> str:
    if one.at == "any":
        return "some time"
    if clock is None or one.highest_at is None:
        return "-" if one.highest_at is None else f"slot {one.highest_at}"
    return clock.label(one.highest_at)
