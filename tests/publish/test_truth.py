"""Tables that habits are not true of are found out: a place that tells the activity, an activity that comes back."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from discreet.events import Event, Trajectory
from discreet.policy import Policy
from discreet.publish import Plan
from discreet.publish.truth import check_table, position

ACTIVITIES = {"casino": "gambling", "office": "work", "canteen": "meal", "mall": "shopping", "flat": "rest"}
POLICY = Policy(["activity=gambling"])


def casino(people: int, length: int, seed: int = 1) -> list[Trajectory]:
    """The place tells the activity, and two events in a hundred are at the casino."""
    draw = random.Random(seed)

    def event() -> Event:
        place = draw.choices(list(ACTIVITIES), [2, 30, 20, 18, 30])[0]
        return Event(ACTIVITIES[place], draw.choice(["morning", "evening"]), place)

    return [Trajectory(f"p{k:03}", tuple(event() for _ in range(length))) for k in range(people)]


def free(people: int, length: int, *, repeats: int | None = None, seed: int = 1) -> list[Trajectory]:
    """Activity, time and place know nothing of each other; an activity may come back after so many events."""
    draw = random.Random(seed)
    found = []
    for k in range(people):
        activities: list[str] = []
        for place in range(length):
            new = draw.choices(["gambling", "work", "meal"], [5, 50, 45])[0]
            activities.append(new if repeats is None or place < repeats else activities[place - repeats])
        events = (Event(one, draw.choice(["morning", "evening"]), draw.choice(["a", "b"])) for one in activities)
        found.append(Trajectory(f"p{k:03}", tuple(events)))
    return found


def learned(table: Sequence[Trajectory], habits: str = "events", topics: int | None = 1) -> Plan:
    return Plan.learn(table, POLICY, habits=habits, topics=topics)  # type: ignore[arg-type]


def test_habits_that_are_true_of_the_table_hold() -> None:
    table = free(20, 20)
    found = check_table(learned(table), table, learned)
    assert found.holds
    assert found.held_out
    assert [look.observer for look in found.looks] == [
        "who knows the habits alone",
        "who sees the table",
        "who knows the habits of earlier events",
    ]
    assert found.figure.startswith("on the last fifth of the events of 20 people beliefs were off by ")


def test_a_place_that_tells_the_activity_is_found() -> None:
    """With one topic, activity and place are independent in the habits: the secret is far rarer in them than it is."""
    table = casino(60, 30)
    assert check_table(learned(table), table).holds  # topics over whole events know it
    found = check_table(learned(table, "topics"), table)
    assert found.holds is False
    assert not found.held_out
    by_observer = {look.observer: cell for look, cell in reversed(found.findings)}
    alone, seen = by_observer["who knows the habits alone"], by_observer["who sees the table"]
    assert alone.said < 0.003
    assert alone.was == pytest.approx(0.02, abs=0.006)
    assert seen.said < 0.13  # within delta of the prior, says the observer
    assert seen.low > 0.2  # and it is not
    assert "shown" in {cell.kind for _, cell in found.findings}


@pytest.mark.parametrize("habits", ["events", "topics", "chain"])
def test_an_activity_that_comes_back_after_seven_events_is_found(habits: str) -> None:
    table = free(40, 30, repeats=7)
    found = check_table(learned(table, habits, None if habits == "chain" else 1), table)
    assert found.holds is False
    assert {"7 events", "14 events"} <= {cell.name for _, cell in found.findings}


def test_it_does_not_depend_on_the_order_of_people() -> None:
    table = free(9, 12)
    plan = learned(table)
    assert check_table(plan, table).to_json() == check_table(plan, table[::-1]).to_json()


def test_few_people_and_many_events() -> None:
    table = free(6, 12)
    assert check_table(learned(table), table).untested == "too few people (6; it takes 7)"
    table = free(30, 12)
    assert check_table(learned(table), table, events=100).on == "108 events of 9 people"


def test_a_secret_that_has_not_occurred_before_is_not_tried_on_later_events() -> None:
    table = [
        Trajectory(one.person, (*(Event("work", "morning", "a"),) * 9, Event("gambling", "evening", "b")))
        for one in free(8, 10)
    ]
    found = check_table(learned(table), table, learned)
    assert not found.held_out


def test_a_secret_at_any_event_is_one_claim_a_piece() -> None:
    from discreet.policy import Secret

    table = free(10, 12)
    plan = Plan.learn(table, Policy([Secret("ever", {"activity=gambling"}, at="any")]), topics=1, piece_length=6)
    (cell,) = check_table(plan, table).looks[0].calibration.of("ever", "all")
    assert cell.claims == 20


def test_blocks_of_positions() -> None:
    names = [position(place) for place in (0, 1, 2, 4, 5, 49, 50, 100, 5000)]
    assert names[:4] == ["position 1", "position 2", "positions 3 to 5", "positions 3 to 5"]
    assert names[4:] == [
        "positions 6 to 10",
        "positions 21 to 50",
        "positions 51 to 100",
        *["positions from 101 on"] * 2,
    ]
