"""Places of 1.5 million positions from a table: seconds and memory, in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

POSITIONS = 1_500_000
SECONDS, MEGABYTES = 20.0, 1000


def write_positions(path: Path, count: int = POSITIONS) -> None:
    """One person, a position each 30 seconds: home, work, and one of forty other places in the evening."""
    import numpy as np
    import polars as pl

    from discreet.places.ellipsoid import positions_around

    rng = np.random.default_rng(0)
    spots = rng.uniform(-10_000, 10_000, (42, 2))
    minute = np.arange(count) // 2
    day, hour = minute // 1440, minute % 1440 / 60
    evening = rng.integers(2, 42, day[-1] + 1)[day]
    place = np.where((hour >= 9) & (hour < 17) & (day % 7 < 5), 1, np.where((hour >= 18) & (hour < 20), evening, 0))
    metres = spots[place] + rng.normal(0, 15, (count, 2))
    way = (hour % 1 > 0.5) & np.isin(hour.astype(int), (8, 17, 20))  # half an hour on the way
    metres[way] = rng.uniform(-10_000, 10_000, (int(way.sum()), 2))
    positions = positions_around((48.0, 11.0), metres)
    pl.DataFrame(
        {
            "user": pl.repeat("p01", count, eager=True),
            "timestamp": pl.Series(1_600_000_000 + 30 * np.arange(count)) * 1_000_000,
            "latitude": positions[:, 0],
            "longitude": positions[:, 1],
        }
    ).with_columns(pl.col("timestamp").cast(pl.Datetime("us", "UTC"))).write_parquet(path)


def measure(path: Path) -> None:
    """The command's own steps, with times; the first includes what has to be compiled or loaded."""
    from discreet.clock import Clock
    from discreet.data import read_sightings
    from discreet.places import day_contexts, find_places
    from discreet.places.page import places_page

    began, busy = time.perf_counter(), time.process_time()
    (seen,) = read_sightings(path).people.values()
    read = time.perf_counter()
    places, spent = find_places(seen, Clock(48, "Europe/Paris"))
    places_page(places, spent, "p01")
    found, spent_busy = time.perf_counter(), time.process_time() - busy
    days = day_contexts(seen, places, Clock(48, "Europe/Paris"), 4 * 3600)
    told = time.perf_counter()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    whole = found - began
    met = "met" if whole <= SECONDS and most <= MEGABYTES else "MISSED"
    print(
        f"{len(seen)} positions: read {read - began:.1f} s, {len(places)} places and their page {found - read:.1f} s, "
        f"together {whole:.1f} s (at most {SECONDS:g}), of a processor {spent_busy:.1f} s; "
        f"{len(days)} days of contexts {told - found:.1f} s more; "
        f"highest memory {most} MB (at most {MEGABYTES}): {met}",
        flush=True,
    )


def command(path: Path) -> None:
    """The whole command as people run it, from its start to its end: time that passes, time of processors, memory."""
    began = time.perf_counter()
    out = [f"--out={path.with_suffix('.geojson')}", f"--map={path.with_suffix('.html')}"]
    code = "import sys; from discreet.cli import run; sys.exit(run(sys.argv[1:]))"
    subprocess.run(
        [sys.executable, "-c", code, "places", str(path), "--zone=UTC", *out], check=True, stdout=subprocess.DEVNULL
    )
    whole, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    most = used.ru_maxrss // 1024
    met = "met" if whole <= SECONDS and most <= MEGABYTES else "MISSED"
    print(
        f"discreet places: {whole:.1f} s (at most {SECONDS:g}), of processors {used.ru_utime + used.ru_stime:.1f} s; "
        f"highest memory {most} MB (at most {MEGABYTES}): {met}"
    )


def main() -> None:
    """Print the measures of fresh processes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "positions.parquet"
        write_positions(path)
        command(path)
        code = f"from pathlib import Path; from benchmarks.places import measure; measure(Path({str(path)!r}))"
        subprocess.run([sys.executable, "-c", code], check=True)
