"""How many slots habits guess: by hand, and by a plain loop over a simulated person."""

from __future__ import annotations

import datetime as dt

import pytest

from discreet.contexts import UNKNOWN, Day
from discreet.models import MarkovChain
from discreet.models.learning.guesses import Guesses, guesses
from discreet.models.routine.routine import Routine
from discreet.models.simulate import person

MONDAY = dt.date(2026, 3, 2)


def days(*rows: str) -> list[Day]:
    return [Day(tuple(row), MONDAY + dt.timedelta(days=k)) for k, row in enumerate(rows)]


def test_by_hand() -> None:
    """By the clock the second slot is b; after b it is always a."""
    chain = MarkovChain.fit(days("ab", "ab", "ba", "ab"), smoothing="none")
    assert guesses(chain, days("ba")) == Guesses(by_clock=0.0, by_step=0.5)
    assert guesses(chain, days("ab", "bb")) == Guesses(by_clock=0.75, by_step=0.5)


def test_slots_of_which_nothing_is_known_are_not_counted_and_strange_ones_are_wrong() -> None:
    chain = MarkovChain.fit(days("ab", "ab"), smoothing="none")
    assert guesses(chain, [Day(("a", UNKNOWN), MONDAY)]) == Guesses(1.0, 1.0)
    assert guesses(chain, [Day((UNKNOWN, UNKNOWN), MONDAY)]) is None
    assert guesses(chain, days("ac")) == Guesses(0.5, 0.5)


def test_the_first_slot_of_a_routine_is_guessed_over_the_night() -> None:
    """Days alternate, which no clock tells and every night does."""
    routine = Routine.fit(days("aa", "bb", "aa", "bb", "aa", "bb"), by=None, floor=0.001)
    found = guesses(routine, days("aa", "bb", "aa"))
    assert found is not None
    assert found.by_step >= 5 / 6
    assert found.by_clock == pytest.approx(0.5, abs=0.2)


def test_a_plain_loop_counts_the_same() -> None:
    known = person(days=40, seed=3)
    routine = Routine.fit(known[:30], by="weekpart")
    right = total = 0
    before = None
    for day in (day.fitted(routine.contexts) for day in known[30:]):
        assert day.date is not None
        chain = routine.day(routine.kind_of(day.date))
        for t, context in enumerate(day.contexts):
            if t > 0:
                row = chain.transition(t - 1)[chain.index_of(day.contexts[t - 1])]
            elif before is None:
                row = routine.prior(day.date)[0]
            else:
                row = routine.night(day.date - dt.timedelta(days=1))[chain.index_of(before)]
            right += context != UNKNOWN and chain.contexts[max(range(len(row)), key=row.__getitem__)] == context
            total += context != UNKNOWN
        before = day.contexts[-1]
    found = guesses(routine, known[30:])
    assert found is not None
    assert found.by_step == right / total
