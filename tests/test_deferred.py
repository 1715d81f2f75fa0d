"""A gateway starts without polars, and without it where nobody installed it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BLOCKED = """
import sys
from pathlib import Path
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "polars":
            raise ImportError("there is no polars")
sys.meta_path.insert(0, Absent())
"""


def ran(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, check=False)


def test_what_serves_imports_no_polars() -> None:
    done = ran("import discreet.gateway.app, discreet.gateway.server, discreet.cli.serve")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow("a command in a process of its own")
def test_a_table_without_polars_is_an_error_in_words() -> None:
    words = "['import', 'examples/readings.csv', '--out', 'x.csv']"
    done = ran(f"from discreet.cli import run\nraise SystemExit(run({words}))")
    assert done.returncode == 2
    assert "tables need polars, which is not installed: pip install polars" in " ".join(done.stderr.split())


@pytest.mark.slow("a gateway in a process of its own")
def test_a_gateway_decides_and_tells_without_polars(tmp_path: Path) -> None:
    story = f"""
import asyncio
from pathlib import Path
from tests.gateway.web import opened
async def story():
    async with opened(Path({str(tmp_path)!r})) as web:
        headers = web.bearer("application")
        rows = await web.pass_slots(3)
        print(len(rows), (await web.client.get("/v1/people/jane/now", headers=headers)).status_code)
asyncio.run(story())
print(sorted(name for name in sys.modules if name.startswith("polars")))
"""
    done = ran(story)
    assert done.stdout.splitlines() == ["3 200", "[]"], done.stderr
