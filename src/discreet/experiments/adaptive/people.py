"""Adaptive release on recorded people: what it is expected to release, and what an observer learns of the second halves."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from discreet.experiments.charts import plots
from discreet.experiments.shared.cohort import Cohort
from discreet.experiments.shared.figures import Figure, bar, shares
from discreet.experiments.shared.people import Trace
from discreet.experiments.shared.replay import Learned
from discreet.experiments.shared.subjects import Setting, subject
from discreet.experiments.shared.systems import NAMES, Judged, System, build, judge
from discreet.experiments.shared.tables import Cell, Table, mean
from discreet.models.learn import Smoothing

DRAWN = 30
"""Days drawn from the model for the expected utility of deceiving, which is not known exactly."""

OURS: tuple[System, ...] = ("suppress", "deceive")
BASELINES: tuple[System, ...] = ("mask-sensitive", "hybrid")
SMOOTHINGS: tuple[Smoothing, ...] = ("none", "auto")


@dataclass(frozen=True)
class Halves:
    """A person's held-out days, released by suppressing and by deceiving."""

    number: int
    contexts: int
    impossible: float
    systems: dict[System, Judged]


@dataclass(frozen=True)
class Expected:
    """Utilities that a person's model expects; the half-width is deceiving's, the others are exact."""

    number: int
    utility: dict[System, float]
    half_width: float


def second_half(trace: Trace, setting: Setting) -> Halves | None:
    """Release the held-out days by both; suppressing knows its expected utility from its table."""
    one = subject(trace, setting)
    if one is None:
        return None
    suppress, deceive = (
        judge(name, one, setting.delta, setting.seed, days=days) for name, days in zip(OURS, (1, None), strict=True)
    )
    return Halves(one.number, len(one.chain.contexts), one.impossible, {"suppress": suppress, "deceive": deceive})


def expect(trace: Trace, setting: Setting, days: int = DRAWN) -> Expected | None:
    """What the model expects of the others."""
    one = subject(trace, setting)
    if one is None:
        return None
    policy = one.policy(setting.delta)
    known: dict[System, float] = {name: build(name, one.chain, policy).expected_utility().mean for name in BASELINES}
    drawn = build("deceive", one.chain, policy).expected_utility(days)
    return Expected(one.number, {**known, "deceive": drawn.mean}, drawn.half_width)


def on_people(cohort: Cohort, setting: Setting, smoothings: Sequence[Smoothing] = SMOOTHINGS) -> Iterator[Figure]:
    """The expected utilities, with the setting's smoothing, and the second halves, with each smoothing."""
    traces = cohort.read(setting.rules)
    halves: dict[Smoothing, list[Halves]] = {}
    seconds: dict[Smoothing, float] = {}
    left_out: tuple[str, ...] = ()
    for smoothing in dict.fromkeys((setting.smoothing, *smoothings)):
        work = partial(second_half, setting=replace(setting, smoothing=smoothing))
        started = time.perf_counter()
        halves[smoothing] = cohort.over(f"second halves, smoothing {smoothing}", work, traces, needed=True)
        seconds[smoothing] = time.perf_counter() - started
        if smoothing == setting.smoothing:
            expected = cohort.over("expected utility", partial(expect, setting=setting), traces, needed=True)
            if len(expected) < len(traces):
                left_out = (f"people with one context only, left out: {len(traces) - len(expected)}",)
            yield _expectations(expected, halves[smoothing], setting, left_out)
    yield _second_halves(halves, seconds, setting, left_out)


def _expectations(
    people: Sequence[Expected], halves: Sequence[Halves], setting: Setting, remarks: tuple[str, ...]
) -> Figure:
    """Expected utility: suppress against Hybrid, deceive against MaskSensitive."""
    suppress = {one.number: one.systems["suppress"] for one in halves}
    whole = [{**one.utility, "suppress": suppress[one.number].expected} for one in people]
    order: tuple[System, ...] = ("mask-sensitive", "hybrid", *OURS)
    at = {name: mean([one[name] for one in whole]) for name in order}
    lead = [one["suppress"] - one["hybrid"] for one in whole]
    follows = mean([suppress[one.number].follows == "hybrid" for one in people])
    rows: list[dict[str, Cell]] = [
        {
            "system": NAMES[name],
            "smoothing": setting.smoothing,
            "expected utility": at[name],
            "of Hybrid's": at[name] / at["hybrid"] if at["hybrid"] else None,
            "of MaskSensitive's": at[name] / at["mask-sensitive"] if at["mask-sensitive"] else None,
        }
        for name in order
    ]
    each = Table.of(
        [
            {
                "person": one.number,
                **{NAMES[name]: known[name] for name in order},
                "half-width of deceive": one.half_width,
                "follows": suppress[one.number].follows,
            }
            for one, known in zip(people, whole, strict=True)
        ]
    )
    error = sum(one.half_width**2 for one in people) ** 0.5 / len(people)
    told = (
        f"suppress is below Hybrid for {sum(ahead < -1e-9 for ahead in lead)} people, by {max(0.0, -min(lead)):.1e} at most; "
        f"it follows Hybrid for {100 * follows:.0f} % of them",
        f"exact, except deceive: a mean over {DRAWN} days of each person's model, together within {error:.4f} (95 %)",
        *remarks,
    )
    title = "Expected utility"
    note = f"{len(people)} people, {setting.described()}"
    ranked = sorted(whole, key=lambda one: (one["suppress"], one["hybrid"]))
    series = {NAMES[name]: tuple(one[name] for one in ranked) for name in order}
    chart = partial(plots.ranked, title, note, series, across="people, by what suppressing is expected to release")
    return Figure("expected", title, note, Table.of(rows), each, told, chart)


def _second_halves(
    halves: Mapping[Smoothing, Sequence[Halves]],
    seconds: Mapping[Smoothing, float],
    setting: Setting,
    remarks: tuple[str, ...],
) -> Figure:
    """What is released of the held-out days, and what an observer learns."""
    rows: list[dict[str, Cell]] = []
    each: list[dict[str, Cell]] = []
    bars = []
    for smoothing, people in halves.items():
        for name in OURS:
            found = [one.systems[name] for one in people]
            learned = [judged.learned for judged in found]
            used = mean([judged.learned.shown.utility for judged in found])
            rows.append(
                {
                    "system": NAMES[name],
                    "smoothing": smoothing,
                    "people": len(people),
                    "utility": used,
                    "pairs over": sum(one.pairs for one in learned),
                    "people breached": mean([one.pairs > 0 for one in learned]),
                    "worst gain": max(one.worst_gain for one in learned),
                    "off model": sum(one.off_model for one in learned),
                    "of the slots": sum(one.off_model for one in learned) / sum(one.shown.slots for one in learned),
                    "impossible": mean([one.impossible for one in people]),
                    "follows hybrid": mean([judged.follows == "hybrid" for judged in found]),
                }
            )
            bars.append((f"{NAMES[name]}, {smoothing}", learned))
        each += [_person(one, name, smoothing) for one in people for name in OURS]
    title = "Second halves"
    note = f"{setting.described().replace(f'smoothing {setting.smoothing}', 'smoothing as told')}"
    told = (
        *(
            f"smoothing {smoothing}: {taken:.0f} s for both systems and everybody"
            for smoothing, taken in seconds.items()
        ),
        "pairs over: (slot, secret) pairs over delta after some prefix of a day; off model: readings that the model holds "
        "impossible, which are suppressed; impossible: held-out steps that it does",
        *remarks,
    )
    chart = partial(plots.bars, title, note, tuple(_mean_bar(label, learned) for label, learned in bars))
    return Figure("second_halves", title, note, Table.of(rows), Table.of(each), told, chart)


def _mean_bar(label: str, learned: Sequence[Learned]) -> plots.Bar:
    found = [shares(one) for one in learned]
    return bar(label, {key: mean([share[key] for share in found]) for key in found[0]})


def _person(one: Halves, name: System, smoothing: Smoothing) -> dict[str, Cell]:
    judged = one.systems[name]
    return {
        "person": one.number,
        "contexts": one.contexts,
        "smoothing": smoothing,
        "system": NAMES[name],
        "utility": judged.learned.shown.utility,
        "pairs over": judged.learned.pairs,
        "worst gain": judged.learned.worst_gain,
        "off model": judged.learned.off_model,
        "slots": judged.learned.shown.slots,
        "initialise (s)": judged.initialise,
        "follows": judged.follows,
    }
