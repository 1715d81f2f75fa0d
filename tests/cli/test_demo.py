from __future__ import annotations

import contextlib
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from discreet import Policy, mechanisms
from discreet.cli import run
from discreet.demo import story
from discreet.demo.page import page
from discreet.demo.story import Demo, make_demo, percent
from tests.cli.conftest import Discreet, Ran, error_of

EMPTY = {"meta", "input", "path", "rect", "line", "br", "link"}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, str]:
    """The JSON form, and the page beside it."""
    out, said = tmp_path_factory.mktemp("demo") / "new" / "demo.html", io.StringIO()
    with contextlib.redirect_stdout(said):
        code = run(["demo", "--out", str(out), "--json"])
    assert code == 0
    return Ran(code, said.getvalue(), ""), out.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def told() -> Demo:
    """The story of the demo."""
    return make_demo()


@pytest.fixture
def at_once(told: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command tells this story again, and computes nothing."""
    monkeypatch.setattr(story, "make_demo", lambda seed: told)


def embedded(html: str, name: str) -> object:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', html)
    assert found is not None
    return json.loads(found[1])


def test_the_page_needs_no_network(shown: tuple[Ran, str]) -> None:
    html = shown[1]
    assert not re.findall(r"https?://(?!www\.w3\.org/)", html)
    assert not re.findall(r"""(?:src|href|@import|url)\s*[=(]""", html)


def test_the_page_holds_the_numbers_of_the_json_form(shown: tuple[Ran, str]) -> None:
    ran, html = shown
    document = dict(ran.json)
    assert Path(document.pop("page")).name == "demo.html"
    assert embedded(html, "demo") == document
    visible = html.split("<script")[0].replace("&nbsp;", " ")
    assert document["headline"] in visible
    for mechanism in document["mechanisms"]:
        for secret in mechanism["secrets"]:
            for belief in secret["belief"]:
                assert belief is None or f"{belief:.4f}" in visible


def test_the_page_is_well_formed(shown: tuple[Ran, str]) -> None:
    class Checked(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in EMPTY:
                self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            if tag not in EMPTY:
                assert self.open.pop() == tag

    checked = Checked()
    checked.feed(shown[1])
    assert checked.open == []


def test_hiding_only_the_secrets_leaks_them(shown: tuple[Ran, str]) -> None:
    document = shown[0].json
    by_name = {mechanism["mechanism"]: mechanism for mechanism in document["mechanisms"]}
    masked = by_name["MaskSensitive"]
    assert "hospital" not in {output.get("context") for output in masked["outputs"]}
    hospital = masked["secrets"][0]
    assert hospital["breached"]
    assert hospital["belief"][hospital["worst_slot"]] > 0.95
    assert document["headline"].startswith("MaskSensitive hid the hospital and still gave it away")


@pytest.mark.usefixtures("at_once")
def test_the_terminal_shows_the_day_within_80_columns(discreet: Discreet, tmp_path: Path) -> None:
    ran = discreet("demo", "--out", tmp_path / "demo.html")
    assert ran.code == 0
    assert max(len(line) for line in ran.out.splitlines()[:-2]) <= 80
    assert "the true day" in ran.out
    assert "applications saw" in ran.out
    assert ran.out.splitlines()[-2].endswith("demo.html")
    assert ran.out.splitlines()[-1].endswith("discreet serve --demo")


@pytest.mark.usefixtures("at_once")
def test_in_40_columns_days_take_several_lines_and_nothing_is_cut(
    discreet: Discreet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = discreet("demo", "--out", tmp_path / "demo.html").out
    monkeypatch.setenv("COLUMNS", "40")
    narrow = discreet("demo", "--out", tmp_path / "demo.html").out
    assert max(len(line) for line in narrow.splitlines()[:-2]) <= 40
    for mark in "^█·":  # the breach is there, whole
        assert narrow.count(mark) == wide.count(mark)
    assert "100 %, limit 12 %" in narrow


def test_a_long_silence_is_explained(shown: tuple[Ran, str]) -> None:
    assert shown[1].count("Why so long a silence, from ") == 1  # of the one mechanism that keeps the secrets


def test_a_third_mechanism_joins_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    class Adaptive(mechanisms.MaskSensitive):
        """Stands in for the one that is still to come."""

    monkeypatch.setattr(mechanisms, "__all__", ["Adaptive", "MaskSensitive", "NoMask"])
    monkeypatch.setattr(mechanisms, "Adaptive", Adaptive, raising=False)
    made = make_demo()
    assert [showing.mechanism for showing in made.showings] == ["NoMask", "MaskSensitive", "Adaptive"]
    assert "Show what the secrets can bear <small>Adaptive</small>" in page(made)


def test_a_mechanism_that_keeps_the_secrets_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "SHOWN", ("NoMask",))
    made = make_demo(policy=Policy(story.demo_policy().secrets, delta=1.0))
    assert made.showings[0].kept
    assert "kept every secret" in story.headline(made)
    assert "3 of 3 secrets kept" in page(made)


def test_beliefs_are_those_of_the_session(told: Demo) -> None:
    for showing in told.showings:
        each, anytime, night = showing.beliefs
        assert each.moments.shape == (49, 48)
        assert anytime.moments.shape == (49, 1)
        assert np.isnan(night.prior[20])
        assert np.allclose(each.moments[0], each.prior)


def test_percent_never_rounds_to_certainty() -> None:
    assert [percent(share) for share in (0.0, 0.004, 0.5, 0.996, 1.0)] == [
        "0 %",
        "under 1 %",
        "50 %",
        "over 99 %",
        "100 %",
    ]


@pytest.mark.usefixtures("at_once")
def test_unwritable_targets(discreet: Discreet, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here first")
    assert "cannot be made" in error_of(discreet("demo", "--out", tmp_path / "file" / "demo.html"))
    assert "folder" in error_of(discreet("demo", "--out", tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
