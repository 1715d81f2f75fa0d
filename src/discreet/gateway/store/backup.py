"""A copy of the data folder, taken while the gateway runs: each file as of one instant, the own store first.

The copy of the journal is marked. Whoever starts a gateway from it has to say what became of the slots that were told
since (`restored`): a silent continuation would decide them again.
"""

from __future__ import annotations

import datetime as dt
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.gateway.store.database import copied
from discreet.gateway.store.folder import OWNER_KEY, known_key
from discreet.gateway.store.journal import Journal, SqliteJournal
from discreet.gateway.store.own_store import OwnStore

ARCHIVES = (".tar", ".tar.gz", ".tgz")


def mark_of(now: dt.datetime) -> str:
    """What the journal of a backup says of itself."""
    return f"a backup of {now.isoformat(timespec='seconds')}"


def back_up(
    data: Path,
    out: Path,
    now: dt.datetime,
    *,
    own: bool = True,
    journal: Callable[[], Journal] | None = None,
) -> list[str]:
    """Copy a data folder to a new folder, or into a new archive by its ending: the names of what was copied.

    `journal` opens one that is not in the folder. Without the own store, readings and the truth of past days stay out,
    and a gateway that goes on from the copy has lost its memory, which it says by a skip.
    """
    if out.exists():
        raise DiscreetError(f"{out}: is there already; give a new name, so that no backup is overwritten")
    known_key(data)
    out.parent.mkdir(parents=True, exist_ok=True)
    archive = out.name.endswith(ARCHIVES)
    beside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))  # of mode 0700
    try:
        names = _copied_all(data, beside, mark_of(now), own, journal)
        if archive:
            _packed(beside, names, out)
        else:
            beside.replace(out)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return names


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


def _packed(folder: Path, names: list[str], out: Path) -> None:
    """One file, for its owner alone."""
    part = folder / out.name
    with part.open("xb") as file:
        part.chmod(0o600)
        with tarfile.open(fileobj=file, mode="w" if out.name.endswith(".tar") else "w:gz") as packed:
            for name in names:
                packed.add(folder / name, name)
    part.replace(out)
