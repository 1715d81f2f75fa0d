from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import run
from discreet.clock import Clock
from discreet.contexts import UNKNOWN
from discreet.models.simulate import people

EXAMPLES = Path(__file__).parents[2] / "examples"
READINGS = str(EXAMPLES / "readings.csv")
POLICY = str(EXAMPLES / "policy.toml")


@dataclass(frozen=True)
class Ran:
    """What a command left: exit code, stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Discreet = Callable[..., Ran]


@pytest.fixture
def discreet(capsys: pytest.CaptureFixture[str]) -> Discreet:
    def ran(*arguments: object) -> Ran:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return ran


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with p01.model, week.model that tells weekdays from weekends, and routine.model of days without end.

    brief.model is the routine and short.model the day in slots of two hours, which are soon released and audited.
    """
    folder = tmp_path_factory.mktemp("models")
    learned = ["learn", READINGS, "--zone", "Europe/Paris", "--keep", "hospital"]
    assert run([*learned, "--day-by-day", "--out", str(folder / "p01.model")]) == 0
    assert run([*learned, "--day-by-day", "--weekparts", "--out", str(folder / "week.model")]) == 0
    assert run([*learned, "--out", str(folder / "routine.model")]) == 0
    assert run([*learned, "--slots", "12", "--out", str(folder / "brief.model")]) == 0
    assert run([*learned, "--slots", "12", "--day-by-day", "--out", str(folder / "short.model")]) == 0
    return folder


@pytest.fixture
def given(models: Path) -> list[str]:
    """The model, policy and mechanism of the examples."""
    return ["--model", str(models / "p01.model"), "--policy", POLICY, "--mechanism", "mask-sensitive"]


@pytest.fixture
def endless(models: Path) -> list[str]:
    """The routine and the policy of the examples."""
    return ["--model", str(models / "routine.model"), "--policy", POLICY]


@pytest.fixture
def brief(models: Path) -> list[str]:
    """The routine in slots of two hours, and the policy of the examples."""
    return ["--model", str(models / "brief.model"), "--policy", POLICY]


@pytest.fixture
def family(tmp_path: Path) -> Path:
    """Two people's readings, in a table with columns of other names and epoch seconds."""
    path, clock = tmp_path / "family.csv", Clock(48)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("who", "at", "place"))
        for days in people(2, days=10, seed=3).values():
            for day in days:
                for slot, context in enumerate(day.contexts):
                    assert day.date is not None
                    if context != UNKNOWN:
                        writer.writerow((day.person, int(clock.start_of(day.date, slot).timestamp()), context))
    return path


def error_of(ran: Ran) -> str:
    """The one line of a refused command."""
    assert ran.code == 2
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert len(lines) == 1, ran.err
    assert lines[0].startswith("discreet: error: ")
    return lines[0]
