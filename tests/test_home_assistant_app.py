"""The app (add-on) for Home Assistant in deploy/home-assistant: what its files name exists, and fits each other.

Nothing here can build it: that takes Docker, and running it takes a Supervisor. tests/gateway/test_supervisor.py runs
what is within.
"""

from __future__ import annotations

import re
import shlex
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.gateway.config.sections import PORT
from discreet.gateway.setup.supervisor import ADDRESS
from tests.test_deploy import check_line

ROOT = Path(__file__).parent.parent
APP = ROOT / "deploy" / "home-assistant" / "discreet"


def read(path: Path) -> Any:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the tools of `make docs`")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_repository_has_what_the_supervisor_reads() -> None:
    assert read(APP.parent / "repository.yaml")["name"] == "discreet"
    config = read(APP / "config.yaml")
    assert config["version"] == discreet.__version__
    assert config["slug"] == APP.name
    assert config["ingress"] is config["ingress_stream"] is config["panel_admin"] is True
    assert config["ingress_port"] == PORT
    assert config["ports"] == {f"{PORT}/tcp": None}, "nothing is open unless somebody says so"
    assert config["homeassistant_api"] is True
    assert config["services"] == ["mqtt:want"]
    assert not config.keys() & {"hassio_api", "full_access", "privileged", "host_network", "map", "docker_api"}
    assert read(APP / "translations" / "en.yaml")["network"].keys() == config["ports"].keys()
    assert ADDRESS == "172.30.32.2"


def test_the_icon_is_a_square() -> None:
    head = (APP / "icon.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:24]) == (128, 128)


def test_the_app_runs_a_command_that_exists_and_is_not_root() -> None:
    text = (APP / "run.sh").read_text(encoding="utf-8")
    assert subprocess.run(["sh", "-n", APP / "run.sh"], check=False).returncode == 0
    (line,) = re.findall(r"^exec (.+)$", text.replace("\\\n", " "), re.MULTILINE)
    words = shlex.split(line)
    check_line(words[words.index("discreet", words.index("--bounding-set=-all")) + 1 :])
    assert {"setpriv", "--no-new-privs", "--bounding-set=-all", "--clear-groups"} <= set(words)
    assert words[words.index("--reuid") + 1] == "discreet"


def test_the_image_is_debians_and_has_compiled_loops_for_any_processor() -> None:
    text = (APP / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"base-debian", text)
    assert f"ARG BUILD_VERSION={discreet.__version__}" in text
    for dockerfile in (text, (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")):
        warm = dockerfile.index("discreet warm")
        assert 0 < dockerfile.index("NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=/opt/discreet/cache") < warm
    for name in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE)[0].split():
        assert "*" in name or (APP / name).is_file()


def test_compose_has_a_broker_only_where_it_is_asked_for() -> None:
    services = read(ROOT / "deploy" / "compose.yaml")["services"]
    assert services["mosquitto"]["profiles"] == ["broker"]
    assert services["discreet"]["depends_on"]["mosquitto"]["required"] is False
    assert services["discreet"]["read_only"] is True


def test_its_docs_name_entities_that_discovery_makes() -> None:
    text = (APP / "DOCS.md").read_text(encoding="utf-8")
    assert set(re.findall(r"(?:sensor|device_tracker)\.jane\w*", text)) == {
        "sensor.jane_place",
        "sensor.jane_time",
        "device_tracker.jane",
    }
