from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.toml_text import toml_comment, toml_key, toml_value

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PLAIN = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXT
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))


@given(VALUES)
def test_what_is_written_is_read(value: object) -> None:
    assert tomllib.loads(f"value = {toml_value(value)}")["value"] == value


@given(TEXT)
def test_any_text_is_a_key_and_a_comment(text: str) -> None:
    assert tomllib.loads(f"{toml_comment(text)}\n[a.{toml_key(text)}]\nb = 1") == {"a": {text: {"b": 1}}}


def test_what_toml_has_not_is_refused() -> None:
    with pytest.raises(DiscreetError, match="cannot be written as TOML"):
        toml_value(None)
    assert toml_value("lone \ud800") == '"lone ?"'
