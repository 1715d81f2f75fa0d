"""What verbs say of how true the habits are: the words, the option to go on all the same, and the picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.batch.truth import KnownByPart
from discreet.cli.terminal import note, percent, table
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.adversary.known import Known
    from discreet.clock import Clock
    from discreet.evaluation.truth import Look, Truth

IF = "if the habits are as learned"
"""What every promise is of."""

SAME_DATA = (
    "they were learned from the same data, so this says little. Learn from the earlier days alone, and judge the later "
    "ones (evaluate --split 0.7 does); learn itself tries the last fifth"
)

LISTED = 5
"""Findings in the terminal; --json has all."""

PANEL = "Are the habits true?"

AcceptModel = Annotated[
    bool,
    typer.Option(
        "--accept-model",
        help="Continue although the model does not hold on the data; the report says so.",
        rich_help_panel=PANEL,
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        metavar="PICTURE",
        help="Draw belief against how often it was true, a panel for each secret: .png, .svg or .pdf.",
        rich_help_panel=PANEL,
    ),
]


def print_truth(truth: Truth, accepted: bool) -> None:
    """Whether the habits hold, a line a secret for each observer, what is off, and what to do."""
    print(f"Are the habits true? {_verdict(truth, accepted)}")
    if truth.untested:
        return
    for look in truth.looks:
        print(f"\nAn observer {look.observer}{', on what was learned' * (not look.held_out)}:")
        print(_table(look))
    print("\noff: how far beliefs are from frequencies, mean; notices: an error of this size would have been noticed")
    from discreet.evaluation.truth import sentence_of

    for look, cell in truth.findings[:LISTED]:
        print(f"off: {sentence_of(cell)}, to an observer {look.observer}")
    if len(truth.findings) > LISTED:
        print(f"and {len(truth.findings) - LISTED} more, none further off")
    if truth.findings:
        print(f"What to do: {truth.remedy}" + ("" if accepted else "; or go on all the same, with --accept-model"))


def _verdict(truth: Truth, accepted: bool) -> str:
    if truth.untested:
        return f"Not tested: {truth.untested}."
    if truth.holds:
        held = "" if truth.held_out else f"; {SAME_DATA}"
        if truth.doubtful:
            return (
                f"In doubt: {truth.figure}{held}. That is more than chance explains, but no single claim is proven "
                "wrong on so little data; test them on more days."
            )
        return f"Nothing speaks against it: {truth.figure}{held}."
    return f"NO: {truth.figure}." + (" Accepted with --accept-model." if accepted else "")


def _table(look: Look) -> str:
    rows = []
    for name in look.names:
        off, chance = look.calibration.distances[name]
        over = next(iter(look.calibration.of(name, "all")), None)
        said = ["-", "-"] if over is None else [percent(over.said), percent(over.was)]
        notices = look.calibration.notices(name)
        shown = "-" if notices is None else f"{100 * notices:.0f}"
        rows.append([name, *said, f"{100 * off:.1f}", f"{100 * chance:.1f}", shown])
    return table(["secret", "habits say", "it was", "off, points", "by chance", "notices"], rows)


def if_true(summary: Mapping[str, Any] | None) -> str:
    """The sentence beside every promise: of what it is, and how true that was, as a model's file says."""
    if summary is None:
        return f"All of this {IF}. How true they were on other days is not known: the model's file does not say."
    return f"All of this {IF}: {summary['figure']}."


def check_picture(picture: Path | None) -> None:
    """Refuse a picture that cannot be drawn, before the work rather than after it."""
    from discreet.charts.canvas import available
    from discreet.files import picture_format

    if picture is None:
        return
    if not available():
        raise DiscreetError("--picture needs matplotlib; install discreet with its extra, discreet[plots]")
    picture_format(picture)


def draw(picture: Path | None, truth: Truth, title: str) -> None:
    """Write the picture that was asked for."""
    check_picture(picture)
    if picture is None:
        return
    from discreet.charts.reliability import reliability

    if truth.untested:
        note(f"no picture was drawn: {truth.untested}")
    else:
        reliability(title, truth, picture)


# --- what habits alone tell


def print_known(told: KnownByPart, clock: Clock | None) -> None:
    """A table of what anybody guesses who knows the habits and sees nothing, and what that leaves to hide."""
    if not any(told.values()):
        return
    parts = len(told) > 1
    rows = [
        [
            one.name + (f" ({part})" if parts else ""),
            percent(one.least),
            percent(one.mean),
            percent(one.highest),
            _when(one, clock),
            percent(one.limit),
        ]
        for part, own in told.items()
        for one in own
    ]
    print("What habits alone reveal, before anything is shown, and what belief may reach:\n")
    print(table(["secret", "least", "mean", "highest", "at", "limit there"], rows) + "\n")
    warnings = [
        (f"On a {part}, " if parts else "") + text
        for part, own in told.items()
        for one in own
        for text in one.warnings(clock)
    ]
    for text in warnings:
        print(f"{text[0].upper()}{text[1:]}.")
    if warnings:
        print()


def _when(one: Known, clock: Clock | None) -> str:
    if one.at == "any":
        return "some time"
    if clock is None or one.highest_at is None:
        return "-" if one.highest_at is None else f"slot {one.highest_at}"
    return clock.label(one.highest_at)
