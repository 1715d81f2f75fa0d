"""kill -9 at random moments of a real process under load; `python -m benchmarks gateway --kills 1000` for more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gateway.mosquitto import Mosquitto
from tests.gateway.postgres import Server
from tests.strategies import searches

pytestmark = pytest.mark.kills

BAD = (
    *("lost", "drawn_twice", "repeated", "missed", "gaps", "broken_chains"),
    *("broker_lost", "broker_twice", "broker_missed"),
)

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
        more = ["--postgres", server.database()]
    found = killed(count, *more)
    assert found["kills"] == count
    assert found["slots"] - found["skipped"] > count, "slots were decided"
    assert found["heard"] > count
    assert {name: found[name] for name in BAD} == dict.fromkeys(BAD, 0)


@pytest.mark.broker
def test_a_broker_is_told_every_slot_between_the_first_and_the_last(mosquitto: Mosquitto) -> None:
    found = killed(len(searches(10, full=2)), "--broker", str(mosquitto.port))
    assert found["broker_heard"] > 0
    assert {name: found[name] for name in BAD} == dict.fromkeys(BAD, 0)
