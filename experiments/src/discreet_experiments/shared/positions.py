"""Files of positions: GeoLife within Beijing's third ring and Gowalla in Los Angeles, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.clock import Clock
from discreet.data import PositionColumns, read_days
from discreet.listener import Progress
from discreet.places import Grid, Plane
from discreet_experiments.shared.people import Rules, Trace, existing


@dataclass(frozen=True)
class Recording:
    """A file of positions, where it was recorded, and its cells: metres, seconds, kilometres an hour.

    Days are in cells of `place` metres on a plane around `middle`, coarse enough to be places; sequences in the cells
    and radii of DPHMM's paper, cut where minutes are missing (`gap`) or a step is faster than anybody moves.
    """

    name: str
    file: str
    zone: str
    middle: tuple[float, float]  # latitude, longitude
    place: float
    side: float
    radius: float
    radii: tuple[float, ...]
    gap: float | None = None
    fastest: float | None = None

    def read(self, folder: Path, rules: Rules, progress: Progress | None = None) -> list[Trace]:
        """Everybody's places by the rules' slots, those with too few days left out."""
        days = read_days(
            existing(folder, self.file),
            Clock(rules.slots, zone=self.zone, cut=rules.cut),
            columns=PositionColumns(),
            cells=Grid(self.place, Plane(*self.middle)),
            pick="modal",
            progress=progress,
        ).people.values()
        enough = [own for own in days if len(own) >= rules.least_days]
        return [Trace(number, tuple(own)) for number, own in enumerate(enough, 1)]


BEIJING = Recording(
    "GeoLife",
    "geolife_beijing3ring_60s.csv.gz",
    "Asia/Shanghai",
    middle=(39.9125, 116.3835),
    place=2000.0,
    side=340.0,
    radius=1000.0,
    radii=(500.0, 1000.0, 1500.0, 2000.0),
    gap=300.0,
    fastest=120.0,
)
LOS_ANGELES = Recording(
    "Gowalla",
    "gowalla_la.csv.gz",
    "America/Los_Angeles",
    middle=(33.955, -118.268),
    place=5000.0,
    side=890.0,
    radius=2000.0,
    radii=(1000.0, 2000.0, 3000.0, 4000.0),
)
"""Minutes of GeoLife are one sequence until five are missing, or a step is faster than 120 km/h; Gowalla's check-ins
are steps however far apart."""
