"""`discreet stream` in a process of its own that can be killed, and what it left on the disk."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import polars as pl

from discreet.outputs import Release, text_of
from discreet.publish.stream.people import Following, LabelledInstant
from tests.conftest import SHORT_LIVED

Told = tuple[str, dt.date, int, str, str]
"""Person, date, slot, kind and value."""


def write_files(folder: Path, known: Mapping[str, Iterable[LabelledInstant]], files: int) -> None:
    """The readings in order of time, cut to files of as many each; Spark takes the oldest first."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = sorted((one.instant, name, one.context) for name, held in known.items() for one in held)
    size = -(-len(rows) // files)
    for number in range(files):
        lines = [f"{name},{instant / 1000},{context}" for instant, name, context in rows[number * size :][:size]]
        path = folder / f"{number:03d}.csv"
        path.write_text("\n".join(["user,timestamp,context", *lines]) + "\n", encoding="utf-8")
        os.utime(path, (1.7e9 + number, 1.7e9 + number))


def rows_of(releases: Iterable[Release]) -> list[Told]:
    return [(one.person or "", one.date, one.slot, one.kind, text_of(one.output)) for one in releases]


class Child:
    """The command, over the folders of a `Following` that were made in one folder."""

    def __init__(self, folder: Path, following: Following, since: dt.date) -> None:
        self.out, self.checkpoint = folder / "out", folder / "checkpoint"
        self._log = (folder / "log").open("ab")
        command = [
            *(sys.executable, "-c", "import sys; from discreet.cli import run; sys.exit(run(sys.argv[1:]))", "stream"),
            *(str(folder / "in"), "--model", str(following.models), "--policy", str(following.policy)),
            *("--out", str(self.out), "--checkpoint", str(self.checkpoint), "--keys", str(following.keys)),
            *("--since", since.isoformat(), "--margin", str(following.margin), "--carry", f"{following.carry:.0f}s"),
            *("--master", "local[2]", "--files", "1", "--json"),
        ]
        self._process = subprocess.Popen(
            command,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
            env={**os.environ, "JAVA_TOOL_OPTIONS": SHORT_LIVED},
        )

    def kill(self) -> None:
        """SIGKILL to the driver and to Java; Spark's Python workers end when their pipes break."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()

    def wait(self, seconds: float) -> int:
        """The exit code, where it ends by itself in time."""
        try:
            return self._process.wait(seconds)
        finally:
            if self._process.poll() is None:
                self.kill()
            self._log.close()

    def until(self, happened: Callable[[], bool], seconds: float = 300) -> bool:
        """Whether it happened before the process ended."""
        end = time.monotonic() + seconds
        while not happened():
            if self._process.poll() is not None:
                return False
            if time.monotonic() > end:
                raise TimeoutError(f"nothing happened in {seconds} s; see {self._log.name}")
            time.sleep(0.002)
        return True

    def batches(self, log: str) -> set[int]:
        """The numbers in a log of the checkpoint: "offsets", written before a batch is run, or "commits", after."""
        folder = self.checkpoint / log
        return {int(one) for one in os.listdir(folder) if one.isdigit()} if folder.is_dir() else set()


def rows_in(paths: Iterable[Path]) -> Iterator[Told]:
    """The rows of Parquet files; one that a kill left without its end has none that anybody could read."""
    for path in paths:
        try:
            yield from pl.read_parquet(path, columns=["person", "date", "slot", "kind", "value"]).iter_rows()
        except (pl.exceptions.PolarsError, OSError):
            continue


def all_files(out: Path) -> list[Path]:
    """Also those of runs that were killed."""
    return sorted(out.glob("*.parquet"))


def committed_files(out: Path) -> list[Path]:
    """Those that count, by the log of Spark's file sink: the last whole list, and what came after it."""
    log = out / "_spark_metadata"
    entries = [one for one in log.iterdir() if re.fullmatch(r"\d+(\.compact)?", one.name)]
    whole = max((int(one.stem) for one in entries if one.suffix), default=-1)
    counted = [one for one in entries if int(one.stem) > whole or (one.suffix and int(one.stem) == whole)]
    lines = [line for one in counted for line in one.read_text(encoding="utf-8").splitlines()[1:]]
    return [out / Path(json.loads(line)["path"]).name for line in lines]
