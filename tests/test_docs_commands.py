"""Every `discreet` line of the docs: those of five pages are run, all others name verbs and options that there are.

A page's lines are run in order, in one folder, to which the test brings the files that the page speaks of. What asks
is answered, what serves is started and stopped, and what takes long is given a documented option that makes it short.
Where `setup` compares choices, each is audited with fewer kernels than usual.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli import app, run, whole_command
from discreet.cli.attack import NOT_TESTED
from discreet.cli.live import Lines
from discreet.cli.setup import questions
from discreet.publish.engines.spark.session import missing
from tests.doc_commands import RUN, Line, line_of, lines_of, today
from tests.test_docs import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

SHORTER: dict[str, tuple[str, ...]] = {
    "setup": ("--weeks", "2", "--slots", "12"),  # weeks that are drawn to say what a choice costs, of longer slots
    "learn": ("--slots", "12"),  # longer slots, for what is made of the habits too
    "audit": ("--seconds", "1"),  # that a search may take
    "compare": ("--seconds", "1"),
    "stream": ("--since", today()),  # a replay, which ends with the readings that are there
}
"""Documented options that make a verb quicker; they are added to what the page says."""

ANSWERS: dict[str, list[str]] = {
    "docs/setup.md": [
        "jane", "Europe/Paris", "friend", "cafe", "gym", "supermarket", "hospital", "pharmacy", "1", "", "deceive",
        "", "",
    ],
}  # fmt: skip
"""What somebody types whom `discreet setup` asks: on its page as the page shows it."""

STOPPED = 130
"""The exit status of what Ctrl-C stopped (docs/command.md)."""

NO_SPARK = missing()


def needs_spark(line: Line) -> bool:
    return line.arguments is not None and (line.arguments[0] == "stream" or "spark" in line.arguments)


def lines_to_run(page: str) -> list[Line]:
    """Those of a page, except what another page before it has to the letter, and which leaves no file here."""
    pages = list(RUN)
    before = {line.arguments for name in pages[: pages.index(page)] for line in lines_of(ROOT / name)}
    writes = {"--out", "examples"}
    return [line for line in lines_of(ROOT / page) if line.arguments not in before - {None} or writes & {*line.words}]


@pytest.mark.slow("runs every command of a page, as a reader would")
@pytest.mark.parametrize("page", list(RUN))
def test_the_lines_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RUN[page](tmp_path)
    folder, block = tmp_path, -1
    for line in lines_to_run(page):
        if line.block != block:
            folder, block = tmp_path, line.block
        if line.words[0] == "cd":
            folder = tmp_path / line.words[1]  # a page's own folder is where each of its stories begins
        elif line.arguments is not None and not needs_spark(line):
            monkeypatch.chdir(folder)
            code, said = ran(line, monkeypatch)
            wanted = NOT_TESTED if line.arguments[0] == "attack" else 0  # six weeks of the example are too few for it
            assert code == wanted, f"{line}\nexits with status {code}:\n{said}"


@pytest.mark.spark
def test_the_lines_for_spark_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "docs/population.md"
    RUN[page](tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = lines_of(ROOT / page)
    (published,) = (line for line in lines if needs_spark(line) and "publish" in line.words)
    (stream,) = (line for line in lines if needs_spark(line) and "stream" in line.words)
    learns = lines[lines.index(stream) - 1]
    run_apart([published, learns, stream])


@pytest.mark.spark
def test_the_tutorial_for_spark_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = lines_of(ROOT / "docs" / "tutorial-spark.md")
    run_apart(lines)
    for table, engine in (("published", "spark"), ("again", "local")):
        manifest = json.loads((tmp_path / f"{table}.parquet.manifest.json").read_text(encoding="utf-8"))
        assert manifest["engine"] == engine


def run_apart(lines: Sequence[Line]) -> None:
    """Run lines one after the other, each in a process of its own."""
    for line in lines:
        assert line.arguments is not None
        verb, *rest = line.arguments
        # In a process of its own: a Java that other tests started is at home in another folder.
        program = [sys.executable, "-c", "from discreet.cli import main; main()", verb, *rest, *SHORTER.get(verb, ())]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\nexits with status {done.returncode}:\n{done.stdout}{done.stderr}"


def ran(line: Line, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """The exit status of a line, and what it says."""
    assert line.arguments is not None
    verb, *rest = line.arguments
    given = [verb, *rest, *([] if "--update" in rest else SHORTER.get(verb, ()))]  # a file has its own slots
    if verb == "compare" and "--mechanism" not in rest:
        given += [
            "--mechanism",
            "adaptive",
            "--mechanism",
            "mask-sensitive",
        ]  # all take four times as long
    if verb == "setup":
        monkeypatch.setattr(import_module("discreet.choosing.choices"), "KERNELS", 20)
    if verb == "setup" and "--yes" not in rest:
        monkeypatch.setattr(questions, "somebody_there", lambda: True)
        asked = CliRunner().invoke(app, given, input="".join(f"{answer}\n" for answer in ANSWERS[line.page]))
        return asked.exit_code, asked.output + repr(asked.exception)
    if verb == "serve" and "--check" not in rest:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        return started_and_stopped(line, ("--port", port), f"127.0.0.1:{port}")
    said = io.StringIO()
    if line.reads is not None:
        monkeypatch.setattr(sys, "stdin", io.StringIO(Path(line.reads).read_text(encoding="utf-8")))
        monkeypatch.setattr(sys.modules["discreet.cli.release"], "utc_now", Fast().now)
        monkeypatch.setattr(Lines, "poll", 0.05)
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = run(given)
    return code, said.getvalue()


class Fast:
    """A clock by which an hour passes in a second: `--now` tells a slot when it ends."""

    def __init__(self) -> None:
        self._began = dt.datetime.now(dt.UTC)

    def now(self) -> dt.datetime:
        return self._began + 3600 * (dt.datetime.now(dt.UTC) - self._began)


def started_and_stopped(line: Line, more: tuple[str, ...], wanted: str) -> tuple[int, str]:
    """Start a line in a process of its own, wait for its words, and stop it as Ctrl-C does."""
    assert line.arguments is not None
    program = [sys.executable, "-c", "from discreet.cli import main; main()", *line.arguments, *more]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        said = []
        try:
            for text in process.stdout:
                said.append(text)
                if wanted in text:
                    break
            else:
                raise AssertionError(f"{line}\nended before it said {wanted!r}:\n{''.join(said)}")
            os.killpg(process.pid, signal.SIGINT)
            said.append(process.communicate(timeout=600)[0])
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode - STOPPED, "".join(said)


# --- lines elsewhere; what deploy/ starts is tests/test_deploy.py's


@pytest.mark.parametrize(
    "line", [line for page in PAGES for line in lines_of(page) if line.arguments is not None], ids=str
)
def test_a_line_has_verbs_and_options_that_there_are(line: Line) -> None:
    assert line.arguments is not None
    check(line.arguments)


def check(arguments: tuple[str, ...]) -> None:
    """Parse a line as the command would, and run nothing of it."""
    command = whole_command()
    words = list(arguments)
    while hasattr(command, "commands"):
        name = words.pop(0)
        inner = command.get_command(None, name)  # those of a plug-in are looked for when they are asked for
        assert inner is not None, f"there is no discreet {name}"
        command = inner
    command.make_parser(command.context_class(command)).parse_args(words)


def test_a_line_is_read_as_a_shell_reads_it() -> None:
    line = line_of("a.md", 1, "tail -f x.log | discreet release --model 'a b' --now 2> errors  # and on")
    assert (line.arguments, line.reads) == (("release", "--model", "a b", "--now", "2"), "x.log")
    assert line_of("a.md", 1, "sudo /opt/discreet/bin/discreet token list").arguments == ("token", "list")
    within = line_of("a.md", 1, "docker compose -f deploy/compose.yaml exec discreet discreet token list")
    assert within.arguments == ("token", "list")
    for other in ("pip install 'discreet[gateway]'", "sudo systemctl enable --now discreet", "journalctl -u discreet"):
        assert line_of("a.md", 1, other).arguments is None


@pytest.mark.parametrize("wrong", ["leran x.csv", "learn x.csv --out", "release --nowhere", "token ad source"])
def test_a_line_that_is_wrong_is_found(wrong: str) -> None:
    with pytest.raises(Exception, match=r"no discreet|[Nn]o such|requires an argument"):
        check(tuple(wrong.split()))
