"""`discreet backup`: a copy of the gateway's data, while it runs."""

from __future__ import annotations

import datetime as dt
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.gateway_files import Config, Data, journal_at
from discreet.cli.terminal import note

Postgres = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Where the journal is, if it is in PostgreSQL: postgresql://host/database.",
        show_default="as the settings say",
    ),
]


def backup(
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE_OR_DIR", help="A new folder, or a new .tar, .tar.gz or .tgz archive."),
    ],
    data: Data = None,
    config: Config = None,
    own: Annotated[
        bool, typer.Option("--own/--no-own", help="With the own store: readings, and the truth of past days.")
    ] = True,
    postgres: Postgres = None,
) -> None:
    """Copy the gateway's data while it runs: journal, own store, tokens and the owner's key.

    The copy is as private as the folder itself. A gateway that is started from it has to be told what became of the
    slots since: discreet serve --complete FILE, or --new-stream, which breaks the promise in public.

    Example: discreet backup --out backup-monday.tar.gz
    """
    from discreet.gateway.store.backup import back_up

    folder, url = journal_at(data, config, postgres)
    opened = None
    if url is not None:
        from discreet.gateway.store.journal.postgres import PostgresJournal

        opened = partial(PostgresJournal, url, look=True)
    names = back_up(folder, out, dt.datetime.now(dt.UTC), own=own, journal=opened)
    print(f"{out}: {', '.join(names)}")
    if not own:
        note("without the own store: a gateway that goes on from this copy has lost its memory, and skips a slot")
