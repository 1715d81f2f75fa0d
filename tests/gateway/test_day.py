"""What the owner's page asks for: days, beliefs, places; by password alone."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Policy, Secret
from discreet.gateway.owner.beliefs import Watching
from discreet.mechanisms import Adaptive
from discreet.numerics import SLACK
from discreet.outputs import to_wire
from tests.gateway.people import CLOCK, START, closed, keeper, person_config, readings
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
    person = replace(person_config(routine=ROUTINE, outputs="suppress"), policy=POLICY)

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
        next_end = "2026-03-02T02:00:00+00:00"
        still = {"next": next_end, "zone": "UTC", "unpromised": None}
        assert await got(web, "days") == {"first": None, "last": None, **still}
        await lived(web, 6)
        next_end = "2026-03-02T14:00:00+00:00"
        assert await got(web, "days") == {"first": DATE, "last": DATE, **still, "next": next_end}
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


def test_what_was_withheld_has_the_rows_that_bind(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        await logged_in(web)
        contexts = ("home",) * 4 + ("work",) * 3 + ("clinic",) + ("home",) * 4
        for one in readings(contexts, START.date()):
            await web.pass_slot(one)
        day = await got(web, f"day?date={DATE}")
        silent = [one for one in day["slots"] if one["told"].get("context") != one["true"]]
        assert [one["slot"] for one in silent if one["true"] == "clinic"] == [7]
        for one in day["slots"]:
            assert (one["why"] is not None) == (one in silent)
        for one in silent:
            why = one["why"]
            assert 0 <= why["share"] < 1
            first = why["rows"][0]
            assert first["own"] == (one["true"] == "clinic")
            assert {row["secret"] for row in why["rows"]} <= {secret.name for secret in POLICY.secrets}
            assert all(0 < row["limit"] <= row["belief"] <= 1 and row["by"] in ("truth", "told") for row in why["rows"])
            hours = [dt.datetime.fromisoformat(first[edge]).timestamp() / 3600 for edge in ("start", "end")]
            assert hours[1] - hours[0] == 2 * first["slots"], "a slot has two hours"
        assert silent[-1]["why"] == (await got(web, f"day?date={DATE}&first={silent[-1]['slot']}"))["slots"][0]["why"]
        web.served.gateway.keeper.own.forget(START + dt.timedelta(days=60))
        old = await got(web, f"day?date={DATE}")
        assert [one["told"] for one in old["slots"]] == [one["told"] for one in day["slots"]], "what was told stays"
        assert all(one["true"] is None and one["why"] is None for one in old["slots"])

    told(tmp_path, story)


def test_nothing_is_explained_unless_somebody_asks_and_what_cannot_be_keeps_nothing_else_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def broken(*_: object) -> None:
        asked.append(1)
        raise ArithmeticError

    monkeypatch.setattr(Adaptive, "withheld", broken)
    one = keeper(tmp_path, START.timestamp(), person_config(routine=ROUTINE, outputs="suppress"))
    at = CLOCK.start_of(START.date(), 0).timestamp()
    for slot, reading in enumerate(readings(("clinic",) * CLOCK.slots, START.date()), 1):
        one.read([reading], at + slot * CLOCK.slot_seconds)
        assert len(one.turn(at + slot * CLOCK.slot_seconds)) == 1
    assert asked == [], "nobody asked"
    assert list(one.explain("jane", START.date()))
    assert asked
    assert one.own.why("jane", START.date()) == {}
    monkeypatch.undo()
    one.turn(one.next)
    closed(one)


def test_the_line_of_a_window_is_what_was_believed_after_each_slot(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        await logged_in(web)
        gains = []
        person = web.served.gateway.keeper.people["jane"]
        for one in readings(("home",) * 4 + ("work",) * 8, START.date()):
            await web.pass_slot(one)
            gains.append(person.session.gains(DATE)["clinic today"])
            if len(gains) == 5:
                early = (await got(web, f"beliefs?date={DATE}"))["secrets"][1]
                assert early["line"][5:] == [None] * 7
                assert early["belief"] == pytest.approx(early["line"][4], abs=1e-12)
        await web.pass_slots(2)
        late = (await got(web, f"beliefs?date={DATE}"))["secrets"][1]
        assert np.array(late["line"]) == pytest.approx(np.array(gains) + late["prior"], abs=1e-12)
        assert late["belief"] - late["prior"] == pytest.approx(person.session.gains(DATE)["clinic today"], abs=1e-12)
        brief = (await got(web, f"beliefs?date={DATE}&lines"))["secrets"]
        assert brief[1] == {"name": "clinic today", "belief": late["belief"], "line": late["line"]}
        assert set(brief[0]) == {"name", "belief"}

    told(tmp_path, story)


def test_days_that_are_looked_at_are_kept_and_not_without_end(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        person = web.served.gateway.keeper.people["jane"]
        watching = Watching()
        await lived(web, 12)
        first = watching.of("jane", person.session, START.date())
        for _ in range(11):
            await web.pass_slots(CLOCK.slots)
            found = watching.of("jane", person.session, START.date())
            assert found is first
            kept, anew = found.belief.on(START.date()), person.session.gains(DATE)
            assert all(np.array_equal(kept[name], anew[name]) for name in anew), "to the last bit"
        for back in range(11):
            for name in ("jane", "as if somebody else"):
                watching.of(name, person.session, START.date() + dt.timedelta(days=back))
        assert len(watching) == 16

    told(tmp_path, story)


def test_a_glance_has_how_much_was_shown_and_the_strips_of_a_week(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        await logged_in(web)
        await lived(web, 12)
        await web.pass_slots(5)
        rows = web.served.gateway.rows("jane")
        for _ in range(2):  # read, and kept
            first, second = (await got(web, f"glance?from={DATE}&to=2026-03-20"))["days"]
            shown = sum("context" in to_wire(row.output) for row in rows if row.date == START.date())
            assert first == {"date": DATE, "shown": shown, "decided": 12}
            assert (second["date"], second["decided"]) == ("2026-03-03", 5)
        day = await got(web, f"day?date={DATE}")
        (strip, _) = (await got(web, f"glance?from={DATE}&to=2026-03-08&strips"))["days"]
        assert strip["true"] == [one["true"] for one in day["slots"]]
        assert strip["told"] == [one["told"].get("context", "") for one in day["slots"]]
        await web.pass_slots(1)
        assert (await got(web, f"glance?from={DATE}&to=2026-03-08"))["days"][1]["decided"] == 6

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
        asked = ("days", f"day?date={DATE}", f"glance?from={DATE}&to={DATE}", f"beliefs?date={DATE}", "places")
        for path in asked:
            assert (await web.client.get(f"{PATH}/{path}")).status_code == 401
            for headers in (web.bearer("application"), web.bearer("source"), web.bearer("owner", None)):
                assert (await web.client.get(f"{PATH}/{path}", headers=headers)).status_code == 403
        await logged_in(web)
        for headers in (web.bearer("application"), web.bearer("owner", None)):
            answer = await web.client.get(f"{PATH}/day?date={DATE}", headers=headers)
            assert answer.status_code == 403, "a token beside the cookie is what counts"
        for path in (
            "day",
            "day?date=yesterday",
            "day?date=0001-01-01",
            "day?date=9999-12-31",
            f"day?date={DATE}&first=x",
            "beliefs",
            "glance",
            "glance?from=2026-03-02&to=2026-03-01",
            "glance?from=2026-03-02&to=2026-04-13",
            "glance?from=2026-03-02&to=2026-03-09&strips",
        ):
            assert (await web.client.get(f"{PATH}/{path}")).status_code == 400
        late = await web.client.get(f"{PATH}/day?date={DATE}&first={10**30}")
        assert (late.status_code, late.json()["slots"]) == (200, [])
        assert (await web.client.get("/v1/owner/people/joe/days")).status_code == 404

    told(tmp_path, story)


def test_the_door_says_whether_there_is_an_owner_and_who_is_inside(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        door = "/v1/owner/door"
        assert (await web.client.get(door)).json() == {"owned": False, "entered": False, "accounts": False}
        await logged_in(web)
        assert (await web.client.get(door)).json() == {"owned": True, "entered": True, "accounts": False}
        web.client.cookies.clear()
        assert (await web.client.get(door)).json() == {"owned": True, "entered": False, "accounts": False}

    told(tmp_path, story)
