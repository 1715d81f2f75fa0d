"""`discreet publish` on tables as publishers have them: several files, many people, disks that are full."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Discreet, error_of
from tests.cli.test_publish import cards, given

__all__ = ["cards"]

SECRET = ["--secret", "activity=activity 1", "--mechanism", "no-internal"]


def test_files_datasets_and_patterns_publish_what_one_table_does(
    discreet: Discreet, cards: Path, tmp_path: Path
) -> None:
    table = pl.read_csv(cards, infer_schema=False)
    (tmp_path / "parts").mkdir()
    for number in range(3):
        table.gather_every(3, number).write_csv(tmp_path / "parts" / f"{number}.csv")
    for (who,), own in table.group_by("who"):
        folder = tmp_path / "set" / f"who={who}"
        folder.mkdir(parents=True)
        own.drop("who").write_parquet(folder / "0.parquet")
    wanted = discreet(*given(cards, tmp_path / "whole.csv", *SECRET, "--json")).json
    for source in ("parts", "parts/*.csv", "set"):
        ran = discreet(*given(tmp_path / source, tmp_path / "out.csv", *SECRET, "--again", "--json"))
        assert ran.code in (0, 1), ran.err
        frames = [pl.read_csv(tmp_path / name, infer_schema=False) for name in ("out.csv", "whole.csv")]
        assert frames[0].select(frames[1].columns).equals(frames[1])
        assert ran.json["people"] == wanted["people"]
    tables = {"out.csv", "out.csv.manifest.json", "whole.csv", "whole.csv.manifest.json"}
    assert set(os.listdir(tmp_path)) == {"cards.csv", "parts", "set", *tables}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_row_on_each_person_and_a_dataset(discreet: Discreet, cards: Path, tmp_path: Path, ending: str) -> None:
    report = tmp_path / f"report.{ending}"
    ran = discreet(*given(cards, tmp_path / "set", *SECRET, "--partition-by", "place", "--report", report, "--json"))
    assert ran.code in (0, 1), ran.err
    found = pl.read_csv(report) if ending == "csv" else pl.read_parquet(report)
    assert found["person"].to_list() == [one["person"] for one in ran.json["people"]]
    for name in ("events", "utility", "breached", "worst_gain"):
        assert found[name].to_list() == [one[name] for one in ran.json["people"]]
    assert found["gain activity=activity 1"].max() == ran.json["worst_gain"]
    assert ran.json["partitioned_by"] == ["place"]
    assert pl.read_parquet(tmp_path / "set").height == ran.json["events"]
    assert ran.json["number_of_people"] == 4
    assert list(ran.json["utility_by_quantile"]) == ["5 %", "25 %", "50 %", "75 %", "95 %"]
    assert "is there already" in error_of(discreet(*given(cards, tmp_path / "set", *SECRET, "--partition-by", "place")))
    assert "no column 'plce'" in error_of(discreet(*given(cards, tmp_path / "b", *SECRET, "--partition-by", "plce")))
    told = error_of(discreet(*given(cards, tmp_path / "b.csv", *SECRET, "--report", tmp_path / "report.doc")))
    assert "says no format for reports" in told


def test_habits_of_a_sample_publish_everybody(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    topics = ["--habits", "events", "--topics", "2", "--sweeps", "400", "--accept-model"]
    ran = discreet(*given(cards, tmp_path / "out.csv", *SECRET, *topics, "--learn-from", "2", "--json"))
    assert ran.code in (0, 1), ran.err
    assert "habits are learned from, and tested on, 2 of 4 people, by lot (--learn-from)" in ran.err
    assert ran.json["learned_from"] == 2
    assert ran.json["number_of_people"] == len(ran.json["people"]) == 4
    assert ran.json["off_model"] == 0
    all_of_them = discreet(*given(cards, tmp_path / "all.csv", *SECRET, *topics, "--learn-from", "4", "--json"))
    assert "by lot" not in all_of_them.err
    assert "from 0 people; give 1 or more" in error_of(
        discreet(*given(cards, tmp_path / "b.csv", *SECRET, "--learn-from", "0"))
    )


def test_a_secret_that_nobody_has_leaves_nothing(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    told = error_of(discreet(*given(cards, tmp_path / "out.csv", "--secret", "activity=activity 9")))
    assert "'activity 9' is not known" in told
    assert os.listdir(tmp_path) == ["cards.csv"]


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="limits of files are POSIX")
@pytest.mark.parametrize(("limit", "told"), [(100, "cannot be"), (1_000, "cannot be sorted there"), (4_000, "cannot")])
def test_where_a_disk_is_full_there_is_no_table(cards: Path, tmp_path: Path, limit: int, told: str) -> None:
    """A limit on the size of files stands for a disk without room: whichever file meets it first, the run fails."""
    arguments = [str(one) for one in given(cards, tmp_path / "out.csv", *SECRET, "--accept-model")]
    script = f"import sys; from discreet.cli import run; sys.exit(run({arguments!r}))"
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert ran.returncode == 2, ran.stderr
    assert told in ran.stderr
    assert "File too large" in ran.stderr
    assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == ["cards.csv"]


def test_a_folder_that_cannot_be_written_to_is_told(
    discreet: Discreet, cards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(self: Path, *_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "mkdir", read_only)
    told = error_of(discreet(*given(cards, tmp_path / "out.csv", *SECRET)))
    assert "out.csv: cannot be written: Read-only file system" in told
    assert os.listdir(tmp_path) == ["cards.csv"]
