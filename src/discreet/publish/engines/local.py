"""Publishing on one machine: some people at a time, in this process or in several, memory bounded by a few people."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from discreet.data.trajectories import trajectories_of as trajectories_in
from discreet.errors import DiscreetError
from discreet.events import Trajectory
from discreet.frames import Rows
from discreet.given import words_for
from discreet.listener import Progress
from discreet.outputs import PartialEvent
from discreet.publish.draws import RunKey
from discreet.publish.engines.pool import checked_workers, in_order
from discreet.publish.mechanism_cache import MOST_BYTES
from discreet.publish.person import given_of
from discreet.publish.plan import Plan
from discreet.publish.report import PersonReport, Report, refuse_twice
from discreet.publish.report_schema import reports_in
from discreet.publish.summary import Summary
from discreet.publish.work import PEOPLE, Done, PublishWork, Work, trajectories_of

if TYPE_CHECKING:
    from discreet.data.published import Row
    from discreet.publish.resume import Unfinished

FIRST_EVENTS = 200
"""Events that a process is sent at once, at first."""

MOST_EVENTS = 20_000
"""And at most: rows and reports of so many events take a few megabytes."""

SECONDS = 0.25
"""What a process is sent is to keep it busy for so long, about: sending costs little beside it, the end finds all of
them at work, and no more is lost where a run is interrupted."""

CHUNK = 1_000
"""People of a list that are made a table at a time."""


def publish(
    plan: Plan,
    trajectories: Iterable[Trajectory] | Rows,
    write: Callable[[Iterable[Row]], object] | None = None,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    workers: int = 1,
    unfinished: Unfinished | None = None,
) -> Report:
    """Hand every row to `write`, people in order of their names, and say what the rows tell.

    Trajectories may also be events in a data frame, an Arrow table, an open file or a path (`read_trajectories`).
    Without `write` the report has the rows as a table, `published`.

    The order in which people come would tell who was first in the data, so it is left behind. `write` takes the rows
    one after another, as they are made: `rows.extend` of a list, or a function that writes a file. Draws come from a
    key of the operating system's entropy (`RunKey`); a seed repeats them and is for experiments. They are the same
    whatever the number of `workers`, which are processes; a script that asks for several has its own work under
    `if __name__ == "__main__":`, because they import it.

    `unfinished` keeps those who are done, and has the key: the run goes on from them.
    """
    _check(plan, write)
    trajectories = trajectories_in(trajectories, "publish")
    people = [trajectory.person for trajectory in trajectories]
    if not people:
        raise DiscreetError("there is nobody to publish; give at least one trajectory")
    refuse_twice(people)
    if plan.people is not None:
        plan.people.check(people)
    order = sorted(range(len(people)), key=people.__getitem__)
    reports: list[PersonReport] = []

    kept: list[pl.DataFrame] = []

    def write_rows(frames: Iterator[pl.DataFrame]) -> None:
        if write is None:
            kept.extend(frames)
            return
        write((person, PartialEvent(*shown)) for frame in frames for person, *shown in frame.iter_rows())

    publish_people(
        plan,
        _frames(trajectories, order),
        len(people),
        write_rows,
        seed=seed,
        progress=progress,
        workers=workers,
        unfinished=unfinished,
        each=reports.append,
    )
    return Report(tuple(reports), pl.concat(kept) if write is None else None)


def _check(plan: object, write: object) -> None:
    """Refuse what is no plan, and what cannot take rows."""
    if not isinstance(plan, Plan):
        raise DiscreetError(
            f"publish: the plan is {words_for(plan)}; make one, Plan.learn(trajectories, policy), and give it first"
        )
    if write is not None and not callable(write):
        raise DiscreetError(
            f"publish: write is {words_for(write)}; give a function of the rows, such as rows.extend of a list, or "
            "nothing, and take report.published"
        )


def publish_people(
    plan: Plan,
    people: Iterable[pl.DataFrame],
    number: int,
    write: Callable[[Iterator[pl.DataFrame]], object],
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    workers: int = 1,
    unfinished: Unfinished | None = None,
    each: Callable[[PersonReport], object] | None = None,
) -> Summary:
    """The same for tables of whole people in order of their names, `number` of them, however many that is.

    `write` takes tables of rows (`work.PEOPLE`), `each` every person's report; what is held of them is the summary.
    """
    checked_workers(workers)
    summary = Summary()

    def rows() -> Generator[pl.DataFrame, None, None]:
        key = _key(seed, unfinished)
        with closing(_done(plan, iter(people), key, workers, unfinished)) as coming:
            for done in coming:
                yield done.rows
                summary.add_shown(done.rows)
                for one in reports_in(done.reports):
                    summary.add(one)
                    if each is not None:
                        each(one)
                if progress is not None:
                    progress(summary.people, number)

    with closing(rows()) as made:
        write(made)
    if summary.people < number:
        raise DiscreetError(f"only {summary.people} of {number} people were written; let `write` take every row")
    return summary


def _key(seed: int | None, unfinished: Unfinished | None) -> RunKey:
    if unfinished is not None:
        if unfinished.key.seed != seed:
            raise DiscreetError(f"the run was started with seed={unfinished.key.seed}; use that seed, not {seed}")
        return unfinished.key
    return RunKey.new() if seed is None else RunKey.of_seed(seed)


def _frames(trajectories: Sequence[Trajectory], order: Sequence[int]) -> Iterator[pl.DataFrame]:
    """People in this order as tables, without the timestamps, which nobody needs."""
    for start in range(0, len(order), CHUNK):
        chosen = [trajectories[place] for place in order[start : start + CHUNK]]
        rows = [(one.person, *event.values) for one in chosen for event in one.events]
        yield pl.DataFrame(rows, schema=PEOPLE, orient="row")


def _done(
    plan: Plan, people: Iterator[pl.DataFrame], key: RunKey, workers: int, unfinished: Unfinished | None
) -> Generator[Done, None, None]:
    """Everybody in their order: those who are done as they were, then the others."""
    left = people
    if unfinished is not None:
        before = _Before(plan, people, unfinished)
        with closing(before.done(workers)) as as_it_was:
            yield from as_it_was
        left = before.left()
    work = PublishWork(plan, key, MOST_BYTES // workers)  # several keep as much together as one does
    with closing(carried_out(work, left, workers)) as fresh:
        for done in fresh:
            if unfinished is not None:
                unfinished.add(done)
            yield done


class _Before:
    """Those who are done when a run goes on, held against those who are given now, and who is left then."""

    def __init__(self, plan: Plan, people: Iterator[pl.DataFrame], unfinished: Unfinished) -> None:
        self._plan, self._people, self._unfinished = plan, people, unfinished
        self._here: pl.DataFrame | None = None

    def done(self, workers: int) -> Generator[Done, None, None]:
        """What was done, once it is seen that the same people are given now, to the same plan, in the same build."""
        again = (self._next(part.rows.height) for part in self._unfinished.done())
        with closing(carried_out(_GivenWork(self._plan), again, workers)) as coming:
            now = (row for answer in coming for row in answer.reports.iter_rows())
            for part in self._unfinished.done():
                for was in part.reports.select("person", "given").iter_rows():
                    if next(now, None) != was:
                        raise DiscreetError(
                            f"{self._unfinished.folder}: {was[0]!r} was published from other events or habits, or by "
                            "another build, than are given now; give the same, or delete the folder and start again"
                        )
                yield part

    def left(self) -> Iterator[pl.DataFrame]:
        if self._here is not None and self._here.height:
            yield self._here
        yield from self._people

    def _next(self, rows: int) -> pl.DataFrame:
        """So many rows of those who are given now."""
        parts: list[pl.DataFrame] = []
        while rows:
            if self._here is None or not self._here.height:
                self._here = next(self._people, None)
                if self._here is None:
                    break
            parts.append(self._here[:rows])
            self._here = self._here[rows:]
            rows -= parts[-1].height
        return pl.concat(parts) if parts else pl.DataFrame(schema=PEOPLE)


@dataclass(frozen=True)
class _GivenWork:
    """`given_of` each person."""

    plan: Plan

    def __call__(self, people: pl.DataFrame) -> Done:
        found = [(one.person, given_of(self.plan, one)) for one in trajectories_of(people)]
        return Done(people.clear(), pl.DataFrame(found, schema=["person", "given"], orient="row"))


# --- some people at a time


def carried_out(work: Work, people: Iterable[pl.DataFrame], workers: int) -> Generator[Done, None, None]:
    """What comes of a work on tables of whole people, in their order, by this process or by several."""
    pace = Pace()
    batches = pace.cut(people)
    if workers == 1:
        for batch in batches:
            started = time.perf_counter()
            done = work(batch)
            pace.took(batch.height, time.perf_counter() - started)
            yield done
        return
    with closing(in_order(_work_on, batches, workers, prepare=_prepare, given=(work,))) as coming:
        for events, seconds, done in coming:
            pace.took(events, seconds)
            yield done


class Pace:
    """How many events are worked on at once, by how long those before took."""

    def __init__(self) -> None:
        self.events = FIRST_EVENTS

    def took(self, events: int, seconds: float) -> None:
        """So many events took so long; the next are at most four times as many as were wanted before."""
        wanted = events * SECONDS / max(seconds, 1e-6)
        self.events = int(min(max(wanted, 1), 4 * self.events, MOST_EVENTS))

    def cut(self, people: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Whole people with about so many events, at least one of them; a table is not joined with the next."""
        for frame in people:
            if not frame.height:
                continue
            ends = np.cumsum(frame["person"].rle().struct.field("len").to_numpy())
            start = 0
            while start < frame.height:
                end = int(ends[np.searchsorted(ends, min(start + self.events, frame.height))])
                yield frame[start:end]
                start = end


# --- in a process of its own

_work: Work


def _prepare(work: Work) -> None:
    """What a worker needs for everybody, sent once."""
    global _work
    _work = work


def _work_on(batch: pl.DataFrame) -> tuple[int, float, Done]:
    started = time.perf_counter()
    done = _work(batch)
    return batch.height, time.perf_counter() - started, done
