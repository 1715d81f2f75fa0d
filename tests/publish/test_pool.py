from __future__ import annotations

import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from discreet.errors import DiscreetError
from discreet.publish.engines import pool
from discreet.publish.engines.pool import AHEAD, in_order

_told: int = 0


def tell(number: int) -> None:
    global _told
    _told = number


def slow_if_even(number: int) -> tuple[int, int]:
    time.sleep(0.02 * (number % 2 == 0))
    return number, _told


def dies_at_five(number: int) -> int:
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def dies_while_it_answers(number: int) -> int:
    """At two it says that a thousand bytes come, sends ten of them, and ends."""
    if number == 2:
        frame: Any = sys._getframe()
        while "result_queue" not in frame.f_locals:
            frame = frame.f_back
        os.write(frame.f_locals["result_queue"]._writer.fileno(), struct.pack("!i", 1_000) + b"x" * 10)
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def refuses_five(number: int) -> int:
    if number == 5:
        raise DiscreetError("five is refused; give another")
    return number


def test_answers_come_in_order_and_items_are_taken_as_they_do() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(40):
            taken.append(number)
            yield number

    with closing(in_order(slow_if_even, items(), 2, prepare=tell, given=(7,))) as answers:
        assert taken == []
        for number, answer in enumerate(answers):
            assert answer == (number, 7)
            assert len(taken) <= number + 1 + 2 * AHEAD
    assert len(taken) == 40


def test_a_worker_that_dies_is_told() -> None:
    with pytest.raises(DiscreetError, match=r"a worker process ended before its time.*--workers 1"):
        list(in_order(dies_at_five, range(20), 2))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="writes to a pipe as Linux has it")
def test_a_worker_that_dies_while_it_answers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LOOK_SECONDS", 0.2)
    with pytest.raises(DiscreetError, match="a worker process ended before its time"):
        list(in_order(dies_while_it_answers, range(20), 2))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="writes to a pipe as Linux has it")
def test_work_can_be_broken_off_where_a_worker_died_while_it_answered() -> None:
    with closing(in_order(dies_while_it_answers, range(20), 1)) as answers:
        assert next(answers) == 0
        time.sleep(0.5)  # the worker comes to two; nobody asks for it
    assert not any("Executor" in repr(one) for one in threading.enumerate())


def test_what_a_worker_refuses_is_refused() -> None:
    answers = in_order(refuses_five, range(20), 2)
    assert [next(answers) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(DiscreetError, match="five is refused"):
        next(answers)


def test_no_workers_are_refused() -> None:
    with pytest.raises(DiscreetError, match="0 workers; give 1 or more"):
        next(in_order(refuses_five, [1], 0))
