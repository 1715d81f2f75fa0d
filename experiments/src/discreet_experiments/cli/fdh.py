"""`discreet reproduce fdh`."""

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


def fdh(
    data: shared.Data,
    out: shared.Out = Path("out/fdh"),
    figure: Annotated[
        Literal["4", "5", "6", "table1", "layers", "all"],
        typer.Option(help="Which of the paper's results; layers: what is shown of each."),
    ] = "all",
    dataset: Annotated[
        Literal["reality-mining", "foursquare", "both"], typer.Option(help="Towers, check-ins, or both.")
    ] = "both",
    people: Annotated[int, typer.Option(metavar="N", help="So many of each data set, evenly spread.")] = 8,
    days: Annotated[int, typer.Option(metavar="N", help="Judge so many held-out days of each, evenly spread.")] = 5,
    processes: shared.Processes = 2,
    layers: Annotated[
        str, typer.Option(help="The layers of towers, finest first.", rich_help_panel=shared.DATA)
    ] = "tower,site,area,region",
    slots: shared.Slots = 24,
    carry: options.Carry = "4h",
    merge_below: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Contexts that fill less of the time are joined below an ancestor.",
            rich_help_panel=shared.DATA,
        ),
    ] = 0.02,
    cut: shared.Cut = "00:00",
    least_days: shared.LeastDays = 30,
    training: shared.Training = 0.5,
    smoothing: shared.Smoothing = "auto",
    delta: shared.Delta = 0.25,
    search: shared.Search = "mondrian",
    memory: Annotated[
        Literal["last", "none"],
        typer.Option(help="What Adaptive remembers of the true past.", rich_help_panel=shared.CHECKS),
    ] = "last",
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Repeat FDH's experiments (Table I, Figures 4 to 6) on Reality Mining's towers and Foursquare's venues.

    Home is the secret in Table I and Figure 6, three and five places at random in Figures 4 and 5. What the exact
    observer learns stands beside each. Results are printed, and written to --out as CSV (a summary, and a row a person,
    who is a number) and PNG.

    Example: discreet reproduce fdh --data DIR --figure 6
    """
    from discreet_experiments.fdh.person import Layers
    from discreet_experiments.fdh.run import DATA_SETS, FdhReproduction, levels_of
    from discreet_experiments.shared.cohort import Cohort
    from discreet_experiments.shared.people import Rules
    from discreet_experiments.shared.subjects import Setting

    hours = shared.hours_of(carry)
    levels = levels_of(layers)
    rules = Rules(levels[0], slots, hours, hours > 0, merge_below, cut, least_days)
    setting = Setting(
        rules, delta=delta, sensitive="home", smoothing=smoothing, training=training, seed=seed, days=days
    )
    layering = Layers(levels, search, memory)
    sets = tuple(DATA_SETS) if dataset == "both" else (dataset,)

    def results(pool: Workers) -> Iterator[Figure]:
        return FdhReproduction(Cohort(data, pool, progress, people), setting, layering, sets).figures(figure)

    shared.run("fdh", out, processes, {"setting": asdict(setting), "plan": asdict(layering)}, results, json=json)
