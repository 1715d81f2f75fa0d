"""Rows that cannot be used: raised at once, or counted and reported, never dropped in silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.data.source import Fault, Origin
from discreet.errors import DataError

SHOWN = 5
"""How many skipped rows are described; the others are only counted."""


@dataclass(frozen=True)
class BadRows:
    """The rows that were skipped: how many, and what was wrong with the first few."""

    count: int = 0
    first: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.count


def described(origin: Origin, fault: Fault) -> str:
    """File, number, column, value and problem, in a line."""
    column = "" if fault.column is None else f", column {fault.column!r}"
    return f"{origin.file}, {origin.unit} {fault.number}{column}: {_shown(fault.value)} {fault.problem}"


class Tally:
    """Collects the faults of one source, or raises the first when bad rows are not to be skipped."""

    def __init__(self, *, skip: bool) -> None:
        self._skip = skip
        self._count = 0
        self._first: list[str] = []

    def add(self, origin: Origin, faults: Sequence[Fault], count: int) -> None:
        """Take `count` faults of one batch, of which at least the first few are given."""
        if not count:
            return
        faults = sorted(faults, key=lambda fault: fault.number)
        if not self._skip:
            raise DataError(
                f"{described(origin, faults[0])}; fix it, or skip and count such rows with --skip-bad (skip_bad=True)"
            )
        self._count += count
        self._first += [described(origin, fault) for fault in faults[: SHOWN - len(self._first)]]

    def summary(self) -> BadRows:
        """What was skipped so far."""
        return BadRows(self._count, tuple(self._first))


def _shown(value: object) -> str:
    """The value as it stands in the file, cut where it is long."""
    if value is None:
        return "an empty field"
    try:
        text = repr(value)
    except RecursionError:  # JSON may nest lists deeper than Python shows them
        return "something nested too deep to show"
    return text if len(text) <= 80 else f"{text[:76]}...{text[0]}"
