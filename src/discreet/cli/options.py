"""The options that verbs share, each defined once; those that belong together are a data class.

A verb takes such a data class as one argument, and `grouped` gives the command its options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from discreet.cli.terminal import note, note_later

if TYPE_CHECKING:
    from discreet.batch.reading import ReadingOptions
    from discreet.publish.plan import PieceLength

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
        help="The mechanism: a name that discreet mechanisms lists, a TOML file, or module:Class.",
    ),
]
DEFAULT = "adaptive"
"""The mechanism that promises most."""
MechanismOptions = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="KEY=VALUE", help="An option of the mechanism; may be repeated."),
]
Piece = Annotated[
    int,
    typer.Option(
        "--piece", metavar="N", help="Split trajectories into pieces of N events, each protected on its own; 0: whole."
    ),
]
Window = Annotated[int | None, typer.Option("--window", metavar="N", hidden=True)]
"""What --piece was called before."""


def piece_length(piece: int, window: int | None) -> int | None:
    """The length of a piece, None for whole trajectories; the option's old name still counts, with a note."""
    if window is not None:
        note_later("--window is now called --piece; the old name will go")
    return (piece if window is None else window) or None


def published_length(piece: int | None, window: int | None) -> PieceLength:
    """The same of `publish`, where the mechanism decides if nothing is given."""
    return "auto" if piece is None and window is None else piece_length(piece or 0, window)


Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout and nothing else.")]
Seed = Annotated[int, typer.Option(help="Repeat the same draws, for experiments. A real release has no seed.")]

Person = Annotated[
    str | None, typer.Option(metavar="NAME", help="The one person to take from the data.", rich_help_panel=READING)
]
Carry = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="How long a reading counts when none follows: 4h, 30m, or 0 to carry none over.",
        rich_help_panel=READING,
    ),
]
OwnCarry = Annotated[
    str | None,
    typer.Option(
        "--carry",
        metavar="TIME",
        help="How long a reading counts when none follows: 4h, 30m, or 0 to carry none over.",
        show_default="4h, or 48h for a history of changes only",
        rich_help_panel=READING,
    ),
]
PlacesFile = Annotated[
    Path | None,
    typer.Option(
        "--places",
        metavar="FILE",
        help="The map from discreet places. The data are then positions, and each context is the place that a "
        "position is in.",
        rich_help_panel=READING,
    ),
]
NaiveZone = Annotated[
    str | None,
    typer.Option(
        metavar="ZONE",
        help="The time zone of timestamps without one, such as Europe/Paris.",
        rich_help_panel=READING,
    ),
]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad", help="Skip and count rows that cannot be used, instead of stopping.", rich_help_panel=READING
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="The character between the fields of a .csv file, such as ; or tab. By default the most frequent "
        "one in the header.",
        rich_help_panel=READING,
    ),
]
TimeFormat = Annotated[
    str | None,
    typer.Option(
        metavar="FORM",
        help="The format of timestamps that are neither epoch nor ISO 8601, such as '%m/%d/%Y %I:%M %p'.",
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
        help="How long a reading counts when none follows: 4h, 30m, or 0 to carry none over.",
        show_default=AS_LEARNED,
        rich_help_panel=READING,
    ),
]


def _learned(option: str, words: str) -> object:
    return typer.Option(option, metavar="COLUMN", help=words, show_default=AS_LEARNED, rich_help_panel=COLUMNS)


LearnedUser = Annotated[str | None, _learned("--user", "The column that says who; '' if the file is one person's.")]
LearnedTime = Annotated[str | None, _learned("--time", "When: epoch or ISO 8601.")]
LearnedContext = Annotated[str | None, _learned("--context", "Where, or doing what.")]
UserColumn = Annotated[
    str,
    typer.Option(
        "--user",
        metavar="COLUMN",
        help="The column that says who; '' if the file is one person's.",
        rich_help_panel=COLUMNS,
    ),
]
TimeColumn = Annotated[
    str, typer.Option("--time", metavar="COLUMN", help="When: epoch or ISO 8601.", rich_help_panel=COLUMNS)
]
ContextColumn = Annotated[
    str, typer.Option("--context", metavar="COLUMN", help="Where, or doing what.", rich_help_panel=COLUMNS)
]
StartColumn = Annotated[
    str | None,
    typer.Option(
        "--start",
        metavar="COLUMN",
        help="The column with the start of a stay, instead of --time.",
        rich_help_panel=COLUMNS,
    ),
]
EndColumn = Annotated[
    str | None,
    typer.Option("--end", metavar="COLUMN", help="The column with the end of a stay.", rich_help_panel=COLUMNS),
]


# --- options that belong together


@dataclass(frozen=True)
class EngineOptions:
    """By whom people are worked on."""

    workers: Annotated[
        int, typer.Option(metavar="N", help="Worker processes; results do not depend on the number.")
    ] = 1
    engine: Annotated[
        Literal["local", "spark"],
        typer.Option(
            help="Where the work is done: in processes of this machine, or on Spark; the results are the same."
        ),
    ] = "local"
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="For --engine spark: local[2], spark://host:7077, ...; by default what spark-submit says.",
        ),
    ] = None

    def check(self, **of_local: object) -> None:
        """Refuse options that do not go together, and Spark where it cannot be started."""
        from discreet.batch.workers import check_engine

        check_engine(self.engine, self.workers, self.master, **of_local)


@dataclass(frozen=True)
class TableOptions:
    """How readings are read that a model is learned from."""

    carry: OwnCarry = None
    person: Person = None
    places: PlacesFile = None
    naive_zone: NaiveZone = None
    separator: Separator = None
    time_format: TimeFormat = None
    skip_bad: SkipBad = False
    user: UserColumn = "user"
    time: TimeColumn = "timestamp"
    context: ContextColumn = "context"
    start: StartColumn = None
    end: EndColumn = None

    def reading(self) -> ReadingOptions:
        """The rules."""
        from discreet.batch.defaults import CARRY
        from discreet.batch.reading import ReadingOptions

        return ReadingOptions(**vars(self) | {"carry": self.carry or CARRY})


@dataclass(frozen=True)
class LearnedTableOptions:
    """How readings are read that a model was learned for: as those were that it was learned from, unless given."""

    person: Person = None
    carry: LearnedCarry = None
    places: PlacesFile = None
    naive_zone: NaiveZone = None
    separator: Separator = None
    time_format: TimeFormat = None
    skip_bad: SkipBad = False
    user: LearnedUser = None
    time: LearnedTime = None
    context: LearnedContext = None
    start: StartColumn = None
    end: EndColumn = None

    def reading(self, model: Path) -> ReadingOptions:
        """The rules, with what the model's file remembers."""
        from discreet.batch.reading import ReadingOptions

        return ReadingOptions.as_learned(model, vars(self), note)


ENGINE, TABLE, LEARNED_TABLE = EngineOptions(), TableOptions(), LearnedTableOptions()
"""The defaults."""


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb as typer takes it: for an argument that is a data class, an option for each of its fields."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(verb, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            parameters += _options_of(parameter.annotation)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(verb)
    def command(**given: Any) -> None:
        made = {
            name: group(**{one.name: given.pop(one.name) for one in fields(group)}) for name, group in groups.items()
        }
        verb(**given, **made)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(
            one.name,
            keyword,
            default=inspect.Parameter.empty if one.default is MISSING else one.default,
            annotation=hints[one.name],
        )
        for one in fields(group)
    ]
