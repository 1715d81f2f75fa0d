"""A person made up for a first look: a life that passes fast, a phone that writes, an application that reads.

The phone and the application are callers like any other: they have tokens and speak HTTP to the gateway. The page shows
what was true beside what the application received, which only a simulation can show, and what a simple filter would
have shown instead, with what a stranger concludes of either.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import http.client
import json
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from discreet.choosing.policy_text import policy_file_text
from discreet.clock import Clock
from discreet.contexts import OTHER, UNKNOWN
from discreet.files import written_whole
from discreet.gateway.app import GatewayPlan, PreparedGateway
from discreet.gateway.config.sections import Keeping, Server
from discreet.gateway.config.views import View
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.folder import Folder
from discreet.mechanisms.baselines import MaskSensitive
from discreet.mechanisms.named import Spec
from discreet.models.routine.routine import Routine
from discreet.models.simulate import person
from discreet.outputs import Output, Released, Suppressed, from_wire, text_of
from discreet.places import Circle, Place, Places
from discreet.places.palette import colours_of, numbered
from discreet.policy import Policy, Secret
from discreet.session import Session

NAME = "sam"
CLOCK = Clock(48)
SECRET = "hospital"
LEARNED, LIVED = 84, 364
"""Days of the past, from which habits are learned, and days that are then lived, over and over."""

SLOT = 2.0
"""Seconds that half an hour takes."""

BEFORE = 8
"""Slots before the first visit to the secret place at which the life begins: it is seen within a minute."""

SHOWN = 48
"""Slots on the page."""

PAGES = Path(__file__).parent / "pages"

VIEW = View("family", {"home": frozenset({"home"})}, rest="out")


class Life:
    """The days of somebody who is made up, and the fast clock that they pass by."""

    def __init__(self, seed: int = 7, slot: float = SLOT) -> None:
        days = person(NAME, days=LEARNED + LIVED, slots=CLOCK.slots, contexts=8, seed=seed)
        today = next(k for k, day in enumerate(days) if k >= LEARNED and SECRET in day.contexts)
        self.past, self.days = days[today - LEARNED : today], days[today:]
        first = self.days[0].date
        assert first is not None  # the simulator dates its days
        self.first = first
        visit = self.days[0].contexts.index(SECRET)
        self._begins = CLOCK.start_of(first, max(0, visit - BEFORE)).timestamp()
        self._since: float | None = None
        self.pace = CLOCK.slot_seconds / slot
        labels = sorted({label for day in days for label in day.contexts} - {UNKNOWN})
        self.places = Places([Place(label, Circle(*_somewhere(k), 120)) for k, label in enumerate(labels)])
        self.colours = colours_of(numbered(self.places, ()))
        self.where = {label: _somewhere(k) for k, label in enumerate(labels)}

    def wall(self) -> float:
        """The time it is there; it stands still until the life starts."""
        passed = 0.0 if self._since is None else time.monotonic() - self._since
        return self._begins + passed * self.pace

    def start(self) -> None:
        """Let time pass."""
        self._since = time.monotonic()

    def true(self, date: dt.date, slot: int) -> str:
        """What is true in a slot."""
        return self.days[(date - self.first).days % len(self.days)].contexts[slot]

    def plan(self, server: Server) -> GatewayPlan:
        """A gateway for this life."""
        policy = Policy([Secret(SECRET), Secret(f"{SECRET} today", {SECRET}, at="any")], delta=0.1)
        routine = Routine.fit(self.past, clock=CLOCK, secrets=policy)
        config = PersonConfig(NAME, CLOCK, routine, Spec("adaptive"), policy, self.places, hold=3600.0)
        keeping = Keeping(margin=self.pace * 0.05, grace=CLOCK.slot_seconds * 0.9)
        return GatewayPlan([config], {VIEW.name: VIEW}, server, keeping, wall=self.wall, pace=self.pace, beat=5.0)


def _somewhere(number: int) -> tuple[float, float]:
    """The middle of the n-th place: on a spiral, a kilometre and more apart."""
    angle, away = 2.4 * number, 0.02 * np.sqrt(number)
    return float(47.0 + away * np.cos(angle)), float(8.0 + 1.5 * away * np.sin(angle))


class SimpleFilter:
    """What hides the secret place and nothing else would show, and how sure of it a stranger would be, slot by slot.

    It starts anew each day, and so does the stranger's guess, which is thus a little lower than it could be.
    """

    def __init__(self, life: Life, routine: Routine) -> None:
        self._life, self._routine = life, routine
        self._date: dt.date | None = None
        self._session: Session | None = None

    def guess(self, date: dt.date, slot: int) -> float:
        """The stranger's belief in the secret place at a slot, by all that was shown on its date until then."""
        if date != self._date or self._session is None or self._session.slot > slot:
            chain = self._routine.day(self._routine.kind_of(date))
            self._date, self._session = date, Session(MaskSensitive(chain, Policy([Secret(SECRET)])))
        while self._session.slot <= slot:
            self._session.follow(self._shown(date, self._session.slot))
        model = self._session.mechanism.model
        prior = float(model.prior_at(slot)[model.contexts.index(SECRET)])
        return prior + float(self._session.gains()[SECRET][slot])

    def _shown(self, date: dt.date, slot: int) -> Output:
        label = self._life.true(date, slot)
        return Suppressed() if label == SECRET else Released(label if label in self._routine.contexts else OTHER)


class GatewayDemo:
    """The gateway with a phone, an application and the page."""

    def __init__(self, folder: Path, server: Server, seed: int = 7, slot: float = SLOT) -> None:
        self.life = Life(seed, slot)
        self.served = PreparedGateway(with_files(self.life.plan(server), folder), Folder.made(folder))
        self.served.gateway.keeper.prepare()  # the first run compiles, and a fast clock would not wait
        access = self.served.access
        _, self.phone = access.add("source", NAME, name="Sam's phone")
        _, self.application = access.add("application", NAME, name="the demo's page")
        (self._settled,) = self.served.plan.people
        self._filter = SimpleFilter(self.life, self._settled.routine)
        self._address = (server.host, server.port)
        self._told: deque[dict[str, str | float]] = deque(maxlen=SHOWN)
        self.served.routes[:0] = self._routes()  # its own page stands at `/`; the owner's is at `/page`
        self.served.tasks += [self._write, self._read]

    async def _write(self) -> None:
        """The phone: where it is, a few times a slot."""
        life = self.life
        life.start()
        while True:
            now = life.wall()
            date, slot = CLOCK.locate(dt.datetime.fromtimestamp(now, dt.UTC))
            label = life.true(date, slot)
            if label != UNKNOWN:
                latitude, longitude = life.where[label]
                reading = {"time": now, "latitude": latitude, "longitude": longitude}
                await asyncio.to_thread(self._post, json.dumps(reading).encode())
            await asyncio.sleep(CLOCK.slot_seconds / life.pace / 4)

    def _post(self, body: bytes) -> None:
        connection = http.client.HTTPConnection(*self._address, timeout=10)
        try:
            headers = {"Authorization": f"Bearer {self.phone}"}
            connection.request("POST", f"/v1/people/{NAME}/readings", body, headers)
            connection.getresponse().read()
        except OSError:
            pass  # the server is stopping; a phone would send it later
        finally:
            connection.close()

    async def _read(self) -> None:
        """The application: what it receives, event by event."""
        while True:
            await asyncio.to_thread(self._listen)
            await asyncio.sleep(1.0)

    def _listen(self) -> None:
        connection = http.client.HTTPConnection(*self._address, timeout=30)
        try:
            connection.request(
                "GET", f"/v1/people/{NAME}/stream", headers={"Authorization": f"Bearer {self.application}"}
            )
            answer = connection.getresponse()
            while line := answer.readline():
                if line.startswith(b"data: "):
                    self._heard(json.loads(line[6:]))
        except (OSError, http.client.HTTPException):
            pass  # the server is stopping
        finally:
            connection.close()

    def _heard(self, event: dict[str, object]) -> None:
        date, slot = dt.date.fromisoformat(str(event["date"])), int(str(event["slot"]))
        truth = self.life.true(date, slot)
        self._told.append(
            {
                "date": date.isoformat(),
                "time": CLOCK.label(slot),
                "truth": truth,
                "kind": str(event["kind"]),
                "told": text_of(from_wire(event)),
                "guess": self._guess(date, slot),
                "filtered": "" if truth == SECRET else truth,
                "filtered_guess": round(self._filter.guess(date, slot), 4),
            }
        )

    def _guess(self, date: dt.date, slot: int) -> float:
        """How sure of the secret place at a slot a stranger is who sees what apps see."""
        routine = self._settled.routine
        gain = self.served.gateway.keeper.people[NAME].session.gains(date)[SECRET][slot]
        prior = routine.prior(date)[slot][routine.contexts.index(SECRET)]
        return round(float(min(1.0, max(0.0, prior + gain))), 4)

    def _routes(self) -> list[Route]:
        async def seen(request: Request) -> Response:
            return JSONResponse(
                {"person": NAME, "secret": SECRET, "colours": self.life.colours, "slots": list(self._told)}
            )

        def file(path: str, name: str) -> Route:
            async def given(request: Request) -> Response:
                return FileResponse(PAGES / name)

            return Route(path, given)

        return [
            Route("/demo/seen", seen),
            file("/", "demo.html"),
            file("/demo.js", "demo.js"),
            file("/demo.css", "demo.css"),
        ]


def with_files(plan: GatewayPlan, folder: Path) -> GatewayPlan:
    """The plan with policy and map in files, as somebody real has them, so that the owner's page can change them."""
    (one,) = plan.people
    path = folder / "policy.toml"
    with written_whole(path, private=True) as file:
        file.write(policy_file_text(one.policy, one.routine).encode("utf-8"))
    return replace(plan, policy_files={one.name: path}, maps={one.name: folder / "places.geojson"})


def at_port(server: Server, port: int | None) -> Server:
    """The server's section with another port."""
    return server if port is None else replace(server, port=port)
