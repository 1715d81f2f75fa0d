"""The demo's week: one stream for who goes on over midnight, and beliefs that know of the whole week."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet import Session, evaluate
from discreet.adversary.belief import Adversary, beliefs_along
from discreet.adversary.unrolled import Unrolled
from discreet.demo import story
from discreet.demo.page import page
from discreet.demo.story import CLOCK, Demo, demo_policy, make_demo
from discreet.demo.week import DAYS, Week
from discreet.mechanisms import Adaptive
from discreet.models.routine.routine import Routine
from discreet.numerics import SLACK
from discreet.policy import Secret
from discreet.randomness import SeededEntropy


@pytest.fixture(scope="module")
def told() -> Demo:
    return make_demo()


@pytest.fixture(scope="module")
def week(told: Demo) -> Week:
    return told.week


def test_it_is_seven_dates_in_a_row_from_the_day_on(told: Demo, week: Week) -> None:
    assert [(date - told.date).days for date in week.dates] == list(range(DAYS))
    assert len(week.truth) == DAYS * CLOCK.slots
    assert [showing.mechanism for showing in week.showings] == ["MaskSensitive", "Adaptive"]
    assert [showing.endless for showing in week.showings] == [False, True]


def test_hiding_gives_away_and_adaptive_keeps_every_day(week: Week) -> None:
    hiding, adaptive = week.showings
    assert not hiding.kept
    assert adaptive.kept
    assert adaptive.utility > 0.5
    for one in adaptive.beliefs:
        assert one.gain <= one.delta + 1e-9
        assert one.final.shape == ((DAYS,) if one.at == "any" else (DAYS * CLOCK.slots,))


def test_outputs_and_beliefs_are_those_of_a_session_without_end(week: Week) -> None:
    past, days = story._life(7)
    routine = Routine.fit(past, clock=CLOCK, secrets=demo_policy())
    mechanism = Adaptive(routine.since(week.dates[0]), demo_policy())
    session = Session(mechanism, rng=SeededEntropy(7))
    shown = week.showings[-1]
    assert tuple(session.release(context) for day in days for context in day.contexts) == shown.outputs
    hospital, today, night = shown.beliefs
    for number, date in enumerate(week.dates):
        gains = session.gains(date)
        slots = slice(number * CLOCK.slots, (number + 1) * CLOCK.slots)
        for one in (hospital, night):
            held = ~np.isnan(one.prior[slots])
            assert np.allclose(gains[one.name][held], (one.final - one.prior)[slots][held], atol=1e-9)
        assert gains[today.name] == pytest.approx(today.final[number] - today.prior[number], abs=1e-9)
    assert not evaluate(mechanism, days, seed=7).breached


def _released(mechanism: Any, days: Any) -> list[Any]:
    with Session(mechanism, rng=SeededEntropy(7)) as session:
        return [session.release(context) for day in days for context in day.contexts]


def test_a_window_of_several_days_is_kept_on_the_demos_week(week: Week) -> None:
    """At the hospital on any three days in a row, after every slot; without that secret the same days tell more."""
    past, days = story._life(7)
    routine = Routine.fit(past, clock=CLOCK, secrets=demo_policy())
    long = Secret("hospital in days", {"hospital"}, delta=0.03, at="any", over=3, sliding=True)
    policy = replace(demo_policy(), secrets=(*demo_policy().secrets, long))
    highest = []
    for kept in (policy, demo_policy()):
        mechanism = Adaptive(routine.since(week.dates[0]), kept)
        machine = Unrolled(mechanism, DAYS, policy)
        judge = Adversary(machine)  # who keeps every row
        windows = [k for k, (name, _) in enumerate(judge.gain_names) if name.startswith(long.name)]
        assert len(windows) == DAYS  # two of them began before the stream
        along = beliefs_along(machine, _released(mechanism, days), judge)
        highest.append(max(float((one.beliefs - judge.priors)[windows].max()) for one in along))
    bound, loose = highest
    assert 0.01 < bound <= 0.03 + SLACK
    assert loose > 0.05


@pytest.mark.parametrize("seed", [0, 5, 11])
def test_any_seed_has_a_hospital_day_and_a_week(seed: int) -> None:
    made = make_demo(seed)
    assert "hospital" in made.day.contexts
    assert made.week.showings[-1].kept
    html = page(made)
    assert "<svg" in html
    assert html.count('class="long-plot"') == 6
    assert f"{made.week.dates[-1]:%A}" in html
    assert "over six midnights" in story.week_told(made.week)
