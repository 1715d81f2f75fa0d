"""The site of `make docs`: what is opened from files loads nothing from other hosts."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
SHIM = '<script src="https://unpkg.com/iframe-worker/shim"></script>'


@pytest.fixture(scope="module")
def site() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "site.py"))


@pytest.mark.parametrize(
    ("address", "up"), [("index.html", ""), ("reference/http.html", "../"), ("files/docs/a/b.html", "../../../")]
)
def test_the_search_has_the_sites_own_copy_of_what_it_needs(site: dict[str, Any], address: str, up: str) -> None:
    assert site["of_this_host"](SHIM, address) == f'<script src="{up}{site["SHIM"]}"></script>'
    text = (ROOT / "tools" / "iframe-worker.js").read_text(encoding="utf-8")
    assert "Permission is hereby granted" in text, "its license goes with it"
    assert "location.protocol" in text


@pytest.mark.parametrize(
    "html",
    [
        '<script defer src="https://cdn.example/a.js">',
        '<link rel="stylesheet" href="//fonts.example/css">',
        "<img alt=x src=http://pictures.example/a.png>",
    ],
)
def test_a_page_that_would_load_from_another_host_stops_the_build(site: dict[str, Any], html: str) -> None:
    with pytest.raises(SystemExit, match=r"a\.html: this page would load .*example"):
        site["of_this_host"](html, "a.html")


def test_links_may_lead_to_other_hosts(site: dict[str, Any]) -> None:
    html = '<a href="https://example.org/">there</a> <img src="pictures/a.png"> <link href="../assets/a.css">'
    assert site["of_this_host"](html, "a.html") == html
