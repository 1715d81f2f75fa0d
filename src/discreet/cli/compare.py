"""`discreet compare`: several mechanisms on the same days, side by side."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.batch.inputs import read_model, read_policy_for
from discreet.batch.truth import already_learned
from discreet.cli import options
from discreet.cli.compiling import on_cores
from discreet.cli.inputs import look_here_too, read_spec
from discreet.cli.terminal import TERMINAL, note, print_json, progress, table_line
from discreet.cli.truth import if_true
from discreet.errors import DiscreetError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from discreet.mechanisms.named import Spec


@options.grouped
def compare(
    data: options.DataFile,
    model: options.ModelFile,
    policy: options.PolicyFile,
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A mechanism to compare, quoted if it has options: 'adaptive outputs=deceive'; may be "
            "repeated. By default all that need no options.",
            show_default=False,
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", "-o", metavar="KEY=VALUE", help="An option for each mechanism that has it; may be repeated."
        ),
    ] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the whole table as CSV.")] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="PICTURE", help="Draw utility and gains (.png, .svg, .pdf).")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(metavar="KERNELS", help="How many kernels each audit may examine.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0, help="How long each audit may search.")] = 20.0,
    seed: options.Seed = 0,
    table: options.LearnedTableOptions = options.LEARNED_TABLE,
    json: options.Json = False,
) -> None:
    """Release the same recorded days with several mechanisms, and report for each what evaluate and audit find.

    The table has a row for each mechanism: how much it shows, the worst gain of belief on these days, on how many of
    them a secret was breached, whether its promise was kept, what the audit says about everything that it could show,
    and how long a decision takes. A mechanism that cannot run with this model or policy has the reason instead. The
    exit status is 1 if none can. The table contains private data: keep it to yourself.

    Example: discreet compare examples/readings.csv --model p01.model --policy examples/policy.toml
    """
    from discreet.evaluation.compare import COMPARED
    from discreet.evaluation.compare import compare as compared
    from discreet.models.store import truth_of

    specs = read_specs(mechanism or COMPARED, option or ())
    habits = read_model(model)
    secrets = read_policy_for(policy, habits)
    reading = table.reading(model)
    carried = reading.carried(habits.clock)
    days, readings = reading.as_they_came().read_one(data, habits, TERMINAL)
    rows = _Rows(specs, quiet=json)
    with progress("comparing") as report:
        frame = compared(
            habits,
            secrets,
            days,
            specs,
            carry=carried,
            seed=seed,
            budget=budget,
            seconds=seconds,
            picture=picture,
            progress=report,
            each=on_cores(),
            known=rows.known,
        )
    if csv is not None:
        _write(frame, csv)
    if json:
        found = {"seed": seed, "truth": truth_of(model), "bad_rows": readings.bad.count}
        print_json({"mechanisms": frame.to_dicts(), **found, "learned_days": already_learned(habits, days)})
    else:
        rows.end()
        print(if_true(truth_of(model)))
        if readings.bad.count:
            note(f"{readings.bad.count} bad rows were skipped")
    if frame["why"].null_count() == 0:
        raise typer.Exit(1)


def read_specs(mechanisms: Sequence[str], given: Sequence[str]) -> list[Spec]:
    """Each mechanism with the options in its own quotes, and those of --option that it has; one has each of these."""
    parsed = [_words(mechanism) for mechanism in mechanisms]
    known = {words[0]: set(read_named(words[0]).parameters()) for words in parsed}
    for text in given:
        key = text.partition("=")[0]
        if not any(key in own for own in known.values()):
            every = {name for own in known.values() for name in own}
            hint = did_you_mean(key, every) if every else "they have none"
            raise DiscreetError(f"none of the mechanisms has an option {key!r}; {hint}")
    found = []
    for name, *own in parsed:
        named = {text.partition("=")[0] for text in own}  # what stands in its own quotes goes first
        shared = [text for text in given if (key := text.partition("=")[0]) in known[name] and key not in named]
        found.append(read_spec(name, [*own, *shared]))
    return found


def read_named(name: str) -> Spec:
    """A mechanism without its options, not all of which may be known yet."""
    from discreet.mechanisms.named import Spec

    look_here_too(name)
    return Spec.read(name) if name.lower().endswith(".toml") else Spec(name)


def _words(mechanism: str) -> list[str]:
    try:
        words = shlex.split(mechanism)
    except ValueError as error:
        raise DiscreetError(f"--mechanism {mechanism!r}: {error}; close the quotation") from None
    if not words:
        raise DiscreetError("--mechanism is empty; name one that discreet mechanisms lists")
    return words


def _write(frame: pl.DataFrame, path: Path) -> None:
    from discreet.files import written_whole

    with written_whole(path) as file:
        frame.write_csv(file)


HEADER = {
    "mechanism": 9, "utility": 7, "worst gain": 10, "breached days": 13, "promise": 11, "kept": 4, "audit": 19,
    "up to": 6, "ms": 8,
}  # fmt: skip
"""The columns, and how wide they are: what a row may say is known before it is."""


class _Rows:
    """The table, a row as soon as it is known. Where nobody watches a bar, each is also a line of progress."""

    def __init__(self, specs: Sequence[Spec], *, quiet: bool) -> None:
        self.total, self.quiet = len(specs), quiet
        self.widths = [max(9, *(len(str(spec)) for spec in specs)), *list(HEADER.values())[1:]]
        self.done, self.ran = 0, False
        self.failed: list[Mapping[str, Any]] = []

    def known(self, row: Mapping[str, Any]) -> None:
        """Another row."""
        self.done += 1
        if not sys.stderr.isatty():
            note(f"comparing: {row['mechanism']} is done, {self.done} of {self.total}")
        if row["why"] is not None:
            self.failed.append(row)
        elif not self.quiet:
            if not self.ran:
                print(f"{row['days']} days, released by each:\n\n{table_line(list(HEADER), self.widths)}")
            print(table_line(_cells(row), self.widths), flush=True)
            self.ran = True

    def end(self) -> None:
        """What the columns say, and who cannot run."""
        if self.ran:
            print(
                "\nutility: mean worth of a slot, 1 if the truth is shown; worst gain: belief minus prior, on "
                "these days;\nkept: whether it kept the deltas that it promises; audit: whether every delta "
                "holds, whatever is shown;\nup to: a bound that no gain exceeds; ms: milliseconds per decision"
            )
        for row in self.failed:
            print(f"\n{row['mechanism']} cannot run here: {row['why']}")
        print()


def _cells(row: Mapping[str, Any]) -> list[str]:
    return [
        row["mechanism"],
        f"{row['utility']:.4f}",
        f"{row['worst_gain']:.4f}",
        str(row["breached_days"]),
        row["promise"],
        {True: "yes", False: "NO", None: "-"}[row["kept"]],
        row["audit"] + (", by its proof" if row["audit"] == "holds" and "proof" in row["rests_on"] else ""),
        f"{row['bound']:.4f}",
        f"{1000 * row['seconds_per_decision']:.3f}",
    ]
