"""What capping memory loses: fewer pairs (previous, current) kept apart, the utility left, and the time of a decision.

Pairs are few where contexts are: the people looked at here are those with the most, with towers as contexts and
smoothing, which makes steps possible that were never seen.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from discreet.adversary.belief import Adversary, Belief
from discreet.contexts import Day
from discreet.contracts import DayModel, is_finite
from discreet.evaluation.replay import replay
from discreet.mechanisms import Adaptive
from discreet.mechanisms.adaptive.adaptive import Memory, Outputs
from discreet.policy import Policy
from discreet.randomness import SeededEntropy
from discreet_experiments.charts import marks
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import NOBODY, Figure
from discreet_experiments.shared.people import Trace
from discreet_experiments.shared.sheets import Cell, Sheet, mean
from discreet_experiments.shared.subjects import Setting, subject

CAPS = (50, 100, 150, 200, 400, None)
UNLIMITED = 10**9
"""More pairs than any model has."""

OUTPUTS: tuple[Outputs, ...] = ("suppress", "deceive")


@dataclass(frozen=True)
class Variant:
    """Outputs, whether there is memory, and how many pairs it keeps apart at most; None keeps them all."""

    outputs: Outputs
    memory: Memory
    pairs: int | None

    def __str__(self) -> str:
        if self.memory == "none":
            return "no memory"
        return "all" if self.pairs is None else str(self.pairs)


VARIANTS = tuple(
    variant
    for outputs in OUTPUTS
    for variant in (Variant(outputs, "none", None), *(Variant(outputs, "last", pairs) for pairs in CAPS))
)


@dataclass(frozen=True)
class Walked:
    """One variant along one person's days: utility of each day, private states, processor seconds of each decision."""

    variant: Variant
    person: int
    states: int
    utility: tuple[float, ...]
    seconds: tuple[float, ...]


def capped(variant: Variant, model: DayModel, policy: Policy) -> Adaptive:
    """The variant, lazy: Adaptive with another cap on the pairs that it remembers."""

    class Capped(Adaptive):
        pairs = UNLIMITED if variant.pairs is None else variant.pairs

    return Capped(model, policy, outputs=variant.outputs, memory=variant.memory, plan="lazy")


def walked(item: tuple[Variant, Trace], setting: Setting, days: int) -> Walked | None:
    """Decide along days drawn from the person's model, the same for every variant."""
    variant, trace = item
    one = subject(trace, setting)
    if one is None:
        return None
    mechanism = capped(variant, one.chain, one.policy(setting.delta))
    mechanism.kernel(mechanism.start())  # loads compiled code
    utility, seconds = _along(mechanism, one.chain.sample(days, setting.seed))
    return Walked(variant, one.number, len(mechanism.private_contexts), tuple(utility), tuple(seconds))


def _along(mechanism: Adaptive, days: Sequence[Day]) -> tuple[list[float], list[float]]:
    """Utility of each day, and processor seconds of each kernel.

    A slot counts with its expected worth given what was output before: less noise than what was drawn. Its kernel is
    asked for before the session does, which then finds it kept, so that the time is the kernel's alone.
    """
    adversary = Adversary(mechanism)
    worth = np.maximum(mechanism.vocabulary.worth, 0.0)[mechanism.private_contexts]  # (P, O); 0 where not allowed
    column = {output: k for k, output in enumerate(mechanism.vocabulary.outputs)}
    utility: list[float] = []
    seconds: list[float] = []

    def expected(state: Any, belief: Belief) -> float:
        started = time.thread_time()
        kernel = mechanism.kernel(state)
        seconds.append(time.thread_time() - started)
        assert is_finite(kernel)
        of_outputs = worth[:, [column[output] for output in kernel.outputs]]
        return float(belief.predicted() @ (kernel.matrix * of_outputs).sum(axis=1))

    rng = SeededEntropy(1)
    for day in days:
        state = mechanism.start()
        total = expected(state, adversary.start())
        for moment in replay(mechanism, [day], rng=rng, judge=adversary):
            if not moment.ends_day:
                state = mechanism.advance(state, moment.output)
                total += expected(state, moment.belief)
        utility.append(total / len(day))
    return utility, seconds


def steps_of(model: DayModel) -> float:
    """Possible steps of a slot on average: the pairs that memory would keep apart."""
    possible = (model.transitions > 0) & (model.prior[:-1, :, None] > 0)
    return float(possible.sum() / len(possible))


def density(trace: Trace, setting: Setting) -> tuple[float, int] | None:
    """A person's pairs, and their number of contexts."""
    one = subject(trace, setting)
    return None if one is None else (steps_of(one.chain), len(one.chain.contexts))


def on_memory(cohort: Cohort, setting: Setting, variants: Sequence[Variant], *, people: int, days: int) -> Figure:
    """Every variant on the `people` with the most pairs, along `days` of each one's model."""
    dense = replace(setting, rules=replace(setting.rules, level="tower"), smoothing="auto")
    traces = cohort.read(dense.rules)
    found = cohort.over("pairs", partial(_numbered, setting=dense), traces, needed=True)
    most = sorted(found, key=lambda one: -one[1])[:people]
    chosen = [trace for trace in traces if trace.number in {number for number, _, _ in most}]
    work = partial(walked, setting=dense, days=days)
    results = cohort.over("memory", work, [(variant, trace) for variant in variants for trace in chosen], needed=True)
    by_variant = {variant: [one for one in results if one.variant == variant] for variant in variants}
    rows = [_row(variant, own, by_variant, [pairs for _, pairs, _ in found]) for variant, own in by_variant.items()]
    title = "What capping memory loses"
    contexts = f"{min(n for _, _, n in most)} to {max(n for _, _, n in most)}"
    note = f"the {len(chosen)} of {len(found)} people with the most pairs, {contexts} contexts, {dense.described()}"
    remarks = (
        f"utility: means over {days} days of each one's model, the same for all; lost: against all pairs kept",
        "people over: how many of them all have more pairs than the cap; a decision's time is without the observer's",
        f"the library's own cap is {Adaptive.pairs}",
    )
    drawn = {f"{variant.outputs}, {variant}": _each_mean(own) for variant, own in by_variant.items()}
    chart = partial(marks.strips, title, note, drawn, across="utility")
    return Figure("memory", title, note, Sheet.of(rows), NOBODY, remarks, chart)


def _numbered(trace: Trace, setting: Setting) -> tuple[int, float, int] | None:
    known = density(trace, setting)
    return None if known is None else (trace.number, *known)


def _each_mean(own: Sequence[Walked]) -> tuple[float, ...]:
    return tuple(mean(one.utility) for one in own)


def _row(
    variant: Variant, own: Sequence[Walked], others: dict[Variant, list[Walked]], pairs: Sequence[float]
) -> dict[str, Cell]:
    whole = others.get(Variant(variant.outputs, "last", None))
    seconds = 1e3 * np.concatenate([one.seconds for one in own])
    return {
        "outputs": variant.outputs,
        "pairs kept": str(variant),
        "people over": None if variant.pairs is None else sum(count > variant.pairs for count in pairs),
        "private states": mean([one.states for one in own]),
        "utility": mean(_each_mean(own)),
        "lost": None if whole is None else mean(_each_mean(whole)) - mean(_each_mean(own)),
        "p50 (ms)": float(np.percentile(seconds, 50)),
        "p99 (ms)": float(np.percentile(seconds, 99)),
    }
