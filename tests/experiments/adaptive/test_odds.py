"""Bounds on odds on a simulated person: factors within what was asked, and who starts from other odds gains less."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from discreet.contexts import Day
from discreet.models.simulate import person
from discreet_experiments.adaptive import odds, walks
from discreet_experiments.adaptive.walks import LENGTH
from discreet_experiments.shared.people import Trace
from discreet_experiments.shared.subjects import Setting


def test_factors_are_bounded_as_asked_and_utility_is_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monday = dt.date(2026, 8, 31)
    drawn = person(days=40, slots=6, contexts=4, seed=5)
    days = [Day(day.contexts, date=monday + k * dt.timedelta(days=1)) for k, day in enumerate(drawn)]
    monkeypatch.setattr(walks, "prepared", lambda trace, rules: days)
    monkeypatch.setattr(odds, "TERMS", {name: odds.TERMS[name] for name in ("doubt 1", "doubt 5", "odds 2")})
    found = odds.tried(Trace(1, ()), Setting(secrets=1, smoothing="auto"), most=1)
    assert found is not None
    for variant, own in found.tried.items():
        assert own["odds 2"].odds <= 2 * (1 + 1e-6)
        assert own["doubt 5"].other <= 0.1 + 1e-9  # odds five times as high are a prior at most five times as high
        row = odds._row("simulated", variant, "odds 2", [found])
        assert 0 <= float(str(row["utility"])) <= 1
        assert row["days"] == LENGTH


def test_gains_of_who_starts_from_other_odds_by_hand() -> None:
    """A prior of 1/11 has odds 1/10; five times that are 1/2, a belief of 1/3. Doubled they are 1: a gain of 1/6."""
    gains = odds._gains(np.array([1 / 11, 0.0, 0.5]), np.array([2.0, 1.0, np.inf]))
    assert gains == pytest.approx([1 / 6, 1 - 5 / 6])
