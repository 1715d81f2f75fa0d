"""Adaptive release on recorded people: tables and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from discreet.models.learning.counts import Smoothing
from discreet_experiments.adaptive.person import DRAWN, OURS, Expected, Halves
from discreet_experiments.charts import bars as bar_charts
from discreet_experiments.charts import lines
from discreet_experiments.charts.bars import Bar
from discreet_experiments.shared.figures import Figure, bar, shares
from discreet_experiments.shared.replay import Learned
from discreet_experiments.shared.sheets import Cell, Sheet, mean
from discreet_experiments.shared.subjects import Setting
from discreet_experiments.shared.systems import label, system


def expectations(
    people: Sequence[Expected], halves: Sequence[Halves], setting: Setting, remarks: tuple[str, ...]
) -> Figure:
    """Expected utility: suppress against Hybrid, deceive against MaskSensitive."""
    suppress = {one.number: one.systems["suppress"] for one in halves}
    whole = [{**one.utility, "suppress": suppress[one.number].expected} for one in people]
    order = ("mask-sensitive", "hybrid", *OURS)
    at = {name: mean([one[name] for one in whole]) for name in order}
    lead = [one["suppress"] - one["hybrid"] for one in whole]
    follows = mean([suppress[one.number].follows == "hybrid" for one in people])
    rows: list[dict[str, Cell]] = [
        {
            "system": label(name),
            "smoothing": setting.smoothing,
            "expected utility": at[name],
            "of Hybrid's": at[name] / at["hybrid"] if at["hybrid"] else None,
            "of MaskSensitive's": at[name] / at["mask-sensitive"] if at["mask-sensitive"] else None,
        }
        for name in order
    ]
    each = Sheet.of(
        [
            {
                "person": one.number,
                **{label(name): known[name] for name in order},
                "half-width of deceive": one.half_width,
                "follows": suppress[one.number].follows,
            }
            for one, known in zip(people, whole, strict=True)
        ]
    )
    error = sum(one.half_width**2 for one in people) ** 0.5 / len(people)
    told = (
        f"suppress is below Hybrid for {sum(ahead < -1e-9 for ahead in lead)} people, by {max(0.0, -min(lead)):.1e} "
        f"at most; it follows Hybrid for {100 * follows:.0f} % of them",
        f"exact, except deceive: a mean over {DRAWN} days of each person's model, together within {error:.4f} (95 %)",
        *remarks,
    )
    title = "Expected utility"
    note = f"{len(people)} people, {setting.described()}"
    ranked = sorted(whole, key=lambda one: (one["suppress"], one["hybrid"]))
    series = {system(name).look: tuple(one[name] for one in ranked) for name in order}
    chart = partial(lines.ranked, title, note, series, across="people, by what suppressing is expected to release")
    return Figure("expected", title, note, Sheet.of(rows), each, told, chart)


def second_halves(
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
                    "system": label(name),
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
            bars.append((f"{label(name)}, {smoothing}", learned))
        each += [_person(one, name, smoothing) for one in people for name in OURS]
    title = "Second halves"
    note = f"{setting.described().replace(f'smoothing {setting.smoothing}', 'smoothing as told')}"
    told = (
        *(
            f"smoothing {smoothing}: {taken:.0f} s for both systems and everybody"
            for smoothing, taken in seconds.items()
        ),
        "pairs over: (slot, secret) pairs over delta after some prefix of a day; off model: readings that the model "
        "holds impossible, which are suppressed; impossible: held-out steps that it does",
        *remarks,
    )
    chart = partial(bar_charts.bars, title, note, tuple(_mean_bar(which, learned) for which, learned in bars))
    return Figure("second_halves", title, note, Sheet.of(rows), Sheet.of(each), told, chart)


def _mean_bar(which: str, learned: Sequence[Learned]) -> Bar:
    found = [shares(one) for one in learned]
    return bar(which, {key: mean([share[key] for share in found]) for key in found[0]})


def _person(one: Halves, name: str, smoothing: Smoothing) -> dict[str, Cell]:
    judged = one.systems[name]
    return {
        "person": one.number,
        "contexts": one.contexts,
        "smoothing": smoothing,
        "system": label(name),
        "utility": judged.learned.shown.utility,
        "pairs over": judged.learned.pairs,
        "worst gain": judged.learned.worst_gain,
        "off model": judged.learned.off_model,
        "slots": judged.learned.shown.slots,
        "initialise (s)": judged.initialise,
        "follows": judged.follows,
    }
