"""A figure or table of a paper, as measured, and the paper's experiments as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from discreet.errors import DiscreetError, did_you_mean
from discreet_experiments.charts.bars import Bar
from discreet_experiments.shared.replay import Learned
from discreet_experiments.shared.sheets import Sheet

NOBODY = Sheet((), ())
"""Where there is no row a person."""


@dataclass(frozen=True)
class Figure:
    """A summary for the terminal, a row a person, and a chart."""

    name: str
    title: str
    note: str  # whom and how, in a line
    summary: Sheet
    people: Sheet
    remarks: tuple[str, ...]
    draw: Callable[[Path], None]


class Reproduction(Protocol):
    """A paper's experiments: reads the data once, and computes once what several figures share."""

    def makers(self) -> Mapping[str, Callable[[], Figure]]:
        """{figure or table: what makes it}, in the order in which all of them are best made."""

    def figure(self, name: str) -> Figure:
        """One of them."""
        makers = self.makers()
        if name not in makers:
            raise DiscreetError(f"there is no figure {name!r}; {did_you_mean(name, makers)}")
        return makers[name]()

    def figures(self, which: str = "all") -> Iterator[Figure]:
        """One of them, or all, each when it is asked for."""
        yield from (self.figure(name) for name in (self.makers() if which == "all" else (which,)))


SHOWN = ("secret shown", "other shown", "secret silent", "other silent")
FAKED = ("secret faked", "other faked")


def shares(learned: Learned) -> dict[str, float]:
    """What became of the held-out slots, as shares of them."""
    shown = learned.shown
    counts = {
        "secret shown": shown.released_secret,
        "other shown": shown.released_other,
        "secret silent": shown.suppressed_secret,
        "other silent": shown.suppressed_other,
        "secret faked": shown.faked_secret,
        "other faked": shown.faked_other,
        "breached": learned.breached,
        "breached silent": learned.breached_silent,
        "breached faked": learned.breached_faked,
    }
    return {key: count / shown.slots for key, count in counts.items()}


def bar(label: str, at: dict[str, float]) -> Bar:
    """What is breached is drawn apart from the part that it belongs to."""
    told = at["breached silent"] + at["breached faked"]
    parts = {
        "released": at["other shown"],
        "released, secret": at["secret shown"] - (at["breached"] - told),
        "secret, breached": at["breached"],
        "faked, secret": at["secret faked"] - at["breached faked"],
        "faked, no secret": at["other faked"],
        "suppressed, secret": at["secret silent"] - at["breached silent"],
        "suppressed, no secret": at["other silent"],
    }
    return Bar(label, parts)
