"""A gateway that was off for some slots and comes back: `python -m benchmarks._restart FOLDER SLOT`.

It reads one person's habits and journal from the folder, decides the slot that has just ended, and serves. When it
serves it writes the processor time since Python started, and stops.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def restarted() -> dict[str, float]:
    """A first life that makes the files, and what the second took."""
    with tempfile.TemporaryDirectory() as folder:
        from benchmarks._crashes import routine
        from discreet.models.store import save

        save(Path(folder, "habits.model"), routine())
        _life(folder, 1)
        return _life(folder, 2)


def _life(folder: str, slot: int) -> dict[str, float]:
    words = [sys.executable, "-m", "benchmarks._restart", folder, str(slot)]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    if not run.stdout:
        raise SystemExit(run.stderr)
    found: dict[str, float] = json.loads(run.stdout.splitlines()[0])
    return found


def live(folder: Path, slot: int) -> None:
    """One life: decide a slot, serve, say so, stop."""
    from benchmarks._crashes import BEGAN, CLOCK, person_config
    from discreet.gateway.app import GatewayPlan, PreparedGateway
    from discreet.gateway.config.sections import Server as Address
    from discreet.gateway.server import listening, run
    from discreet.gateway.store.folder import Folder
    from discreet.models.store import load

    bound = listening("127.0.0.1", 0)
    person = person_config("p", load(folder / "habits.model"))  # type: ignore[arg-type]  # a Routine was saved
    now = BEGAN + slot * CLOCK.slot_seconds + 5
    plan = GatewayPlan([person], wall=lambda: now, server=Address(port=bound.getsockname()[1]))
    served = PreparedGateway(plan, Folder.made(folder))
    rows = served.gateway.keeper.turn(now)

    def ready() -> None:
        print(json.dumps({"decided": time.process_time(), "rows": len(rows)}), flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGTERM, lambda number, frame: None)  # the server raises it again when it has stopped
    run(served, bound, ready)


if __name__ == "__main__":
    live(Path(sys.argv[1]), int(sys.argv[2]))
