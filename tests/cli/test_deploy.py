"""`discreet deploy`: one's own names are in what it writes, and nothing is overwritten."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from discreet.cli.deploy import ACL, FILES, shipped
from discreet.models.store import save
from tests.cli.conftest import EXAMPLES, Discreet, error_of
from tests.gateway.web import ROUTINE

SETTINGS = """
[clock]
zone = "UTC"
slots = 12
[people.kim]
routine = "habits.model"
policy = "policy.toml"
[people.sam]
routine = "habits.model"
policy = "policy.toml"
[views.sam]
groups = { home = ["home"] }
[views.friends]
groups = { home = ["home"] }
"""

BROKER = """
[broker]
user = "gate"
name = "home"
discovery = "ha"
[[broker.tell]]
person = "kim"
view = "friends"
forms = ["json"]
[[broker.tell]]
person = "sam"
forms = ["owntracks"]
[[owntracks]]
person = "kim"
user = "kims-phone"
[[home_assistant]]
statestream = "states"
entities = { "person.kim" = "kim" }
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    save(tmp_path / "habits.model", ROUTINE)
    (tmp_path / "policy.toml").write_text('delta = 0.1\n[[secret]]\ncontexts = ["clinic"]\n')
    (tmp_path / "discreet.toml").write_text(SETTINGS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blocks(folder: Path) -> dict[str, set[str]]:
    """What each account of an ACL may do."""
    found: dict[str, set[str]] = {}
    account = ""
    for line in (folder / ACL).read_text().splitlines():
        if line.startswith("user "):
            account = line.removeprefix("user ")
        elif line.startswith("topic "):
            found.setdefault(account, set()).add(line.removeprefix("topic "))
    return found


def test_names_of_the_settings_are_filled_in(discreet: Discreet, here: Path) -> None:
    made = discreet("deploy", "--to", "new/deploy", "--json").json
    assert made["written"] == [ACL, *FILES]
    assert made["accounts"] == ["kim", "sam", "discreet", "home-assistant", "recorder", "view-sam", "friends"]
    may = blocks(here / "new" / "deploy")
    assert may["recorder"] == {"read released/kim/whole", "read released/sam/whole"}
    assert {"read discreet/kim/friends/#", "read discreet/sam/friends/#"} <= may["friends"]
    assert not [line for line in may["friends"] if "whole" in line or "view" in line]
    assert "jane" not in (here / "new" / "deploy" / ACL).read_text()


def test_a_broker_that_is_set_up_is_followed(discreet: Discreet, here: Path) -> None:
    (here / "discreet.toml").write_text(SETTINGS + BROKER)
    ran = discreet("deploy", "--to", "deploy")
    assert ran.code == 0
    assert "Accounts at the broker: kims-phone, gate, friends, home-assistant, recorder" in ran.out
    may = blocks(here / "deploy")
    assert may["gate"] >= {"readwrite home/#", "read states/#", "read ha/status", "write released/#"}
    assert may["friends"] == {"read home/status", "read home/kim/friends/#"}
    assert may["home-assistant"] >= {"read home/sam/whole/#", "read released/sam/whole", "write states/#"}
    assert not [line for line in may["home-assistant"] if line.startswith("read ha/")], "it is not told that form"
    assert may["recorder"] == {"read released/sam/whole"}


def test_phones_read_the_friends_that_are_told_to_the_broker(discreet: Discreet, here: Path) -> None:
    friends = "".join(
        f'[[friend]]\nperson = "{person}"\nto = "{to}"\nview = "{view}"\n'
        for person, to, view in (("sam", "kim", "whole"), ("kim", "sam", "friends"), ("sam", "kim", "friends"))
    )
    (here / "discreet.toml").write_text(SETTINGS + BROKER + friends)
    assert discreet("deploy", "--to", "deploy").code == 0
    may = blocks(here / "deploy")
    assert may["kims-phone"] == {"read released/sam/whole"}, "by the account of the phone"
    assert "sam" not in may, "kim's friends are told without locations, and sam's are told nobody"


def test_nothing_is_overwritten_and_what_differs_is_named(discreet: Discreet, here: Path) -> None:
    folder = here / "deploy"
    assert discreet("deploy", "--to", folder).code == 0
    (folder / ACL).write_text("mine")
    (folder / "compose.yaml").unlink()
    (folder / "compose.yaml").symlink_to(here / "nowhere")
    (folder / "Containerfile").unlink()
    again = discreet("deploy", "--to", folder)
    assert "Containerfile in" in again.out
    assert f"{ACL} is not what would be written now" in again.err.replace("\n", " ")
    assert (folder / ACL).read_text() == "mine"
    assert (folder / "compose.yaml").is_symlink()
    assert discreet("deploy", "--to", folder, "--json").json["differ"] == [ACL, "compose.yaml"]
    assert "cannot be made" in error_of(discreet("deploy", "--to", folder / ACL / "inside"))


def test_without_settings_it_asks_for_names(
    discreet: Discreet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "--person NAME" in error_of(discreet("deploy", "--to", "deploy"))
    assert not (tmp_path / "deploy").exists()
    assert "cannot be part of a topic" in error_of(discreet("deploy", "--to", "deploy", "--person", "a/b"))
    assert "another's" in error_of(discreet("deploy", "--to", "deploy", "--person", "recorder"))
    assert discreet("deploy", "--to", "deploy", "--person", "kim", "--view", "friends").code == 0
    assert "read discreet/kim/friends/#" in blocks(tmp_path / "deploy")["friends"]


def test_names_are_given_once(discreet: Discreet, here: Path) -> None:
    assert "discreet.toml has the names" in error_of(discreet("deploy", "--to", here / "x", "--person", "kim"))


def test_the_wheel_has_them() -> None:
    root = EXAMPLES.parent
    built = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    included = built["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert {name: f"discreet/{name}" for name in (f"deploy/{one}" for one in FILES)}.items() <= included.items()
    assert {one.name for one in (root / "deploy").iterdir() if one.is_file()} >= {*FILES, ACL}
    assert all((shipped() / name).is_file() for name in FILES)
