"""The child that compiles: one for many processes, gone with its parent, no trace of it afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.jit import background, child

ASKS = """
import os, sys, time
import numpy as np
from discreet.jit import background, rule, sums
loop = rule.LOOPS["discreet.jit.sums.sparse_product"]
given = np.array([0.1, 0.2]), np.array([0, 1, 2]), np.array([0, 1]), np.array([0.3, 0.7]), 2
plain = sums.sparse_product(*given)
print(background._child.pid if background._child else 0, loop.is_compiled, flush=True)
"""

WAITS = """
until = time.monotonic() + 60
while not loop.is_compiled and time.monotonic() < until:
    time.sleep(0.05)
    assert sums.sparse_product(*given).tobytes() == plain.tobytes()
print(loop.is_compiled, flush=True)
until = time.monotonic() + 30
while background._child.poll() is None and time.monotonic() < until:
    time.sleep(0.05)
print(background._child.returncode, os.path.exists(f"/proc/{background._child.pid}"), flush=True)
"""


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "NUMBA_CACHE_DIR": str(cache), "DISCREET_COMPILE": "background"}


def gone(pid: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.slow("a child process loads numba and compiles")
def test_a_child_compiles_and_the_caller_takes_it_over(tmp_path: Path) -> None:
    """And it leaves by itself, awaited by nobody, without a zombie."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASKS + WAITS],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    asked, compiled, ended = run.stdout.splitlines()
    assert int(asked.split()[0]) > 0
    assert asked.split()[1] == "False"
    assert compiled == "True"
    assert ended == "0 False"
    (folder,) = tmp_path.glob("discreet-*")
    assert list((folder / background.ASKED).iterdir()) == []


def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    """Also with one that is killed and cannot say so."""
    for end in ("", "os._exit(0)", "os.kill(os.getpid(), 9)"):
        run = subprocess.run(
            [sys.executable, "-c", ASKS + end], env=environment(tmp_path / str(len(end))), stdout=subprocess.PIPE
        )
        pid = int(run.stdout.split()[0])
        assert pid > 0
        assert gone(pid, 300.0)


def test_one_child_is_enough(tmp_path: Path) -> None:
    """While one holds the lock no other is started, and one that comes late leaves at once."""
    first = subprocess.run([sys.executable, "-c", ASKS], env=environment(tmp_path), stdout=subprocess.PIPE, check=True)
    assert int(first.stdout.split()[0]) > 0
    (folder,) = tmp_path.glob("discreet-*")
    gone(int(first.stdout.split()[0]), 300.0)
    held = background.lock(folder)
    assert held is not None
    assert background.is_locked(folder)
    second = subprocess.run([sys.executable, "-c", ASKS], env=environment(tmp_path), stdout=subprocess.PIPE, check=True)
    assert int(second.stdout.split()[0]) == 0
    assert child.main(folder, os.getppid()) == 0
    os.close(held)
    assert not background.is_locked(folder)


def test_a_filter_that_denies_niceness_stops_nothing(tmp_path: Path) -> None:
    """As that of deploy/discreet.service does."""
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom discreet.jit import child\n"
        "def nice(by): raise PermissionError(1, 'Operation not permitted')\n"
        "os.nice, child.LINGER = nice, 0.0\n"
        "sys.exit(3 + child.main(Path(sys.argv[1]), os.getppid()))\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment(tmp_path), check=False)
    assert run.returncode == 3


def test_a_fork_forgets_the_child_of_its_parent(tmp_path: Path) -> None:
    """It neither waits for it nor ends it; it may start its own, which the lock says is not needed."""
    forked = """
pid = os.fork()
if pid == 0:
    background.end()
    background._next = 0.0
    background.ask(loop)
    os._exit(0 if background._child is None else 1)
_, status = os.waitpid(pid, 0)
print(status, background._child.poll(), flush=True)
"""
    locked = "until = time.monotonic() + 20\nfrom discreet.jit import cache\n" + (
        "while not background.is_locked(cache.writable()) and time.monotonic() < until: time.sleep(0.02)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", ASKS + locked + forked], env=environment(tmp_path), capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[1] == "0 None"


def test_what_cannot_be_compiled_is_left_interpreted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.jit import cache, rule, sums

    loop = rule.LOOPS["discreet.jit.sums.sparse_product"]
    assert loop.__module__ == sums.__name__
    monkeypatch.setattr(cache, "_told", tmp_path)
    (tmp_path / f"{cache.file_name(loop)}{background.FAILED}").write_text("no", encoding="utf-8")
    background.ask(loop)
    assert not (tmp_path / background.ASKED).exists()
