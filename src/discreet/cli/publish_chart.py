"""The report of `discreet publish` as a chart: bars in the terminal, and the picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.evaluation.truth import Truth
    from discreet.publish import Summary

WIDTH = 50
"""Of the longest bar, in characters."""


def bars(summary: Summary) -> str:
    """A line for each tenth of utility, with as long a bar as people have it."""
    counts = summary.people_by_utility()
    most = max(counts)
    rows = [
        [f"{tenth / 10:.1f} to {(tenth + 1) / 10:.1f}", str(people), "#" * -(-WIDTH * people // most)]
        for tenth, people in enumerate(counts)
    ]
    width = max(len("people"), *(len(row[1]) for row in rows))
    lines = [f"{utility:<10}  {people:>{width}}  {bar}".rstrip() for utility, people, bar in rows]
    return "\n".join([f"{'utility':<10}  {'people':>{width}}", *lines])


def draw_published(picture: Path | None, truth: Truth, summary: Summary) -> None:
    """Write the picture that was asked for, now that there is a table to tell of."""
    if picture is None:
        return
    from discreet.charts.published import Shares, published
    from discreet.events import ATTRIBUTES

    events = summary.events
    shares = Shares(
        people=summary.people,
        breached=summary.breached_people,
        events=events,
        by_utility=summary.people_by_utility(),
        shown={name: summary.shown[name] / events for name in ATTRIBUTES},
        silent=summary.silent / events,
        off_model=summary.off_model / events,
        settled=summary.settled / events,
    )
    published(shares, truth, picture)
