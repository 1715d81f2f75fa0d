"""kill -9 at random moments of a real process under load; `python -m benchmarks gateway --kills 1000` for more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gateway.postgres import Server
from tests.strategies import searches

pytestmark = pytest.mark.kills

ROOT = Path(__file__).parents[2]


def killed(count: int, *more: str) -> dict[str, int]:
    """In a process of its own, which forks: nothing of the tests is in it."""
    command = [sys.executable, "-m", "benchmarks._crashes", str(count), *more]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.stdout, done.stderr[-2000:]
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_nothing_decided_is_lost_drawn_twice_or_missed(database: str, request: pytest.FixtureRequest) -> None:
    more, count = [], len(searches(10, full=2))  # forty in `make audit`
    if database == "postgres":
        server: Server = request.getfixturevalue("server")
        more = [server.database()]
    found = killed(count, *more)
    assert found["kills"] == count
    assert found["slots"] - found["skipped"] > count, "slots were decided"
    assert found["heard"] > count
    bad = ("lost", "drawn_twice", "repeated", "missed", "gaps", "broken_chains")
    assert {name: found[name] for name in bad} == dict.fromkeys(bad, 0)
