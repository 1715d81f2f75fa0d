"""`discreet owner`: the password of the gateway's page, and accounts of people."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.gateway_files import Config, Data, folder_at, settings_at
from discreet.cli.serve import check_installed
from discreet.cli.terminal import print_json
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.gateway.auth.tokens import Access

owner = typer.Typer(
    name="owner",
    help="Reset the owner's password, and manage people's accounts; the gateway may be running.\n\n"
    "Example: discreet owner password",
    no_args_is_help=True,
)


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

    with _access(data, config) as access:
        new = _read(given)
        check(new)
        access.set_password(PasswordHasher().hash(new))
    if json:
        print_json({"password": "set"})
    else:
        print("the password is set; whoever was logged in has to log in again")


@owner.command()
def accounts(data: Data = None, config: Config = None, json: options.Json = False) -> None:
    """List who has an account, or an invitation that was not accepted.

    Example: discreet owner accounts
    """
    with _access(data, config) as access:
        found = access.accounts.known()
    if json:
        print_json({"accounts": [asdict(one) for one in found]})
        return
    for one in found:
        print(
            f"{one.person}: {'open' if one.open else 'invited' if one.until is not None else 'the invitation is over'}"
        )
    if not found:
        print("nobody has an account: the owner's password opens everybody's page")


@owner.command()
def invite(
    person: Annotated[str, typer.Argument(help="The person, by their name in the settings.")],
    data: Data = None,
    config: Config = None,
    json: options.Json = False,
) -> None:
    """Invite a person to an account of their own. It holds for a week, works once, and is shown once.

    The person opens the gateway's page with it, as /#invited/..., and sets a password. From then on only the
    person sees their true days. If you invite somebody again, for example after a lost password, the account starts
    without the stored past.

    Example: discreet owner invite jane
    """
    settings = settings_at(config)
    if settings is not None and person not in settings.people:
        raise DiscreetError(f"{settings.file}: there is no {person!r} in [people]; invite somebody who is served")
    with _access(data, config) as access:
        secret = access.accounts.invite(person)
    if json:
        print_json({"person": person, "invitation": secret})
    else:
        print(f"open the gateway's page with this behind its address, once, within a week:\n#invited/{secret}")


@owner.command()
def remove(
    person: Annotated[str, typer.Argument(help="Whose account.")],
    data: Data = None,
    config: Config = None,
    json: options.Json = False,
) -> None:
    """Remove an account. The person's stored past is erased before anybody else can see it.

    A running gateway erases it within a second; otherwise the next start does. Applications keep their tokens.

    Example: discreet owner remove jane
    """
    with _access(data, config) as access:
        if not access.accounts.remove(person):
            raise DiscreetError(f"{person!r} has no account; see discreet owner accounts")
    if json:
        print_json({"person": person, "removed": True})
    else:
        print(f"{person} has no account any more; what was true is erased before the owner sees to {person}")


@contextmanager
def _access(data: Path | None, config: Path | None) -> Iterator[Access]:
    """Tokens and accounts of a gateway that is there."""
    check_installed()
    from discreet.gateway.auth.tokens import Access
    from discreet.gateway.store.folder import Folder

    settings = None if data is not None else settings_at(config)
    access = Access(Folder.existing(folder_at(data, config, settings)).access)
    try:
        yield access
    finally:
        access.close()


def _read(given: bool) -> str:
    if given:
        return sys.stdin.readline().rstrip("\r\n")
    import getpass

    first = getpass.getpass("New password: ")
    if first != getpass.getpass("Again: "):
        raise DiscreetError("the two are not the same; nothing was changed")
    return first
