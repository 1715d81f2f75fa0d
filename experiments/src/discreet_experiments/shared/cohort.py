"""The people of an experiment: read once from a folder, then worked on one by one, with a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from discreet.errors import DataError, DiscreetError
from discreet.listener import Progress
from discreet_experiments.shared.people import Rules, Trace, reality_mining, spread
from discreet_experiments.shared.runs import Workers

ProgressBar = Callable[[str], AbstractContextManager[Progress]]
"""Opens a progress bar with that name; the block is given what to report to."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Cohort:
    """The people of a folder's data; `people` takes that many, evenly spread over the file."""

    folder: Path
    workers: Workers
    bar: ProgressBar
    people: int | None = None

    def __post_init__(self) -> None:
        if self.people is not None and self.people < 1:
            raise DiscreetError(f"{self.people} people cannot be looked at; give 1 or more")

    def read(self, rules: Rules, reader: Callable[..., list[Trace]] = reality_mining) -> list[Trace]:
        """Their days as recorded."""
        with self.bar("reading") as report:
            found = reader(self.folder, rules, report)
        if not found:
            raise DataError(f"{self.folder}: nobody has {rules.least_days} days; lower --least-days")
        return spread(found, self.people)

    def over(
        self,
        what: str,
        work: Callable[[Item], Answer | None],
        items: Sequence[Item],
        *,
        needed: bool = False,
    ) -> list[Answer]:
        """The answers of those who take part; somebody must where they are `needed`."""
        with self.bar(what) as report:
            found = [one for one in self.workers.map(work, items, report) if one is not None]
        if needed and not found:
            raise DiscreetError(
                "nobody has two contexts to tell apart; choose a finer --level or a lower --merge-below"
            )
        return found
