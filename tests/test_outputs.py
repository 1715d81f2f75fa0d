from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.outputs import (
    SUPPRESSED,
    Generalized,
    Output,
    PartialEvent,
    Perturbed,
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
