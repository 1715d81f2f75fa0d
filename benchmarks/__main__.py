"""Run the benchmarks, all of them in order of name or those named: `python -m benchmarks [name ...]`.

One that has options of its own is given them after its name: `python -m benchmarks gateway --kills 1000`.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys

import benchmarks


def found() -> list[str]:
    """The benchmark modules, by name; private ones are left out."""
    return sorted(
        module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.name.startswith("_")
    )


def run(names: list[str]) -> int:
    """Run the named benchmarks, or all; 2 where a name is not known. Options go to the one that is named."""
    known = found()
    options = next((names[k:] for k, name in enumerate(names) if name.startswith("--")), [])
    names = names[: len(names) - len(options)]
    if options and len(names) != 1:
        print("options are of one benchmark; name it before them", file=sys.stderr)
        return 2
    for name in names:
        if name not in known:
            print(f"there is no benchmark {name!r}; known: {', '.join(known)}", file=sys.stderr)
            return 2
    os.environ.setdefault("DISCREET_COMPILE", "now")  # what is measured is compiled, unless it is the start
    for name in names or known:
        main = getattr(importlib.import_module(f"benchmarks.{name}"), "main", None)
        if main is not None:
            print(f"== {name}", flush=True)
            main(*([options] if options else []))
            print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
