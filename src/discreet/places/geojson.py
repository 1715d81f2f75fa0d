"""Outputs as GeoJSON (RFC 7946)."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

from discreet.errors import DiscreetError
from discreet.outputs import Generalized, Output, Perturbed, Released, to_wire
from discreet.places.cells import Cells
from discreet.places.plane import Plane


def geojson(
    outputs: Sequence[Output],
    *,
    plane: Plane | None = None,
    cells: Cells | None = None,
    starts: Sequence[dt.datetime] | None = None,
) -> dict[str, Any]:
    """Outputs as a GeoJSON FeatureCollection (RFC 7946), a feature a slot.

    A perturbed point is a Point: in metres on the `plane`, without one latitude and longitude. A released cell is the
    Polygon of its outline where `cells` are given. What has no place, silence above all, is a feature without geometry.
    `starts` are the slots' times.
    """
    if starts is not None and len(starts) != len(outputs):
        raise DiscreetError(f"there are {len(starts)} starts for {len(outputs)} outputs; give one each")
    features = []
    for slot, output in enumerate(outputs):
        properties: dict[str, Any] = {"slot": slot, "kind": to_wire(output)["kind"]}
        if starts is not None:
            properties["start"] = starts[slot].isoformat()
        if isinstance(output, Released):
            properties["context"] = output.context
        if isinstance(output, Generalized):
            properties["node"] = output.node
        geometry = _geometry(output, plane, cells)
        features.append({"type": "Feature", "geometry": geometry, "properties": properties})
    return {"type": "FeatureCollection", "features": features}


def _geometry(output: Output, plane: Plane | None, cells: Cells | None) -> dict[str, Any] | None:
    if isinstance(output, Perturbed):
        if len(output.point) != 2 or not all(map(math.isfinite, output.point)):
            raise DiscreetError(f"the point {output.point} is no place on a map; the query must have two coordinates")
        if plane is None:  # degrees with noise may lie beyond the poles too
            latitude, longitude = output.point
            position = max(-90.0, min(90.0, latitude)), (longitude + 180) % 360 - 180
        else:
            ((latitude, longitude),) = plane.degrees(output.point).tolist()
            position = latitude, longitude
        return {"type": "Point", "coordinates": [position[1], position[0]]}
    if isinstance(output, Released) and cells is not None:
        ring = [[longitude, latitude] for latitude, longitude in cells.outline(output.context).tolist()]
        return {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
    return None
