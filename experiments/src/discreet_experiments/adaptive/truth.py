"""Is the model true? Habits learned in several ways from the first half of recorded days, held against the second.

`learners` asks of each way of learning: where it says that a secret has a probability, how often is it so? Of the
priors, of predictions some slots after a release, and of what the exact observer of Adaptive believes; and how likely
the second half was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from discreet.contexts import Day
from discreet.evaluation.replay import replay
from discreet.mechanisms import Adaptive
from discreet.models.kinds import RULES
from discreet.models.learning.calibrated import Candidate, Faded, LearningState, habits
from discreet.models.learning.held_out import judged
from discreet.models.learning.routine import Learned, chains_from
from discreet.models.routine.parts import AnyRoutine
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray, ordered_product
from discreet.outputs import Released
from discreet.policy import Policy
from discreet.randomness import SeededEntropy
from discreet_experiments.adaptive.picture import PICTURED, Pictured
from discreet_experiments.adaptive.weeks import weekly
from discreet_experiments.charts import marks
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import Figure
from discreet_experiments.shared.people import Trace, prepared, spread
from discreet_experiments.shared.sheets import Cell, Sheet, mean
from discreet_experiments.shared.subjects import Setting, chosen_secrets, parted, seed_for

EDGES = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
"""Where probabilities are told apart: finely where secrets are rare."""

AHEAD = 4
"""Slots after a release at which predictions are judged."""

OBSERVED = 4
"""Held-out days of a person that are released before an observer, unless the setting says."""

Fit = Callable[[Sequence[Day]], Routine]


def _calibrated(
    days: Sequence[Day],
    anywhere: float | None = None,
    strength: float | None = None,
    *,
    fade: bool = True,
) -> Routine:
    """Calibrated habits with one of their parts left out or held."""
    learned = Routine.fit(days, smoothing="calibrated").learned
    assert learned is not None
    assert learned.recent is not None
    chosen = learned.recent.chosen
    held = Candidate(
        chosen.anywhere if anywhere is None else anywhere, chosen.strength if strength is None else strength
    )
    counts = learned.recent.counts if fade else _whole(learned, learned.recent)
    rows = habits(counts, learned.contexts, held, learned.floor)
    return Routine(*chains_from(rows, learned.contexts, tuple(learned.days)), kind_of=RULES[learned.by])


def _whole(learned: Learned, recent: LearningState) -> Faded:
    """The counts of all dates, none of them faded."""
    kinds = tuple(learned.days)
    nights = np.array([[learned.nights[a, b] for b in kinds] for a in kinds], dtype=np.float64)
    days = list(learned.days.values())
    assert nights.shape == recent.counts.nights.shape
    return Faded(
        np.array([one.initial for one in days], dtype=np.float64),
        np.array([one.transitions for one in days], dtype=np.float64),
        nights,
    )


LEARNERS: dict[str, Fit] = {
    "none": partial(Routine.fit, smoothing="none"),
    "auto": partial(Routine.fit, smoothing="auto"),
    "auto, floor 0.1": partial(Routine.fit, smoothing="auto", floor=0.1),
    "calibrated": partial(Routine.fit, smoothing="calibrated"),
    "calibrated, all dates alike": partial(_calibrated, fade=False),
    "calibrated, no departure leads anywhere": partial(_calibrated, anywhere=0.0),
    "calibrated, 0.6 of them do for everybody": partial(_calibrated, anywhere=0.6),
    "calibrated, strength 0.5 for everybody": partial(_calibrated, strength=0.5),
}
"""Ways of learning: those that `Routine.fit` offers, and what was tried besides."""

OFFERED = ("auto", "calibrated")
"""Those whose habits Adaptive is given."""


@dataclass(frozen=True)
class Reliability:
    """Probabilities that were said and how often they were true, summed by `EDGES`; those of people add up."""

    said: FloatArray  # (bins,)
    true: FloatArray  # (bins,)
    pairs: int
    squares: float  # the sum of (said - true)^2

    @classmethod
    def of(cls, said: FloatArray, true: FloatArray) -> Reliability:
        """Of pairs, arrays of one shape."""
        said, true = said.ravel(), true.ravel().astype(np.float64)
        place = np.digitize(said, EDGES)
        bins = len(EDGES) + 1
        sums = [np.asarray(np.bincount(place, values, bins), dtype=np.float64) for values in (said, true)]
        return cls(sums[0], sums[1], len(said), float(((said - true) ** 2).sum()))

    def __add__(self, other: Reliability) -> Reliability:
        return Reliability(
            self.said + other.said, self.true + other.true, self.pairs + other.pairs, self.squares + other.squares
        )

    @property
    def error(self) -> float:
        """The expected calibration error: how far what is said is from what is so, mean over pairs."""
        return float(np.abs(self.said - self.true).sum() / self.pairs)


@dataclass(frozen=True)
class Observed:
    """What the exact observer of Adaptive believes of each slot once its output is seen, and what was shown."""

    beliefs: Reliability
    utility: float


@dataclass(frozen=True)
class Fared:
    """How one person's second half fared by habits of the first."""

    prior: Reliability
    ahead: Reliability
    log_likelihood: float
    observed: Observed | None


def fared(trace: Trace, setting: Setting) -> tuple[int, dict[str, Fared]] | None:
    """Every learner on one person; None for one who has no place to hide."""
    learned, held_out = parted(prepared(trace, setting.rules), setting.training)
    secrets = chosen_secrets(Routine.fit(learned).contexts, setting, trace.number)
    if not secrets:
        return None
    found = {}
    for name, fit in LEARNERS.items():
        routine = fit(learned)
        days = [day.fitted(routine.contexts) for day in held_out]
        observed = observed_by(routine, days, secrets, setting, trace.number) if name in OFFERED else None
        likelihood = judged(routine, days).log_likelihood
        assert likelihood is not None  # routines are total
        found[name] = Fared(said_before(routine, days, secrets), _ahead(routine, days, secrets), likelihood, observed)
    return trace.number, found


def _truth(days: Sequence[Day], secrets: Sequence[str]) -> FloatArray:
    """(D, T, secrets): whether each is true."""
    return np.array([[[context == secret for secret in secrets] for context in day.contexts] for day in days], float)


def said_before(routine: AnyRoutine, days: Sequence[Day], secrets: Sequence[str]) -> Reliability:
    """Priors of these dates, and how often they were so."""
    at = [routine.contexts.index(secret) for secret in secrets]
    said = np.array([routine.prior(day.date)[:, at] for day in days if day.date is not None])
    return Reliability.of(said, _truth(days, secrets))


def _ahead(routine: Routine, days: Sequence[Day], secrets: Sequence[str]) -> Reliability:
    """What is expected `AHEAD` slots after the context was shown, within a day."""
    at = [routine.contexts.index(secret) for secret in secrets]
    by_kind = {}
    for kind in routine.kinds:
        steps = routine.day(kind).transitions
        later = [steps[t] for t in range(len(steps) - AHEAD + 1)]
        for more in range(1, AHEAD):
            later = [ordered_product(rows, steps[t + more]) for t, rows in enumerate(later)]
        by_kind[kind] = np.array(later)[:, :, at]  # (T - AHEAD, n, secrets)
    said = []
    for day in days:
        assert day.date is not None
        codes = [routine.contexts.index(context) for context in day.contexts[: len(day) - AHEAD]]
        said.append(by_kind[routine.kind_of(day.date)][np.arange(len(codes)), codes])
    return Reliability.of(np.array(said), _truth(days, secrets)[:, AHEAD:])


def observed_by(
    routine: AnyRoutine, days: Sequence[Day], secrets: Sequence[str], setting: Setting, number: int
) -> Observed:
    """Days released one by one by Adaptive, suppressing, without memory."""
    policy = Policy(secrets, delta=setting.delta)
    said, shown = [], []
    judged_days = spread(days, OBSERVED if setting.days is None else setting.days)
    machines = {kind: Adaptive(routine.day(kind), policy, memory="none") for kind in routine.kinds}
    for day in judged_days:
        assert day.date is not None
        rng = SeededEntropy(seed_for(setting.seed, number, f"truth {day.date}"))
        for moment in replay(machines[routine.kind_of(day.date)], [day], rng=rng):
            said.append(moment.belief.beliefs.reshape(len(secrets), -1)[:, moment.slot])
            shown.append(isinstance(moment.output, Released))
    truth = _truth(judged_days, secrets).reshape(-1, len(secrets))
    return Observed(Reliability.of(np.array(said), truth), mean([float(one) for one in shown]))


# --- the figure


def on_learners(cohort: Cohort, setting: Setting, pictured: Sequence[Pictured] = PICTURED) -> Figure:
    """Every learner on every data set."""
    own = weekly(setting)
    rows: list[dict[str, Cell]] = []
    each: list[dict[str, Cell]] = []
    drawn: dict[str, tuple[float, ...]] = {}
    for source in pictured:
        here = replace(own, rules=source.rules(own.rules))
        work = partial(fared, setting=here)
        people = cohort.over(source.name, work, cohort.read(here.rules, source.reader), needed=True)
        for name in LEARNERS:
            rows.append(_row(source.name, name, [found[name] for _, found in people]))
            each += [_person(source.name, name, number, found[name]) for number, found in people]
        for name in OFFERED:
            drawn[f"{source.name}, {name}"] = tuple(found[name].prior.error for _, found in people)
    title = "How true habits are of later days"
    note = f"{own.rules.slots} slots, secret: {own.secrets} places at random, delta {own.delta:g}, cut {own.rules.cut}"
    remarks = (
        "errors: how far what is said is from how often it is so, in steps of probability, mean over pairs of slot and "
        "secret, in hundredths; of priors, of predictions 4 slots after a release, and of what the exact observer of "
        "Adaptive (suppress, no memory, day by day) believes of a slot once its output is seen",
        "log-likelihood: of a step, mean over people; Brier: of priors, in hundredths",
        "shown: the share of those slots that Adaptive released",
    )
    chart = partial(marks.strips, title, note, drawn, across="calibration error of priors; a tick is a person")
    return Figure("learners", title, note, Sheet.of(rows), Sheet.of(each), remarks, chart)


def _row(data: str, learner: str, people: Sequence[Fared]) -> dict[str, Cell]:
    prior, ahead = _sum([one.prior for one in people]), _sum([one.ahead for one in people])
    observed = [one.observed for one in people if one.observed is not None]
    return {
        "data": data,
        "learner": learner,
        "people": len(people),
        "pairs": prior.pairs,
        "priors off": 100 * prior.error,
        "4 slots on off": 100 * ahead.error,
        "beliefs off": 100 * _sum([one.beliefs for one in observed]).error if observed else None,
        "Brier": 100 * prior.squares / prior.pairs,
        "log-likelihood": mean([one.log_likelihood for one in people]),
        "shown": mean([one.utility for one in observed]) if observed else None,
    }


def _sum(several: Sequence[Reliability]) -> Reliability:
    total = several[0]
    for one in several[1:]:
        total = total + one
    return total


def _person(data: str, learner: str, number: int, one: Fared) -> dict[str, Cell]:
    observed: Mapping[str, Cell] = {"beliefs off": None, "shown": None}
    if one.observed is not None:
        observed = {"beliefs off": 100 * one.observed.beliefs.error, "shown": one.observed.utility}
    return {
        "data": data,
        "learner": learner,
        "person": number,
        "priors off": 100 * one.prior.error,
        "4 slots on off": 100 * one.ahead.error,
        "log-likelihood": one.log_likelihood,
        **observed,
    }
