"""What the project is tested with: exact versions in constraints.txt, and lower ends that `make lowest` can install."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LOWEST = runpy.run_path(str(ROOT / "tools" / "lowest.py"))
LINE = re.compile(r"([A-Za-z0-9._-]+)==([0-9][0-9A-Za-z.+!]*)")


def plain(name: str) -> str:
    """A package's name as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def constraints() -> dict[str, str]:
    found = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            pinned = LINE.fullmatch(line)
            assert pinned is not None, f"constraints.txt: {line!r} is not name==version alone"
            found[plain(pinned[1])] = pinned[2]
    return found


def parts(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


@pytest.mark.parametrize("requirement", sorted(set(LOWEST["requirements"]())))
def test_every_requirement_was_tested_within_its_range(requirement: str) -> None:
    name, version = LOWEST["lowest"](requirement)
    tested = constraints()
    assert plain(name) in tested, f"{name} is not in constraints.txt; run make update"
    if "==" in requirement:
        assert tested[plain(name)] == version
    assert parts(tested[plain(name)]) >= parts(version)


def test_tools_have_one_version() -> None:
    """A newer tool may judge otherwise: what is green today would be red tomorrow."""
    pinned = {plain(one.partition("==")[0]) for one in LOWEST["requirements"]() if "==" in one}
    assert pinned >= {"ruff", "mypy", "import-linter", "pytest", "pytest-xdist", "hypothesis"}


def test_a_package_has_one_lower_end_wherever_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Or `make lowest` could not install it."""
    LOWEST["main"]()
    assert {plain(LOWEST["lowest"](one)[0]) for one in LOWEST["requirements"]()} == {
        plain(line.partition("==")[0]) for line in capsys.readouterr().out.splitlines()
    }


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3"])
def test_a_requirement_without_a_lower_end_is_refused(requirement: str) -> None:
    with pytest.raises(SystemExit, match="has no lower end"):
        LOWEST["lowest"](requirement)
