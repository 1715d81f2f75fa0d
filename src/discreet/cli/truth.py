"""What verbs say of how true the habits are: the words, the option to go on all the same, and the picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.terminal import note, percent, table
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.contexts import Day
    from discreet.evaluation.truth import Look, Truth
    from discreet.models.routine.parts import AnyModel, Make
    from discreet.policy import Policy

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
        help="Go on although the habits do not hold on the data; the report says so.",
        rich_help_panel=PANEL,
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        metavar="PNG",
        help="Draw what was believed against how often it was so, a panel a secret.",
        rich_help_panel=PANEL,
    ),
]


def refused(truth: Truth, accepted: bool) -> bool:
    """Whether the answer is no: the habits do not hold, and nobody said to go on."""
    return truth.holds is False and not accepted


def truth_json(truth: Truth, accepted: bool) -> dict[str, Any]:
    """For machines: what was found, and whether it was accepted."""
    return truth.to_json() | {"accepted": accepted and truth.holds is False}


def print_truth(truth: Truth, accepted: bool) -> None:
    """Whether the habits hold, a line a secret for each observer, what is off, and what to do."""
    print(f"Are the habits true? {_verdict(truth, accepted)}")
    if truth.untested:
        return
    for look in truth.looks:
        print(f"\n{look.observer[:1].upper()}{look.observer[1:]}{', on what was learned' * (not look.held_out)}:")
        print(_table(look))
    print("\noff: how far beliefs are from frequencies, mean; notices: an error of this size would have been noticed")
    from discreet.evaluation.truth import told

    for look, cell in truth.findings[:LISTED]:
        print(f"off: {told(cell)}, to an observer {look.observer}")
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


def warn(model: Path) -> None:
    """A line on stderr where the habits of a file did not hold, and were accepted."""
    from discreet.models.store import truth_of

    summary = truth_of(model)
    if summary is not None and summary["holds"] is False:
        note(f"these habits did not hold: {summary['figure']}")


def check_released(
    habits: AnyModel, make: Make, days: list[Day], policy: Policy, name: str, *, carry: int, seed: int
) -> Truth:
    """Hold habits against the days that `evaluate` released: priors, and what an observer of its outputs believes."""
    from discreet.contexts import carry_forward
    from discreet.evaluation.truth import DAYS_REMEDY, DrawnOutputs, Observer, check_days
    from discreet.evaluation.week import every_date

    given = {day.date for day in days}
    learned = already_learned(habits, days)
    on = f"these {len(days)} days" + ("" if learned == 0 else _overlap(learned, len(days)))
    return check_days(
        habits,
        carry_forward(every_date(days), carry),
        policy,
        on=on,
        held_out=learned == 0,
        observer=Observer(f"who sees what {name} shows", DrawnOutputs(habits, make, seed)),
        counted=lambda day: day.date in given,
        learned_from=days_learned(habits) if learned == 0 else None,
        remedy=DAYS_REMEDY,
    )


def _overlap(learned: int | None, days: int) -> str:
    if learned is None:
        return " (whether they were learned is not known)"
    return " (which were learned)" if learned == days else f" ({learned} of which were learned)"


def already_learned(habits: AnyModel, days: list[Day]) -> int | None:
    """How many of the days the habits were learned from; None where they do not say until when they learned."""
    from discreet.models.routine.routine import Routine

    learned = habits.learned if isinstance(habits, Routine) else None
    if learned is None:
        return None
    ends = [until for until, _ in learned.until.values()]
    return sum(day.date is not None and any(day.date <= end for end in ends) for day in days)


def days_learned(habits: AnyModel) -> int | None:
    """How many days the habits were learned from, where they know."""
    from discreet.models.routine.routine import Routine

    learned = habits.learned if isinstance(habits, Routine) else None
    return None if learned is None else round(sum(float(one.initial.sum()) for one in learned.days.values())) or None


def check_picture(picture: Path | None) -> None:
    """Refuse a picture that cannot be drawn, before the work rather than after it."""
    from discreet.charts.canvas import available

    if picture is not None and not available():
        raise DiscreetError("--picture needs matplotlib; install discreet with its extra, discreet[plots]")


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
