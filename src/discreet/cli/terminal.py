"""What goes to the terminal: JSON or plain tables on stdout, progress on stderr where somebody watches."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from discreet.listener import Listener, Progress


def print_json(document: Mapping[str, object]) -> None:
    """One JSON document on stdout; numbers that JSON does not have become null."""
    print(_text(document))


def print_json_of_many(document: Mapping[str, object], name: str, items: Iterable[Mapping[str, object]]) -> None:
    """The same document with these items as its list `name`, which stands empty in it; they are held one at a time."""
    place = f'\n  "{name}": ['
    before, _, after = _text(document).partition(place)
    print(before + place, end="")
    parted = ""
    for item in items:
        print(parted + "\n" + "    " + _text(item).replace("\n", "\n    "), end="")
        parted = ","
    print(("\n  " if parted else "") + after)


def _text(document: Mapping[str, object]) -> str:
    return json.dumps(_finite(document), ensure_ascii=False, indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def printable(text: str) -> str:
    """A text with its control characters as escapes, so that a terminal shows them instead of obeying."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Lines of aligned columns, the first `left` of them to the left and the others to the right.

    A cell may be a name that somebody else has given: what would move the cursor or colour the terminal is spelled out.
    """
    header, rows = [printable(cell) for cell in header], [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    return "\n".join(table_line(row, widths, left=left) for row in [header, *rows])


def table_line(row: Sequence[str], widths: Sequence[int], *, left: int = 1) -> str:
    """One line of a table whose widths are known before its rows: each can be shown as soon as it is."""
    cells = [
        printable(cell).ljust(width) if k < left else printable(cell).rjust(width)
        for k, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def percent(share: float) -> str:
    """A probability in words: 97 %, 0.4 %, over 99.9 %."""
    if not math.isfinite(share):
        return "unknown"
    if 0.9995 <= share < 1:
        return "over 99.9 %"
    if 0 < share < 0.0005:
        return "under 0.1 %"
    shown = f"{100 * share:.1f}" if abs(share) < 0.1 or 0.99 < share < 1 else f"{100 * share:.0f}"
    return f"{shown.removesuffix('.0')} %"


def note(message: str) -> None:
    """A line for whoever runs the command; never on stdout."""
    print(f"discreet: {message}", file=sys.stderr)


_later: list[str] = []


def note_later(message: str) -> None:
    """The same when the command has done its work: an error is one line, and stands alone."""
    _later.append(message)


def notes_due(*, drop: bool = False) -> None:
    """Say, or forget, what was kept for the end."""
    for message in [] if drop else list(dict.fromkeys(_later)):
        note(message)
    _later.clear()


Stages = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is, and how much there is of it."""


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """A progress bar on stderr while the block runs, if stderr is a terminal."""
    with stages(what) as report:
        yield lambda done, total: report("", done, total)


@contextmanager
def stages(what: str) -> Iterator[Stages]:
    """The same for work of several stages, each of which fills the bar anew and is named beside it."""
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich import progress as bars
    from rich.console import Console

    console = Console(stderr=True)
    parts = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.TextColumn("{task.percentage:>3.0f} %"),
        bars.TimeRemainingColumn(),
    )
    above = sys.stdout.isatty()  # else what is printed meanwhile would go to the terminal and not where it should
    with bars.Progress(*parts, console=console, transient=True, redirect_stdout=above) as bar:
        task = bar.add_task(what, total=None)

        def report(stage: str, done: int, total: int) -> None:
            bar.update(task, description=what + (f": {stage}" if stage else ""), completed=done, total=total)

        yield report


@contextmanager
def busy(what: str) -> Iterator[None]:
    """The same for work whose length is not known."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


TERMINAL = Listener(note, note_later, progress)
"""Whoever runs the command."""
