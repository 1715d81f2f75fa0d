"""DPHMM's experiments (Xiao, Xiong, Zhang, Cao, 2017, Section 8): sequences of cells released, slot by slot.

As in the paper the chain is learned from all sequences, the ones released included, and the observer knows where each
starts. Slot 0 is therefore certain, and what is possible grows from there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.data import read_positions, sequences
from discreet.errors import DataError, DiscreetError
from discreet.experiments.shared.people import Progress, existing
from discreet.experiments.shared.subjects import seed_for
from discreet.mechanisms.perturbation import ContinuousNoise, Dphmm, Hull, PerturbedKernel, PolicyGraph
from discreet.mechanisms.perturbation.protection import Noise, protection_of
from discreet.models.chain import MarkovChain
from discreet.models.learn import divided, steps_of
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import Output, Perturbed
from discreet.places import Grid, Plane
from discreet.randomness import SeededEntropy

System = Literal["util", "trs", "dpls", "complete"]
Start = Literal["known", "habit"]

NAMES: dict[System, str] = {"util": "G_util", "trs": "G_trs", "dpls": "DPLS", "complete": "G_cplt"}
"""Near answers joined; contexts with a common predecessor joined; location sets; everything joined."""

KILOMETRE = 1000.0
HOUR = 3600.0


@dataclass(frozen=True)
class Recording:
    """A file of positions and the rules by which it is read: metres, seconds, kilometres an hour."""

    name: str
    file: str
    side: float
    radius: float
    radii: tuple[float, ...]
    gap: float | None = None
    fastest: float | None = None


BEIJING = Recording(
    "GeoLife", "geolife_beijing3ring_60s.csv.gz", 340.0, 1000.0, (500.0, 1000.0, 1500.0, 2000.0), 300.0, 120.0
)
LOS_ANGELES = Recording("Gowalla", "gowalla_la.csv.gz", 890.0, 2000.0, (1000.0, 2000.0, 3000.0, 4000.0))
"""The paper's cells and radii. Minutes of GeoLife are one sequence until five are missing, or a step is faster than 120 km/h;
Gowalla's check-ins are steps however far apart."""


@dataclass(frozen=True, eq=False)
class City:
    """Cells and how people moved between them: small enough to be sent to a process."""

    recording: Recording
    grid: Grid
    contexts: tuple[str, ...]
    visits: IntArray  # (n,)
    rows: IntArray  # (m,): of the steps that occurred
    columns: IntArray
    counts: IntArray
    tracks: IntArray  # (sequences, slots): the ones to release, as numbers of cells
    found: int  # sequences of that length in the data

    @property
    def query(self) -> FloatArray:
        """(n, 2): the cells' centres east and north, in sides of a cell: halves, which the noise's lattice holds exactly.

        In other units centres would be rounded, and cells on a hull's border, which are many in a grid, would fall in or out.
        """
        return self.grid.corners(self.contexts) / self.grid.side + 0.5

    @property
    def side(self) -> float:
        """Of a cell, in kilometres."""
        return self.grid.side / KILOMETRE

    def transition(self) -> FloatArray:
        """(n, n)."""
        steps = np.zeros((len(self.contexts), len(self.contexts)), dtype=np.int64)
        steps[self.rows, self.columns] = self.counts
        return divided(steps)

    def described(self) -> str:
        """The city in a few words."""
        cells = f"{len(self.contexts)} cells of {self.recording.side / KILOMETRE:g} km"
        return f"{self.recording.name}: {cells}, {len(self.tracks)} of {self.found} sequences of {self.tracks.shape[1]} slots"


def read_city(folder: Path, recording: Recording, count: int, slots: int, progress: Progress | None = None) -> City:
    """Learn from everybody; take so many sequences, evenly spread over all that are long enough, cut into such lengths."""
    if count < 1 or slots < 2:
        raise DiscreetError(f"{count} sequences of {slots} slots cannot be released; give 1 or more, of 2 or more")
    read = read_positions(existing(folder, recording.file), progress=progress)
    grid = Grid(recording.side, Plane.around(read.all))
    speed = None if recording.fastest is None else recording.fastest * KILOMETRE / HOUR
    moved = sequences(read.people.values(), grid, gap=recording.gap, fastest=speed)
    contexts, visits, steps = steps_of(moved)
    long = [walk[k : k + slots] for walk in moved for k in range(0, len(walk) - slots + 1, slots)]
    if not long:
        raise DataError(f"{folder / recording.file}: no sequence has {slots} slots; lower --slots")
    kept = [long[k * len(long) // min(count, len(long))] for k in range(min(count, len(long)))]
    number = {label: k for k, label in enumerate(contexts)}
    tracks = np.array([[number[label] for label in walk] for walk in kept], dtype=np.int64)
    rows, columns = np.nonzero(steps)
    return City(recording, grid, contexts, visits, rows, columns, steps[rows, columns], tracks, len(long))


@dataclass(frozen=True)
class Run:
    """A system and its parameters; `radius` in metres is G_util's alone."""

    system: System
    epsilon: float = 1.0
    radius: float | None = None
    noise: Noise = "knorm"


@dataclass(frozen=True, eq=False)
class Released:
    """What became of one sequence: of each slot, (slots,)."""

    seconds: FloatArray  # kernel, draw and advance
    unkept: FloatArray  # the same with a kernel that no earlier slot had built
    degree: FloatArray  # of protection, of the true context
    error: FloatArray  # between point and true answer, in kilometres
    possible: FloatArray  # contexts in the support
    surrogates: FloatArray  # 1 where the truth was outside the support
    points: FloatArray  # (slots, 2), in kilometres
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Work:
    """Some sequences of a city, by their numbers, and what to do with each."""

    city: City
    numbers: tuple[int, ...]
    runs: tuple[Run, ...]
    start: Start = "known"
    seed: int = 0


def work(item: Work) -> list[dict[Run, Released]]:
    """Release each sequence by each run; graphs are built once, and a sequence's chain once."""
    city, query, transition = item.city, item.city.query, item.city.transition()
    graphs: dict[tuple[System, float | None], PolicyGraph] = {}
    answers = []
    for number in item.numbers:
        track = city.tracks[number]
        chain = MarkovChain.homogeneous(city.contexts, _initial(city, track, item.start), transition, len(track))
        found = {}
        for run in item.runs:
            key = run.system, run.radius
            if key not in graphs:
                graphs[key] = graph_of(run, chain, query, city.side)
            mechanism = mechanism_of(run, chain, query, graphs[key])
            rng = SeededEntropy(seed_for(item.seed, number, "noise"))
            found[run] = release(mechanism, track, rng, city.side)
        answers.append(found)
    return answers


def _initial(city: City, track: IntArray, start: Start) -> FloatArray:
    if start == "habit":
        return np.asarray(city.visits / city.visits.sum())
    initial = np.zeros(len(city.contexts))
    initial[track[0]] = 1.0
    return initial


def graph_of(run: Run, chain: MarkovChain, query: FloatArray, unit: float) -> PolicyGraph:
    """The policy graph of a run; DPLS joins all cells of its location set. `unit` is the query's, in kilometres."""
    if run.system == "util":
        assert run.radius is not None
        return PolicyGraph.within(query, run.radius / KILOMETRE / unit)
    return PolicyGraph.transitions(chain) if run.system == "trs" else PolicyGraph.complete(len(query))


def mechanism_of(run: Run, chain: MarkovChain, query: FloatArray, graph: PolicyGraph) -> Dphmm:
    """The mechanism of a run; DPLS with the paper's 0.01."""
    support: Any = ("mass", 0.01) if run.system == "dpls" else "possible"
    return Dphmm(chain, graph=graph, query=query, epsilon=run.epsilon, noise=run.noise, support=support)


def release(mechanism: Dphmm, track: Sequence[int] | IntArray, rng: SeededEntropy, unit: float) -> Released:
    """One sequence, slot by slot, with what the paper measures; `unit` is the query's, in kilometres.

    By the contract and not as a replay: the mechanism keeps a belief of its own, which the paper's run time includes,
    and a session would add a second one to it, half as much again where the kernel is kept.
    """
    answers, state = mechanism.queries[0].answers, mechanism.start()
    truth = answers.integers * answers.step
    rows, outputs = [], []
    built: set[bytes] = set()
    for context in map(int, track):
        began = time.perf_counter()
        kernel = mechanism.kernel(state)
        output = kernel.sample(context, rng)
        state = mechanism.advance(state, output)
        seconds = time.perf_counter() - began
        key = kernel.support.tobytes()
        unkept = seconds + _building(mechanism, kernel) if key in built else seconds
        built.add(key)
        assert isinstance(output, Perturbed)
        away = float(np.linalg.norm(np.array(output.point) - truth[context]))
        outside = float(kernel.stand_ins[context] != context)
        rows.append((seconds, unkept, kernel.degree(context), away, len(kernel.support), outside))
        outputs.append(output)
    seconds_of, unkept_of, degree, error, possible, surrogates = np.array(rows, dtype=np.float64).T
    points = unit * np.array([output.point for output in outputs])
    return Released(seconds_of, unkept_of, degree, unit * error, possible, surrogates, points, tuple(outputs))


def _building(mechanism: Dphmm, kernel: PerturbedKernel) -> float:
    """How long it takes to build a kernel that was kept: the hull, the edges added, the noise, the stand-ins."""
    inside = np.zeros(len(mechanism.model.contexts), dtype=np.bool_)
    inside[kernel.support] = True
    began = time.perf_counter()
    protected = protection_of(mechanism.graph, mechanism.queries, inside, mechanism.protect)
    _ = PerturbedKernel(mechanism.queries, mechanism.epsilons, inside, protected).stand_ins
    return time.perf_counter() - began


def noise_of(hull: Hull, epsilon: float, draws: int, seed: int) -> dict[str, float]:
    """Mean length of noise of one hull, drawn directly and in isotropic position: one law, so the same but for chance."""
    noise = ContinuousNoise(hull, epsilon)
    ways = {"K-norm": noise.sample, "isotropic": noise.isotropic}
    lengths = {}
    for k, (name, draw) in enumerate(ways.items()):
        drawn = draw(draws, np.random.default_rng([seed, k]))
        lengths[name] = float(np.linalg.norm(drawn, axis=1).mean())
    return lengths
