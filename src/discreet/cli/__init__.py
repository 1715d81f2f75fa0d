"""The command `discreet`: one file a verb, and one place where errors become a line and an exit code.

Nothing heavier than typer is imported here, so that `--help` answers at once; each verb imports what it needs when run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol, TextIO, runtime_checkable

import typer

from discreet.cli.attack import attack
from discreet.cli.audit import audit
from discreet.cli.backup import backup, restore
from discreet.cli.compare import compare
from discreet.cli.compiling import batch, in_own_process
from discreet.cli.demo import demo
from discreet.cli.deploy import deploy
from discreet.cli.evaluate import evaluate
from discreet.cli.examples import examples
from discreet.cli.export import export
from discreet.cli.forget import forget
from discreet.cli.import_ import import_
from discreet.cli.inputs import in_options
from discreet.cli.journal import journal
from discreet.cli.learn import learn
from discreet.cli.mechanisms import mechanisms
from discreet.cli.owner import owner
from discreet.cli.places import places
from discreet.cli.policy import policy
from discreet.cli.policy_hold import hold_policy as hold_policy  # registers itself on `policy`
from discreet.cli.publish import publish
from discreet.cli.release import release
from discreet.cli.reproduce import reproduce
from discreet.cli.serve import serve
from discreet.cli.setup import setup
from discreet.cli.stream import stream
from discreet.cli.terminal import notes_due
from discreet.cli.token import token
from discreet.cli.verify import verify
from discreet.cli.warm import warm
from discreet.errors import DiscreetError

OK, NO, BAD_USE = 0, 1, 2
INTERRUPTED, PIPE_CLOSED = 130, 141
"""What a shell says of a program that ended by SIGINT or SIGPIPE."""

DEBUG = "DISCREET_DEBUG"

app = typer.Typer(
    name="discreet",
    help=(
        "Release a person's places and activities so that nobody who knows their habits learns the secrets among them."
    ),
    epilog=(
        "Start with: discreet demo. To get files for the other commands: discreet examples. Exit status: 0 success, "
        "1 the answer is no, 2 wrong usage."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(examples)
app.command()(setup)
app.command("import")(import_)
for verb in (
    places,
    learn,
    mechanisms,
    warm,
    batch(release),
    batch(audit),
    batch(export),
    batch(evaluate),
    batch(compare),
    batch(attack),
    batch(publish, everything=True),
    verify,
    stream,
    serve,
    deploy,
    backup,
    restore,
    forget,
):
    app.command()(verb)
app.add_typer(policy)
app.add_typer(token)
app.add_typer(owner)
app.add_typer(journal)
app.add_typer(reproduce)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Show the version and exit.", is_eager=True),
) -> None:
    if version:
        from discreet import __version__

        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@runtime_checkable
class _UsageError(Protocol):
    """What typer raises for a wrong option, whichever click it brings along."""

    exit_code: int
    ctx: Any

    def format_message(self) -> str: ...


def main() -> None:
    """Run the command with the process's arguments and leave with its exit code."""
    for file in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure: Callable[..., None] | None = getattr(file, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # a character that the terminal lacks is no reason to stop
    in_own_process()
    sys.exit(run(sys.argv[1:]))


@cache
def whole_command() -> Any:
    """The command with all its verbs, made once a process: typer takes a tenth of a second to read their signatures."""
    return typer.main.get_command(app)


def run(arguments: Sequence[str]) -> int:
    """The exit code of the command with these arguments."""
    notes_due(drop=True)
    try:
        given = list(arguments)  # in the order that they came in, for the manifest of publish
        code = whole_command().main(given, prog_name="discreet", standalone_mode=False, obj=tuple(arguments))
        sys.stdout.flush()
        notes_due()
        return code if isinstance(code, int) else OK
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _pipe_closed()
    except SystemExit as leaving:  # typer leaves by itself when a pipe is closed
        return _pipe_closed() if leaving.code else OK
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> int:
    """One line for what users can mend; anything else is our fault and keeps its traceback."""
    if os.environ.get(DEBUG):
        raise error
    if isinstance(error, _UsageError):
        message = error.format_message()
        if not message:  # no arguments at all: typer has shown the help
            return error.exit_code
        verb = error.ctx.command_path if error.ctx is not None else "discreet"
        return _say(f"{message.rstrip('.')}; see {verb} --help", sys.stderr)
    if isinstance(error, DiscreetError):
        return _say(in_options(str(error)), sys.stderr)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return _say(f"{where}{error.strerror or error}", sys.stderr)
    if isinstance(error, MemoryError):
        return _say("out of memory; use fewer slots or contexts", sys.stderr)
    raise error


def _say(message: str, stream: TextIO) -> int:
    line = " ".join(message.split())
    print(f"discreet: error: {line}", file=stream)
    return BAD_USE


def _pipe_closed() -> int:
    """The reader has gone: say nothing, and keep Python from flushing into the pipe at its end."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  lives as long as the process
    return PIPE_CLOSED
