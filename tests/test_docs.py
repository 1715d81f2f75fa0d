"""The docs are run: every Python block, what it prints, every relative link, and the demo's words in the README."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
RUN = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKED = [*RUN, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"]

FENCE = re.compile(r"^```(\w*)\s*$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is its content's, from 1; `follows` if only blank lines part it from the one before."""

    language: str
    line: int
    content: str
    follows: bool


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    language: str | None = None
    content: list[str] = []
    started, alone = 0, True
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if language is None:
            if fence:
                language, content, started = fence[1], [], number + 1
            elif line.strip():
                alone = True
        elif fence and not fence[1]:
            yield Block(language, started, "\n".join(content), not alone)
            language, alone = None, False
        else:
            content.append(line)
    assert language is None, f"the block that starts on line {started - 1} is never closed"


def words(text: str) -> str:
    """The page with its code blanked, line for line: what is left is written for people."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        fence = bool(FENCE.match(line))
        kept.append("" if inside or fence else re.sub(r"`[^`]*`", "code", line))
        inside ^= fence
    return "\n".join(kept)


def anchors(text: str) -> set[str]:
    """What headings can be linked as."""
    titles = HEADING.findall(words(text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_python_blocks_run_and_print_what_stands_below_them(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}  # one page, one namespace
    printed: str | None = None
    for block in blocks(page.read_text(encoding="utf-8")):
        where = f"{name_of(page)}, line {block.line}"
        if block.language == "python":
            # Blank lines in front, so that a traceback shows the line of the page.
            code = compile("\n" * (block.line - 1) + block.content, str(page), "exec")
            caught = io.StringIO()
            with contextlib.redirect_stdout(caught):
                exec(code, names)
            printed = caught.getvalue()
        elif block.language == "text" and block.follows and printed is not None:
            assert _lines(printed) == _lines(block.content), f"{where}: the block above prints something else"
            printed = None
        else:
            printed = None


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = words(page.read_text(encoding="utf-8"))
    for link in LINK.finditer(text):
        if re.match(r"[a-z]+:", link[1]):
            continue
        path, _, anchor = link[1].partition("#")
        file = (page.parent / path).resolve() if path else page
        where = f"{name_of(page)}, line {text.count(chr(10), 0, link.start()) + 1}: {link[1]}"
        assert file.exists(), f"{where}: there is no such file"
        assert file.is_relative_to(ROOT), f"{where}: leads out of the project"
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), f"{where}: there is no such heading"


def test_the_page_on_security_says_all_three_and_names_nobody() -> None:
    """What is supported, against whom it stands, and how to report: without people and addresses."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    headings = HEADING.findall(text)
    assert headings[1:] == ["What is supported", "What it protects, and against whom", "How to report"]
    assert not re.search(r"@|https?:|mailto:", text)
    assert "SECURITY.md" in (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")


def test_every_page_can_be_reached_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    linked = {target.partition("#")[0] for target in LINK.findall(index)}
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert pages <= linked


def test_the_readme_quotes_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The console block is an excerpt, "..." standing for what is left out; how lines are filled does not matter."""
    from discreet.cli import run

    monkeypatch.setenv("COLUMNS", "80")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    quoted = [block.content for block in blocks(text) if block.language == "console"]
    assert [content.partition("\n")[0] for content in quoted] == ["$ discreet demo"]
    assert run(["demo", "--out", str(tmp_path / "demo.html")]) == 0
    rest = _words(capsys.readouterr().out)
    for excerpt in quoted[0].partition("\n")[2].split("\n...\n"):
        assert _words(excerpt) in rest, f"the demo does not print this, or not in this order: {excerpt}"
        rest = rest.partition(_words(excerpt))[2]


def _words(text: str) -> str:
    return " ".join(text.split())


def test_a_page_is_read_as_meant() -> None:
    page = "# A title\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\nwords\n\n```text\n2\n```\n"
    found = [(block.language, block.line, block.content, block.follows) for block in blocks(page)]
    assert found == [("python", 4, "print(1)", False), ("text", 8, "1", True), ("text", 14, "2", False)]
    assert anchors(page) == {"a-title"}
    assert LINK.findall(words("a [link over\ntwo lines](a.md) and `[no](link.md)`")) == ["a.md"]
    with pytest.raises(AssertionError, match="line 1 is never closed"):
        list(blocks("```python\nprint(1)\n"))
