"""Work on each person of a table, by this process, by several, or by Spark: the same answers, in the same order."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stderr
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from discreet.errors import DiscreetError
from discreet.listener import NOBODY, Listener

if TYPE_CHECKING:
    from discreet.contexts import Day
    from discreet.publish.engines.spark.readings import ReadingTable
    from discreet.publish.engines.spark.work import Read, WorkAnswers

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def each_person(work: Callable[[Item], Answer], people: Iterable[Item], workers: int) -> Generator[Answer, None, None]:
    """What comes of each person. `work` is a function of a module, or a `partial` of one, where there are several.

    What a process says on stderr is said when its person's turn comes, so that it stands where it would.
    """
    from discreet.publish.engines.pool import checked_workers, in_order

    checked_workers(workers)
    if workers == 1:
        yield from map(work, people)
        return
    with closing(in_order(_quietly, people, workers, prepare=_prepare, given=(work, list(sys.path)))) as answers:
        for said, answer in answers:
            sys.stderr.write(said)
            yield cast(Answer, answer)


def on_all_cores(work: Callable[[Item], Answer], items: Sequence[Item]) -> Iterator[Answer]:
    """What comes of each item, by as many processes as there are cores for them: fewer, longer items than people."""
    return each_person(work, items, min(len(items), cores()))


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_work: Callable[[object], object]


def _prepare(work: Callable[[object], object], path: list[str]) -> None:
    """What a process does for everybody; it looks for classes of one's own where this one does."""
    global _work
    _work = work
    sys.path += [folder for folder in path if folder not in sys.path]


def _quietly(person: object) -> tuple[str, object]:
    return heard(_work, person)


def heard(work: Callable[[Item], Answer], person: Item) -> tuple[str, Answer]:
    """What is said on stderr of a person, and what comes of them."""
    with redirect_stderr(io.StringIO()) as said:
        answer = work(person)
    return said.getvalue(), answer


# --- Spark


def check_engine(engine: str, workers: int, master: str | None, **of_local: object) -> None:
    """Refuse options that do not go together, and Spark where it cannot be started, before anything is done."""
    from discreet.publish.engines.spark.session import missing

    if engine != "spark":
        if master is not None:
            raise DiscreetError("--master is of --engine spark; give both, or neither")
        return
    if workers > 1:
        raise DiscreetError("--workers is of --engine local; Spark's cores are those of --master, such as local[2]")
    for name, value in of_local.items():
        if value:
            raise DiscreetError(
                f"--{name.replace('_', '-')} is of --engine local; give it there, with --person for one of many people"
            )
    lacks = missing()
    if lacks is not None:
        raise DiscreetError(lacks)


class BySpark:
    """What came of everybody, kept on disk; what was said of a person is said when they are first gone through."""

    def __init__(self, answers: WorkAnswers) -> None:
        self._answers = answers
        self._said = False

    @property
    def read(self) -> Read:
        """What was read."""
        return self._answers.read

    def names(self) -> Iterator[str]:
        """Of all people, in order."""
        return self._answers.names()

    def __len__(self) -> int:
        return len(self._answers)

    def __contains__(self, one: object) -> bool:
        return any(own == one for own in self)

    def __iter__(self) -> Iterator[Any]:
        for said, answer in self._answers:
            if not self._said:
                sys.stderr.write(said)
            yield answer
        self._said = True


@contextmanager
def by_spark(
    work: Callable[[tuple[str, list[Day]]], object],
    table: ReadingTable,
    folder: Path,
    master: str | None,
    *,
    by: Literal["person", "place"] = "person",
    only: str | None = None,
    listener: Listener = NOBODY,
) -> Iterator[BySpark]:
    """What comes of each person of a table by Spark, which is started and stopped."""
    from discreet.publish.engines.spark.errors import told_plainly
    from discreet.publish.engines.spark.session import running
    from discreet.publish.engines.spark.work import work_on

    with told_plainly(), running(master) as session:
        with listener.progress("people are worked on by Spark"):
            answers = work_on(session, table, partial(heard, work), folder, by=by, only=only)
        yield BySpark(answers)
