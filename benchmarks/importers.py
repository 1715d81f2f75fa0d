"""`discreet import` of 1.5 million positions against a plain pass of the best parser over the same bytes: best of 3.

Then the memory of importing a Records.json of 300 MB, nearly all of which are scans of wireless networks.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

from benchmarks._timing import alternating, verdict
from discreet.data.importing import import_logs
from discreet.data.json_objects import loads

POSITIONS = 1_500_000
LIMIT = 3.0
START = 1_600_000_000


def places() -> pl.DataFrame:
    """A walk that never repeats a position, ten seconds a step."""
    k = pl.int_range(POSITIONS, eager=True)
    return pl.DataFrame(
        {
            "tst": START + 10 * k,
            "lat": (48.0 + (k % 10_007) / 20_000).round(7),
            "lon": (2.0 + (k % 9_973) / 20_000).round(7),
        }
    )


def write_rec(path: Path, rows: pl.DataFrame) -> None:
    stamp = pl.from_epoch("tst").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    message = (
        '{"_type":"location","acc":12,"alt":35,"batt":71,"bs":1,"conn":"w","created_at":{},"lat":{},"lon":{},"m":1,'
        '"t":"p","tid":"ph","tst":{},"vac":3,"vel":0}'
    )
    text = "{}\t*                 \t" + message.replace("{", "{{", 1)[:-1] + "}}"
    line = pl.format(text, stamp, "tst", "lat", "lon", "tst")
    path.write_text("\n".join(rows.select(line.alias("line"))["line"]) + "\n")


def write_records(path: Path, rows: pl.DataFrame) -> None:
    """As Takeout has them: indented, and with guesses at activities beside every fourth."""
    guess = {"activity": [{"type": "STILL", "confidence": 90}, {"type": "UNKNOWN", "confidence": 10}]}
    with path.open("w") as file:
        file.write('{\n  "locations": [')
        stamps = rows.select(pl.from_epoch("tst").dt.strftime("%Y-%m-%dT%H:%M:%S.000Z"))["tst"]
        for k, (stamp, lat, lon) in enumerate(zip(stamps, rows["lat"], rows["lon"], strict=True)):
            entry = {"latitudeE7": round(lat * 1e7), "longitudeE7": round(lon * 1e7), "accuracy": 12}
            more = {"activity": [{**guess, "timestamp": stamp}]} if k % 4 == 0 else {}
            held = {**entry, **more, "source": "WIFI", "deviceTag": 12345678, "timestamp": stamp}
            file.write((", " if k else "") + json.dumps(held, indent=2).replace("\n", "\n  "))
        file.write("]\n}\n")


def plain_rec(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            loads(line.split(b"\t", 2)[2])


def plain_records(path: Path) -> None:
    loads(path.read_bytes())


def plain_csv(path: Path) -> None:
    pl.read_csv(path)


def main() -> None:
    """Print seconds and ratios; with ijson installed also its pass, the one that streams."""
    rows = places()
    with tempfile.TemporaryDirectory() as folder:
        rec, records, table = (Path(folder) / name for name in ("a.rec", "Records.json", "a.csv"))
        write_rec(rec, rows)
        write_records(records, rows)
        rows.with_columns(time=pl.from_epoch("tst").dt.strftime("%Y-%m-%dT%H:%M:%SZ")).drop("tst").write_csv(table)
        parser = loads.__module__
        plain: dict[str, tuple[Path, Callable[[Path], None]]] = {
            f"{parser} a line": (rec, plain_rec),
            f"{parser} whole": (records, plain_records),
            "polars.read_csv": (table, plain_csv),
        }
        for name, (path, call) in plain.items():
            best = alternating({"plain": lambda c=call, p=path: c(p), "import": lambda p=path: import_logs([p])}, 3)  # type: ignore[misc]
            size, ratio = path.stat().st_size / 1e6, best["import"] / best["plain"]
            print(
                f"{path.name:14} {size:6.0f} MB  import {best['import']:6.2f} s  {name:16} {best['plain']:6.2f} s  "
                f"{verdict(ratio, LIMIT)}",
                flush=True,
            )
        _streaming(records)
        _memory(Path(folder) / "Scans.json")


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
        command = ["sh", "-c", '"$0" "$@"; exit $?', sys.executable, "-c", READ, how, str(path)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        count, before, peak = (int(one) for one in told)
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
