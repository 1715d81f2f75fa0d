"""Processor time of tests; `python -m tests.processor_time` lists the slowest of the last run, and why they are."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

COUNT = 20
"""Tests that are listed."""

CACHE = "discreet/processor_time"
"""Where pytest's cache keeps what the tests of the last run took."""

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 1


class Took(NamedTuple):
    """Processor seconds of a test, the fixtures that it was the first to use included, and why it is slow."""

    seconds: float
    reason: str | None


def spent() -> float:
    """Processor seconds of this process and of those that it started, ended or not."""
    here = os.times()
    return here.user + here.system + here.children_user + here.children_system + sum(map(_of, _children("self")))


def _of(pid: str) -> float:
    """Processor seconds of a process that runs, and of those that it started: Java stays for many tests."""
    try:
        fields = Path("/proc", pid, "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS + sum(map(_of, _children(pid)))


def _children(pid: str) -> list[str]:
    try:
        lists = [task / "children" for task in Path("/proc", pid, "task").iterdir()]
        return [child for one in lists for child in one.read_text(encoding="utf-8").split()]
    except OSError:  # it has ended, or this is not Linux
        return []


def slowest(took: dict[str, Took]) -> list[str]:
    """Lines of the tests that took most, slowest first."""
    most = sorted(took.items(), key=lambda one: one[1].seconds, reverse=True)[:COUNT]
    return [f"{one.seconds:6.1f} s  {name}\n          {one.reason or 'no reason is given'}" for name, one in most]


def main(folder: Path = Path(".pytest_cache")) -> int:
    """List the slowest tests; exits with status 1 where one of them has no reason to be slow."""
    path = folder / "v" / CACHE
    if not path.is_file():
        print("no run of the tests is recorded here; run make test before", file=sys.stderr)
        return 2
    took = {name: Took(*one) for name, one in json.loads(path.read_text(encoding="utf-8")).items()}
    lines = slowest(took)
    total = sum(one.seconds for one in took.values())
    print(f"{len(took)} tests took {total:.0f} s of processor time; the slowest {len(lines)}:")
    print("\n".join(lines))
    return int(any("no reason is given" in line for line in lines))


if __name__ == "__main__":
    sys.exit(main())
