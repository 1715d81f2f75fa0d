"""`discreet reproduce maskit`."""

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


def maskit(
    data: shared.Data,
    out: shared.Out = Path("out/maskit"),
    figure: Annotated[
        Literal["4", "5", "6", "7", "8", "table1", "all"], typer.Option(help="Which of the paper's results.")
    ] = "all",
    study: Annotated[bool, typer.Option("--study", help="Instead: which choices move the utility.")] = False,
    choice: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the study this choice alone, such as transition or search.")
    ] = None,
    people: shared.People = None,
    processes: shared.Processes = 2,
    level: shared.Level = "area",
    slots: shared.Slots = 24,
    carry: options.Carry = "4h",
    merge_below: shared.MergeBelow = 0.005,
    cut: shared.Cut = "00:00",
    least_days: shared.LeastDays = 30,
    training: shared.Training = 0.5,
    smoothing: shared.Smoothing = "none",
    secrets: shared.Secrets = 3,
    sensitive: shared.Sensitive = "random",
    secrets_from: shared.SecretsFrom = "places",
    delta: shared.Delta = 0.1,
    search: shared.Search = "best",
    lookahead: Annotated[
        bool, typer.Option("--lookahead", help="The simulatable check plans ahead.", rich_help_panel=shared.CHECKS)
    ] = False,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Repeat MaskIt's experiments (Figures 4 to 8, Table 1) on Reality Mining and StudentLife.

    Each result is printed, and written to --out as CSV (a summary, and a row a person, who is a number) and PNG.

    Example: discreet reproduce maskit --data DIR --figure 4
    """
    from discreet_experiments.maskit.person import Checks
    from discreet_experiments.maskit.run import MaskitReproduction
    from discreet_experiments.shared.cohort import Cohort
    from discreet_experiments.shared.people import Rules
    from discreet_experiments.shared.subjects import Setting

    hours = shared.hours_of(carry)
    rules = Rules(level, slots, hours, hours > 0, merge_below, cut, least_days)
    setting = Setting(rules, secrets, sensitive, secrets_from, delta, smoothing, training, seed)
    checks = Checks(search, lookahead=lookahead)

    def results(pool: Workers) -> Iterator[Figure]:
        reproduction = MaskitReproduction(Cohort(data, pool, progress, people), setting, checks)
        if study:
            yield reproduction.study(choice)
            return
        yield from reproduction.figures(figure)

    shared.run("maskit", out, processes, {"setting": asdict(setting)}, results, json=json)
