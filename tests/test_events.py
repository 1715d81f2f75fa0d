from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.events import Event, Events, Intervals, Trajectory
from discreet.outputs import PartialEvent

EVENTS = Events(("eat", "work"), ("day", "night"), ("cafe", "home", "office"))
EAT = Event("eat", "day", "cafe")
WORK = Event("work", "night", "office")

words = st.text(st.characters(exclude_characters="|", exclude_categories=["Cs"]), min_size=1, max_size=5)


@given(words, words, words)
def test_an_event_is_its_label(activity: str, time: str, location: str) -> None:
    event = Event(activity, time, location)
    assert event.label == f"{activity}|{time}|{location}"
    assert Event.of(event.label) == event


@pytest.mark.parametrize("values", [("", "day", "x"), ("a", "", "x"), ("a", "day", ""), ("a|b", "day", "x")])
def test_values_that_are_no_labels_are_refused(values: tuple[str, str, str]) -> None:
    with pytest.raises(DiscreetError, match=r"of an event"):
        Event(*values)


@pytest.mark.parametrize("label", ["eat", "eat|day", "eat|day|home|now"])
def test_labels_of_other_shapes_are_refused(label: str) -> None:
    with pytest.raises(DiscreetError, match=r"activity\|time\|location"):
        Event.of(label)


def test_contexts_are_all_triples_with_the_location_running_fastest() -> None:
    assert EVENTS.sizes == (2, 2, 3)
    assert EVENTS.contexts[:4] == ("eat|day|cafe", "eat|day|home", "eat|day|office", "eat|night|cafe")
    assert len(set(EVENTS.contexts)) == 12
    for k, context in enumerate(EVENTS.contexts):
        event = Event.of(context)
        a, t, p = EVENTS.attribute_index[k]
        assert (EVENTS.activities[a], EVENTS.times[t], EVENTS.locations[p]) == event.values
        assert EVENTS.index_of(event) == EVENTS.index_of(context) == k


def test_only_occurring_triples_keep_the_same_order() -> None:
    some = Events(EVENTS.activities, EVENTS.times, EVENTS.locations, occurring=(WORK, EAT, WORK))
    assert some.contexts == (EAT.label, WORK.label)
    np.testing.assert_array_equal(some.attribute_index, [[0, 0, 0], [1, 1, 2]])
    with pytest.raises(DiscreetError, match=r"never occurs"):
        some.index_of("eat|day|home")
    with pytest.raises(DiscreetError, match=r"activity 'run' is not known"):
        Events(("eat",), ("day",), ("cafe",), occurring=(Event("run", "day", "cafe"),))


def test_a_models_contexts_are_a_vocabulary_in_their_own_order() -> None:
    given = ("work|night|office", "eat|day|cafe", "work|day|office")
    found = Events.of_contexts(given)
    assert found.contexts == given
    assert (found.activities, found.times, found.locations) == (("work", "eat"), ("night", "day"), ("office", "cafe"))
    np.testing.assert_array_equal(found.attribute_index, [[0, 0, 0], [1, 1, 1], [0, 1, 0]])
    assert [found.index_of(label) for label in given] == [0, 1, 2]
    assert found.secret("time", "day").contexts == set(given[1:])
    assert Events.of_contexts(EVENTS.contexts).contexts == EVENTS.contexts
    with pytest.raises(DiscreetError, match=r"'home' is not the label of an event"):
        Events.of_contexts(("home", "work"))


def test_the_vocabulary_of_trajectories_falls_in_frequency() -> None:
    read = [Trajectory("p", (WORK, EAT, WORK)), Trajectory("q", (Event("eat", "night", "office"),))]
    found = Events.from_trajectories(read)
    assert (found.activities, found.times, found.locations) == (
        ("eat", "work"),
        ("night", "day"),
        ("office", "cafe"),
    )
    assert found.occurring is None
    assert len(found.contexts) == 8
    assert set(Events.from_trajectories(read, occurring_only=True).contexts) == {
        event.label for trajectory in read for event in trajectory.events
    }


def test_a_secret_is_every_event_with_the_value() -> None:
    secret = EVENTS.secret("time", "night", at="any", delta=0.2)
    assert secret.name == "time = night"
    assert secret.contexts == {context for context in EVENTS.contexts if "|night|" in context}
    assert (secret.at, secret.delta) == ("any", 0.2)
    assert EVENTS.secret("location", "cafe", name="coffee").name == "coffee"
    only = Events(EVENTS.activities, EVENTS.times, EVENTS.locations, occurring=(EAT, WORK))
    assert only.secret("activity", "eat").contexts == {EAT.label}
    with pytest.raises(DiscreetError, match=r"cannot be secret"):
        only.secret("location", "home")


def test_unknown_attributes_and_values_name_what_is_near() -> None:
    with pytest.raises(DiscreetError, match=r"no attribute 'place'; known: 'activity', 'location', 'time'"):
        EVENTS.secret("place", "cafe")
    with pytest.raises(DiscreetError, match=r"location 'offce' is not known; did you mean 'office'"):
        EVENTS.secret("location", "offce")


def test_partial_events_show_what_is_kept() -> None:
    k = EVENTS.index_of(EAT)
    assert EVENTS.partial(k, (True, False, True)) == PartialEvent("eat", None, "cafe")
    assert EVENTS.partial(k, (False, False, False)) == PartialEvent()


def test_codes_of_a_trajectory() -> None:
    strange = Trajectory("p", (EAT, Event("swim", "day", "cafe")))
    assert EVENTS.codes(Trajectory("p", (WORK, EAT))).tolist() == [11, 0]
    assert EVENTS.codes(strange, missing=-1).tolist() == [0, -1]
    with pytest.raises(DiscreetError, match=r"activity 'swim' is not known"):
        EVENTS.codes(strange)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("eat", ("day",), ("x",)), "one string"),
        (((), ("day",), ("x",)), "no activities"),
        ((("eat",), ("day", "day"), ("x",)), "time 'day' occurs twice"),
        ((("eat",), ("day",), ("x|y",)), "contains"),
        ((("eat",), ("day",), ("x",), ()), "no event occurs"),
        ((("eat",), ("day",), ("x",), ("eat|day|x",)), r"'eat\|day\|x' among those that occur is not an event"),
    ],
)
def test_bad_vocabularies_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(DiscreetError, match=message):
        Events(*arguments)  # type: ignore[arg-type]


def test_no_trajectories_are_refused() -> None:
    with pytest.raises(DiscreetError, match=r"no trajectories"):
        Events.from_trajectories([])
    with pytest.raises(DiscreetError, match=r"no events"):
        Trajectory("p", ())
    with pytest.raises(DiscreetError, match=r"event 0 of 'p'"):
        Trajectory("p", ("eat|day|cafe",))  # type: ignore[arg-type]
    with pytest.raises(DiscreetError, match=r"timestamp '2024-05-01' of 'p' is not a datetime"):
        Trajectory("p", (EAT,), ("2024-05-01",))  # type: ignore[arg-type]


def test_timestamps_are_compared_as_instants() -> None:
    """Paris repeats the hour from two to three: 02:50 in summer time is before 02:10 in winter time."""
    paris = ZoneInfo("Europe/Paris")
    times = [dt.datetime(2026, 10, 25, 2, 50, tzinfo=paris), dt.datetime(2026, 10, 25, 2, 10, tzinfo=paris, fold=1)]
    two = Trajectory("p", (EAT, WORK), tuple(times))
    assert two.timestamps == (
        dt.datetime(2026, 10, 25, 0, 50, tzinfo=dt.UTC),
        dt.datetime(2026, 10, 25, 1, 10, tzinfo=dt.UTC),
    )
    with pytest.raises(DiscreetError, match=r"event 1 of 'p' is at .* before event 0"):
        Trajectory("p", (EAT, WORK), tuple(reversed(times)))
    with pytest.raises(DiscreetError, match=r"1 timestamps"):
        Trajectory("p", (EAT, WORK), tuple(times[:1]))
    with pytest.raises(DiscreetError, match=r"no time zone"):
        Trajectory("p", (EAT,), (dt.datetime(2026, 1, 1),))


def test_the_last_interval_runs_over_midnight() -> None:
    rule = Intervals.of("early 05:30, late shift 22:00", zone="Europe/Paris")
    assert rule.names == ("early", "late shift")
    found = [
        rule.locate(dt.datetime(2026, 1, 1, hour, minute)) for hour, minute in ((5, 29), (5, 30), (21, 59), (22, 0))
    ]
    assert found == ["late shift", "early", "early", "late shift"]
    assert rule.locate(dt.datetime(2026, 7, 1, 20, 0, tzinfo=dt.UTC)) == "late shift"  # 22:00 in Paris
    assert rule.locate(dt.datetime(2026, 1, 1, 20, 0, tzinfo=dt.UTC)) == "early"  # 21:00
    assert Intervals().locate(dt.datetime(2026, 1, 1, 6)) == "morning"
    assert rule.on("Asia/Tokyo") is rule
    assert Intervals().on(None).locate(dt.datetime(2026, 1, 1, 5, tzinfo=dt.UTC)) == "night"
    assert Intervals().on("Europe/Paris").locate(dt.datetime(2026, 1, 1, 5, tzinfo=dt.UTC)) == "morning"
    assert Intervals({"day": "00:00"}).locate(dt.datetime(2026, 1, 1, 23, 59)) == "day"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("night", "not a part of the day"),
        ("", "not a part of the day"),
        ("night 00:00, night 08:00", "not a part of the day"),
        ("day 08:00, night 00:00", "in order of time"),
        ("night 00:00, day 00:00", "in order of time"),
        ("night 00:00, day 24:00", "in order of time"),
        ("night 00:00, day 8", "HH:MM"),
        ("a|b 00:00", "contains"),
    ],
)
def test_bad_rules_are_refused(rule: str, message: str) -> None:
    with pytest.raises(DiscreetError, match=message):
        Intervals.of(rule)
    with pytest.raises(DiscreetError, match=r"time zone"):
        Intervals(zone="Mars/Olympus")
    with pytest.raises(DiscreetError, match=r"no parts"):
        Intervals({})
