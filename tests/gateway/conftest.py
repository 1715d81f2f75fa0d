"""What the gateway's tests share: a PostgreSQL server and a broker, where they are installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.mosquitto import ABSENT, PROGRAM, Mosquitto
from tests.gateway.postgres import Server, binaries


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A real server; tests that need it are skipped, with the reason, where there is none."""
    pytest.importorskip("psycopg", reason="psycopg is not installed (discreet[postgres])")
    if binaries() is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    one = Server()
    yield one
    one.end()


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    """A real broker, likewise."""
    if PROGRAM is None:
        pytest.skip(ABSENT)
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    broker = Mosquitto(folder).start()
    yield broker
    broker.stop()
