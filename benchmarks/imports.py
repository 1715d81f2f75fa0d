"""How long imports and `discreet --help` take in fresh processes: median of 7."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

REPETITIONS = 7


def seconds(command: list[str]) -> tuple[float, str]:
    """The median time of a command after one run that fills caches, and the last line of its complaint if it failed."""
    times = []
    for _ in range(REPETITIONS + 1):
        began = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        times.append(time.perf_counter() - began)
        if done.returncode:
            return 0.0, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return statistics.median(times[1:]), ""


def main() -> None:
    """Print the times, each with its limit."""
    beside = Path(sys.executable).with_name("discreet")
    command = str(beside) if beside.exists() else shutil.which("discreet")
    print(f"{'':24} {'seconds':>8} {'at most':>8}")
    print(f"{'python -c pass':24} {seconds([sys.executable, '-c', 'pass'])[0]:8.3f}")
    for name, arguments, limit in (
        ("import discreet", [sys.executable, "-c", "import discreet"], 0.3),
        ("discreet.mechanisms", [sys.executable, "-c", "from discreet import mechanisms"], 0.15),
        ("discreet --help", [command, "--help"] if command else None, 0.5),
    ):
        taken, complaint = seconds(arguments) if arguments else (0.0, "the command is not installed")
        if complaint:
            print(f"{name:24} {'-':>8} {limit:8.2f}  not there yet: {complaint}")
        else:
            print(f"{name:24} {taken:8.3f} {limit:8.2f}  {'ok' if taken <= limit else 'TOO SLOW'}")


if __name__ == "__main__":
    main()
