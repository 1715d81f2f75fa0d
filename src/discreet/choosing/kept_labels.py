"""Which contexts are kept however rare they are, because they may be secret: one rule for `learn` and for `setup`.

Habits call contexts with little time `other`. What is rare is often what is secret: a clinic, twice in two months. So
these are kept:

1. places that somebody has named, and labels whose words one of the rules of `suggest` knows (`telling`);
2. places without a name to which the person goes seldom and stays: on `VISITS` dates or more, for `LASTS` on average.
   There may be many such, so that the `MOST` with most visits are kept.
"""

from __future__ import annotations

import re

from discreet.choosing.suggest import RULES
from discreet.choosing.words import says
from discreet.places.named import Places

VISITS, LASTS, MOST = 2, 1 / 3, 5
"""Dates, hours a date, and places."""

UNNAMED = re.compile(r"place \d+|(?:night|morning|afternoon|evening|weekday|weekend) place(?: \d+)?")
"""What places are called that nobody has named: by their number, or by when somebody is there."""


def is_unnamed(name: str) -> bool:
    """Whether nobody has named a place."""
    return UNNAMED.fullmatch(name) is not None


def named(places: Places | None) -> tuple[str, ...]:
    """The names that somebody gave."""
    return () if places is None else tuple(name for name in places.names if not is_unnamed(name))


def telling(label: str) -> bool:
    """Whether the words of a label say why it may be secret."""
    return any(says(label, rule.patterns, rule.unless) is not None for rule in RULES)


def worth_keeping(places: Places | None) -> tuple[str, ...]:
    """The places of a map whose contexts are kept: those with names, and of the others those visited seldom."""
    if places is None:
        return ()
    seldom = []
    for place in places.places:
        days, hours = place.properties.get("days"), place.properties.get("hours")
        if not (is_unnamed(place.name) and isinstance(days, int) and isinstance(hours, int | float)):
            continue
        if days >= VISITS and hours >= LASTS * days:
            seldom.append((hours, -days, place.name))
    rarest = sorted(seldom)[: 2 * MOST]  # those with least time are the ones that would be merged
    rarest = sorted(rarest, key=lambda one: (one[1], one[0]))[:MOST]
    return (*named(places), *(name for _, _, name in rarest))
