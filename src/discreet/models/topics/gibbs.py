"""The collapsed Gibbs sampler of the topic model: counts, one topic's conditional, sweeps and the log joint.

Parameters are integrated out, so that a state is the topic of every event and the counts that follow from it. With z
the topics, the joint is a product of Dirichlet-multinomials: of all starts, of each person's transitions from each
topic, and of each topic's activities, times and locations. Notation is that of Li and Sun (2020), Eq. 5 to 12.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.jit import FLOAT, FLOATS, INT, INTS, INTS_2D, INTS_3D, RecordKind, compiled, in_place, written
from discreet.numerics import FloatArray, IntArray, normalised

EDGE = -1
"""Stands for the topic before a first event and after a last: no topic equals it."""


class Tokens(NamedTuple):
    """The events of all people, N in all, one trajectory after another."""

    values: IntArray  # (N, 3) indices of activity, time and location
    person: IntArray  # (N,)
    first: IntArray  # (N,) 1 where a trajectory starts
    last: IntArray  # (N,) 1 where it ends


class TopicCounts(NamedTuple):
    """What the topics amount to, K topics and U people. Value first, so that a loop over topics runs along a row."""

    starts: IntArray  # (K,)
    steps: IntArray  # (U, K, K) a person's transitions
    out: IntArray  # (U, K) their sums: transitions that leave, not occurrences, which a last event would be one of
    activity: IntArray  # (A, K)
    time: IntArray  # (T, K)
    location: IntArray  # (L, K)
    events: IntArray  # (K,)


class DirichletPrior(NamedTuple):
    """The concentrations (`topics.Concentrations`) as compiled code takes them.

    Parameters of symmetric Dirichlet distributions, for a cell of a start, transition, activity, time or place.
    """

    start: float
    transition: float
    activity: float
    time: float
    location: float


class Estimates(NamedTuple):
    """Parameters: where trajectories start, each person's transitions (Eq. 12), what topics look like (Eq. 11)."""

    initial: FloatArray  # (K,)
    transitions: FloatArray  # (U, K, K)
    activity: FloatArray  # (K, A)
    time: FloatArray  # (K, T)
    location: FloatArray  # (K, L)


def counted(tokens: Tokens, topics: IntArray, sizes: tuple[int, int, int], count: int) -> TopicCounts:
    """The counts of topics (N,), from nothing."""
    people = int(tokens.person.max()) + 1
    starts = np.bincount(topics[tokens.first == 1], minlength=count)
    goes = np.flatnonzero(tokens.last == 0)
    steps = np.zeros((people, count, count), dtype=np.int64)
    np.add.at(steps, (tokens.person[goes], topics[goes], topics[goes + 1]), 1)
    activity, time, location = (
        np.bincount(tokens.values[:, column] * count + topics, minlength=size * count).reshape(size, count)
        for column, size in enumerate(sizes)
    )
    return TopicCounts(starts, steps, steps.sum(axis=2), activity, time, location, np.bincount(topics, minlength=count))


_LINE, _TABLE = written(INTS), written(INTS_2D)
_TOKENS = RecordKind(Tokens, (_TABLE, _LINE, _LINE, _LINE))
_COUNTS = RecordKind(TopicCounts, (_LINE, written(INTS_3D), _TABLE, _TABLE, _TABLE, _TABLE, _LINE))
_PRIOR = RecordKind(DirichletPrior, (FLOAT,) * 5)


@in_place
def _chosen(weight: FloatArray, uniform: float) -> int:
    """The topic at a uniform share of the weights."""
    total = 0.0
    for k in range(len(weight)):
        total += weight[k]
    left = uniform * total
    chosen = 0
    while chosen < len(weight) - 1 and left >= weight[chosen]:
        left -= weight[chosen]
        chosen += 1
    return chosen


@compiled(_TOKENS, _LINE, _COUNTS, _PRIOR, FLOATS, written(FLOATS), INT, INT, FLOAT, batch=True)
def _draw(
    tokens: Tokens,
    topics: IntArray,
    counts: TopicCounts,
    prior: DirichletPrior,
    uniform: FloatArray,
    weight: FloatArray,
    start: int,
    stop: int,
    power: float,
) -> None:
    """Draw the topics of events start to stop - 1 anew, in order, from uniform (N,) in [0, 1).

    For each event, weight (K,) becomes P(z_i = k | everything else) up to a factor. That is Eq. 5, with Eq. 6's
    transitions as the collapsed joint has them: a first event is drawn from the starts of all trajectories, a last
    event has no transition out, and a row's sum counts the transitions that leave.

    One long function, because passing so many arrays on for every event costs more than the arithmetic.
    """
    values, person, first, last = tokens
    starts, steps, out, activity, time, location, events = counts
    K = len(weight)
    row = K * prior.transition
    rows = len(activity) * prior.activity, len(time) * prior.time, len(location) * prior.location
    for i in range(start, stop):
        u, a, t, p = person[i], values[i, 0], values[i, 1], values[i, 2]
        before = EDGE if first[i] else topics[i - 1]
        after = EDGE if last[i] else topics[i + 1]
        z = topics[i]
        if before == EDGE:
            starts[z] -= 1
        else:
            steps[u, before, z] -= 1
            out[u, before] -= 1
        if after != EDGE:
            steps[u, z, after] -= 1
            out[u, z] -= 1
        activity[a, z] -= 1
        time[t, z] -= 1
        location[p, z] -= 1
        events[z] -= 1
        for k in range(K):  # Eq. 8, 7, 9
            above = (activity[a, k] + prior.activity) * (time[t, k] + prior.time) * (location[p, k] + prior.location)
            weight[k] = above / ((events[k] + rows[0]) * (events[k] + rows[1]) * (events[k] + rows[2]))
        if before == EDGE:
            for k in range(K):
                weight[k] *= starts[k] + prior.start
        else:
            for k in range(K):
                weight[k] *= steps[u, before, k] + prior.transition
        if after != EDGE:
            for k in range(K):
                weight[k] *= (steps[u, k, after] + prior.transition) / (out[u, k] + row)
        if before != EDGE and after != EDGE:
            # Where k = before, the step to k is one more that leaves k; and one more from k to k, where after = k too.
            cell, leave = steps[u, before, after] + prior.transition, out[u, before] + row
            weight[before] *= (cell + (before == after)) / cell * leave / (leave + 1)
        if power != 1:
            for k in range(K):
                weight[k] **= power
        z = topics[i] = _chosen(weight, uniform[i])
        if before == EDGE:
            starts[z] += 1
        else:
            steps[u, before, z] += 1
            out[u, before] += 1
        if after != EDGE:
            steps[u, z, after] += 1
            out[u, z] += 1
        activity[a, z] += 1
        time[t, z] += 1
        location[p, z] += 1
        events[z] += 1


class Sampler:
    """One chain of the sampler. Equal seeds give equal chains."""

    def __init__(
        self,
        tokens: Tokens,
        sizes: tuple[int, int, int],
        count: int,
        prior: DirichletPrior,
        seed: int | np.random.SeedSequence,
    ) -> None:
        self._rng = np.random.default_rng(seed)
        self.tokens, self.sizes, self.prior = tokens, sizes, prior
        self.topics = self._rng.integers(0, count, len(tokens.values))
        self.counts = counted(tokens, self.topics, sizes, count)
        self._weight = np.empty(count)
        self._tables: dict[float, FloatArray] = {}

    def sweep(self, power: float = 1.0) -> None:
        """Draw every event's topic once; a power below 1 flattens the distributions drawn from (a hot start)."""
        uniform = self._rng.random(len(self.topics))
        _draw(self.tokens, self.topics, self.counts, self.prior, uniform, self._weight, 0, len(uniform), power)

    def conditional(self, i: int) -> FloatArray:
        """(K,): the distribution that event i's topic is drawn from, given all others."""
        topics, counts, weight = self.topics.copy(), TopicCounts(*map(np.copy, self.counts)), self._weight.copy()
        _draw(self.tokens, topics, counts, self.prior, np.zeros(len(topics)), weight, i, i + 1, 1.0)
        return np.asarray(weight / weight.sum())

    def estimates(self) -> Estimates:
        """The means of the parameters given the topics."""
        counts, prior = self.counts, self.prior
        rows = (counts.starts, counts.steps, counts.activity.T, counts.time.T, counts.location.T)
        initial, transitions, *tables = (
            normalised(table.astype(np.float64) + weight) for table, weight in zip(rows, prior, strict=True)
        )
        return Estimates(initial, transitions, *tables)

    def log_joint(self) -> float:
        """log P(topics, events), parameters integrated out."""
        counts, prior = self.counts, self.prior
        total = self._log_rows(counts.starts[None], prior.start) + self._log_rows(counts.steps, prior.transition)
        for table, weight in zip(
            (counts.activity, counts.time, counts.location),
            (prior.activity, prior.time, prior.location),
            strict=True,
        ):
            total += self._log_rows(table.T, weight)
        return total

    def _log_rows(self, rows: IntArray, weight: float) -> float:
        """The log of the Dirichlet-multinomial of each row of counts (..., V), summed over rows."""
        cells, sums = self._rising(weight), self._rising(weight * rows.shape[-1])
        return float(cells[rows].sum() - sums[rows.sum(axis=-1)].sum())

    def _rising(self, weight: float) -> FloatArray:
        """log of weight (weight + 1) ... (weight + c - 1) for c = 0, 1, ..., N."""
        if weight not in self._tables:
            steps = np.log(weight + np.arange(len(self.topics)))
            self._tables[weight] = np.concatenate([[0.0], np.cumsum(steps)])
        return self._tables[weight]
