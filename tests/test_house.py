"""The shape of the house: one name for one thing, rooms of a size, and a command that only parses and prints."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

HOUSE = Path(__file__).parents[1] / "src" / "discreet"

MOST_FILES = 24
"""Python files in one folder, so that a reader takes it in at a glance. The command has one file for each verb."""


@cache
def modules() -> dict[str, str]:
    """The text of every module of the product, by its path. Parsing them all would take seconds."""
    return {path.relative_to(HOUSE).as_posix(): path.read_text(encoding="utf-8") for path in HOUSE.rglob("*.py")}


def matching(pattern: str, *, outside: str = "nowhere/", inside: str = "") -> list[str]:
    """The modules that have such a line, but for those of one room."""
    line = re.compile(pattern, re.MULTILINE)
    return [
        path
        for path, text in modules().items()
        if path.startswith(inside) and not path.startswith(outside) and line.search(text)
    ]


def test_a_public_class_name_is_defined_once() -> None:
    where: dict[str, list[str]] = {}
    for path, text in modules().items():
        for name in re.findall(r"^class ([A-Za-z]\w*)", text, re.MULTILINE):
            where.setdefault(name, []).append(path)
    assert len(where) > 500  # the pattern finds them
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


def test_no_folder_has_too_many_files() -> None:
    folders = Counter(path.rpartition("/")[0] for path in modules())
    assert {folder: files for folder, files in folders.items() if files > MOST_FILES and folder != "cli"} == {}


def test_only_the_command_knows_the_terminal() -> None:
    terminal = r"^\s*(import|from) (typer|rich)\b"
    assert matching(terminal, inside="cli/")  # the pattern finds them
    assert matching(terminal, outside="cli/") == []


def test_options_are_declared_and_not_gathered() -> None:
    assert matching(r"\blocals\(\)") == []


def test_work_on_people_does_not_print() -> None:
    assert matching(r"\bprint\(", inside="cli/")
    assert matching(r"\bprint\(", inside="batch/") == []


def test_nobody_asks_whether_a_mechanism_is_adaptive() -> None:
    """What a caller needs of it is a protocol of `contracts`, which somebody else's mechanism may have too."""
    assert matching(r"isinstance\([^()]*\bAdaptive\b", outside="mechanisms/adaptive/") == []
