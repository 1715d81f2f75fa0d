"""The first minute: what a new installation waits for, what is compiled, and what a process that finds it all takes.

Each line is measured in processes of its own, by processor time, which other load changes less than the clock. The
example is the README's: three contexts, four slots, two secrets.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 900.0
"""Seconds that the child has on a busy machine, at low priority."""

MEGABYTE = 1024.0  # of what getrusage says, on Linux


class Line(NamedTuple):
    """What was measured, and the most that was asked for."""

    what: str
    found: float
    most: float
    unit: str


def example() -> Any:
    """The README's model and policy, under Adaptive."""
    import discreet as d

    habits = d.MarkovChain.homogeneous(
        ("home", "clinic", "work"), [0.8, 0.0, 0.2], [[0.6, 0.1, 0.3], [0.9, 0.1, 0.0], [0.3, 0.0, 0.7]], slots=4
    )
    policy = d.Policy(["clinic", d.Secret("clinic today", {"clinic"}, at="any")], delta=0.1)
    return lambda: d.Session(d.mechanisms.Adaptive(habits, policy))


def session(seconds: float) -> dict[str, float]:
    """Days of the example for so long, or until everything that they call is compiled: calls and memory."""
    made = example()
    first, slowest, until = 0.0, 0.0, time.monotonic() + seconds
    while True:
        today, took = timed(made)
        slowest = max(slowest, took if first else 0.0)
        for context in ("home", "clinic", "home", "work"):
            took = timed(partial(today.release, context))[1]
            slowest = max(slowest, took if first else 0.0)
            first = first or time.process_time()
        if time.monotonic() > until or not still_interpreted():
            break
        time.sleep(0.2)
    left = still_interpreted()
    return {"first": first, "slowest": slowest, "memory": memory(), "interpreted": left, "all": time.process_time()}


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its processor time."""
    began = time.process_time()
    return call(), time.process_time() - began


def still_interpreted() -> int:
    """Loops that were called and are not compiled in this process."""
    from discreet.jit.rule import LOOPS

    return sum(loop.was_called and not loop.is_compiled for loop in LOOPS.values())


def memory() -> float:
    """The most that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE


def compiling(whole: bool) -> dict[str, float]:
    """Processor time of compiling what a session of the example calls, or everything."""
    import discreet as d
    from discreet.jit.rule import LOOPS

    if not whole:
        os.environ["DISCREET_COMPILE"] = "never"
        with example()() as today:
            today.release("home")
            today.release("clinic")
        del os.environ["DISCREET_COMPILE"]
        called = [loop for loop in LOOPS.values() if loop.was_called]
        began = time.process_time()
        for loop in called:
            loop.compile()
        return {"seconds": time.process_time() - began, "loops": len(called)}
    began = time.process_time()
    loops = d.warm(lambda done, total, name: None)
    return {"seconds": time.process_time() - began, "loops": loops}


def gateway() -> dict[str, float]:
    """Processor time from the start of Python until a gateway with a person has decided, and answers over HTTP."""
    from benchmarks._restart import restarted

    return restarted()


def child(name: str, cache: Path, *arguments: object) -> dict[str, float]:
    """One measurement in a new process, with this cache."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "DISCREET_COMPILE": "background"}
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.start", name, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(run.stderr)
    found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return found


def imported(statement: str) -> float:
    """Processor time that an import takes beyond Python's own start, the best of five."""

    def once(code: str) -> float:
        code += "\nimport time; print(time.process_time())"
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)

    once(statement)
    return min(once(statement) for _ in range(5)) - min(once("pass") for _ in range(5))


def lines() -> Iterator[Line]:
    """All of them, as they are known; about two minutes of processor time."""
    yield Line("import discreet", imported("import discreet"), 0.15, "s")
    yield Line("from discreet import mechanisms", imported("from discreet import mechanisms"), 0.15, "s")
    with tempfile.TemporaryDirectory() as folder:
        new, own, all_of_it = Path(folder, "new"), Path(folder, "session"), Path(folder, "all")
        first = child("session", new, PATIENCE)
        yield Line("empty cache: first release, from the start of Python", first["first"], 2.0, "s")
        yield Line("empty cache: slowest call after it, the swap among them", first["slowest"], 1.0, "s")
        yield Line("empty cache: memory of the calling process", first["memory"], 200.0, "MB")
        yield Line("empty cache: loops still interpreted at the end", first["interpreted"], 0.0, "")
        part = child("compiling", own, 0)
        yield Line(f"compiling what a session calls ({part['loops']:.0f} loops)", part["seconds"], 20.0, "s")
        whole = child("compiling", all_of_it, 1)
        yield Line(f"compiling everything ({whole['loops']:.0f} loops)", whole["seconds"], 45.0, "s")
        warm = [child("session", all_of_it, 0) for _ in range(3)]
        yield Line("warm: first release, from the start of Python", min(one["first"] for one in warm), 1.2, "s")
        yield Line("warm: memory", min(one["memory"] for one in warm), 150.0, "MB")
        back = min(child("gateway", all_of_it)["decided"] for _ in range(3))
        yield Line("a gateway that is restarted: decided, and serves", back, 2.0, "s")


def main() -> None:
    """Print what was found beside what was asked for."""
    print(f"{'':58} {'found':>9} {'at most':>9}")
    for what, found, most, unit in lines():
        verdict = "met" if found <= most else "MISSED"
        print(f"{what:58} {found:6.2f} {unit:2} {most:6.2f} {unit:2}  {verdict}", flush=True)


if __name__ == "__main__":
    given = [float(value) for value in sys.argv[2:]]
    measured = {"session": session, "compiling": lambda whole: compiling(bool(whole)), "gateway": gateway}
    print(json.dumps(measured[sys.argv[1]](*given)))  # type: ignore[operator]
