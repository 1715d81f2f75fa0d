"""What `discreet learn` says of a person's habits: where the time goes, how regular it is, and what is seldom."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.batch.habits import HabitsSummary
from discreet.cli.terminal import note, percent, table
from discreet.cli.truth import draw, print_truth
from discreet.contexts import UNKNOWN
from discreet.errors import DiscreetError, did_you_mean

if TYPE_CHECKING:
    from discreet.data import BadRows
    from discreet.evaluation.truth import Truth
    from discreet.models.learning.rhythm import Rhythm

MUCH_UNKNOWN = 0.2
"""A share of slots without a reading that is worth a word."""

BARS = " ▁▂▃▄▅▆▇█"


def hint_unvisited(declared: Sequence[str], labels: Sequence[str]) -> None:
    """Say which declared contexts the table does not have: on purpose, or a slip that merges the real one."""
    for label in declared:
        if label not in labels:
            near = did_you_mean(label, labels)
            note(f"{label!r} is kept, and was never visited{f'; {near}' if near.startswith('did') else ''}")


def hint_unknown(summaries: Iterable[HabitsSummary], carry: str) -> None:
    """Say where of much time nothing is known."""
    for one in summaries:
        if (unknown := one.contexts.get(UNKNOWN, 0.0)) >= MUCH_UNKNOWN:
            note(
                f"{one.person}: {percent(unknown)} of the slots are unknown: a reading stands for {carry} (--carry). "
                "Where the data say changes only, as Home Assistant's history does, give --carry 24h or more"
            )


def draw_truth(picture: Path, person: str, truth: Truth) -> None:
    """How true somebody's habits are."""
    draw(picture, truth, f"{person}: where habits say 10 %, is it 10 %?")


def draw_week(chart: Path, one: HabitsSummary, rhythms: Sequence[Rhythm]) -> None:
    """Where somebody's time goes."""
    from discreet.charts.canvas import available
    from discreet.charts.week import week

    if not available():
        raise DiscreetError("--chart needs matplotlib; install discreet with its extra, discreet[plots]")
    about = f"{one.days} days, {one.first} to {one.last}, {one.clock['zone']}"
    week(f"{one.person}: where the time goes", about, rhythms, chart)


def print_truths(truths: Iterable[tuple[str, Truth]], people: int, accepted: bool) -> None:
    """Whether the habits hold: in full for one person, a line each for several."""
    from discreet.evaluation.truth import DAYS_REMEDY

    if people == 1:
        print()
        for _, truth in truths:
            print_truth(truth, accepted)
        return
    word = {True: "holds", False: "does not hold"}
    print("\nAre the habits true of the last fifth of the days?")
    hold = True
    for person, truth in truths:
        print(f"{person}: {truth.figure}" if truth.holds is None else f"{person}: {word[truth.holds]}: {truth.figure}")
        hold = hold and truth.holds is not False
    if not hold:
        print(f"What to do: {DAYS_REMEDY}" + ("" if accepted else "; or go on all the same, with --accept-model"))


def print_summaries(summaries: Iterable[HabitsSummary], people: int) -> None:
    """What was learned: in full for one person, a line each for several."""
    if people == 1:
        for one in summaries:
            _print_one(one)
        return
    header = ["person", "days", "contexts", "guessed", "impossible", "log-likelihood", "model"]
    print(table(header, [_line(one) for one in summaries]))
    print("\nguessed: slots whose context the one before and the time say; impossible, log-likelihood: of the steps.")
    print("All three of the last fifth of the days, by a model of the earlier ones")


def print_rows(rows: int, bad: BadRows) -> None:
    """How much was read, and what could not be."""
    print(f"\n{rows} rows read, {bad.count} skipped")
    for fault in bad.first:
        note(f"skipped: {fault}")


def _line(one: HabitsSummary) -> list[str]:
    return [
        one.person,
        str(one.days),
        str(len(one.contexts)),
        "-" if one.guessed_by_step is None else percent(one.guessed_by_step),
        "-" if one.held_out_impossible is None else percent(one.held_out_impossible),
        "-" if one.held_out_log_likelihood is None else f"{one.held_out_log_likelihood:.3f}",
        one.model,
    ]


def _print_one(one: HabitsSummary) -> None:
    print(f"{one.person}: {one.days} days, {one.first} to {one.last}, for {one.model}")
    print(f"Clock: {one.clock['slots']} slots a day, {one.clock['zone']}, days cut at {one.clock['cut']}\n")
    print("\n".join(_rhythm_lines(one)))
    print()
    if one.observers:
        print(f"With {one.observers} observers who may have learned the habits elsewhere\n")
    if one.seldom:
        visits = {row["context"]: row for row in one.rhythms}
        print("Rare, so an observer would learn most from them:")
        for label in one.seldom:
            row = visits[label]
            print(f"  {label}, on {row['days']} day{'s' * (row['days'] > 1)}, last on {row['last']}")
        print()
    _print_held_out(one)


def _print_held_out(one: HabitsSummary) -> None:
    if one.held_out_impossible is None:
        print("too few days to hold some out; from three on, the last fifth is predicted from the others")
        return
    likelihood = one.held_out_log_likelihood
    print(f"How regular: the last {one.held_out_days} days, by a model of the earlier ones:")
    if one.guessed_by_clock is not None and one.guessed_by_step is not None:
        print(f"  guessed by the clock  {percent(one.guessed_by_clock)} of the slots")
        print(f"  by the slot before    {percent(one.guessed_by_step)} of the slots")
    print(f"  held impossible       {percent(one.held_out_impossible)} of the steps (off the model)")
    if likelihood is None:
        print("  log-likelihood        -")
    else:
        as_if = f"as if one of {math.exp(-likelihood):.2f} contexts were drawn each time"
        print(f"  log-likelihood        {likelihood:.3f} a step: {as_if}")


def _rhythm_lines(one: HabitsSummary) -> list[str]:
    """The contexts with shares, days and, as far as the terminal is wide, a bar an hour."""
    hours = {row["context"]: row["by_hour"] for row in one.rhythms}
    visits = {row["context"]: row["days"] for row in one.rhythms}
    cells = [[label, percent(share), str(visits.get(label, 0))] for label, share in one.contexts.items()]
    plain = table(["context", "share", "days"], cells).split("\n")
    parts = list(next(iter(hours.values()), {}))
    width = max(map(len, plain))
    wide = {step: max(24 // step, len("weekdays")) for step in (1, 2, 3, 4)}
    room = shutil.get_terminal_size().columns - width
    step = next((step for step in wide if len(parts) * (2 + wide[step]) <= room), None)
    if step is None:
        return plain
    ruler = "".join(f"{hour:<{6 // step}}" for hour in range(0, 24, 6)) if step < 4 else "by 4 h"
    strips = [[_bars(hours.get(row[0], {}).get(part, ()), step) for part in parts] for row in cells]
    columns = [[f"{part}s" for part in parts], [ruler] * len(parts), *strips]
    return [
        "  ".join([line.ljust(width), *(strip.ljust(wide[step]) for strip in row)]).rstrip()
        for line, row in zip(["", *plain], columns, strict=True)
    ]


def _bars(by_hour: Sequence[float], step: int) -> str:
    """A character for each `step` hours; one that is visited at all is never blank."""
    means = [sum(by_hour[k : k + step]) / step for k in range(0, len(by_hour), step)]
    return "".join(BARS[0 if mean == 0 else max(1, round(mean * (len(BARS) - 1)))] for mean in means)
