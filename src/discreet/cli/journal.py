"""`discreet journal`: looks at what was decided."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.backup import Postgres
from discreet.cli.gateway_files import CONFIG, Config, Data, folder_at, journal_at, settings_at
from discreet.cli.terminal import print_json, table

if TYPE_CHECKING:
    from discreet.gateway.store.journal import Journal

journal = typer.Typer(name="journal", help="Inspect what the gateway decided.", no_args_is_help=True)


@journal.callback()
def _journal() -> None:
    """Inspect what the gateway decided, and where it is stored."""


@journal.command()
def verify(data: Data = None, config: Config = None, postgres: Postgres = None, json: options.Json = False) -> None:
    """Check that every row is as it was written, by a chain of HMACs with the owner's key for each person.

    It finds rows that were altered, inserted, or removed from the middle. It does not find that rows are missing at the
    end; applications know what was published last.

    Example: discreet journal verify --data discreet-data
    """
    from discreet.gateway.store.folder import known_key
    from discreet.gateway.store.journal.base import broken_link

    folder, url = journal_at(data, config, postgres)
    key = known_key(folder)
    found = []
    with closing(_opened(folder, url)) as rows:
        for person in rows.people():
            broken, last = broken_link(rows.all_rows(person), key), rows.last(person)
            found.append(
                {
                    "person": person,
                    "streams": len(rows.heads(person)),
                    "last": None if last is None else f"{last.date} slot {last.slot}",
                    "broken": None if broken is None else f"{broken.date} slot {broken.slot}",
                }
            )
    if json:
        print_json({"people": found, "holds": not any(one["broken"] for one in found)})
    else:
        cells = [
            [str(one["person"]), str(one["streams"]), str(one["last"] or "none yet"), _verdict(one)] for one in found
        ]
        print(table(["person", "streams", "last slot", "chain"], cells) if cells else "nothing was decided yet")
    if any(one["broken"] for one in found):
        raise typer.Exit(1)


@journal.command()
def move(
    to: Annotated[str, typer.Option("--to", metavar="URL", help="A PostgreSQL address, or sqlite.")],
    config: Config = None,
) -> None:
    """Move the journal into another database and write that into the settings; the gateway has to be stopped.

    Chains are checked before and after. The old journal is marked, so that no gateway continues from it by
    mistake. If a move is interrupted, run the same command again.

    Example: discreet journal move --to postgresql://me@host/discreet
    """
    from discreet.files import written_whole
    from discreet.gateway.config.archived import journal_at as settings_with
    from discreet.gateway.config.section import Section
    from discreet.gateway.config.sections import JournalAt
    from discreet.gateway.store.folder import Folder
    from discreet.gateway.store.moving import moved

    file = config or CONFIG
    settings = settings_at(file)
    assert settings is not None  # a file that is named is read, or an error
    url = None if to == "sqlite" else JournalAt.read(Section(file, {"url": to}, ("--to",))).url

    def settle(place: str | None) -> None:
        resolved = file.resolve()
        mode = resolved.stat().st_mode & 0o777
        text = settings_with(resolved.read_bytes().decode(), place)
        with written_whole(resolved, private=True) as made:
            made.write(text.encode())
        resolved.chmod(mode)

    folder = Folder.existing(folder_at(None, file, settings))
    people = moved(folder, settings.journal.url, url, settle)
    print(f"the journal of {', '.join(people) or 'nobody yet'} is in {'SQLite' if url is None else 'PostgreSQL'} now")


def _verdict(one: dict[str, object]) -> str:
    return "holds" if one["broken"] is None else f"BROKEN at {one['broken']}"


def _opened(data: Path, postgres: str | None) -> Journal:
    if postgres is None:
        from discreet.gateway.store.journal import SqliteJournal

        return SqliteJournal(data / "journal.db", look=True)
    from discreet.gateway.store.journal.postgres import PostgresJournal

    return PostgresJournal(postgres, look=True)
