"""`discreet token`: who may write a person's readings, and who may read which view."""

from __future__ import annotations

import datetime as dt
import re
import time
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.gateway_files import Config, Data, folder_at, settings_at
from discreet.cli.serve import check_installed
from discreet.cli.terminal import print_json, table
from discreet.errors import DiscreetError, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.gateway.auth.tokens import Access

SENT = {
    "source": "Sent as: Authorization: Bearer SECRET\n"
    "In OwnTracks (mode HTTP): the address ends in /pub, any user name, and this is the password.",
    "application": "Sent as: Authorization: Bearer SECRET, to .../v1/people/{person}/now, releases or stream.",
    "owner": "Sent as: Authorization: Bearer SECRET",
}

token = typer.Typer(
    name="token",
    help="Make, list and revoke the tokens of sources and applications; the gateway may be running.\n\n"
    "Each takes --json. Example: discreet token add application family --person jane --view family",
    no_args_is_help=True,
)


@token.command()
def add(
    purpose: Annotated[
        str,
        typer.Argument(help="What it is for: source (writes readings), application (reads), or owner (everything)."),
    ],
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="A name for the list. The name of an application in the settings also determines person and view.",
        ),
    ] = "",
    person: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose readings it writes, or outputs it reads.")
    ] = None,
    view: Annotated[str | None, typer.Option(metavar="NAME", help="The application's view.")] = None,
    now_only: Annotated[bool, typer.Option("--now-only", help="Only the present, no history.")] = False,
    expires: Annotated[str | None, typer.Option(metavar="TIME", help="How long it is valid: 90d, 12h.")] = None,
    data: Data = None,
    config: Config = None,
    json: options.Json = False,
) -> None:
    """Make a token. Its secret is shown once, and stored nowhere.

    Example: discreet token add application family --person jane --view family
    """
    check_installed()
    from discreet.gateway.auth.tokens import Access
    from discreet.gateway.config.views import WHOLE
    from discreet.gateway.store.folder import Folder

    if purpose not in ("source", "application", "owner"):
        raise DiscreetError(f"a token is for a source, an application or an owner, not {purpose!r}")
    settings = settings_at(config)
    if settings is not None:
        listed = settings.applications.get(name) if purpose == "application" else None
        if listed is not None:
            person, view, now_only = person or listed.person, view or listed.view, now_only or listed.now_only
        for what, given, known in (
            ("--person", person, settings.people.keys()),
            ("--view", view, {WHOLE, *settings.views}),
        ):
            if given is not None and given not in known:
                raise DiscreetError(f"{what} {given!r} is not in {settings.file}; {did_you_mean(given, known)}")
        if person is None and purpose != "owner":
            names = " or ".join(f"--person {one}" for one in settings.people)
            raise DiscreetError(f"whose is it? A source and an application are of one person: give {names}")
    access = Access(Folder.made(folder_at(data, config, settings)).access)
    try:
        made, secret = access.add(
            purpose,  # type: ignore[arg-type]  # it is one of the three
            person,
            view=view or WHOLE,
            now_only=now_only,
            name=name,
            expires=_expires(expires),
        )
    finally:
        access.close()
    if json:
        print_json({"token": made, "secret": secret})
        return
    sent = SENT[purpose].format(person=person)
    print(f"token {made}; its secret, shown only now:\n\n  {secret}\n\n{sent}")


@token.command("list")
def list_(data: Data = None, config: Config = None, json: options.Json = False) -> None:
    """List the tokens with their purpose, and the hour in which each was last used."""
    check_installed()
    from discreet.gateway.owner.http import described

    access = _existing(data, config)
    found = access.list()
    access.close()
    if json:
        print_json({"tokens": [described(one) for one in found]})
        return
    rows = [
        [
            one.grant.token,
            one.name,
            one.grant.purpose,
            one.grant.person or "",
            one.grant.view + (", now only" if one.grant.now_only else "") if one.grant.purpose == "application" else "",
            _when(one.used) or "never",
            "revoked" if one.revoked is not None else _when(one.expires),
        ]
        for one in found
    ]
    print(table(["token", "name", "purpose", "person", "view", "used", "ends"], rows, left=7))


@token.command()
def revoke(
    token: Annotated[str, typer.Argument(help="The token's name, as the list has it.")],
    data: Data = None,
    config: Config = None,
    json: options.Json = False,
) -> None:
    """End a token at once: a running gateway refuses it and closes its streams within a second."""
    check_installed()
    access = _existing(data, config)
    done = access.revoke(token)
    access.close()
    if not done:
        raise DiscreetError(f"there is no token {token!r} that holds; see discreet token list")
    if json:
        print_json({"token": token, "revoked": True})
    else:
        print(f"{token} is revoked")


def _existing(data: Path | None, config: Path | None) -> Access:
    """The tokens of a gateway that has some."""
    from discreet.gateway.auth.tokens import Access
    from discreet.gateway.store.folder import Folder

    settings = None if data is not None else settings_at(config)
    return Access(Folder.existing(folder_at(data, config, settings)).access)


def _expires(given: str | None) -> float | None:
    if given is None:
        return None
    match = re.fullmatch(r"(\d{1,5})([dh])", given.strip())
    if match is None or int(match[1]) == 0:
        raise DiscreetError(f"--expires {given!r}: write a time such as 90d or 12h")
    return time.time() + int(match[1]) * (86400 if match[2] == "d" else 3600)


def _when(seconds: int | None) -> str:
    return "" if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%d %H:%MZ")
