"""Publishing many people: what several processes gain, what memory it takes, and what that costs for millions.

`python -m benchmarks scale` runs all parts with sizes for a coffee break; options give others:

    python -m benchmarks scale --parts local --people 2000 --memory-people 1000000
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from discreet.cli.publish import ALLOCATOR
from discreet.events import Event, Trajectory
from discreet.mechanisms.named import Spec
from discreet.policy import Policy
from discreet.publish import Plan, RunKey, publish_people, publish_person
from discreet.publish.mechanism_cache import MOST_BYTES, MechanismCache
from discreet.publish.work import PEOPLE, PublishWork, trajectories_of

EVENTS = 20
"""Of each person."""

ARCHETYPES = 100
"""Kinds of people in the large table: those of a kind have the same habits, and share tables and programmes. The tables
of so many stay within what a process keeps."""

KINDS = 1_000
"""Of people in random order whose tables are counted."""

ACTIVITIES, LOCATIONS = 4, 6
PARTS_OF_DAY = ("night", "morning", "afternoon", "evening")
PARTS = ("local", "spark", "stream", "speed")


def main(options: list[str] | None = None) -> None:
    """Print the parts that are asked for, of those that are there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="which, separated by commas")
    parser.add_argument("--people", type=int, default=2_000, help="for the gain of two processes")
    parser.add_argument(
        "--memory-people", type=int, default=20_000, help="in the table whose memory is watched; 0: none"
    )
    parser.add_argument("--rounds", type=int, default=2, help="of the comparison, the best of which counts")
    given = parser.parse_args(options or [])
    for part in given.parts.split(","):
        for line in local(given.people, given.memory_people, given.rounds) if part == "local" else _other(part):
            print(line, flush=True)


def _other(part: str) -> Iterator[str]:
    """The lines of a part with a file of its own."""
    name = f"benchmarks._scale_{part}"
    if importlib.util.find_spec(name) is None:
        yield f"{part}: there is no such part here"
        return
    yield from importlib.import_module(name).lines()


# --- on this machine


def local(people: int, memory_people: int, rounds: int) -> Iterator[str]:
    """Two processes against one, and memory."""
    yield f"local: {people} people of {EVENTS} events, each with habits of their own (chain), pa-markov"
    plan, frame = own_habits(people)
    found: dict[int, list[Timed]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers in found:
            one = timed(plan, frame, people, workers)
            found[workers].append(one)
            yield (
                f"  {workers} worker{'s' * (workers > 1)}: {one.rate:7.1f} people a second once started, "
                f"{1000 * one.cpu:6.2f} ms of processor time each; {one.seconds:6.1f} s in all, {one.started:4.1f} s "
                "of it until the first were done"
            )
    rate = {workers: max(one.rate for one in each) for workers, each in found.items()}
    cpu = {workers: min(one.cpu for one in each) for workers, each in found.items()}
    yield f"  2 workers against 1, once started, best of {rounds}: {rate[2] / rate[1]:.2f}x (bar: 1.8x)"
    yield f"  by processor time, whatever else runs: {2 * cpu[1] / cpu[2]:.2f}x on two free cores"
    yield from many_kinds()
    if memory_people:
        yield from memory(memory_people)
        yield many_events(1_000_000)


def many_kinds() -> Iterator[str]:
    """Tables that one of two workers makes for people of many kinds, in any order."""
    plan, frame = own_habits(KINDS)
    kinds = list(trajectories_of(frame))
    order = np.random.default_rng(4).permutation(3 * KINDS) % KINDS
    tables, key = MechanismCache(MOST_BYTES // 2), RunKey.of_seed(1)
    begun = time.process_time()
    for number, kind in enumerate(order):
        publish_person(plan, replace(kinds[kind], person=str(number)), key, tables)
    took = 1000 * (time.process_time() - begun) / len(order)
    yield (
        f"  {len(order)} people of {KINDS} kinds in random order, one of two workers: {tables.made} tables made, "
        f"{took:.2f} ms of processor time a person"
    )


def own_habits(people: int) -> tuple[Plan, pl.DataFrame]:
    """People none of whom is like another."""
    rng = np.random.default_rng(1)
    events = [_event(*found) for found in _drawn(rng, people * EVENTS).iter_rows()]
    names = [f"{k:07}" for k in range(people) for _ in range(EVENTS)]
    rows = [(name, *event.values) for name, event in zip(names, events, strict=True)]
    everybody = [Trajectory(names[k], tuple(events[k : k + EVENTS])) for k in range(0, len(events), EVENTS)]
    plan = Plan.learn(everybody, Policy("activity=a1", delta=0.2), Spec("pa-markov"), habits="chain")
    return plan, pl.DataFrame(rows, schema=PEOPLE, orient="row")


class Timed(NamedTuple):
    """People a second from when the first were done to when the last were, and the seconds that it took."""

    rate: float
    cpu: float
    """Seconds of processor time a person, of all processes, once started."""
    seconds: float
    started: float
    """Seconds until the first were done, which have the start of the processes in them."""


def timed(plan: Plan, frame: pl.DataFrame, people: int, workers: int) -> Timed:
    """One run, whose rows go nowhere."""
    told: list[tuple[int, float, float]] = []

    def tell(done: int, _: int) -> None:
        if not told or done == people:
            told.append((done, time.perf_counter(), sum(map(_processor, _family(os.getpid())))))

    def take(frames: Iterator[pl.DataFrame]) -> None:
        for _ in frames:
            pass

    begun = time.perf_counter()
    publish_people(plan, [frame], people, take, workers=workers, progress=tell)
    (few, first, before), (everybody, last, after) = told[0], told[-1]
    rest = everybody - few
    return Timed(rest / (last - first), (after - before) / rest, last - begun, first - begun)


def memory(people: int) -> Iterator[str]:
    """The command on a dataset of many people, watched."""
    with tempfile.TemporaryDirectory(prefix="scale") as folder:
        data, out = Path(folder) / "events", Path(folder) / "published.parquet"
        write_table(data, people)
        command = [
            *("publish", str(data), "--out", str(out), "--report", str(Path(folder) / "report.parquet")),
            *("--secret", "activity=a1", "--mechanism", "pa-markov", "--habits", "chain", "--learn-from", "1000"),
            *("--accept-model", "--workers", "2"),
        ]
        script = f"from discreet.cli import run; run({command!r})"
        begun = time.perf_counter()
        # Polars has told this process how to keep what is freed; a command that is started by hand knows nothing of it.
        by_hand = {name: value for name, value in os.environ.items() if name != ALLOCATOR}
        with open(os.devnull, "wb") as nowhere:
            process = subprocess.Popen([sys.executable, "-c", script], stdout=nowhere, stderr=nowhere, env=by_hand)
            most = largest = 0.0
            while process.poll() is None:
                sizes = [_megabytes(pid) for pid in _family(process.pid)]
                most, largest = max(most, sum(sizes)), max(largest, *sizes)
                time.sleep(0.2)
        seconds = time.perf_counter() - begun
        rows = pl.scan_parquet(out).select(pl.len()).collect().item() if out.exists() else 0
        yield f"  memory: {people} people of {EVENTS} events in {ARCHETYPES} kinds, Parquet dataset in, 2 workers"
        yield (
            f"  {rows} rows in {seconds:.0f} s, {people / seconds:.0f} people a second, reading included; at most "
            f"{most:.0f} MB, all processes together, {largest:.0f} MB the largest (bar: 600 MB)"
        )


def many_events(events: int) -> str:
    """One person with so many events, in a process of their own, so that its memory is theirs."""
    script = f"from benchmarks.scale import one_person; one_person({events})"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return told.stdout.rstrip()


def one_person(events: int) -> None:
    """Publish them in pieces of 50, and print what they take beside their table."""
    rows = _drawn(np.random.default_rng(1), events).select(
        pl.lit("ann").alias("person"),
        "activity",
        pl.col("time").replace_strict(dict(enumerate(PARTS_OF_DAY)), return_dtype=pl.String),
        "location",
    )
    few = [Trajectory("ann", tuple(Event(*values) for values in rows.head(2_000).drop("person").iter_rows()))]
    plan = Plan.learn(few, Policy("activity=a1", delta=0.2), Spec("pa-markov"), habits="chain", piece_length=50)
    work = PublishWork(plan, RunKey.of_seed(1))
    work(rows.head(100))  # compiled
    before, begun = _megabytes(os.getpid()), time.process_time()
    work(rows)
    seconds, most = time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"  one person of {events} events in pieces of 50: {seconds:.0f} s of a core, {most - before:.0f} MB at most "
        "beside the table"
    )


def write_table(folder: Path, people: int) -> None:
    """Events of all people in the order of time, so that nobody's stand together; a file for each round of them."""
    folder.mkdir()
    kinds = _drawn(np.random.default_rng(2), ARCHETYPES * EVENTS)
    rng = np.random.default_rng(3)
    for number in range(EVENTS):
        order = pl.Series(rng.permutation(people))
        row = (order % ARCHETYPES) * EVENTS + number
        pl.DataFrame(
            {
                "user": "person " + order.cast(pl.String).str.zfill(8),
                "timestamp": 1_700_000_000 + number * 21_600 + order % 3_600,
                "location": kinds["location"].gather(row),
                "activity": kinds["activity"].gather(row),
            }
        ).write_parquet(folder / f"part-{number:03}.parquet", row_group_size=100_000)


def _drawn(rng: np.random.Generator, number: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "activity": [f"a{k}" for k in rng.integers(0, ACTIVITIES, number)],
            "time": rng.integers(0, 4, number),
            "location": [f"l{k}" for k in rng.integers(0, LOCATIONS, number)],
        }
    )


def _event(activity: str, time: int, location: str) -> Event:
    return Event(activity, PARTS_OF_DAY[time], location)


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    try:
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *(inner for child in below for inner in _family(int(child)))]


def _processor(pid: int) -> float:
    """The seconds of processor time that a process has had."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _megabytes(pid: int) -> float:
    """What a process takes, pages that it shares with others by its share of them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)
