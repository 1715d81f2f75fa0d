"""`discreet reproduce dphmm`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from discreet.cli import options
from discreet.cli.terminal import progress
from discreet_experiments.cli import shared

if TYPE_CHECKING:
    from discreet_experiments.shared.figures import Figure
    from discreet_experiments.shared.runs import Workers


def dphmm(
    data: shared.Data,
    out: shared.Out = Path("out/dphmm"),
    figure: Annotated[
        Literal["10", "11", "12", "13", "hulls", "noise", "map", "families", "all"],
        typer.Option(
            help="Which of the paper's results; hulls: what makes them; noise: Laplace beside K-norm; "
            "map: a released way; families: both kinds of promise."
        ),
    ] = "all",
    dataset: Annotated[
        Literal["geolife", "gowalla", "both"],
        typer.Option(help="Beijing by the minute, check-ins in Los Angeles, or both."),
    ] = "both",
    sequences: Annotated[int, typer.Option(metavar="N", help="So many of each data set, evenly spread.")] = 20,
    slots: Annotated[int, typer.Option(help="Slots of a sequence.", rich_help_panel=shared.DATA)] = 100,
    fastest: Annotated[
        float,
        typer.Option(metavar="KM/H", help="GeoLife is cut where a step is faster.", rich_help_panel=shared.DATA),
    ] = 120.0,
    epsilon: Annotated[float, typer.Option(help="Where it is not swept.", rich_help_panel=shared.CHECKS)] = 1.0,
    start: Annotated[
        Literal["known", "habit"],
        typer.Option(help="The observer knows where a sequence starts, or how often each cell is visited."),
    ] = "known",
    processes: shared.Processes = 2,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Repeat DPHMM's experiments (Figures 10 to 13) on GeoLife within Beijing's third ring and Gowalla in Los Angeles.

    Run time, degree of protection and error of G_util, G_trs and DPLS, slot by slot and over epsilon and r. Each result
    is printed, and written to --out as CSV (a summary, and a row a sequence, which is a number) and PNG. No place is
    written.

    Example: discreet reproduce dphmm --data DIR --figure 11
    """
    from discreet.mechanisms.perturbation.noise import checked_epsilon
    from discreet_experiments.dphmm.run import DphmmReproduction
    from discreet_experiments.dphmm.sequences import Trial
    from discreet_experiments.shared.cohort import Cohort
    from discreet_experiments.shared.positions import BEIJING, LOS_ANGELES

    setting = Trial(sequences, slots, checked_epsilon(epsilon), start, seed)
    beijing = replace(BEIJING, fastest=fastest)
    recordings = {"geolife": (beijing,), "gowalla": (LOS_ANGELES,), "both": (beijing, LOS_ANGELES)}[dataset]

    def results(pool: Workers) -> Iterator[Figure]:
        return DphmmReproduction(Cohort(data, pool, progress), setting, recordings).figures(figure)

    shared.run(
        "dphmm",
        out,
        processes,
        {"plan": asdict(setting), "data": [asdict(one) for one in recordings]},
        results,
        json=json,
    )
