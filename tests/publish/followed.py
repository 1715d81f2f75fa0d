"""People to follow: a folder of models, a policy, and readings; and an engine of a few lines that keeps states."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from discreet import Clock, Day, Routine
from discreet.live import Stream
from discreet.mechanisms.named import Spec
from discreet.models.store import files_for, load, save
from discreet.outputs import Release
from discreet.policy import read_policy
from discreet.publish.stream.day_keys import DayKeys, SlotDraws
from discreet.publish.stream.people import Following, Held, LabelledInstant, People, begun, read, told

MONDAY = dt.date(2026, 3, 23)
"""Of a week in which Paris sets its clocks forward, on Sunday the 29th."""

CLOCK = Clock(24, "Europe/Paris")
SPEC = Spec("adaptive")
POLICY = """
delta = 0.1

[[secret]]
name = "clinic"
contexts = ["clinic"]
"""


def a_day(rng: np.random.Generator, clock: Clock = CLOCK) -> tuple[str, ...]:
    contexts = ["home"] * clock.slots
    third = clock.slots // 3
    contexts[third : 2 * third] = ["work"] * third
    for place in rng.integers(0, clock.slots, size=2):
        contexts[place] = str(rng.choice(["clinic", "shop", "home"]))
    return tuple(contexts)


def habits(seed: int, clock: Clock = CLOCK, days: int = 28) -> Routine:
    rng = np.random.default_rng(seed)
    first = MONDAY - dt.timedelta(days=days)
    return Routine.fit([Day(a_day(rng, clock), first + dt.timedelta(days=k)) for k in range(days)], clock=clock)


def folder_of(
    folder: Path, people: Iterable[str], clock: Clock = CLOCK, archetypes: int = 2, **options: float
) -> Following:
    """How these people are followed: people in turn have one of a few models."""
    names = list(people)
    models = folder / "models"
    models.mkdir(parents=True, exist_ok=True)
    routines = [habits(seed, clock) for seed in range(archetypes)]
    for path, routine in zip(files_for(models, [*names, ""]).values(), itertools.cycle(routines), strict=False):
        if path.name != ".model":
            save(path, routine)
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    keys = DayKeys.kept_in(folder / "keys").folder
    return Following(models, folder / "policy.toml", keys, SPEC, **{"grace": None, **options})  # type: ignore[arg-type]


def readings_of(
    seed: int, days: int, clock: Clock = CLOCK, first: dt.date = MONDAY, missing: float = 0.3
) -> list[LabelledInstant]:
    """Some readings a slot, none in some, in the order of time."""
    rng = np.random.default_rng(seed)
    found = []
    for date in (first + dt.timedelta(days=k) for k in range(days)):
        for slot, context in enumerate(a_day(rng, clock)):
            begins, ends = (int(at.timestamp() * 1000) for at in (clock.start_of(date, slot), clock.end_of(date, slot)))
            if rng.random() < missing or begins == ends:
                continue
            found += [LabelledInstant(int(at), context) for at in sorted(rng.integers(begins, ends, size=2))]
    return found


def end_of(date: dt.date, slot: int, clock: Clock = CLOCK) -> int:
    return round(clock.end_of(date, slot).timestamp() * 1000)


def stands(known: list[LabelledInstant], begins: int, ends: int, hold: int, end_of: Callable[[int], int]) -> str:
    """The rule of `live.standing` as a loop over one source's labels in order; instants are milliseconds."""
    times: dict[str, tuple[int, int]] = {}
    standing = "unknown"
    for k, (instant, label) in enumerate(known):
        lasts = min(hold, 900_000) if label == "moving" else hold
        until = max(instant + lasts, end_of(instant))
        if k + 1 < len(known):
            until = min(until, known[k + 1].instant)
        if instant < begins < until:
            standing = label
        low, high = max(instant, begins), min(until, ends)
        if low < high and label != "unknown":
            times[label] = (times.get(label, (0, 0))[0] + high - low, high)
    if begins == ends:
        return standing
    return max(times, key=lambda label: times[label]) if times else "unknown"


def by_hand(
    following: Following, name: str, readings: Iterable[LabelledInstant], days: int, clock: Clock = CLOCK
) -> list[Release]:
    """The slow twin: `live.Stream`, slot after slot, with the reading that stands in each by a loop."""
    routine = load(files_for(following.models, [name, ""])[name])
    assert isinstance(routine, Routine)
    policy, _ = read_policy(following.policy, clock)
    decision = People(following).get(name)
    assert decision is not None
    draws = SlotDraws(DayKeys(following.keys), name, decision.decision)
    stream = Stream(routine, partial(SPEC.make, policy=policy), start=MONDAY, person=name, rng=draws)
    known = sorted(readings)
    releases = []
    for date in (MONDAY + dt.timedelta(days=k) for k in range(days)):
        for slot in range(clock.slots):
            begins, ends = round(clock.start_of(date, slot).timestamp() * 1000), end_of(date, slot, clock)
            seen = [one for one in known if one.instant < ends]
            draws.at(date, slot, ends)
            context = stands(seen, begins, ends, round(following.carry * 1000), partial(_of_one, begins, ends))
            releases.append(stream.release(context))
    return releases


def _of_one(begins: int, ends: int, instant: int) -> int:
    """When the slot of an instant ends, as far as it matters for one slot."""
    return ends if instant >= begins else begins


class State(NamedTuple):
    """What an engine keeps of a person."""

    held: bytes
    stream: bytes = b""


class Engine:
    """States by person; a batch is readings and the time."""

    def __init__(
        self, following: Following, names: Iterable[str], now: int = 0, since: dt.date | None = MONDAY
    ) -> None:
        self.people = People(following)
        self.states: dict[str, State] = {}
        for name in names:
            person = self.people.get(name)
            assert person is not None
            self.states[name] = State(begun(self.people, person, now, since).to_bytes())

    def batch(self, readings: Iterable[tuple[str, LabelledInstant]], now: int) -> Iterator[Release]:
        for name, reading in readings:
            person, state = self.people.get(name), self.states[name]
            assert person is not None
            self.states[name] = state._replace(
                held=read(self.people, person, Held.from_bytes(state.held), [reading]).to_bytes()
            )
        for name, state in self.states.items():
            held = Held.from_bytes(state.held)
            if held.due <= now:
                person = self.people.get(name)
                assert person is not None
                releases, held, stream = told(self.people, person, held, state.stream, now)
                self.states[name] = state._replace(held=held.to_bytes(), stream=stream)
                yield from releases
