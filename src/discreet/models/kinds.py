"""Kinds of day: which dates are alike, and after how many days that repeats."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from discreet.errors import ModelError
from discreet.models.chain.week import WEEKPARTS, weekpart

By = Literal["weekpart"]

ALIKE = "day"
"""The one kind of day, where all are alike."""

ONE_DAY = dt.timedelta(days=1)
MONDAY = dt.date(2024, 1, 1)  # where cycles are counted from


@dataclass(frozen=True)
class Kinds:
    """A rule that says of which kind a date is, and after how many days it repeats (None where it does not)."""

    of: Callable[[dt.date], str]
    period: int | None = None

    def __post_init__(self) -> None:
        if self.period is not None and self.period < 1:
            raise ModelError(
                f"kinds of day repeat after {self.period} days; give at least 1, or None where they do not"
            )


def alike(date: dt.date) -> str:
    """All days are of one kind."""
    return ALIKE


RULES: dict[By | None, Kinds] = {None: Kinds(alike, 1), "weekpart": Kinds(weekpart, 7)}
"""The rules that a file can name."""

KINDS: dict[By | None, tuple[str, ...]] = {None: (ALIKE,), "weekpart": WEEKPARTS}
"""The kinds that each of them tells apart."""


def checked_by(by: object) -> By | None:
    """The name of a rule; one that is not known is an error."""
    for name in RULES:
        if by == name:
            return name
    raise ModelError(f"by={by!r} is not known; use 'weekpart', or None where all days are alike")


def rule_for(kinds: Collection[str], kind_of: Kinds | None) -> tuple[Kinds, By | Literal["own"] | None]:
    """The rule of a routine with these kinds of day, and its name in a file."""
    if kind_of is not None:
        for name, rule in RULES.items():
            if rule == kind_of:  # one that came from another process is not the same object
                return rule, name
        return kind_of, "own"
    for name, told_apart in KINDS.items():
        if set(kinds) == set(told_apart):
            return RULES[name], name
    raise ModelError(
        f"kinds of day are {', '.join(kinds)}; name them {' and '.join(WEEKPARTS)}, or the only one {ALIKE!r}, or give "
        "kind_of=Kinds(rule, period) that says which date is of which kind"
    )
