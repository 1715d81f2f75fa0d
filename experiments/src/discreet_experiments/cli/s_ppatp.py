"""`discreet reproduce s-ppatp`."""

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


def s_ppatp(
    data: shared.Data,
    out: shared.Out = Path("out/s-ppatp"),
    figure: Annotated[
        Literal["table4", "4", "5", "6", "7", "8", "9", "10", "table5", "all"],
        typer.Option(help="Which of the paper's results."),
    ] = "all",
    people: Annotated[
        int | None, typer.Option(metavar="N", help="In each data set, evenly spread; at most 30 by default.")
    ] = None,
    processes: shared.Processes = 2,
    topics: Annotated[int, typer.Option(help="Hidden topics of the model that judges recorded data.")] = 4,
    window: Annotated[int, typer.Option(help="Events of a trajectory: the first so many of each person.")] = 50,
    sets: Annotated[int, typer.Option(help="Simulated data sets of 10 people, for table4.")] = 3,
    sweeps: Annotated[int, typer.Option(help="Of the sampler that learns topics, at most.")] = 2000,
    budget: Annotated[
        int, typer.Option(help="Checks of PA-HMM's search, at most.", rich_help_panel=shared.CHECKS)
    ] = 5000,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Repeat S-PPATP's experiments (Tables 4 and 5, Figures 4 to 10) on simulated events, campus dining and check-ins.

    Figures 4 and 5 are the dining data, 6 and 7 the check-ins. Each result is printed, and written to --out as CSV (a
    summary, and where it says something a row a person, who is a number) and PNG.

    Example: discreet reproduce s-ppatp --data DIR --figure table4
    """
    from discreet_experiments.s_ppatp.figures import EventSetting
    from discreet_experiments.s_ppatp.run import SPpatpReproduction
    from discreet_experiments.shared.cohort import Cohort

    for name, value in (("--window", window), ("--sets", sets), ("--topics", topics)):
        if value < 1:
            raise DiscreetError(f"{name} is {value}; give 1 or more")
    setting = EventSetting(topics, window, sets, sweeps=sweeps, budget=budget, seed=seed)

    def results(pool: Workers) -> Iterator[Figure]:
        return SPpatpReproduction(Cohort(data, pool, progress, people), setting).figures(figure)

    shared.run("s-ppatp", out, processes, {"setting": asdict(setting)}, results, json=json)
