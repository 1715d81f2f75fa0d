"""A share of delta chosen by weeks before, on simulated people: what is counted, and what shuffled weeks are."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from discreet.contexts import Day
from discreet.evaluation.hold import HeldShare, TriedShare, weeks_of
from discreet.models.simulate import person
from discreet_experiments.adaptive import held
from discreet_experiments.adaptive.frontier import VARIANTS
from discreet_experiments.adaptive.picture import Pictured
from discreet_experiments.shared.people import Rules, Trace, spread
from discreet_experiments.shared.subjects import Setting
from tests.experiments.quiet import quiet

MONDAY = dt.date(2026, 8, 31)
SETTING = Setting(Rules(slots=4, least_days=30), secrets=1, smoothing="auto")


def days_of(weeks: int) -> list[Day]:
    drawn = person(days=7 * weeks, slots=4, contexts=4, seed=5)
    return [Day(day.contexts, date=MONDAY + k * dt.timedelta(days=1)) for k, day in enumerate(drawn)]


def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little is tried."""
    monkeypatch.setattr(held, "SHARES", (0.0, 0.1, 1.0))
    monkeypatch.setattr(held, "RESERVES", {"doubt 2": {"doubt": 2.0}})
    monkeypatch.setattr(held, "OBSERVERS", {"4 observers": 1.0})
    monkeypatch.setattr(held, "VARIANTS", VARIANTS[1:])


def test_what_a_share_does_to_the_weeks_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch)
    monkeypatch.setattr(held, "prepared", lambda trace, rules: days_of(5))
    source = Pictured("simulated", "area", lambda folder, rules, report: [Trace(1, ())])
    figure = held.on_held(quiet(tmp_path), SETTING, [source])
    rows = {str(row["policy"]): row for row in figure.summary.records()}
    assert list(rows)[:6] == [
        "held 0.9", "hindsight 0.9", "held 0.8", "held 0.8, in random order", "hindsight 0.8", "share 0",
    ]  # fmt: skip
    assert {row["days"] for row in rows.values()} == {7 * held.LATER}
    assert (rows["share 0"]["utility"], rows["share 0"]["beyond"], rows["share 0"]["own"]) == (0.0, 0.0, 0.0)
    whole = rows["share 1"]
    assert 0 < float(str(rows["doubt 2"]["utility"])) <= float(str(whole["utility"]))
    assert float(str(rows["4 observers"]["utility"])) <= float(str(whole["utility"]))
    assert 0 <= float(str(whole["own"])) <= 1
    for alpha in (0.9, 0.8):
        assert float(str(rows[f"hindsight {alpha}"]["beyond"])) <= 1 - alpha + 1e-12
        assert rows[f"held {alpha}"]["guaranteed"] == 0  # three weeks are judged, each left out in turn
        chosen = rows[f"share {float(str(rows[f'held {alpha}']['share'])):g}"]
        assert rows[f"held {alpha}"]["utility"] == chosen["utility"]
    assert [row["alpha"] for row in figure.people.records()] == list(held.ALPHAS)


def test_shuffled_weeks_are_the_same_days_on_the_same_weekdays() -> None:
    weeks = weeks_of(days_of(6))
    mixed = held.shuffled(weeks, seed=1)
    assert sorted(day.contexts for week in mixed for day in week) == sorted(
        day.contexts for week in weeks for day in week
    )
    assert [day.date for week in mixed for day in week] == [day.date for week in weeks for day in week]
    assert [[day.contexts for day in week] for week in mixed] != [[day.contexts for day in week] for week in weeks]
    assert sorted([day.contexts for day in week] for week in mixed) == sorted(
        [day.contexts for day in week] for week in weeks
    )


def test_people_with_too_few_weeks_or_whom_the_method_was_tuned_on_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "prepared", lambda trace, rules: days_of(4))
    assert held.tried(Trace(1, ()), SETTING, VARIANTS[1]) is None
    asked: list[int] = []
    weeks: list[int] = []

    def noted(trace: Trace, setting: Setting, variant: object, history: int) -> held.Person:
        asked.append(trace.number)
        weeks.append(history)
        spent = {name: held.Spent(4, 1.0, 1) for name in ("share 0", "share 1")}
        chosen = {
            alpha: HeldShare(1.0, alpha, "later weeks", 9, 9, (TriedShare(1.0, 0, 0, 1),)) for alpha in held.ALPHAS
        }
        return held.Person(trace.number, spent, chosen, {})

    monkeypatch.setattr(held, "SHARES", (0.0, 1.0))
    monkeypatch.setattr(held, "tried", noted)
    monkeypatch.setattr(held, "VARIANTS", VARIANTS[1:])
    traces = [Trace(number, ()) for number in range(1, 31)]
    figure = held.on_held(
        quiet(tmp_path, people=5), SETTING, [Pictured("s", "area", lambda *given: traces)], history=20
    )
    assert len(asked) == 5
    assert set(weeks) == {20}
    assert "at most 20 weeks before" in figure.note
    assert not {trace.number for trace in spread(traces, held.USED)} & set(asked)
