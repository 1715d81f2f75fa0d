"""Families of observers on simulated people: who is compared, what is counted, and that figures are drawn."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from discreet.contexts import Day
from discreet.models.simulate import person
from discreet_experiments.adaptive import frontier, walks
from discreet_experiments.charts import marks
from discreet_experiments.shared.people import Trace
from discreet_experiments.shared.subjects import Setting


def test_who_is_not_alone_tells_less_and_is_breached_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monday = dt.date(2026, 8, 31)
    drawn = person(days=40, slots=8, contexts=4, seed=5)
    days = [Day(day.contexts, date=monday + k * dt.timedelta(days=1)) for k, day in enumerate(drawn)]
    monkeypatch.setattr(walks, "prepared", lambda trace, rules: days)
    found = frontier.tried(Trace(1, ()), Setting(secrets=1, smoothing="auto"), most=3)
    assert found is not None
    assert found.runs == 3
    for variant, families in found.tried.items():
        alone, made = families["nobody else"], families["the command's 6"]
        assert (alone.observers, made.observers) == (1, 7)
        assert alone.days == made.days == 9
        assert made.truth < alone.truth, variant
        assert sum(made.excess.values()) < sum(alone.excess.values()), variant
    rows = [
        frontier._row("simulated", variant, name, [found])
        for variant in frontier.VARIANTS
        for name in found.tried[variant]
    ]
    choices = [frontier._choice(row) for row in rows]
    marks.frontier("title", "note", {"one": choices}, tmp_path / "f.png", across="utility", up="breached")
    assert (tmp_path / "f.png").stat().st_size > 10_000
