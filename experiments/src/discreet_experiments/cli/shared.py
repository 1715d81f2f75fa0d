"""What the papers' commands share: options, the folder for the files, and what is printed and written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli.inputs import slots_of
from discreet.cli.terminal import note, print_json, table
from discreet.clock import Clock
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet_experiments.shared.figures import Figure
    from discreet_experiments.shared.runs import Workers

SECRETS = "The secrets"
DATA = "Reading the data"
CHECKS = "The checks"

Data = Annotated[Path, typer.Option(metavar="DIR", help="The folder with the data files; nothing is written there.")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Where CSV and PNG files go.")]
People = Annotated[int | None, typer.Option(metavar="N", help="Only so many, evenly spread; all by default.")]
Processes = Annotated[int, typer.Option(help="How many people at once; the results are the same.")]
Level = Annotated[
    Literal["tower", "site", "area", "region"], typer.Option(help="What a place is.", rich_help_panel=DATA)
]
Slots = Annotated[int, typer.Option(help="Slots a day: a divisor of 96.", rich_help_panel=DATA)]
MergeBelow = Annotated[
    float,
    typer.Option(metavar="SHARE", help="Contexts that fill less of the time are 'other'.", rich_help_panel=DATA),
]
Cut = Annotated[str, typer.Option(metavar="HH:MM", help="Where days are cut.", rich_help_panel=DATA)]
LeastDays = Annotated[int, typer.Option(help="People with fewer days are left out.", rich_help_panel=DATA)]
Training = Annotated[float, typer.Option(metavar="SHARE", help="The first days, to learn from; the rest is judged.")]
Days = Annotated[int | None, typer.Option(metavar="N", help="Judge only so many held-out days, evenly spread.")]
Smoothing = Annotated[
    Literal["none", "auto"], typer.Option(help="none: plain counts; auto: steps never seen stay possible.")
]
Secrets = Annotated[int, typer.Option(help="How many contexts are secret.", rich_help_panel=SECRETS)]
Sensitive = Annotated[
    Literal["random", "home", "rare"], typer.Option(help="Which contexts are.", rich_help_panel=SECRETS)
]
SecretsFrom = Annotated[
    Literal["places", "all"],
    typer.Option(help="all: 'unknown' and 'other' can be secret too.", rich_help_panel=SECRETS),
]
Delta = Annotated[float, typer.Option(help="The gain that is tolerated.", rich_help_panel=SECRETS)]
Search = Annotated[
    Literal["best", "exact", "mondrian", "algpr"],
    typer.Option(help="How the probabilistic check looks for p.", rich_help_panel=CHECKS),
]


def hours_of(carry: str) -> float:
    """The hours of an option --carry."""
    return slots_of(carry, Clock(1440)) / 60


def run(
    paper: str,
    out: Path,
    processes: int,
    about: Mapping[str, Any],
    results: Callable[[Workers], Iterable[Figure]],
    *,
    json: bool,
) -> None:
    """Each result is written as it comes, and printed: or all of them as one JSON document, with what it is `about`."""
    from discreet_experiments.shared.runs import workers

    started, documents = time.perf_counter(), []
    _make(out)
    with workers(processes) as pool:
        for result in results(pool):
            files = _write(result, out)
            documents.append({**_document(result), "files": [str(file) for file in files]})
            if not json:
                _print(result)
    seconds = time.perf_counter() - started
    if json:
        print_json({"paper": paper, **about, "seconds": seconds, "figures": documents})
    else:
        print(f"{seconds:.0f} s with {processes} at once; the files are in {out}")


def _make(out: Path) -> None:
    """The folder for the files, and a word if there will be no charts: before the work, not after it."""
    from discreet.charts import canvas

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiscreetError(f"{out}: cannot be made: {error.strerror}; choose a folder you can write to") from None
    if not canvas.available():
        note("matplotlib is not installed, so no charts are drawn; pip install 'discreet[plots]'")


def _write(figure: Figure, out: Path) -> list[Path]:
    """CSV of the summary and of the people, and the chart."""
    from discreet.charts import canvas

    written = [out / f"{figure.name}.csv"]
    figure.summary.write(written[0])
    if figure.people.rows:
        written.append(out / f"{figure.name}_people.csv")
        figure.people.write(written[-1])
    if canvas.available() and figure.summary.rows:
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
    summary = figure.summary
    if len({row.get("smoothing") for row in summary.records()}) == 1:  # the line above says which
        summary = summary.without("smoothing")
    if summary.rows:
        left = next((k for k, cell in enumerate(summary.rows[0]) if not isinstance(cell, str)), 1)
        print(table(list(summary.header), summary.shown(), left=left))
    else:
        print("nobody takes part")
    print()
    for remark in figure.remarks:
        print(f"- {remark}")
    print("\n" if figure.remarks else "")
