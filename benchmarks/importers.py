"""`discreet import` of many positions in every format against a plain pass of the best parser over the same bytes.

Seconds of processor time, the best of 3, with the peak memory of the import in a process of its own. Then the memory of
importing a Records.json of 300 MB, nearly all of which are scans of wireless networks. `--positions N` changes how many
there are, and `--only a.csv,a.gpx` which formats.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks._importer_files import READERS, places
from benchmarks._timing import alternating, verdict
from discreet.data.importing import import_logs
from discreet.data.json_objects import loads

POSITIONS = 1_500_000
LIMIT = 3.0


def main(options: list[str] | None = None) -> None:
    """Print a line a reader; with ijson installed also its pass, the one that streams."""
    given = dict(zip((options or [])[::2], (options or [])[1::2], strict=True))
    count, only = int(given.get("--positions", POSITIONS)), given.get("--only", "").split(",")
    rows = places(count)
    print(f"{count} positions each")
    with tempfile.TemporaryDirectory() as folder:
        for one in [one for one in READERS if only == [""] or one.name in only]:
            path = Path(folder) / one.name
            one.write(path, rows)
            calls: dict[str, Callable[[], object]] = {}
            calls["plain"], calls["import"] = partial(one.plain, path), partial(import_logs, [path])
            best = alternating(calls, 3, time.process_time)
            size, ratio = path.stat().st_size / 1e6, best["import"] / best["plain"]
            _, before, peak = _measured("import", path)
            print(
                f"{path.name:21} {size:5.0f} MB  import {best['import']:6.2f} s  {one.parser:15} "
                f"{best['plain']:6.2f} s  {verdict(ratio, LIMIT)}  peak {(peak - before) / 1e6:4.0f} MB",
                flush=True,
            )
            if one.name == "Records.json":
                _streaming(path)
            path.unlink()
        if only == [""]:
            _memory(Path(folder) / "Scans.json")


def _measured(how: str, path: Path) -> tuple[int, int, int]:
    """Readings or records, and resident bytes before the first byte was read and at the peak."""
    command = ["sh", "-c", '"$0" "$@"; exit $?', sys.executable, "-c", READ, how, str(path)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    count, before, peak = (int(one) for one in told)
    return count, before, peak


READ = """
import resource, sys
from discreet.data.importing import import_logs
from discreet.data.json_objects import loads
scale = 1 if sys.platform == "darwin" else 1024
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
if sys.argv[1] == "import":
    print(import_logs([sys.argv[2]]).readings.height, end=" ")
else:
    print(len(loads(open(sys.argv[2], "rb").read())["locations"]), end=" ")
print(before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale)
"""


def write_scans(path: Path) -> None:
    """As a phone at home writes: a position, then scans of networks for a while."""
    networks = [{"mac": f"{k:012x}", "strength": -60, "frequencyMhz": 2412} for k in range(20)]
    scans = ",".join(
        json.dumps({"timestamp": f"2024-05-01T08:{k:02}:00.000Z", "wifiScan": {"accessPoints": networks}})
        for k in range(40)
    )
    with path.open("w") as file:
        file.write('{"locations":[')
        for k in range(6_000):
            stamp = f"2024-05-{1 + k // 600:02}T{k // 25 % 24:02}:{k % 25:02}:00.000Z"
            at = {"latitudeE7": 480000000 + k, "longitudeE7": 20000000, "accuracy": 12, "timestamp": stamp}
            file.write(("," if k else "") + json.dumps(at) + "," + scans)
        file.write("]}")


def _memory(path: Path) -> None:
    """Peak resident memory, of which so much before the first byte is read: Python, polars and the project."""
    write_scans(path)
    for how in ("import", "whole"):
        count, before, peak = _measured(how, path)
        what = f"import keeps {count} readings" if how == "import" else f"{loads.__module__} whole: {count} records"
        print(
            f"{path.name:14} {path.stat().st_size / 1e6:6.0f} MB  {what}: peak {peak / 1e6:.0f} MB, "
            f"{before / 1e6:.0f} MB before the first byte"
        )


def _streaming(path: Path) -> None:
    try:
        import ijson
    except ImportError:
        return

    def streamed() -> None:
        with path.open("rb") as file:
            for _ in ijson.items(file, "locations.item"):
                pass

    print(f"{path.name:14} the pass of ijson, which streams too: {alternating({'ijson': streamed}, 1)['ijson']:.2f} s")


if __name__ == "__main__":
    main()
