"""Beside others that do a part of it, in one table: speed, memory, and in words what each promises.

Both sides get the same inputs, each in a process of its own, and processor time is what counts. A peer is looked for in
this Python, then in the one that DISCREET_PEERS names (an environment of its own: `pip install privkit opendp
trackintel`). PGLP is no package: DISCREET_PGLP names a clone of its repository. What is absent is named and left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._peers import memory, timed

Inputs = dict[str, Any]
Prepared = tuple[int, Callable[[], object]]
"""How many units a call does, and the call."""


class Peer(NamedTuple):
    """A function of `_peers`, how it is had, and what it promises."""

    name: str
    had: str
    promises: str


class Case(NamedTuple):
    """What is compared: the inputs of both sides, our side, the peers, and what ours promises."""

    what: str
    inputs: Callable[[], Inputs]
    ours: Callable[[Inputs], Prepared]
    promises: str
    peers: tuple[Peer, ...]


# --- the filter

STATES, SYMBOLS, STEPS, SLOTS = 20, 30, 10_000, 48


def sequence() -> Inputs:
    """A hidden Markov model and what was seen of it."""
    rng = np.random.default_rng(0)
    return {
        "initial": rng.dirichlet(np.ones(STATES)),
        "step": rng.dirichlet(np.ones(STATES), STATES),
        "emission": rng.dirichlet(np.ones(SYMBOLS), STATES),
        "seen": rng.integers(SYMBOLS, size=STEPS),
    }


def our_sequence(given: Inputs) -> Prepared:
    """Posteriors of the whole sequence."""
    from discreet_experiments.s_ppatp.smoother import smoothed

    steps = np.broadcast_to(given["step"], (STEPS - 1, STATES, STATES))
    seen = given["emission"].T[given["seen"]]
    return 1, lambda: smoothed(given["initial"], steps, seen)


def slot() -> Inputs:
    """The sizes of the product that a slot with three secrets needs."""
    rng = np.random.default_rng(0)
    return {"stack": rng.random((3 * SLOTS, STATES)), "step": rng.random((STATES, STATES))}


def our_slot(given: Inputs) -> Prepared:
    """Belief in three secrets at every slot of the day, after each output."""
    from discreet.adversary.belief import Adversary
    from discreet.mechanisms import NoMask
    from discreet.models import MarkovChain
    from discreet.policy import Policy

    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(STATES), (SLOTS - 1, STATES))
    chain = MarkovChain([f"c{k}" for k in range(STATES)], rng.dirichlet(np.ones(STATES)), rows)
    adversary, columns = Adversary(NoMask(chain, Policy(["c0", "c1", "c2"]))), rng.random((SLOTS, STATES))

    def day() -> None:
        belief = adversary.start()
        for column in columns:
            belief = belief.after(column)

    return SLOTS, day


# --- the programme of a slot

PROGRAMMES = 40


def programmes() -> Inputs:
    """Programmes as they occur: a simulated person of 20 contexts who deceives."""
    from benchmarks.adaptive import habits
    from discreet.mechanisms import Adaptive, programme
    from discreet.session import Session

    found: list[tuple[Any, ...]] = []
    solve = programme.solve

    def noted(*given: Any, **limits: Any) -> Any:
        found.append(given)
        return solve(*given, **limits)

    chain, policy, days = habits(20, SLOTS, "auto")
    programme.solve = noted
    try:
        with Session(Adaptive(chain, policy, outputs="deceive", plan="lazy")) as today:
            for context in days[0].tolist():
                today.release(chain.contexts[context])
    finally:
        programme.solve = solve
    kept = found[:: max(1, len(found) // PROGRAMMES)][:PROGRAMMES]
    names = ("m", "s", "o", "v", "a", "n")
    arrays = {f"{name}{k}": part for k, one in enumerate(kept) for name, part in zip(names, one, strict=True)}
    return {"programmes": len(kept), **arrays}


def our_programmes(given: Inputs) -> Prepared:
    """All of them, one after the other."""
    from discreet.mechanisms.programme import solve

    count = int(given["programmes"])
    each: list[tuple[Any, ...]] = [
        (*(given[f"{name}{k}"] for name in ("m", "s", "o", "v", "a")), int(given[f"n{k}"])) for k in range(count)
    ]
    return count, lambda: [solve(*one) for one in each]


# --- a trace of cells

SIDE, REACH, EPSILON = 10, 2, 1.0


def trace() -> Inputs:
    """48 steps over 100 cells, and where the person may be at each."""
    from benchmarks.dphmm import town

    chain, cells = town(SIDE, REACH)
    path = chain.sample_codes(1, seed=1)[0][:SLOTS]
    ahead = chain.transitions[0] > 0
    support = np.array([np.ones(len(cells), dtype=bool), *(ahead[before] for before in path[:-1])])
    widest = np.abs(cells[:, None] - cells[None]).sum(axis=2)
    sensitivity = max(float(widest[np.ix_(one, one)].max()) for one in map(np.flatnonzero, support[1:]))
    return {"cells": cells, "path": path, "support": support, "sensitivity": sensitivity, "epsilon": EPSILON}


def our_trace(given: Inputs) -> Prepared:
    """A session of `Dphmm`: kernel, draw and belief at each step; a new mechanism each time, nothing kept."""
    from benchmarks.dphmm import town
    from discreet.mechanisms.perturbation import Dphmm, PolicyGraph
    from discreet.session import Session

    chain, cells = town(SIDE, REACH)
    graph = PolicyGraph.transitions(chain)
    labels = [chain.contexts[c] for c in given["path"]]

    def released() -> None:
        with Session(Dphmm(chain, graph=graph, query=cells, epsilon=EPSILON)) as today:
            for label in labels:
                today.release(label)

    return len(labels), released


# --- stays

POSITIONS, RADIUS, MINUTES, GAP = 17_280, 100.0, 10.0, 4 * 3600.0
"""60 days, a position each five minutes; metres, minutes, and seconds of silence."""


def positions() -> Inputs:
    """Home, work and one of forty other places in the evening, with half an hour on the way."""
    from discreet.places.ellipsoid import positions_around

    rng = np.random.default_rng(0)
    spots = rng.uniform(-10_000, 10_000, (42, 2))
    minute = 5 * np.arange(POSITIONS)
    day, hour = minute // 1440, minute % 1440 / 60
    evening = rng.integers(2, 42, day[-1] + 1)[day]
    place = np.where((hour >= 9) & (hour < 17), 1, np.where((hour >= 18) & (hour < 20), evening, 0))
    metres = spots[place] + rng.normal(0, 15, (POSITIONS, 2))
    way = (hour % 1 > 0.5) & np.isin(hour.astype(int), (8, 17, 20))
    metres[way] = rng.uniform(-10_000, 10_000, (int(way.sum()), 2))
    instants = (1_600_000_000 + 60 * minute) * 1_000_000
    where = positions_around((48.0, 11.0), metres)
    return {"instants": instants, "positions": where, "radius": RADIUS, "minutes": MINUTES, "gap": GAP}


def our_stays(given: Inputs) -> Prepared:
    """Stays from degrees."""
    from discreet.places.ellipsoid import points_of
    from discreet.places.stays import stays_of

    limits = float(given["radius"]), round(60e6 * float(given["minutes"])), round(1e6 * float(given["gap"]))
    return 1, lambda: stays_of(given["instants"], points_of(given["positions"]), *limits)


# --- events

EVENTS = 12
"""Of one person: the paper's loops take longer with the cube of it."""


def nothing() -> Inputs:
    """Both sides make the same person."""
    return {}


def _person() -> tuple[Any, Any, list[int]]:
    from benchmarks.trajectories import PAPER, three, topics

    model = topics(0, slots=EVENTS)
    return model, (three(0.65), PAPER), model.sample_codes(1, seed=1)[0].tolist()


def our_events(given: Inputs) -> Prepared:
    """PA-Markov, its tables included."""
    from benchmarks.trajectories import published
    from discreet.mechanisms import PaMarkov
    from discreet.randomness import SystemEntropy

    model, (policy, events), codes = _person()
    return EVENTS, lambda: published(PaMarkov(model, policy, events=events), codes, SystemEntropy())


def loop(given: Inputs) -> Prepared:
    """The paper's algorithms as plain loops."""
    from benchmarks.trajectories import plain_pa_markov
    from discreet.mechanisms import PaMarkov

    model, (policy, events), codes = _person()
    return EVENTS, lambda: plain_pa_markov(PaMarkov(model, policy, events=events), codes)


# --- the table

BITS = "the same bits on every machine"
CASES = {
    "sequence": Case(
        f"posteriors of {STEPS:,} steps, {STATES} states",
        sequence,
        our_sequence,
        BITS,
        (Peer("hmmlearn", "pip install hmmlearn", "bits by build and processor"),),
    ),
    "slot": Case(
        f"a slot of the filter, 3 secrets, {STATES} contexts",
        slot,
        our_slot,
        f"every secret's belief at each of {SLOTS} slots; {BITS}",
        (Peer("numpy", "pip install numpy", "one product of those sizes, and no belief"),),
    ),
    "programme": Case(
        "the programme of a slot, 20 contexts",
        programmes,
        our_programmes,
        f"checked as rounded, silence where it fails; {BITS}",
        (Peer("highs", "pip install scipy", "the optimum up to 1e-7; bits by build"),),
    ),
    "trace": Case(
        f"a release of a trace, {SIDE * SIDE} cells",
        trace,
        our_trace,
        "epsilon before who knows the habits, at every step; exact draws",
        (
            Peer("pglp_isotropic", "clone github.com/tkgsn/PGLP, DISCREET_PGLP=FOLDER", "the same notion, in floats"),
            Peer("pglp_laplace", "clone github.com/tkgsn/PGLP, DISCREET_PGLP=FOLDER", "the same, with more noise"),
            Peer("privkit", "pip install privkit", "one point is indistinguishable from near ones; steps add up"),
            Peer("opendp", "pip install opendp", "epsilon for one point, exact draws; steps add up"),
        ),
    ),
    "stays": Case(
        f"stays of {POSITIONS:,} positions",
        positions,
        our_stays,
        "a stray ends no stay; a silence is none",
        (Peer("trackintel", "pip install trackintel", "a stray ends a stay; a silence lengthens it"),),
    ),
    "events": Case(
        f"an event of PA-Markov, of {EVENTS}",
        nothing,
        our_events,
        "the paper's",
        (Peer("loop", "", "the same outputs: the paper's loops"),),
    ),
}

OWN: dict[str, Callable[[Inputs], Prepared]] = {"loop": loop}
"""Peers that are written here."""


def side(name: str, path: Path) -> None:
    """In a process of its own: measure one of ours, and say what was found."""
    given = dict(np.load(path)) if path.exists() else {}
    seconds: float = timed(*(OWN[name] if name in OWN else CASES[name].ours)(given))
    print(json.dumps({"seconds": seconds, "memory": memory(), "version": ""}))


def measured(words: list[str], path: Path) -> dict[str, Any]:
    """What a process says; an end without a word is its error."""
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    run = subprocess.run(
        [*words, str(path)], capture_output=True, text=True, check=False, env={**os.environ, **one_thread}
    )
    if run.returncode:
        raise SystemExit(f"{' '.join(words)}: {run.stderr}")
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def of_peer(peer: Peer, path: Path) -> dict[str, Any]:
    """By this Python, or by the one that has the peers."""
    if peer.name in OWN:
        return measured([sys.executable, "-m", "benchmarks.peers", peer.name], path)
    found: dict[str, Any] = {}
    for python in filter(None, (sys.executable, os.environ.get("DISCREET_PEERS"))):
        found = measured([python, str(Path(__file__).with_name("_peers.py")), peer.name], path)
        if "absent" not in found:
            break
    return found


def told(seconds: float) -> str:
    """In a unit that fits."""
    unit, scale = next(((u, v) for u, v in (("s", 1.0), ("ms", 1e-3)) if seconds >= v), ("us", 1e-6))
    return f"{seconds / scale:.3g} {unit}"


def line(*cells: str) -> str:
    """A line of the table."""
    widths = (44, 17, 8, 6, 7)
    return " ".join(f"{cell:<{width}}" for cell, width in zip(cells[:-1], widths, strict=True)) + f" {cells[-1]}"


def main(options: list[str] | None = None) -> None:
    """Print the table, and what is absent; `--only NAME` compares one: sequence, slot, programme, trace, ..."""
    only = options[1] if options and options[0] == "--only" and len(options) > 1 else None
    absent = []
    print(line("", "", "a unit", "times", "memory", "promises"))
    for name, case in CASES.items():
        if only not in (None, name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "inputs.npz")
            if given := case.inputs():
                np.savez(path, **given)
            ours = measured([sys.executable, "-m", "benchmarks.peers", name], path)
            size = f"{ours['memory']:.0f} MB"
            print(line(case.what, "discreet", told(ours["seconds"]), "", size, case.promises), flush=True)
            for peer in case.peers:
                found = of_peer(peer, path)
                if "absent" in found:
                    absent.append(f"{peer.name.replace('_', ' ')} ({peer.had})")
                    continue
                ratio, size = found["seconds"] / ours["seconds"], f"{found['memory']:.0f} MB"
                who = f"{peer.name.replace('_', ' ')} {found['version']}"[:17]
                print(line("", who, told(found["seconds"]), f"{ratio:.3g}", size, peer.promises), flush=True)
    print("times: the peer's processor time over ours; memory: the most that the process had, Python included")
    if absent:
        print(f"absent, and left out: {'; '.join(absent)}")


if __name__ == "__main__":
    side(sys.argv[1], Path(sys.argv[2]))
