"""`python -m discreet.jit.child FOLDER PARENT`: compile what is asked for into a folder, then end. See `background`."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import time
from pathlib import Path

LINGER = 3.0
"""Seconds without a request after which it ends: a session asks for its loops one after the other."""

WATCH = 0.5
"""Seconds between two looks whether the parent is still there."""


def main(folder: Path, parent: int) -> int:
    """Compile until nothing is asked for any more; the exit status."""
    from discreet.jit import background, cache

    held = background.lock(folder)
    if held is None:
        return 0  # another child is at work
    with contextlib.suppress(OSError):
        os.nice(10)  # refused by the filter of deploy/discreet.service
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    cache.use(folder)
    cache.prune()
    idle_since = time.monotonic()
    while time.monotonic() - idle_since < LINGER:
        asked = _first_asked(folder / background.ASKED)
        if asked is None:
            time.sleep(0.1)
            continue
        _compile(asked, folder)
        asked.unlink(missing_ok=True)
        idle_since = time.monotonic()
    return 0


def _watch(parent: int) -> None:
    """End with the parent: an orphan has another one."""
    while os.getppid() == parent:
        time.sleep(WATCH)
    os._exit(0)


def _first_asked(folder: Path) -> Path | None:
    with contextlib.suppress(OSError):
        return min(folder.iterdir(), key=lambda one: one.stat().st_mtime, default=None)
    return None


def _compile(asked: Path, folder: Path) -> None:
    from discreet.jit import background, cache
    from discreet.jit.rule import LOOPS

    try:
        importlib.import_module(asked.read_text(encoding="utf-8"))
    except (OSError, ImportError):
        return
    loop = LOOPS.get(asked.name)
    if loop is None or cache.is_ready(loop):
        return
    try:
        loop.compile()
    except Exception as error:
        (folder / f"{cache.file_name(loop)}{background.FAILED}").write_text(str(error), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
