"""The gateway: readings taken durably, a thousand people's slots that end together, and kills at random moments.

Readings come over HTTP to a server in a process of its own, from 64 connections that wait for each answer. Others may
use the machine too, so the processor's time is printed beside the clock's: a rate by the processor is what one core
that is free would do.

`python -m benchmarks gateway --kills 1000` kills more often and does nothing else: with the journal in SQLite, and
again in PostgreSQL where that is installed (`--database sqlite` or `postgres` for one of them, `--postgres URL` for a
server that is there), each with a broker where Mosquitto is installed. Half of the kills are within half a second of a
boundary.
`--crowd 100` has so many clients ask for all of the past while slots end, and nothing else.
"""

from __future__ import annotations

import asyncio
import math
import os
import resource
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tests.gateway.mosquitto import ABSENT, PROGRAM, Mosquitto
from tests.gateway.postgres import Server as Postgres
from tests.gateway.postgres import binaries

from benchmarks._crashes import BEGAN, CLOCK, KEY, WHERE, kill_often, person_config, routine
from benchmarks._crowd import crowd
from benchmarks._http import Server, late, loaded, reading, serving, timed
from discreet.gateway.runtime import Gateway
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.store.journal import SqliteJournal
from discreet.gateway.store.own_store import OwnStore, Reading
from discreet.live.slots import MARGIN

PEOPLE = 1000
SENDERS, READINGS, BATCH = 64, 20_000, 100
KILLS = 50
BARS = {"one by one": 5_000, "in batches of 100": 20_000}
"""Readings a second that are asked for."""

AHEAD_OF, AFTER = 4.0, 6.0
"""Seconds before and after the boundary in which readings come."""

SECONDS, QUIET = 5.0, 1200.0
"""Seconds of readings over HTTP, and from the start to the next boundary, which is not to fall into them."""

AHEAD_OPENING = 25.0
"""Seconds before the boundary in which streams are opened and the next kernels computed."""

CROWDED, CLIENTS, PAST, CROWD_AHEAD = 50, 100, 480, 30.0
"""People, clients who crowd the gateway, slots that each asks for, and seconds from the start to a slot's end."""

PUNCTUAL = 0.3
"""Seconds after the margin by which the last event has left, whoever else asks for what."""

FROM, BOUNDARIES = 42, 12
"""Slots of the first day, over its cut."""

TOGETHER = 2.0
"""Seconds in which the slots of PEOPLE are decided, written and told."""


def opened(folder: Path, people: int, now: float) -> Keeper:
    """A keeper over new files; all people have the same habits."""
    habits = routine()
    everybody = [person_config(f"p{k}", habits) for k in range(people)]
    return Keeper(everybody, SqliteJournal(folder / "journal.db"), OwnStore(folder / "own.db"), KEY, now)


def met(value: float, bar: float, *, least: bool) -> str:
    """A figure against the one that was asked for."""
    kept = value >= bar if least else value <= bar
    return f"{'at least' if least else 'at most'} {bar:g}: {'met' if kept else 'MISSED'}"


# --- readings


async def _accepted(gateway: Gateway, batch: int) -> float:
    """Readings a second by SENDERS senders, each of whom waits for its answer."""
    each = READINGS // SENDERS // batch
    where = list(WHERE.values())

    async def sender(number: int) -> None:
        for k in range(each):
            instants = range(k * batch, (k + 1) * batch)
            await gateway.accept(
                [Reading(f"p{number}", f"{batch}", int(BEGAN * 1e6) + 1000 * i, where[i % 3], 20.0) for i in instants]
            )

    began = time.perf_counter()
    await asyncio.gather(*(sender(number) for number in range(SENDERS)))
    return each * SENDERS * batch / (time.perf_counter() - began)


def accept() -> None:
    """Through Gateway.accept: an answer means that it is on disk."""

    async def story() -> None:
        with tempfile.TemporaryDirectory() as folder:
            now = BEGAN + 600
            gateway = Gateway(opened(Path(folder), SENDERS, now), wall=lambda: now)
            async with gateway.running():
                for name, batch in (("one by one", 1), ("in batches of 100", BATCH)):
                    rate = await _accepted(gateway, batch)
                    print(f"readings {name:18} {rate:9,.0f} a second ({met(rate, BARS[name], least=True)})")

    asyncio.run(story())


def over_http() -> None:
    """Against a real server: a 200 means that it is on disk."""
    for name, batch in (("one by one", 1), ("in batches of 100", BATCH)):
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder), SENDERS, SENDERS, QUIET) as server:
            began = time.perf_counter()
            senders = asyncio.run(loaded(server, SECONDS, batch))
            took = time.perf_counter() - began
        waits = [wait for sender in senders for wait in sender.waits]
        count, bar = len(waits) * batch, BARS[name]
        rate, free = count / took, count / server.stopped["busy"]
        cores = server.stopped["busy"] / took
        print(f"over HTTP {name:18} {rate:8,.0f} a second ({met(rate, bar, least=True)}, {rate / bar:.2f}x), 99 of 100")
        print(f"  answered within {late(waits):.0f} ms; a second of its processor takes {free:,.0f}")
        print(f"  ({met(free, bar, least=True)}, {free / bar:.2f}x), and it had {cores:.2f} cores")


# --- slots that end together


class Together(NamedTuple):
    """What a run of boundaries took: seconds by the wall clock and by the processor."""

    opening: float
    wall: list[float]
    processor: list[float]
    explaining: list[float]
    again: float
    memory: float
    journal: float
    own: float


def ended_together(people: int, folder: Path) -> Together:
    """Slots of people with the same habits, over a cut, where checkpoints are written; then a start anew."""
    before, began = _memory(), time.perf_counter()
    keeper = opened(folder, people, BEGAN + FROM * CLOCK.slot_seconds + 1)
    opening = time.perf_counter() - began
    rng, where = np.random.default_rng(1), list(WHERE.values())
    wall, processor, explaining, at = [], [], [], BEGAN
    for slot in range(FROM, FROM + BOUNDARIES):
        at = BEGAN + slot * CLOCK.slot_seconds
        seen = [int(rng.integers(len(where))) for _ in range(people)]
        keeper.read([Reading(f"p{k}", "phone", int((at + 900) * 1e6), where[seen[k]]) for k in range(people)], at + 1e3)
        keeper.prepare()
        began, used = time.perf_counter(), time.process_time()
        rows = keeper.turn(at + CLOCK.slot_seconds)
        wall.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
        assert len(rows) == people
        used = time.process_time()
        for k in range(people):  # what the owner's page asks for, once a person
            for _ in keeper.explain(f"p{k}", rows[k].date):
                pass
        explaining.append(time.process_time() - used)
    memory = (_memory() - before) / people
    keeper.journal.close()
    keeper.own.close()
    journal, own = ((folder / name).stat().st_size / people / 1000 for name in ("journal.db", "own.db"))
    began = time.perf_counter()
    again = opened(folder, people, at + CLOCK.slot_seconds + 1)
    took = time.perf_counter() - began
    again.journal.close()
    again.own.close()
    return Together(opening, wall, processor, explaining, took, memory, journal, own)


def together(people: int = PEOPLE) -> None:
    """Decided, written down and ready to be told: the margin is what comes after."""
    with tempfile.TemporaryDirectory() as folder:
        found = ended_together(people, Path(folder))
    worst = max(found.wall)
    print(f"{people} people whose slots end together, {CLOCK.slots} slots a day, suppress, the same habits")
    print(f"  a boundary: median {np.median(found.wall):.2f} s, worst {worst:.2f} s, by the processor")
    print(
        f"  {np.median(found.processor):.2f} s and {max(found.processor):.2f} s ({met(worst, TOGETHER, least=False)})"
    )
    print(f"  after it, why things were withheld: median {np.median(found.explaining):.2f} s by the processor")
    print(f"  opened in {found.opening:.1f} s, again after {BOUNDARIES} slots in {found.again:.1f} s")
    print(f"  a person: {found.memory:.0f} kB of memory, {found.journal:.0f} kB of journal and {found.own:.0f} kB of")
    print("  own store after these")


# --- both at once


def both() -> None:
    """Readings one by one while PEOPLE's slots end: how long the boundary takes, and how long senders wait."""

    async def story() -> None:
        with tempfile.TemporaryDirectory() as folder:
            start, began = BEGAN + CLOCK.slot_seconds - AHEAD_OF, time.perf_counter()
            keeper = opened(Path(folder), PEOPLE, start)
            began = time.perf_counter()
            gateway = Gateway(keeper, wall=lambda: start + time.perf_counter() - began)
            steps, waits = timed(keeper), list[float]()
            async with gateway.running():
                end = time.perf_counter() + AHEAD_OF + AFTER

                async def sender(number: int) -> None:
                    k = 0
                    while time.perf_counter() < end:
                        at = time.perf_counter()
                        reading = Reading(f"p{number}", f"phone{number}", int(BEGAN * 1e6) + k, WHERE["home"])
                        await gateway.accept([reading])
                        waits.append(time.perf_counter() - at)
                        k += 1

                await asyncio.gather(*(sender(number) for number in range(SENDERS)))
            rate, late = len(waits) / (AHEAD_OF + AFTER), float(np.quantile(waits, 0.99)) * 1000
            print(f"both at once: {rate:,.0f} readings a second, answered within {late:.0f} ms (99 of 100); the")
            print(f"  boundary took {steps[0][0]:.2f} s")

    asyncio.run(story())


def both_over_http(people: int = PEOPLE) -> None:
    """Readings one by one, and a stream of each person, while everybody's slots end."""

    async def story(server: Server) -> tuple[list[float], list[float]]:
        readers = await reading(server)
        boundary = server.began + AHEAD_OPENING
        await asyncio.sleep(boundary - AHEAD_OF - time.monotonic())
        senders = await loaded(server, AHEAD_OF + AFTER, 1)
        heard = [await asyncio.wait_for(reader.heard, 60) - boundary for reader in readers]
        edge = (boundary, boundary + MARGIN + TOGETHER)
        near = [
            wait
            for sender in senders
            for sent, wait in zip(sender.sent, sender.waits, strict=False)
            if sent + wait >= edge[0] and sent <= edge[1]
        ]
        return heard, near

    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), people, SENDERS, AHEAD_OPENING) as server:
        heard, waits = asyncio.run(story(server))
    took, used = server.stopped["steps"][0]
    telling = max(heard) - MARGIN * max(1, math.ceil(took / MARGIN))
    print(f"both over HTTP: {people} people whose slots end together, a stream of each, and {SENDERS} senders")
    print(f"  the boundary took {took:.2f} s, {used:.2f} s by the processor; the last stream was told {telling:.2f} s")
    print(
        f"  after outputs may leave: {took + telling:.2f} s in all ({met(took + telling, TOGETHER, least=False)}), and"
    )
    print(f"  {max(heard):.2f} s after the boundary with the margin")
    rate = len(waits) / (MARGIN + TOGETHER)
    print(f"  around it {rate:,.0f} readings a second were answered, 99 of 100 within {late(waits):.0f} ms")


def crowded(people: int = CROWDED, clients: int = CLIENTS) -> None:
    """Applications that ask for all of the past without a pause, and a preview, while slots end."""
    with tempfile.TemporaryDirectory() as folder:
        with serving(Path(folder), people, 0, CROWD_AHEAD, PAST) as server:
            found = asyncio.run(crowd(server, clients, CROWD_AHEAD))
        took = server.stopped["steps"][-1][0]  # an error here: the slot's end was missed, by a start that took too long
    worst, answers = max(found.late), ", ".join(f"{count} with {status}" for status, count in found.answers.items())
    print(f"crowded: {clients} clients who ask for {PAST} slots of {people} people without a pause, and a preview")
    print(f"  the last stream was told {worst:.2f} s after its moment ({met(worst, PUNCTUAL, least=False)}), the")
    print(f"  first {min(found.late):.2f} s; the boundary took {took:.2f} s; /healthz within {max(found.health):.2f} s")
    print(f"  answered: {answers}")


def _memory() -> float:
    """Kilobytes at most so far."""
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


# --- kills


def kills(count: int, database: str, postgres: str | None = None) -> bool:
    """A gateway under load that tells a broker, killed by kill -9."""
    with ExitStack() as servers:
        if database == "postgres" and postgres is None:
            server = Postgres()
            servers.callback(server.end)
            postgres = server.database()
        port = None
        if PROGRAM is not None:
            broker = Mosquitto(Path(servers.enter_context(tempfile.TemporaryDirectory())))
            servers.callback(broker.stop)
            port = broker.start().port
        found = kill_often(count, postgres=postgres, broker=port)
    print(
        f"{found.kills} kills, {database}: {found.slots:,} slots decided ({found.skipped:,} skipped), {found.heard:,} "
        f"events heard; lost {found.lost}, drawn twice {found.drawn_twice}, missed {found.missed}, repeated "
        f"{found.repeated}, gaps {found.gaps}, broken chains {found.broken_chains}"
    )
    if port is None:
        print(f"  no broker was told: {ABSENT}")
    else:
        print(
            f"  at the broker {found.broker_heard:,} events heard; lost {found.broker_lost}, with another output "
            f"{found.broker_twice}, missed {found.broker_missed}; {found.broker_again} came again as they were"
        )
    return found.clean


def main(arguments: list[str] | None = None) -> None:
    """Print the table; with --kills alone the kills."""
    given = arguments or []
    options = dict(zip(given[::2], given[1::2], strict=True))
    if "--crowd" in options:
        crowded(clients=int(options["--crowd"]))
        return
    if "--kills" not in options:
        print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        accept()
        over_http()
        together()
        both()
        both_over_http()
        crowded()
        print(f"load after: {os.getloadavg()[0]:.1f}")
    count, postgres = int(options.get("--kills", KILLS)), options.get("--postgres")
    databases = ["sqlite", "postgres"] if binaries() is not None else ["sqlite"]
    if "--database" in options or postgres is not None:
        databases = [options.get("--database", "postgres")]
    clean = [kills(count, database, postgres) for database in databases]
    if not all(clean):
        sys.exit(1)
