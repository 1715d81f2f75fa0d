"""What `make release` builds: one version everywhere, the same bytes twice, notes of the version."""

from __future__ import annotations

import json
import runpy
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import discreet

ROOT = Path(__file__).parent.parent
RELEASE = runpy.run_path(str(ROOT / "tools" / "release.py"))


def test_the_version_is_the_same_everywhere() -> None:
    assert RELEASE["versions_agree"]() == discreet.__version__


def test_a_package_is_built_twice_with_the_same_bytes(tmp_path: Path) -> None:
    once, again = (RELEASE["built"](ROOT / "experiments", tmp_path / name, "1700000000") for name in ("a", "b"))
    assert [path.suffix for path in once] == [".whl", ".gz"]
    assert [RELEASE["digest"](path) for path in once] == [RELEASE["digest"](path) for path in again]
    later = RELEASE["built"](ROOT / "experiments", tmp_path / "c", "1800000000")
    assert RELEASE["digest"](later[-1]) != RELEASE["digest"](once[-1])  # it would notice


def test_notes_are_of_what_is_not_released_yet() -> None:
    text = RELEASE["notes"](discreet.__version__)
    assert text.startswith(f"# discreet {discreet.__version__}\n")
    assert "### Added" in text
    assert "\n## [" not in text


def changelog_in(folder: Path) -> dict[str, Any]:
    (folder / "changelog.d").mkdir()
    (folder / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- An old one.\n\n### Fixed\n\n"
        "- A fault.\n\n## [0.1.0] - 2026-01-01\n",
        encoding="utf-8",
    )
    return runpy.run_path(str(ROOT / "tools" / "changelog.py"))


def test_fragments_become_the_notes_of_a_version(tmp_path: Path) -> None:
    tool = changelog_in(tmp_path)
    (tmp_path / "changelog.d" / "a.added.md").write_text("A new\none.\n", encoding="utf-8")
    (tmp_path / "changelog.d" / "b.changed.md").write_text("Another.\n", encoding="utf-8")
    told = "### Added\n\n- A new one.\n- An old one.\n\n### Changed\n\n- Another.\n\n### Fixed\n\n- A fault."
    assert tool["unreleased"](tmp_path) == told
    tool["release"]("1.0.0", "2027-01-31", tmp_path)
    text = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [Unreleased]\n\n## [1.0.0] - 2027-01-31\n\n{told}\n\n## [0.1.0]" in text
    assert not list((tmp_path / "changelog.d").iterdir())
    with pytest.raises(SystemExit, match="nothing has changed"):
        tool["release"]("1.0.1", "2027-02-01", tmp_path)


def test_a_fragment_of_no_kind_is_an_error(tmp_path: Path) -> None:
    tool = changelog_in(tmp_path)
    (tmp_path / "changelog.d" / "a.new.md").write_text("A new one.\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="one of added, changed, removed, fixed"):
        tool["unreleased"](tmp_path)


def test_a_tree_with_changes_is_not_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(*_: str) -> str:
        return " M README.md"

    monkeypatch.setitem(RELEASE["main"].__globals__, "git", changed)
    with pytest.raises(SystemExit, match=r"README\.md\ncommit them"):
        RELEASE["main"](tmp_path / "dist")
    assert not (tmp_path / "dist").exists()


def test_workflows_and_citation_are_readable() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the tools of `make docs`")
    for path in [*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / "CITATION.cff", ROOT / "mkdocs.yml"]:
        assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict), path


def test_the_workflow_runs_the_two_commands() -> None:
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert "run: make check" in text
    assert "run: make test" in text
    assert subprocess.run(["make", "--dry-run", "release"], cwd=ROOT, capture_output=True, check=False).returncode == 0


def test_everything_that_is_shipped_has_its_license() -> None:
    """Of the page's packages, those that are built into it; all others are tools."""
    package = json.loads((ROOT / "dashboard" / "package.json").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name in package["dependencies"]:
        assert f"LICENSE-{name.upper()}" in project["license-files"]
        assert (ROOT / f"LICENSE-{name.upper()}").is_file()


def test_every_public_name_has_an_example() -> None:
    site = runpy.run_path(str(ROOT / "tools" / "site.py"))
    assert [name for name in discreet.__all__ if site["example_of"](name) is None] == []


def test_the_lock_of_the_pages_tools_is_for_every_platform_and_names_no_address() -> None:
    """`npm ci` takes these packages and no others, from whichever registry one has, wherever it runs."""
    lock = json.loads((ROOT / "dashboard" / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name.removeprefix("node_modules/"): one for name, one in lock["packages"].items() if name}
    assert all(one.get("integrity") and "resolved" not in one for one in packages.values())
    wanted = [
        name
        for one in packages.values()
        for kind in ("dependencies", "optionalDependencies")
        for name in one.get(kind, {})
    ]
    assert set(wanted) <= packages.keys()
    text = (ROOT / "Makefile").read_text(encoding="utf-8") + (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "npm install" not in text
