"""`discreet setup`: from a history to settings, question by question; every question has an option."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import options
from discreet.cli.setup import questions
from discreet.cli.terminal import print_json
from discreet.cli.truth import AcceptModel
from discreet.errors import DiscreetError

ANSWERS = "Answers to the questions"

STAGING = ".setup."
"""How the private working folder of a run begins; the number of its process follows."""


def setup(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(metavar="SOURCE", help="Your history: files, folders and zip archives, as for import."),
    ] = None,
    folder: Annotated[Path, typer.Option("--dir", metavar="FOLDER", help="Where the files go.")] = Path("."),
    person: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Your name in the settings.",
            show_default="as the source says, or me",
            rich_help_panel=ANSWERS,
        ),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE",
            help="Your time zone, such as Europe/Paris.",
            show_default="where your nights were",
            rich_help_panel=ANSWERS,
        ),
    ] = None,
    keep_places: Annotated[
        bool | None,
        typer.Option(
            "--keep-places/--find-places", help="Use the last map, or find places again.", rich_help_panel=ANSWERS
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="N=NAME", help="Call place N by this name; may be repeated.", rich_help_panel=ANSWERS),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A suggestion or a context that is secret; may be repeated.", rich_help_panel=ANSWERS
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="How much belief in a secret anybody may gain.", rich_help_panel=ANSWERS),
    ] = None,
    odds: Annotated[
        float | None,
        typer.Option(
            min=1,
            help="Also bound the odds: what applications see multiplies anybody's odds of a secret by at most "
            "this factor. It costs much with suppress and little with deceive.",
            show_default="no bound",
            rich_help_panel=ANSWERS,
        ),
    ] = None,
    hold: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="The share of your later days, such as 0.9, that must stay within delta even against somebody "
            "who learned your habits elsewhere. Part of delta is reserved for that (discreet policy hold).",
            show_default="all of delta is spent",
            rich_help_panel=ANSWERS,
        ),
    ] = None,
    vocabulary: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What may be shown instead of the truth: suppress (nothing), deceive (another context), generalize (a "
            "wider place).",
            rich_help_panel=ANSWERS,
        ),
    ] = None,
    accept_model: AcceptModel = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing, and accept the suggestions.", rich_help_panel=ANSWERS)
    ] = False,
    slots: Annotated[int | None, typer.Option(help="Slots a day.", show_default="48")] = None,
    cut: Annotated[
        str | None,
        typer.Option(metavar="HH:MM", help="The time at which one day ends and the next begins.", show_default="00:00"),
    ] = None,
    carry: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long a reading counts when none follows.",
            show_default="4h, or 48h where changes only are recorded",
        ),
    ] = None,
    weeks: Annotated[int, typer.Option(min=2, help="How many weeks to simulate to show what each choice costs.")] = 8,
    json: options.Json = False,
) -> None:
    """Set up a gateway from your history, step by step: readings, places, secrets, what applications see, settings.

    In a terminal it asks. Every question has an option too, for scripts. Run it again at any time: it offers your
    earlier answers. All files are written together, and only you can read them.

    Example: discreet setup takeout.zip --dir home --zone Europe/Paris
    """
    from discreet.cli.setup.steps import Given, numbered_names
    from discreet.cli.setup.walk import SetupWalk
    from discreet.files import private_files

    given = Given(
        sources=sources or (),
        person=person,
        zone=zone,
        slots=slots,
        cut=cut,
        carry=carry,
        keep_places=keep_places,
        names=numbered_names(name),
        secrets=secret or (),
        delta=delta,
        odds=odds,
        hold=hold,
        vocabulary=vocabulary,
        accept_model=accept_model,
        weeks=weeks,
    )
    asker = questions.Asker(asks=questions.somebody_there() and not json, yes=yes)
    if asker.asks:
        questions.edit_lines()
    with private_files(), _staged(folder) as staging:
        document = SetupWalk(asker, given, folder, staging, quiet=json).through()
    if json:
        print_json(document)


@contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """A folder within the folder, to be filled before anything is moved to its place; gone at the end."""
    new = not folder.exists()
    with _ended_gently():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _tidy(folder)
            staging = Path(tempfile.mkdtemp(prefix=f"{STAGING}{os.getpid()}.", dir=folder))
        except OSError as error:
            raise DiscreetError(f"{folder}: cannot be written to: {error.strerror}; give another --dir") from None
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            if new and not any(folder.iterdir()):
                folder.rmdir()


def _tidy(folder: Path) -> None:
    """Take away the private copies of runs that were killed: their folders name processes that are no more."""
    for left in folder.glob(f"{STAGING}*.*"):
        number = left.name.removeprefix(STAGING).partition(".")[0]
        if number.isdecimal() and not _alive(int(number)):
            shutil.rmtree(left, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's, or a system without such signals
        return True
    return True


class _EndedError(BaseException):
    """A signal asked the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def _ended_gently() -> Iterator[None]:
    """Where a terminal is closed, or the process told to end, what is within is left as by an error, and then it ends.

    Otherwise the private copy of a history would stay behind.
    """

    def leave(number: int, frame: object) -> None:
        raise _EndedError(number)

    ending = [one for name in ("SIGHUP", "SIGTERM") if (one := getattr(signal, name, None)) is not None]
    if threading.current_thread() is not threading.main_thread():
        ending = []
    before = {one: signal.getsignal(one) for one in ending}
    ending = [one for one in ending if before[one] is not signal.SIG_IGN]  # nohup
    for one in ending:
        signal.signal(one, leave)
    try:
        yield
    except _EndedError as ended:
        signal.signal(ended.number, signal.SIG_DFL)
        os.kill(os.getpid(), ended.number)
        raise
    finally:
        for one in ending:
            signal.signal(one, before[one])
