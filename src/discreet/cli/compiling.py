"""The first page of a new installation: loops that are not compiled yet stay plain Python, and are compiled afterwards.

Compiling takes half a minute, and the demo without it a third of that, with the same bits (`discreet.jit`). So the
first demo does without. When its page is there and somebody watches, it compiles, so that the next one and the other
commands start at once; Ctrl-C leaves that for later, and nothing goes on behind anybody's back.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

PLAIN = "NUMBA_DISABLE_JIT"

LAST = "mechanisms/programme.py", "programme._solve-*.nbi"
"""What takes longest to compile: its source, and the index of what numba keeps of it."""

WORK = "from discreet.demo.story import make_demo; make_demo()"
"""What has everything compiled that the demo needs."""

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


def compile_now() -> None:
    """Compile, in a process in which that is not switched off; Ctrl-C leaves it for later."""
    without = {name: value for name, value in os.environ.items() if name != PLAIN}
    with contextlib.suppress(KeyboardInterrupt):
        subprocess.run([sys.executable, "-c", WORK], env=without, stdout=subprocess.DEVNULL, check=False)
