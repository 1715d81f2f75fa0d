"""The demo's page in a real browser: its first screen on a phone, and badges that follow the slider."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from discreet.demo.page import page
from discreet.demo.story import make_demo
from tests.gateway.browser import CHROMIUM, NODE, SOURCES


@pytest.mark.browser
def test_it_is_understood_on_a_phone_and_its_badges_follow_the_slider(tmp_path: Path) -> None:
    file = tmp_path / "demo.html"
    file.write_text(page(make_demo()), encoding="utf-8")
    story = [str(NODE), str(SOURCES / "look" / "demo.mjs"), file.as_uri(), "", str(tmp_path)]
    ran = subprocess.run(story, env={**os.environ, "CHROMIUM": str(CHROMIUM)}, capture_output=True, timeout=600)
    assert ran.returncode == 0, ran.stdout.decode() + ran.stderr.decode()
    assert (tmp_path / "demo-320.png").stat().st_size > 1000
