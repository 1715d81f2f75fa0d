"""Tables of readings and events in, tables of releases and published events out."""

from discreet.data.bad_rows import BadRows
from discreet.data.columns import Columns, EventColumns
from discreet.data.published import published_columns, write_published
from discreet.data.readings import Readings, read_days
from discreet.data.releases import ReleaseRow, read_releases, write_releases
from discreet.data.trajectories import Trajectories, read_trajectories

__all__ = [
    "BadRows",
    "Columns",
    "EventColumns",
    "Readings",
    "ReleaseRow",
    "Trajectories",
    "published_columns",
    "read_days",
    "read_releases",
    "read_trajectories",
    "write_published",
    "write_releases",
]
