"""`discreet policy hold`: how much of delta to spend, asked of a person's own later weeks."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated

import typer

from discreet.batch.inputs import read_policy_for
from discreet.batch.reading import ReadingOptions
from discreet.cli import options
from discreet.cli.inputs import read_spec
from discreet.cli.policy import WIDTH, policy, read_routine
from discreet.cli.terminal import TERMINAL, note, print_json, progress, table
from discreet.errors import DiscreetError


@policy.command("hold")
def hold_policy(
    within: Annotated[
        float, typer.Argument(metavar="SHARE", help="How many of the later days must stay within delta, such as 0.9.")
    ],
    history: Annotated[Path, typer.Option(metavar="FILE", help="Readings of several weeks, a table.")],
    model: options.ModelFile,
    file: options.PolicyFile,
    mechanism: options.MechanismName = options.DEFAULT,
    option: options.MechanismOptions = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Where to write the policy with its share; may be the policy itself."),
    ] = None,
    person: options.Person = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Choose the share of delta with which enough of the later days stay within delta.

    Habits are never quite true, and somebody who learned them elsewhere can gain more than delta. Each week of the
    history is released with several shares of delta and judged by observers who learned from other days. The largest
    share that holds is written into the policy as `share`. With enough weeks (11 for 0.9) the choice has a guarantee
    for the next week; with fewer it is an estimate, and the answer says so. Exits with status 1 if only silence holds.

    Example: discreet policy hold 0.9 --history examples/readings.csv -m p01.model -p examples/policy.toml
    """
    from discreet.evaluation.hold import hold

    if not 0 < within < 1:
        raise DiscreetError(f"{within:g} is no share of the days; give one between 0 and 1, such as 0.9")
    spec = read_spec(mechanism, option)
    routine = read_routine(model)
    secrets = read_policy_for(file, routine)
    days, _ = ReadingOptions.as_learned(model, {"person": person}, note).read_one(history, routine, TERMINAL)
    with progress("releasing each week") as report:
        found = hold(routine, days, secrets, spec.make, alpha=1 - within, seed=seed, progress=report)
    if out is not None:
        if not found.share:
            note(f"{out} is not written: no share holds")
        else:
            write_share(file, out, found.share)
    if json:
        print_json(found.to_json())
    else:
        rows = [[f"{one.share:g}", f"{100 * one.utility:.0f} %", f"{100 * one.beyond:.0f} %"] for one in found.tried]
        print(table(["share", "shown as it was", "days beyond delta"], rows))
        print(f"\n{textwrap.fill(found.words, WIDTH)}")
        if out is not None and found.share:
            print(f"written: {out}")
    if not found.share:
        raise typer.Exit(1)


def write_share(file: Path, out: Path, share: float) -> None:
    """The policy file with this share; every other line stays as it is."""
    from discreet.choosing.policy_text import with_share
    from discreet.files import private_files, written_whole

    text = with_share(file.read_text(encoding="utf-8"), share)
    with private_files(), written_whole(out) as opened:
        opened.write(text.encode("utf-8"))
