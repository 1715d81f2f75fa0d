"""Compile everything once, so that no later process has to: what `discreet warm` does."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence

from discreet.jit import cache
from discreet.jit.modules import OTHERS, SESSION
from discreet.jit.rule import LOOPS, Loop, mode

LoopProgress = Callable[[int, int, str], None]
"""Called with the number of loops that are ready, that of all, and the name of the one that is next."""


def warm(progress: LoopProgress | None = None, *, modules: Sequence[str] = (*SESSION, *OTHERS)) -> int:
    """Compile the loops that are not in the cache yet; the number that were compiled.

    It takes most of a minute in a new installation, and next to nothing after that. Without `progress`, a line on
    stderr says how far it is, where that is a terminal. Nothing is compiled with DISCREET_COMPILE=never.
    """
    if mode() == "never":
        return 0
    waiting, known = not_ready(modules), len(loops_of(modules))
    report = progress or (_on_terminal if sys.stderr.isatty() else None)
    for number, loop in enumerate(waiting):
        if report is not None:
            report(known - len(waiting) + number, known, loop.name)
        loop.compile()
    if report is not None and waiting:
        report(known, known, "")
    cache.prune()
    return len(waiting)


def loops_of(modules: Sequence[str]) -> list[Loop]:
    """The loops of some modules that have declared types."""
    for module in modules:
        importlib.import_module(module)
    return [loop for loop in LOOPS.values() if loop.__module__ in modules and loop.signatures]


def not_ready(modules: Sequence[str] = (*SESSION, *OTHERS)) -> list[Loop]:
    """Those of them that would have to be compiled."""
    return [loop for loop in loops_of(modules) if not loop.is_compiled and not cache.is_ready(loop)]


def _on_terminal(done: int, total: int, name: str) -> None:
    print(f"\r\033[Kcompiling, once: {done} of {total} {name}", end="" if name else "\n", file=sys.stderr, flush=True)
