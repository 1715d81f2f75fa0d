"""Places from coordinates: cells of a grid in metres or of H3, their centres as a query, and outputs as GeoJSON.

Positions are (latitude, longitude) in degrees, WGS 84; points are (east, north) in metres on a `Plane`.
"""

from discreet.places.cells import Cells, Grid, Hexagons
from discreet.places.geojson import geojson
from discreet.places.plane import EARTH, Plane, checked_positions, distances

__all__ = ["EARTH", "Cells", "Grid", "Hexagons", "Plane", "checked_positions", "distances", "geojson"]
