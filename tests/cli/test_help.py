from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from typer.main import get_command

from discreet.cli import app
from discreet.data.formats import FORMATS
from tests.cli.conftest import Discreet, error_of

VERBS = [
    "demo",
    "examples",
    "setup",
    "import",
    "places",
    "learn",
    "policy",
    "mechanisms",
    "release",
    "audit",
    "export",
    "evaluate",
    "compare",
    "attack",
    "publish",
    "stream",
    "serve",
    "token",
    "forget",
    "reproduce",
]


def test_help_names_every_verb(discreet: Discreet) -> None:
    ran = discreet("--help")
    assert ran.code == 0
    assert all(verb in ran.out for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example_and_json(discreet: Discreet, verb: str) -> None:
    ran = discreet(verb, "--help")
    assert ran.code == 0
    assert f"Example: discreet {verb}" in ran.out
    assert "--json" in ran.out


def test_help_imports_nothing_heavy() -> None:
    told = "import sys; from discreet.cli import run; run(['learn', '--help']); print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert not {"numba", "scipy", "polars", "discreet.data", "discreet.session"} & set(ran.stderr.split())


@pytest.mark.parametrize("verb", ["learn", "evaluate", "publish"])
def test_formats_that_help_names_can_be_read(verb: str) -> None:
    """It gives examples, not the list, which only the heavy readers know."""
    command = get_command(app).commands[verb]  # type: ignore[attr-defined]
    (data,) = (parameter for parameter in command.params if parameter.name == "data")
    named = set(re.findall(r"\.[a-z.]+", data.help))
    assert named
    assert named <= {ending for each in FORMATS for ending in each.endings}


def test_version(discreet: Discreet) -> None:
    ran = discreet("--version")
    assert ran.code == 0
    assert ran.out.startswith("discreet ")


def test_no_arguments_show_the_help_as_bad_use(discreet: Discreet) -> None:
    assert discreet().code == 2


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["lern"], "lern"),
        (["learn", "--bogus"], "--bogus"),
        (["audit", "--model", "a"], "--policy"),
        (["demo", "--seed", "many"], "--seed"),
        (["learn", "data.csv", "--out", "x", "--smoothing", "much"], "--smoothing"),
    ],
)
def test_bad_options_are_one_line(discreet: Discreet, arguments: list[str], part: str) -> None:
    assert part in error_of(discreet(*arguments))


@pytest.mark.parametrize("verb", ["learn", "audit"])
def test_a_seed_is_for_experiments_only(discreet: Discreet, verb: str) -> None:
    assert "--seed" in error_of(discreet(verb, "--seed", "1"))
    assert "--seed" in discreet("evaluate", "--help").out


@pytest.mark.parametrize("data", ["-", "day.csv"])
def test_what_one_person_releases_takes_no_seed(discreet: Discreet, data: str) -> None:
    told = error_of(discreet("release", "--model", "p.model", "--policy", "p.toml", data, "--seed", "1"))
    assert "--seed is for tests of a population" in told


def test_debug_shows_the_traceback(discreet: Discreet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_DEBUG", "1")
    with pytest.raises(ValueError, match="no such"):
        discreet("audit", "--model", "none.model", "--policy", "none.toml", "--mechanism", "no-mask")


def test_the_shell_completes_verbs() -> None:
    told = "from discreet.cli import main; main()"
    asked = {**os.environ, "_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": "discreet mech", "COMP_CWORD": "1"}
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, env=asked, check=False)
    assert ran.stdout.split() == ["mechanisms"]
