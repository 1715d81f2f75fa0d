"""Settings that somebody wrote by hand: what is added or changed is all that differs, to the byte."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cli import run
from discreet.clock import Clock
from discreet.errors import DiscreetError
from discreet.gateway.app import plan_of
from discreet.gateway.config.document import edited, section_text
from discreet.gateway.config.settings import Settings
from discreet.gateway.setup.files import names_of, stage_settings
from discreet.mechanisms.named import Spec
from discreet.models.store import save
from discreet.setup.files import SetupResult, move
from tests.gateway.web import ROUTINE

BY_HAND = """\
# Ours. Ask Kim before changing anything.
[clock]
slots=12     # two hours each
zone   = 'UTC'

[people.jane]   # the first
routine = "jane.model"
policy  = "policy.toml"   # last looked at in May

    # the broker in the cellar
[broker]
user = "discreet"
password_file = "broker.password"

[[broker.tell]]
person = "jane"

[[broker.tell]]   # for the wall
person = "jane"
view   = "family"
forms = [
  "json",   # no more
]

[views]
family = { groups = { home = ["home"], "at work" = [ "work" ] }, rest = "out" }

[[owntracks]]
person = "jane"


[applications.wall]
person = "jane"
view = "family"
# the end
"""

NEXT_STEP = """
[[broker.tell]]
person = "kim"

[[owntracks]]
person = "kim"
"""
"""As step 4 of docs/gateway.md has it for the first person."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(tmp_path / "jane.model", ROUTINE)
    (tmp_path / "policy.toml").write_text('delta = 0.1\n[[secret]]\ncontexts = ["clinic"]\n', encoding="utf-8")
    (tmp_path / "broker.password").write_text("hidden", encoding="utf-8")
    (tmp_path / "broker.password").chmod(0o600)
    (tmp_path / "discreet.toml").write_bytes(BY_HAND.encode())
    return tmp_path


def joined(folder: Path, person: str, spec: Spec) -> Settings:
    """Somebody set up in the folder, as the last step of setup does it; the settings after that."""
    file = folder / "discreet.toml"
    before = Settings.read(file)
    staging = folder / "staging"
    staging.mkdir(exist_ok=True)
    names = names_of(person, before)
    save(staging / names.model, ROUTINE)
    (staging / names.policy).write_bytes((folder / "policy.toml").read_bytes())
    assert ROUTINE.clock is not None
    decided = SetupResult(person, ROUTINE.clock, 4 * 3600.0, spec, False)
    stage_settings(staging, file, names, before, decided)
    move(staging, file)
    return Settings.read(file)


def test_a_second_person_is_added_to_what_was_written_by_hand(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "discreet.toml"
    before = Settings.read(file)
    settings = joined(folder, "kim", Spec("adaptive", {"outputs": "suppress"}))
    text = file.read_bytes().decode()
    assert text == BY_HAND + (
        '\n[people.kim]\nroutine = "kim.model"\npolicy = "kim-policy.toml"\ncarry = "4h"\n'
        '\n[people.kim.mechanism]\nname = "adaptive"\noutputs = "suppress"\n'
    )
    assert settings == replace(before, people={**before.people, "kim": settings.people["kim"]})
    file.write_text(text + NEXT_STEP, encoding="utf-8")
    assert run(["serve", "--check", "--config", str(file)]) == 0
    assert "2 owntracks, 3 told to the broker" in capsys.readouterr().out
    assert run(["deploy", "--to", str(tmp_path / "deploy"), "--config", str(file)]) == 0
    acl = (tmp_path / "deploy" / "mosquitto.acl").read_text()
    assert "topic read discreet/kim/whole/#" in acl
    assert "topic read discreet/jane/family/#" in acl


def test_somebody_who_is_set_up_again_changes_one_line(folder: Path) -> None:
    file = folder / "discreet.toml"
    text = BY_HAND.replace(
        "# the end", '[people.jane.mechanism]\noutputs = "deceive" # lies\nmemory = "last"\n# the end'
    )
    file.write_text(text, encoding="utf-8")
    joined(folder, "jane", Spec("adaptive", {"outputs": "suppress", "memory": "last"}))
    changed = text.replace('"deceive" # lies', '"suppress" # lies')
    found = file.read_bytes().decode()
    assert tomllib.loads(found)["people"]["jane"]["mechanism"] == {
        "name": "adaptive",
        "outputs": "suppress",
        "memory": "last",
    }
    assert found.replace('name = "adaptive"\n', "") == changed
    joined(folder, "jane", Spec("adaptive", {"outputs": "suppress", "memory": "last"}))
    assert file.read_bytes().decode() == found, "what says the same already is not written"


def test_the_phone_that_counts_stays_when_somebody_is_set_up_again(folder: Path) -> None:
    file = folder / "discreet.toml"
    text = BY_HAND.replace("looked at in May", 'looked at in May\nphone = "pixel"')
    file.write_text(text, encoding="utf-8")
    assert Settings.read(file).people["jane"].phone == "pixel"
    joined(folder, "jane", Spec("adaptive", {"outputs": "suppress"}))
    found = Settings.read(file).people["jane"]
    assert found.phone == "pixel"
    assert found.mechanism.options == {"outputs": "suppress"}
    assert plan_of(Settings.read(file)).people[0].phone == "pixel"


def test_the_clock_of_settings_that_have_none_is_added(folder: Path) -> None:
    file = folder / "discreet.toml"
    text = "# nobody yet\n[limits]\nupload = 7\n"
    file.write_text(text, encoding="utf-8")
    nobody = Settings.read(file, nobody=True)
    file.write_text(BY_HAND, encoding="utf-8")
    jane = Settings.read(file).people["jane"]
    found = nobody.text_with(text, Clock(48, "Asia/Tokyo", "04:00"), jane)
    assert found.startswith(text)
    assert tomllib.loads(found)["clock"] == {"zone": "Asia/Tokyo", "cut": "04:00"}
    only_zone = Settings.read(file).text_with(BY_HAND, Clock(12, "Asia/Tokyo"), jane)
    assert only_zone == BY_HAND.replace("'UTC'", '"Asia/Tokyo"')


TABLE = {"routine": "kim.model", "mechanism": {"name": "adaptive", "hierarchy": {"a b": ["x"]}}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        BY_HAND,
        BY_HAND.replace("\n", "\r\n"),
        BY_HAND.rstrip("\n"),
        '[people.jane]\na = 1\n# of the server\n[server]\n\n[people.joe]\na = 1\n[[broker.tell]]\nperson = "x"\n',
        "people.jane.a = 1\npeople.jane.b = 2\n[server]\nport = 1\n",
        "[people]\njane = { a = 1 } # us\n",
    ],
    ids=["nothing", "by hand", "CRLF", "no last newline", "out of order", "dotted", "inline people"],
)
def test_a_new_section_follows_all_that_was_there(text: str) -> None:
    after = edited(text, ("people", "kim"), TABLE, deep=1)
    assert after.startswith(text)
    assert "\n[people.kim.mechanism]\n" in after
    wanted = tomllib.loads(text)
    wanted.setdefault("people", {})["kim"] = TABLE
    assert tomllib.loads(after) == wanted
    assert edited(after, ("people", "kim"), None) == (text if text.endswith("\n") or not text else f"{text}\n")


def test_a_table_on_one_line_gets_one_more_within() -> None:
    text = "people = { jane = { a = 1 } } # us\n[server]\nport = 1 # here\n"
    after = edited(text, ("people", "kim"), {"b": [1, 2]})
    assert after == "people = { jane = { a = 1 }, kim = {b = [1, 2]}} # us\n[server]\nport = 1 # here\n"
    assert tomllib.loads(edited(after, ("people", "jane"), None))["people"] == {"kim": {"b": [1, 2]}}
    with pytest.raises(DiscreetError, match="by hand"):
        edited("[a]\nb.c = 1\n[a.b.d]\n", ("a", "b", "c"), {"e": 1})


def test_a_new_key_stands_with_the_others_and_not_below_the_next_comment() -> None:
    text = "[clock] # ours\nzone = 'UTC'\n\n# of the server\n[server]\n"
    after = edited(text, ("clock",), {"zone": "UTC", "slots": 12})
    assert after == "[clock] # ours\nzone = 'UTC'\nslots = 12\n\n# of the server\n[server]\n"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PLAIN = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXT
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))


@given(TEXT, st.dictionaries(TEXT, VALUES, max_size=3), st.integers(0, 2))
def test_what_is_written_is_read(name: str, table: dict[str, Any], deep: int) -> None:
    assert tomllib.loads(section_text(("people", name), table, deep)) == {"people": {name: table}}
