"""DPHMM: a query answered each slot with noise shaped by a policy graph (Xiao et al., Algorithm 2)."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from discreet.adversary.belief import Adversary, Belief
from discreet.adversary.endless import EndlessAdversary
from discreet.adversary.endless_belief import EndlessBelief
from discreet.contracts import DayModel, Needs, Utility, computed_once, secrets_over
from discreet.errors import DiscreetError, PolicyError
from discreet.given import checked_model, checked_pair
from discreet.mechanisms.perturbation.endless import CHANGES, EndlessFilter, EndlessState
from discreet.mechanisms.perturbation.kernel import PerturbedKernel
from discreet.mechanisms.perturbation.lattice import LatticeAnswers
from discreet.mechanisms.perturbation.noise import checked_epsilon
from discreet.mechanisms.perturbation.odometer import Odometer, OdometerReading, OdometerSums
from discreet.mechanisms.perturbation.policy_graph import PolicyGraph, Support, checked_query, mask_of
from discreet.mechanisms.perturbation.protection import (
    Noise,
    Protect,
    Sensitivity,
    check_method,
    protection_of,
)
from discreet.models.routine.changing import Changing
from discreet.models.routine.endless import EndlessChain
from discreet.models.routine.routine import Routine
from discreet.numerics import BoolArray, FloatArray, IntArray, digest_of
from discreet.outputs import Output, Skipped, truthful
from discreet.policy import Guarantee, Policy

SupportRule = str | tuple[str, float]

CACHED_KERNELS = 512
"""Kernels kept, by the contexts that are possible: a day meets few such sets, and often the same."""


@dataclass(frozen=True)
class Past:
    """The public state of a day: the outputs so far. Belief and what is possible are their functions, kept along.

    `reached` (K,) marks hidden states that outputs leave possible: exactly, where the belief's floats may underflow.
    """

    outputs: tuple[Output, ...]
    belief: Belief = field(compare=False, repr=False)
    reached: BoolArray = field(compare=False, repr=False)


class DayFilter:
    """The filter of a model of one day."""

    def __init__(self, mechanism: Dphmm) -> None:
        self._adversary = Adversary(mechanism, policy=Policy())

    def start(self) -> Past:
        """No outputs yet."""
        return Past((), self._adversary.start(), self._adversary.process.initial > 0)

    def possible(self, state: Past) -> BoolArray:
        """(n,): the contexts that are possible in the slot that comes next (Definition 4.1)."""
        return np.asarray(self._adversary.process.predicted(state.belief.slot, state.reached.astype(np.float64)) > 0)

    def advance(self, state: Past, output: Output, kernel: PerturbedKernel) -> Past:
        """Bayes with the kernel that was used (Equation 2); silence, or what is never output, tells nothing."""
        process, before = self._adversary.process, state.reached.astype(np.float64)
        told = kernel.likelihood(output)
        reached = process.push(state.belief.slot, before, kernel.possible(output).astype(np.float64)) > 0
        if not reached.any():
            reached = process.push(state.belief.slot, before, np.ones(len(told))) > 0
        return Past((*state.outputs, output), state.belief.after(told), np.asarray(reached))


class Dphmm:
    """Answers a query each slot with `Perturbed(point)`; contexts joined in the graph differ by e^epsilon at most.

    `query` is an array (n, d); a list of such arrays asks several queries a slot, with one epsilon or one each, and
    their answers stand one after another in the point. `noise="knorm"` is shaped by the sensitivity hull, `"laplace"`
    by the l1 ball around it. `protect` says how exposed contexts are joined to others: `"greedy"` to the nearest,
    `"minimum"` where the hull grows least (in the plane). `support="possible"` shapes noise for every context that
    outputs so far leave possible; `("mass", 0.01)` for the smallest set that holds all but 0.01 of the belief, others
    being released as their nearest member. Answers are rounded to multiples of `step`, a power of two: by default
    2**-20 of their range in the plane.

    Over `routine.since(date)` it goes on without end: the public state is an `EndlessState`, whose `spent` says what it
    has cost since when. A policy promises nothing here; its secrets are those whose gains beliefs show.
    """

    needs: Needs = "any"

    def __init__(
        self,
        model: DayModel | EndlessChain,
        policy: Policy | None = None,
        *,
        graph: PolicyGraph,
        query: npt.ArrayLike | Sequence[npt.ArrayLike],
        epsilon: float | Sequence[float],
        noise: Noise = "knorm",
        protect: Protect = "greedy",
        support: SupportRule = "possible",
        step: float | None = None,
    ) -> None:
        given: object = model
        if isinstance(given, Routine | Changing):
            raise DiscreetError("a routine has no first day; give routine.since(date), or the chain of one of its days")
        if policy is not None:
            checked_pair(model, policy, "Dphmm")
        checked_model(model, "Dphmm")
        n = len(model.contexts)
        self.model: Any = model  # of one day, or without end
        self.policy = policy
        if policy is not None:
            secrets_over(policy, model)  # what does not fit is an error now
        if not isinstance(graph, PolicyGraph):
            raise PolicyError(f"graph is {graph!r}; give a PolicyGraph, such as PolicyGraph.complete({n})")
        if graph.contexts != n:
            raise PolicyError(
                f"the policy graph is over {graph.contexts} contexts, the model has {n}; build it for this model"
            )
        if noise not in ("knorm", "laplace"):
            raise PolicyError(f"noise={noise!r} is not known; use 'knorm' or 'laplace'")
        tables = [checked_query(table, n) for table in _queries(query)]
        self.graph, self.noise, self.protect = graph, noise, protect
        self.epsilons = _epsilons(epsilon, len(tables))
        self.mass = _mass(support)
        self.support = support
        self.queries = tuple(Sensitivity(graph, LatticeAnswers(table, step), noise) for table in tables)
        for asked, each in zip(self.queries, self.epsilons, strict=True):
            asked.answers.check_noise(each)
        check_method(protect, self.queries)
        self.private_contexts: IntArray = np.arange(n)
        self.private_contexts.setflags(write=False)
        self._filter: Any = DayFilter(self) if model.slots is not None else EndlessFilter(self)
        self._kernels: LRUCache[bytes, PerturbedKernel] = LRUCache(CACHED_KERNELS)
        # The last kernel: a release asks for it twice, to draw and to advance.
        self._met: tuple[Past | EndlessState, PerturbedKernel] | None = None
        self.guarantee = Guarantee("epsilon", _statement(self.epsilon, self.mass, self._complete), covers=frozenset())

    @property
    def epsilon(self) -> float:
        """What a slot's queries promise together."""
        return math.fsum(self.epsilons)

    @cached_property
    def _complete(self) -> bool:
        """Whether every two contexts are joined."""
        n, sizes = self.graph.contexts, np.diff(self.graph.starts)
        if (sizes * (sizes - 1)).sum() < n * (n - 1):
            return False
        return bool(self.graph.adjacency.sum() == n * (n - 1))

    def remember(self, memory: int | None, context: int) -> int:
        """The private state is the context."""
        return context

    def start(self) -> Any:
        """No outputs yet: a `Past`, or an `EndlessState` without end."""
        return self._filter.start()

    def kernel(self, state: Any) -> PerturbedKernel:
        """Noise for the contexts that the outputs leave possible, or for the smallest set with most of the belief."""
        met = self._met
        if met is not None and met[0] is state:
            return met[1]
        kernel = self.kernel_for(self._inside(state))
        self._met = state, kernel
        return kernel

    def kernel_for(self, support: Support) -> PerturbedKernel:
        """The kernel of a slot at which these contexts are possible."""
        inside = mask_of(support, len(self.model.contexts))
        key = inside.tobytes()
        kernel = self._kernels.get(key)
        if kernel is None:
            protected = protection_of(self.graph, self.queries, inside, self.protect)
            kernel = self._kernels[key] = PerturbedKernel(self.queries, self.epsilons, inside, protected)
        return kernel

    def _inside(self, state: Any) -> BoolArray:
        if self.mass is None:  # Definition 4.1
            possible: BoolArray = self._filter.possible(state)
            return possible
        predicted = state.belief.predicted()  # Theorem 4.1: the smallest set with mass 1 - delta
        order = np.argsort(-predicted, kind="stable")
        mass = np.cumsum(predicted[order])
        inside = np.zeros(len(predicted), dtype=np.bool_)
        inside[order[: int(np.argmax(mass >= (1 - self.mass) * mass[-1])) + 1]] = True
        return inside

    def advance(self, state: Any, output: Output) -> Any:
        """Bayes with the kernel that was used (Equation 2); silence, or what is never output, tells nothing."""
        if isinstance(self._filter, DayFilter):
            return self._filter.advance(state, output, self.kernel(state))
        if isinstance(output, Skipped):
            return self._filter.skipped(state)
        return self._filter.advance(state, output, self.kernel(state), self._reading(state))

    # --- without end

    def retraced(self, state: EndlessState, output: Output, column: FloatArray) -> EndlessState:
        """The public state after an output that had this likelihood (n,) when it was drawn."""
        reading = self._reading(state)
        return self._stream("retraced").advance(state, output, self.kernel(state), reading, column)

    @property
    def adversary(self) -> EndlessAdversary:
        """Over a model without end, the observer whose belief public states hold."""
        return self._stream("adversary").adversary

    @property
    def horizon(self) -> int | None:
        """Over a model without end, how many slots ahead rows of secrets are live (0 without any); None for a day's."""
        return self._filter.horizon if isinstance(self._filter, EndlessFilter) else None

    def restored(
        self,
        belief: EndlessBelief,
        skipped: bool,
        cuts: tuple[int, ...] = (),
        others: tuple[EndlessBelief, ...] = (),
    ) -> EndlessState:
        """The public state of a checkpoint, over a model without end; what is spent is counted from there on."""
        return self._stream("restored").restored(belief, skipped)

    def adversaries_at(self, cuts: tuple[int, ...]) -> tuple[EndlessAdversary, ...]:
        """The adversary of a stream, whose habits do not change here."""
        if cuts:
            raise DiscreetError(f"the checkpoint is after {len(cuts)} changes; {CHANGES}")
        return (self._stream("adversaries_at").adversary,)

    def known(self, state: Any) -> frozenset[str]:
        """The contexts of a stream's habits; any other label is `other`."""
        return frozenset(self.model.contexts)

    def then(self, date: dt.date | str, *, policy: Policy | None = None, routine: Routine | None = None) -> Dphmm:
        """Not defined: supports of other habits would have to be joined, too."""
        raise DiscreetError(CHANGES)

    @computed_once
    def settings(self) -> str:
        """What, beside model and policy, kernels depend on."""
        asked = [part for query in self.queries for part in (query.answers.step, query.answers.integers)]
        digest = digest_of((np.packbits(self.graph.adjacency), *asked)).hex()
        return (
            f"dphmm, epsilons {self.epsilons}, noise {self.noise}, protect {self.protect}, support {self.support}, "
            f"graph and queries {digest}"
        )

    def since(self, date: dt.date | str) -> Dphmm:
        """The same mechanism from another date on, with the kernels that it has made."""
        stream = self._stream("since")
        other = copy(self)
        other.model, other._met = self.model.routine.since(date), None
        shared = stream.adversary.tables if other.model.periodic and self.model.periodic else None
        other._filter = EndlessFilter(other, shared)
        return other

    def _stream(self, what: str) -> EndlessFilter:
        if not isinstance(self._filter, EndlessFilter):
            raise DiscreetError(f"{what} is for days without end; give Dphmm a routine.since(date)")
        return self._filter

    def worth(self, context: str, output: Output) -> float:
        """Nothing: a point is never the context itself. `evaluate` takes another worth, such as minus the distance."""
        return truthful(context, output)

    def expected_utility(self, days: int | None = None) -> Utility:
        """Not defined: points are true or not by how far off they are, in the query's own units."""
        raise DiscreetError(
            "Dphmm shows points, and no point is the true context, so a fraction of slots shown truthfully is not "
            "defined; measure the distance to the true answers instead: "
            "evaluate(mechanism, days, worth=lambda context, output: -distance)"
        )

    @classmethod
    def law_cases(cls, model: DayModel) -> Iterable[Mapping[str, Any]]:
        """The first two contexts are joined, and answers are points in the plane, no two of them alike."""
        n = len(model.contexts)
        query = np.array([[k % 2, 0.5 * k * k] for k in range(n)], dtype=np.float64)
        return ({"graph": PolicyGraph.from_edges(n, [[0, 1]] if n > 1 else []), "query": query, "epsilon": 1.0},)

    def odometer(self, outputs: Iterable[Output], since: Any = None) -> Odometer:
        """What these outputs have cost, slot by slot, from the start or from a public state on.

        It grows with the outputs. Without end, where a skip costs nothing, a public state's `spent` has the sums alone,
        and `spent` computes them.
        """
        day = isinstance(self._filter, DayFilter)
        along = self._along(outputs, since)
        readings = (self._reading(state) for state, output in along if day or not isinstance(output, Skipped))
        return Odometer(tuple(readings))

    def spent(self, outputs: Iterable[Output], since: EndlessState | None = None) -> OdometerSums:
        """Over a model without end, what these outputs have cost in all, from the start or from a public state on.

        For who has the outputs but not the public state; nothing is kept of them. After a checkpoint, give its state
        (`checkpoint.state_of(mechanism)`): then what came before it is not counted.
        """
        self._stream("spent")
        state = self.start() if since is None else since
        for output in outputs:
            state = self.advance(state, output)
        spent: OdometerSums = state.spent
        return spent

    def likelihoods(self, outputs: Iterable[Output]) -> FloatArray:
        """(T, n): the likelihood of each output in each context, up to a factor a slot; ones where nothing was told.

        From public outputs alone. It is what `models.learning.reports.fit_reports` learns habits from.
        """
        rows = [np.ones(len(self.private_contexts))]  # where there is no output at all, the array has its width
        for state, output in self._along(outputs, None):
            likelihood = self.kernel(state).likelihood(output)
            rows.append(likelihood if likelihood.any() else rows[0])
        return np.array(rows[1:]).reshape(-1, len(rows[0]))

    def _along(self, outputs: Iterable[Output], since: Any) -> Iterator[tuple[Any, Output]]:
        """Each output with the public state before it."""
        state = self.start() if since is None else since
        for output in outputs:
            yield state, output
            state = self.advance(state, output)

    def _reading(self, state: Any) -> OdometerReading:
        kernel = self.kernel(state)
        each = kernel.realised()
        return OdometerReading(
            state.belief.slot, self.epsilon, math.fsum(each), each, len(kernel.support), kernel.added
        )

    def largest_log_ratios(self, days: int | None = None) -> FloatArray:
        """(T,): whatever was output before, no output of the slot has a larger log-ratio between two possible contexts.

        In a complete graph it is epsilon. Elsewhere it is known while no output can rule a context out: then the same
        contexts are possible whatever was output. From the first slot on at which some output can, it is infinite.
        Without end there is no last slot: `days` says of how many days, from the first slot on.
        """
        priors = self._priors(days)
        ratios = np.full(len(priors), self.epsilon if self._complete else np.inf)
        if self._complete or self.mass is not None:
            return ratios
        for slot, prior in enumerate(priors):
            ratios[slot] = math.fsum(self.kernel_for(prior > 0).realised())
            if ratios[slot] == np.inf:
                break
        return ratios

    def _priors(self, days: int | None) -> Sequence[FloatArray]:
        """The prior of each slot of a day, or of so many days of a stream."""
        if isinstance(self._filter, DayFilter):
            if days is not None:
                raise DiscreetError("the model is of one day; leave days= out")
            return list(self.model.prior)
        if days is None or days < 1:
            raise DiscreetError(
                f"a stream without end has no last slot, and days={days} says of how many days; give at least 1, such "
                "as largest_log_ratios(days=7)"
            )
        return [self.model.prior_at(self.model.first + t) for t in range(days * self.model.day_slots)]

    def __repr__(self) -> str:
        return (
            f"Dphmm({self.model!r}, {self.graph!r}, epsilon={self.epsilon:g}, noise={self.noise!r}, "
            f"support={self.support!r})"
        )


def _queries(query: npt.ArrayLike | Sequence[npt.ArrayLike]) -> list[npt.ArrayLike]:
    """A list of tables (n, d) is several queries; anything else is one."""
    try:
        if isinstance(query, list | tuple) and query and all(np.ndim(table) == 2 for table in query):
            return list(query)
    except ValueError:  # rows of several lengths: `checked_query` says so
        pass
    return [query]  # type: ignore[list-item]  # not a list of tables, so it is one


def _epsilons(epsilon: float | Sequence[float], queries: int) -> tuple[float, ...]:
    if not isinstance(epsilon, list | tuple):
        return (checked_epsilon(epsilon),) * queries
    if len(epsilon) != queries:
        raise PolicyError(f"there are {len(epsilon)} epsilons for {queries} queries; give one each, or one for all")
    return tuple(checked_epsilon(value) for value in epsilon)


def _mass(support: SupportRule) -> float | None:
    if support == "possible":
        return None
    if isinstance(support, tuple) and len(support) == 2 and support[0] == "mass":
        delta = support[1]
        if isinstance(delta, int | float) and 0 <= delta < 1:
            return float(delta)
    raise PolicyError(f"support={support!r} is not known; use 'possible' or ('mass', 0.01)")


def _statement(epsilon: float, mass: float | None, complete: bool) -> str:
    told = f"probabilities of an output differ by e^{epsilon:g} at most, at each slot, "
    if mass is None:
        return told + (
            "between any two possible contexts that are joined in the policy graph, and between a context that would "
            "be exposed and the one it is joined to"
        )
    if complete:
        return told + "between any two contexts: those outside the likeliest set are released as its nearest member"
    return told + (
        f"between joined contexts of the smallest set that holds all but {mass:g} of the belief; a context outside is "
        "released as its nearest member, and an edge to it is not covered"
    )
