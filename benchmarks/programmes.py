"""The programmes of recorded people, decided again: how many are solved, what the kernels are worth, the time taken.

    python -m benchmarks programmes --data DIR [--people 8] [--keep FOLDER]    # walk, keep the slots, decide them again
    python -m benchmarks programmes --replay FOLDER                            # those of an earlier run, by this code
    python -m benchmarks programmes                                            # a simulated person: seconds

Two versions of the code are compared on the same slots: each slot's belief is kept as it was met on the walk, and the
expected worth of its kernel is exact. What a walk draws after another kernel is other slots, and says little of either.
`DIR` holds Reality Mining as `discreet reproduce adaptive` reads it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np

from benchmarks.endless import drawn
from discreet.contexts import UNKNOWN, Day
from discreet.errors import DiscreetError
from discreet.hierarchy import Hierarchy
from discreet.mechanisms.adaptive.adaptive import Adaptive, Memory
from discreet.mechanisms.adaptive.decision import Decider
from discreet.mechanisms.adaptive.slots import ObserverView, Slot
from discreet.models import MarkovChain
from discreet.models.routine.routine import Routine
from discreet.models.simulate import person
from discreet.numerics import BoolArray, FloatArray, IntArray
from discreet.policy import Policy
from discreet.randomness import SeededEntropy
from discreet.session import Session
from discreet_experiments.shared.people import Level, Rules, Trace, prepared, reality_mining, spread
from discreet_experiments.shared.subjects import Setting, chosen_secrets, parted
from discreet_experiments.shared.tree import ROOT

Outputs = Literal["deceive", "generalize", "suppress"]
Span = Literal["a day", "without end"]

SINCE = "2026-11-16"
LEVELS: tuple[Level, ...] = ("tower", "area")
ABOVE: dict[Level, tuple[Level, ...]] = {"tower": ("area", "region"), "area": ("region",)}
DAYS: dict[Span, int] = {"a day": 2, "without end": 3}


class Words(NamedTuple):
    """A vocabulary as a programme sees it."""

    outputs: range
    worth: FloatArray
    truth_of: BoolArray
    scale: float
    silence: int


class Kept(NamedTuple):
    """The slots of a walk, and what else a decision needs."""

    name: str
    words: Words
    private_contexts: IntArray
    slots: list[Slot]


class _NoSlots:
    """In the place of what makes slots of beliefs: they are there already."""

    def slot(self, belief: Any) -> Slot:
        raise NotImplementedError


class Found(NamedTuple):
    """One slot decided again."""

    worth: float
    seconds: float
    solved: bool  # as asked: with memory, where there is some
    kernel: bool  # of a programme, with memory or without


class _Keeping(Decider):
    """Keeps every slot that it decides."""

    def __init__(self, decider: Decider) -> None:
        self.__dict__.update(decider.__dict__)
        self.slots: list[Slot] = []

    def decided(self, slot: Slot) -> Any:
        if slot.rows:
            self.slots.append(slot)
        return super().decided(slot)


def walked(name: str, mechanism: Adaptive, paths: Sequence[Sequence[str]], seed: int) -> Kept:
    """Release these days, or this one stream, and keep the slots that needed a programme."""
    keeping = _Keeping(mechanism.decider)
    mechanism.machine.decider = keeping
    for number, labels in enumerate(paths):
        session = Session(mechanism, rng=SeededEntropy(seed + number))
        for label in labels:
            session.release(label)
    own = mechanism.vocabulary
    words = Words(range(len(own.outputs)), own.worth, own.truth_of, float(own.scale), int(own.silence))
    return Kept(name, words, mechanism.private_contexts, keeping.slots)


def save(kept: Kept, folder: Path) -> None:
    """One file a walk; the slots' arrays end to end."""
    arrays: dict[str, Any] = {
        "worth": kept.words.worth,
        "truth_of": kept.words.truth_of,
        "scale": kept.words.scale,
        "silence": kept.words.silence,
        "private_contexts": kept.private_contexts,
        "slots": len(kept.slots),
    }
    for k, slot in enumerate(kept.slots):
        own = {"private": slot.private, "context": slot.context, "mass": slot.mass}
        for v, view in enumerate(slot.views):
            own |= {f"view {v} {field}": part for field, part in view._asdict().items()}
        arrays |= {f"{k} {field}": part for field, part in own.items()}
    np.savez(folder / f"{kept.name}.npz", **arrays)


def load(path: Path) -> Kept:
    """What `save` wrote."""
    with np.load(path, allow_pickle=False) as found:
        worth = found["worth"]
        words = Words(range(worth.shape[1]), worth, found["truth_of"], float(found["scale"]), int(found["silence"]))
        slots = []
        for k in range(int(found["slots"])):
            views: list[ObserverView] = []
            while f"{k} view {len(views)} mass" in found:
                views.append(ObserverView(*(found[f"{k} view {len(views)} {field}"] for field in ObserverView._fields)))
            slots.append(Slot(found[f"{k} private"], found[f"{k} context"], found[f"{k} mass"], tuple(views)))
        return Kept(path.stem, words, found["private_contexts"], slots)


def decided(kept: Kept) -> list[Found]:
    """Every slot again, by this code."""
    decider = Decider(_NoSlots(), cast(Any, kept.words), kept.private_contexts)
    effort, found = decider.effort, []
    for slot in kept.slots:
        simple, without = effort.simple + effort.given_up, effort.without_memory
        began = time.thread_time()
        decision = decider.decided(slot)
        seconds = time.thread_time() - began
        kernel = effort.simple + effort.given_up == simple
        found.append(Found(decision.worth, seconds, kernel and effort.without_memory == without, kernel))
    return found


# --- people


class Person(NamedTuple):
    """Days to learn from, the nodes above each context, and what is secret."""

    name: str
    days: list[Day]
    above: dict[str, tuple[str, ...]]
    secrets: tuple[str, ...]

    def hierarchy(self, contexts: Sequence[str]) -> Hierarchy:
        """Over these contexts; what has no place on the map is an area of its own."""
        layers = max(map(len, self.above.values()), default=1)
        parents: dict[str, str | None] = {}
        for label in contexts:
            line = (label, *self.above.get(label, [f"{label} {k}" for k in range(layers)]))
            parents.update(zip(line, (*line[1:], ROOT), strict=True))
        return Hierarchy.from_parents(parents)


def recorded(folder: Path, level: Level, people: int) -> list[Person]:
    """Half of them those with the most contexts, the others evenly spread."""
    rules = Rules(level=level, cut="04:00")
    setting = Setting(rules=rules, smoothing="auto")
    traces = reality_mining(folder, rules)
    most = sorted(traces, key=lambda trace: -len({label for day in prepared(trace, rules) for label in day.contexts}))
    dense = most[: people // 2]
    found = [_person(trace, level, setting) for trace in [*dense, *spread(most[len(dense) :], people - len(dense))]]
    return [one for one in found if one is not None]


def _person(trace: Trace, level: Level, setting: Setting) -> Person | None:
    learned = parted(prepared(trace, setting.rules), setting.training)[0]
    secrets = chosen_secrets(MarkovChain.fit(learned).contexts, setting, trace.number)
    here = trace.names.get(level, {})
    above = {
        here.get(tower, tower) if level != "tower" else tower: tuple(
            f"{layer} {trace.names[layer].get(tower, UNKNOWN)}" for layer in ABOVE[level]
        )
        for tower in trace.names["region"]
    }
    return Person(f"{level} {trace.number}", learned, above, secrets) if secrets else None


def simulated() -> list[Person]:
    """Somebody made up, with few contexts."""
    return [Person("simulated", person(days=60, slots=8, contexts=9, seed=0), {}, ("hospital", "gym"))]


def walks(someone: Person, days: dict[Span, int]) -> Iterator[Kept]:
    """Every vocabulary, with memory and without, for some days and for a stream."""
    policy = Policy(someone.secrets, delta=0.1)
    for span in get_args(Span):
        for outputs in get_args(Outputs):
            for memory in get_args(Memory):
                name = f"{someone.name}, {span}, {outputs}, memory {memory}"
                try:
                    yield _walk(name, someone, policy, span, outputs, memory, days[span])
                except DiscreetError as error:
                    print(f"{name}: left out: {error}", flush=True)


def _walk(name: str, someone: Person, policy: Policy, span: Span, outputs: Outputs, memory: Memory, days: int) -> Kept:
    if span == "a day":
        chain = MarkovChain.fit(someone.days, "auto")
        model: Any = chain
        paths = [day.contexts for day in chain.sample(days, 1)]
    else:
        model = Routine.fit(someone.days, secrets=policy).since(SINCE)
        paths = [tuple(drawn(model, days))]
    hierarchy = someone.hierarchy(model.contexts) if outputs == "generalize" else None
    mechanism = Adaptive(model, policy, outputs=outputs, memory=memory, hierarchy=hierarchy, plan="lazy")
    return walked(name, mechanism, paths, 1)


# --- the table


def summary(found: dict[str, list[Found]]) -> Iterator[str]:
    """A line for each kind of walk, and for all."""
    yield f"{'':44} slots  not as asked  no kernel    worth  median    p99   most (ms)"
    for name, own in found.items():
        if own:
            seconds = 1e3 * np.array([one.seconds for one in own])
            asked, kernels = (np.mean([getattr(one, field) for one in own]) for field in ("solved", "kernel"))
            worth = np.mean([one.worth for one in own])
            middle, high = np.percentile(seconds, [50, 99])
            yield (
                f"{name:44} {len(own):5} {100 * (1 - asked):11.2f} % {100 * (1 - kernels):8.2f} % {worth:8.4f} "
                f"{middle:7.2f} {high:6.1f} {seconds.max():6.1f}"
            )


def replayed(folder: Path) -> dict[str, list[Found]]:
    """Every walk of a folder, gathered by what kind it is."""
    kinds: dict[str, list[Found]] = {}
    paths = sorted(folder.glob("*.npz"))
    for path in paths[:1]:
        decided(load(path))  # loads compiled code
    for path in paths:
        own = decided(load(path))
        who, rest = path.stem.split(", ", 1)
        kinds.setdefault(f"{who.split()[0]}, {rest}", []).extend(own)
    everything = [one for own in kinds.values() for one in own]
    return {**dict(sorted(kinds.items())), "all": everything}


def main(options: Sequence[str] = ()) -> None:
    """Walk, keep the slots, and decide them again."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks programmes")
    parser.add_argument("--data", type=Path, help="the folder with Reality Mining; else somebody simulated")
    parser.add_argument("--people", type=int, default=8, help="at each level")
    parser.add_argument("--keep", type=Path, help="a folder to keep the slots in")
    parser.add_argument("--replay", type=Path, help="such a folder: decide its slots")
    given = parser.parse_args(options)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.replay or given.keep or Path(temporary)
        if given.replay is None:
            folder.mkdir(parents=True, exist_ok=True)
            levels = LEVELS if given.data else ()
            people = [one for level in levels for one in recorded(given.data, level, given.people)] or simulated()
            for someone in people:
                for kept in walks(someone, DAYS):
                    save(kept, folder)
        for line in summary(replayed(folder)):
            print(line, flush=True)
