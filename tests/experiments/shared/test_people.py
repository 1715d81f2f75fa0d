from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.contexts import OTHER, UNKNOWN, Day
from discreet.errors import DataError, DiscreetError
from discreet_experiments.shared.people import HIERARCHY, Rules, Trace, meals, prepared, reality_mining
from discreet_experiments.shared.subjects import Setting, chosen_secrets, subject
from tests.experiments.recorded import RECORDED, made_up

DATE = dt.date(2026, 1, 5)
PLAIN = Rules(level="tower", slots=24, carry_hours=0, backward=False, merge_below=0.0, least_days=2)


def trace(*days: list[str], **names: dict[str, str]) -> Trace:
    dated = [Day(tuple(day), DATE + dt.timedelta(days=k), "somebody") for k, day in enumerate(days)]
    return Trace(1, tuple(dated), names)


def hours(**labels: str) -> list[str]:
    """A recorded day: h7="a b b -" puts readings into the quarters of the hour from 7."""
    day = [UNKNOWN] * 96
    for hour, quarters in labels.items():
        at = 4 * int(hour.removeprefix("h"))
        day[at : at + 4] = [UNKNOWN if quarter == "-" else quarter for quarter in quarters.split()]
    return day


def test_the_most_frequent_reading_of_a_slot_stands_and_of_equals_the_later() -> None:
    (day,) = prepared(trace(hours(h0="a b b -", h1="a b - -", h2="- b - a", h3="a a b b", h4="- - - c")), PLAIN)
    assert day.contexts[:6] == ("b", "b", "a", "b", "c", UNKNOWN)


def test_readings_are_named_by_level_before_they_are_counted() -> None:
    named = trace(hours(h0="a b c c", h1="d d - a"), area={"a": "x", "b": "x", "c": "y", "d": UNKNOWN})
    (day,) = prepared(named, replace(PLAIN, level="area"))
    assert day.contexts[:2] == ("y", "x")  # two each, the later stands; no signal is no reading


def test_a_phone_without_signal_is_somewhere_or_has_no_reading() -> None:
    away = trace(hours(h0="a a a a", h1="c0001 c0001 c0001 a"), area={"a": "x", "c0001": UNKNOWN})
    rules = replace(PLAIN, level="area")
    assert prepared(away, rules)[0].contexts[:2] == ("x", "x")
    assert prepared(away, replace(rules, no_signal="context"))[0].contexts[:2] == ("x", "c0001")


def test_readings_are_carried_forward_and_to_the_start_of_a_day_then_rare_ones_merged() -> None:
    rules = replace(PLAIN, carry_hours=2.0, backward=True, merge_below=0.1)
    first, second = prepared(trace(hours(h3="a a a a", h12="b b b b"), hours(h20="a a a a")), rules)
    assert first.contexts[:7] == ("a",) * 6 + (UNKNOWN,)
    assert first.contexts[12:16] == (OTHER,) * 3 + (UNKNOWN,)  # 3 of 48 slots
    assert second.contexts[:20] == ("a",) * 20


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"slots": 36}, "36 slots"),
        ({"carry_hours": -1}, "-1 hours"),
        ({"least_days": 1}, "2 days"),
        ({"level": "x"}, "'x'"),
    ],
)
def test_rules_that_make_no_sense(changes: dict[str, object], told: str) -> None:
    with pytest.raises(DiscreetError, match=told):
        Rules(**changes)  # type: ignore[arg-type]  # wrong on purpose


def test_people_of_a_folder(tmp_path: Path) -> None:
    folder = made_up(tmp_path, count=2, days=12)
    assert reality_mining(folder, Rules()) == []
    first, second = reality_mining(folder, Rules(least_days=12))
    assert (first.number, second.number, len(first.days)) == (1, 2, 12)
    assert first.names["tower"] == {"c0001": UNKNOWN}
    assert first.names["area"]["c0001"] == UNKNOWN
    days = prepared(first, Rules(least_days=12))
    assert {len(day) for day in days} == {24}
    assert {label[0] for day in days for label in day.contexts} <= set("auo")  # areas, unknown, other
    eaten = {label for day in meals(folder, Rules(level="meal", least_days=12))[0].days for label in day.contexts}
    assert eaten == {"Breakfast", "Lunch", "Supper", "Snack", UNKNOWN}


def test_folders_and_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        reality_mining(tmp_path / "none", Rules())
    with pytest.raises(DataError, match=r"hierarchy.csv.gz: there is no such file"):
        reality_mining(tmp_path, Rules())
    made_up(tmp_path, count=1, days=2)
    (tmp_path / HIERARCHY).write_bytes(b"context,site\nc1,s1\n")
    with pytest.raises(DataError, match="no column 'area'"):
        reality_mining(tmp_path, Rules())


def test_the_first_half_is_learned_and_unlearned_labels_are_other() -> None:
    days = [hours(h0="a a a a", h1="b b b b", h2="c c c c")] * 3 + [hours(h0="a a a a", h1="d d d d")] * 3
    rules = replace(PLAIN, merge_below=0.02)  # of 144 slots: c and e are rare, d is not but was never learned
    days[0] = hours(h0="a a a a", h1="b b b b", h2="e e e e")
    one = subject(trace(*days), Setting(rules))
    assert one is not None
    assert one.trained_days == len(one.held_out) == 3
    assert set(one.chain.contexts) == {UNKNOWN, "a", "b", OTHER}
    assert {label for day in one.held_out for label in day.contexts} == {UNKNOWN, "a", OTHER}
    again = subject(trace(*days), Setting(rules, training=1.0))
    assert again is not None
    assert len(again.held_out) == again.trained_days == 6
    assert again.impossible == 0


def test_fewer_held_out_days_are_evenly_spread() -> None:
    days = [hours(h0="a a a a", h1=f"{label} {label} {label} {label}") for label in "bbbbbbcdefgh"]
    one = subject(trace(*days), Setting(PLAIN, days=3))
    assert one is not None
    assert [day.contexts[1] for day in one.held_out] == ["c", "e", "g"]
    with pytest.raises(DiscreetError, match="0 days"):
        Setting(days=0)


def test_secrets_are_drawn_of_learned_places_the_same_for_everybody_who_asks() -> None:
    contexts = ("unknown", "a", "b", "other", "c", "d")
    three = chosen_secrets(contexts, Setting(), 7)
    assert len(set(three)) == 3
    assert set(three) <= set("abcd")
    assert chosen_secrets(contexts, Setting(secrets=1), 7) == three[:1]
    assert {chosen_secrets(contexts, Setting(secrets=1), number) for number in range(40)} == {(x,) for x in "abcd"}
    assert {chosen_secrets(contexts, Setting(secrets=1, seed=seed), 7) for seed in range(40)} == {(x,) for x in "abcd"}
    assert chosen_secrets(contexts, Setting(sensitive="home"), 7) == ("a",)
    assert chosen_secrets(contexts, Setting(sensitive="rare", secrets=2), 7) == ("c", "d")
    assert len(chosen_secrets(contexts, Setting(secrets=9, pool="all"), 7)) == 5  # one stays no secret
    assert chosen_secrets(("a", "unknown"), Setting(), 1) == ("a",)
    assert chosen_secrets(("unknown", "other"), Setting(), 1) == chosen_secrets(("a",), Setting(), 1) == ()


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded data is not part of the project")
def test_the_recorded_people() -> None:
    found = reality_mining(RECORDED, Rules())
    assert len(found) == 88
    one = subject(found[40], Setting())
    assert one is not None
    assert len(one.secrets) == 3
    assert 0 < one.hidden < 1
