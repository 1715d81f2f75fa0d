"""What the settings say of the server, of sources, applications and views; errors name the key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from discreet.errors import DiscreetError
from discreet.gateway.app import checked, plan_of
from discreet.gateway.config.broker import Broker, ToldView
from discreet.gateway.config.sections import Application, JournalAt, Keeping, Rates, Server
from discreet.gateway.config.settings import Settings
from discreet.gateway.config.views import View
from discreet.gateway.rate_limits import Rate
from discreet.gateway.wires.home_assistant import HomeAssistantSource
from discreet.gateway.wires.owntracks_source import OwnTracksSource
from discreet.models.routine.routine import Routine
from discreet.models.store import save
from tests.gateway.web import ROUTINE

WHO = """
[clock]
slots = 12
zone = "UTC"

[people.jane]
routine = "jane.model"
policy = "policy.toml"
"""

REST = """
[server]
host = "0.0.0.0"
port = 9000
hosts = ["home.example"]
proxies = ["10.0.0.2"]
data = "kept"

[keeping]
margin = "1.5s"
grace = "30s"
retention_days = 7

[journal]
url = "postgresql://discreet@db/discreet"

[limits]
application = 5
source = 50

[views.family]
groups = { home = ["home"] }
rest = "out"

[[owntracks]]
person = "jane"
device = "phone"
key = "a passphrase"

[[home_assistant]]
entities = { "person.jane" = "jane" }
statestream = "ha"

[applications.family]
person = "jane"
view = "family"
now_only = true

[broker]
host = "127.0.0.1"
user = "gateway"
password = "hidden"

[[broker.tell]]
person = "jane"
view = "family"
forms = ["json"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(tmp_path / "jane.model", ROUTINE)
    (tmp_path / "policy.toml").write_text('delta = 0.1\n[[secret]]\ncontexts = ["clinic"]\n', encoding="utf-8")
    return tmp_path


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "discreet.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_all_of_it_is_read(folder: Path) -> None:
    found = Settings.read(written(folder, WHO + REST))
    assert found.server == Server("0.0.0.0", 9000, ("home.example",), ("10.0.0.2",), None, None, folder / "kept")
    assert found.keeping == Keeping(1.5, 30.0, 7)
    assert found.journal == JournalAt("postgresql://discreet@db/discreet")
    assert found.limits == Rates(Rate(50, 5), Rate(500, 50))
    assert found.views == {"family": View("family", {"home": frozenset({"home"})}, "out")}
    assert found.owntracks == (OwnTracksSource("jane", "jane", "phone", "a passphrase"),)
    assert found.home_assistant == (HomeAssistantSource({"person.jane": "jane"}, statestream="ha"),)
    assert found.applications == {"family": Application("family", "jane", "family", True)}
    tells = (ToldView("jane", "family", frozenset({"json"})),)
    assert found.broker == Broker("127.0.0.1", 1883, "gateway", "hidden", tells=tells)
    assert found.secrets == ("broker.password", "owntracks.key")
    for secret in ("a passphrase", "hidden"):
        assert secret not in repr(found)


def test_little_is_enough(folder: Path) -> None:
    little = Settings.read(written(folder, WHO))
    assert (little.server, little.keeping, little.limits) == (Server(), Keeping(), Rates())
    assert Settings.read(written(folder, little.text())) == little
    assert "[server]" not in little.text()
    plan = plan_of(little)
    assert [one.name for one in plan.people] == ["jane"]
    checked(plan.people)
    assert plan.server.host == "127.0.0.1"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("[server]\nport = 0\n", "server.port: is 0; give a port"),
        ("[server]\nprot = 1\n", "server.prot: is not known; did you mean 'port'?"),
        ('[server]\nproxies = ["proxy"]\n', "server.proxies: 'proxy' is no address"),
        ("[server]\nhosts = [1]\n", "server.hosts: is [1]; list the names"),
        ('[server]\ncertificate = "jane.model"\n', "server.key: is missing; give both"),
        ('[server]\nkey = "jane.model"\n', "server.certificate: is missing; give both"),
        ('[server]\nkey = "none.pem"\n', "server.key: there is no such file"),
        ('[keeping]\nmargin = "0"\n', "keeping.margin: is 0 s; give more than 0"),
        ('[keeping]\nmargin = "2h"\n', "keeping.margin: is 7200 s; give more than 0 and at most 60"),
        ("[keeping]\nretention_days = 0\n", "keeping.retention_days: is 0"),
        ('[journal]\nurl = "mysql://x"\n', "journal.url: does not begin with postgresql://"),
        ("[limits]\nsource = 0\n", "limits.source: is 0"),
        ("[views.whole]\ngroups = { a = ['home'] }\n", "views.whole: is the name of the view that shows all"),
        ("[views.x]\nrest = 'out'\n", "views.x.groups: is missing"),
        ("[views.x]\ngroups = { a = ['home'], b = ['home'] }\n", "views.x: view 'x': 'home' is in the groups"),
        ('[[owntracks]]\nperson = "joe"\n', "owntracks[0].person: is of 'joe', who is not in [people]"),
        ('[[owntracks]]\nperson = "jane"\nuser = "a/b"\n', "owntracks[0].user: is 'a/b', which cannot stand"),
        ('[owntracks]\nperson = "jane"\n', "owntracks: is {'person': 'jane'}; write each as [[owntracks]]"),
        (
            '[[home_assistant]]\nentities = { "person.x" = "x" }\nstatestream = "s"\n',
            "home_assistant[0].entities: is of",
        ),
        ('[[home_assistant]]\nentities = { "person.x" = "jane" }\nstatestream = "s"\n', "there is no [broker]"),
        ('[applications.a]\nperson = "jane"\nview = "famly"\n', "applications.a.view: is 'famly'"),
        ('[applications.a]\nview = "whole"\n', "applications.a.person: is missing"),
        ('[applications.a]\nperson = "jane"\nnow_only = 1\n', "applications.a.now_only: is 1; write true or false"),
        ('[applications."a/b"]\nperson = "jane"\n', 'applications."a/b": cannot be part of an address'),
        ('[broker]\nhost = "b"\nname = "a/#"\n', "broker.name: is 'a/#', which cannot stand"),
        ('[[broker.tell]]\nperson = "joe"\n', "broker.tell[0].person: is of 'joe'"),
        ('[[broker.tell]]\nperson = "jane"\nview = "x"\n', "broker.tell[0].view: is 'x'"),
        ("[brocker]\nport = 1\n", "brocker: is not known; did you mean 'broker'?"),
    ],
)
def test_errors_name_the_key(folder: Path, more: str, told: str) -> None:
    with pytest.raises(DiscreetError) as error:
        Settings.read(written(folder, WHO + more))
    assert str(error.value).startswith(f"{folder / 'discreet.toml'}: ")
    assert told in str(error.value)


def test_a_file_with_secrets_that_all_can_read_is_refused(folder: Path) -> None:
    path = written(folder, WHO + '[broker]\nuser = "u"\npassword = "hidden"\n', 0o644)
    with pytest.raises(DiscreetError, match=r"it holds broker\.password; chmod 600"):
        Settings.read(path)
    path = written(folder, WHO + '[journal]\nurl = "postgresql://me:word@db/x"\n', 0o604)
    with pytest.raises(DiscreetError, match=r"it holds journal\.url"):
        Settings.read(path)
    assert Settings.read(written(folder, WHO + '[broker]\nhost = "b"\n', 0o644)).secrets == ()


def test_a_mechanism_that_cannot_go_on_without_end_is_said_before_anything_starts(folder: Path) -> None:
    more = '[people.jane.mechanism]\nname = "hybrid"\n'
    plan = plan_of(Settings.read(written(folder, WHO + more)))
    with pytest.raises(DiscreetError, match=r"people\.jane\.mechanism: "):
        checked(plan.people)


def test_a_mechanism_that_promises_nothing_of_all_outputs_is_said_before_anything_starts(folder: Path) -> None:
    """CAPP goes on without end where days are alike; what it promises is of one output seen alone."""
    (kind, *_), night = ROUTINE.kinds, next(iter(ROUTINE.nights.values()))
    save(folder / "jane.model", Routine({"day": ROUTINE.day(kind)}, {("day", "day"): night}))
    plan = plan_of(Settings.read(written(folder, WHO + '[people.jane.mechanism]\nname = "capp"\n')))
    with pytest.raises(DiscreetError, match=r"people\.jane\.mechanism: Capp promises something of a part"):
        checked(plan.people)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://discreet@host/discreet", False),
        ("postgresql:///discreet", False),
        ("postgresql://host/discreet?user=discreet", False),
        ("postgresql://discreet:secret@host/discreet", True),
        ("postgresql://host/discreet?user=discreet&password=secret", True),
    ],
)
def test_a_password_in_the_journals_address_is_warned_of(tmp_path: Path, url: str, told: bool) -> None:
    file = tmp_path / "discreet.toml"
    for name in ("jane.model", "policy.toml"):
        (tmp_path / name).touch()
    file.write_text(f"{WHO}\n[journal]\nurl = '{url}'\n")
    file.chmod(0o600)
    warnings = Settings.read(file).warnings
    assert len(warnings) == told
    assert all("~/.pgpass" in one and "secret" not in one for one in warnings)
    if told:
        file.chmod(0o644)
        with pytest.raises(DiscreetError, match=r"journal\.url"):
            Settings.read(file)


@pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")
def test_a_tls_key_that_everybody_can_read_is_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "discreet.toml"
    for name in ("jane.model", "policy.toml"):
        (tmp_path / name).touch()
    file.write_text(f"{WHO}\n[server]\ncertificate = 'c.pem'\nkey = 'k.pem'\n")
    for name in ("c.pem", "k.pem"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o644)
    (warning,) = Settings.read(file).warnings
    assert "chmod 600" in warning
    assert "k.pem" in warning
    (tmp_path / "k.pem").chmod(0o640)
    assert Settings.read(file).warnings == [], "the service's group may"
