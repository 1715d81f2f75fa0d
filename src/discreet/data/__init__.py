"""Tables of readings, positions and events in, tables of releases and published events out."""

from discreet.data.bad_rows import BadRows
from discreet.data.columns import Columns, EventColumns, PositionColumns, SightingColumns
from discreet.data.formats import open_source
from discreet.data.positions import Positions, Track, read_positions, sequences
from discreet.data.published import published_columns, read_published, write_published
from discreet.data.readings import Readings, read_days
from discreet.data.releases import ReleaseRow, read_releases, write_releases
from discreet.data.sightings import Seen, read_place_days, read_sightings
from discreet.data.source import Source
from discreet.data.trajectories import Trajectories, read_trajectories
from discreet.outputs import Release

__all__ = [
    "BadRows",
    "Columns",
    "EventColumns",
    "PositionColumns",
    "Positions",
    "Readings",
    "Release",
    "ReleaseRow",
    "Seen",
    "SightingColumns",
    "Source",
    "Track",
    "Trajectories",
    "open_source",
    "published_columns",
    "read_days",
    "read_place_days",
    "read_positions",
    "read_published",
    "read_releases",
    "read_sightings",
    "read_trajectories",
    "sequences",
    "write_published",
    "write_releases",
]
