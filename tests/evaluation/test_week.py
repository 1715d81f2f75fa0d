"""Days judged by parts of the week: those that a stream releases, and with the same outputs."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.contracts import DayModel
from discreet.evaluation import evaluate_parts
from discreet.evaluation.week import every_date
from discreet.live import Stream
from discreet.mechanisms import Adaptive, NoMask
from discreet.outputs import Suppressed
from discreet.randomness import SeededEntropy

FRIDAY = dt.date(2026, 3, 6)
POLICY = d.Policy(["clinic"], delta=0.1)
LABELS = ("home", "clinic", "other", "unknown")


def chain(seed: int) -> d.MarkovChain:
    rng = np.random.default_rng(seed)
    return d.MarkovChain(LABELS, rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4), (3, 4)), clock=d.Clock(4))


def day(contexts: str, later: int, person: str | None = "p1") -> d.Day:
    names = {"h": "home", "c": "clinic", "z": "zoo", "u": "unknown"}
    return d.Day(tuple(names[letter] for letter in contexts), FRIDAY + dt.timedelta(days=later), person)


WEEK = d.Models({"weekday": chain(1), "weekend": chain(2)})
DAYS = [day("hzuh", 0), day("uuch", 3), day("uchu", 4)]  # Friday, Monday and Tuesday


def no_mask(model: DayModel) -> NoMask:
    return NoMask(model, POLICY)


def test_each_part_is_judged_by_its_own_mechanism_on_its_own_days() -> None:
    told: list[tuple[int, int]] = []
    found = evaluate_parts(WEEK, no_mask, DAYS, progress=lambda done, total: told.append((done, total)))
    assert {part: one.days for part, one in found.items()} == {"weekday": 3, "weekend": 2}
    assert told == [(done, 5) for done in range(1, 6)]
    weekdays, weekend = [day.fitted(LABELS) for day in DAYS], [day("uuuu", 1), day("uuuu", 2)]
    assert found["weekday"].by_secret == d.evaluate(no_mask(WEEK["weekday"]), weekdays).by_secret
    assert found["weekend"].by_secret == d.evaluate(no_mask(WEEK["weekend"]), weekend).by_secret
    assert found["weekday"].utility == 1  # the zoo is the model's other
    assert found["weekday"].breached


def test_deltas_that_are_kept_are_no_breach() -> None:
    found = evaluate_parts(WEEK, partial(NoMask, policy=d.Policy(["clinic"], delta=1)), DAYS)
    assert not any(one.breached for one in found.values())


@pytest.mark.parametrize("carry", [0, 1, 7])
def test_what_is_judged_is_what_a_stream_releases(carry: int) -> None:
    model = chain(3)
    make = partial(Adaptive, policy=POLICY)
    with Stream(model, make, start=FRIDAY, carry=carry, person="p1", rng=SeededEntropy(4)) as stream:
        outputs = [release.output for release in stream.releases(DAYS)]
    judged = evaluate_parts(model, make, DAYS, carry=carry, seed=4)[None]
    assert judged.slots == len(outputs)
    assert judged.suppressed == sum(isinstance(output, Suppressed) for output in outputs) / len(outputs)
    assert judged.off_model == stream.off_model


def test_dates_without_a_day_are_unknown() -> None:
    assert every_date(DAYS) == [DAYS[0], day("uuuu", 1), day("uuuu", 2), *DAYS[1:]]


@pytest.mark.parametrize(
    ("days", "message"),
    [
        ([], "no day"),
        ([day("hhhh", 1), day("hhhh", 0)], "2026-03-06 comes after 2026-03-07"),
        ([day("hhhh", 1), day("hhhh", 1)], "each date once"),
        ([day("hhhh", 0), day("hhhh", 1, "p2")], "one person at a time"),
        ([d.Day(("home",) * 4)], "without a date"),
    ],
)
def test_days_that_no_stream_would_take(days: list[d.Day], message: str) -> None:
    with pytest.raises(d.DiscreetError, match=message):
        evaluate_parts(WEEK, no_mask, days)


def test_a_date_in_between_that_no_part_serves_is_an_error() -> None:
    with pytest.raises(d.DiscreetError, match="no weekend was learned"):
        evaluate_parts(d.Models({"weekday": chain(1)}), no_mask, DAYS)


ROUTINE = d.Routine(
    {"weekday": chain(1), "weekend": chain(2)},
    {(a, b): np.full((4, 4), 0.25) for a in ("weekday", "weekend") for b in ("weekday", "weekend")},
)


@pytest.mark.parametrize("carry", [0, 1, 7])
@pytest.mark.parametrize("kind", [Adaptive, NoMask])
def test_days_of_a_routine_are_one_stream_and_judged_as_it_releases_them(kind: Any, carry: int) -> None:
    make = partial(kind, policy=POLICY)
    with Stream(ROUTINE, make, start=FRIDAY, carry=carry, person="p1", rng=SeededEntropy(4)) as stream:
        outputs = [release.output for release in stream.releases(DAYS)]
    told: list[tuple[int, int]] = []
    found = evaluate_parts(
        ROUTINE, make, DAYS, carry=carry, seed=4, progress=lambda done, total: told.append((done, total))
    )
    assert list(found) == [None]
    judged = found[None]
    assert (judged.days, judged.slots) == (5, len(outputs))
    assert told == [(done, 5) for done in range(1, 6)]
    assert judged.suppressed == sum(isinstance(output, Suppressed) for output in outputs) / len(outputs)
    assert judged.off_model == stream.off_model == 0
    assert stream.endless == (kind is Adaptive)
    assert judged.breached == (kind is NoMask)
