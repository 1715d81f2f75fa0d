"""Tables of readings in, tables of releases out."""

from discreet.data.bad_rows import BadRows
from discreet.data.columns import Columns
from discreet.data.readings import Readings, read_days
from discreet.data.releases import ReleaseRow, read_releases, write_releases

__all__ = ["BadRows", "Columns", "Readings", "ReleaseRow", "read_days", "read_releases", "write_releases"]
