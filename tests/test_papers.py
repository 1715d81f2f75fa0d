"""The table of the papers names functions, tests and pages that exist, and has no empty cell."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_docs import anchors

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "papers.md"

CODE = re.compile(r"`([\w.]+)`")
TEST = re.compile(r"\[`(test_\w+)`\]\(\.\./([\w/]+\.py)\)")
LINK = re.compile(r"\[[^\]]+\]\(([\w-]+\.md)(?:#([\w-]+))?\)")

NUMBER = r"[\dI]+(?:\.\d+)?"
KIND = "Algorithm|Claim|Corollary|Definition|Eq\\.|Example|Figure|Lemma|Observation|Proposition|Table|Theorem"
NUMBERED = re.compile(rf"\b({KIND})(?:ies|s)? ({NUMBER}[a-d]?(?:(?:, | and | to ){NUMBER}[a-d]?)*)")


def upto(last: int, first: int = 1) -> list[str]:
    """Numbers as papers count."""
    return [str(number) for number in range(first, last + 1)]


def within(section: int, last: int) -> list[str]:
    """Numbers of a paper that counts by section."""
    return [f"{section}.{number}" for number in upto(last)]


IN_PRINT: dict[str, dict[str, list[str]]] = {
    "MaskIt": {
        "Algorithm": upto(4),
        "Claim": upto(10),
        "Corollary": ["1"],
        "Definition": upto(3),
        "Example": upto(6),
        "Figure": upto(8),
        "Lemma": upto(5),
        "Observation": ["1"],
        "Proposition": upto(5),
        "Table": ["1"],
        "Theorem": upto(7),
    },
    "FDH": {"Figure": upto(6), "Table": ["I"]},
    "CAPP": {
        "Algorithm": upto(2),
        "Definition": ["2", "3"],
        "Eq.": ["8", "11"],
        "Figure": upto(5),
        "Proposition": ["1", "4", "5"],
        "Theorem": ["6"],
    },
    "S-PPATP": {
        "Algorithm": upto(6),
        "Definition": upto(4),
        "Eq.": upto(25),
        "Figure": upto(10),
        "Proposition": upto(4),
        "Table": upto(5),
    },
    "DPHMM": {
        "Algorithm": upto(4),
        "Corollary": ["5.1"],
        "Definition": [*within(3, 4), *within(4, 4), *within(5, 4), *within(7, 2), *within(11, 2)],
        "Example": ["3.1", "3.2", "4.1", *within(5, 3), "6.1", *within(11, 2)],
        "Figure": upto(15),
        "Lemma": ["11.1"],
        "Table": ["1"],
        "Theorem": [*within(4, 2), *within(5, 3), *within(6, 3), *within(7, 2), *within(11, 4)],
    },
}
"""All that a paper numbers. CAPP counts definitions, propositions and theorems together; where a paper's formulas have
rows of their own by what they define, their numbers are not here."""


class Row(NamedTuple):
    """One thing of a paper: what it is, and the cells of its functions, tests, pages and how it is here."""

    what: str
    code: str
    tests: str
    pages: str
    how: str


def rows(text: str | None = None) -> Iterator[Row]:
    for line in (PAGE.read_text(encoding="utf-8") if text is None else text).splitlines():
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
    for page, anchor in pages:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert not anchor or anchor in anchors(text), f"{page} has no heading {anchor}"


@pytest.mark.parametrize("paper", IN_PRINT)
def test_nothing_that_a_paper_numbers_is_left_out(paper: str) -> None:
    """A figure, theorem or formula without a row is named; so is a row about something that is not in print."""
    section = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (text,) = (part for part in section if part.startswith(f"{paper} "))
    named = {one for row in rows(text) for one in numbered(row.what)}
    printed = {(kind, number) for kind, numbers in IN_PRINT[paper].items() for number in numbers}
    assert not printed - named
    assert {(kind, number) for kind, number in named if kind != "Eq."} <= printed


def test_numbers_are_read_as_people_write_them() -> None:
    assert numbered("Propositions 3 and 4, Theorem 2: windows") == {
        ("Proposition", "3"),
        ("Proposition", "4"),
        ("Theorem", "2"),
    }
    assert numbered("Eq. 5 to 7, Figure 2a, Corollary 5.1") == {
        ("Eq.", "5"),
        ("Eq.", "6"),
        ("Eq.", "7"),
        ("Figure", "2"),
        ("Corollary", "5.1"),
    }
    assert numbered("section 4.3: running times") == set()


def numbered(what: str) -> set[tuple[str, str]]:
    """(kind, number) of all that a cell names."""
    found: set[tuple[str, str]] = set()
    for kind, numbers in NUMBERED.findall(what):
        before = ""
        for joint, number in re.findall(rf"(, | and | to |)({NUMBER})[a-d]?", numbers):
            inner = upto(int(number), int(before)) if joint == " to " else [number]
            found |= {(kind, one) for one in inner}
            before = number
    return found


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
