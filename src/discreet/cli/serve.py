"""`discreet serve`: the gateway between a person's phone and everything else."""

from __future__ import annotations

import logging
import os
import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.gateway_files import CONFIG, folder_at
from discreet.cli.terminal import busy, note, print_json
from discreet.errors import DiscreetError
from discreet.given import counted

if TYPE_CHECKING:
    from discreet.gateway.app import PreparedGateway
    from discreet.gateway.config.settings import Settings
    from discreet.gateway.setup.supervisor import Supervisor

RESTORED = "A restored backup"

EVERYWHERE = ("0.0.0.0", "::")
"""Addresses to listen at that nobody is reached by."""

NEEDED = ("starlette", "uvicorn", "argon2", "orjson")


def serve(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder of its files, made if need be.",
            show_default="as the settings say, or discreet-data beside them",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The settings, as discreet setup writes them (docs/settings.md).",
            show_default="discreet.toml",
        ),
    ] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Another port than the settings say.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Check the settings and what they name, and exit.")] = False,
    complete: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="After a restored backup: the events that applications received since, a JSON object a line.",
            rich_help_panel=RESTORED,
        ),
    ] = None,
    new_stream: Annotated[
        bool,
        typer.Option(
            "--new-stream",
            help="Begin a new stream where the old one cannot continue. This ends the old promise, in public.",
            rich_help_panel=RESTORED,
        ),
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve a simulated person whose days pass quickly, in a temporary folder.")
    ] = False,
    supervisor: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Run as an app of Home Assistant: its Supervisor, such as http://supervisor. The token is taken from "
            "SUPERVISOR_TOKEN.",
        ),
    ] = None,
    template: Annotated[
        bool, typer.Option("--template", help="Print settings with every key as a comment, and exit.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Run the gateway between a phone and applications. It decides each slot once and sends everybody the same output.

    It listens at 127.0.0.1 unless the settings say otherwise. Tokens are made with discreet token. Stop it with Ctrl-C;
    it continues when it is started again. --json prints what --check finds.

    Without settings, its page guides you: bring your history, check your places, choose your secrets.

    Example: discreet serve --demo
    """
    check_installed()
    if template:
        from discreet.gateway.config.reference import template as text

        print(text(), end="")
        return
    if demo:
        _demo(port)
        return
    file = config or CONFIG
    if check or complete is not None or new_stream:
        _check_there(file)
    from discreet.gateway.app import PreparedGateway, checked, plan_of
    from discreet.gateway.config.settings import Settings
    from discreet.gateway.demo import at_port
    from discreet.gateway.server import listening
    from discreet.gateway.slots.wall_clock import waited_for
    from discreet.gateway.store.folder import Folder

    house = None if supervisor is None else _house(supervisor, file)
    settings = Settings.read(file, nobody=not check) if file.exists() else Settings.of_nobody(file)
    with busy("reading habits, and making what decides"):
        plan = plan_of(settings)
        if check:
            checked(plan.people)
    for line in settings.warnings:
        note(line)
    if check:
        _print_found(settings, json=json)
        return
    from dataclasses import replace

    plan = replace(plan, server=at_port(plan.server, port))
    waited_for(plan.wall, note)
    bound = listening(plan.server.host, plan.server.port)
    folder = Folder.made(folder_at(data, config, settings))
    file.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as undone, busy("opening the files, and making what decides"):
        undone.callback(bound.close)
        served = PreparedGateway(
            plan, folder, complete=complete, new_stream=new_stream, settings=settings, supervisor=house
        )
        undone.pop_all()
    for line in served.notes:
        note(line)
    _run(served, bound, _first_words(served))


def _house(url: str, file: Path) -> Supervisor:
    """Home Assistant's Supervisor, once the settings have what it says."""
    from discreet.gateway.setup.supervisor import Supervisor

    house = Supervisor.at(url, os.environ.pop("SUPERVISOR_TOKEN", None))
    if not house.prepare(file):
        note("Home Assistant has no broker yet: install the app Mosquitto broker, then start discreet again")
    return house


def _check_there(config: Path) -> None:
    """Say what comes first to somebody who has no settings yet; before anything heavy is imported."""
    if not config.exists():
        raise DiscreetError(
            f"{config}: there is no such file. Make it from your history with: discreet setup HISTORY (then go to its "
            "folder, or give --config FILE); or try a simulated person first: discreet serve --demo"
        )


def _print_found(settings: Settings, *, json: bool) -> None:
    found = {
        "people": len(settings.people),
        "views": len(settings.views),
        "applications": len(settings.applications),
        "owntracks": len(settings.owntracks),
        "home_assistant": len(settings.home_assistant),
        "told_to_the_broker": len(settings.broker.tells) if settings.broker else 0,
    }
    if json:
        print_json({"config": str(settings.file), **found})
        return
    kinds = {
        "people": ("person", "people"),
        "views": ("view", "views"),
        "applications": ("application", "applications"),
    }
    said = ", ".join(
        counted(count, *kinds.get(what, (what.replace("_", " "),) * 2)) for what, count in found.items() if count
    )
    print(f"{settings.file}: in order: {said}")


def check_installed() -> None:
    """Say how to install what the gateway needs."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise DiscreetError(f"the gateway needs {', '.join(missing)}; install it with: pip install 'discreet[gateway]'")


def _demo(port: int | None) -> None:
    from discreet.gateway.config.sections import Server
    from discreet.gateway.demo import NAME, GatewayDemo, at_port
    from discreet.gateway.server import listening

    server = at_port(Server(), port)
    bound = listening(server.host, server.port)
    with tempfile.TemporaryDirectory(prefix="discreet-demo-") as folder:
        with busy("simulating a person, and learning their habits"):
            demo = GatewayDemo(Path(folder), server)
        address = f"http://{server.host}:{server.port}"
        words = (
            f"A simulated person; half an hour passes in two seconds. Open {address}/\n"
            f"To read what an application reads:\n"
            f"  curl -N -H 'Authorization: Bearer {demo.application}' {address}/v1/people/{NAME}/stream\n"
            f"The owner's page is at {address}/page; the token for the first password: {demo.served.owner.first}\n"
            "Stop it with Ctrl-C; nothing is kept."
        )
        _run(demo.served, bound, words)


def _first_words(served: PreparedGateway) -> str:
    at = served.plan.server
    host = (*at.hosts, "localhost")[0] if at.host in EVERYWHERE else f"[{at.host}]" if ":" in at.host else at.host
    address = f"{'https' if at.secure else 'http'}://{host}:{at.port}"
    count = len(served.plan.people)
    if not count:
        return _words_for_nobody(served, address)
    words = f"discreet serves {count} {'person' if count == 1 else 'people'} at {address}; the routes: {address}/docs"
    if served.owner.first is not None:
        words += (
            f"\nIt has no owner yet. Set the owner's password (10 letters or more) at {address}/ or by this line. The "
            "token in it works once:\n"
            f"  curl {address}/v1/owner/first -H 'Content-Type: application/json' \\\n"
            f'    -d \'{{"token": "{served.owner.first}", "password": "..."}}\''
        )
    if not any(one.grant.purpose == "source" for one in served.access.list()) and served.plan.broker is None:
        words += (
            "\nNo source has a token yet. In another terminal, in this folder:\n"
            "  discreet token add source phone --person NAME\n"
            "  discreet token add application family --person NAME"
        )
    return words


def _words_for_nobody(served: PreparedGateway, address: str) -> str:
    if served.owner.first is None:
        return f"Nobody is served yet. Continue at {address}/ with the owner's password."
    return (
        f"Nobody is served yet. Open {address}/ and enter this token, which works once:\n"
        f"  {served.owner.first}\n"
        "The page leads from your history to a running gateway. To do the same in a terminal: discreet setup HISTORY. "
        "To try a simulated person first: discreet serve --demo"
    )


def _run(served: PreparedGateway, bound: object, words: str) -> None:
    import socket

    from discreet.gateway.logs import set_up
    from discreet.gateway.server import run

    assert isinstance(bound, socket.socket)
    set_up(level=logging.INFO)
    if not run(served, bound, lambda: print(words, flush=True)):
        raise DiscreetError("the gateway could not start; what went wrong is in the log above")
