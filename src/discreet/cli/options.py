"""The options that verbs share, each defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

COLUMNS = "Columns of the data"
READING = "Reading the data"

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Readings: a table, such as a .csv or .parquet file, with columns user, timestamp, context.",
    ),
]
ModelFile = Annotated[Path, typer.Option("--model", "-m", metavar="FILE", help="The habits, from discreet learn.")]
PolicyFile = Annotated[Path, typer.Option("--policy", "-p", metavar="FILE", help="The secrets: a TOML file.")]
MechanismName = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="Who decides what is shown: a name that discreet mechanisms lists, a TOML file, or module:Class.",
    ),
]
DEFAULT = "adaptive"
"""The mechanism that promises most."""
MechanismOptions = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="KEY=VALUE", help="An option of the mechanism; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout and nothing else.")]
Seed = Annotated[int, typer.Option(help="Repeats the same draws. For experiments: a real release takes none.")]

Person = Annotated[
    str | None, typer.Option(metavar="NAME", help="The one person to take from the data.", rich_help_panel=READING)
]
Carry = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="How long a reading stands when none follows: 4h, 30m, or 0 for not at all.",
        rich_help_panel=READING,
    ),
]
OwnCarry = Annotated[
    str | None,
    typer.Option(
        "--carry",
        metavar="TIME",
        help="How long a reading stands when none follows: 4h, 30m, or 0 for not at all.",
        show_default="4h, or 48h for a history of changes only",
        rich_help_panel=READING,
    ),
]
PlacesFile = Annotated[
    Path | None,
    typer.Option(
        "--places",
        metavar="FILE",
        help="The map, from discreet places: the data are positions, and contexts are the places that they are in.",
        rich_help_panel=READING,
    ),
]
NaiveZone = Annotated[
    str | None,
    typer.Option(
        metavar="ZONE",
        help="The time zone of timestamps that do not say theirs, such as Europe/Paris.",
        rich_help_panel=READING,
    ),
]
SkipBad = Annotated[
    bool,
    typer.Option("--skip-bad", help="Count rows that cannot be used instead of stopping.", rich_help_panel=READING),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="What separates the fields of a .csv file, such as ; or tab; what its header has most of, unless given.",
        rich_help_panel=READING,
    ),
]
TimeFormat = Annotated[
    str | None,
    typer.Option(
        metavar="FORM",
        help="The form of timestamps that are neither epoch nor ISO 8601, such as '%m/%d/%Y %I:%M %p'.",
        rich_help_panel=READING,
    ),
]
AS_LEARNED = "as the model was learned"
"""What readings are read by where nothing else is said: a model's file remembers."""

LearnedCarry = Annotated[
    str | None,
    typer.Option(
        "--carry",
        metavar="TIME",
        help="How long a reading stands when none follows: 4h, 30m, or 0 for not at all.",
        show_default=AS_LEARNED,
        rich_help_panel=READING,
    ),
]


def _learned(option: str, words: str) -> object:
    return typer.Option(option, metavar="COLUMN", help=words, show_default=AS_LEARNED, rich_help_panel=COLUMNS)


LearnedUser = Annotated[str | None, _learned("--user", "Who; '' if the file is one person's.")]
LearnedTime = Annotated[str | None, _learned("--time", "When: epoch or ISO 8601.")]
LearnedContext = Annotated[str | None, _learned("--context", "Where, or doing what.")]
UserColumn = Annotated[
    str,
    typer.Option("--user", metavar="COLUMN", help="Who; '' if the file is one person's.", rich_help_panel=COLUMNS),
]
TimeColumn = Annotated[
    str, typer.Option("--time", metavar="COLUMN", help="When: epoch or ISO 8601.", rich_help_panel=COLUMNS)
]
ContextColumn = Annotated[
    str, typer.Option("--context", metavar="COLUMN", help="Where, or doing what.", rich_help_panel=COLUMNS)
]
StartColumn = Annotated[
    str | None,
    typer.Option("--start", metavar="COLUMN", help="Start of a stay, instead of --time.", rich_help_panel=COLUMNS),
]
EndColumn = Annotated[
    str | None, typer.Option("--end", metavar="COLUMN", help="End of a stay.", rich_help_panel=COLUMNS)
]
