"""The first page of a new installation: loops that are not compiled yet stay plain Python, and are compiled meanwhile.

Compiling takes half a minute, and the demo without it a third of that, with the same bits (`discreet.jit`). So the
first demo does without, and leaves the compiling to a process of its own that ends by itself: the next one, and other
commands, then start at once.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLAIN = "NUMBA_DISABLE_JIT"

LAST = "mechanisms/programme.py", "programme._solve-*.nbi"
"""What takes longest to compile: its source, and the index of what numba keeps of it."""

WORK = """
import os, sys
getattr(os, "nice", int)(10)
try:
    from discreet.demo.story import make_demo
    make_demo()
finally:
    os.unlink(sys.argv[1])
"""
"""What has everything compiled that the demo needs, lets others go first, and removes the lock that it is given."""

PATIENCE = 600.0
"""Seconds after which a lock is nobody's."""

_own_process = False


def in_own_process() -> None:
    """To be said where a process is the command's own: what it loads does not outlive it."""
    global _own_process
    _own_process = True


def does_without() -> bool:
    """Whether this process leaves its loops uncompiled, from now on; nothing of them was loaded before."""
    if not _own_process or "numba" in sys.modules or os.environ.get(PLAIN) or compiled():
        return False
    os.environ[PLAIN] = "1"
    return True


def compiled() -> bool:
    """Whether numba keeps what it compiled of this installation."""
    package = Path(__file__).parents[1]
    source, index = LAST
    changed = (package / source).stat().st_mtime
    return any(found.stat().st_mtime >= changed for kept in _kept(package) for found in kept.rglob(index))


def _kept(package: Path) -> list[Path]:
    """Where numba keeps it: where it is told, else beside the source, or in the user's cache if that is read-only."""
    told = os.environ.get("NUMBA_CACHE_DIR")
    if told:
        return [Path(told)]
    cache = os.environ.get("XDG_CACHE_HOME")
    own = [Path(cache) if cache else Path.home() / ".cache", Path.home() / "Library" / "Caches"]
    return [package, *(folder / "numba" for folder in own)]


def compile_meanwhile() -> bool:
    """Start the process that compiles, which says nothing and outlives this one; False where one is at it."""
    lock = Path(tempfile.gettempdir()) / f"discreet-compiling-{getpass.getuser()}"
    with contextlib.suppress(OSError):
        if time.time() - lock.stat().st_mtime > PATIENCE:
            lock.unlink()
    try:
        lock.open("x").close()
    except OSError:
        return False
    without = {name: value for name, value in os.environ.items() if name != PLAIN}
    subprocess.Popen(
        [sys.executable, "-c", WORK, str(lock)],
        env=without,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return True
