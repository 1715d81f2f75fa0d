"""Days in a row on recorded people: Adaptive started anew each day, beside Adaptive without end (theory, section 10).

Both release the same held-out dates with the same routine. The observer is exact and knows how nights join days: for
both, the adversary of one day's code over the chain of the whole run, with every row kept. It shares nothing with what
the mechanism without end believes, which keeps live rows alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.adversary.unrolled import Unrolled, day_by_day
from discreet.contexts import Day, fitted
from discreet.errors import DiscreetError
from discreet.mechanisms import Adaptive
from discreet.mechanisms.adaptive.adaptive import Memory, Outputs
from discreet.mechanisms.adaptive.machine import AdaptiveState
from discreet.models.kinds import ONE_DAY
from discreet.models.routine.routine import Routine
from discreet.numerics import exceeds
from discreet.outputs import Released
from discreet.policy import Policy
from discreet.randomness import SeededEntropy
from discreet_experiments.charts import marks
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import Figure
from discreet_experiments.shared.people import Rules, Trace, prepared, spread
from discreet_experiments.shared.sheets import Cell, Sheet, mean
from discreet_experiments.shared.subjects import Setting, chosen_secrets, parted, seed_for

LENGTHS = (3, 14)
"""Dates of a run."""

CUT, CARRIED = "04:00", 4.0
"""Where days are cut in this part, and for how many hours a reading stands: longer and nights would be made up."""

Starts = Literal["day by day", "without end"]


class Variant(NamedTuple):
    """How many dates are released in a row, whether each of them anew, and by which Adaptive."""

    days: int
    starts: Starts
    outputs: Outputs
    memory: Memory

    def __str__(self) -> str:
        return f"{self.outputs}, memory {self.memory}, {self.days} days {self.starts}"

    @property
    def leaky(self) -> Variant:
        """What its utility is compared with: the same outputs day by day, with memory."""
        return self._replace(starts="day by day", memory="last")


_OUTPUTS: tuple[Outputs, ...] = ("suppress", "deceive")
_MEMORIES: tuple[Memory, ...] = ("last", "none")
_STARTS: tuple[Starts, ...] = ("day by day", "without end")


def variants(lengths: Sequence[int]) -> list[Variant]:
    """All of them."""
    return [
        Variant(days, starts, outputs, memory)
        for days in lengths
        for outputs in _OUTPUTS
        for memory in _MEMORIES
        for starts in _STARTS
    ]


@dataclass(frozen=True)
class Run:
    """One run of dates as released and judged."""

    truth: float  # the chance of the truth, summed over slots
    worst_gain: float
    breached: bool
    off_model: int
    seconds: tuple[float, ...]  # of each decision, processor time
    rows: tuple[int, ...]  # live in each slot; none where every row is


@dataclass(frozen=True)
class Person:
    """One person's runs by variant; `refused` has the reason where a routine was refused."""

    number: int
    contexts: int
    horizon: int | None
    runs: Mapping[Variant, tuple[Run, ...]]
    given_up: Mapping[Variant, int]
    refused: str | None = None


def weekly(setting: Setting) -> Setting:
    """The setting as this part has it: days cut at night, readings carried for a few hours, secrets are places."""
    rules: Rules = replace(setting.rules, cut=CUT, carry_hours=CARRIED, backward=True)
    return replace(setting, rules=rules, pool="places", smoothing="auto")


def runs_of(days: Sequence[Day], length: int, most: int | None) -> list[tuple[Day, ...]]:
    """Runs of so many consecutive dates that do not overlap, at most `most` of them, evenly spread."""
    found: list[tuple[Day, ...]] = []
    current: list[Day] = []
    for day in days:
        if current and day.date != _after(current[-1]):
            current = []
        current.append(day)
        if len(current) == length:
            found.append(tuple(current))
            current = []
    return spread(found, most)


def _after(day: Day) -> object:
    assert day.date is not None
    return day.date + ONE_DAY


def released(trace: Trace, setting: Setting, lengths: Sequence[int], most: int | None) -> Person | None:
    """Every variant on the person's runs; None for one who has none, or no place to hide."""
    learned, held_out = parted(prepared(trace, setting.rules), setting.training)
    runs = {length: runs_of(held_out, length, most) for length in lengths}
    routine = Routine.fit(learned, smoothing=setting.smoothing)
    secrets = chosen_secrets(routine.contexts, setting, trace.number)
    if not secrets or not any(runs.values()):
        return None
    return _Released(trace.number, routine, Policy(secrets, delta=setting.delta), setting.seed).person(runs)


class _Released:
    """One person's mechanisms, and what they release; a mechanism is made once, for all runs."""

    def __init__(self, number: int, routine: Routine, policy: Policy, seed: int) -> None:
        self.number, self.routine, self.policy, self.seed = number, routine, policy, seed
        self._daily: dict[tuple[Outputs, Memory], dict[str, Adaptive]] = {}
        self._endless: dict[tuple[Outputs, Memory], Adaptive] = {}

    def person(self, runs: Mapping[int, Sequence[tuple[Day, ...]]]) -> Person:
        contexts = len(self.routine.contexts)
        first = next(days[0].date for own in runs.values() for days in own)
        try:
            for outputs in _OUTPUTS:
                for memory in _MEMORIES:
                    self._endless[outputs, memory] = Adaptive(
                        self.routine.since(str(first)), self.policy, outputs=outputs, memory=memory
                    )
        except DiscreetError as error:
            return Person(self.number, contexts, None, {}, {}, str(error))
        found: dict[Variant, tuple[Run, ...]] = {}
        given_up: dict[Variant, int] = {}
        for variant in variants([length for length, own in runs.items() if own]):
            before = self._given_up(variant)
            found[variant] = tuple(self._run(variant, days) for days in runs[variant.days])
            given_up[variant] = self._given_up(variant) - before
        return Person(self.number, contexts, next(iter(self._endless.values())).horizon, found, given_up)

    def _given_up(self, variant: Variant) -> int:
        """Programmes so far that were replaced by silence."""
        which = variant.outputs, variant.memory
        if variant.starts == "without end":
            return int(self._endless[which].effort.given_up)
        return sum(one.effort.given_up for one in self._of_days(variant).values())

    def _of_days(self, variant: Variant) -> dict[str, Adaptive]:
        """A mechanism for each kind of day, made when first asked for."""
        which = variant.outputs, variant.memory
        if which not in self._daily:
            self._daily[which] = {
                kind: Adaptive(self.routine.day(kind), self.policy, outputs=variant.outputs, memory=variant.memory)
                for kind in self.routine.kinds
            }
        return self._daily[which]

    def _run(self, variant: Variant, days: Sequence[Day]) -> Run:
        since = str(days[0].date)
        mechanism: Unrolled
        if variant.starts == "day by day":
            mechanism = day_by_day(self._of_days(variant), self.routine, len(days), since=since)
        else:
            mechanism = Unrolled(self._endless[variant.outputs, variant.memory].since(since), len(days))
        codes = [
            self.routine.contexts.index(fitted(label, self.routine.contexts)) for day in days for label in day.contexts
        ]
        return walked(mechanism, codes, SeededEntropy(seed_for(self.seed, self.number, f"{since} {len(days)}")))


def walked(mechanism: Unrolled, codes: Sequence[int], rng: SeededEntropy) -> Run:
    """Release these contexts, by number, before the eyes of the exact observer of the whole run.

    A slot counts with the chance that its kernel gives to the truth, which is less noise than what was drawn. A
    decision is the kernel and the step to the next public state; the observer's time is not counted.
    """
    judge = Adversary(mechanism)
    anew = mechanism.anew
    contexts = mechanism.model.contexts
    state, belief, private = mechanism.start(), judge.start(), None
    truth, off_model, highest = 0.0, 0, belief.gains.copy()
    seconds, rows = [], []
    for slot, code in enumerate(codes):
        if isinstance(state, AdaptiveState):
            rows.append(len(state.belief.live()[0].secret))
        began = time.thread_time()
        kernel = mechanism.kernel(state)
        private = int(anew[slot][code]) if slot in anew else mechanism.remember(private, code)
        output = kernel.sample(private, rng)
        state = mechanism.advance(state, output)
        seconds.append(time.thread_time() - began)
        off_model += not belief.predicted()[private] > 0
        truth += float(kernel.likelihood(Released(contexts[code]))[private])
        belief = belief.after(kernel.likelihood(output))
        np.maximum(highest, belief.gains, out=highest)
    breached = bool(exceeds(highest, judge.deltas).any())
    return Run(truth, float(highest.max(initial=0.0)), breached, off_model, tuple(seconds), tuple(rows))


# --- the figure


def on_weeks(cohort: Cohort, setting: Setting, lengths: Sequence[int] = LENGTHS, most: int | None = None) -> Figure:
    """Everybody's runs, day by day and without end."""
    own = weekly(setting)
    work = partial(released, setting=own, lengths=lengths, most=most)
    people = cohort.over("weeks", work, cohort.read(own.rules), needed=True)
    taking_part = [person for person in people if person.refused is None]
    used = [one for one in variants(lengths) if any(person.runs.get(one) for person in taking_part)]
    rows = [_row(one, taking_part) for one in used]
    title = "Days in a row"
    note = f"{len(taking_part)} people, {own.described()}, cut {own.rules.cut}"
    refused = [person for person in people if person.refused is not None]
    remarks = (
        "utility: the chance of the truth, mean over slots; of day by day's: of the same outputs day by day with "
        "memory, on the same runs",
        "runs breached: those in which an observer who knows how nights join days gains more than delta on a secret at "
        "some slot, past, present or future, after some output",
        "ms: processor time of a decision; rows: (secret, slot) pairs that are still kept, past and to come; horizon: "
        "slots ahead",
        f"people whose routine was refused: {len(refused)}" + "".join(f"; {one.refused}" for one in refused[:1]),
    )
    drawn = {str(one): tuple(_utility(person.runs[one]) for person in _with(one, taking_part)) for one in used}
    chart = partial(marks.strips, title, note, drawn, across="utility; a tick is a person")
    each = Sheet.of([_person(one, person) for one in used for person in _with(one, taking_part)])
    return Figure("weeks", title, note, Sheet.of(rows), each, remarks, chart)


def _with(variant: Variant, people: Sequence[Person]) -> list[Person]:
    return [person for person in people if person.runs.get(variant)]


def _utility(runs: Sequence[Run]) -> float:
    return sum(run.truth for run in runs) / sum(len(run.seconds) for run in runs)


def _row(variant: Variant, people: Sequence[Person]) -> dict[str, Cell]:
    own = _with(variant, people)
    runs = [run for person in own for run in person.runs[variant]]
    leaky = [run for person in own for run in person.runs[variant.leaky]]
    seconds = 1e3 * np.concatenate([run.seconds for run in runs])
    live = [rows for run in runs for rows in run.rows]
    horizons = [person.horizon for person in own if person.horizon is not None]
    return {
        "outputs": variant.outputs,
        "memory": variant.memory,
        "released": variant.starts,
        "days": variant.days,
        "people": len(own),
        "runs": len(runs),
        "utility": _utility(runs),
        "of day by day's": _utility(runs) / _utility(leaky),
        "runs breached": sum(run.breached for run in runs),
        "worst gain": max(run.worst_gain for run in runs),
        "off model": sum(run.off_model for run in runs),
        "p50 (ms)": float(np.percentile(seconds, 50)),
        "p99 (ms)": float(np.percentile(seconds, 99)),
        "most (ms)": float(seconds.max()),
        "rows": mean(live) if live else None,
        "most rows": max(live) if live else None,
        "horizon": max(horizons) if live and horizons else None,
        "given up": sum(person.given_up[variant] for person in own),
    }


def _person(variant: Variant, person: Person) -> dict[str, Cell]:
    runs = person.runs[variant]
    live = [rows for run in runs for rows in run.rows]
    seconds = 1e3 * np.concatenate([run.seconds for run in runs])
    return {
        "person": person.number,
        "contexts": person.contexts,
        "outputs": variant.outputs,
        "memory": variant.memory,
        "released": variant.starts,
        "days": variant.days,
        "runs": len(runs),
        "utility": _utility(runs),
        "runs breached": sum(run.breached for run in runs),
        "worst gain": max(run.worst_gain for run in runs),
        "off model": sum(run.off_model for run in runs),
        "p50 (ms)": float(np.percentile(seconds, 50)),
        "p99 (ms)": float(np.percentile(seconds, 99)),
        "most rows": max(live) if live else None,
        "horizon": person.horizon,
        "given up": person.given_up[variant],
    }
