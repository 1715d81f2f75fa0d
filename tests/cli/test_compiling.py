from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.cli import compiling
from discreet.jit import cache, rule, warming
from discreet.jit.modules import SESSION
from tests.cli.conftest import Discreet

COMMAND = [sys.executable, "-c", "from discreet.cli import main; main()"]


def test_the_demo_shows_the_same_without_compiling(discreet: Discreet, tmp_path: Path) -> None:
    """In an empty cache the command's own process interprets, without being told, and says nothing of it."""
    assert discreet("demo", "--out", tmp_path / "compiled.html").code == 0
    plain = [*COMMAND, "demo", "--out", str(tmp_path / "plain.html")]
    environment = {name: value for name, value in os.environ.items() if name != rule.VARIABLE}
    environment |= {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONWARNINGS": "error"}
    done = subprocess.run(plain, env=environment, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert (tmp_path / "plain.html").read_bytes() == (tmp_path / "compiled.html").read_bytes()
    assert not list((tmp_path / "cache").rglob("*.nbc"))


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process of the command's own, in which the environment says nothing."""
    monkeypatch.setattr(compiling, "_own_process", True)
    monkeypatch.setattr(rule, "before_compiling", None)
    monkeypatch.setenv(rule.VARIABLE, "")  # set, so that it is put back


@pytest.mark.usefixtures("own")
def test_the_first_demo_does_without_and_later_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "not_ready", lambda modules: [])
    assert not compiling.does_without()
    monkeypatch.setattr(warming, "not_ready", lambda modules: [object()])
    assert compiling.does_without()
    assert os.environ[rule.VARIABLE] == "never"
    assert not compiling.does_without(), "what the environment says stands"


def test_a_process_of_others_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rule.VARIABLE, "")
    assert not compiling.does_without()
    compiling.batch(lambda: None)()
    assert os.environ[rule.VARIABLE] == ""
    assert rule.before_compiling is None


@pytest.mark.usefixtures("own")
def test_a_batch_compiles_before_its_first_loop_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not before: a file that is missing is an error at once."""
    seen: list[str] = []

    class Slow:
        def __init__(self, name: str) -> None:
            self.name, self.signatures, self.is_compiled = name, ((),), False

        def compile(self) -> None:
            seen.append(self.name)

    waiting = [Slow("discreet.one"), Slow("discreet.two")]
    monkeypatch.setattr(warming, "loops_of", lambda modules: waiting)
    monkeypatch.setattr(warming, "not_ready", lambda modules: waiting)
    monkeypatch.setattr(cache, "prune", lambda: None)

    def verb(number: int) -> int:
        assert seen == []
        rule.about_to_compile()  # what the first loop does
        rule.about_to_compile()
        return number + 1

    assert compiling.batch(verb)(1) == 2
    assert seen == ["discreet.one", "discreet.two"]
    assert capsys.readouterr().err.splitlines() == [
        "discreet: compiling, once: 0 of 2 loops; this takes up to a minute",
        "discreet: compiled 2 loops; they are kept for the next commands",
    ]


def test_warm_says_what_it_did(discreet: Discreet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "warm", lambda progress=None: 3)
    monkeypatch.setattr(warming, "not_ready", list)
    assert "Compiled 3 loops in 0 s; all are in " in discreet("warm").out
    told = discreet("warm", "--json").json
    assert told["compiled"] == 3
    assert told["not_kept"] == 0
    monkeypatch.setattr(warming, "not_ready", lambda: [object(), object()])
    assert "but 2 cannot be kept: set NUMBA_CACHE_DIR to a folder of yours." in discreet("warm").out
    monkeypatch.setenv(rule.VARIABLE, "never")
    assert "Nothing was compiled" in discreet("warm").out


def test_warm_compiles_each_loop_once_and_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    loops = warming.loops_of(SESSION)
    assert {loop.__module__ for loop in loops} == {*SESSION}
    waiting = loops[:2]
    told: list[object] = []
    monkeypatch.setattr(warming, "not_ready", lambda modules: waiting)
    for loop in waiting:
        monkeypatch.setattr(loop, "compile", lambda: told.append("compiled"))
    done = warming.warm(lambda *progress: told.append(progress), modules=SESSION)
    names = [loop.name for loop in waiting]
    assert done == 2
    whole = len(loops)
    assert told == [
        (whole - 2, whole, names[0]),
        "compiled",
        (whole - 1, whole, names[1]),
        "compiled",
        (whole, whole, ""),
    ]
    monkeypatch.setenv(rule.VARIABLE, "never")
    assert warming.warm(modules=SESSION) == 0
