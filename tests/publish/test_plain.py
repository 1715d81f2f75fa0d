"""Values as text: they come back as they were, and nothing but data does."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.errors import FileFormatError
from discreet.kernels import FiniteKernel
from discreet.outputs import SUPPRESSED, Perturbed, Release, Released
from discreet.policy import Policy
from discreet.publish.plain_values import from_text, to_text

RELEASES = [
    Release(
        "ann", dt.date(2026, 3, 29), 3, dt.datetime(2026, 3, 29, 3, tzinfo=dt.UTC), Released("home, \u2028 \U0001f680")
    ),
    Release("ann", dt.date(2026, 3, 29), 4, None, SUPPRESSED),
    Release("ann", dt.date(2026, 3, 29), 5, None, Perturbed((0.1, -1e-300))),
]


def test_values_come_back() -> None:
    values = [
        *(None, True, 3, "a\n\u0085", -0.0, 5e-324, [1, [2.5]], (), (1, ("x",)), {None: 1, "a": (2,)}),
        *(frozenset({"b", "a"}), dt.date(2026, 3, 1), dt.datetime(2026, 3, 1, 2, tzinfo=dt.UTC), Path("a/b")),
        *RELEASES,
    ]
    for value in values:
        back = from_text(to_text(value))
        assert back == value
        assert type(back) is type(value)
    assert math.isnan(from_text(to_text(math.nan)))
    assert from_text(to_text(-0.0)).hex() == "-0x0.0p+0"
    assert from_text(to_text(np.float64(0.1))) == 0.1


@pytest.mark.parametrize("kind", [np.float64, np.int64, np.bool_])
def test_arrays_come_back_to_the_bit(kind: type) -> None:
    array: npt.NDArray[Any] = (np.arange(6).reshape(2, 3) / 7).astype(kind)
    back = from_text(to_text({"array": array.T}))["array"]
    assert back.dtype == array.dtype
    assert back.tobytes() == np.ascontiguousarray(array.T).tobytes()
    assert back.shape == (3, 2)


def test_what_is_no_plain_value_is_not_written() -> None:
    kernel = FiniteKernel((SUPPRESSED,), np.array([[1]]), 1)
    for value in (kernel, object(), np.array([None]), len):
        with pytest.raises(TypeError, match="is no plain value"):
            to_text(value)


@pytest.mark.parametrize(
    "kind",
    [
        "os:system",
        "builtins:eval",
        "discreet.files:folder_beside",
        "discreet.kernels:FiniteKernel",
        "discreet.files:os.system",
        "discreet.nothing:None",
        "discreet.publish.plain_values:dataclasses",
        "",
    ],
)
def test_a_text_makes_nothing_but_data(kind: str) -> None:
    with pytest.raises(FileFormatError, match="cannot be read"):
        from_text(f'{{"!":"{kind}","of":["true"]}}')


def test_a_text_that_is_cut_off_is_refused() -> None:
    text = to_text(Policy("home", delta=0.2))
    assert from_text(text) == Policy("home", delta=0.2)
    for end in range(1, len(text), 7):
        with pytest.raises(FileFormatError, match="run it again"):
            from_text(text[:end])
