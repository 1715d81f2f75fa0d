"""The audit: the worst gain that any output of a mechanism could cause. Exact where it can be, else an interval."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.adversary.explore import Budget, WorstGains, explore
from discreet.adversary.interval import TimeIsUp, bound, ratio_bound, search, state_graph, walk
from discreet.contracts import AnyMechanism, Model, bounds_ratios, is_finite, is_noisy
from discreet.errors import DiscreetError
from discreet.models.week import AnyModel, parts_of
from discreet.numerics import SLACK, FloatArray
from discreet.outputs import Output
from discreet.policy import Policy

KERNELS = 100_000
"""Kernels that an audit looks at unless told otherwise: some ten seconds for a chain of 20 contexts."""

TRIED = 8
"""Histories that are followed a slot where a noisy kernel names the points to try."""

WALKS = 200
"""Days drawn at random where a kernel's outputs cannot be listed."""


@dataclass(frozen=True)
class Witness:
    """Outputs that bring the worst gain, and what they tell: belief - prior = gain. `slot` is None for at="any"."""

    outputs: tuple[Output, ...]
    secret: str
    slot: int | None
    prior: float
    belief: float

    @property
    def gain(self) -> float:
        """Belief minus prior."""
        return self.belief - self.prior


@dataclass(frozen=True)
class Audit:
    """worst_gain was found (witness has the outputs); no output gains more than `bound`. Equal where `exact`.

    `excess` is the largest gain beyond its own secret's delta that was found (negative: the room that is left).
    """

    worst_gain: float
    bound: float
    exact: bool
    excess: float
    witness: Witness | None
    breach: Witness | None  # of the largest excess, where a delta is exceeded
    by_secret: dict[str, float]
    bound_by_secret: dict[str, float]
    bound_excess: float
    kernels: int
    method: str

    @property
    def holds(self) -> bool | None:
        """Whether every gain stays within its delta: True, False, or None where the interval leaves it open."""
        if self.excess > SLACK:
            return False
        return True if self.bound_excess <= SLACK else None


def all_hold(audits: Iterable[Audit]) -> bool | None:
    """Whether every one holds: False as soon as one does not, None where one is open."""
    held = [audit.holds for audit in audits]
    return False if False in held else None if None in held else True


def audit(
    mechanism: AnyMechanism,
    policy: Policy | None = None,
    model: Model | None = None,
    budget: int | None = None,
    *,
    seconds: float | None = None,
    method: Literal["auto", "exact", "interval"] = "auto",
) -> Audit:
    """The worst gain over everything that the mechanism may output.

    `policy` and `model` are what the observer is judged by, where they are not the mechanism's own. `budget` is how
    many kernels each of the searches may look at, `seconds` how long they may take together; when either ends, the
    answer is an interval, and the result's `method` says what was not searched. `method="interval"` does not try to be
    exact, `"exact"` refuses to be anything else.
    """
    if method not in ("auto", "exact", "interval"):
        raise DiscreetError(f"method={method!r} is not known; use 'auto', 'exact' or 'interval'")
    if budget is not None and budget < 1:
        raise DiscreetError(f"an audit with a budget of {budget} kernels sees nothing; give at least 1")
    adversary = Adversary(mechanism, model, policy)
    most = KERNELS if budget is None else budget
    began = time.monotonic()

    def limit(share: float) -> Budget:
        """A search's own budget of kernels, and the share of the time after which it ends."""
        return Budget(most, lambda: seconds is not None and time.monotonic() > began + share * seconds)

    found = WorstGains(adversary)
    exhaustive = limit(0.5 if method == "auto" else 1.0)
    if method != "interval" and explore(mechanism, adversary, found, exhaustive):
        used = exhaustive.used
        return _report(adversary, found, found.gains, used, f"exact: every output of {used} merged states")
    if method == "exact":
        raise DiscreetError(f"the audit is not exact within {most} kernels; raise the budget or allow an interval")
    return _interval(mechanism, adversary, found, limit, exhaustive.used)


def audit_parts(
    model: AnyModel,
    make: Callable[[Model], AnyMechanism],
    budget: int | None = None,
    *,
    seconds: float | None = None,
) -> dict[str | None, Audit]:
    """The audit of each part of the week (`parts_of`), by the mechanism that `make` gives for its model.

    Each has the whole `budget` and the whole `seconds`.
    """
    return {part: audit(make(habits), budget=budget, seconds=seconds) for part, habits in parts_of(model).items()}


def _interval(
    mechanism: AnyMechanism, adversary: Adversary, found: WorstGains, limit: Callable[[float], Budget], used: int
) -> Audit:
    graphing, searching = limit(0.6), limit(0.8)
    graph = state_graph(mechanism, adversary, graphing)
    beam = max(1, searching.most // (4 * adversary.process.slots))
    first = mechanism.kernel(mechanism.start())
    if is_finite(first):
        search(mechanism, adversary, found, searching, beam)
        how = f"the worst found with a beam of {beam} histories"
    else:
        drawing = limit(0.9)
        searching.most = min(searching.most, TRIED * adversary.process.slots)
        how = "the worst found on days drawn at random, because outputs are continuous"
        if is_noisy(first):
            search(mechanism, adversary, found, searching, TRIED)
            how = (
                f"the worst found among points that tell most, {TRIED} histories at a time, and on days drawn at random"
            )
        drawing.most = min(drawing.most, WALKS * adversary.process.slots)
        walk(mechanism, adversary, found, drawing)
        searching.used += drawing.used
    bounds = 1 - adversary.priors
    if adversary.model is mechanism.model and bounds_ratios(mechanism):
        bounds = np.minimum(ratio_bound(adversary, mechanism.largest_log_ratios()), bounds)
        told = "bound from the largest ratios of probabilities that the mechanism allows, over the whole day"
    elif graph is None:
        told = "no bound below certainty: public states are too many to follow, or outputs are continuous"
    else:
        states = sum(len(steps) for steps in graph)
        generators = max(64, searching.most // (20 * states))
        try:
            bounds = np.minimum(bound(adversary, graph, generators, limit(1.0).stopped), bounds)
            told = f"bound over {states} public states with {generators} generators each"
        except TimeIsUp:
            told = "no bound below certainty: time ended before one was ready"
    bounds = np.maximum(bounds, found.gains)
    spent = used + graphing.used + searching.used
    return _report(adversary, found, bounds, spent, f"interval: {told}; not every output was looked at ({how})")


def _report(adversary: Adversary, found: WorstGains, bounds: FloatArray, kernels: int, method: str) -> Audit:
    gains = found.gains
    if not len(gains):
        nothing = float("-inf")
        return Audit(0.0, 0.0, True, nothing, None, None, {}, {}, nothing, kernels, "exact: there are no secrets")
    row, most = int(np.argmax(gains)), int(np.argmax(gains - adversary.deltas))
    excess = float(gains[most] - adversary.deltas[most])
    return Audit(
        worst_gain=float(gains[row]),
        bound=float(bounds.max()),
        exact=bool((bounds == gains).all()),
        excess=excess,
        witness=_witness(adversary, found, row),
        breach=_witness(adversary, found, most) if excess > SLACK else None,
        by_secret=adversary.worst_by_secret(gains),
        bound_by_secret=adversary.worst_by_secret(bounds),
        bound_excess=float((bounds - adversary.deltas).max()),
        kernels=kernels,
        method=method,
    )


def _witness(adversary: Adversary, found: WorstGains, row: int) -> Witness | None:
    outputs, prior = found.outputs(row), float(adversary.priors[row])
    if not outputs:
        return None
    return Witness(outputs, *adversary.gain_names[row], prior, prior + float(found.gains[row]))
