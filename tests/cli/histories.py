"""A phone's history of a simulated person whose places are known: what `discreet setup` is given."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl

from discreet.clock import Clock
from discreet.contexts import UNKNOWN
from discreet.models.simulate import person
from discreet.places.ellipsoid import positions_around

SPOTS = {
    "home": (0, 0),
    "work": (2500, 900),
    "hospital": (-1800, 1500),
    "pharmacy": (-1300, 1100),
    "supermarket": (500, -600),
    "cafe": (2100, 300),
    "friend": (-900, -2000),
    "gym": (1500, -1700),
}
"""Metres around the middle."""


def phone_history(
    path: Path, days: int = 70, seed: int = 0, zone: str = "Europe/Paris", user: str | None = None, ill: int = 0
) -> None:
    """A position every 15 minutes, give or take 12 metres, as a table of positions; silence where nothing is known.

    On the last `ill` days the mornings are spent at the hospital, which nobody could know before.
    """
    clock, rng = Clock(48, zone), np.random.default_rng(seed)
    stamps, metres = [], []
    for number, day in enumerate(person("p01", days=days, contexts=9, seed=seed)):
        assert day.date is not None
        for slot, lived in enumerate(day.contexts):
            context = "hospital" if number >= days - ill and 16 <= slot < 26 else lived
            if context != UNKNOWN:
                start = clock.start_of(day.date, slot)
                stamps += [start.astimezone(dt.UTC) + dt.timedelta(minutes=minute) for minute in (3, 18)]
                metres += [np.array(SPOTS[context]) + rng.normal(0, 12, 2) for _ in range(2)]
    where = positions_around((48.85, 2.35), np.array(metres))
    table = pl.DataFrame({"timestamp": stamps, "latitude": where[:, 0], "longitude": where[:, 1]})
    if user is not None:
        table = table.with_columns(user=pl.lit(user))
    table.write_csv(path, datetime_format="%Y-%m-%dT%H:%M:%SZ")
