"""`discreet attack`: what an observer who only has data learns from what was shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from discreet.batch.attack_data import PublishedEvents, ReleasedReadings, ShownDays, is_releases, tell
from discreet.batch.reading import ReadingOptions
from discreet.cli import options
from discreet.cli.inputs import in_options
from discreet.cli.terminal import TERMINAL, note, percent, print_json, progress, table
from discreet.errors import DataError

if TYPE_CHECKING:
    from discreet.evaluation.attack import Attack, Attacked

NOT_TESTED = 3
"""The exit status where there was too little data to say anything of any secret."""

ENOUGH = "An attack takes at least 20 people, or some 30 days of one, on which each secret occurs and does not."


def attack(
    shown: Annotated[
        Path,
        typer.Argument(
            metavar="SHOWN", help="What was shown: a file of discreet release (.csv, .jsonl), or of discreet publish."
        ),
    ],
    truth: Annotated[
        Path, typer.Argument(metavar="TRUTH", help="What was true: the readings or events that it was made from.")
    ],
    policy: options.PolicyFile,
    split: Annotated[
        Literal["auto", "people", "days"],
        typer.Option(help="Test on people or on days that were held out; auto: on people, if there are 20."),
    ] = "auto",
    false_alarms: Annotated[
        float, typer.Option(metavar="RATE", help="How often a table that reveals nothing may be called beyond.")
    ] = 0.01,
    seed: Annotated[int, typer.Option(help="Repeat the same attack.")] = 0,
    zone: Annotated[
        str, typer.Option(metavar="ZONE", help="The time zone of the slots or events.", rich_help_panel=options.READING)
    ] = "UTC",
    cut: Annotated[
        str,
        typer.Option(
            metavar="HH:MM", help="For releases: the time at which a day ends.", rich_help_panel=options.READING
        ),
    ] = "00:00",
    carry: options.Carry = "4h",
    intervals: Annotated[
        str,
        typer.Option(metavar="RULE", help="For events: the parts of the day.", rich_help_panel=options.READING),
    ] = "night 00:00, morning 06:00, afternoon 12:00, evening 18:00",
    piece: options.Piece = 50,
    window: options.Window = None,
    places: options.PlacesFile = None,
    naive_zone: options.NaiveZone = None,
    skip_bad: options.SkipBad = False,
    user: options.UserColumn = "user",
    time: options.TimeColumn = "timestamp",
    context: options.ContextColumn = "context",
    start: options.StartColumn = None,
    end: options.EndColumn = None,
    location: Annotated[
        str, typer.Option("--location", metavar="COLUMN", help="Events: where.", rich_help_panel=options.COLUMNS)
    ] = "location",
    activity: Annotated[
        str, typer.Option("--activity", metavar="COLUMN", help="Events: doing what.", rich_help_panel=options.COLUMNS)
    ] = "activity",
    json: options.Json = False,
) -> None:
    """Attack published data as an observer without a model, who has outputs and true contexts of other people or days.

    The attacker learns to guess each secret, and is tested on people or days that were held out. A secret is "beyond"
    if the guesses prove a belief above prior + delta; the prior is what the same attacker believes from the hour alone.
    The test needs neither the mechanism nor its habits. The exit status is 1 if a secret is beyond, and 3 if there was
    too little data to test any. Needs discreet\\[attack].

    Example: discreet attack releases.csv readings.csv --policy examples/policy.toml --zone Europe/Paris
    """
    from discreet.data import EventColumns
    from discreet.evaluation.attack import attack as run_attack

    try:
        if is_releases(shown):
            reading = ReadingOptions(
                user, time, context, start, end, naive_zone, carry, skip_bad=skip_bad, places=places
            )
            given = ReleasedReadings(reading, zone, cut).given(shown, truth, policy, TERMINAL)
        else:
            events = EventColumns(user or None, time, location, activity)
            length = options.piece_length(piece, window)
            published = PublishedEvents(events, zone, intervals, length, naive_zone, skip_bad)
            given = published.given(shown, truth, policy, TERMINAL)
    except DataError as error:
        raise DataError(in_options(str(error))) from None
    tell(given, policy, note)
    with progress("attacking") as report:
        found = run_attack(
            given.days,
            given.outputs,
            given.policy,
            by_hour=given.by_hour,
            split=split,
            false_alarms=false_alarms,
            seed=seed,
            progress=report,
        )
    if json:
        print_json({**found.to_wire(), "left_out": given.left_out})
    else:
        _print(found, given)
    if found.found:
        raise typer.Exit(1)
    if all(secret.verdict == "not tested" for secret in found.secrets):
        note(f"no secret could be tested. {ENOUGH}")
        raise typer.Exit(NOT_TESTED)


# --- what is printed


def _print(found: Attack, given: ShownDays) -> None:
    from discreet.factors import in_words

    slots, day = ("slots", "day") if given.by_hour else ("events", "piece")
    one, many = ("person", "people") if found.split == "people" else (day, f"{day}s")
    print(
        f"{found.slots} {slots} in {found.days} {day}s of {found.people} people. An observer without a model learned "
        f"from {found.learned} {many}, was calibrated on {found.calibrated} and judged on {found.judged} others.\n"
    )
    tested = [secret for secret in found.secrets if secret.verdict != "not tested"]
    if tested:
        header = ["secret", "", "right", "supported", "at most", "prior", "limit", "beyond", "true", "AUC", "blind"]
        print(table(header, [_line(secret) for secret in tested], left=2) + "\n")
        print(
            f"right: of the claims that it staked, one a {one}, so many were true; supported, at most: their share, "
            f"with confidence; prior, limit: of these claims, limit = prior + delta; beyond: {slots} in which it "
            "believes more than their limit, and those of them that are true; blind: the AUC of one who sees no output"
            "\n"
        )
    for secret in tested:
        print(f"{secret.name}: its claims' odds were at most {in_words(secret.odds)} those before")
    for secret in found.secrets:
        if secret.verdict == "not tested":
            print(f"{secret.name}: not tested: {secret.reason}")
        elif secret.verdict == "beyond":
            print(
                f"{secret.name}: BEYOND: what is shown supports a belief of {percent(secret.supported)}, and prior + "
                f"delta is {percent(secret.limit)}"
            )
    print(
        "A table that tells no more than its limits is called beyond, or one that tells more within, "
        f"{percent(found.false_alarms)} of the time at most. That this observer finds nothing does not say that "
        "nobody would."
    )


def _line(secret: Attacked) -> list[str]:
    numbers = (secret.supported, secret.at_most, secret.prior, secret.limit)
    return [
        secret.name,
        secret.verdict,
        f"{secret.right} of {secret.claims}",
        *(f"{number:.3f}" for number in numbers),
        str(secret.beyond),
        str(secret.beyond_true),
        f"{secret.auc:.3f}",
        f"{secret.auc_blind:.3f}",
    ]
