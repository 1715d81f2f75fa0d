from __future__ import annotations

import json
import re
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from discreet import Clock
from discreet.gateway import app, server
from discreet.gateway.auth.tokens import Access
from discreet.gateway.config.views import View
from discreet.gateway.forms import Forms
from discreet.gateway.store.folder import Folder
from discreet.gateway.store.journal import JournalRow
from discreet.gateway.store.own_store import OwnStore, Reading
from discreet.models.store import save
from discreet.outputs import Skipped
from discreet.places import Places
from tests.cli.conftest import Discreet, Ran, error_of
from tests.gateway.people import START
from tests.gateway.web import ROUTINE

SETTINGS = """
[clock]
slots = 12
zone = "UTC"

[people.jane]
routine = "jane.model"
policy = "policy.toml"

[views.family]
groups = { home = ["home"] }
rest = "out"

[applications.kitchen]
person = "jane"
view = "family"
now_only = true

[[owntracks]]
person = "jane"
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    save(tmp_path / "jane.model", ROUTINE)
    (tmp_path / "policy.toml").write_text('delta = 0.1\n[[secret]]\ncontexts = ["clinic"]\n', encoding="utf-8")
    (tmp_path / "discreet.toml").write_text(SETTINGS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "discreet.toml"


def test_check_reads_everything_and_starts_nothing(discreet: Discreet, config: Path) -> None:
    ran = discreet("serve", "--check")
    assert ran.code == 0
    assert ran.out == "discreet.toml: in order: 1 person, 1 view, 1 application, 1 owntracks\n"
    assert discreet("serve", "--check", "--json").json["applications"] == 1
    assert not (config.parent / "discreet-data").exists()
    config.write_text(SETTINGS.replace('view = "family"', 'view = "famly"'), encoding="utf-8")
    ran = discreet("serve", "--check")
    assert ran.code == 2
    assert "applications.kitchen.view: is 'famly'; did you mean 'family'?" in error_of(ran)


def test_without_settings_it_says_what_comes_first(
    discreet: Discreet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for given in (("serve", "--check"), ("serve", "--check", "--config", "none.toml"), ("serve", "--new-stream")):
        ran = discreet(*given)
        assert ran.code == 2
        assert "discreet setup HISTORY" in error_of(ran)
        assert "discreet serve --demo" in error_of(ran)
    for wanting in (
        ("token", "add", "source", "phone", "--person", "jane"),
        ("token", "list"),
        ("backup", "--out", "copy"),
        ("journal", "verify"),
    ):
        ran = discreet(*wanting)
        assert ran.code == 2
        assert "there is neither discreet.toml nor discreet-data here" in error_of(ran)
    assert not list(tmp_path.iterdir()), "nothing is made by mistake"


def test_files_are_where_the_settings_say(discreet: Discreet, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.write_text(SETTINGS + '[server]\ndata = "kept"\n', encoding="utf-8")
    made = discreet("token", "add", "source", "phone", "--person", "jane", "--json").json["token"]
    assert (config.parent / "kept" / "access.db").exists()
    elsewhere = config.parent / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert made in discreet("token", "list", "--config", "../discreet.toml").out
    assert made in discreet("token", "list", "--data", "../kept").out
    assert str(Path("kept") / "owner.key") in error_of(discreet("journal", "verify", "--config", "../discreet.toml"))
    assert not list(elsewhere.iterdir())


def test_a_port_that_is_taken_is_said_before_anything_is_opened(discreet: Discreet, config: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = discreet("serve", "--port", taken.getsockname()[1])
    assert ran.code == 2
    assert "cannot be listened at" in error_of(ran)
    assert not (config.parent / "discreet-data").exists()


def test_without_the_extra_it_says_how_to_install_it(
    discreet: Discreet, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["discreet.cli.serve"], "NEEDED", ("starlette", "a_server_that_is_not_there"))
    for given in (("serve", "--demo"), ("token", "list")):
        ran = discreet(*given)
        assert ran.code == 2
        assert "needs a_server_that_is_not_there; install it with: pip install 'discreet[gateway]'" in error_of(ran)


def test_one_gateway_a_folder(tmp_path: Path) -> None:
    first = Folder.made(tmp_path / "data")
    first.lock()
    with pytest.raises(Exception, match="another process keeps this folder"):
        Folder.made(tmp_path / "data").lock()
    first.unlock()
    second = Folder.made(tmp_path / "data")
    second.lock()
    second.unlock()
    key = second.key()
    assert len(key) == 32
    assert Folder.made(tmp_path / "data").key() == key
    (tmp_path / "data" / "owner.key").write_bytes(b"short")
    with pytest.raises(Exception, match="has 5 bytes instead of 32"):
        second.key()
    if sys.platform != "win32":
        assert (tmp_path / "data").stat().st_mode & 0o077 == 0


class Lives:
    """`discreet serve` whose server decides a few slots, as a clock of its own tells them, and stops."""

    def __init__(self, discreet: Discreet, monkeypatch: pytest.MonkeyPatch) -> None:
        self._discreet, self._slots, self._now = discreet, 0, START.timestamp()
        self.rows: list[JournalRow] = []
        planned = app.plan_of
        monkeypatch.setattr(app, "plan_of", lambda settings: replace(planned(settings), wall=lambda: self._now))
        monkeypatch.setattr(server, "run", self._live)

    def _live(self, served: app.PreparedGateway, bound: socket.socket, ready: Callable[[], None]) -> bool:
        ready()
        bound.close()
        keeper = served.gateway.keeper
        for _ in range(self._slots):
            self._now = keeper.next
            keeper.turn(self._now)
        self.rows = list(keeper.journal.all_rows("jane"))
        for opened in (keeper.journal, keeper.own, served.access):
            opened.close()
        served.folder.unlock()
        return True

    def serve(self, *given: object, slots: int = 0) -> Ran:
        self._slots = slots
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        return self._discreet("serve", "--port", port, *given)


def test_without_settings_the_page_leads_to_them(
    discreet: Discreet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lives = Lives(discreet, monkeypatch)
    ran = lives.serve()
    assert ran.code == 0
    assert re.search(r"Nobody is served yet. Open http://127.0.0.1:\d+/ and enter this token", ran.out)
    assert re.search(r"^  \S{43}$", ran.out, re.MULTILINE)
    assert [path.name for path in tmp_path.iterdir()] == ["discreet-data"]
    Folder.made(tmp_path / "discreet-data")
    access = Access(tmp_path / "discreet-data" / "access.db")
    access.set_password("a hash")
    access.close()
    (tmp_path / "discreet.toml").write_text('[server]\nhosts = ["home.example"]\n', encoding="utf-8")
    ran = lives.serve("--config", "discreet.toml")
    assert ran.code == 0
    assert "Continue at http://127.0.0.1:" in ran.out
    assert discreet("serve", "--check").code == 2, "nobody is not in order"


def test_a_restored_backup_is_refused_completed_or_broken_off(
    discreet: Discreet, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lives = Lives(discreet, monkeypatch)
    assert lives.serve(slots=6).code == 0
    for copy in ("copy", "other"):
        assert discreet("backup", "--data", "discreet-data", "--out", copy).code == 0
    assert lives.serve(slots=3).code == 0
    told = lives.rows
    forms = Forms("jane", Clock(12, "UTC"), Places([]), View())
    Path("heard.jsonl").write_text("".join(json.dumps(forms.event(row)) + "\n" for row in told[4:]), encoding="utf-8")

    refused = lives.serve("--data", "copy")
    assert refused.code == 2
    assert re.search(r"is a backup of .*--complete FILE.*--new-stream", error_of(refused), re.DOTALL)
    assert "not both" in error_of(lives.serve("--data", "copy", "--complete", "heard.jsonl", "--new-stream"))

    completed = lives.serve("--data", "copy", "--complete", "heard.jsonl", slots=1)
    assert completed.code == 0
    assert "jane: 3 slots are completed" in completed.err
    assert lives.rows[:-1] == told, "likelihoods and links too"
    assert isinstance(lives.rows[-1].output, Skipped), "memory is lost, in public"
    assert lives.serve("--data", "copy", slots=1).code == 0, "the mark is gone"

    broken_off = lives.serve("--data", "other", "--new-stream", slots=1)
    assert broken_off.code == 0
    assert "jane: THE PROMISE IS BROKEN OFF" in broken_off.err
    assert [row.stream for row in lives.rows] == [1] * 6 + [2]


def test_tokens_are_made_listed_and_revoked(discreet: Discreet, config: Path) -> None:
    ran = discreet("token", "add", "application", "kitchen", "--expires", "90d")
    assert ran.code == 0
    found = re.search(r"^  (\S{43})$", ran.out, re.MULTILINE)
    assert found is not None
    secret = found[1]
    access = Access(config.parent / "discreet-data" / "access.db")
    grant = access.grant(secret)
    assert grant is not None
    assert (grant.person, grant.view, grant.now_only) == ("jane", "family", True), "as the settings say"
    source = discreet("token", "add", "source", "phone", "--person", "jane", "--json").json
    assert access.grant(source["secret"]).person == "jane"  # type: ignore[union-attr]
    listed = discreet("token", "list")
    assert secret not in listed.out
    assert "family, now only" in listed.out
    tokens = discreet("token", "list", "--json").json["tokens"]
    assert {one["purpose"] for one in tokens} == {"application", "source"}
    (expires,) = (one["expires"] for one in tokens if one["expires"])
    assert 89 * 86400 < expires - time.time() < 91 * 86400
    assert discreet("token", "revoke", grant.token).code == 0
    assert access.grant(secret) is None
    assert "revoked" in discreet("token", "list").out
    assert "there is no token" in error_of(discreet("token", "revoke", grant.token))
    access.close()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("friend",), "not 'friend'"),
        (("application", "x"), "give --person jane"),
        (("application", "--person", "jnae"), "--person 'jnae' is not in discreet.toml; did you mean 'jane'?"),
        (("application", "--person", "jane", "--view", "famly"), "did you mean 'family'?"),
        (("source", "phone", "--person", "jane", "--expires", "soon"), "write a time such as 90d"),
        (("owner", "--person", "jane"), "an owner of none"),
    ],
)
def test_tokens_that_mean_nothing_are_refused(
    discreet: Discreet, config: Path, given: tuple[str, ...], told: str
) -> None:
    ran = discreet("token", "add", *given)
    assert ran.code == 2
    assert told in error_of(ran)


def test_a_list_of_nothing_names_the_folder(discreet: Discreet, config: Path) -> None:
    assert "holds no gateway's files" in error_of(discreet("token", "list"))


def test_what_is_kept_of_somebody_can_be_erased(discreet: Discreet, config: Path) -> None:
    assert "holds no gateway's files" in error_of(discreet("forget", "jane", "--yes"))
    assert discreet("token", "add", "source", "--person", "jane").code == 0
    assert "there is no own store" in error_of(discreet("forget", "jane", "--yes"))
    folder = Folder.made(config.parent / "discreet-data")
    own = OwnStore(folder.own)
    own.read([Reading(name, "phone", 1, label="home") for name in ("jane", "joe")])
    own.close()
    assert "say --yes if it is meant so" in error_of(discreet("forget", "jane"))
    folder.lock()
    assert "another process keeps this folder" in error_of(discreet("forget", "jane", "--yes"))
    folder.unlock()
    ran = discreet("forget", "nobody", "--yes")
    assert ran.code == 1
    assert "nothing is kept of 'nobody'; known: jane, joe" in ran.err
    table = config.parent / "readings.parquet"
    table.write_bytes(b"a table")
    ran = discreet("forget", "jane", "--yes")
    assert "the next slot is skipped in public" in ran.out
    assert "NOT erased: " in ran.out
    assert "readings.parquet" in ran.out
    assert "discreet forget jane --everywhere --yes" in ran.out
    assert table.exists()
    ran = discreet("forget", "jane", "--everywhere", "--yes")
    assert "erased: " in ran.out
    assert "NOT" not in ran.out
    assert not table.exists()
    own = OwnStore(folder.own)
    assert (own.readings("jane", 0), len(own.readings("joe", 0))) == ([], 1)
    own.close()


def test_accounts_by_the_command(discreet: Discreet, config: Path) -> None:
    folder = Folder.made(config.parent / "discreet-data")
    Access(folder.access).close()
    options = ("--config", config)
    assert "nobody has an account" in discreet("owner", "accounts", *options).out
    refused = discreet("owner", "invite", "nobody", *options)
    assert refused.code == 2
    assert "there is no 'nobody' in [people]" in refused.err
    ran = discreet("owner", "invite", "jane", *options)
    invitation = ran.out.splitlines()[-1].removeprefix("#invited/")
    access = Access(folder.access)
    assert access.accounts.invited(invitation) == "jane"
    assert "jane: invited" in discreet("owner", "accounts", *options).out
    access.accounts.accept("jane", "a hash")
    assert "jane: open" in discreet("owner", "accounts", *options).out
    assert discreet("owner", "remove", "jane", *options).code == 0
    assert access.accounts.owed() == ["jane"], "the gateway erases it"
    assert "'jane' has no account" in discreet("owner", "remove", "jane", *options).err
    access.close()
