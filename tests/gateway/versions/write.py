"""Write one file of every kind that discreet keeps, and what going on from them gives: `python -m` this, FOLDER.

`03010e6/` was written by the commit of that name and is never written again: it stands for what people have on disk.
Run this on a later commit only to make a folder of its own, when a format has changed. `test_kept_files.py` reads each
folder with the program at hand. People and days are made up, and every draw has a seed, so that a second run of one
commit writes the same bytes, apart from the times in published.zip.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import discreet as d
from discreet.gateway.config.settings import Settings
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.journal import JournalError, SqliteJournal
from discreet.gateway.store.own_store import OwnStore, Reading
from discreet.live import Stream
from discreet.mechanisms import Adaptive
from discreet.mechanisms.named import Spec
from discreet.models.bundle import Published
from discreet.models.chain.week import Models
from discreet.models.learning.observers import observers_of
from discreet.models.routine.parts import AnyModel
from discreet.models.store import save
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.outputs import SUPPRESSED, Output, Released, to_wire
from discreet.places import Circle, Place, Places
from discreet.places.placefile import write_places
from discreet.publish import Plan
from discreet.publish.habits_file import save_habits
from discreet.randomness import SeededEntropy

START = dt.date(2026, 3, 2)  # a Monday
CLOCK = d.Clock(6, "UTC")
KEY = bytes(range(32))
WHERE = {"home": (48.10, 11.50), "work": (48.15, 11.58), "clinic": (48.20, 11.60)}
PLACES = Places([Place(name, Circle(*at, 150)) for name, at in WHERE.items()])
FIRST = d.Policy(["clinic"], delta=0.1)
LATER = d.Policy([d.Secret("clinic", delta=0.05), d.Secret("work at night", {"work"}, slots=[0, 5])], delta=0.2)

STREAMS: dict[str, tuple[str, str, str]] = {
    "suppress": ("suppress", "last", ""),
    "suppress-without-memory": ("suppress", "none", ""),
    "deceive": ("deceive", "last", ""),
    "deceive-without-memory": ("deceive", "none", ""),
    "observers": ("suppress", "last", "observers"),
    "policy-changed": ("deceive", "last", "policy"),
    "habits-changed": ("suppress", "last", "habits"),
}
"""Checkpoints, by name: outputs, memory, and what is special."""

BEFORE, AFTER = 22, 10
"""Slots up to a checkpoint, and those that are recorded after it; a change is announced at the fourth slot.

The last slot before is at the clinic: what an observer believes then is no certainty, and has to be gone on with."""

TURNS, OFF = 22, (8, 9)
"""Slots of the journal, and those of them at which the machine was off; policy and habits change at the seventh."""


def contexts_of(slots: int, seed: int) -> list[str]:
    """What is true, slot by slot: nights at home, work by day, a clinic now and then."""
    rng = np.random.default_rng(seed)
    days = -(-slots // CLOCK.slots)
    return [context for _ in range(days) for context in _day(rng)][:slots]


def _day(rng: np.random.Generator) -> tuple[str, ...]:
    at_work = 2 + int(rng.integers(0, 2))
    contexts = ["home"] * CLOCK.slots
    contexts[at_work : at_work + 2] = ["work", "clinic" if rng.random() < 0.25 else "work"]
    return tuple(contexts)


def days_of(seed: int, count: int = 28) -> list[d.Day]:
    """Days before the stream begins."""
    rng = np.random.default_rng(seed)
    return [d.Day(_day(rng), START - dt.timedelta(days=count - k)) for k in range(count)]


def models() -> dict[str, AnyModel]:
    """One of every kind that a model file holds."""
    days, rows = days_of(1), [[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5]]
    labels, emissions = ("home", "work", "clinic"), [[0.75, 0.25, 0.0], [0.0, 0.5, 0.5]]
    turns = np.array([[[0.5, 0.5], [0.25, 0.75]], [[0.875, 0.125], [0.5, 0.5]]])
    routine = d.Routine.fit(days, clock=CLOCK, secrets=LATER)
    return {
        "chain": d.MarkovChain.fit(days, clock=CLOCK),
        "chain-given": d.MarkovChain(labels, [0.5, 0.25, 0.25], np.array([rows, rows[::-1]])),
        "chain-homogeneous": d.MarkovChain.homogeneous(labels, [0.5, 0.25, 0.25], rows, 48),
        "hidden": d.HiddenMarkovModel(labels, [0.5, 0.5], turns, emissions, clock=d.Clock(3)),
        "hidden-by-slot": d.HiddenMarkovModel(
            labels, [0.5, 0.5], turns, np.array([emissions, emissions[::-1]] * 2)[:3]
        ),
        "hidden-homogeneous": d.HiddenMarkovModel.homogeneous(labels, [0.5, 0.5], turns[0], emissions, 24),
        "week": d.MarkovChain.fit(days, by="weekpart", clock=CLOCK),
        "routine": routine,
        "routine-later": d.Routine.fit(days_of(4), clock=CLOCK, secrets=LATER),
        "routine-days-alike": d.Routine.fit(days, by=None, clock=CLOCK),
        "routine-calibrated": d.Routine.fit(days, smoothing="calibrated", clock=CLOCK),
        "routine-observers": routine.with_observers(observers_of(routine, days, 2, secrets=sorted(LATER.contexts))),
    }


def mechanism_of(name: str, kept: Callable[[str], Any]) -> Adaptive:
    """The mechanism that a checkpoint was made by, before any change; `kept` gives a model by its name."""
    outputs, memory, special = STREAMS[name]
    routine = kept("routine-observers" if special == "observers" else "routine")
    return Adaptive(routine.since(START), FIRST, outputs=outputs, memory=memory)  # type: ignore[arg-type]


def changed(mechanism: Adaptive, name: str, date: str, kept: Callable[[str], Any]) -> Adaptive:
    """The same mechanism with the change that was announced."""
    match STREAMS[name][2]:
        case "policy":
            return mechanism.then(date, policy=LATER)
        case "habits":
            return mechanism.then(date, routine=kept("routine-later"))
    return mechanism


def wire(output: Output) -> str:
    """An output as applications have it."""
    return json.dumps(to_wire(output), sort_keys=True)


def going_on(session: d.Session, truth: list[str]) -> list[list[str]]:
    """The kernel's digest and the output of each of these slots."""
    told = []
    for context in truth:
        kernel = session.kernel.digest.hex()
        told.append([kernel, wire(session.release(context))])
    return told


def write_streams(folder: Path, made: dict[str, AnyModel]) -> dict[str, Any]:
    """Checkpoints after some slots, one of them skipped; what follows from each."""
    recorded: dict[str, Any] = {}
    for name, (_, _, special) in STREAMS.items():
        session, date = d.Session(mechanism_of(name, made.__getitem__), rng=SeededEntropy(3)), ""
        for slot, context in enumerate((*contexts_of(BEFORE - 1, seed=7), "clinic")):
            if slot == 3 and special in ("policy", "habits"):
                new: dict[str, Any] = {"policy": LATER} if special == "policy" else {"routine": made["routine-later"]}
                date = session.change(**new).isoformat()
            if slot == 11:
                session.skip()
            else:
                session.release(context)
        text = session.checkpoint().to_json()
        (folder / f"checkpoint-{name}.json").write_text(text + "\n", encoding="utf-8")
        private, digest = session.private, session.digest
        session.draw_from(SeededEntropy(4))
        following = going_on(session, contexts_of(AFTER, seed=8))
        recorded[name] = {"private": private, "digest": digest, "changed": date, "following": following}
    return recorded


def stream_make(model: Any) -> Adaptive:
    """The mechanism of the stream whose state is kept."""
    return Adaptive(model, FIRST, outputs="deceive")


class Chance:
    """A seeded source that can be given another seed, as a stream that is resumed is."""

    def __init__(self, seed: int) -> None:
        self.inner = SeededEntropy(seed)

    def bits(self, count: int) -> int:
        """So many random bits."""
        return self.inner.bits(count)

    def below(self, bound: int) -> int:
        """A random whole number below a bound."""
        return self.inner.below(bound)


def write_state(folder: Path, routine: d.Routine) -> dict[str, Any]:
    """The state of a stream within a day, and what the stream itself, which never stopped, releases then."""
    chance = Chance(5)
    stream = Stream(routine, stream_make, start=START, carry=2, person="jane", rng=chance)
    for reading in (*contexts_of(14, seed=9), "clinic", None):
        stream.release(reading)
    (folder / "stream-state.json").write_text(stream.state() + "\n", encoding="utf-8")
    date, slot = stream.date.isoformat(), stream.slot
    chance.inner = SeededEntropy(6)
    return {"date": date, "slot": slot, "following": released(stream)}


def released(stream: Stream) -> list[str]:
    """What a stream releases of readings with gaps."""
    return [wire(stream.release(reading).output) for reading in (None, None, None, *contexts_of(6, seed=10))]


def person_config(routine: d.Routine, policy: d.Policy) -> PersonConfig:
    """The person of the journal."""
    return PersonConfig(
        "jane", CLOCK, routine, Spec("adaptive", {"outputs": "deceive"}), policy, PLACES, hold=4 * 3600.0
    )


def ends(slots: int) -> list[float]:
    """When the first so many slots end."""
    midnight = dt.datetime.combine(START, dt.time(), dt.UTC).timestamp()
    return [midnight + CLOCK.slot_seconds * (k + 1) for k in range(slots)]


def readings_of(slots: int) -> Iterator[Reading]:
    """A position in the middle of each slot; in every fourth a label beside it, from another source."""
    for slot, (usual, end) in enumerate(zip(contexts_of(slots, seed=11), ends(slots), strict=True)):
        instant = int(end - CLOCK.slot_seconds / 2) * 1_000_000
        context = "clinic" if slot == TURNS - 1 else usual
        yield Reading("jane", "phone", instant, WHERE[context], 20.0)
        if slot % 4 == 0:
            yield Reading("jane", "calendar", instant + 1, label=context)


def bits_from(seed: int) -> Callable[[int], bytes]:
    """Bits that differ from call to call and are the same in every run."""
    calls = iter(range(10**6))
    return lambda count: hashlib.shake_256(b"%d %d" % (seed, next(calls))).digest(count)


def keeper(folder: Path, now: float, who: PersonConfig, seed: int) -> Keeper:
    """A keeper over the files of a folder."""
    return Keeper(
        [who], SqliteJournal(folder / "journal.db"), OwnStore(folder / "own.db"), KEY, now, bits=bits_from(seed)
    )


def close(one: Keeper) -> None:
    """Let go of the files."""
    one.journal.close()
    one.own.close()


def facts_of(rows: list[Any]) -> list[list[str]]:
    """What is recorded of rows of the journal: when, the kernel, the output, and the link of the chain."""
    return [[f"{row.date}.{row.slot}", row.kernel, row.wire, row.chain.hex()] for row in rows]


def write_journal(folder: Path, made: dict[str, Any]) -> dict[str, Any]:
    """A journal, and the own store twice: with the last slot settled, and with the next one stamped and not drawn."""
    work = folder / "work"
    work.mkdir()
    due = ends(TURNS + AFTER)
    before, after = person_config(made["routine"], FIRST), person_config(made["routine-later"], LATER)
    one = keeper(work, due[0] - 60, before, seed=1)
    one.read(list(readings_of(TURNS + AFTER)), due[-1])
    for slot, end in enumerate(due[:TURNS]):
        if slot == 6:
            close(one)
            one = keeper(work, end - 60, after, seed=2)
        if slot not in OFF:
            one.turn(end)
    for date in sorted({row.date for row in one.journal.all_rows("jane")}):
        for _ in one.explain("jane", date):
            pass
    for name in ("journal", "own"):
        dump(work / f"{name}.db", folder / f"{name}.sql")
    _stamp_the_next(one, due[TURNS])
    dump(work / "own.db", folder / "own-pending.sql")
    pending = facts_of(one.turn(due[TURNS]))
    following = pending + [fact for end in due[TURNS + 1 :] for fact in facts_of(one.turn(end))]
    rows = list(one.journal.all_rows("jane"))[:TURNS]
    close(one)
    shutil.rmtree(work)
    return {"rows": facts_of(rows), "following": following, "next": due[TURNS]}


def _stamp_the_next(one: Keeper, end: float) -> None:
    """Let the disk fail between the stamp and the row."""

    def full(*given: object) -> None:
        raise JournalError("the disk is full")

    append = one.journal.append
    one.journal.append = full  # type: ignore[assignment]
    with suppress(JournalError):
        one.turn(end)
    one.journal.append = append  # type: ignore[method-assign]


def dump(database: Path, target: Path) -> None:
    """A database as SQL, with its version."""
    with closing(sqlite3.connect(database)) as file:
        (version,) = file.execute("PRAGMA user_version").fetchone()
        lines = [*file.iterdump(), f"PRAGMA user_version = {version};"]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


POLICY = """\
delta = 0.1

[clock]
slots = 6
zone = "UTC"

[[secret]]
contexts = ["clinic"]
cap = 0.3

[[secret]]
name = "clinic today"
contexts = ["clinic"]
at = "any"

[[secret]]
name = "home at night"
contexts = ["home"]
between = ["20:00", "04:00"]
delta = 0.15
"""

SETTINGS = """\
[clock]
slots = 6
zone = "UTC"
cut = "00:00"

[people.jane]
routine = "models/routine.model"
policy = "policy.toml"
places = "places.geojson"
carry = "90m"

[people.jane.mechanism]
name = "adaptive"
outputs = "deceive"

[server]
port = 9000
hosts = ["home.example"]
proxies = ["127.0.0.1"]
data = "data"

[keeping]
margin = "3s"
grace = "2m"
retention_days = 14

[journal]
url = "postgresql://discreet@localhost/discreet"

[limits]
application = 5
source = 7
upload = 100

[views.family]
groups = { home = ["home"], out = ["work", "clinic"] }
rest = "away"

[applications.diary]
person = "jane"
view = "family"
now_only = true

[broker]
host = "broker.example"
port = 1884
version = "5"
name = "gateway"

[[broker.tell]]
person = "jane"
view = "family"
forms = ["json", "home_assistant"]
token = "1f3a9c2e"

[[owntracks]]
person = "jane"
user = "jane"
device = "pixel"

[[home_assistant]]
statestream = "statestream"
entities = { "device_tracker.jane_pixel" = "jane" }
labels = { "Work" = "work" }
"""


def policy_values(policy: d.Policy) -> dict[str, Any]:
    """What a policy says, for JSON."""
    return {
        "delta": policy.delta,
        "fingerprint": policy.fingerprint,
        "secrets": [
            [one.name, sorted(one.contexts), sorted(one.slots or ()), one.delta, one.at, one.begins, one.cap]
            for one in policy.secrets
        ],
    }


def settings_values(settings: Settings, folder: Path) -> dict[str, Any]:
    """What the settings say, for JSON; paths relative to the folder."""
    jane, server, keeping, limits = settings.people["jane"], settings.server, settings.keeping, settings.limits
    broker, view, diary = settings.broker, settings.views["family"], settings.applications["diary"]
    assert broker is not None
    (told,), (phone,), (home,) = broker.tells, settings.owntracks, settings.home_assistant
    files = [jane.routine, jane.policy, jane.places, server.data]
    return {
        "clock": [settings.clock.slots, settings.clock.zone, settings.clock.cut],
        "files": [None if file is None else file.relative_to(folder).as_posix() for file in files],
        "jane": [list(settings.people), jane.mechanism.to_table(), jane.carry],
        "server": [server.host, server.port, list(server.hosts), list(server.proxies)],
        "keeping": [keeping.margin, keeping.grace, keeping.retention_days],
        "journal": settings.journal.url,
        "limits": [limits.application.a_second, limits.source.a_second, limits.upload],
        "family": [{name: sorted(group) for name, group in (view.groups or {}).items()}, view.rest],
        "diary": [diary.person, diary.view, diary.now_only],
        "broker": [broker.host, broker.port, broker.version, broker.name, broker.tls],
        "told": [told.person, told.view, sorted(told.forms), told.now_only, told.token],
        "phone": [phone.person, phone.user, phone.device],
        "home_assistant": [home.statestream, dict(home.entities), dict(home.labels)],
    }


def write_settings(folder: Path) -> dict[str, Any]:
    """Settings and policy as people write them, a map as the program writes it, and the settings as it writes them."""
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    (folder / "discreet.toml").write_text(SETTINGS, encoding="utf-8")
    write_places(folder / "places.geojson", PLACES)
    settings = Settings.read(folder / "discreet.toml")
    jane = settings.people["jane"]
    changed = settings.text_with(SETTINGS, CLOCK, replace(jane, carry=60.0))
    as_before = replace(settings, people={"jane": replace(jane, carry=60.0)}).text_with(changed, CLOCK, jane)
    (folder / "discreet-written.toml").write_text(as_before, encoding="utf-8")
    return {
        "policy": policy_values(d.Policy.read(folder / "policy.toml", clock=CLOCK)),
        "settings": settings_values(settings, folder),
    }


def topics_plan(habits: str) -> Plan:
    """Topics of a few made-up people, over whole events or over independent attributes."""
    people = trajectories(topic_model(people=4, topics=2, sizes=(3, 2, 2), seed=4), length=(6, 9), seed=4)
    policy = d.Policy("activity=activity 1", delta=0.1)
    return Plan.learn(people, policy, habits=habits, topics=2, sweeps=400, piece_length=4)  # type: ignore[arg-type]


def write_models(folder: Path, made: dict[str, AnyModel]) -> dict[str, Any]:
    """A file of every model, topics that `publish` learned, and a bundle."""
    (folder / "models").mkdir()
    recorded: dict[str, Any] = {}
    for name, model in made.items():
        truth, reading = {"days": 28, "held": True}, {"carry": 4.0}
        more: dict[str, Any] = {"truth": truth, "reading": reading} if name == "routine" else {}
        save(folder / "models" / f"{name}.model", model, **more)
        recorded[name] = fingerprints(model)
    for habits in ("events", "topics"):
        plan = topics_plan(habits)
        save_habits(folder / "models" / f"habits-{habits}", plan.habits)
        recorded[f"habits-{habits}"] = [plan.habits.name, plan.habits.fingerprint]  # type: ignore[attr-defined]
    chain: Any = made["chain-given"]
    Published(chain, [[Released("home"), SUPPRESSED, Released("work")]]).write(folder / "models" / "published.zip")
    return recorded


def fingerprints(model: AnyModel) -> list[str]:
    """What a model is known by: its contexts, its clock, its digest, and those of its parts or observers."""
    if isinstance(model, Models):
        return [text for part, chain in model.items() for text in (part, *fingerprints(chain))]
    observers = model.observers if isinstance(model, d.Routine) else ()
    clock = "" if model.clock is None else f"{model.clock.slots} {model.clock.zone} {model.clock.cut}"
    return [" ".join(model.contexts), clock, model.fingerprint, *(one.fingerprint for one in observers)]


def main(folder: Path) -> None:
    """Write all of it to a new folder."""
    folder.mkdir()
    made = models()
    recorded = {
        "models": write_models(folder, made),
        "streams": write_streams(folder, made),
        "state": write_state(folder, made["routine"]),  # type: ignore[arg-type]
        "journal": write_journal(folder, made),
        **write_settings(folder),
    }
    text = json.dumps(recorded, indent=1, ensure_ascii=False)
    (folder / "recorded.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
