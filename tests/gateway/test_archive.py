"""One archive restores everything, or nothing; and a journal goes into another database whole, or stays where it is."""

from __future__ import annotations

import asyncio
import io
import json
import random
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from discreet import DiscreetError
from discreet.cli import run
from discreet.gateway import sealed
from discreet.gateway.app import PreparedGateway, plan_of
from discreet.gateway.auth.tokens import Access
from discreet.gateway.config.sections import Backups
from discreet.gateway.config.settings import Settings
from discreet.gateway.health import Health
from discreet.gateway.owner.scheduled import ScheduledBackups
from discreet.gateway.sealed import CUT_OFF, SealingFile, UnsealingFile
from discreet.gateway.slots.recovery import OlderJournalError
from discreet.gateway.store import moving
from discreet.gateway.store.archive import MANIFEST
from discreet.gateway.store.backup import BackupOrder, back_up
from discreet.gateway.store.folder import Folder
from discreet.gateway.store.journal import JournalRow, SqliteJournal
from discreet.gateway.store.journal.base import broken_link
from discreet.gateway.store.moving import MOVED, UNFINISHED, moved, restored
from discreet.gateway.store.own_store import OwnStore
from discreet.models.store import save
from tests.gateway.people import KEY, START, closed, habits, keeper, person_config
from tests.gateway.postgres import Server
from tests.gateway.test_keeper import boundaries, fed, week

ROUTINE = habits()
WHO = person_config(routine=ROUTINE, outputs="suppress")
ENDS = list(boundaries(2))
PASSPHRASE = "olive tram ladder"

SETTINGS = """
[clock]
slots = 12
zone = "UTC"

[server]  # a comment that stays
data = "elsewhere/data"

[people.jane]
routine = "habits/jane.model"
policy = "policy.toml"
carry = "4h"

[broker]
user = "gateway"
password_file = "{outside}/broker.secret"

[[broker.tell]]
person = "jane"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A gateway's folder with fifteen slots decided, files in a folder of their own, and one that lies elsewhere."""
    folder, outside = tmp_path / "home", tmp_path / "outside"
    data = folder / "elsewhere" / "data"
    for one in (data, folder / "habits", outside):
        one.mkdir(parents=True)
    save(folder / "habits" / "jane.model", ROUTINE)
    save(folder / "habits" / "jane.before.model", ROUTINE)
    (folder / "policy.toml").write_text('delta = 0.1\n[[secret]]\ncontexts = ["clinic"]\n')
    (folder / "readings.parquet").write_bytes(b"what was imported")
    secret = outside / "broker.secret"
    secret.write_text("of the broker\n")
    secret.chmod(0o600)
    (folder / "discreet.toml").write_text(SETTINGS.format(outside=outside))
    (data / "owner.key").write_bytes(KEY)
    (data / "owner.key").chmod(0o600)
    with closing(Access(data / "access.db")) as access:
        access.add("source", "jane", name="phone")
    keeps = keeper(data, ENDS[0] - 3600, WHO)
    fed(keeps, week(days=2))
    for boundary in ENDS[:15]:
        keeps.turn(boundary)
    closed(keeps)
    return folder


def order_of(home: Path, **options: Any) -> BackupOrder:
    return BackupOrder(home / "elsewhere" / "data", settings=home / "discreet.toml", **options)


def rows_of(journal: Path) -> list[JournalRow]:
    with closing(SqliteJournal(journal, look=True)) as opened:
        return list(opened.all_rows("jane"))


def test_everything_comes_back_in_another_folder(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive, again = tmp_path / "all.tar.gz", tmp_path / "again"
    assert run(["backup", "--config", str(home / "discreet.toml"), "--out", str(archive)]) == 0
    assert archive.stat().st_mode & 0o077 == 0
    assert run(["restore", str(archive), "--dir", str(again)]) == 0
    assert "--new-stream" in capsys.readouterr().out
    assert all(path.stat().st_mode & 0o077 == 0 for path in again.rglob("*") if path.is_file())
    settings = Settings.read(again / "discreet.toml")
    assert settings.people["jane"].routine.read_bytes() == (home / "habits" / "jane.model").read_bytes()
    assert (again / "habits" / "jane.before.model").is_file()
    assert (again / "readings.parquet").read_bytes() == b"what was imported"
    assert settings.broker is not None
    assert settings.broker.password == "of the broker", "it lay elsewhere, and lies with the others now"
    assert "# a comment that stays" in (again / "discreet.toml").read_text()
    assert settings.server.data == again / "discreet-data"
    assert rows_of(again / "discreet-data" / "journal.db") == rows_of(home / "elsewhere" / "data" / "journal.db")
    with closing(Access(again / "discreet-data" / "access.db")) as access:
        assert [one.name for one in access.list()] == ["phone"]
    with pytest.raises(OlderJournalError, match="is a backup of"):
        PreparedGateway(plan_of(settings), Folder.made(again / "discreet-data"), settings=settings)
    assert run(["restore", str(archive), "--dir", str(again)]) == 2, "nothing is overwritten"


def test_without_the_own_store_what_was_imported_stays_out_too(home: Path, tmp_path: Path) -> None:
    names = back_up(order_of(home, own=False), tmp_path / "copy", START)
    assert "readings.parquet" not in names
    assert "discreet-data/own.db" not in names
    assert restored(tmp_path / "copy", tmp_path / "again"), "a folder is restored as an archive is"


def test_what_is_encrypted_is_opened_by_its_passphrase_alone(home: Path, tmp_path: Path) -> None:
    archive = tmp_path / "all.tar.gz.sealed"
    back_up(order_of(home, passphrase=PASSPHRASE), archive, START)
    whole = archive.read_bytes()
    for secret in (b"clinic", b"jane", b"SQLite", KEY):
        assert secret not in whole
    assert not [path for path in home.rglob("*") if path.name.startswith(".")], "nothing in the clear is left"
    with pytest.raises(DiscreetError, match="the passphrase is wrong"):
        restored(archive, tmp_path / "again", passphrase="olive tram adder")
    with pytest.raises(DiscreetError, match="is encrypted; give the passphrase"):
        restored(archive, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    restored(archive, tmp_path / "again", passphrase=PASSPHRASE)
    assert rows_of(tmp_path / "again" / "discreet-data" / "journal.db")


@pytest.mark.parametrize("out", ["all.tar.gz", "all.sealed"])
def test_a_name_says_whether_it_is_encrypted(home: Path, tmp_path: Path, out: str) -> None:
    with pytest.raises(DiscreetError, match="takes a passphrase and a name"):
        back_up(order_of(home, passphrase=PASSPHRASE), tmp_path / out, START)
    with pytest.raises(DiscreetError, match="has 5 letters"):
        back_up(order_of(home, passphrase="short"), tmp_path / "all.tar.gz.sealed", START)
    assert not (tmp_path / out).exists()


@pytest.mark.parametrize("passphrase", [None, PASSPHRASE])
def test_an_archive_that_was_altered_or_cut_off_leaves_nothing(
    home: Path, tmp_path: Path, passphrase: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if passphrase is not None:  # a tenth of a second a try otherwise
        monkeypatch.setattr(sealed, "_key", lambda given, salt: (given.encode() + salt)[:32])
    archive = tmp_path / ("all.tar" if passphrase is None else "all.tar.sealed")
    back_up(order_of(home, passphrase=passphrase), archive, START)
    whole, rng = archive.read_bytes(), random.Random(1)
    tried = 0
    with closing(sqlite3.connect(":memory:")):
        for case in range(60):
            changed = bytearray(whole)
            if case % 2:
                del changed[rng.randrange(len(changed)) :]
            else:
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            other = tmp_path / f"altered-{case}"
            other.write_bytes(changed)
            into = tmp_path / f"into-{case}"
            try:
                restored(other, into, passphrase=passphrase)
            except DiscreetError:
                assert not into.exists()
                assert not list(tmp_path.glob(f".into-{case}.*"))
                tried += 1
            else:  # in the padding between files of a tar, or its unused fields: nothing that was restored differs
                assert passphrase is None, "every bit of an encrypted archive counts"
                assert rows_of(into / "discreet-data" / "journal.db") == rows_of(
                    home / "elsewhere" / "data" / "journal.db"
                )
    assert tried > (55 if passphrase else 40)


def test_chunks_are_in_their_order_and_none_is_left_out() -> None:
    def sealed_of(size: int) -> bytes:
        file = io.BytesIO()
        with closing(SealingFile(file, PASSPHRASE)) as out:
            out.write(bytes(size))
        return file.getvalue()

    for size in (0, 1, sealed.CHUNK, sealed.CHUNK + 1, 3 * sealed.CHUNK):
        assert UnsealingFile(io.BytesIO(sealed_of(size)), PASSPHRASE).read() == bytes(size)
    whole = sealed_of(3 * sealed.CHUNK)
    step, head = sealed.CHUNK + 17, len(whole) - 3 * (sealed.CHUNK + 17)
    parts = [whole[head + k * step :][:step] for k in range(3)]
    for order in ((1, 0, 2), (0, 2), (0, 0, 1, 2), (0, 1, 2, 2)):
        with pytest.raises(DiscreetError):
            UnsealingFile(io.BytesIO(whole[:head] + b"".join(parts[k] for k in order)), PASSPHRASE).read()
    with pytest.raises(DiscreetError, match=CUT_OFF):
        UnsealingFile(io.BytesIO(whole[:head] + parts[0]), PASSPHRASE).read()


def _rewritten(source: Path, out: Path, change: Callable[[dict[str, Any], list[tarfile.TarInfo]], None]) -> Path:
    """The same archive with another manifest, or other entries."""
    with tarfile.open(source) as tar:
        files = {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr]
    manifest = json.loads(files.pop(MANIFEST))
    entries = [tarfile.TarInfo(name) for name in files]
    change(manifest, entries)
    with tarfile.open(out, "w") as tar:
        said, head = json.dumps(manifest).encode(), tarfile.TarInfo(MANIFEST)
        head.size = len(said)
        tar.addfile(head, io.BytesIO(said))
        for entry in entries:
            entry.size = len(files.get(entry.name, b"")) if entry.isreg() else 0
            tar.addfile(entry, io.BytesIO(files.get(entry.name, b"")))
    return out


def _above(manifest: dict[str, Any], entries: list[tarfile.TarInfo]) -> None:
    manifest["files"]["../above"] = {"sha256": "", "bytes": 0}
    entries.append(tarfile.TarInfo("../above"))


def _link(manifest: dict[str, Any], entries: list[tarfile.TarInfo]) -> None:
    entry = tarfile.TarInfo("discreet-data")
    entry.type, entry.linkname = tarfile.SYMTYPE, "/tmp"
    entries.insert(0, entry)


def _foreign(manifest: dict[str, Any], entries: list[tarfile.TarInfo]) -> None:
    entries.append(tarfile.TarInfo("another"))


def _missing(manifest: dict[str, Any], entries: list[tarfile.TarInfo]) -> None:
    entries.pop()


def _later(manifest: dict[str, Any], entries: list[tarfile.TarInfo]) -> None:
    manifest["schemas"]["own"] = 99


def _newer(manifest: dict[str, Any], entries: list[tarfile.TarInfo]) -> None:
    manifest["format"] = 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_above, "its manifest cannot be read"),
        (_link, "is no file"),
        (_foreign, "is not in its manifest"),
        (_missing, "is missing"),
        (_later, "its own is of a later version"),
        (_newer, "it is of a later version"),
    ],
)
def test_an_archive_that_is_not_what_backup_writes_is_refused_before_anything_is_written(
    home: Path, tmp_path: Path, change: Any, words: str
) -> None:
    back_up(order_of(home), tmp_path / "all.tar", START)
    other = _rewritten(tmp_path / "all.tar", tmp_path / "other.tar", change)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(DiscreetError, match=words):
        restored(other, tmp_path / "again")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_journal_that_was_altered_before_the_backup_is_not_restored(home: Path, tmp_path: Path) -> None:
    journal = home / "elsewhere" / "data" / "journal.db"
    with closing(sqlite3.connect(journal)) as opened, opened:
        opened.execute("""UPDATE output SET output = '{"kind":"suppressed"}' WHERE slot = 3 AND date = '2026-03-02'""")
    back_up(order_of(home), tmp_path / "all.tar", START)
    with pytest.raises(DiscreetError, match="altered at 2026-03-02 slot 3"):
        restored(tmp_path / "all.tar", tmp_path / "again")
    assert not (tmp_path / "again").exists()


# --- by the clock


def test_backups_are_made_by_the_clock_and_the_latest_are_kept(home: Path, tmp_path: Path) -> None:
    folder, now, health = tmp_path / "backups", [START.timestamp()], Health()
    data = home / "elsewhere" / "data"

    def backups(every: str, passphrase: str | None = None) -> ScheduledBackups:
        plan = Backups(every, 3, folder, passphrase)
        return ScheduledBackups(plan, order_of(home), lambda: now[0], START.tzinfo, health)  # type: ignore[arg-type]

    daily = backups("daily")
    with closing(SqliteJournal(data / "journal.db")), closing(OwnStore(data / "own.db")):  # the gateway runs
        for _ in range(5):
            assert daily.make() is not None
            assert daily.make() is None, "one a day"
            now[0] += 86_400
    assert [path.name for _, path in daily.made()] == [f"discreet-2026-03-0{day}.tar.gz" for day in (4, 5, 6)]
    (folder / "discreet-notes.txt").write_text("of somebody else's")
    weekly = backups("weekly", PASSPHRASE)
    assert weekly.make() is None
    now[0] += 6 * 86_400
    made = weekly.make()
    assert made is not None
    assert made.name == "discreet-2026-03-13.tar.gz.sealed"
    assert (folder / "discreet-notes.txt").exists()
    restored(made, tmp_path / "again", passphrase=PASSPHRASE)
    now[0] += 8 * 86_400
    (data / "owner.key").unlink()

    async def turn() -> None:
        """Nothing is told just now."""

    async def once() -> None:
        running = asyncio.create_task(weekly.run(turn))
        async with asyncio.timeout(120):
            while not health.reasons:
                await asyncio.sleep(0.01)
        assert not running.done(), "it is tried again"
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(once())
    assert [one.what for one in health.reasons] == ["backup"]


def test_the_settings_say_when(home: Path) -> None:
    file = home / "discreet.toml"
    text = file.read_text()
    file.write_text(text + '\n[backup]\nevery = "weekly"\nkeep = 2\npassphrase_file = "pass"\n')
    (home / "pass").write_text(PASSPHRASE)
    (home / "pass").chmod(0o600)
    found = Settings.read(file).backups
    assert found == Backups("weekly", 2, home / "backups", PASSPHRASE)
    assert PASSPHRASE not in repr(found)
    names = back_up(order_of(home), home / "copy", START)
    assert "pass" not in names, "what opens the other archives is not in one that is not encrypted"
    for wrong, words in (
        ('every = "hourly"', "known: 'daily', 'weekly'"),
        ("keep = 0", "how many are kept"),
        ('passphrase = "short"', "has 5 letters"),
        ("often = 1", "often"),
    ):
        file.write_text(f"{text}\n[backup]\n{wrong}\n")
        file.chmod(0o600)
        with pytest.raises(DiscreetError, match=words):
            Settings.read(file)


# --- into another database


@pytest.fixture
def other(server: Server) -> str:
    return server.database()


@pytest.mark.postgres
def test_a_journal_moves_there_and_back(home: Path, other: str) -> None:
    from discreet.gateway.store.journal.postgres import PostgresJournal

    folder, said = Folder(home / "elsewhere" / "data"), list[str | None]()
    rows = rows_of(folder.journal)
    assert moved(folder, None, other, said.append) == ["jane"]
    with closing(PostgresJournal(other)) as journal:
        assert list(journal.all_rows("jane")) == rows
        assert (journal.mark(), broken_link(journal.all_rows("jane"), KEY)) == (None, None)
        heads = journal.heads("jane")
        assert len(journal.checkpoints(heads[0].stream)) >= 1
        with closing(OwnStore(folder.own)):
            pass
    with closing(SqliteJournal(folder.journal)) as left:
        assert left.mark() == MOVED, "no gateway goes on from what was left"
    with pytest.raises(DiscreetError, match="there already"):
        moved(folder, other, other, said.append)
    assert moved(folder, other, None, said.append) == ["jane"]
    assert rows_of(folder.journal) == rows
    assert said == [other, None]
    one = keeper(folder.path, ENDS[15] - 60, WHO)
    one.turn(ENDS[15])  # it goes on
    closed(one)
    with closing(SqliteJournal(folder.journal)) as journal:
        another = journal.begin("joe", START.date(), 0, "the first")
        assert another.stream > heads[0].stream


@pytest.mark.postgres
@pytest.mark.parametrize("at", ["_check", "settle", "_finished", "set_mark"])
def test_a_move_that_was_interrupted_is_made_again(
    home: Path, other: str, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.gateway.store.journal.postgres import PostgresJournal

    folder, place = Folder(home / "elsewhere" / "data"), list[str | None]([None])
    rows = rows_of(folder.journal)

    def killed(*given: object) -> None:
        raise KeyboardInterrupt

    def settle(to: str | None) -> None:
        place[0] = to

    with monkeypatch.context() as patch:
        if at == "set_mark":
            patch.setattr(SqliteJournal, "set_mark", killed)
        elif at != "settle":
            patch.setattr(moving, at, killed)
        with pytest.raises(KeyboardInterrupt):
            moved(folder, None, other, killed if at == "settle" else settle)
    if place[0] is None:
        with closing(SqliteJournal(folder.journal)) as left:
            assert left.mark() in (None, MOVED)
    with closing(PostgresJournal(other)) as journal:
        assert journal.mark() == UNFINISHED, "no gateway goes on from half a move"
    assert moved(folder, place[0], other, settle) == ["jane"]
    with closing(PostgresJournal(other)) as journal:
        assert list(journal.all_rows("jane")) == rows
        assert journal.mark() is None


@pytest.mark.postgres
def test_a_database_with_a_journal_in_it_is_left_alone(home: Path, other: str, tmp_path: Path) -> None:
    from discreet.gateway.store.journal.postgres import PostgresJournal

    with closing(PostgresJournal(other)) as journal:
        journal.begin("joe", START.date(), 0, "the first")
    with pytest.raises(DiscreetError, match="there is a journal in that database already"):
        moved(Folder(home / "elsewhere" / "data"), None, other, lambda to: None)
    back_up(order_of(home), tmp_path / "all.tar", START)
    with pytest.raises(DiscreetError, match="there is a journal in that database already"):
        restored(tmp_path / "all.tar", tmp_path / "again", postgres=other)
    assert not (tmp_path / "again").exists()
    with closing(PostgresJournal(other)) as journal:
        assert journal.people() == ["joe"]


@pytest.mark.postgres
def test_an_archive_is_restored_into_postgresql(home: Path, other: str, tmp_path: Path) -> None:
    from discreet.gateway.store.journal.postgres import PostgresJournal

    rows = rows_of(home / "elsewhere" / "data" / "journal.db")
    back_up(order_of(home), tmp_path / "all.tar", START)
    restored(tmp_path / "all.tar", tmp_path / "again", postgres=other)
    assert not (tmp_path / "again" / "discreet-data" / "journal.db").exists()
    assert other in (tmp_path / "again" / "discreet.toml").read_text()
    with closing(PostgresJournal(other)) as journal:
        assert list(journal.all_rows("jane")) == rows
        assert str(journal.mark()).startswith("a backup of"), "it says how to go on, as ever"
        head = journal.head("jane")
        assert head is not None
        assert journal.checkpoints(head.stream)
