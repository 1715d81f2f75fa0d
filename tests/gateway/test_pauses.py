"""Pauses: whole days of skips, announced days ahead, which do not depend on the truth and outlast a restart."""

from __future__ import annotations

import asyncio
import datetime as dt
from pathlib import Path

import pytest

from discreet.errors import DiscreetError
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.pauses import joined
from discreet.gateway.store.journal.base import JournalRow, broken_link
from discreet.outputs import Skipped
from tests.gateway.people import CLOCK, KEY, START, closed, habits, keeper, person_config, readings
from tests.gateway.test_day import logged_in
from tests.gateway.test_keeper import boundaries
from tests.gateway.web import opened

PATH = "/v1/owner/people/jane/pauses"
TODAY = START.date()
DAY = dt.timedelta(days=1)
AWAY = ("home",) * 4 + ("work",) * 4 + ("clinic",) + ("home",) * 3


def started(folder: Path) -> Keeper:
    return keeper(folder, START.timestamp(), person_config(routine=habits(), outputs="suppress"))


def lived(one: Keeper, ends: list[float], contexts: tuple[str, ...]) -> list[JournalRow]:
    """Pass slots, with the same contexts each day."""
    rows = []
    for number, end in enumerate(ends):
        if number % CLOCK.slots == 0:
            date = TODAY + DAY * (number // CLOCK.slots)
            one.read(list(readings(contexts, date)), end + 86_400)
        rows += one.turn(end)
    return rows


def test_a_pause_is_whole_days_of_skips_whatever_is_true(tmp_path: Path) -> None:
    ends = list(boundaries(6))
    found = []
    for contexts in (AWAY, ("clinic",) * CLOCK.slots):
        (tmp_path / contexts[0]).mkdir()
        one = started(tmp_path / contexts[0])
        one.pauses.announce(one.people["jane"], TODAY + 2 * DAY, TODAY + 3 * DAY)
        rows = lived(one, ends, contexts)
        skipped = {row.key for row in rows if isinstance(row.output, Skipped)}
        assert skipped == {(TODAY + k * DAY, slot) for k in (2, 3) for slot in range(CLOCK.slots)}
        assert one.own.truth("jane", TODAY + 2 * DAY) == {}, "nothing is decided, so nothing is settled"
        assert broken_link(iter(one.journal.all_rows("jane")), KEY) is None
        assert not isinstance(rows[-1].output, Skipped)
        assert one.pauses.of("jane") == [(TODAY + 2 * DAY, TODAY + 3 * DAY)]
        found.append(skipped)
        closed(one)
    assert found[0] == found[1]


def test_a_pause_outlasts_a_restart_in_its_middle(tmp_path: Path) -> None:
    ends = list(boundaries(5))
    one = started(tmp_path)
    one.pauses.announce(one.people["jane"], TODAY + 2 * DAY, TODAY + 2 * DAY)
    lived(one, ends[: 2 * CLOCK.slots + 3], AWAY)
    closed(one)
    again = started(tmp_path)
    rows = [row for end in ends[2 * CLOCK.slots + 3 :] for row in again.turn(end)]
    skipped = [row for row in rows if isinstance(row.output, Skipped)]
    assert [row.key for row in skipped] == [(TODAY + 2 * DAY, slot) for slot in range(3, CLOCK.slots)]
    assert broken_link(iter(again.journal.all_rows("jane")), KEY) is None
    closed(again)


def test_what_is_too_soon_is_refused_and_a_pause_under_way_is_only_cut_short_later(tmp_path: Path) -> None:
    one = started(tmp_path)
    jane = one.people["jane"]
    for first in (TODAY - DAY, TODAY, TODAY + DAY):
        with pytest.raises(DiscreetError, match="would tell everybody"):
            one.pauses.announce(jane, first, TODAY + 9 * DAY)
    with pytest.raises(DiscreetError, match="366 days at most"):
        one.pauses.announce(jane, TODAY + 2 * DAY, TODAY + 400 * DAY)
    with pytest.raises(DiscreetError, match="366 days at most"):
        one.pauses.announce(jane, TODAY + 3 * DAY, TODAY + 2 * DAY)
    assert one.pauses.of("jane") == []
    one.pauses.announce(jane, TODAY + 2 * DAY, TODAY + 6 * DAY)
    lived(one, list(boundaries(3))[: 2 * CLOCK.slots + 1], AWAY)  # it has begun
    one.pauses.take_back(jane, TODAY + 2 * DAY)
    assert one.pauses.of("jane") == one.own.pauses("jane") == [(TODAY + 2 * DAY, TODAY + 3 * DAY)]
    with pytest.raises(DiscreetError, match="too late"):
        one.pauses.take_back(jane, TODAY + 2 * DAY)
    with pytest.raises(DiscreetError, match="no such pause"):
        one.pauses.take_back(jane, TODAY + 5 * DAY)
    one.own.erase("jane")
    assert one.own.pauses("jane") == []
    closed(one)


def test_pauses_that_touch_are_one() -> None:
    day = [TODAY + k * DAY for k in range(12)]
    assert joined([(day[5], day[6]), (day[1], day[2]), (day[3], day[3]), (day[8], day[9]), (day[6], day[6])]) == [
        (day[1], day[3]),
        (day[5], day[6]),
        (day[8], day[9]),
    ]


def test_the_routes_of_pauses(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "files") as web:
            assert (await web.client.get(PATH)).status_code == 401
            assert (await web.client.get(PATH, headers=web.bearer("application"))).status_code == 403
            await logged_in(web)
            later, last = (TODAY + 2 * DAY).isoformat(), (TODAY + 4 * DAY).isoformat()
            days = {"first": later, "last": last}
            assert (await web.client.post(PATH, json=days)).status_code == 403, "without the session's word"
            web.client.headers["X-CSRF-Token"] = (await web.client.get("/v1/owner")).json()["csrf"]
            soon = await web.client.post(PATH, json=days | {"first": TODAY.isoformat()})
            assert soon.status_code == 400
            assert "would tell everybody" in soon.json()["error"]
            assert (await web.client.post(PATH, json=days | {"first": "soon"})).status_code == 400
            found = (await web.client.post(PATH, json=days)).json()
            assert found == {"earliest": later, "today": TODAY.isoformat(), "pauses": [days]}
            assert (await web.client.get(PATH)).json() == found
            assert (await web.client.delete(f"{PATH}/{last}")).status_code == 400
            assert (await web.client.delete(f"{PATH}/{later}")).json()["pauses"] == []

    asyncio.run(story())
