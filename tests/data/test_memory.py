"""Peak memory follows the slots, not the readings in them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

SLOTS = 5_000
READ = """
import resource, sys
from discreet.clock import Clock
from discreet.data import formats, frames, read_days, slots
formats.csv.BLOCK, frames.BATCH, slots.UNMERGED = 1 << 19, 10_000, 20_000
found = read_days(sys.argv[1], Clock(1440), pick="modal")
assert found.rows == int(sys.argv[2])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak * (1 if sys.platform == "darwin" else 1024))
"""


def peak_bytes(path: Path, rows: int) -> int:
    # Through a shell, because a process starts with the peak of the one that it was forked from: this one's.
    command = ["sh", "-c", '"$0" "$@"; exit $?', sys.executable, "-c", READ, str(path), str(rows)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.slow("measures memory on a large table")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no getrusage")
@pytest.mark.parametrize("ending", ["csv.gz", "parquet"])
def test_more_readings_a_slot_need_no_more_memory(tmp_path: Path, ending: str) -> None:
    """Eight times the readings: to hold them all would take 80 MB more (polars.read_csv, measured)."""
    peaks = []
    for readings in (40, 320):
        row = pl.int_range(SLOTS * readings, eager=True)
        slot = row // readings
        context = ("place " + (slot % 7).cast(pl.String)).alias("context")
        seconds = slot * 60 + row % readings * 60 // readings
        table = pl.DataFrame({"user": "p", "timestamp": seconds, "context": context})
        path = tmp_path / f"{readings}.{ending}"
        if ending == "parquet":
            table.write_parquet(path, row_group_size=20_000)
        else:
            table.write_csv(path, compression="gzip")
        peaks.append(peak_bytes(path, len(row)))
    assert peaks[1] - peaks[0] < 45_000_000, peaks
