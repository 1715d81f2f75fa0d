"""What the gateway's tests share: a PostgreSQL server, where one is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
