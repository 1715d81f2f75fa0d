"""The child process that compiles while this one interprets. One is enough for all processes that share a cache.

Loops are asked for by files in the cache's folder, so that the one child serves everybody; a lock says that there is
one. It ends when nothing is asked for any more, and with the process that started it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.jit import cache

if TYPE_CHECKING:
    from discreet.jit.rule import Loop

ASKED = "asked"
LOCK = "lock"
FAILED = ".failed"

STARTS = 3
"""Children that one process starts in vain before it stays with interpreting."""

WAIT = 1.0
"""Seconds between two attempts to start one."""

_child: subprocess.Popen[bytes] | None = None
_owner = 0
_started, _next = 0, 0.0
_guard = threading.Lock()


def ask(loop: Loop) -> None:
    """Have a loop compiled into the cache by a child process, this one's or another's; never raises, never waits."""
    folder = cache.writable()
    asked = folder / ASKED / loop.name
    with contextlib.suppress(OSError):
        if (folder / f"{cache.file_name(loop)}{FAILED}").exists():
            return
        if not asked.exists():
            asked.parent.mkdir(exist_ok=True)
            asked.write_text(loop.__module__, encoding="utf-8")
        _started_if_none(folder)


def _started_if_none(folder: Path) -> None:
    global _child, _owner, _started, _next
    if not sys.executable or getattr(sys, "frozen", False) or not _guard.acquire(blocking=False):
        return
    try:
        if _owner != os.getpid():  # a fork of the process that started one
            _child, _owner, _started, _next = None, os.getpid(), 0, 0.0
        now = time.monotonic()
        running = _child is not None and _child.poll() is None
        if running or _started >= STARTS or now < _next or is_locked(folder):
            return
        _next = now + WAIT
        if _child is not None and _child.returncode == 0:
            _started = 0  # that one did what it was asked
        _started += 1
        _child = subprocess.Popen(
            [sys.executable, "-m", "discreet.jit.child", str(folder), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": _path(), "DISCREET_COMPILE": "now"},
        )
        threading.Thread(target=_child.wait, name="discreet: waits for the compiler", daemon=True).start()
    finally:
        _guard.release()


def _path() -> str:
    """For the child: where this process found discreet, and what it was told."""
    return os.pathsep.join(filter(None, (str(cache.PACKAGE.parent), os.environ.get("PYTHONPATH"))))


def is_locked(folder: Path) -> bool:
    """Whether a child compiles into this folder."""
    taken = lock(folder)
    if taken is None:
        return True
    os.close(taken)
    return False


def lock(folder: Path) -> int | None:
    """The folder's lock, an open file; None if somebody has it."""
    held = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        import fcntl

        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # no such locks: two children compile the same twice
        return held
    except OSError:
        os.close(held)
        return None
    return held


@atexit.register
def end() -> None:
    """End the child that this process has started, and wait for it."""
    global _child
    child, _child = _child, None
    if child is not None and _owner == os.getpid():
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            child.terminate()
            child.wait(timeout=5)


def _after_fork() -> None:
    global _guard
    _guard = threading.Lock()  # whoever held it is not here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
