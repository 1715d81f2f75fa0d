"""Work on each person of a file, by this process or by several: the same answers, in the order of the people."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, redirect_stderr
from typing import Annotated, TypeVar, cast

import typer

Item = TypeVar("Item")
Answer = TypeVar("Answer")

Workers = Annotated[
    int, typer.Option(metavar="N", help="Processes that people are worked on by; what comes of it is the same.")
]


def each_person(work: Callable[[Item], Answer], people: Iterable[Item], workers: int) -> Generator[Answer, None, None]:
    """What comes of each person. `work` is a function of a module, or a `partial` of one, where there are several.

    What a process says on stderr is said when its person's turn comes, so that it stands where it would.
    """
    from discreet.publish.pool import checked_workers, in_order

    checked_workers(workers)
    if workers == 1:
        yield from map(work, people)
        return
    with closing(in_order(_quietly, people, workers, prepare=_prepare, given=(work, list(sys.path)))) as answers:
        for said, answer in answers:
            sys.stderr.write(said)
            yield cast(Answer, answer)


_work: Callable[[object], object]


def _prepare(work: Callable[[object], object], path: list[str]) -> None:
    """What a process does for everybody; it looks for classes of one's own where this one does."""
    global _work
    _work = work
    sys.path += [folder for folder in path if folder not in sys.path]


def _quietly(person: object) -> tuple[str, object]:
    with redirect_stderr(io.StringIO()) as said:
        answer = _work(person)
    return said.getvalue(), answer
