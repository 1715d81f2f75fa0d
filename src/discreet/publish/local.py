"""Publishing on one machine: person after person, in this process or in several, memory bounded by a few people."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.events import Trajectory
from discreet.publish.draws import RunKey
from discreet.publish.person import Published, given_of, published
from discreet.publish.plan import Plan, Progress
from discreet.publish.pool import checked_workers, in_order
from discreet.publish.report import PersonReport, Report, refuse_twice
from discreet.publish.tables import Tables

if TYPE_CHECKING:
    from discreet.data.published import Row
    from discreet.publish.unfinished import Unfinished

BATCH_EVENTS = 400
BATCH_PEOPLE = 40
"""What a process is sent at once, about: sending costs little beside it, and the end finds all of them at work."""


def publish(
    plan: Plan,
    trajectories: Sequence[Trajectory],
    write: Callable[[Iterable[Row]], object],
    *,
    seed: int | None = None,
    progress: Progress | None = None,
    workers: int = 1,
    unfinished: Unfinished | None = None,
) -> Report:
    """Hand every row to `write`, people in order of their names, and say what the rows tell.

    The order in which people come would tell who was first in the data, so it is left behind. `write` takes the rows
    one after another, as they are made: `rows.extend` of a list, or a function that writes a file. Draws come from a
    key of the operating system's entropy (`RunKey`); a seed repeats them and is for experiments. They are the same
    whatever the number of `workers`, which are processes; a script that asks for several has its own work under
    `if __name__ == "__main__":`, because they import it.

    `unfinished` keeps those who are done, and has the key: the run goes on from them.
    """
    people = [trajectory.person for trajectory in trajectories]
    if not people:
        raise DiscreetError("there is nobody to publish; give at least one trajectory")
    refuse_twice(people)
    checked_workers(workers)
    order = sorted(range(len(people)), key=people.__getitem__)
    reports: list[PersonReport] = []

    def rows() -> Generator[Row, None, None]:
        with closing(_people(plan, trajectories, order, _key(seed, unfinished), workers, unfinished)) as coming:
            for one in coming:
                yield from ((one.report.person, event) for event in one.rows)
                reports.append(one.report)
                if progress is not None:
                    progress(len(reports), len(people))

    with closing(rows()) as made:
        write(made)
    if len(reports) < len(people):
        raise DiscreetError(f"only {len(reports)} of {len(people)} people were written; let `write` take every row")
    return Report(tuple(reports))


def _key(seed: int | None, unfinished: Unfinished | None) -> RunKey:
    if unfinished is not None:
        if unfinished.key.seed != seed:
            raise DiscreetError(f"the run was begun with seed={unfinished.key.seed}; go on with it, not with {seed}")
        return unfinished.key
    return RunKey.new() if seed is None else RunKey.of_seed(seed)


def _people(
    plan: Plan,
    trajectories: Sequence[Trajectory],
    order: Sequence[int],
    key: RunKey,
    workers: int,
    unfinished: Unfinished | None,
) -> Generator[Published, None, None]:
    """Everybody in this order: those who are done as they were, then the others."""
    start = 0
    if unfinished is not None:
        for start, one in enumerate(unfinished.done(), 1):
            if start > len(order) or one.given != given_of(plan, trajectories[order[start - 1]]):
                raise DiscreetError(
                    f"{unfinished.folder}: {one.report.person!r} was published from other events or habits, or by "
                    "another build, than are given now; go on with the same, or delete the folder and begin anew"
                )
            yield one
    coming = (trajectories[place] for place in order[start:])
    if workers == 1 or start == len(order):
        tables = Tables()
        fresh: Generator[Published, None, None] = (published(plan, one, key, tables) for one in coming)
    else:
        fresh = _by_workers(plan, coming, key, workers)
    with closing(fresh):
        for one in fresh:
            if unfinished is not None:
                unfinished.add(one)
            yield one


def _by_workers(
    plan: Plan, people: Iterator[Trajectory], key: RunKey, workers: int
) -> Generator[Published, None, None]:
    batches = in_order(_publish_batch, _batches(people), workers, prepare=_prepare, given=(plan, key))
    with closing(batches):
        for batch in batches:
            yield from batch


def _batches(people: Iterator[Trajectory]) -> Iterator[list[Trajectory]]:
    """People in their order, some at a time, without the timestamps, which nobody needs."""
    batch: list[Trajectory] = []
    events = 0
    for one in people:
        batch.append(replace(one, timestamps=None))
        events += len(one)
        if events >= BATCH_EVENTS or len(batch) >= BATCH_PEOPLE:
            yield batch
            batch, events = [], 0
    if batch:
        yield batch


# --- in a process of its own

_given: tuple[Plan, RunKey, Tables]


def _prepare(plan: Plan, key: RunKey) -> None:
    """What a worker needs for everybody, sent once."""
    global _given
    _given = plan, key, Tables()


def _publish_batch(batch: list[Trajectory]) -> list[Published]:
    plan, key, tables = _given
    return [published(plan, one, key, tables) for one in batch]
