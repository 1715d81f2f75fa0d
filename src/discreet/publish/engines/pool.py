"""Work in several processes: answers in order, so much under way and no more, and an end without noise."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import BaseContext
from typing import Any, TypeVar

from discreet.errors import DiscreetError
from discreet.jit.rule import about_to_compile

Item = TypeVar("Item")
Answer = TypeVar("Answer")

AHEAD = 4
"""Pieces of work under way or waiting to be fetched, for each process: enough that none waits for a slow neighbour."""


LOOK_SECONDS = 5.0
"""Seconds after which it is looked whether all processes are there, while an answer is waited for."""

THREADS = "POLARS_MAX_THREADS"

IMPORTED = ["discreet.publish.engines.forked"]
"""What all processes need, imported once: it takes longer than a hundred people."""


def checked_workers(workers: int) -> None:
    """Refuse to work in no process."""
    if workers < 1:
        raise DiscreetError(f"nothing can be done by {workers} workers; give 1 or more")


def in_order(
    work: Callable[[Item], Answer],
    items: Iterable[Item],
    workers: int,
    *,
    prepare: Callable[..., object] | None = None,
    given: tuple[object, ...] = (),
) -> Generator[Answer, None, None]:
    """The answers in the order of the items, which are taken as the answers are: memory is that of `AHEAD` of them.

    Each process calls `prepare(*given)` first, if there is one; `prepare` and `work` are functions of a module.
    Processes share nothing but what they are sent, and the modules that were imported for all of them (`begin`).
    """
    checked_workers(workers)
    about_to_compile()  # once here, not in every process
    context = begin()
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_started, initargs=(prepare, given))
    coming = iter(items)
    waiting: deque[Future[Answer]] = deque()

    def hand_out(count: int) -> None:
        for item in islice(coming, count):
            with interrupts_held():  # the first of them start the processes
                waiting.append(pool.submit(work, item))

    try:
        hand_out(AHEAD * workers)
        while waiting:
            answer = _awaited(waiting[0], pool)
            waiting.popleft()
            hand_out(1)
            yield answer
    except BrokenProcessPool:
        raise DiscreetError(
            "a worker process ended before its time, perhaps for want of memory; try fewer of them (--workers 1)"
        ) from None
    finally:
        if waiting:
            _break_off(pool)
        pool.shutdown(wait=True, cancel_futures=True)


def _awaited(future: Future[Answer], pool: ProcessPoolExecutor) -> Answer:
    """The answer; a process that is gone is noticed also where the pool's own thread waits for the rest of an answer
    that it had begun to send."""
    while True:
        try:
            return future.result(LOOK_SECONDS)
        except TimeoutError:
            if future.done():  # the work's own
                raise
            if not all(process.is_alive() for process in _processes(pool)):
                raise BrokenProcessPool from None


def _break_off(pool: ProcessPoolExecutor) -> None:
    """End all processes, and with them every wait: for a lock that one of them held, for the rest of an answer, for
    room in a pipe. Whoever waits there is told the end when nobody has the pipe's other side."""
    processes = _processes(pool)
    for process in processes:
        process.kill()
    for process in processes:
        process.join()
    inner: Any = pool  # its queues are not public, and nothing else reaches the thread that waits for them
    inner._result_queue._writer.close()
    inner._call_queue._reader.close()


def _processes(pool: ProcessPoolExecutor) -> list[Any]:
    return list((pool._processes or {}).values())


def begin() -> BaseContext:
    """How processes are started; where it can be done, a process begins to import what they need, beside this one.

    Processes are forked from that one on Linux. It has imported and done nothing else, so no lock is held there and no
    thread of a library runs, as there might be in this one. Elsewhere each process is spawned and imports by itself.
    """
    if not sys.platform.startswith("linux"):
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    with interrupts_held(), _one_thread():
        forkserver.ensure_running()
    return context


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes started meanwhile have one thread for tables each, unless the environment says otherwise.

    Each works for itself, so that more would wait for each other, and take memory.
    """
    given = os.environ.get(THREADS)
    os.environ.setdefault(THREADS, "1")
    try:
        yield
    finally:
        if given is None:
            del os.environ[THREADS]


def _started(prepare: Callable[..., object] | None, given: tuple[object, ...]) -> None:
    quiet_end()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if prepare is not None:
        prepare(*given)


def _end_with_parent() -> None:
    """A parent that was killed cannot tell its processes: they would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Keep Ctrl-C waiting until the block ends; processes started meanwhile keep it waiting until `quiet_end`."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # it would let interrupts through when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def quiet_end() -> None:
    """Ctrl-C reaches the whole group: a worker ends at once and without a traceback, the parent tells."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
