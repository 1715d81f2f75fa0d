"""Hidden topics behind events: a hidden Markov model learned over all people together.

Each person has transitions between topics of their own; what a topic looks like (its activities, times and locations,
independent within a topic) is shared, and so is where trajectories start. Li and Sun (2020), Section 3.3.2, with the
estimates corrected: the initial distribution comes from the topics of first events (their Eq. 10 takes all events'),
and a row of transitions is divided by the transitions that leave (their Eq. 12 by occurrences).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from discreet.errors import DiscreetError, ModelError, did_you_mean
from discreet.events import ATTRIBUTES, Events, Trajectory
from discreet.frames import Rows, is_table
from discreet.listener import Progress
from discreet.models import arrays
from discreet.models.hidden.markov import HiddenMarkovModel
from discreet.numerics import FloatArray, IntArray, normalised

if TYPE_CHECKING:
    from discreet.models.topics.gibbs import DirichletPrior, Sampler, Tokens

WARM_UP, HOT = 200, 0.2
"""Sweeps before the first that counts. Conditionals are raised to a power that rises from HOT to 1 meanwhile: from
random topics alone, chains settle where they happen to fall, in modes that single draws leave only after thousands of
sweeps."""

CONVERGED = 1.05
"""Chains agree if R-hat of their log joints is at most this: chains then differ hardly more than one from itself."""

BLOCK, LEAST = 100, 400
"""Sweeps between looks at R-hat, and before the first: over a few, which resemble each other, it says little."""

SAMPLED = 100
"""Sweeps that the estimates are averaged over."""

RAKED, FITTED = 100, 1e-12
"""Rounds of proportional fitting, at most, and the change of a cell that ends them."""

EVENTS = 4.0
"""The weight of a topic's Dirichlet prior over whole events, all cells together: it must not grow with their number."""


@dataclass(frozen=True)
class Concentrations:
    """Parameters of the symmetric Dirichlet priors, for each cell: small ones prefer few likely cells."""

    start: float = 1.0
    transition: float = 0.5
    activity: float = 0.1
    time: float = 0.1
    location: float = 0.1

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value < np.inf:
                raise DiscreetError(f"the concentration of {name} is {value!r}; give a number above 0")

    @property
    def prior(self) -> DirichletPrior:
        """The same as the sampler takes them."""
        from discreet.models.topics.gibbs import DirichletPrior

        return DirichletPrior(*(float(getattr(self, name)) for name in DirichletPrior._fields))


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """How the sampler went: the log joint of each chain after each sweep, and whether the chains agree."""

    traces: FloatArray  # (C, S)
    r_hat: float
    converged: bool

    @property
    def sweeps(self) -> int:
        """Sweeps of each chain."""
        return int(self.traces.shape[1])


class Totals(NamedTuple):
    """The sampler's topics, averaged over SAMPLED sweeps: P pairs of a person and an event that they had."""

    starts: FloatArray  # (K,)
    steps: FloatArray  # (U, K, K) each person's transitions
    person: IntArray  # (P,) whose, the pairs in order of person and event
    event: IntArray  # (P,) which of `events.contexts`
    topics: FloatArray  # (P, K) how often under each topic


@dataclass(frozen=True, eq=False)
class TopicModel:
    """K topics: initial (K,), each person's transitions (U, K, K), and shared emissions (K, A), (K, T), (K, L)."""

    events: Events
    people: tuple[str, ...]
    initial: FloatArray
    transitions: FloatArray
    activity: FloatArray
    time: FloatArray
    location: FloatArray
    diagnostics: Diagnostics | None = field(default=None, repr=False)
    totals: Totals | None = field(default=None, repr=False)
    """What was counted where the model was learned: `EventModel` is made of it."""

    def __post_init__(self) -> None:
        K = len(np.atleast_1d(self.initial))
        shapes: dict[str, tuple[int, ...]] = {"initial": (K,), "transitions": (len(self.people), K, K)}
        shapes |= {name: (K, size) for name, size in zip(ATTRIBUTES, self.events.sizes, strict=True)}
        for name, shape in shapes.items():
            object.__setattr__(self, name, arrays.probabilities(getattr(self, name), shape, name))
        if len(set(self.people)) < len(self.people):
            raise ModelError("a person occurs twice; give each person's transitions once")

    @property
    def topics(self) -> int:
        """K."""
        return len(self.initial)

    @cached_property
    def emissions(self) -> FloatArray:
        """(K, n): P(event | topic) over `events.contexts`, scaled to sum to one where only some triples occur."""
        activity, time, location = self.events.attribute_index.T
        joint = self.activity[:, activity] * self.time[:, time] * self.location[:, location]
        if self.events.occurring is None:
            return joint
        empty = np.flatnonzero(joint.sum(axis=1) == 0)
        if empty.size:
            raise ModelError(
                f"topic {empty[0]} has none of the events that occur; leave it out, or let more events occur"
            )
        return normalised(joint)

    @cached_property
    def raked(self) -> FloatArray:
        """(K, n): the emissions over the events that occur, with the attributes' own frequencies.

        In the product scaled to sum to one, values that occur in few events are too rare: gambling, only at the casino,
        is as rare as if both met by chance. Proportional fitting gives each value its frequency back and adds no other
        dependence: of all distributions with these frequencies it finds the nearest (Kullback and Leibler's distance).
        """
        joint = self.emissions.copy()
        if self.events.occurring is None:
            return joint
        tables = (self.activity, self.time, self.location)
        for _ in range(RAKED):
            before = joint.copy()
            for column, table in zip(self.events.attribute_index.T, tables, strict=True):
                sums = np.zeros_like(table)
                np.add.at(sums.T, column, joint.T)
                joint *= np.divide(table, sums, out=np.zeros_like(table), where=sums > 0)[:, column]
            if np.abs(joint - before).max() <= FITTED:
                break
        return normalised(joint)

    @property
    def strengths(self) -> None:
        """People differ in transitions alone, and these are not drawn to everybody's."""
        return None

    @cached_property
    def shared_transition(self) -> FloatArray:
        """(K, K): of somebody of whom nothing is known."""
        return normalised(self.transitions.sum(axis=0))

    @cached_property
    def _number(self) -> dict[str, int]:
        return {person: u for u, person in enumerate(self.people)}

    def number_of(self, person: str) -> int:
        """Which of `people` this is."""
        if person not in self._number:
            raise DiscreetError(f"nobody called {person!r} was learned; {did_you_mean(person, self.people)}")
        return self._number[person]

    def _transition(self, person: str) -> FloatArray:
        return np.asarray(self.transitions[self.number_of(person)])

    def person(self, person: str, slots: int) -> HiddenMarkovModel:
        """One person's model of trajectories of `slots` events: the same transition after each."""
        transition = self._transition(person)
        return HiddenMarkovModel.homogeneous(self.events.contexts, self.initial, transition, self.emissions, slots)

    def log_likelihood(self, trajectory: Trajectory) -> FloatArray:
        """(length,): log probability of each event given those before; -inf from an unknown or impossible one on."""
        transition, codes = self._transition(trajectory.person), self.events.codes(trajectory, missing=-1)
        scores = np.full(len(codes), -np.inf)
        belief = self.initial
        for i, code in enumerate(codes):
            belief = belief * self.emissions[:, code] if code >= 0 else np.zeros(self.topics)
            total = belief.sum()
            if not total > 0:
                break
            scores[i] = np.log(total)
            belief = belief / total @ transition
        return scores

    @classmethod
    def fit(
        cls,
        trajectories: Iterable[Trajectory] | Rows,
        topics: int,
        *,
        events: Events | None = None,
        whole_events: bool = False,
        concentrations: Concentrations = Concentrations(),  # frozen, so one for all calls is safe
        chains: int = 4,
        sweeps: int = 5_000,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> TopicModel:
        """Learn by Gibbs sampling from all people together; several trajectories of a person share transitions.

        `chains` chains of the sampler start from random topics, warm up for 200 sweeps and run until they agree, for
        at most `sweeps` more: from 400 sweeps on, R-hat of the log joint is computed every 100 over the second half of
        them, each chain's split in two, and 1.05 or less ends the run. `diagnostics.converged` says whether it did. The
        estimates are posterior means over 100 more sweeps of the chain with the highest mean log joint; labels that a
        sweep has swapped are swapped back. Equal seeds give equal models.

        With `whole_events` the sampler takes an event for one value, not for three that are independent in a topic:
        topics then need not stand for what attributes tell about each other (`EventModel` has that), and are left to
        tell what follows what. It takes more data to learn them where there are many events.
        """
        if is_table(trajectories) or not isinstance(trajectories, Iterable):
            from discreet.data.trajectories import trajectories_of

            trajectories = trajectories_of(trajectories, "TopicModel.fit")
        given = _checked(cast(Iterable[Trajectory], trajectories), topics, chains, sweeps)
        vocabulary = Events.from_trajectories(given) if events is None else events
        return _Fit(given, topics, vocabulary, whole_events, concentrations, chains, seed).run(sweeps, progress)


def _checked(trajectories: Iterable[Trajectory], topics: int, chains: int, sweeps: int) -> list[Trajectory]:
    given = list(trajectories)
    if not given:
        raise DiscreetError("there are no trajectories to learn from; give at least one")
    for what, value, least in (("topics", topics, 1), ("chains", chains, 2), ("sweeps", sweeps, LEAST)):
        if not isinstance(value, int | np.integer) or value < least:
            raise DiscreetError(f"{value!r} {what} cannot be used; give a whole number of at least {least}")
    return given


def r_hat(traces: FloatArray) -> float:
    """Split R-hat (Gelman et al., Bayesian Data Analysis, 3rd edition, Eq. 11.4) of traces (C, S): 1 if they agree."""
    half = traces.shape[1] // 2
    parts = np.concatenate([traces[:, :half], traces[:, -half:]])
    within = parts.var(axis=1, ddof=1).mean()
    between = parts.mean(axis=1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else float("inf")
    return float(np.sqrt((half - 1) / half + between / within))


class _Fit:
    """One run of the sampler."""

    def __init__(
        self,
        trajectories: Sequence[Trajectory],
        topics: int,
        events: Events,
        whole_events: bool,
        concentrations: Concentrations,
        chains: int,
        seed: int,
    ) -> None:
        from discreet.models.topics.gibbs import Sampler  # compiles

        self.events, self.topics, self.whole_events, self.prior = events, topics, whole_events, concentrations.prior
        self.people = tuple(dict.fromkeys(trajectory.person for trajectory in trajectories))
        tokens = tokens_of(trajectories, events, self.people)
        codes = np.concatenate([events.codes(trajectory) for trajectory in trajectories])
        self.pairs, self.pair = np.unique(tokens.person * len(events.contexts) + codes, return_inverse=True)
        sizes, prior = events.sizes, self.prior
        if whole_events:  # as a place: with one activity and one time, whose factors are then 1
            zeros = np.zeros_like(codes)
            tokens = tokens._replace(values=np.ascontiguousarray(np.stack([zeros, zeros, codes], axis=1)))
            sizes, prior = (1, 1, len(events.contexts)), prior._replace(location=EVENTS / len(events.contexts))
        seeds = np.random.SeedSequence(seed).spawn(chains)
        self.samplers = [Sampler(tokens, sizes, topics, prior, each) for each in seeds]

    def run(self, sweeps: int, progress: Progress | None) -> TopicModel:
        """Warm up, run until the chains agree, and average over more sweeps of the best."""
        for done in range(WARM_UP):
            for sampler in self.samplers:
                sampler.sweep(power=HOT + (1 - HOT) * done / WARM_UP)
        traces = np.empty((len(self.samplers), sweeps))
        for done in range(1, sweeps + 1):
            for sampler, trace in zip(self.samplers, traces, strict=True):
                sampler.sweep()
                trace[done - 1] = sampler.log_joint()
            if progress is not None and (done % BLOCK == 0 or done == sweeps):
                progress(done, sweeps)
            if (done % BLOCK == 0 and done >= LEAST) or done == sweeps:
                half = traces[:, done // 2 : done]
                agreement = r_hat(half)
                if agreement <= CONVERGED:
                    break
        found = Diagnostics(traces[:, :done].copy(), agreement, agreement <= CONVERGED)
        return self._average(self.samplers[int(half.mean(axis=1).argmax())], found)

    def _average(self, sampler: Sampler, diagnostics: Diagnostics) -> TopicModel:
        """The mean of a chain's estimates over SAMPLED more sweeps, topics labelled as in the sweep it is at now."""
        from scipy.optimize import linear_sum_assignment

        K = self.topics
        reference = sampler.topics.copy()
        sums = [np.zeros_like(table) for table in sampler.estimates()]
        starts, steps, pairs = np.zeros(K), np.zeros(sampler.counts.steps.shape), np.zeros(len(self.pairs) * K)
        for _ in range(SAMPLED):
            sampler.sweep()
            together = np.bincount(reference * K + sampler.topics, minlength=K * K).reshape(K, K)
            label = linear_sum_assignment(together, maximize=True)[1]  # label[k]: what topic k is called in this sweep
            initial, transitions, *tables = sampler.estimates()
            aligned = (initial[label], transitions[:, label][:, :, label], *(table[label] for table in tables))
            for total, table in zip(sums, aligned, strict=True):
                total += table
            starts += sampler.counts.starts[label]
            steps += sampler.counts.steps[:, label][:, :, label]
            pairs += np.bincount(self.pair * K + np.argsort(label)[sampler.topics], minlength=len(pairs))
        initial, transitions, activity, time, location = (normalised(total) for total in sums)
        person, event = np.divmod(self.pairs, len(self.events.contexts))
        totals = Totals(starts / SAMPLED, steps / SAMPLED, person, event, pairs.reshape(-1, K) / SAMPLED)
        if self.whole_events:
            activity, time, location = self._attributes(totals)
        return TopicModel(self.events, self.people, initial, transitions, activity, time, location, diagnostics, totals)

    def _attributes(self, totals: Totals) -> list[FloatArray]:
        """(K, A), (K, T), (K, L): the attributes of topics that were drawn by whole events."""
        tables = []
        for column, size, weight in zip(
            self.events.attribute_index.T,
            self.events.sizes,
            (self.prior.activity, self.prior.time, self.prior.location),
            strict=True,
        ):
            table = np.full((self.topics, size), weight)
            np.add.at(table.T, column[totals.event], totals.topics)
            tables.append(normalised(table))
        return tables


def tokens_of(trajectories: Iterable[Trajectory], events: Events, people: tuple[str, ...]) -> Tokens:
    """The events of all people as the sampler takes them."""
    from discreet.models.topics.gibbs import Tokens

    number = {person: u for u, person in enumerate(people)}
    codes, owner, first, last = [], [], [], []
    for trajectory in trajectories:
        own = events.attribute_index[events.codes(trajectory)]
        position = np.arange(len(own))
        codes.append(own)
        owner.append(np.full(len(own), number[trajectory.person]))
        first.append(position == 0)
        last.append(position == len(own) - 1)
    joined = (np.ascontiguousarray(np.concatenate(parts), dtype=np.int64) for parts in (codes, owner, first, last))
    return Tokens(*joined)
