from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import POLICY, Discreet, error_of

EACH = '[[secret]]\ncontexts = ["hospital"]\ndelta = 0.1\n'


@pytest.fixture
def each(tmp_path: Path) -> Path:
    path = tmp_path / "each.toml"
    path.write_text(EACH)
    return path


def test_export_writes_a_table_for_its_owner_alone(
    discreet: Discreet, models: Path, each: Path, tmp_path: Path
) -> None:
    out = tmp_path / "decisions.json"
    ran = discreet("export", "--model", models / "short.model", "--policy", each, "--out", out)
    assert ran.code == 0
    assert "own device" in ran.out
    assert "exact delta" in ran.out
    document = json.loads(out.read_bytes())
    assert (document["format"], document["slots"]) == ("discreet decisions", 12)
    assert document["clock"] == {"zone": "Europe/Paris", "cut": "00:00"}
    assert document["memory"] is not None
    assert out.stat().st_mode & 0o777 == 0o600


def test_export_says_what_it_wrote_in_json(discreet: Discreet, models: Path, each: Path, tmp_path: Path) -> None:
    out = tmp_path / "decisions.json"
    given = ["--model", models / "short.model", "--policy", each, "--option", "memory=none"]
    told = discreet("export", *given, "--out", out, "--json").json
    document = json.loads(out.read_bytes())
    assert {key: told[key] for key in ("model", "policy", "digest", "version", "slots")} == {
        key: document[key] for key in ("model", "policy", "digest", "version", "slots")
    }
    assert told["bytes"] == out.stat().st_size
    assert (told["memory"], document["memory"]) == (False, None)
    assert (told["runs"], told["decisions"]) == (len(document["runs"]), len(document["decisions"]))


def test_export_overwrites_nothing(discreet: Discreet, models: Path, each: Path, tmp_path: Path) -> None:
    out = tmp_path / "decisions.json"
    out.write_text("mine")
    said = error_of(discreet("export", "--model", models / "short.model", "--policy", each, "--out", out))
    assert "is there already" in said
    assert out.read_text() == "mine"


@pytest.mark.parametrize(
    ("model", "options", "why"),
    [
        ("routine.model", [], "days without end"),
        ("week.model", [], "several kinds of day"),
        ("short.model", ["--policy", POLICY], 'at="any"'),
        ("short.model", ["--option", "outputs=deceive"], "outputs=suppress"),
    ],
)
def test_export_says_why_not(
    discreet: Discreet, models: Path, each: Path, tmp_path: Path, model: str, options: list[str], why: str
) -> None:
    out = tmp_path / "decisions.json"
    ran = discreet("export", "--model", models / model, "--policy", each, "--out", out, *options)
    assert ran.code == 2
    assert why in error_of(ran)
    assert not out.exists()
