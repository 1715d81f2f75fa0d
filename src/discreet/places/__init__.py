"""Places from coordinates: named places on a map, found in positions or drawn by hand; cells of a grid or of H3.

Positions are (latitude, longitude) in degrees, WGS 84. Named places measure on the ellipsoid; cells have points (east,
north) in metres on a `Plane`. `dwell` has the rule from positions to a context a slot.
"""

from discreet.places.cells import Cells, Grid, Hexagons
from discreet.places.dwell import SlotStream, day_contexts
from discreet.places.find import Search, find_places
from discreet.places.geojson import geojson
from discreet.places.named import AWAY, MOVING, Place, Places
from discreet.places.placefile import read_places, write_places
from discreet.places.plane import EARTH, Plane, checked_positions, distances
from discreet.places.shapes import Circle, Polygon
from discreet.places.sightings import Sightings

__all__ = [
    "AWAY",
    "EARTH",
    "MOVING",
    "Cells",
    "Circle",
    "Grid",
    "Hexagons",
    "Place",
    "Places",
    "Plane",
    "Polygon",
    "Search",
    "Sightings",
    "SlotStream",
    "checked_positions",
    "day_contexts",
    "distances",
    "find_places",
    "geojson",
    "read_places",
    "write_places",
]
