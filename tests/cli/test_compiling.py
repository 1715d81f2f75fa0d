from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import compiling
from tests.cli.conftest import Discreet

COMMAND = [sys.executable, "-c", "from discreet.cli import main; main()"]


def test_the_demo_shows_the_same_without_compiling(discreet: Discreet, tmp_path: Path) -> None:
    assert discreet("demo", "--out", tmp_path / "compiled.html").code == 0
    plain = [*COMMAND, "demo", "--out", str(tmp_path / "plain.html")]
    environment = {**os.environ, compiling.PLAIN: "1", "PYTHONWARNINGS": "ignore"}
    subprocess.run(plain, env=environment, check=True, capture_output=True)
    assert (tmp_path / "plain.html").read_bytes() == (tmp_path / "compiled.html").read_bytes()


def test_what_was_compiled_of_an_older_source_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert not compiling.compiled()
    index = tmp_path / "mechanisms_123" / "programme._solve-142.py311.nbi"
    index.parent.mkdir()
    index.touch()
    assert compiling.compiled()
    os.utime(index, (0, 0))
    assert not compiling.compiled()


def test_a_process_that_is_not_its_own_compiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is switched off for whoever calls `run`, or has loaded numba."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv(compiling.PLAIN, "")  # set, so that it is put back: the tests after this one compile
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert not compiling.does_without()
    monkeypatch.setattr(compiling, "_own_process", True)
    monkeypatch.setitem(sys.modules, "numba", sys)
    assert not compiling.does_without()
    monkeypatch.delitem(sys.modules, "numba")
    assert compiling.does_without()
    assert os.environ[compiling.PLAIN] == "1"


def test_what_compiles_is_not_told_to_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, Any]] = []

    def run(arguments: list[str], **given: Any) -> None:
        started.append({"arguments": arguments, **given})
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setenv(compiling.PLAIN, "1")
    compiling.compile_now()  # and Ctrl-C leaves it for later
    (one,) = started
    assert compiling.PLAIN not in one["env"]
    assert one["arguments"][-1] == compiling.WORK


def test_the_work_is_the_demo() -> None:
    names: dict[str, Any] = {}
    exec(compiling.WORK, names)
    assert names["make_demo"].__module__ == "discreet.demo.story"
