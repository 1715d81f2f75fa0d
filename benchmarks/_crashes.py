"""A gateway of a few people under load, whose clock runs fast, killed by kill -9 at random moments and started again.

The process that is killed writes to a pipe what an application hears that comes again with the last event it had
(Last-Event-ID). The parent compares that with the journal: a slot that was heard with two outputs was drawn twice as
seen from outside, one that was heard and is not in the journal is lost, one of the journal's that was passed over is
missed.

Half of the lives have slots of two seconds and end within half a second of a boundary, before it or after; the others
have slots of a few milliseconds and end at any moment. With a broker the gateway tells it as well, and what an
application there hears is held against the journal too; there the same slot may come twice, and it must say the same.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks._ear import hearing
from discreet.clock import Clock
from discreet.contexts import Day
from discreet.gateway.config.broker import Broker, ToldView
from discreet.gateway.config.views import WHOLE, View
from discreet.gateway.runtime import Gateway
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.journal import Journal, JournalRow, SqliteJournal
from discreet.gateway.store.journal.base import Key, broken_link
from discreet.gateway.store.own_store import OwnStore, Reading
from discreet.gateway.wires.mqtt.publisher import MqttPublisher
from discreet.mechanisms.named import Spec
from discreet.models.routine.routine import Routine
from discreet.outputs import Skipped, from_wire, to_wire
from discreet.places import Circle, Place, Places
from discreet.policy import Policy

KEY = bytes(range(32))
MONDAY = dt.date(2026, 3, 2)
CLOCK = Clock(48)
WHERE = {"home": (48.10, 11.50), "work": (48.15, 11.58), "clinic": (48.20, 11.60)}
PLACES = Places([Place(name, Circle(*point, 150)) for name, point in WHERE.items()])
BEGAN = dt.datetime(2026, 3, 2, tzinfo=dt.UTC).timestamp()

PACE = 40_000.0
"""Seconds of the gateway's clock in one of ours: a slot of half an hour takes 45 ms."""

GRACES, MARGIN = (7200.0, 1e9, 1e9), 100.0
"""Of that clock: a fifth of a second, by which a busy machine skips, or for ever; and a few milliseconds."""

BOUNDARY_PACE, AROUND = 900.0, 0.5
"""The same where a boundary is aimed at, a slot in two of our seconds; and how far from it the process is killed."""

EARLY, LATE = 0.0, 0.3
"""Seconds after its first word, or its first event, between which a process is killed."""

AWAY = (0.0, 20.0, 5000.0, 20_000.0)
"""Seconds of that clock after which it is started again."""


def routine(days: int = 42, seed: int = 1, clock: Clock = CLOCK) -> Routine:
    """Weeks of somebody who sleeps at home, works, and is at a clinic now and then."""
    rng = np.random.default_rng(seed)
    third, found = clock.slots // 3, []
    for k in range(days):
        contexts = ["home"] * clock.slots
        begins = third + int(rng.integers(0, 3))
        contexts[begins : begins + third] = ["work"] * third
        if rng.random() < 0.3:
            contexts[begins + third - 2] = "clinic"
        found.append(Day(tuple(contexts), MONDAY - dt.timedelta(days=days - k)))
    return Routine.fit(found, clock=clock)


def person_config(name: str, habits: Routine, outputs: str = "suppress") -> PersonConfig:
    """Somebody of these habits, with a secret."""
    spec, policy = Spec("adaptive", {"outputs": outputs}), Policy(["clinic"], delta=0.1)
    clock = habits.clock or CLOCK
    return PersonConfig(name, clock, habits, spec, policy, PLACES, 4 * 3600.0)


def opened_journal(folder: Path, postgres: str | None, *, look: bool = False) -> Journal:
    """The journal of a folder, or the one in PostgreSQL."""
    if postgres is None:
        return SqliteJournal(folder / "journal.db", look=look)
    from discreet.gateway.store.journal.postgres import PostgresJournal

    return PostgresJournal(postgres, look=look)


# --- the process that is killed


@dataclass(frozen=True)
class Kept:
    """Where a gateway's files are, its journal if it is in PostgreSQL, and the port of a broker that it tells."""

    folder: Path
    postgres: str | None = None
    broker: int | None = None


def _teller(gateway: Gateway, everybody: list[PersonConfig], port: int) -> MqttPublisher:
    tells = tuple(ToldView(one.name, forms=frozenset({"json"})) for one in everybody)
    people = {one.name: one for one in everybody}
    return MqttPublisher(gateway, Broker(port=port, tells=tells), people, {WHOLE: View()})


class Life:
    """One run of the gateway, which tells what it tells to a pipe."""

    def __init__(self, pipe: int, reached: Mapping[str, Key]) -> None:
        self._pipe, self._reached = pipe, reached

    async def live(
        self, place: Kept, everybody: list[PersonConfig], started: float, grace: float, pace: float = PACE
    ) -> None:
        """Readings without end, and slots every few milliseconds, until somebody ends it."""
        began = time.monotonic()

        def wall() -> float:
            return started + (time.monotonic() - began) * pace

        journal, own = opened_journal(place.folder, place.postgres), OwnStore(place.folder / "own.db")
        gateway = Gateway(
            Keeper(everybody, journal, own, KEY, wall(), grace=grace, margin=MARGIN), wall=wall, pace=pace
        )
        teller = None if place.broker is None else _teller(gateway, everybody, place.broker)
        async with gateway.running():
            tasks = [asyncio.create_task(self._listen(gateway, one.name)) for one in everybody]
            if teller is not None:
                tasks.append(asyncio.create_task(teller.run()))
            self._say({"ready": len(tasks), "began": began})
            rng = random.Random(os.getpid())
            while True:
                batch = [
                    Reading(f"p{rng.randrange(len(everybody))}", "phone", int(wall() * 1e6) - rng.randrange(10**9), at)
                    for at in rng.choices(list(WHERE.values()), k=8)
                ]
                await gateway.accept(batch)
                await asyncio.sleep(0)

    async def _listen(self, gateway: Gateway, person: str) -> None:
        """An application that comes again with the last event it had."""
        async for row in gateway.listen(person, self._reached.get(person, (MONDAY - dt.timedelta(days=1), 0))):
            self._say({"person": row.person, "date": row.date.isoformat(), "slot": row.slot, "output": row.wire})

    def _say(self, event: Mapping[str, object]) -> None:
        os.write(self._pipe, (json.dumps(event) + "\n").encode())  # one write a line: it is whole, or not there


# --- the one that kills


@dataclass
class Counts:
    """What became of a number of kills. Skips are slots that ended while the gateway was away for long."""

    kills: int = 0
    slots: int = 0
    heard: int = 0
    lost: int = 0
    drawn_twice: int = 0
    repeated: int = 0
    missed: int = 0
    gaps: int = 0
    broken_chains: int = 0
    skipped: int = 0
    broker_heard: int = 0
    broker_again: int = 0
    """The same slot with the same output once more, which the broker's readers are told may happen."""
    broker_lost: int = 0
    broker_twice: int = 0
    broker_missed: int = 0
    reached: dict[str, Key] = field(default_factory=dict)
    told: dict[tuple[str, Key], str] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Nothing lost, nothing drawn twice, no gap in what is written or heard."""
        wrong = (self.lost, self.drawn_twice, self.repeated, self.missed, self.gaps, self.broken_chains)
        return not any((*wrong, self.broker_lost, self.broker_twice, self.broker_missed))

    def hear(self, line: str) -> None:
        """One line of the process that is killed."""
        event = json.loads(line)
        if "person" in event:
            person, key = event["person"], (dt.date.fromisoformat(event["date"]), int(event["slot"]))
            self.heard += 1
            self.repeated += key <= self.reached.get(person, (dt.date.min, 0))
            self.drawn_twice += self.told.setdefault((person, key), event["output"]) != event["output"]
            self.reached[person] = key

    def judge(self, journal: Journal) -> None:
        """Compare what was heard with what is written."""
        written: dict[tuple[str, Key], str] = {}
        for person in journal.people():
            rows = list(journal.all_rows(person))
            written |= {(person, row.key): row.wire for row in rows}
            self.gaps += sum(later.position != row.position + 1 for row, later in itertools.pairwise(rows))
            self.broken_chains += broken_link(iter(rows), KEY) is not None
            self.skipped += sum(isinstance(row.output, Skipped) for row in rows)
            upto = self.reached.get(person, (dt.date.min, 0))
            self.missed += sum((person, row.key) not in self.told for row in rows if row.key <= upto)
        self.slots = len(written)
        self.lost = sum(key not in written for key in self.told)
        self.drawn_twice += sum(written.get(key, output) != output for key, output in self.told.items())

    def judge_broker(self, journal: Journal, lines: Iterable[str]) -> None:
        """Compare what an application at the broker heard with what is written."""
        heard: dict[tuple[str, Key], str] = {}
        for line in lines:
            event = json.loads(line)
            key = event["person"], (dt.date.fromisoformat(event["date"]), int(event["slot"]))
            output = json.dumps(to_wire(from_wire(event)), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
            self.broker_heard += 1
            self.broker_again += key in heard
            self.broker_twice += heard.setdefault(key, output) != output
        for person in journal.people():
            written = {row.key: row.wire for row in journal.all_rows(person)}
            own = {key: output for (whose, key), output in heard.items() if whose == person}
            self.broker_lost += sum(key not in written for key in own)
            self.broker_twice += sum(written.get(key, output) != output for key, output in own.items())
            if own:
                self.broker_missed += sum(min(own) <= key <= max(own) and key not in own for key in written)


def kill_often(
    kills: int, *, people: int = 5, seed: int = 1, postgres: str | None = None, broker: int | None = None
) -> Counts:
    """Start, kill, start again: what was heard and written in the end."""
    with tempfile.TemporaryDirectory(prefix="discreet-kills-") as made:
        place, counts, said = Kept(Path(made), postgres, broker), Counts(), Path(made) / "heard.jsonl"
        with nullcontext() if broker is None else hearing(broker, said):
            _kill_and_start(place, counts, kills, people, random.Random(seed))
        with closing(opened_journal(place.folder, postgres, look=True)) as journal:
            counts.judge(journal)
            if broker is not None:
                counts.judge_broker(journal, said.read_text(encoding="utf-8").splitlines())
    return counts


def _kill_and_start(place: Kept, counts: Counts, kills: int, people: int, rng: random.Random) -> None:
    habits, clock = routine(), BEGAN
    everybody = [person_config(f"p{k}", habits) for k in range(people)]
    for number in range(kills):
        aimed, grace = number % 2 == 1, rng.choice(GRACES)
        pace = BOUNDARY_PACE if aimed else PACE

        def story(pipe: int, started: float = clock, grace: float = grace, pace: float = pace) -> None:
            asyncio.run(Life(pipe, counts.reached).live(place, everybody, started, grace, pace))

        if aimed:
            lasted = _one_life(story, False, _near(clock, rng.uniform(-AROUND, AROUND)), counts)
        else:
            lasted = _one_life(story, rng.random() < 0.5, _for(rng.uniform(EARLY, LATE)), counts)
        away = 0.0 if aimed else rng.choice(AWAY)
        clock = max(clock + lasted * pace, _latest(place.folder, place.postgres)) + away
        counts.kills += 1


def _for(seconds: float) -> Callable[[float], float]:
    return lambda lived: seconds


def _near(started: float, offset: float) -> Callable[[float], float]:
    """From how long a process has lived to how long it lives on: until so far from the next boundary there is."""
    slot = CLOCK.slot_seconds

    def left(lived: float) -> float:
        boundary = (started // slot + 1) * slot
        while (found := (boundary - started) / BOUNDARY_PACE + offset - lived) < 0:
            boundary += slot
        return found

    return left


def _one_life(story: Callable[[int], None], telling: bool, until: Callable[[float], float], counts: Counts) -> float:
    """One process from its start to its end: the seconds that it lived.

    It ends `until` seconds after its first word, or (`telling`) after the first event: a busy machine may take its time
    to that. `until` is told how long it has lived by then.
    """
    read, write = os.pipe()
    child = os.fork()  # what is imported and compiled is there at once, so that a thousand lives take minutes
    if child == 0:
        os.close(read)
        try:
            story(write)
        finally:
            os._exit(1)
    os.close(write)
    with open(read, encoding="utf-8") as told:
        first = told.readline()
        began = json.loads(first)["began"] if first else 0.0
        if telling and first and (event := told.readline()):
            counts.hear(event)
        time.sleep(until(time.monotonic() - began) if first else 0.0)
        os.kill(child, signal.SIGKILL)
        lasted = time.monotonic() - began
        for line in _whole_lines(told.read()):
            counts.hear(line)
    os.waitpid(child, 0)
    if not first:
        raise RuntimeError("the gateway did not start; its error is above")
    return lasted


def _whole_lines(text: str) -> Iterator[str]:
    return (line for line in text.split("\n")[:-1] if line)


def _latest(data: Path, postgres: str | None) -> float:
    """When the last decided slot ended: the clock never goes back behind it."""
    with closing(opened_journal(data, postgres, look=True)) as journal:
        rows: list[JournalRow | None] = [journal.last(person) for person in journal.people()]
    return max((float(row.ends) for row in rows if row is not None), default=BEGAN)


def main(kills: int, postgres: str | None = None, broker: int | None = None) -> int:
    """Print the counts as JSON; 1 where something was lost or drawn twice."""
    counts = kill_often(kills, postgres=postgres, broker=broker)
    print(json.dumps({name: value for name, value in vars(counts).items() if isinstance(value, int)}))
    return 0 if counts.clean else 1


if __name__ == "__main__":
    options = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=True))
    port = options.get("--broker")
    sys.exit(main(int(sys.argv[1]), options.get("--postgres"), None if port is None else int(port)))
