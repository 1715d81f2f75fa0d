"""`discreet reproduce`: the papers' experiments on recorded data, one command a paper."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli import options
from discreet.cli.inputs import slots_of
from discreet.cli.terminal import note, print_json, progress, table
from discreet.contexts import Clock
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.evaluation.experiments.maskit import Checks
    from discreet.evaluation.experiments.maskit_figures import Figure
    from discreet.evaluation.experiments.subjects import Setting

SECRETS = "The secrets"
DATA = "Reading the data"
CHECKS = "The checks"

reproduce = typer.Typer(
    name="reproduce",
    help="Repeat a paper's experiments on recorded data, with tables and charts. "
    "Example: discreet reproduce maskit --data DIR. Each paper has its own --help and --json.",
    no_args_is_help=True,
)


@reproduce.callback()
def _papers() -> None:
    """Keep `maskit` a word of its own while there is one paper."""


@reproduce.command()
def maskit(
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder with the data files; nothing is written there.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where CSV and PNG files go.")] = Path("out/maskit"),
    figure: Annotated[
        Literal["4", "5", "6", "7", "8", "table1", "all"], typer.Option(help="Which of the paper's results.")
    ] = "all",
    study: Annotated[bool, typer.Option("--study", help="Instead: which choices move the utility.")] = False,
    people: Annotated[
        int | None, typer.Option(metavar="N", help="Only so many, evenly spread; all by default.")
    ] = None,
    processes: Annotated[int, typer.Option(help="How many people at once; the results are the same.")] = 2,
    level: Annotated[
        Literal["tower", "site", "area", "region"], typer.Option(help="What a place is.", rich_help_panel=DATA)
    ] = "area",
    slots: Annotated[int, typer.Option(help="Slots a day: a divisor of 96.", rich_help_panel=DATA)] = 24,
    carry: options.Carry = "4h",
    merge_below: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Contexts that fill less of the time are 'other'.", rich_help_panel=DATA),
    ] = 0.005,
    cut: Annotated[str, typer.Option(metavar="HH:MM", help="Where days are cut.", rich_help_panel=DATA)] = "00:00",
    least_days: Annotated[int, typer.Option(help="People with fewer days are left out.", rich_help_panel=DATA)] = 30,
    training: Annotated[
        float, typer.Option(metavar="SHARE", help="The first days, to learn from; the rest is judged.")
    ] = 0.5,
    smoothing: Annotated[
        Literal["none", "auto"], typer.Option(help="none: plain counts; auto: steps never seen stay possible.")
    ] = "none",
    secrets: Annotated[int, typer.Option(help="How many contexts are secret.", rich_help_panel=SECRETS)] = 3,
    sensitive: Annotated[
        Literal["random", "home", "rare"], typer.Option(help="Which contexts are.", rich_help_panel=SECRETS)
    ] = "random",
    secrets_from: Annotated[
        Literal["places", "all"],
        typer.Option(help="all: 'unknown' and 'other' can be secret too.", rich_help_panel=SECRETS),
    ] = "places",
    delta: Annotated[float, typer.Option(help="The gain that is tolerated.", rich_help_panel=SECRETS)] = 0.1,
    search: Annotated[
        Literal["exact", "mondrian", "algpr"],
        typer.Option(help="How the probabilistic check looks for p.", rich_help_panel=CHECKS),
    ] = "exact",
    lookahead: Annotated[
        bool, typer.Option("--lookahead", help="The simulatable check plans ahead.", rich_help_panel=CHECKS)
    ] = False,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Repeat MaskIt's experiments (Figures 4 to 8, Table 1) on Reality Mining and StudentLife.

    Each result is printed, and written to --out as CSV (a summary, and a row a person, who is a number) and PNG.

    Example: discreet reproduce maskit --data DIR --figure 4
    """
    from discreet.evaluation.experiments.maskit import Checks
    from discreet.evaluation.experiments.people import Rules
    from discreet.evaluation.experiments.subjects import Setting

    hours = slots_of(carry, Clock(1440)) / 60
    rules = Rules(level, slots, hours, hours > 0, merge_below, cut, least_days)
    setting = Setting(rules, secrets, sensitive, secrets_from, delta, smoothing, training, seed)
    which = "study" if study else figure
    _run(data, out, which, setting, Checks(search, lookahead=lookahead), processes, people, json)


def _run(
    data: Path,
    out: Path,
    which: Literal["4", "5", "6", "7", "8", "table1", "all", "study"],
    setting: Setting,
    checks: Checks,
    processes: int,
    people: int | None,
    json: bool,
) -> None:
    from discreet.evaluation.experiments.maskit_run import ALL, Reproduction
    from discreet.evaluation.experiments.runs import workers

    started, documents = time.perf_counter(), []
    _make(out)
    with workers(processes) as pool:
        run = Reproduction(data, setting, checks, pool, progress, people)
        for name in ALL if which == "all" else (which,):
            result = run.study() if name == "study" else run.figure(name)
            files = _write(result, out)
            documents.append({**_document(result), "files": [str(file) for file in files]})
            if not json:
                _print(result)
    seconds = time.perf_counter() - started
    if json:
        print_json({"paper": "maskit", "setting": asdict(setting), "seconds": seconds, "figures": documents})
    else:
        print(f"{seconds:.0f} s with {processes} at once; the files are in {out}")


def _make(out: Path) -> None:
    """The folder for the files, and a word if there will be no charts: before the work, not after it."""
    from discreet.evaluation import plots

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiscreetError(f"{out}: cannot be made: {error.strerror}; choose a folder you can write to") from None
    if not plots.available():
        note("matplotlib is not installed, so no charts are drawn; pip install 'discreet[plots]'")


def _write(figure: Figure, out: Path) -> list[Path]:
    """CSV of the summary and of the people, and the chart."""
    from discreet.evaluation import plots

    written = [out / f"{figure.name}.csv"]
    figure.summary.write(written[0])
    if figure.people.rows:
        written.append(out / f"{figure.name}_people.csv")
        figure.people.write(written[-1])
    if plots.available() and figure.summary.rows:
        written.append(out / f"{figure.name}.png")
        figure.draw(written[-1])
    return written


def _document(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "title": figure.title,
        "about": figure.note,
        "remarks": list(figure.remarks),
        "rows": figure.summary.records(),
    }


def _print(figure: Figure) -> None:
    print(f"{figure.title}\n{figure.note}\n")
    summary = figure.summary.without("smoothing")  # the line above says which
    if summary.rows:
        left = next((k for k, cell in enumerate(summary.rows[0]) if not isinstance(cell, str)), 1)
        print(table(list(summary.header), summary.shown(), left=left))
    else:
        print("nobody takes part")
    print()
    for remark in figure.remarks:
        print(f"- {remark}")
    print("\n" if figure.remarks else "")
