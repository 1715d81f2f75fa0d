"""Publishing on one machine: person after person in this process, memory bounded by one person's events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.events import Trajectory
from discreet.publish.person import entropy_of, publish_person
from discreet.publish.plan import Plan, Progress
from discreet.publish.report import PersonReport, Report, refuse_twice

if TYPE_CHECKING:
    from discreet.data.published import Row


def publish(
    plan: Plan,
    trajectories: Sequence[Trajectory],
    write: Callable[[Iterable[Row]], object],
    *,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Hand every row to `write`, people in order of their names, and say what the rows tell.

    The order in which people come would tell who was first in the data, so it is left behind. `write` takes the rows
    one after another, as they are made: `rows.extend` of a list, or a function that writes a file. Draws come from the
    operating system's entropy; a seed repeats them and is for experiments (`entropy_of`).
    """
    people = [trajectory.person for trajectory in trajectories]
    if not people:
        raise DiscreetError("there is nobody to publish; give at least one trajectory")
    refuse_twice(people)
    done: list[PersonReport] = []

    def rows() -> Iterator[Row]:
        for place in sorted(range(len(people)), key=people.__getitem__):
            shown, report = publish_person(plan, trajectories[place], entropy_of(people[place], seed))
            yield from ((people[place], event) for event in shown)
            done.append(report)
            if progress is not None:
                progress(len(done), len(people))

    write(rows())
    if len(done) < len(people):
        raise DiscreetError(f"only {len(done)} of {len(people)} people were written; let `write` take every row")
    return Report(tuple(done))
