"""Every benchmark is on the page of benchmarks, and every command of the docs is one that there is."""

from __future__ import annotations

import re

from benchmarks.__main__ import found

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
