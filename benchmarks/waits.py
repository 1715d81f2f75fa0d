"""What people wait for: each command on the shipped example, and the preview of the owner's page.

Each runs in a process of its own, with a warm cache of compiled loops. Processor time is that of the command and of the
processes that it starts; `waited` is by the clock. `first row` is when the first of several results is told. `--only
NAME` runs one of them.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

EXAMPLES = Path(__file__).parents[1] / "examples"

SUBREAPER = 36
"""Of `prctl`, on Linux: processes whose parent has ended become ours, so that their time is counted too."""

ENTER = b"\n" * 64
"""Answers to whatever is asked: what is suggested."""


class Took(NamedTuple):
    """Seconds of the processor and of the clock, and the seconds until the first row, where there are several."""

    processor: float
    waited: float
    first_row: float | None


@dataclass(frozen=True)
class Wait:
    """A command, how it tells that its first row is known, and the processor time that was asked for."""

    name: str
    words: tuple[str, ...]
    most: float
    row: Callable[[str], bool] | None = None
    given: bytes | None = None
    """What it is told by a pipe."""
    asked: bool = False
    """Whether somebody is there, who answers everything with Enter."""
    exits: tuple[int, ...] = (0,)


def discreet(*words: str | Path) -> tuple[str, ...]:
    """A command line of the command."""
    return (sys.executable, "-c", "from discreet.cli import main; main()", *map(str, words))


def begins_with_delta(line: str) -> bool:
    """A row of choices."""
    return line.lstrip()[:2] == "0."


def begins_with_mechanism(line: str) -> bool:
    """A row of mechanisms."""
    from discreet.evaluation.compare import COMPARED

    return line.partition(" ")[0] in COMPARED


def waits(folder: Path) -> Iterator[Wait]:
    """All of them; the model is learned before."""
    readings, policy, model = EXAMPLES / "readings.csv", EXAMPLES / "policy.toml", folder / "p01.model"
    using = ("--model", model, "--policy", policy)
    clock = ("--zone", "Europe/Paris", "--slots", "48")
    subprocess.run(discreet("learn", readings, *clock, "--out", model), check=True, capture_output=True)
    yield Wait("audit", discreet("audit", *using), 3.0)
    yield Wait("release", discreet("release", readings, *using, "--out", folder / "out.csv"), 3.5)
    yield Wait("evaluate", discreet("evaluate", readings, *using), 3.0, exits=(0, 1))
    yield Wait("policy suggest", discreet("policy", "suggest", model), 13.0, begins_with_delta)
    yield Wait("compare", discreet("compare", readings, *using), 12.0, begins_with_mechanism)
    asked = discreet("setup", readings, "--dir", folder / "home", "--person", "p01", *clock, "--accept-model")
    yield Wait("setup, every question answered", asked, 25.0, begins_with_delta, asked=True)
    yield preview(model, policy)


def preview(model: Path, policy: Path) -> Wait:
    """The page's preview of a secret more, with the last week as it would have been told."""
    from discreet.contexts import Day
    from discreet.gateway.owner.preview import PreviewWork, command, packed
    from discreet.mechanisms.named import Spec
    from discreet.models.kinds import ONE_DAY
    from discreet.models.routine.routine import Routine
    from discreet.models.simulate import START, person
    from discreet.models.store import load
    from discreet.policy import Policy, Secret, read_policy

    routine = load(model)
    assert isinstance(routine, Routine)
    before, _ = read_policy(policy, routine.clock)
    after = Policy([*before.secrets, Secret("bar today", {"bar"}, at="any")], delta=before.delta)
    week = [Day(day.contexts, START + k * ONE_DAY, "p01") for k, day in enumerate(person("p01", days=7, seed=7))]
    work = PreviewWork(routine, Spec("adaptive"), before, after, tuple(week), 1)
    ends = (0, -6)  # a thread of it still reads its pipe; the gateway ends it
    return Wait("preview on the page", tuple(command()), 22.0, given=packed(work), exits=ends)


# --- one of them


def run(wait: Wait) -> Took:
    """The command in a process of its own."""
    before, began = _spent(), time.monotonic()
    terminal, stdin = _terminal() if wait.asked else (None, subprocess.PIPE)
    with subprocess.Popen(
        wait.words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment()
    ) as process:
        said: list[bytes] = []
        threading.Thread(target=lambda: said.append(_all(process.stderr)), daemon=True).start()
        if wait.given is not None and process.stdin is not None:
            process.stdin.write(wait.given)  # and it stays open: a preview ends with its pipe
            process.stdin.flush()
        first = _first_row(process.stdout, wait, began)
        code = process.wait()
    if terminal is not None:
        os.close(terminal)
    if code not in wait.exits:
        raise SystemExit(f"{wait.name}: {said[0].decode() if said else code}")
    waited = time.monotonic() - began
    _wait_for_all()
    return Took(_spent() - before, waited, first)


def _first_row(stdout: IO[bytes] | None, wait: Wait, began: float) -> float | None:
    """Read to the end; when the first row came."""
    assert stdout is not None
    first = None
    for line in stdout:
        if line.startswith(b'{"problem"'):  # of the preview, whose exit status says nothing
            raise SystemExit(f"{wait.name}: {line.decode()}")
        if first is None and wait.row is not None and wait.row(line.decode()):
            first = time.monotonic() - began
    return first


def _all(pipe: IO[bytes] | None) -> bytes:
    assert pipe is not None
    return pipe.read()


def _terminal() -> tuple[int, int]:
    """A terminal at which somebody presses Enter."""
    import pty

    ours, theirs = pty.openpty()
    os.write(ours, ENTER)
    threading.Thread(target=_drain, args=(ours,), daemon=True).start()
    return ours, theirs


def _drain(terminal: int) -> None:
    with suppress(OSError):
        while os.read(terminal, 4096):
            pass


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "120"}


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait_for_all() -> None:
    """Processes that the command left behind, such as a pool's: they end a moment after it."""
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _adopt() -> None:
    if sys.platform.startswith("linux"):
        libc: Any = ctypes.CDLL(None)
        libc.prctl(SUBREAPER, 1, 0, 0, 0)


def main(options: list[str] | None = None) -> None:
    """Print what each took; a name after the options runs that one alone: `waits --only compare`."""
    _adopt()
    only = options[1] if options and options[0] == "--only" and len(options) > 1 else ""
    print(f"{'':32} {'processor':>10} {'at most':>9} {'waited':>9} {'first row':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for wait in waits(Path(folder)):
            if only not in wait.name:
                continue
            took = run(wait)
            row = "" if took.first_row is None else f"{took.first_row:8.1f} s"
            verdict = "met" if took.processor <= wait.most else "MISSED"
            told = f"{took.processor:8.1f} s {wait.most:7.1f} s {took.waited:7.1f} s {row:>10}"
            print(f"{wait.name:32} {told}  {verdict}", flush=True)
