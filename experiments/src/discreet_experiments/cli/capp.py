"""`discreet reproduce capp`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from discreet.cli import options
from discreet.cli.terminal import progress
from discreet_experiments.cli import shared

if TYPE_CHECKING:
    from discreet_experiments.shared.figures import Figure
    from discreet_experiments.shared.runs import Workers


def capp(
    data: shared.Data,
    out: shared.Out = Path("out/capp"),
    figure: Annotated[Literal["2", "3", "4", "5", "all"], typer.Option(help="Which of the paper's results.")] = "all",
    people: shared.People = None,
    processes: shared.Processes = 2,
    level: shared.Level = "area",
    slots: shared.Slots = 24,
    carry: options.Carry = "4h",
    merge_below: shared.MergeBelow = 0.005,
    cut: shared.Cut = "00:00",
    least_days: shared.LeastDays = 30,
    training: shared.Training = 0.5,
    days: shared.Days = None,
    smoothing: shared.Smoothing = "none",
    secrets: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many contexts are secret in Figures 3 and 5.",
            show_default="3 in Figure 3, 1 in Figure 5",
            rich_help_panel=shared.SECRETS,
        ),
    ] = None,
    secrets_from: shared.SecretsFrom = "places",
    delta: shared.Delta = 0.1,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Repeat CAPP's experiments (Figures 2 to 5) on Reality Mining, with what an exact observer learns beside them.

    Figures 2 and 4 have home as the secret, 3 three places at random and 5 one, as in the paper's section 5.2; 4 and 5
    run over deltas from 0.05 to 0.3. Each result is printed, and written to --out as CSV (a summary, and a row a
    person, who is a number) and PNG.

    Example: discreet reproduce capp --data DIR --figure 2
    """
    from discreet_experiments.capp.run import CappReproduction
    from discreet_experiments.shared.cohort import Cohort
    from discreet_experiments.shared.people import Rules
    from discreet_experiments.shared.subjects import Setting

    hours = shared.hours_of(carry)
    rules = Rules(level, slots, hours, hours > 0, merge_below, cut, least_days)
    setting = Setting(rules, secrets or 1, "random", secrets_from, delta, smoothing, training, seed, days)

    def results(pool: Workers) -> Iterator[Figure]:
        return CappReproduction(Cohort(data, pool, progress, people), setting, secrets).figures(figure)

    shared.run("capp", out, processes, {"setting": asdict(setting)}, results, json=json)
