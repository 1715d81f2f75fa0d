from __future__ import annotations

import datetime as dt
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.outputs import (
    SKIPPED,
    SUPPRESSED,
    Generalized,
    Output,
    PartialEvent,
    Perturbed,
    Release,
    Released,
    Suppressed,
    from_wire,
    text_of,
    to_wire,
)

EXAMPLES: list[tuple[Output, dict[str, object], str]] = [
    (Released("home"), {"kind": "released", "context": "home"}, "home"),
    (Generalized("campus"), {"kind": "generalized", "node": "campus"}, "campus"),
    (Suppressed(), {"kind": "suppressed"}, ""),
    (SKIPPED, {"kind": "skipped"}, ""),
    (Perturbed((1.5, -2.0)), {"kind": "perturbed", "point": [1.5, -2.0]}, "1.5 -2"),
    (
        PartialEvent("eat", None, "cafe"),
        {"kind": "partial event", "activity": "eat", "time": None, "location": "cafe"},
        "eat||cafe",
    ),
]


@pytest.mark.parametrize(("output", "wire", "text"), EXAMPLES)
def test_the_wire_form_is_pinned(output: Output, wire: dict[str, object], text: str) -> None:
    assert to_wire(output) == wire
    assert from_wire(wire) == output
    assert text_of(output) == text


words = st.text(max_size=5)
outputs: st.SearchStrategy[Output] = st.one_of(
    st.builds(Released, words),
    st.builds(Generalized, words),
    st.just(SUPPRESSED),
    st.just(SKIPPED),
    st.builds(Perturbed, st.lists(st.floats(allow_nan=False), max_size=3).map(tuple)),
    st.builds(PartialEvent, *(st.none() | words,) * 3),
)


@given(outputs)
def test_every_output_survives_json(output: Output) -> None:
    back = from_wire(json.loads(json.dumps(to_wire(output))))
    assert back == output
    assert hash(back) == hash(output)


def test_kinds_differ_even_with_the_same_word() -> None:
    assert len({Released("a"), Generalized("a"), Suppressed(), SUPPRESSED, PartialEvent("a")}) == 4


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ({}, r"kind None is not known; kinds: released"),
        ({"kind": "hidden"}, r"kind 'hidden' is not known; kinds: released, generalized, suppressed"),
        ({"kind": ["released"]}, r"kind \['released'\] is not known"),
        ({"kind": "released"}, r"kind 'released' lacks 'context'; write it"),
        ({"kind": "generalized", "context": "a"}, r"kind 'generalized' lacks 'node'"),
        ({"kind": "partial event", "activity": "a", "time": None}, r"kind 'partial event' lacks 'location'"),
        ({"kind": "released", "context": 3}, r"kind 'released' has a value of the wrong type: .*3"),
        ({"kind": "perturbed", "point": "1"}, r"kind 'perturbed' has a value of the wrong type"),
        ({"kind": "perturbed", "point": [None]}, r"kind 'perturbed' has a value of the wrong type"),
        ({"kind": "perturbed", "point": [10**400]}, r"kind 'perturbed' has a value of the wrong type"),
        ({"kind": "partial event", "activity": 1, "time": None, "location": None}, r"'partial event' has a value"),
    ],
)
def test_a_message_that_is_no_output_says_what_is_missing(message: dict[str, object], complaint: str) -> None:
    with pytest.raises(DiscreetError, match=complaint):
        from_wire(message)


DATE, PARIS = dt.date(2024, 5, 1), dt.timezone(dt.timedelta(hours=2))


def test_the_wire_form_of_a_release_is_pinned() -> None:
    release = Release("p01", DATE, 17, dt.datetime(2024, 5, 1, 8, 30, tzinfo=PARIS), Perturbed((1.5, -2.0)))
    wire = {
        "person": "p01",
        "date": "2024-05-01",
        "slot": 17,
        "start": "2024-05-01T08:30:00+02:00",
        "kind": "perturbed",
        "value": "1.5 -2",
        "point": [1.5, -2.0],
    }
    assert release.to_wire() == json.loads(release.to_json()) == wire
    assert Release.from_wire(wire) == release


@given(st.none() | words, st.dates(), st.integers(0, 1440), st.none() | st.datetimes(timezones=st.just(PARIS)), outputs)
def test_every_release_survives_json(
    person: str | None, date: dt.date, slot: int, start: dt.datetime | None, output: Output
) -> None:
    if isinstance(output, Perturbed) and not all(map(math.isfinite, output.point)):
        with pytest.raises(DiscreetError, match="is not finite"):
            Release(person, date, slot, start, output).to_json()
    else:
        release = Release(person, date, slot, start, output)
        assert Release.from_wire(json.loads(release.to_json())) == release


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"person": 1}, "person 1 and slot 17 of a release must be text"),
        ({"slot": "17"}, "slot '17' of a release must be"),
        ({"slot": True}, "slot True"),
        ({"date": "1 May"}, "date '1 May' and start None of a release must be ISO 8601"),
        ({"start": 5}, "start 5 of a release"),
        ({"kind": "hidden"}, "kind 'hidden' is not known"),
    ],
)
def test_a_message_that_is_no_release_says_what_is_wrong(change: dict[str, object], complaint: str) -> None:
    wire = Release(None, DATE, 17, None, SUPPRESSED).to_wire()
    with pytest.raises(DiscreetError, match=complaint):
        Release.from_wire(wire | change)
    for key in change:
        with pytest.raises(DiscreetError, match=key if key != "kind" else "None"):
            Release.from_wire({name: value for name, value in wire.items() if name != key})
