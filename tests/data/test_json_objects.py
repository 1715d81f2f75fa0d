"""Objects cut out of a stream of any block size are those of a parser that takes the document whole."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.data import json_objects
from discreet.data.json_objects import parsed_objects
from discreet.data.source import Fault

texts = st.text(alphabet='ab"\\{}[],: é\n', max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


def slow(value: Any, level: int) -> list[Any]:
    """The objects and lists in arrays at a depth, by walking over the whole value."""
    if level == 0:
        return []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if level == 1:
        return [one for one in inner if isinstance(one, dict | list)] if isinstance(value, list) else []
    return [found for one in inner for found in slow(one, level - 1)]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a shared machine is slow now and then
@given(values, st.integers(1, 3), st.integers(1, 40), st.sampled_from([None, 2]))
def test_the_same_as_the_whole_document(value: Any, level: int, block: int, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_objects, "BLOCK", block)
        found = list(parsed_objects(io.BytesIO(text), level))
    bare = not isinstance(value, dict | list)  # a document of one word is nobody's log
    wanted = slow(value, level)
    assert [None if isinstance(said, Fault) else said for _, said in found[: len(wanted)]] == [
        None if isinstance(one, list) else one for one in wanted
    ]
    assert len(found) == len(wanted) or bare
    assert [number for number, _ in found] == list(range(1, len(found) + 1))


@pytest.mark.slow("compares with a slow twin on many random cases")
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a shared machine is slow now and then
@given(st.lists(st.dictionaries(texts, values, max_size=3), max_size=4), st.integers(1, 40))
def test_objects_beside_each_other(objects: list[Any], block: int) -> None:
    text = "\n".join(json.dumps(one) for one in objects).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_objects, "BLOCK", block)
        assert [said for _, said in parsed_objects(io.BytesIO(text), 0)] == objects


@pytest.mark.parametrize(
    ("text", "sound", "problem"),
    [
        (b'{"a":[{"x":1},{"x":2},{"x":', [1, 2], "breaks off"),
        (b'{"a":[{"x":1},{"x":2}', [1, 2], "breaks off"),
        (b'{"a":[{"x":1},{"x":"unclosed', [1], "breaks off"),
        (b'{"a":[{"x":1},{"x":nonsense},{"x":3}]}', [1, 3], "is not JSON"),
        (b'{"a":[{"x":1},{"x":"\xe9"},{"x":3}]}', [1, 3], "is not JSON in UTF-8"),
        (b'{"a":[{"x":1}]}]', [1], "nothing opened"),
        (b'{"a":[{"x":1},{"x":NaN},{"x":3}]}', [1, 3], "is not JSON"),
        (b'{"a":[{"x":1},[{"x":2}],{"x":3}]}', [1, 3], "is a list where an object should be"),
    ],
)
def test_damage_is_told_and_the_rest_read(text: bytes, sound: list[int], problem: str) -> None:
    found = [said for _, said in parsed_objects(io.BytesIO(text), 2)]
    assert [said["x"] for said in found if not isinstance(said, Fault)] == sound
    (fault,) = (said for said in found if isinstance(said, Fault))
    assert problem in fault.problem


def test_an_object_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_objects, "BLOCK", 1000)
    monkeypatch.setattr(json_objects, "LONGEST", 10_000)
    stream = io.BytesIO(b'{"a":[{"x":1},{"x":[' + b"1," * 50_000)
    first, last = (said for _, said in parsed_objects(stream, 2))
    assert first == {"x": 1}
    assert isinstance(last, Fault)
    assert "has no end" in last.problem
    assert stream.tell() < 20_000


def test_python_s_own_parser_refuses_what_is_not_json() -> None:
    assert json_objects._strict(b'{"x": 1}') == {"x": 1}
    with pytest.raises(ValueError, match="NaN is not JSON"):
        json_objects._strict(b'{"x": NaN}')
