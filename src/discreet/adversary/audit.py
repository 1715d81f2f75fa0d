"""The audit: the worst gain that any output of a mechanism could cause. Exact where it can be, else an interval."""

from __future__ import annotations

import datetime as dt
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.adversary.explore import Budget, WorstGains, explore
from discreet.adversary.interval import PublicStep, TimeIsUp, bound, ratio_bound, search, state_graph, walk
from discreet.adversary.promise import promised_gains
from discreet.adversary.unrolled import Daily, Unrolled, day_by_day, ended
from discreet.contracts import AnyMechanism, DayModel, bounds_ratios, is_finite, is_noisy
from discreet.errors import DiscreetError
from discreet.factors import factors
from discreet.frames import Tabular
from discreet.given import checked_count, checked_mechanism, checked_model, checked_policy
from discreet.models.hidden.endless import EndlessHidden
from discreet.models.kinds import MONDAY
from discreet.models.routine.endless import EndlessChain
from discreet.models.routine.parts import AnyModel, AnyRoutine, Make, parts_of, without_end
from discreet.numerics import SLACK, FloatArray, exceeds
from discreet.outputs import Output
from discreet.policy import Policy

if TYPE_CHECKING:
    import polars as pl

KERNELS = 100_000
"""Kernels that an audit looks at unless told otherwise: some ten seconds for a chain of 20 contexts."""

OVER_MIDNIGHT = 2
"""Days in a row that a routine is audited for unless told otherwise."""

SOME_POSITIONS = 24
"""Positions without end that are audited unless told otherwise."""

CHECKED = 2_000
"""Kernels that are held against a proven promise unless told otherwise, where not all can be: a few seconds."""

TRIED = 8
"""Histories that are followed a slot where a noisy kernel names the points to try."""

WALKS = 200
"""Days drawn at random where a kernel's outputs cannot be listed."""

AuditProgress = Callable[[str, int, int], object]
"""Told which of the searches is under way, and how many of its steps, a slot each, are done and how many there are."""

Method = Literal["auto", "exact", "interval"]

RestsOn = Literal["exact", "interval", "ratios", "proof", "nothing"]
"""What a bound rests on: every output was looked at; a bound computed over all of them; the largest ratios that the
mechanism allows; its own proof, which is not computed; or nothing, so that it is certainty."""


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
class Audit(Tabular):
    """What an audit found: some outputs gain `worst_gain` (`witness`), and none more than `bound`. Equal where `exact`.

    `excess` is the largest gain beyond its own row's delta that was found (negative: the room that is left), which is
    its secret's, or what the secret's cap leaves.
    `rests_on` says why no output gains more than the bound. "proof": because the mechanism says so and names a proof;
    the kernels that were met were held against it, and `method` says which were not.
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
    excess_by_secret: dict[str, float]
    bound_excess_by_secret: dict[str, float]
    kernels: int
    method: str
    rests_on: RestsOn
    worst_odds: float = 1.0
    """The largest factor that was found on anybody's odds of a secret (docs/theory.md, section 13)."""
    odds_by_secret: dict[str, float] = field(default_factory=dict)

    @property
    def holds(self) -> bool | None:
        """Whether every gain stays within its delta: True, False, or None where the interval leaves it open."""
        if self.excess > SLACK:
            return False
        return True if self.bound_excess <= SLACK else None

    def to_frame(self) -> pl.DataFrame:
        """A row for each secret: the worst gain found, what none exceeds, both beyond the secret's limit, and odds."""
        import polars as pl

        rows = [
            (name, gain, self.bound_by_secret[name], self.excess_by_secret[name], self.bound_excess_by_secret[name])
            for name, gain in self.by_secret.items()
        ]
        names = ("worst_gain", "bound", "excess", "bound_excess")
        frame = pl.DataFrame(rows, schema={"secret": pl.String, **dict.fromkeys(names, pl.Float64)}, orient="row")
        odds = [self.odds_by_secret.get(name, 1.0) for name in self.by_secret]
        return frame.with_columns(pl.Series("worst_odds", odds, dtype=pl.Float64))

    def __repr__(self) -> str:
        held = {True: "holds", False: "does not hold", None: "open"}[self.holds]
        return (
            f"Audit({held}: worst_gain={self.worst_gain:.4g}, bound={self.bound:.4g}, excess={self.excess:.3g}, "
            f"rests on {self.rests_on})"
        )


def all_hold(audits: Iterable[Audit]) -> bool | None:
    """Whether every one holds: False as soon as one does not, None where one is open."""
    held = [audit.holds for audit in audits]
    return False if False in held else None if None in held else True


def audit(
    mechanism: Daily,
    policy: Policy | None = None,
    model: DayModel | AnyRoutine | None = None,
    budget: int | None = None,
    *,
    seconds: float | None = None,
    method: Method = "auto",
    days: int | None = None,
    routine: AnyRoutine | None = None,
    since: dt.date | str | None = None,
    slots: int | None = None,
    progress: AuditProgress | None = None,
) -> Audit:
    """The worst gain over everything that the mechanism may output.

    `policy` and `model` are the observer's, where they are not the mechanism's own (of a mechanism without end, a
    routine). `budget` is how many kernels each of the searches may look at, `seconds` how long they may take together;
    when either ends, the answer is an interval, and the result's `method` says what was not searched.
    `method="interval"` does not try to be exact, `"exact"` refuses to be anything else.

    Where not every output can be looked at, and the mechanism promises each of these deltas and has a proof of it, the
    bound is that promise (`rests_on="proof"`), unless a kernel that was met breaks it.

    With a `routine`, the mechanism is a day's, or {kind: mechanism}, and starts anew each day, private memory included;
    the observer knows how nights join the days and sees `days` of them (2 unless told otherwise), the first of which is
    `since` (by default a Monday). `policy` is then a day's, and holds on each; slots are counted on over midnight, and
    a secret at="any" is one for each day, "name (day 2)". A mechanism without end is likewise judged on its first
    `days`, or on those from `since` on; over positions without end, on the first `slots` of them.

    `progress` is told of each search that begins, and of each of its slots.
    """
    for one in mechanism.values() if isinstance(mechanism, Mapping) else (mechanism,):
        checked_mechanism(one, "audit")
    if policy is not None:
        checked_policy(policy, "audit")
    if model is not None and not isinstance(model, AnyRoutine):
        checked_model(model, "audit")
    given, mechanism = mechanism, _to_judge(mechanism, policy, model, days, routine, since, slots)
    if mechanism is not given:
        policy = None  # it is the joined days' own
    if method not in ("auto", "exact", "interval"):
        raise DiscreetError(f"method={method!r} is not known; use 'auto', 'exact' or 'interval'")
    if budget is not None:
        checked_count(budget, "the audit's budget of kernels")
    if seconds is not None and not (isinstance(seconds, int | float) and seconds >= 0):
        raise DiscreetError(f"the audit may take {seconds!r} seconds; give a number, 0 or more, or leave it out")
    habits = mechanism.habits_of(model) if isinstance(mechanism, Unrolled) and isinstance(model, AnyRoutine) else model
    adversary = Adversary(mechanism, cast(Any, habits), policy)
    return _Search(mechanism, adversary, KERNELS if budget is None else budget, seconds, progress).run(method, budget)


class _Search:
    """An audit under way: what is looked at, and how much more may be."""

    def __init__(
        self,
        mechanism: AnyMechanism,
        adversary: Adversary,
        most: int,
        seconds: float | None,
        progress: AuditProgress | None,
    ) -> None:
        self.mechanism, self.adversary, self.most = mechanism, adversary, most
        self.seconds, self.progress, self.began = seconds, progress, time.monotonic()

    def limit(self, share: float, what: str) -> Budget:
        """A search's own budget of kernels, and the share of the time after which it ends."""
        slots, seconds, progress = self.adversary.process.slots, self.seconds, self.progress
        told = (lambda slot: None) if progress is None else (lambda slot: progress(what, slot, slots))
        ends = math.inf if seconds is None else self.began + share * seconds
        return Budget(self.most, lambda: time.monotonic() > ends, told)

    def run(self, method: Method, budget: int | None) -> Audit:
        """Every output, if there are few enough; else an interval, or the mechanism's own promise."""
        mechanism, adversary = self.mechanism, self.adversary
        found = WorstGains(adversary)
        promised = None if method == "exact" else promised_gains(mechanism, adversary)
        exhaustive = self.limit(0.5 if method == "auto" else 1.0, "every output")
        whole = 0
        if method != "interval":
            whole = explore(mechanism, adversary, found, exhaustive, patient=promised is None)
        if whole == adversary.process.slots:
            used = exhaustive.used
            told = f"exact: every output of {used} merged states"
            return _report(adversary, found, Bounds(found.gains, "exact", ""), used, told)
        if method == "exact":
            raise DiscreetError(
                f"the audit is not exact within {self.most} kernels; raise the budget or allow an interval"
            )
        graphing = self.limit(0.6, "public states")
        graph = state_graph(mechanism, adversary, graphing, patient=promised is None)
        spent = exhaustive.used + graphing.used
        if promised is not None and graph is None:
            searching = self.limit(0.9, "what tells most")
            searching.most = CHECKED if budget is None else budget
            return _against_promise(mechanism, adversary, found, promised, searching, whole, spent)
        return _interval(mechanism, adversary, found, self.limit, graph, promised, spent)


def _to_judge(
    mechanism: Daily,
    policy: Policy | None,
    model: DayModel | AnyRoutine | None,
    days: int | None,
    routine: AnyRoutine | None,
    since: dt.date | str | None,
    slots: int | None,
) -> AnyMechanism:
    """The mechanism itself, or its days in a row, or its first positions."""
    if routine is not None:
        if model is not None:
            raise DiscreetError("a routine is the observer's model; leave model= out")
        return day_by_day(mechanism, routine, OVER_MIDNIGHT if days is None else days, since=since, policy=policy)
    if isinstance(mechanism, Mapping):
        raise DiscreetError("mechanisms for kinds of day need routine=, which says which day is of which kind")
    habits: Any = mechanism.model
    if (days is not None or since is not None) and not isinstance(habits, EndlessChain):
        raise DiscreetError("days= and since= need routine=, which says how nights join days")
    if slots is not None and not isinstance(habits, EndlessHidden):
        raise DiscreetError("slots= is for positions without end; days without end are judged by days=")
    if isinstance(habits, EndlessChain) and model is not None and not isinstance(model, AnyRoutine):
        raise DiscreetError("who judges a mechanism without end has a routine in mind; give one as model=")
    starting = mechanism if since is None else cast(Any, mechanism).since(since)
    most = OVER_MIDNIGHT if days is None else days, SOME_POSITIONS if slots is None else slots
    judged: AnyMechanism = ended(starting, *most, policy)
    return judged


def audit_parts(
    model: AnyModel,
    make: Make,
    budget: int | None = None,
    *,
    seconds: float | None = None,
    days: int | None = None,
    since: dt.date | str | None = None,
    progress: AuditProgress | None = None,
) -> dict[str | None, Audit]:
    """The audit of each part of the week (`parts_of`), by the mechanism that `make` gives for its model.

    Each has the whole `budget` and the whole `seconds`. Of a routine there is one answer, {None: ...}, over `days` in a
    row `since` a date, as in `audit`: a mechanism that releases one day at a time starts anew on each.
    """
    if isinstance(model, AnyRoutine):
        running = without_end(model, make, MONDAY if since is None else since)
        if running is not None:
            return {None: audit(running, budget=budget, seconds=seconds, days=days, progress=progress)}
        daily = {kind: make(model.day(kind)) for kind in model.kinds}
        joined: dict[str, Any] = {"days": days, "routine": model, "since": since}
        return {None: audit(daily, budget=budget, seconds=seconds, progress=progress, **joined)}
    if days is not None or since is not None:
        raise DiscreetError("days in a row are audited for a routine, which says how nights join days; learn one")
    return {
        part: audit(make(habits), budget=budget, seconds=seconds, progress=progress)
        for part, habits in parts_of(model).items()
    }


def audit_observers(
    model: AnyModel,
    make: Make,
    budget: int | None = None,
    *,
    seconds: float | None = None,
    days: int | None = None,
    since: dt.date | str | None = None,
    progress: AuditProgress | None = None,
) -> list[Audit]:
    """The same before each of the observers whom the mechanism has in mind beside the routine's own; of each alone."""
    running = without_end(model, make, MONDAY if since is None else since) if isinstance(model, AnyRoutine) else None
    others = getattr(running, "observers", ())
    return [
        audit(
            running,  # type: ignore[arg-type]
            model=one.routine,
            budget=budget,
            seconds=seconds,
            days=days,
            progress=progress,
        )
        for one in others
    ]


class Bounds(NamedTuple):
    """What no gain exceeds, why, and how that was found."""

    gains: FloatArray  # (R + A,)
    rests_on: RestsOn
    told: str


def _interval(
    mechanism: AnyMechanism,
    adversary: Adversary,
    found: WorstGains,
    limit: Callable[[float, str], Budget],
    graph: list[list[PublicStep]] | None,
    promised: FloatArray | None,
    spent: int,
) -> Audit:
    searching = limit(0.8, "what tells most")
    how = _searched(mechanism, adversary, found, searching, limit(0.9, "days at random"))
    bounds = _bounds(mechanism, adversary, graph, searching.most, limit(1.0, "a bound"))
    undecided = exceeds(bounds.gains, adversary.deltas).any()
    if promised is not None and undecided and not exceeds(found.gains, adversary.deltas).any():
        told = f"{bounds.told}, and where that leaves a delta undecided, {PROMISE}; what was not met rests on the proof"
        bounds = Bounds(np.minimum(bounds.gains, promised), "proof", told)
    method = f"interval: {bounds.told}; not every output was looked at ({how})"
    return _report(adversary, found, bounds, spent + searching.used, method)


def _searched(
    mechanism: AnyMechanism, adversary: Adversary, found: WorstGains, searching: Budget, drawing: Budget
) -> str:
    """Look for the worst gains where not all can be looked at; how that was done."""
    first = mechanism.kernel(mechanism.start())
    if is_finite(first):
        beam = max(1, searching.most // (4 * adversary.process.slots))
        search(mechanism, adversary, found, searching, beam)
        return f"the worst found with a beam of {beam} histories"
    searching.most = min(searching.most, TRIED * adversary.process.slots)
    how = "the worst found on days drawn at random, because outputs are continuous"
    if is_noisy(first):
        search(mechanism, adversary, found, searching, TRIED)
        how = f"the worst found among points that tell most, {TRIED} histories at a time, and on days drawn at random"
    drawing.most = min(drawing.most, WALKS * adversary.process.slots)
    walk(mechanism, adversary, found, drawing)
    searching.used += drawing.used
    return how


def _bounds(
    mechanism: AnyMechanism,
    adversary: Adversary,
    graph: list[list[PublicStep]] | None,
    most: int,
    bounding: Budget,
) -> Bounds:
    """What can be computed without looking at every output."""
    certainty = 1 - adversary.priors
    if adversary.model is mechanism.model and bounds_ratios(mechanism):
        gains = np.minimum(ratio_bound(adversary, mechanism.largest_log_ratios()), certainty)
        told = "bound from the largest ratios of probabilities that the mechanism allows, over the whole day"
        return Bounds(gains, "ratios", told)
    if graph is None:
        told = "no bound below certainty: public states are too many to follow, or outputs are continuous"
        return Bounds(certainty, "nothing", told)
    states = sum(len(steps) for steps in graph)
    generators = max(64, most // (20 * states))
    try:
        gains = np.minimum(bound(adversary, graph, generators, bounding), certainty)
    except TimeIsUp:
        return Bounds(certainty, "nothing", "no bound below certainty: time ended before one was ready")
    return Bounds(gains, "interval", f"bound over {states} public states with {generators} generators each")


PROMISE = "the mechanism's own promise, which its guarantee calls proven (the proof is not checked here)"


def _against_promise(
    mechanism: AnyMechanism,
    adversary: Adversary,
    found: WorstGains,
    promised: FloatArray,
    searching: Budget,
    whole: int,
    spent: int,
) -> Audit:
    """Hold every kernel that is met against what is promised; what is not met rests on the proof of it."""
    slots = adversary.process.slots
    beam = max(1, searching.most // slots)
    reached = search(mechanism, adversary, found, searching, beam)
    excess = float((found.gains - adversary.deltas).max())
    met = f"every output of the first {whole} slots, then of " if whole else "every output of "
    met += f"{searching.used} kernels along the histories that tell most, {beam} a slot"
    met += "" if reached == slots else f", as far as slot {reached}; later slots were not looked at"
    if excess > SLACK:
        bounds = Bounds(1 - adversary.priors, "nothing", "")
        told = f"no bound: what the mechanism promises is broken, so its proof bounds nothing; looked at {met}"
    else:
        bounds = Bounds(promised, "proof", "")
        told = (
            f"bound from {PROMISE}; checked was {met}: the largest gain minus its delta was {excess:.1e}; "
            "histories that were not met rest on the proof"
        )
    return _report(adversary, found, bounds, spent + searching.used, f"not every output: {told}")


def _report(adversary: Adversary, found: WorstGains, known: Bounds, kernels: int, method: str) -> Audit:
    gains = found.gains
    if not len(gains):
        nothing = float("-inf")
        told = "exact: there are no secrets"
        return Audit(0.0, 0.0, True, nothing, None, None, {}, {}, nothing, {}, {}, kernels, told, "exact")
    bounds = np.maximum(known.gains, gains)
    row, most = int(np.argmax(gains)), int(np.argmax(gains - adversary.deltas))
    excess = float(gains[most] - adversary.deltas[most])
    odds = factors(adversary.priors, adversary.priors + gains)
    return Audit(
        worst_gain=float(gains[row]),
        bound=float(bounds.max()),
        exact=known.rests_on != "proof" and bool((bounds == gains).all()),
        excess=excess,
        witness=_witness(adversary, found, row),
        breach=_witness(adversary, found, most) if excess > SLACK else None,
        by_secret=adversary.worst_by_secret(gains),
        bound_by_secret=adversary.worst_by_secret(bounds),
        bound_excess=float((bounds - adversary.deltas).max()),
        excess_by_secret=adversary.worst_by_secret(gains - adversary.deltas),
        bound_excess_by_secret=adversary.worst_by_secret(bounds - adversary.deltas),
        kernels=kernels,
        method=method,
        rests_on=known.rests_on,
        worst_odds=float(odds.max()),
        odds_by_secret=adversary.worst_by_secret(odds),
    )


def _witness(adversary: Adversary, found: WorstGains, row: int) -> Witness | None:
    outputs, prior = found.outputs(row), float(adversary.priors[row])
    if not outputs:
        return None
    return Witness(outputs, *adversary.gain_names[row], prior, prior + float(found.gains[row]))
