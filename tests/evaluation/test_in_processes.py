"""Choices and comparisons by two processes are those by one, row for row."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import discreet as d
from discreet.batch.workers import each_person
from discreet.choosing import choices
from tests.evaluation.test_compare import DAYS, POLICY, ROUTINE

BY_TWO: Any = partial(each_person, workers=2)


@pytest.mark.slow("starts processes")
def test_two_processes_say_what_one_says() -> None:
    names = ["mask-sensitive", "adaptive"]
    told: list[Any] = []
    alone = d.compare(ROUTINE, POLICY, DAYS, names, seconds=None)
    both = d.compare(ROUTINE, POLICY, DAYS, names, seconds=None, each=BY_TWO, known=told.append)
    timed = "seconds_per_decision"
    assert both.drop(timed).equals(alone.drop(timed))
    assert [row["mechanism"] for row in told] == names
    seen: list[Any] = []
    terms: dict[str, Any] = {"deltas": (0.1, 0.2), "vocabularies": ["suppress"], "weeks": 2}
    assert choices(ROUTINE, POLICY, **terms, each=BY_TWO, known=seen.append) == choices(ROUTINE, POLICY, **terms)
    assert [one.delta for one in seen] == [0.1, 0.2]
