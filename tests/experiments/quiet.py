"""A cohort for tests: one process, no progress bar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.listener import Progress
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.runs import Workers


def quiet(folder: Path, people: int | None = None) -> Cohort:
    @contextmanager
    def bar(what: str) -> Iterator[Progress]:
        yield lambda done, total: None

    return Cohort(folder, Workers(None), bar, people)
