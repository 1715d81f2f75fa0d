"""What trackintel finds, for `benchmarks.stays`; run by a Python of its own that has trackintel and not discreet.

`python _trackintel.py positions.csv RADIUS MINUTES GAP_MINUTES stays.csv locations.csv` prints each step's seconds.
"""
# mypy: ignore-errors
# It runs where trackintel and pandas are installed, which they are not beside this project.

from __future__ import annotations

import json
import sys
import time
import warnings


def main() -> None:
    """Staypoints and locations, as files."""
    import geopandas
    import pandas
    import trackintel

    warnings.simplefilter("ignore")
    source, radius, minutes, gap, stays_out, locations_out = sys.argv[1:]
    table = pandas.read_csv(source, dtype={"user": str})
    fixes = geopandas.GeoDataFrame(
        {"user_id": table["user"], "tracked_at": pandas.to_datetime(table["timestamp"], unit="s", utc=True)},
        geometry=geopandas.points_from_xy(table["longitude"], table["latitude"]),
        crs="EPSG:4326",
    )
    fixes.index.name = "id"
    fixes = trackintel.Positionfixes(fixes)
    began = time.perf_counter()
    fixes, stays = fixes.generate_staypoints(
        method="sliding",
        dist_threshold=float(radius),
        time_threshold=float(minutes),
        gap_threshold=float(gap),
        include_last=True,
    )
    stayed = time.perf_counter()
    stays, locations = stays.generate_locations(
        method="dbscan", epsilon=float(radius), num_samples=1, distance_metric="haversine", agg_level="user"
    )
    gathered = time.perf_counter()
    last = fixes.dropna(subset="staypoint_id").groupby("staypoint_id")["tracked_at"].max().reindex(stays.index)
    where = stays.geometry
    pandas.DataFrame(
        {
            "user": stays["user_id"],
            "start": stays["started_at"].astype("datetime64[us, UTC]").astype("int64"),
            "end": stays["finished_at"].astype("datetime64[us, UTC]").astype("int64"),
            "last": last.astype("datetime64[us, UTC]").astype("int64"),
            "latitude": where.y,
            "longitude": where.x,
            "location": stays["location_id"].astype("int64"),
        }
    ).to_csv(stays_out, index=False)
    middle = locations["center"]
    pandas.DataFrame(
        {
            "location": locations.index,
            "latitude": geopandas.GeoSeries(middle).y,
            "longitude": geopandas.GeoSeries(middle).x,
        }
    ).to_csv(locations_out, index=False)
    print(json.dumps({"version": trackintel.__version__, "stays": stayed - began, "locations": gathered - stayed}))


if __name__ == "__main__":
    main()
