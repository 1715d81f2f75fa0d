"""`discreet owner`: the password of the gateway's page."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.gateway_files import Config, Data, folder_at, settings_at
from discreet.cli.serve import check_installed
from discreet.cli.terminal import print_json
from discreet.errors import DiscreetError

owner = typer.Typer(
    name="owner",
    help="The owner's password, for who has forgotten it; the gateway may be running.\n\n"
    "Example: discreet owner password",
    no_args_is_help=True,
)


@owner.callback()
def _owner() -> None:
    """A group, although it has one verb."""


@owner.command()
def password(
    given: Annotated[
        bool, typer.Option("--stdin", help="Read the password from the first line of stdin instead of asking for it.")
    ] = False,
    data: Data = None,
    config: Config = None,
    json: options.Json = False,
) -> None:
    """Set the owner's password. Every session ends within a second; tokens stay as they are.

    Example: discreet owner password
    """
    check_installed()
    from argon2 import PasswordHasher

    from discreet.gateway.auth.passwords import check
    from discreet.gateway.auth.tokens import Access
    from discreet.gateway.store.folder import Folder

    settings = None if data is not None else settings_at(config)
    folder = Folder.existing(folder_at(data, config, settings))
    new = _read(given)
    check(new)
    access = Access(folder.access)
    try:
        access.set_password(PasswordHasher().hash(new))
    finally:
        access.close()
    if json:
        print_json({"password": "set"})
    else:
        print("the password is set; whoever was logged in has to log in again")


def _read(given: bool) -> str:
    if given:
        return sys.stdin.readline().rstrip("\r\n")
    import getpass

    first = getpass.getpass("New password: ")
    if first != getpass.getpass("Again: "):
        raise DiscreetError("the two are not the same; nothing was changed")
    return first
