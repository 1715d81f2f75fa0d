"""The page's style and script are files of the package, and stand in the page as they are."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

import discreet.demo
from discreet.demo.page import page
from discreet.demo.story import make_demo


@pytest.fixture(scope="module")
def html() -> str:
    return page(make_demo())


@pytest.mark.parametrize("name", ["page.css", "page.js"])
def test_the_parts_of_the_page_lie_beside_its_code(html: str, name: str) -> None:
    text = files("discreet.demo").joinpath(name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert (Path(discreet.demo.__file__).parent / name).read_text(encoding="utf-8") == text
    assert f"\n{text}</{'style' if name.endswith('css') else 'script'}>" in html
