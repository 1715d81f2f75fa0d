"""learn, release and evaluate by two processes do what one does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.batch.workers import each_person
from discreet.cli.terminal import note
from tests.cli.conftest import POLICY, Discreet, error_of

COLUMNS = ["--user", "who", "--time", "at", "--context", "place"]
KEEP = ["--keep", "hospital", "--keep", "casino"]
SLOTS = 12  # of two hours: days are soon released
LEARN = [*COLUMNS, *KEEP, "--secrets", POLICY, "--accept-model", "--slots", str(SLOTS)]
QUIET = ["--policy", POLICY, "--mechanism", "mask-sensitive"]  # nothing is drawn, so that runs can be compared


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def learned(discreet: Discreet, family: Path, tmp_path: Path) -> Path:
    ran = discreet("learn", family, *LEARN, "--out", tmp_path / "models")
    assert ran.code == 0, ran.err
    return tmp_path / "models"


def says(number: int) -> int:
    note(f"about {number}")
    return number


@pytest.mark.parametrize("workers", [1, 2])
def test_what_processes_say_comes_in_the_order_of_people(capsys: pytest.CaptureFixture[str], workers: int) -> None:
    assert list(each_person(says, range(20), workers)) == list(range(20))
    assert capsys.readouterr().err == "".join(f"discreet: about {number}\n" for number in range(20))


def test_two_processes_learn_what_one_does(discreet: Discreet, family: Path, tmp_path: Path) -> None:
    ran = []
    for workers in (1, 2):
        out = tmp_path / f"models{workers}"
        one = discreet("learn", family, *LEARN, "--out", out, "--workers", workers)
        ran.append((one.code, one.out.replace(str(out), "OUT"), one.err.replace(str(out), "OUT")))
    assert ran[0] == ran[1]
    assert ran[0][0] == 0
    assert contents(tmp_path / "models1") == contents(tmp_path / "models2")
    assert "0 workers; give 1 or more" in error_of(
        discreet("learn", family, *LEARN, "--out", tmp_path / "other", "--workers", 0)
    )
    assert not (tmp_path / "other").exists()


def test_two_processes_release_what_one_does(discreet: Discreet, family: Path, learned: Path, tmp_path: Path) -> None:
    for ending in ("csv", "jsonl", "parquet"):
        ran = []
        for workers in (1, 2):
            out = tmp_path / f"{workers}.{ending}"
            one = discreet("release", "--model", learned, *QUIET, family, "--out", out, "--workers", workers)
            ran.append((one.code, one.out.replace(str(out), "OUT"), one.err))
        assert ran[0] == ran[1]
        assert (tmp_path / f"1.{ending}").read_bytes() == (tmp_path / f"2.{ending}").read_bytes()
    drawn = ["--policy", POLICY, "--workers", "2", "--json"]
    first, second = (discreet("release", "--model", learned, *drawn, family).json["releases"] for _ in range(2))
    assert first != second  # from the operating system's entropy
    assert [(row["person"], row["date"], row["slot"]) for row in first] == [
        (row["person"], row["date"], row["slot"]) for row in second
    ]


def test_a_folder_of_models_is_judged_person_by_person(discreet: Discreet, family: Path, learned: Path) -> None:
    using = [*QUIET, "--accept-model", "--json"]
    together = discreet("evaluate", family, "--model", learned, *using)
    shared = discreet("evaluate", family, "--model", learned, *using, "--workers", 2)

    def timeless(document: dict[str, object]) -> dict[str, object]:
        for part in document["parts"]:  # type: ignore[attr-defined]
            part.pop("seconds_per_decision")
        return document

    found = [timeless(one) for one in together.json["people"]]
    assert found == [timeless(one) for one in shared.json["people"]]
    assert together.code == shared.code
    for one in found:
        alone = discreet(
            "evaluate", family, "--model", learned / f"{one['person']}.model", *using, "--person", one["person"]
        )
        document = timeless(alone.json)
        assert {name: document[name] for name in one if name != "person"} == {
            name: value for name, value in one.items() if name != "person"
        }
    plain = discreet("evaluate", family, "--model", learned, *QUIET, "--accept-model", "--workers", 2)
    assert all(str(one["person"]) in plain.out for one in found)
    assert "of 2 people are breached nowhere and have no habits that are refuted" in plain.out
    assert "--picture is of one person" in error_of(
        discreet("evaluate", family, "--model", learned, *QUIET, "--picture", "x.png")
    )


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="groups of processes are POSIX")
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGKILL])
def test_learning_that_is_ended_leaves_nothing_half_written(family: Path, tmp_path: Path, ends: signal.Signals) -> None:
    out = tmp_path / "models"
    arguments = ["learn", str(family), *LEARN, "--out", str(out), "--workers", "2"]
    script = f"import sys; from discreet.cli import run; print('begun', flush=True); sys.exit(run({arguments!r}))"
    process = subprocess.Popen([sys.executable, "-c", script], start_new_session=True, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.5)
    os.killpg(process.pid, ends)
    process.communicate(timeout=600)
    assert process.returncode != 0
    assert not out.exists()
