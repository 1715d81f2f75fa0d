"""The gateway's own processes under the restrictions of the shipped unit."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gateway.restricted import RESOURCES, SUPPORTED

ROOT = Path(__file__).parent.parent.parent
UNIT = (ROOT / "deploy" / "discreet.service").read_text(encoding="utf-8")


@pytest.mark.skipif(not SUPPORTED, reason="the filter is written for Linux on x86-64")
def test_the_first_run_works_under_the_units_filter() -> None:
    """Niceness may not be changed there: a step that insisted on it failed before it had begun."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.gateway.restricted"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines() == ["denied", "[({'given': [3]}, None)]"], done.stderr


def test_the_unit_denies_what_the_test_denies() -> None:
    denied = re.findall(r"^SystemCallFilter=~(.*)$", UNIT, re.MULTILINE)
    assert "@resources" in " ".join(denied).split()
    assert "SystemCallErrorNumber=EPERM" in UNIT
    assert re.search(r"^LimitNOFILE=8192$", UNIT, re.MULTILINE)
    assert re.search(r"^MemoryMax=\d+%$", UNIT, re.MULTILINE)
    assert re.search(r"^OOMPolicy=continue$", UNIT, re.MULTILINE), "a preview that is ended does not end the gateway"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed, which names the calls")
def test_the_calls_are_those_that_systemd_means() -> None:
    asked = subprocess.run(["systemd-analyze", "syscall-filter", "@resources"], capture_output=True, text=True)
    if asked.returncode:
        pytest.skip(f"systemd-analyze does not say: {asked.stderr.strip()}")
    assert set(RESOURCES) <= set(asked.stdout.split())


def test_packets_at_the_broker_have_a_size() -> None:
    text = (ROOT / "deploy" / "mosquitto.conf").read_text(encoding="utf-8")
    assert re.search(r"^max_packet_size 300000$", text, re.MULTILINE)
