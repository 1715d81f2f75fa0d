"""The reference of the settings has the keys that the program reads, with defaults and examples that are so."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import run
from discreet.gateway.config.broker import Broker
from discreet.gateway.config.reference import MARK, REFERENCE, page, template
from discreet.gateway.config.section import Section
from discreet.gateway.config.sections import Keeping, Rates, Server
from discreet.gateway.config.settings import Settings
from discreet.models.store import save
from tests.gateway.web import ROUTINE

OTHER_WAYS = {
    "password_file": "password",
    "passphrase_file": "passphrase",
    "key_file": "key",
    "token_file": "token",
    "statestream": "url",
}
"""Keys that stand instead of another."""

HEADERS = {one.header: one for one in REFERENCE}


def kept_of(text: str) -> list[str]:
    """The lines with a section or a key, but those keys that stand instead of another."""
    lines = [line.removeprefix("# ") for line in text.splitlines() if not line.startswith(MARK)]
    return [line for line in lines if re.match(r"\[|[a-z_]+ = ", line) and line.split(" ")[0] not in OTHER_WAYS]


def uncommented(text: str) -> dict[str, Any]:
    """The template with all its keys in force."""
    return tomllib.loads("\n".join(kept_of(text)))


def test_the_template_is_a_file_that_changes_nothing_until_somebody_does() -> None:
    assert tomllib.loads(template()) == {}
    assert all(len(line) <= 120 for line in template().splitlines())
    found = uncommented(template())
    assert set(found) == {re.sub(r"\W.*", "", one.header.strip("[")) for one in REFERENCE}
    assert found["broker"]["tell"][0]["forms"] == ["home_assistant"]


def test_every_key_that_is_read_is_in_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of the examples together are settings that the gateway takes, and it asks for no other key."""
    asked: dict[tuple[str, ...], set[str]] = {}
    done = Section.done

    def noted(self: Section) -> None:
        asked[self._where] = set(self._asked)
        done(self)

    monkeypatch.setattr(Section, "done", noted)
    monkeypatch.setattr(Section, "__contains__", lambda self, key: self._asked.add(key) or key in self._table)
    for name in ("policy.toml", "places.geojson", "fullchain.pem", "privkey.pem", "paris.pmtiles", "ca.pem"):
        (tmp_path / name).write_text("", encoding="utf-8")
    save(tmp_path / "jane.model", ROUTINE)
    file = tmp_path / "discreet.toml"
    text = template()
    assert all(f"# {key} = " in text for pair in OTHER_WAYS.items() for key in pair)
    joe = '\n[people.joe]\nroutine = "jane.model"\npolicy = "policy.toml"\n'  # whose phone shows where jane is
    file.write_text("\n".join(kept_of(text)) + joe, encoding="utf-8")
    file.chmod(0o600)
    Settings.read(file)
    del asked["people", "joe"]
    for where, keys in asked.items():
        if where:
            header = ".".join(re.sub(r"\[0\]$", "", part) for part in where)
            known = HEADERS.get(f"[{header}]") or HEADERS[f"[[{header}]]"]
            assert keys - {"tell"} == {key.name for key in known.keys}, header
    assert len(asked) == len(REFERENCE) + 1, "the file itself, too"


@pytest.mark.parametrize(
    ("header", "section"), [("[server]", Server), ("[keeping]", Keeping), ("[limits]", Rates), ("[broker]", Broker)]
)
def test_defaults_are_those_of_the_program(tmp_path: Path, header: str, section: Any) -> None:
    found = section.read(Section(tmp_path / "discreet.toml", {}, (header,)))
    values: Mapping[str, object] = {one.name: getattr(found, one.name) for one in fields(found)}
    for key in HEADERS[header].keys:
        value = values.get(key.name)
        if value is None or key.default == "none" or not re.match(r'["\[\d]|true|false', key.default):
            assert not value or key.name == "port", f"{header} {key.name} has a default: {value!r}"
            continue
        said = tomllib.loads(f"x = {key.default.split(',')[0] if key.name == 'port' else key.default}")["x"]
        if isinstance(said, str) and re.fullmatch(r"\d+s", said):
            said = float(said[:-1])
        if header == "[limits]" and hasattr(value, "a_second"):
            value = value.a_second
        if key.name != "data":
            assert (list(value) if isinstance(value, tuple) else value) == said, key.name


def test_the_page_is_made_from_it() -> None:
    file = Path(__file__).parents[2] / "docs" / "settings.md"
    assert file.read_text("utf-8") == page(), (
        "write it anew: python -m discreet.gateway.config.reference > docs/settings.md"
    )


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--template"]) == 0
    assert capsys.readouterr().out == template()
