"""What other distributions add: found by entry points, named where it fails, absent without harm."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from discreet import plugins
from discreet.cli import run
from discreet.cli.reproduce import _papers
from discreet.clock import Clock
from discreet.data import read_days
from discreet.errors import DiscreetError


@pytest.fixture
def offering(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points that a test adds; those that are installed are not seen."""
    points: list[EntryPoint] = []
    monkeypatch.setattr(plugins, "entry_points", lambda group: [one for one in points if one.group == group])
    plugins._offered.cache_clear()
    _papers.cache_clear()
    yield points
    plugins._offered.cache_clear()
    _papers.cache_clear()


def test_the_papers_are_found_where_they_are_installed() -> None:
    assert "reproduce" in plugins.names(plugins.COMMANDS)


def test_without_them_the_command_says_what_to_install(
    offering: list[EntryPoint], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", "maskit"]) == 2
    assert "pip install discreet-experiments" in capsys.readouterr().err
    assert run(["reproduce"]) == 2
    assert run(["--help"]) == 0  # and nothing else is the worse for it


def test_one_that_fails_is_named_and_left_out(offering: list[EntryPoint], caplog: pytest.LogCaptureFixture) -> None:
    offering += [
        EntryPoint("broken", "no.such_module:Thing", plugins.FORMATS),
        EntryPoint("sound", "fractions:Fraction", plugins.FORMATS),
    ]
    with caplog.at_level(logging.WARNING, plugins.LOG.name):
        assert list(plugins.all_loaded(plugins.FORMATS)) == ["sound"]
    assert [one.getMessage() for one in caplog.records] == [
        "the plug-in broken (discreet.formats, no.such_module:Thing) cannot be loaded: ModuleNotFoundError: "
        "No module named 'no'; it is left out"
    ]
    with pytest.raises(DiscreetError, match="the plug-in broken"):
        plugins.loaded(plugins.FORMATS, "broken")


ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package, built and installed in a folder of its own; no index is asked."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(folder), str(ROOT / "examples" / "plugin")], check=True)
    return folder


def command(installed: Path, *arguments: str, at: Path) -> str:
    """What the command prints where the package is installed."""
    path = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")]))
    run = [sys.executable, "-c", "from discreet.cli import main; main()", *arguments]
    done = subprocess.run(run, cwd=at, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow("installs a package, and runs whole commands")
def test_the_example_package_adds_a_mechanism_a_format_and_a_learner(installed: Path, tmp_path: Path) -> None:
    assert json.loads(command(installed, "mechanisms", "--json", at=tmp_path))["plugins"] == ["timetable"]
    (tmp_path / "mine.diary").write_text("2026-11-16T08:00+01:00 home\n2026-11-16T09:00+01:00 work\n", encoding="utf-8")
    command(installed, "import", "mine.diary", "--out", "mine.csv", at=tmp_path)
    (day,) = read_days(tmp_path / "mine.csv", Clock(24, "Europe/Paris")).days
    assert day.contexts[8:10] == ("home", "work")
    readings, out = str(ROOT / "examples" / "readings.csv"), str(tmp_path / "recent.model")
    learned = ("learn", readings, "--learner", "recent", "--zone", "Europe/Paris", "--slots", "4", "--out", out)
    command(installed, *learned, "--accept-model", at=tmp_path)
    (tmp_path / "policy.toml").write_text('delta = 0.1\n[[secret]]\ncontexts = ["hospital"]\n', encoding="utf-8")
    judged = command(
        installed, "audit", "--model", out, "--policy", "policy.toml", "--mechanism", "timetable", "--json", at=tmp_path
    )
    assert json.loads(judged)["holds"] is True


def test_a_learner_that_is_not_there_is_an_error_with_a_remedy(
    offering: list[EntryPoint], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readings = str(ROOT / "examples" / "readings.csv")
    assert run(["learn", readings, "--learner", "none", "--out", str(tmp_path / "out.model")]) == 2
    assert "there is no learner 'none'; none is installed" in capsys.readouterr().err
