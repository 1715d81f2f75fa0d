"""The last days by habits of the earlier ones: a hand-made case and the plain loop."""

from __future__ import annotations

import datetime as dt
from functools import partial

import numpy as np
import pytest

from discreet.contexts import Day, shares
from discreet.errors import DiscreetError
from discreet.models import MarkovChain
from discreet.models.learning.held_out import HeldOut, held_out, judged
from discreet.models.routine.routine import Routine
from discreet.models.simulate import person

MONDAY = dt.date(2026, 3, 2)
PLAIN = partial(MarkovChain.fit, smoothing="none")


def days(*rows: str) -> list[Day]:
    return [Day(tuple(row), MONDAY + dt.timedelta(days=k)) for k, row in enumerate(rows)]


def test_what_was_never_seen_is_impossible_and_the_rest_is_counted() -> None:
    """Of four earlier days half start with a; the last starts with a and then does what nobody did."""
    found = held_out(days("ab", "ab", "bb", "bb", "aa"), PLAIN)
    assert (found.days, found.impossible) == (1, 0.5)
    assert found.log_likelihood == pytest.approx(np.log(0.5))


def test_too_few_days_hold_none_out() -> None:
    assert held_out(days("ab", "ab"), PLAIN) == HeldOut(0, None, None)


def test_everything_impossible_has_no_likelihood() -> None:
    assert held_out(days("ab", "ab", "ab", "ab", "cc"), PLAIN) == HeldOut(1, 1.0, None)


def test_a_part_of_the_week_never_seen_holds_nothing_possible() -> None:
    """Monday to Saturday: the one day held out is the only one of a weekend."""
    week = partial(MarkovChain.fit, by="weekpart")
    assert held_out(days(*["ab"] * 6), week) == HeldOut(1, 1.0, None)


def test_the_plain_loop_agrees() -> None:
    lived = person(days=20, seed=4)
    found = held_out(lived, MarkovChain.fit)
    model = MarkovChain.fit(lived[:16])
    logs = [float(step) for day in lived[16:] for step in model.step_log_likelihood([day])[0]]
    possible = [step for step in logs if step > -np.inf]
    assert found.days == 4
    assert found.impossible == pytest.approx(1 - len(possible) / len(logs))
    assert found.log_likelihood == pytest.approx(sum(possible) / len(possible))


def test_shares() -> None:
    assert shares(days("aab", "cab")) == {"a": 0.5, "b": pytest.approx(1 / 3), "c": pytest.approx(1 / 6)}


def test_a_routine_is_judged_over_nights_and_holds_nothing_impossible() -> None:
    """The twin is the one long chain of the days held out, which begin as their first day does."""
    lived = person(days=20, seed=4)
    found = held_out(lived, Routine.fit)
    routine = Routine.fit(lived[:16])
    first = lived[16].date
    assert first is not None
    endless = routine.since(first, initial=routine.day(routine.kind_of(first)).initial)
    labels = [label for day in lived[16:] for label in day.fitted(routine.contexts).contexts]
    (score,) = endless.unrolled(4).log_likelihood([labels])
    assert (found.days, found.impossible) == (4, 0.0)
    assert found.log_likelihood == pytest.approx(score / len(labels))
    strange = [Day(("nowhere",) * len(day), day.date) for day in lived[16:]]
    assert judged(routine, strange).impossible == 0.0  # it is other
    with pytest.raises(DiscreetError, match="dated"):
        judged(routine, [Day(lived[0].contexts)])
