"""What the owner's page asks for: days, beliefs, places; by password alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Policy, Secret
from discreet.numerics import SLACK
from tests.gateway.people import CLOCK, START, readings, settled
from tests.gateway.web import ROUTINE, Web, opened

PATH = "/v1/owner/people/jane"
DATE = START.date().isoformat()
POLICY = Policy(
    [
        "clinic",
        Secret("clinic today", {"clinic"}, at="any", delta=0.2),
        Secret("late", {"clinic"}, slots=range(8, 12), cap=0.3),
    ],
    delta=0.1,
)


def told(tmp_path: Path, story: Callable[[Web], Awaitable[None]]) -> None:
    person = replace(settled(routine=ROUTINE, outputs="suppress"), policy=POLICY)

    async def whole() -> None:
        async with opened(tmp_path, people=[person]) as web:
            await story(web)

    asyncio.run(whole())


async def logged_in(web: Web) -> None:
    document = {"token": web.served.owner.first, "password": "correct horse"}
    assert (await web.client.post("/v1/owner/first", json=document)).status_code == 200


async def lived(web: Web, slots: int) -> None:
    """The first slots of the first day, at home and then at work."""
    every = list(readings(("home",) * 4 + ("work",) * 8, START.date()))
    for slot in range(slots):
        await web.pass_slot(every[slot])


async def got(web: Web, path: str) -> Any:
    answer = await web.client.get(f"{PATH}/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_day_has_what_was_told_beside_what_was_true(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        await logged_in(web)
        assert await got(web, "days") == {"first": None, "last": None}
        await lived(web, 6)
        assert await got(web, "days") == {"first": DATE, "last": DATE}
        day = await got(web, f"day?date={DATE}")
        assert [one["slot"] for one in day["slots"]] == list(range(CLOCK.slots))
        assert [one["true"] for one in day["slots"]] == ["home"] * 4 + ["work"] * 2 + [None] * 6
        rows = web.served.gateway.rows("jane")
        assert [one["told"]["kind"] for one in day["slots"][:6]] == [type(row.output).__name__.lower() for row in rows]
        assert all(one["told"] is None for one in day["slots"][6:])
        assert day["slots"][1]["start"] == "2026-03-02T02:00:00+00:00"
        empty = await got(web, "day?date=2020-01-01")
        assert all(one["told"] is None and one["true"] is None for one in empty["slots"])

    told(tmp_path, story)


def test_beliefs_are_the_sessions_gains_above_the_prior_and_within_their_limits(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        await logged_in(web)
        await lived(web, 7)
        found = await got(web, f"beliefs?date={DATE}")
        assert found["why"] is None
        each, anytime, late = found["secrets"]
        gains = web.served.gateway.keeper.people["jane"].session.gains(DATE)
        prior = np.array(each["prior"])
        assert np.allclose(np.array(each["belief"]) - prior, gains["clinic"], rtol=0, atol=1e-12)
        assert np.allclose(
            prior,
            web.served.gateway.keeper.people["jane"].session.belief.adversary.model.routine.prior(START.date())[
                :, ROUTINE.contexts.index("clinic")
            ],
            rtol=0,
            atol=1e-9,
        )
        assert np.allclose(np.array(each["limit"]), np.minimum(1, prior + 0.1), rtol=0, atol=1e-12)
        assert (np.array(each["belief"]) <= np.array(each["limit"]) + SLACK).all()
        assert anytime["at"] == "any"
        assert anytime["belief"] - anytime["prior"] == pytest.approx(gains["clinic today"], abs=1e-12)
        assert anytime["prior"] >= prior.max()
        assert anytime["limit"] == pytest.approx(anytime["prior"] + 0.2)
        assert late["prior"][:8] == late["belief"][:8] == late["limit"][:8] == [None] * 8
        expected = [p + POLICY.row_delta(POLICY.secrets[2], p) for p in late["prior"][8:]]
        assert late["limit"][8:] == pytest.approx(expected)
        past = await got(web, "beliefs?date=2020-01-01")
        assert past["secrets"] == []
        assert "2020-01-01" in past["why"]

    told(tmp_path, story)


def test_places_have_their_shapes(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        await logged_in(web)
        found = (await got(web, "places"))["places"]
        assert [one["name"] for one in found] == ["home", "work", "clinic"]
        assert found[0]["middle"] == [48.10, 11.50]
        assert all(len(ring) > 8 for one in found for ring in one["rings"])

    told(tmp_path, story)


def test_they_are_for_the_owner_in_person(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        asked = ("days", f"day?date={DATE}", f"beliefs?date={DATE}", "places")
        for path in asked:
            assert (await web.client.get(f"{PATH}/{path}")).status_code == 401
            for headers in (web.bearer("application"), web.bearer("source"), web.bearer("owner", None)):
                assert (await web.client.get(f"{PATH}/{path}", headers=headers)).status_code == 403
        await logged_in(web)
        for headers in (web.bearer("application"), web.bearer("owner", None)):
            answer = await web.client.get(f"{PATH}/day?date={DATE}", headers=headers)
            assert answer.status_code == 403, "a token beside the cookie is what counts"
        for path in ("day", "day?date=yesterday", "beliefs"):
            assert (await web.client.get(f"{PATH}/{path}")).status_code == 400
        assert (await web.client.get("/v1/owner/people/joe/days")).status_code == 404

    told(tmp_path, story)


def test_the_door_says_whether_there_is_an_owner_and_who_is_inside(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        door = "/v1/owner/door"
        assert (await web.client.get(door)).json() == {"owned": False, "entered": False}
        await logged_in(web)
        assert (await web.client.get(door)).json() == {"owned": True, "entered": True}
        web.client.cookies.clear()
        assert (await web.client.get(door)).json() == {"owned": True, "entered": False}

    told(tmp_path, story)
