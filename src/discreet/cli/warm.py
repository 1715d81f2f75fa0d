"""`discreet warm`: compile everything once."""

from __future__ import annotations

import time

from discreet.cli import options
from discreet.cli.terminal import print_json, stages


def warm(json: options.Json = False) -> None:
    """Compile all hot loops now instead of later. It takes about a minute the first time, and then no time.

    Run it after an installation or an update, as the user that will run discreet. Without it the first commands
    interpret these loops, with the same results, while a second process compiles them.

    Example: discreet warm
    """
    from discreet.jit import cache, warming
    from discreet.jit.rule import mode

    began = time.monotonic()
    with stages("compiling") as report:
        compiled = warming.warm(lambda done, total, name: report(name.removeprefix("discreet."), done, total))
    left = len(warming.not_ready()) if mode() != "never" else 0
    where, took = str(cache.writable()), time.monotonic() - began
    if json:
        print_json({"compiled": compiled, "not_kept": left, "folder": where, "seconds": round(took, 1)})
    elif mode() == "never":
        print("Nothing was compiled: DISCREET_COMPILE=never, or NUMBA_DISABLE_JIT, says so.")
    elif left:
        print(f"Compiled {compiled} loops, but {left} cannot be kept: set NUMBA_CACHE_DIR to a folder of yours.")
    else:
        print(f"Compiled {compiled} loops in {took:.0f} s; all are in {where}" if compiled else f"All are in {where}")
