"""A copy of everything that a gateway is, taken while it runs: each file as of one instant, the own store first.

The copy of the journal is marked. Whoever starts a gateway from it has to say what became of the slots that were told
since (`restored`): a silent continuation would decide them again.
"""

from __future__ import annotations

import datetime as dt
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.gateway.config.archived import DATA, take
from discreet.gateway.sealed import SEALED
from discreet.gateway.store.access_schema import SCHEMA as ACCESS_SCHEMA
from discreet.gateway.store.archive import is_archive, pack, write_manifest
from discreet.gateway.store.database import copied
from discreet.gateway.store.folder import OWNER_KEY, known_key
from discreet.gateway.store.journal import Journal, SqliteJournal
from discreet.gateway.store.journal.sqlite import SCHEMA as JOURNAL_SCHEMA
from discreet.gateway.store.own_store import SCHEMA as OWN_SCHEMA
from discreet.gateway.store.own_store import OwnStore

SCHEMAS = {"journal": len(JOURNAL_SCHEMA), "own": len(OWN_SCHEMA), "access": len(ACCESS_SCHEMA)}
"""The version of each file's schema that this program writes, and the latest that it reads."""


def mark_of(now: dt.datetime) -> str:
    """What the journal of a backup says of itself."""
    return f"a backup of {now.isoformat(timespec='seconds')}"


@dataclass(frozen=True)
class BackupOrder:
    """What is copied: the data folder, and where they are given the settings with all that they name.

    `journal` opens one that is not in the folder. Without the own store, readings and the truth of past days stay out,
    and a gateway that goes on from the copy has lost its memory, which it says by a skip.
    """

    data: Path
    own: bool = True
    journal: Callable[[], Journal] | None = None
    settings: Path | None = None
    passphrase: str | None = field(default=None, repr=False)


def back_up(order: BackupOrder, out: Path, now: dt.datetime) -> list[str]:
    """Copy to a new folder, or into a new archive by its ending: the names of what was copied."""
    if out.exists():
        raise DiscreetError(f"{out}: is there already; give a new name, so that no backup is overwritten")
    sealed = out.name.endswith(SEALED)
    if sealed != (order.passphrase is not None) or (sealed and not is_archive(out)):
        raise DiscreetError(
            f"{out}: an encrypted backup takes a passphrase and a name that ends in {SEALED}, such as "
            f"backup.tar.gz{SEALED}; one that is not takes neither"
        )
    known_key(order.data)
    out.parent.mkdir(parents=True, exist_ok=True)
    # Beside the originals, of mode 0700: where an encrypted archive goes, nothing lies in the clear meanwhile.
    beside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=order.data if is_archive(out) else out.parent))
    try:
        names = _copied(order, beside, now)
        if is_archive(out):
            pack(beside, names, out, order.passphrase)
        else:
            beside.replace(out)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return names


def _copied(order: BackupOrder, beside: Path, now: dt.datetime) -> list[str]:
    mark = mark_of(now)
    if order.settings is None:
        names = _copied_all(order.data, beside, mark, order.own, order.journal)
    else:
        (beside / DATA).mkdir(mode=0o700)
        stores = _copied_all(order.data, beside / DATA, mark, order.own, order.journal)
        names = [f"{DATA}/{name}" for name in stores]
        names += take(order.settings, beside, own=order.own, beside=_beside)
    write_manifest(beside, names, {"made": now.isoformat(timespec="seconds"), "mark": mark, "schemas": SCHEMAS})
    return names


def _beside(file: Path) -> list[Path]:
    """What the gateway keeps beside a person's file: a drawn map, the routine before, what was imported."""
    ending = "policy.toml"
    readings = (
        file.with_name(f"{file.name.removesuffix(ending)}readings.parquet") if file.name.endswith(ending) else None
    )
    kept = [file.with_name(f"{file.stem}.{what}{file.suffix}") for what in ("drawn", "before")]
    return [one for one in (*kept, readings) if one is not None and one.is_file()]


def _copied_all(data: Path, into: Path, mark: str, own: bool, journal: Callable[[], Journal] | None) -> list[str]:
    names = []
    if own and (data / "own.db").exists():
        with closing(OwnStore(data / "own.db", look=True)) as store:
            store.backup(into / "own.db")
        names.append("own.db")
    opened: Journal = SqliteJournal(data / "journal.db", look=True) if journal is None else journal()
    with closing(opened):
        opened.backup(into / "journal.db", mark)
    names.append("journal.db")
    if (data / "access.db").exists():
        with closing(sqlite3.connect(data / "access.db")) as access:
            copied(access, into / "access.db")
        names.append("access.db")
    shutil.copy2(data / OWNER_KEY, into / OWNER_KEY)  # its mode too
    return [*names, OWNER_KEY]
