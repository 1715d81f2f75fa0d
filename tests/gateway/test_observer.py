"""From readings to wire to posterior: who has one application's bytes of a month stays within delta.

And a coarser view is an average of the whole: it tells no more.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.gateway.config.broker import Broker, ToldView
from discreet.gateway.forms import Forms, encoded
from discreet.gateway.store.journal.base import JournalRow
from discreet.numerics import SLACK
from discreet.outputs import Released, Suppressed
from tests.gateway.mosquitto import Heard, Mosquitto, hearing, until
from tests.gateway.observer import Observer, events_in, outputs_of
from tests.gateway.people import CLOCK, PLACES, START, a_day, person_config, readings
from tests.gateway.web import FAMILY, ROUTINE, Wall, listening_web, opened

DAYS = 30
DELTA = 0.1
FLOATS = 1e-9
"""What a plain filter in floats may be off by after some hundred slots; the library's own is exact to far less."""


async def a_month(
    folder: Path, outputs: str, days: int = DAYS
) -> tuple[bytes, bytes, list[bytes], dict[str, dict[int, float]]]:
    """The bytes that applications received of a month: the stream, the coarse stream, the history; and the gains."""
    rng = np.random.default_rng(11)
    who = person_config(routine=ROUTINE, outputs=outputs)
    async with listening_web(folder, Wall(), [who]) as web:
        source, whole, family = (
            web.bearer("source"),
            web.bearer("application"),
            web.bearer("application", view="family"),
        )
        heard: dict[str, bytes] = {"whole": b"", "family": b""}

        async def read(name: str, headers: dict[str, str]) -> None:
            async with web.client.stream("GET", "/v1/people/jane/stream", headers=headers) as answer:
                async for part in answer.aiter_raw():
                    heard[name] += part

        tasks = [asyncio.create_task(read("whole", whole)), asyncio.create_task(read("family", family))]
        while len(web.served.streams) < 2:
            await asyncio.sleep(0.01)
        for day in range(days):
            date = START.date() + dt.timedelta(days=day)
            for one in readings(a_day(CLOCK, rng), date):
                latitude, longitude = one.position or (0.0, 0.0)
                web.wall.now = one.instant / 1e6
                body = {"time": one.instant / 1e6, "latitude": latitude, "longitude": longitude}
                answer = await web.client.post("/v1/people/jane/readings", json=body, headers=source)
                assert answer.json() == {"kept": 1, "refused": 0}
                await web.pass_slot()
        while (
            heard["whole"].count(b"data: ") < days * CLOCK.slots
            or heard["family"].count(b"data: ") < days * CLOCK.slots
        ):
            await asyncio.sleep(0.01)
        pages, address = [], "/v1/people/jane/releases?limit=100"
        while address:
            answer = await web.client.get(address, headers=whole)
            pages.append(answer.content)
            address = answer.links.get("next", {}).get("url", "")
        gains = {name: dict(rows) for name, rows in web.served.gateway.keeper.people["jane"].session.gains().items()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return heard["whole"], heard["family"], pages, gains


@pytest.mark.parametrize(("vocabulary", "days"), [("suppress", DAYS), ("deceive", DAYS // 3)])
def test_a_months_bytes_tell_no_more_than_delta(tmp_path: Path, vocabulary: str, days: int) -> None:
    stream, coarse, pages, live = asyncio.run(a_month(tmp_path, vocabulary, days))
    events = events_in(stream)
    assert [name for name, _ in events] == [
        f"{START.date() + dt.timedelta(days=k // 12)}.{k % 12}" for k in range(days * 12)
    ]
    history = [event for page in pages for event in json.loads(page)["releases"]]
    assert history == [event for _, event in events], "both ways tell the same"
    outputs = outputs_of(history)
    assert sum(isinstance(output, Released) for output in outputs) > days * 6
    who = person_config(routine=ROUTINE, outputs=vocabulary)
    observer = Observer(who.make(ROUTINE.since(START.date(), first=0)), "clinic")
    gains = observer.gains(outputs)
    worst = max(max(after.values()) for after in gains)
    assert 0.01 < worst <= DELTA + SLACK + FLOATS
    assert live["clinic"], "the gateway's own observer agrees"
    for slot, gain in live["clinic"].items():
        if slot in gains[-1]:
            assert gain == pytest.approx(gains[-1][slot], abs=FLOATS)
    for (_, event), output in zip(events_in(coarse), outputs, strict=True):
        shown = outputs_of([event])[0]
        assert shown == FAMILY.of(output), "a view is a function of what was told"
        assert set(event) <= {*history[0], "context", "latitude", "longitude", "radius"}
    silent = [event for event, output in zip(history, outputs, strict=True) if isinstance(output, Suppressed)]
    assert all(set(event) == {"person", "date", "slot", "start", "end", "kind"} for event in silent)


async def a_month_on_the_broker(folder: Path, broker: Mosquitto) -> tuple[list[bytes], dict[int, float]]:
    """The bytes that one subscriber received of a month, in the order in which they came; and the gateway's gains."""
    rng = np.random.default_rng(11)
    at = Broker(port=broker.port, tells=(ToldView("jane", forms=frozenset({"json"})),))
    who = person_config(routine=ROUTINE, outputs="suppress")
    async with hearing(broker, at.topic("jane", "whole"), at.status) as heard:
        async with opened(folder, Wall(), [who], broker=at) as web:
            await until("the gateway to be there", lambda: any(bytes(one.payload) == b"online" for one in heard))
            source = web.bearer("source")
            for day in range(DAYS):
                for one in readings(a_day(CLOCK, rng), START.date() + dt.timedelta(days=day)):
                    latitude, longitude = one.position or (0.0, 0.0)
                    web.wall.now = one.instant / 1e6
                    body = {"time": one.instant / 1e6, "latitude": latitude, "longitude": longitude}
                    answer = await web.client.post("/v1/people/jane/readings", json=body, headers=source)
                    assert answer.json() == {"kept": 1, "refused": 0}
                    await web.pass_slot()
            await until("the month", lambda: len(payloads(heard, at)) >= DAYS * CLOCK.slots)
            gains = dict(web.served.gateway.keeper.people["jane"].session.gains()["clinic"])
        return payloads(heard, at), gains


def payloads(heard: Heard, broker: Broker) -> list[bytes]:
    """What came on the person's topic."""
    return [bytes(one.payload) for one in heard if str(one.topic) == broker.topic("jane", "whole")]


def test_a_months_bytes_over_mqtt_tell_no_more_than_delta(tmp_path: Path, mosquitto: Mosquitto) -> None:
    received, live = asyncio.run(a_month_on_the_broker(tmp_path / "data", mosquitto))
    events = [json.loads(payload) for payload in received]
    assert [(event["date"], event["slot"]) for event in events] == [
        ((START.date() + dt.timedelta(days=k // CLOCK.slots)).isoformat(), k % CLOCK.slots)
        for k in range(DAYS * CLOCK.slots)
    ], "each slot once, in order"
    outputs = outputs_of(events)
    assert sum(isinstance(output, Released) for output in outputs) > DAYS * 6
    who = person_config(routine=ROUTINE, outputs="suppress")
    gains = Observer(who.make(ROUTINE.since(START.date(), first=0)), "clinic").gains(outputs)
    worst = max(max(after.values()) for after in gains)
    assert 0.01 < worst <= DELTA + SLACK + FLOATS
    both = live.keys() & gains[-1].keys()
    assert both, "the gateway's own observer looks at the same slots"
    assert {slot: gains[-1][slot] for slot in both} == pytest.approx({slot: live[slot] for slot in both}, abs=FLOATS)


def test_a_coarse_view_is_an_average_of_the_whole(tmp_path: Path) -> None:
    """Every way that three slots can go, by every path: the posterior by the coarse bytes, and by the whole's."""
    slots, first = 3, 6
    machine: Any = person_config(routine=ROUTINE, outputs="suppress").make(ROUTINE.since(START.date(), first=first))
    model, clinic = machine.model, ROUTINE.contexts.index("clinic")
    forms = Forms("jane", CLOCK, PLACES, FAMILY)
    count = len(model.contexts)
    joint: dict[tuple[Any, ...], Any] = {}  # of each run of outputs, {path of contexts: probability}
    for path in itertools.product(range(count), repeat=slots):
        chance = float(model.prior_at(first)[path[0]])
        for k in range(slots - 1):
            chance *= float(np.asarray(model.transition(first + k))[path[k], path[k + 1]])
        runs: list[tuple[tuple[Any, ...], Any, int | None, float]] = [((), machine.start(), None, chance)]
        for context in path:
            grown: list[tuple[tuple[Any, ...], Any, int | None, float]] = []
            for seen, state, memory, weight in runs:
                kernel = machine.kernel(state)
                private = machine.remember(memory, context)
                for output in kernel.outputs:
                    likely = float(kernel.likelihood(output)[private])
                    if likely:
                        grown.append(((*seen, output), machine.advance(state, output), private, weight * likely))
            runs = grown
        for seen, _, _, weight in runs:
            joint.setdefault(seen, {})[path] = weight
    assert sum(sum(paths.values()) for paths in joint.values()) == pytest.approx(1.0, abs=FLOATS)

    def on_the_wire(seen: tuple[Any, ...]) -> bytes:
        rows = [JournalRow("jane", START.date(), first + k, 0, 1, k, output, "", ()) for k, output in enumerate(seen)]
        return b"".join(encoded(forms.event(row)) for row in rows)

    coarse: dict[bytes, list[tuple[Any, ...]]] = defaultdict(list)
    for seen in joint:
        coarse[on_the_wire(seen)].append(seen)
    assert 1 < len(coarse) < len(joint)
    for runs_alike in coarse.values():
        mass = {seen: sum(joint[seen].values()) for seen in runs_alike}
        whole = sum(mass.values())
        for slot in range(slots):
            fine = {
                seen: sum(weight for path, weight in joint[seen].items() if path[slot] == clinic) / mass[seen]
                for seen in runs_alike
            }
            believed = (
                sum(weight for seen in runs_alike for path, weight in joint[seen].items() if path[slot] == clinic)
                / whole
            )
            assert believed == pytest.approx(sum(mass[seen] / whole * fine[seen] for seen in runs_alike), abs=FLOATS)
            assert min(fine.values()) - FLOATS <= believed <= max(fine.values()) + FLOATS
            assert believed - float(model.prior_at(first + slot)[clinic]) <= DELTA + SLACK + FLOATS
