"""The stream on Spark: readings a second by the clock, how late slots are told, and a query that is killed.

    python -m benchmarks._scale_stream --people 1000 --rate 2000 --seconds 240 --kills 10

The delay of a slot of a person is the time from its end to the moment at which the batch that tells it is committed in
the sink; the margin is part of it. Slots have a minute, and all people's end together, which is the worst there is.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.publish.followed import MONDAY, by_hand, folder_of, readings_of
from tests.publish.streamed import Child, all_files, committed_files, rows_in, rows_of, write_files

from discreet import Clock
from discreet.live.slots import MARGIN
from discreet.publish.engines.spark.session import missing, running

CLOCK = Clock(1440)
ARCHETYPES = 5
CORES = 2


def lines(people: int = 100, rate: int = 200, seconds: int = 150, kills: int = 2) -> Iterator[str]:
    """What is measured, a line each; nothing but the reason where Spark cannot be started."""
    lacks = missing()
    if lacks is not None:
        yield f"stream: left out, {lacks}"
        return
    if seconds:
        with tempfile.TemporaryDirectory() as folder:
            yield from _by_the_clock(Path(folder), people, rate, seconds)
    if kills:
        with tempfile.TemporaryDirectory() as folder:
            yield from _killed(Path(folder), kills)


# --- readings a second, and delays


class Feed:
    """A file of readings every second, moved to the folder when it is whole."""

    def __init__(self, folder: Path, names: Sequence[str], rate: int) -> None:
        self.folder, self.names, self.rate = folder, names, rate
        self.fed = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        folder.mkdir()
        self._file()
        self._thread.start()

    def _run(self) -> None:
        due = time.monotonic() + 1
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            self._file()
            due += 1

    def _file(self) -> None:
        now, draw = time.time(), random.Random(self.fed)
        rows = [
            f"{draw.choice(self.names)},{now - draw.random():.3f},{draw.choice(('home', 'work', 'shop'))}"
            for _ in range(self.rate)
        ]
        part = self.folder.with_name("part")
        part.write_text("\n".join(["user,timestamp,context", *rows]), encoding="utf-8")
        part.rename(self.folder / f"{self.fed:09d}.csv")
        self.fed += self.rate

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


def _by_the_clock(folder: Path, people: int, rate: int, seconds: int) -> Iterator[str]:
    from discreet.publish.stream.spark import readings_in, started

    names = [f"p{k:05d}" for k in range(people)]
    following = folder_of(folder, names, CLOCK, archetypes=min(ARCHETYPES, people), margin=MARGIN, grace=60.0)
    with running(f"local[{CORES}]", settings={"spark.sql.shuffle.partitions": str(CORES)}) as spark:
        feed = Feed(folder / "in", names, rate)
        query = started(readings_in(spark, folder / "in"), following, out=folder / "out", checkpoint=folder / "state")
        progress: dict[int, Any] = {}
        _until(query, progress, lambda: bool(all_files(folder / "out")) and any(rows_in(all_files(folder / "out"))))
        begun, fed, busy = (
            time.time(),
            feed.fed,
            _processor_seconds(),
        )  # Java is warm, mechanisms are made, and a first slot was told
        _until(query, progress, lambda: time.time() > begun + seconds)
        fed_for, fed, busy = time.time() - begun, feed.fed - fed, _processor_seconds() - busy
        feed.end()
        _until(query, progress, lambda: _rows(progress) >= feed.fed)
        behind = time.time() - begun - fed_for
        query.stop()
    delays = _delays(folder / "out", begun)
    late = np.quantile(delays, [0.5, 0.99, 1]) if len(delays) else np.full(3, np.nan)
    times = [one["batchDuration"] / 1000 for number, one in progress.items() if number]
    yield (
        f"stream: {people} people on {CORES} cores, {fed / fed_for:,.0f} readings a second for {fed_for:.0f} s, the "
        f"last read {behind:.1f} s after it came; batches take {np.median(times):.1f} s (median), "
        f"{max(times):.1f} s (longest)"
    )
    yield (
        f"stream: {busy / fed_for:.2f} cores were busy with it (Java, Python workers and the feed), on a machine where "
        f"{os.getloadavg()[1]:.0f} processes wanted to run"
    )
    yield (
        f"stream: {len(delays):,} slots told, {late[0]:.1f} s (median), {late[1]:.1f} s (p99), {late[2]:.1f} s (last) "
        f"after their end; the margin is {MARGIN:.0f} s"
    )


def _processor_seconds() -> float:
    """Of all processes of this session, Java's and the workers' too, and of those of them that ended."""
    ticks = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        if int(fields[3]) == os.getsid(0):
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _until(query: Any, progress: dict[int, Any], happened: Any) -> None:
    while not happened():
        if query.awaitTermination(0.5):
            raise RuntimeError("the query ended")
        progress |= {one["batchId"]: one for one in query.recentProgress if "addBatch" in one["durationMs"]}


def _rows(progress: dict[int, Any]) -> int:
    counts = [one["observedMetrics"].get("readings") for one in progress.values()]
    return sum(one["rows"] for one in counts if one is not None)


def _delays(out: Path, since: float) -> list[float]:
    """Of every slot of everybody that ended since then; a file counts from the first entry that lists it."""
    found: list[float] = []
    seen: set[str] = set()
    entries = [one for one in (out / "_spark_metadata").iterdir() if not one.name.startswith(".")]
    for entry in sorted(entries, key=lambda one: int(one.stem)):
        paths = {Path(json.loads(line)["path"]).name for line in entry.read_text(encoding="utf-8").splitlines()[1:]}
        committed = entry.stat().st_mtime
        ends = [CLOCK.end_of(row[1], row[2]).timestamp() for row in rows_in(out / name for name in paths - seen)]
        found += [committed - end for end in ends if end >= since]
        seen |= paths
    return found


# --- kills


def _killed(folder: Path, kills: int, people: int = 8, days: int = 4) -> Iterator[str]:
    names = [f"p{k}" for k in range(people)]
    following = folder_of(folder, names, carry=7200, margin=1)
    known = {name: readings_of(seed, days) for seed, name in enumerate(names)}
    write_files(folder / "in", known, 3 * kills + 4)
    wanted = rows_of(one for name in names for one in by_hand(following, name, known[name], days))
    drawn = random.Random(1)
    done = 0
    for _ in range(kills):
        child = Child(folder, following, MONDAY)
        before = len(child.batches("commits"))
        if not child.until(lambda child=child, before=before: len(child.batches("commits")) > before):  # type: ignore[misc]
            break
        time.sleep(drawn.uniform(0, 3))
        child.kill()
        done += 1
    code = Child(folder, following, MONDAY).wait(900)
    out = folder / "out"
    counted, everything = sorted(rows_in(committed_files(out))), list(rows_in(all_files(out)))
    told = {row[:3]: row for row in counted}
    lost = sum(row[:3] not in told for row in wanted if row[1] < _last(counted))
    other = sum(told.get(row[:3], row) != row for row in wanted)
    twice = sum(count > 1 for count in Counter(row[:3] for row in counted).values())
    redrawn = len(set(everything)) - len({row[:3] for row in everything})
    yield (
        f"stream: killed {done} times (kill -9), exit code {code} at last; {len(counted):,} slots committed: {lost} "
        f"lost, {twice} twice, {other} other than in a run never killed; of {len(everything):,} rows that any run "
        f"wrote, {len(everything) - len(counted)} were written again, {redrawn} redrawn"
    )


def _last(counted: Sequence[tuple[Any, ...]]) -> dt.date:
    """The last date, whose readings need not all be over."""
    return max((row[1] for row in counted), default=MONDAY)


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks._scale_stream")
    for name, default in (("people", 100), ("rate", 200), ("seconds", 150), ("kills", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for line in lines(**vars(parser.parse_args(list(options)))):
        print(line, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main(sys.argv[1:])
