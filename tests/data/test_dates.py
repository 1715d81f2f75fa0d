from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from discreet.data.dates import Form, form_of, offset_of
from discreet.data.instants import with_instant


@pytest.mark.parametrize(
    ("values", "form"),
    [
        (["3/14/2026 8:05", "3/2/2026 23:59"], Form("%m/%d/%Y %H:%M", True)),
        (["14/3/2026 8:05:09"], Form("%d/%m/%Y %H:%M:%S", True)),
        (["3/4/2026 8:05"], Form("%d/%m/%Y %H:%M", False)),
        (["3/4/2026 8:05 PM"], Form("%m/%d/%Y %I:%M %p", True)),
        (["03.04.2026 08:05"], Form("%d.%m.%Y %H:%M", True)),
        (["2026/03/14 08:05"], Form("%Y/%m/%d %H:%M", True)),
        (["03-14-26"], Form("%m-%d-%y", True)),
        (["2026-03-14 08:05"], None),
        (["1772956800"], None),
        (["14/3/2026 8:05", "3/14/2026 8:05"], None),
        (["14/3/2026 8:05", "soon"], None),
        ([], None),
    ],
)
def test_a_form_is_certain_or_said_not_to_be(values: list[str], form: Form | None) -> None:
    assert form_of(values) == form


@pytest.mark.parametrize(
    "text",
    [
        "3/14/2026 8:05",
        "14/3/2026 08:05:00",
        "3/14/2026 8:05 AM",
        "14.03.2026 08:05",
        "2026/03/14 08:05",
        "14.3.26 8:05",
    ],
)
def test_what_is_found_is_read(text: str) -> None:
    form = form_of([text])
    assert form is not None
    assert form.certain
    frame = with_instant(
        pl.DataFrame({"timestamp": [text, "x"]}), "timestamp", zone="UTC", epoch="auto", form=form.code
    )
    expected = int(dt.datetime(2026, 3, 14, 8, 5, tzinfo=dt.UTC).timestamp()) * 1_000_000
    assert frame["timestamp_instant"].to_list() == [expected, None]


def test_a_date_alone_is_its_midnight_and_an_offset_places_it() -> None:
    frame = pl.DataFrame({"timestamp": ["14/03/2026"]})
    naive = with_instant(frame, "timestamp", zone=None, epoch="auto", form="%d/%m/%Y")
    assert naive["timestamp_naive"].to_list() == [True]
    placed = pl.DataFrame({"timestamp": ["14/03/2026 08:05 +0100"]})
    found = with_instant(placed, "timestamp", zone=None, epoch="auto", form="%d/%m/%Y %H:%M %z")
    assert found["timestamp_instant"].to_list() == [
        int(dt.datetime(2026, 3, 14, 7, 5, tzinfo=dt.UTC).timestamp()) * 1_000_000
    ]


def test_offsets_that_are_stated() -> None:
    assert offset_of(["2026-03-14T08:05:00Z", "2026-03-14T08:05:00+00:00", "2026-03-14T08:05:00-0500"]) == "-0500"
    assert offset_of(["2026-03-14", "1772956800"]) is None
