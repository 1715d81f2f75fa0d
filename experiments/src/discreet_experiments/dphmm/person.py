"""DPHMM's experiments (Xiao, Shen, Liu, Xiong, Jin, Xu, Section 8): what is computed for one sequence of cells.

As in the paper the chain is learned from all sequences, the ones released included, and the observer knows where each
starts. Slot 0 is therefore certain, and what is possible grows from there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.mechanisms.perturbation import ContinuousNoise, Dphmm, Hull, PerturbedKernel, PolicyGraph
from discreet.mechanisms.perturbation.protection import Noise, protection_of
from discreet.models.chain.markov import MarkovChain
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import Output, Perturbed
from discreet.randomness import SeededEntropy
from discreet_experiments.dphmm.city import KILOMETRE, City
from discreet_experiments.shared.subjects import seed_for
from discreet_experiments.shared.systems import system

Start = Literal["known", "habit"]


@dataclass(frozen=True)
class Parameters:
    """A system and its parameters; `radius` in metres is G_util's alone."""

    system: str
    epsilon: float = 1.0
    radius: float | None = None
    noise: Noise = "knorm"


@dataclass(frozen=True, eq=False)
class Measured:
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
    runs: tuple[Parameters, ...]
    start: Start = "known"
    seed: int = 0


def work(item: Work) -> list[dict[Parameters, Measured]]:
    """Release each sequence by each run; graphs are built once, and a sequence's chain once."""
    city, query, transition = item.city, item.city.query, item.city.transition()
    graphs: dict[tuple[str, float | None], PolicyGraph] = {}
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


def graph_of(run: Parameters, chain: MarkovChain, query: FloatArray, unit: float) -> PolicyGraph:
    """The policy graph of a run; DPLS joins all cells of its location set. `unit` is the query's, in kilometres."""
    if run.system == "util":
        assert run.radius is not None
        return PolicyGraph.within(query, run.radius / KILOMETRE / unit)
    return PolicyGraph.transitions(chain) if run.system == "trs" else PolicyGraph.complete(len(query))


def mechanism_of(run: Parameters, chain: MarkovChain, query: FloatArray, graph: PolicyGraph) -> Dphmm:
    """The mechanism of a run; DPLS with the paper's 0.01."""
    made: Dphmm = system(run.system).make(chain, None, graph=graph, query=query, epsilon=run.epsilon, noise=run.noise)
    return made


def release(mechanism: Dphmm, track: Sequence[int] | IntArray, rng: SeededEntropy, unit: float) -> Measured:
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
    return Measured(seconds_of, unkept_of, degree, unit * error, possible, surrogates, points, tuple(outputs))


def _building(mechanism: Dphmm, kernel: PerturbedKernel) -> float:
    """How long it takes to build a kernel that was kept: the hull, the edges added, the noise, the stand-ins."""
    inside = np.zeros(len(mechanism.model.contexts), dtype=np.bool_)
    inside[kernel.support] = True
    began = time.perf_counter()
    protected = protection_of(mechanism.graph, mechanism.queries, inside, mechanism.protect)
    _ = PerturbedKernel(mechanism.queries, mechanism.epsilons, inside, protected).stand_ins
    return time.perf_counter() - began


def noise_of(hull: Hull, epsilon: float, draws: int, seed: int) -> dict[str, float]:
    """Mean length of noise of one hull, drawn directly and in isotropic position: one law, so equal but for chance."""
    noise = ContinuousNoise(hull, epsilon)
    ways = {"K-norm": noise.sample, "isotropic": noise.isotropic}
    lengths = {}
    for k, (name, draw) in enumerate(ways.items()):
        drawn = draw(draws, np.random.default_rng([seed, k]))
        lengths[name] = float(np.linalg.norm(drawn, axis=1).mean())
    return lengths
