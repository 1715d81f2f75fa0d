"""`discreet backup` and `discreet restore`: all of a gateway in one archive, while it runs, and back."""

from __future__ import annotations

import datetime as dt
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.gateway_files import CONFIG, Config, Data, journal_at
from discreet.cli.terminal import note
from discreet.errors import DiscreetError

Postgres = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Where the journal is, if it is in PostgreSQL: postgresql://host/database.",
        show_default="as the settings say",
    ),
]
PassphraseFile = Annotated[
    Path | None,
    typer.Option("--passphrase-file", metavar="FILE", help="A file whose first line is the passphrase; - is stdin."),
]


def backup(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE_OR_DIR",
            help="A new folder, or a new .tar, .tar.gz or .tgz archive (.sealed).",
        ),
    ],
    data: Data = None,
    config: Config = None,
    own: Annotated[
        bool, typer.Option("--own/--no-own", help="Include the own store: readings, and the true past days.")
    ] = True,
    postgres: Postgres = None,
    encrypt: Annotated[bool, typer.Option("--encrypt", help="Ask for a passphrase; the name ends in .sealed.")] = False,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Copy all of a gateway while it runs: settings with habits, policies and maps, journal, own store, tokens, key.

    The copy is as private as the folders themselves. A gateway that starts from it has to know what was published
    since: use discreet serve --complete FILE, or --new-stream, which begins a new stream in public. If you give
    only --data, the settings are left out.

    Example: discreet backup --out backup-monday.tar.gz
    """
    from discreet.gateway.store.backup import BackupOrder, back_up

    folder, url = journal_at(data, config, postgres)
    opened = None
    if url is not None:
        from discreet.gateway.store.journal.postgres import PostgresJournal

        opened = partial(PostgresJournal, url, look=True)
    settings = config or CONFIG
    taken = settings if settings.is_file() and (data is None or config is not None) else None
    passphrase = _passphrase(passphrase_file, ask=encrypt)
    names = back_up(BackupOrder(folder, own, opened, taken, passphrase), out, dt.datetime.now(dt.UTC))
    print(f"{out}: {', '.join(names)}")
    if taken is None:
        note("without settings: habits, policies, maps and discreet.toml are not in it; give --config FILE")
    if not own:
        note("without the own store: a gateway that goes on from this copy has lost its memory, and skips a slot")


def restore(
    archive: Annotated[Path, typer.Argument(help="What discreet backup wrote.")],
    into: Annotated[Path, typer.Option("--dir", metavar="DIR", help="A new folder.")],
    postgres: Annotated[
        str | None, typer.Option(metavar="URL", help="Put the journal into this database, which has to be empty.")
    ] = None,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Restore a gateway's folder from a backup, after checking everything in it.

    Versions, digests and the journal's chain are checked first; if one is wrong, nothing is written. The journal stays
    marked as a backup: discreet serve says how to continue.

    Example: discreet restore backup-monday.tar.gz --dir home
    """
    from discreet.gateway.sealed import is_sealed
    from discreet.gateway.store.moving import restored

    sealed = False
    if archive.is_file():
        with archive.open("rb") as file:
            sealed = is_sealed(file)
    passphrase = _passphrase(passphrase_file, ask=sealed)
    names = restored(archive, into, postgres=postgres, passphrase=passphrase)
    whole = "discreet.toml" in names
    print(f"{into}: {len(names)} files")
    print(
        f"continue with: cd {into} && discreet serve --complete FILE (what an application heard since), or --new-stream"
        if whole
        else f"it is a data folder: discreet serve --data {into}, with your settings and one of these two"
    )


def _passphrase(file: Path | None, *, ask: bool) -> str | None:
    """The first line of a file, or what is typed; None where neither is wanted."""
    if file is not None:
        try:
            text = sys.stdin.readline() if str(file) == "-" else file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise DiscreetError(f"{file}: cannot be read; give a file whose first line is the passphrase") from None
        return text.partition("\n")[0].rstrip("\r")
    if not ask:
        return None
    import getpass

    return getpass.getpass("Passphrase: ")
