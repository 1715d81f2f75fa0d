"""One piece of work for each of many people, in several processes; the answers do not depend on how many."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from discreet.errors import DiscreetError
from discreet.listener import Progress
from discreet.publish.engines.pool import interrupts_held, quiet_end

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Workers:
    """Runs work on items here (`processes=1`) or in processes of their own; made by `workers`."""

    def __init__(self, pool: ProcessPoolExecutor | None) -> None:
        self._pool = pool

    def map(self, work: Callable[[Item], Answer], items: Sequence[Item], report: Progress) -> list[Answer]:
        """The answers in the order of the items; `report` hears of each that is done. `work` must be picklable."""
        if self._pool is None:
            answers = []
            for done, item in enumerate(items, 1):
                answers.append(work(item))
                report(done, len(items))
            return answers
        with interrupts_held():
            futures = [self._pool.submit(work, item) for item in items]  # the first starts the processes
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                report(done, len(items))
        except BrokenProcessPool:
            raise DiscreetError(
                "a worker process ended before its time, perhaps for want of memory; try --processes 1"
            ) from None
        finally:
            for future in futures:  # those done are not affected
                future.cancel()
        return [future.result() for future in futures]


@contextmanager
def workers(processes: int) -> Iterator[Workers]:
    """Workers for the block. Processes are spawned, so that they share nothing but what they are sent."""
    if processes < 1:
        raise DiscreetError(f"nothing can run in {processes} processes; give 1 or more")
    if processes == 1:
        yield Workers(None)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=quiet_end)
    try:
        yield Workers(pool)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
