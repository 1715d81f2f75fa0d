"""Run once more, one test at a time, what failed in the last run: `make again`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

FAILED = Path(".pytest_cache/v/cache/lastfailed")
"""Where pytest writes what failed, once a run has ended."""


def without_group(name: str) -> str:
    """The name of a test without the group that tests/conftest.py adds for the scheduler."""
    return name if name.endswith("]") else name.partition("@")[0] if "[" not in name else name.rpartition("@")[0]


def main() -> int:
    """Pytest's exit status, or 1 if no failed test is known: the last run ended in another way."""
    written = json.loads(FAILED.read_text()) if FAILED.exists() else {}
    failed = list(dict.fromkeys(map(without_group, written)))
    if not failed:
        print("no failed test is known: the last run ended before its tests did, or none failed")
        return 1
    print("failed, and run once more by themselves:", *failed, sep="\n  ")
    return int(pytest.main(["-n", "0", "-m", "not audit", *failed]))


if __name__ == "__main__":
    sys.exit(main())
