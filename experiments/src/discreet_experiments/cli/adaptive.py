"""`discreet reproduce adaptive`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from discreet.cli import options
from discreet.cli.terminal import progress
from discreet.errors import DiscreetError
from discreet_experiments.cli import shared

if TYPE_CHECKING:
    from discreet_experiments.shared.figures import Figure
    from discreet_experiments.shared.runs import Workers


def adaptive(
    data: shared.Data,
    out: shared.Out = Path("out/adaptive"),
    part: Annotated[
        Literal["people", "weeks", "truth", "attack", "hold", "odds", "picture", "limits", "memory", "all"],
        typer.Option(
            help="Recorded people; days in a row; how true habits are, and observers who learned elsewhere; an "
            "observer who only has data; a share of delta held by later weeks; what bounds on odds cost; every "
            "mechanism on every data set; the causal limit; what capping loses."
        ),
    ] = "all",
    people: shared.People = None,
    processes: shared.Processes = 2,
    level: shared.Level = "area",
    slots: shared.Slots = 24,
    carry: options.Carry = "1000h",
    no_signal: Annotated[
        Literal["unknown", "context"],
        typer.Option(help="A phone without signal: no reading, or a place like any.", rich_help_panel=shared.DATA),
    ] = "unknown",
    merge_below: shared.MergeBelow = 0.005,
    cut: shared.Cut = "00:00",
    least_days: shared.LeastDays = 30,
    training: shared.Training = 0.5,
    days: shared.Days = None,
    runs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Days in a row: only so many runs a person, evenly spread; all by default."),
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="DATA", help="One of the data sets, where a part has several: 'GeoLife'.")
    ] = None,
    weeks: Annotated[
        int, typer.Option(metavar="N", help="Holding a share of delta: weeks before, at most, that it is chosen by.")
    ] = 12,
    smoothing: shared.Smoothing = "none",
    secrets: shared.Secrets = 3,
    secrets_from: shared.SecretsFrom = "all",
    delta: shared.Delta = 0.1,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Adaptive release on recorded people, beside every other mechanism, and against the best that could be done.

    Each result is printed, and written to --out as CSV (a summary, and a row a person, who is a number) and PNG.

    Example: discreet reproduce adaptive --data DIR --part people
    """
    from discreet_experiments.adaptive.run import AdaptiveReproduction, Extent
    from discreet_experiments.shared.cohort import Cohort
    from discreet_experiments.shared.people import Rules
    from discreet_experiments.shared.subjects import Setting

    if runs is not None and runs < 1:
        raise DiscreetError(f"{runs} runs of days cannot be looked at; give 1 or more")
    if weeks < 1:
        raise DiscreetError(f"a share of delta cannot be chosen by {weeks} weeks; give 1 or more")
    hours = shared.hours_of(carry)
    rules = Rules(level, slots, hours, hours > 0, merge_below, cut, least_days, no_signal)
    setting = Setting(rules, secrets, "random", secrets_from, delta, smoothing, training, seed, days)

    def results(pool: Workers) -> Iterator[Figure]:
        return AdaptiveReproduction(
            Cohort(data, pool, progress, people), setting, Extent(runs=runs, only=only, history=weeks)
        ).part(part)

    shared.run("adaptive", out, processes, {"setting": asdict(setting)}, results, json=json)
