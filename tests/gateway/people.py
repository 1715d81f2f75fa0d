"""A small person for the gateway's tests: habits, a policy, places, readings, and a keeper that can be killed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from discreet import Clock, Day, DiscreetError, Policy, Routine
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.journal import SqliteJournal
from discreet.gateway.store.own_store import OwnStore, Reading
from discreet.mechanisms.named import Spec
from discreet.places import Circle, Place, Places

KEY = bytes(32)
START = dt.datetime(2026, 3, 2, 0, 10, tzinfo=dt.UTC)  # a Monday
CLOCK = Clock(12, "UTC")
PLACES = Places(
    [
        Place("home", Circle(48.10, 11.50, 150)),
        Place("work", Circle(48.15, 11.58, 150)),
        Place("clinic", Circle(48.20, 11.60, 150)),
    ]
)
WHERE = {"home": (48.10, 11.50), "work": (48.15, 11.58), "clinic": (48.20, 11.60)}


def habits(clock: Clock = CLOCK, seed: int = 1, days: int = 42) -> Routine:
    """Six weeks of somebody who sleeps at home, works on weekdays, and is at a clinic now and then."""
    rng = np.random.default_rng(seed)
    first = START.date() - dt.timedelta(days=days)
    return Routine.fit([Day(a_day(clock, rng), first + dt.timedelta(days=k)) for k in range(days)], clock=clock)


def a_day(clock: Clock, rng: np.random.Generator) -> tuple[str, ...]:
    """One day of that person."""
    contexts = ["home"] * clock.slots
    third = clock.slots // 3
    begins = third + int(rng.integers(0, 2))
    contexts[begins : begins + third] = ["work"] * third
    if rng.random() < 0.2:
        contexts[begins + third - 1] = "clinic"
    return tuple(contexts)


def person_config(
    name: str = "jane", routine: Routine | None = None, outputs: str = "deceive", clock: Clock = CLOCK
) -> PersonConfig:
    """The person with a secret."""
    spec, policy = Spec("adaptive", {"outputs": outputs}), Policy(["clinic"], delta=0.1)
    return PersonConfig(name, clock, routine or habits(clock), spec, policy, PLACES, hold=4 * 3600.0)


def readings(contexts: tuple[str, ...], date: dt.date, name: str = "jane", clock: Clock = CLOCK) -> Iterator[Reading]:
    """A position in the middle of each slot."""
    for slot, context in enumerate(contexts):
        instant = int(clock.start_of(date, slot).timestamp() + clock.slot_seconds / 2) * 1_000_000
        yield Reading(name, "phone", instant, WHERE[context], 20.0)


def keeper(folder: Path, now: float, *people: PersonConfig, **options: object) -> Keeper:
    """A keeper over the files of a folder."""
    journal = SqliteJournal(folder / "journal.db")
    own = OwnStore(folder / "own.db")
    try:
        return Keeper(people or (person_config(),), journal, own, KEY, now, **options)  # type: ignore[arg-type]
    except DiscreetError:
        journal.close()
        own.close()
        raise


def seeded(seed: int = 1) -> Callable[[int], bytes]:
    """Bits for a keeper whose outputs are the same in every run."""
    return np.random.default_rng(seed).bytes


def closed(one: Keeper) -> None:
    """Let go of the files, as a process that ends does."""
    one.journal.close()
    one.own.close()
