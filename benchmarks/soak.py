"""A household left alone: five people on a real server and a broker, by a clock that a program moves.

Phones post a position every ten minutes over HTTP, clocks change, habits change once a twelfth of the run and policies
once a quarter, and in the middle everything is restored from a backup and completed from what an application heard. At
the end the process's memory, the size of the files, every chain, what was heard at the broker against the journal, and
every gain in belief against delta.

`python -m benchmarks soak` takes a tenth of a year, over the clock change of March; `--days 365` the whole year.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import json
import os
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiomqtt
import httpx
import numpy as np
import uvicorn
from tests.gateway.mosquitto import ABSENT, PROGRAM, Mosquitto

from benchmarks._crashes import PLACES, WHERE
from discreet.clock import Clock
from discreet.contexts import Day
from discreet.gateway.app import GatewayPlan, PreparedGateway
from discreet.gateway.config.broker import Broker, ToldView
from discreet.gateway.config.sections import Rates, Server
from discreet.gateway.rate_limits import Rate
from discreet.gateway.server import listening, server_of
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.backup import BackupOrder, back_up
from discreet.gateway.store.folder import Folder, known_key
from discreet.gateway.store.journal import SqliteJournal
from discreet.gateway.store.journal.base import broken_link
from discreet.gateway.store.moving import restored
from discreet.mechanisms.named import Spec
from discreet.models.routine.routine import Routine
from discreet.numerics import SLACK
from discreet.outputs import Skipped
from discreet.policy import Policy

PEOPLE = tuple(f"p{k}" for k in range(5))
CLOCK = Clock(48, "Europe/Berlin")
TENTH, YEAR = 36, 365
SPRING, NEW_YEAR = dt.date(2026, 3, 2), dt.date(2026, 1, 5)
EVERY = 600
"""Seconds between two positions of a phone; none comes at a boundary itself."""

DELTAS = (0.1, 0.07, 0.12, 0.09)
LEARNED = 42
LATER = 6
"""Slots that were told between the backup and the stop."""

GROWN = 1.05
JOURNAL, OWN = 0.6, 1.1
"""kB a slot of a person, as docs/gateway-data.md has it; readings are kept for thirty days."""

KEPT = 30


@dataclass
class Wall:
    """The clock that is moved."""

    now: float

    def __call__(self) -> float:
        return self.now


@dataclass
class HeardAtBroker:
    """What an application heard of each person: one digest, and the events since the backup."""

    digests: dict[str, Any] = field(default_factory=lambda: defaultdict(hashlib.sha256))
    last: dict[str, tuple[str, int]] = field(default_factory=dict)
    count: int = 0
    again: int = 0
    kept: list[str] | None = None

    def take(self, payload: bytes) -> None:
        """One event; the last one comes again after a restart."""
        event = json.loads(payload)
        person, key = event["person"], (event["date"], int(event["slot"]))
        if person in self.last and key <= self.last[person]:
            self.again += 1
            return
        self.last[person] = key
        self.count += 1
        self.digests[person].update(payload)
        if self.kept is not None:
            self.kept.append(payload.decode())


def a_day(rng: np.random.Generator, month: int) -> tuple[str, ...]:
    """Home, work from an hour that moves with the months, and a clinic now and then."""
    contexts = ["home"] * CLOCK.slots
    begins = 14 + month % 5 + int(rng.integers(0, 3))
    contexts[begins : begins + 16] = ["work"] * 16
    if rng.random() < 0.3:
        contexts[begins + 14] = "clinic"
    return tuple(contexts)


def habits(seed: int, month: int, before: dt.date) -> Routine:
    """What was learned of six weeks."""
    rng = np.random.default_rng((seed, month))
    days = [Day(a_day(rng, month), before - dt.timedelta(days=LEARNED - k)) for k in range(LEARNED)]
    return Routine.fit(days, clock=CLOCK)


def config_of(name: str, routine: Routine, policy: Policy) -> PersonConfig:
    """Somebody with a secret."""
    return PersonConfig(name, CLOCK, routine, Spec("adaptive", {"outputs": "suppress"}), policy, PLACES, 4 * 3600.0)


def memory() -> float:
    """Megabytes of this process now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


class Household:
    """The run: a server, its phones, its changes, and what is noted."""

    def __init__(self, folder: Path, days: int, port: int) -> None:
        self.folder, self.days, self.port = folder, days, port
        self.first = NEW_YEAR if days >= YEAR else SPRING
        start = CLOCK.start_of(self.first, 0).timestamp()
        self.wall = Wall(start + 60)
        self.data = folder / "data"
        self.heard, self.rng = HeardAtBroker(), np.random.default_rng(1)
        self.month = self.quarter = 0
        self.configs = [
            config_of(name, habits(k, 0, self.first), Policy(["clinic"], delta=DELTAS[0]))
            for k, name in enumerate(PEOPLE)
        ]
        self.deltas = {name: {DELTAS[0]} for name in PEOPLE}
        self.worst, self.beyond, self.posts, self.changes = 0.0, 0, 0, 0
        self.early = self.late = 0.0

    # --- the server

    async def start(self, **options: Any) -> None:
        """Serve the folder, on a port of its own."""
        bound = listening("127.0.0.1", 0)
        broker = Broker(port=self.port, tells=tuple(ToldView(name, forms=frozenset({"json"})) for name in PEOPLE))
        plan = GatewayPlan(
            self.configs,
            server=Server(port=bound.getsockname()[1]),
            limits=Rates(source=Rate(1e6, 1e6)),
            broker=broker,
            wall=self.wall,
        )
        self.served = PreparedGateway(plan, Folder.made(self.data), **options)
        server: uvicorn.Server = server_of(self.served)
        self._server, self._bound = server, bound
        self._serving = asyncio.create_task(server._serve([bound]))
        while not server.started:
            await asyncio.sleep(0.01)
        self.client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{bound.getsockname()[1]}", timeout=120)
        self.phones = {
            name: {"Authorization": f"Bearer {self.served.access.add('source', name)[1]}"} for name in PEOPLE
        }

    async def stop(self) -> None:
        """Stop it as a SIGTERM would."""
        await self.client.aclose()
        self._server.should_exit = True
        await self._serving
        self._bound.close()

    # --- what happens

    async def slot(self, contexts: Mapping[str, str]) -> None:
        """One slot: phones post, it ends, and it is told."""
        keeper = self.served.gateway.keeper
        begins, end = self.wall.now, keeper.next
        at = begins - begins % EVERY + EVERY
        while at < end - 1:
            self.wall.now = max(self.wall.now, at)
            await asyncio.gather(*(self._post(name, contexts[name], at) for name in PEOPLE))
            at += EVERY
        self.wall.now = end - 1
        rows = await self.served.gateway.between_slots(partial(keeper.turn, end))
        self.wall.now = end + keeper.margin
        await self.served.gateway.tell(rows)

    async def _post(self, name: str, context: str, at: float) -> None:
        latitude, longitude = WHERE[context]
        body = {"_type": "location", "lat": latitude, "lon": longitude, "tst": int(at), "acc": 12, "tid": "p"}
        answer = await self.client.post("/pub", json=body, headers=self.phones[name])
        assert answer.content == b"[]", answer
        self.posts += 1

    async def changed(self, day: int) -> None:
        """Habits a twelfth of the run, a policy a quarter; announced as the owner does."""
        gateway, today = self.served.gateway, self.first + dt.timedelta(days=day)
        month, quarter = day * 12 // self.days, day * 4 // self.days
        for k, name in enumerate(PEOPLE):
            routine = habits(k, month, today) if month != self.month else None
            policy = Policy(["clinic"], delta=DELTAS[quarter]) if quarter != self.quarter else None
            if routine is None and policy is None:
                continue
            change = partial(gateway.keeper.change, name, policy, routine=routine)
            await gateway.between_slots(change)
            self.changes += 1
            self.deltas[name].add(DELTAS[quarter])
        self.month, self.quarter = month, quarter

    def watch(self) -> None:
        """The most that anybody may believe of anything that is live, by all that was told."""
        for name, person in self.served.gateway.keeper.people.items():
            most = max(self.deltas[name])
            for gains in person.session.gains().values():
                worst = max(gains.values(), default=0.0)
                self.worst = max(self.worst, worst / most)
                self.beyond += worst > most + SLACK

    async def restore(self, contexts: Mapping[str, str]) -> None:
        """A backup while it runs, some more slots, and on from the copy with what an application heard since."""
        archive = self.folder / "backup.tar.gz"
        back_up(BackupOrder(self.data), archive, dt.datetime.fromtimestamp(self.wall.now, dt.UTC))
        self.heard.kept = []
        for _ in range(LATER):
            await self.slot(contexts)
        await self._all_heard()
        events = self.folder / "heard.jsonl"
        events.write_text("\n".join(self.heard.kept), encoding="utf-8")
        self.heard.kept = None
        present = self.served.gateway.keeper.people
        self.configs = [config_of(name, present[name].config.routine, present[name].config.policy) for name in PEOPLE]
        await self.stop()
        self.data = self.folder / "restored"
        restored(archive, self.data)
        await self.start(complete=events)

    async def _all_heard(self) -> None:
        shown = {name: self.served.gateway.shown(name) for name in PEOPLE}
        told = {name: (row[0].isoformat(), row[1]) for name, row in shown.items() if row is not None}
        for _ in range(3000):
            if all(self.heard.last.get(name) == key for name, key in told.items()):
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the broker was not told everything")

    async def run(self) -> None:
        """All of it."""
        async with aiomqtt.Client("127.0.0.1", self.port) as ear:
            await ear.subscribe("discreet/+/whole", qos=1)

            async def hear() -> None:
                async for message in ear.messages:
                    self.heard.take(bytes(message.payload))

            hearing = asyncio.create_task(hear())
            await self.start()
            for day in range(self.days):
                await self.changed(day)
                lived = {name: a_day(self.rng, self.month) for name in PEOPLE}
                date = self.first + dt.timedelta(days=day)
                while CLOCK.locate(dt.datetime.fromtimestamp(self.wall.now, dt.UTC))[0] == date:
                    _, slot = CLOCK.locate(dt.datetime.fromtimestamp(self.wall.now, dt.UTC))
                    contexts = {name: one[slot] for name, one in lived.items()}
                    if day == self.days // 2 and slot == 20 and self.data.name == "data":
                        await self.restore(contexts)
                    else:
                        await self.slot(contexts)
                self.watch()
                now = dt.datetime.fromtimestamp(self.wall.now, dt.UTC)
                self.served.gateway.keeper.own.forget(now, self.served.gateway.retention)
                if day == max(1, self.days // 12):
                    self.early = memory()
            self.late = memory()
            await self._all_heard()
            await self.stop()
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)


def judged(one: Household) -> bool:
    """Print what was found; whether all of it is as it should be."""
    from discreet.gateway.config.views import View
    from discreet.gateway.forms import Forms, encoded

    key, wrong, rows, skipped = known_key(one.data), [], 0, 0
    with closing(SqliteJournal(one.data / "journal.db", look=True)) as journal:
        for name in PEOPLE:
            if broken_link(journal.all_rows(name), key) is not None:
                wrong.append(f"the chain of {name} is broken")
            forms, digest = Forms(name, CLOCK, PLACES, View()), hashlib.sha256()
            for row in journal.all_rows(name):
                digest.update(encoded(forms.event(row)))
                rows, skipped = rows + 1, skipped + isinstance(row.output, Skipped)
            if digest.digest() != one.heard.digests[name].digest():
                wrong.append(f"the broker heard something else of {name} than the journal has")
    expected = len(PEOPLE) * CLOCK.slots * one.days
    if rows != expected:
        wrong.append(f"{rows} slots were decided, and not {expected}")
    sizes = {name: (one.data / name).stat().st_size / 1e3 for name in ("journal.db", "own.db")}
    formula = {"journal.db": JOURNAL * rows, "own.db": OWN * len(PEOPLE) * CLOCK.slots * min(one.days, KEPT)}
    if one.beyond:
        wrong.append(f"{one.beyond} beliefs went beyond delta")
    print(f"{one.days} days of {len(PEOPLE)} people from {one.first}: {rows:,} slots, {one.posts:,} positions")
    print(f"  {one.changes} changes of habits and policies; {skipped} slots skipped (memory lost by the restore)")
    print(f"  a gain is at most {one.worst:.3f} of delta")
    print(f"  the broker's listener heard {one.heard.count:,} events, and {one.heard.again} again after the restart")
    print(f"  memory {one.early:.0f} MB after a twelfth, {one.late:.0f} MB at the end: {one.late / one.early:.3f}x")
    for name, size in sizes.items():
        print(f"  {name} {size / 1e3:.1f} MB; by the formula {formula[name] / 1e3:.1f} MB")
    if one.late > GROWN * one.early:
        print(f"  (at most {GROWN}x: MISSED)")
    for words in wrong:
        print(f"  WRONG: {words}")
    return not wrong


def main(arguments: list[str] | None = None) -> None:
    """Run it, and say what was found."""
    given = arguments or []
    options = dict(zip(given[::2], given[1::2], strict=True))
    if PROGRAM is None:
        print(f"not run: {ABSENT}")
        return
    began, used = time.perf_counter(), time.process_time()
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="discreet-soak-")))
        (folder / "broker").mkdir()
        broker = Mosquitto(folder / "broker", "autosave_interval 60\n")
        opened.callback(broker.stop)
        one = Household(folder, int(options.get("--days", TENTH)), broker.start().port)
        asyncio.run(one.run())
        clean = judged(one)
    print(
        f"  {time.perf_counter() - began:.0f} s, {time.process_time() - used:.0f} s of processor time, load "
        f"{os.getloadavg()[0]:.0f}"
    )
    if not clean:
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
