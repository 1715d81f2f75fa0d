"""The topic sampler against a NumPy loop over events, its growth, and how soon chains agree.

The twin draws one event after another like any sampler of this kind, and weighs an event's topics in vectors. Both do
one sweep from the same topics with the same uniform numbers, and must draw the same topics.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks._timing import alternating
from discreet.models.topics.gibbs import EDGE, DirichletPrior, Sampler, Tokens, TopicCounts
from discreet.models.topics.model import CONVERGED, Concentrations, TopicModel, tokens_of
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.numerics import FloatArray, IntArray

SIZES = (4, 3, 6)
TIMES_FASTER, SECONDS = 50, 5.0


def tokens_of_people(people: int, length: int, topics: int) -> Tokens:
    truth = topic_model(people, topics, SIZES, seed=1)
    return tokens_of(trajectories(truth, length), truth.events, truth.people)


def twin_sweep(
    tokens: Tokens, topics: IntArray, counts: TopicCounts, prior: DirichletPrior, uniform: FloatArray
) -> None:
    """One sweep, event by event, with a vector over topics for each factor."""
    K = len(counts.starts)
    tables = (counts.activity, counts.time, counts.location)
    weights = (prior.activity, prior.time, prior.location)
    for i in range(len(topics)):
        u = tokens.person[i]
        before = EDGE if tokens.first[i] else topics[i - 1]
        after = EDGE if tokens.last[i] else topics[i + 1]
        move(tokens, counts, i, topics[i], before, after, -1)
        weight = counts.starts + prior.start if before == EDGE else counts.steps[u, before] + prior.transition
        if after != EDGE:
            above, below = counts.steps[u, :, after] + prior.transition, counts.out[u] + K * prior.transition
            if before != EDGE:
                above[before] += before == after
                below[before] += 1
            weight = weight * above / below
        for table, value, each in zip(tables, tokens.values[i], weights, strict=True):
            weight = weight * (table[value] + each) / (counts.events + len(table) * each)
        cumulative = np.cumsum(weight)
        topics[i] = min(np.searchsorted(cumulative, uniform[i] * cumulative[-1], side="right"), K - 1)
        move(tokens, counts, i, topics[i], before, after, 1)


def move(tokens: Tokens, counts: TopicCounts, i: int, k: int, before: int, after: int, by: int) -> None:
    u, (a, t, p) = tokens.person[i], tokens.values[i]
    if before == EDGE:
        counts.starts[k] += by
    else:
        counts.steps[u, before, k] += by
        counts.out[u, before] += by
    if after != EDGE:
        counts.steps[u, k, after] += by
        counts.out[u, k] += by
    counts.activity[a, k] += by
    counts.time[t, k] += by
    counts.location[p, k] += by
    counts.events[k] += by


def against_the_twin(K: int) -> None:
    tokens = tokens_of_people(50, 50, K)
    prior = Concentrations().prior
    ours, twins = (Sampler(tokens, SIZES, K, prior, seed=1) for _ in range(2))
    uniform = np.random.default_rng(1)
    uniform.integers(0, K, len(tokens.values))  # the sampler's stream after its random start
    ours.sweep()
    twin_sweep(tokens, twins.topics, twins.counts, prior, uniform.random(len(tokens.values)))
    same = np.array_equal(ours.topics, twins.topics)
    numbers = uniform.random(len(tokens.values))
    best = alternating(
        {
            "sampler": ours.sweep,
            "twin": lambda: twin_sweep(tokens, twins.topics, twins.counts, prior, numbers),
        },
        repetitions=5,
    )
    ratio = best["twin"] / best["sampler"]
    print(
        f"one sweep over {len(tokens.values):,} events, {K} topics; "
        f"both draw the same topics: {'yes' if same else 'NO'}"
    )
    for name, seconds in best.items():
        print(f"  {name:8} {1e3 * seconds:9.3f} ms {1e9 * seconds / len(tokens.values):10.0f} ns an event")
    print(f"  {ratio:.0f} times faster (at least {TIMES_FASTER}: {'met' if ratio >= TIMES_FASTER else 'MISSED'})")


def growth() -> None:
    """Sweeps of twice the events and of twice the topics take twice as long: a cost an event and topic."""
    samplers = {}
    for people in (50, 100, 200, 400):
        samplers[f"{people * 50:6,} events,  8 topics"] = (people, 8)
    for K in (16, 32, 64):
        samplers[f"{50 * 50:6,} events, {K:2} topics"] = (50, K)
    made = {
        name: Sampler(tokens_of_people(people, 50, 8), SIZES, K, Concentrations().prior, seed=1)
        for name, (people, K) in samplers.items()
    }
    best = alternating({name: sampler.sweep for name, sampler in made.items()}, repetitions=20)
    for name, seconds in best.items():
        people, K = samplers[name]
        print(f"  {name} {1e3 * seconds:8.3f} ms {1e9 * seconds / (people * 50 * K):6.1f} ns an event and topic")


def convergence() -> None:
    """Learning at the sizes of Li and Sun (2020), Table 3: until four chains agree, and the estimates are made."""
    print(f"learning from 50 people x 50 events until R-hat is at most {CONVERGED} (at most {SECONDS:g} s)")
    for K in (4, 8):
        for seed in range(3):
            drawn = trajectories(topic_model(50, K, SIZES, seed=seed), 50, seed)
            began = time.perf_counter()
            found = TopicModel.fit(drawn, K, seed=seed).diagnostics
            took = time.perf_counter() - began
            assert found is not None
            met = found.converged and took <= SECONDS
            print(
                f"  {K} topics, data {seed}: {took:5.2f} s, {found.sweeps} sweeps of 4 chains, R-hat {found.r_hat:.3f} "
                f"({'met' if met else 'MISSED'})"
            )


def main() -> None:
    """Print the three tables."""
    against_the_twin(8)
    growth()
    convergence()


if __name__ == "__main__":
    main()
