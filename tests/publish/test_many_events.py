from __future__ import annotations

import time
import tracemalloc
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from discreet.events import Events
from discreet.mechanisms.named import Spec
from discreet.policy import Policy
from discreet.publish import ChainHabits, PersonReport, Plan, RunKey, policy_for
from discreet.publish.person import _Own, publish_piece, published
from discreet.publish.plan import cut
from discreet.publish.work import PEOPLE, PublishWork, trajectories_of
from tests.publish.plans import plan_of

PARTS = ("night", "morning", "afternoon", "evening")


def one_person(events: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    values = {"activity": [f"a{k}" for k in range(4)], "time": list(PARTS), "location": [f"l{k}" for k in range(3)]}
    columns = {name: pl.Series(each).gather(rng.integers(0, len(each), events)) for name, each in values.items()}
    return pl.DataFrame({"person": pl.Series(["ann"]).new_from_index(0, events), **columns}, schema=PEOPLE)


class Cost(NamedTuple):
    bytes: int
    seconds: float


def cost(work: PublishWork, events: int, pieces: int | None = None) -> Cost:
    """The most memory that Python's objects take while one person is published, and processor time."""
    people = one_person(events)
    tracemalloc.start()
    begun = time.process_time()
    done = work(people)
    found = Cost(tracemalloc.get_traced_memory()[1], time.process_time() - begun)
    tracemalloc.stop()
    assert (done.rows.height, done.reports["pieces"][0]) == (events, pieces or events // 50)
    return found


def test_a_person_of_very_many_events_takes_little_more_memory_than_the_events_do_and_time_by_their_number() -> None:
    few = one_person(2_000)
    (ann,) = trajectories_of(few)
    events = Events.from_trajectories([ann], occurring_only=True)
    plan = Plan(ChainHabits(), policy_for(Policy("activity=a1", delta=0.2), events), Spec("pa-markov"), 50)
    work = PublishWork(plan, RunKey.of_seed(1))
    work(few)  # compiled
    half, whole = cost(work, 25_000), cost(work, 50_000)
    assert (whole.bytes - half.bytes) / 25_000 < 200  # as objects of their own, label and row alone take as much
    assert whole.bytes < 10e6
    assert whole.seconds < 3 * half.seconds  # 2 times, and 4 where pieces looked at each other


def test_one_stream_of_very_many_events_keeps_rows_that_are_live_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of public states is limited by their number; beyond it a stream grows by what it shows."""
    monkeypatch.setattr("discreet.mechanisms.adaptive.machine.STATES", 100)
    few = one_person(100)
    (ann,) = trajectories_of(few)
    events = Events.from_trajectories([ann], occurring_only=True)
    plan = Plan(ChainHabits(), policy_for(Policy("activity=a1", delta=0.2), events), Spec("adaptive"), None)
    work = PublishWork(plan, RunKey.of_seed(1))
    work(few)  # compiled
    half, whole = cost(work, 500, pieces=1), cost(work, 1_000, pieces=1)
    assert (whole.bytes - half.bytes) / 500 < 400
    assert whole.seconds < 3 * half.seconds


@pytest.mark.parametrize("name", ["adaptive", "no-mask", "pa-hmm"])
def test_pieces_that_are_joined_one_after_another_tell_what_all_of_them_tell_together(name: str) -> None:
    plan, people = plan_of(3, 0.1, name)
    for one in people:
        whole = published(plan, one, RunKey.of_seed(1)).report
        reports = []
        for number, piece in enumerate(cut(one, 3)):
            own = _Own(plan, cut(one, 3), len(piece), None)
            draws = RunKey.of_seed(1).piece(one.person, number, own.made.decision)
            reports.append(publish_piece(*own.parts(), piece, draws, known=own.made.known)[1])
        together = PersonReport.of(one.person, reports, attributes=whole.attributes, silent=whole.silent)
        assert len(reports) > 1
        assert whole == together
