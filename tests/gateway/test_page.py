"""The owner's page: built from the sources that are here, served to anybody, under a policy that it keeps to."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from pathlib import Path

from discreet.dashboard import FILES, FOLDER
from tests.gateway.web import opened

ROOT = Path(__file__).parents[2]

MOST = 80_000
"""Bytes of the whole page, compressed."""


def test_what_is_built_is_of_these_sources() -> None:
    lines = (FOLDER / "sources.sha256").read_text().splitlines()
    noted = {name: digest for digest, name in (line.split("  ") for line in lines)}
    sources = [path for path in (ROOT / "dashboard").rglob("*") if path.is_file() and "node_modules" not in path.parts]
    every = [*sources, *(FOLDER / name for name in ("index.html", *FILES))]
    found = {path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in every}
    assert found == noted, "the page was not built from these sources; run: make dashboard"


def test_it_is_small_and_asks_nobody_else() -> None:
    texts = {name: (FOLDER / name).read_text() for name in ("index.html", *FILES)}
    assert sum(len(gzip.compress(text.encode())) for text in texts.values()) < MOST
    named = {address for text in texts.values() for address in re.findall(r"https?://[^\"'`)\s]+", text)}
    assert all(address.startswith("http://www.w3.org/") for address in named), "names of formats, which nobody asks"
    page = texts["index.html"]
    assert re.findall(r"<script[^>]*>(.*?)</script>", page) == [""], "no script stands in the page"
    assert "style=" not in page
    assert set(re.findall(r'(?:src|href)="([^"]+)"', page)) == {f"page/{name}" for name in FILES}


def test_a_button_that_does_something_sends_no_form() -> None:
    """A browser takes a button without a type as one that sends its form: Cancel would accept."""
    for path in (ROOT / "dashboard" / "src").glob("*.tsx"):
        for found in re.finditer(r"<button\b(.*?)</button>", path.read_text(), re.DOTALL):
            handled, typed = "onClick" in found.group(1), " type=" in found.group(1)
            assert typed or not handled, f"{path.name}: {found.group(0)}"


def test_its_addresses_hold_below_any_prefix() -> None:
    """A proxy may put the gateway below one: whatever the page asks for is relative to where it is itself."""
    for name in ("index.html", "page.js", "page.css", "manifest.webmanifest"):
        found = re.findall(r"[\"'`(]/(?:v1|page|pub|api|readyz)\b", (FOLDER / name).read_text())
        assert not found, f"{name} asks for an address that begins at the root of the host"


def test_it_is_served_under_the_policy(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path) as web:
            for path in ("/", "/page", *(f"/page/{name}" for name in FILES)):
                answer = await web.client.get(path)
                assert answer.status_code == 200
                policy = answer.headers["content-security-policy"]
                assert policy.startswith("default-src 'self';")
                assert "unsafe" not in policy
                assert answer.headers["cache-control"] == "no-cache"
            for name in FILES:
                packed = await web.client.get(f"/page/{name}", headers={"Accept-Encoding": "gzip"})
                plain = await web.client.get(f"/page/{name}", headers={"Accept-Encoding": "identity"})
                assert packed.headers["content-encoding"] == "gzip"
                assert "content-encoding" not in plain.headers
                assert packed.content == plain.content == (FOLDER / name).read_bytes()
                again = {"If-None-Match": plain.headers["etag"]}
                assert (await web.client.get(f"/page/{name}", headers=again)).status_code == 304
            for path in ("/page/__init__.py", "/page/sources.sha256", "/page/../access.py", "/page/%2e%2e/app.py"):
                assert (await web.client.get(path)).status_code == 404

    asyncio.run(story())
