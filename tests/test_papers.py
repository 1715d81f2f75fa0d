"""The table of the papers names functions, tests and pages that exist, and has no empty cell."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "papers.md"

CODE = re.compile(r"`([\w.]+)`")
TEST = re.compile(r"\[`(test_\w+)`\]\(\.\./([\w/]+\.py)\)")
LINK = re.compile(r"\[[^\]]+\]\(([\w-]+\.md)(?:#[\w-]+)?\)")


class Row(NamedTuple):
    """One thing of a paper: what it is, and the cells of its functions, tests, pages and how it is here."""

    what: str
    code: str
    tests: str
    pages: str
    how: str


def rows() -> Iterator[Row]:
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("|") and not line.startswith(("|---", "| in the paper")):
            yield Row(*(cell.strip() for cell in line.strip("|").split(" | ")))


def test_every_paper_has_a_table() -> None:
    headings = re.findall(r"^## (\S+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[:5] == ["MaskIt", "FDH", "CAPP", "S-PPATP", "DPHMM"]
    assert len(list(rows())) > 100


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: row.what[:40])
def test_what_is_named_exists(row: Row) -> None:
    assert all(row), row
    names = CODE.findall(row.code)
    assert names, row.code
    for name in names:
        assert found(name), f"{name} is nowhere"
    tests = TEST.findall(row.tests)
    assert tests, row.tests
    for test, file in tests:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file} has no {test}"
    pages = LINK.findall(row.pages)
    assert pages, row.pages
    assert all((ROOT / "docs" / page).is_file() for page in pages), row.pages


def found(name: str) -> bool:
    """Whether a dotted name is a module's, or something in it."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            place: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            declared = [getattr(kind, "__annotations__", {}) for kind in getattr(place, "__mro__", ())]
            if not hasattr(place, part) and not any(part in one for one in declared):
                return False
            place = getattr(place, part, None)
        return True
    return False


def test_a_name_that_is_nowhere_is_found_out() -> None:
    assert found("discreet.mechanisms.Adaptive")
    assert not found("discreet.mechanisms.Adaptable")
    assert not found("discreet.mechanisms.Adaptive.promise")
