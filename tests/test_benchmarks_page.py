"""Every benchmark is on the page of benchmarks, and every command of the docs is one that there is."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.__main__ import found
from benchmarks._importer_files import READERS, places

from discreet.data.formats import FORMATS, LOGS
from discreet.data.importing import import_logs
from tests.test_docs import ROOT

PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_page_has_every_benchmark_once() -> None:
    rows = [
        line.split("|")[1] for line in PAGE.partition("## Every benchmark")[2].splitlines() if line.startswith("| `")
    ]
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == found()


def test_the_docs_name_no_benchmark_that_there_is_not() -> None:
    for page in PAGES:
        words = re.sub(r"\s+", " ", page.read_text(encoding="utf-8"))
        for name in re.findall(r"python -m benchmarks[ .]([a-z_]+)", words):
            assert (ROOT / "benchmarks" / f"{name}.py").exists(), f"{page.name}: {name}"


def test_importers_are_measured_in_every_format(tmp_path: Path) -> None:
    rows, read = places(3), set()
    for reader in READERS:
        path = tmp_path / reader.name
        reader.write(path, rows)
        read |= {file.format for file in import_logs([path]).files}
    assert read == {one.name for one in LOGS} | {one.name for one in FORMATS}
