"""A figure or table of a paper, as measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from discreet.experiments.charts import plots
from discreet.experiments.shared.replay import Learned
from discreet.experiments.shared.tables import Table

NOBODY = Table((), ())
"""Where there is no row a person."""


@dataclass(frozen=True)
class Figure:
    """A summary for the terminal, a row a person, and a chart."""

    name: str
    title: str
    note: str  # whom and how, in a line
    summary: Table
    people: Table
    remarks: tuple[str, ...]
    draw: Callable[[Path], None]


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


def bar(label: str, at: dict[str, float]) -> plots.Bar:
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
    return plots.Bar(label, parts)
