"""A gateway of a few people under load, whose clock runs fast, killed by kill -9 at random moments and started again.

The process that is killed writes to a pipe what an application hears that comes again with the last event it had
(Last-Event-ID). The parent compares that with the journal: a slot that was heard with two outputs was drawn twice as
seen from outside, one that was heard and is not in the journal is lost, one of the journal's that was passed over is
missed.
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
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from discreet.clock import Clock
from discreet.contexts import Day
from discreet.gateway.runtime import Gateway
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.journal import Journal, JournalRow, SqliteJournal
from discreet.gateway.store.journal.base import Key, broken_link
from discreet.gateway.store.own_store import OwnStore, Reading
from discreet.mechanisms.named import Spec
from discreet.models.routine.routine import Routine
from discreet.outputs import Skipped
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


class Life:
    """One run of the gateway, which tells what it tells to a pipe."""

    def __init__(self, pipe: int, reached: Mapping[str, Key]) -> None:
        self._pipe, self._reached = pipe, reached

    async def live(
        self, folder: Path, everybody: list[PersonConfig], started: float, grace: float, postgres: str | None
    ) -> None:
        """Readings without end, and slots every few milliseconds, until somebody ends it."""
        began = time.monotonic()

        def wall() -> float:
            return started + (time.monotonic() - began) * PACE

        journal, own = opened_journal(folder, postgres), OwnStore(folder / "own.db")
        gateway = Gateway(
            Keeper(everybody, journal, own, KEY, wall(), grace=grace, margin=MARGIN), wall=wall, pace=PACE
        )
        async with gateway.running():
            listening = [asyncio.create_task(self._listen(gateway, one.name)) for one in everybody]
            self._say({"ready": len(listening)})
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
    reached: dict[str, Key] = field(default_factory=dict)
    told: dict[tuple[str, Key], str] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Nothing lost, nothing drawn twice, no gap in what is written or heard."""
        return not (self.lost or self.drawn_twice or self.repeated or self.missed or self.gaps or self.broken_chains)

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


def kill_often(kills: int, *, people: int = 5, seed: int = 1, postgres: str | None = None) -> Counts:
    """Start, kill at a random moment, start again: what was heard and written in the end."""
    rng, counts, clock = random.Random(seed), Counts(), BEGAN
    habits = routine()
    everybody = [person_config(f"p{k}", habits) for k in range(people)]
    with tempfile.TemporaryDirectory(prefix="discreet-kills-") as made:
        data = Path(made)
        for _ in range(kills):

            def story(pipe: int, started: float = clock, grace: float = rng.choice(GRACES)) -> None:
                asyncio.run(Life(pipe, counts.reached).live(data, everybody, started, grace, postgres))

            lasted = _one_life(story, rng.random() < 0.5, rng.uniform(EARLY, LATE), counts)
            clock = max(clock + lasted * PACE, _latest(data, postgres)) + rng.choice(AWAY)
            counts.kills += 1
        with closing(opened_journal(data, postgres, look=True)) as journal:
            counts.judge(journal)
    return counts


def _one_life(story: Callable[[int], None], telling: bool, until: float, counts: Counts) -> float:
    """One process from its start to its end: the seconds that it lived after its first word.

    It ends so many seconds after that, or (`telling`) after the first event: a busy machine may take its time to that.
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
        began = time.monotonic()
        if telling and first and (event := told.readline()):
            counts.hear(event)
        time.sleep(until)
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


def main(kills: int, postgres: str | None = None) -> int:
    """Print the counts as JSON; 1 where something was lost or drawn twice."""
    counts = kill_often(kills, postgres=postgres)
    print(json.dumps({name: value for name, value in vars(counts).items() if isinstance(value, int)}))
    return 0 if counts.clean else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
