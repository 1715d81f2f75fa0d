"""A day in the terminal: a column a slot, a line for the truth, for what was seen, and for each belief."""

from __future__ import annotations

import string
import sys
from collections.abc import Collection, Sequence

import numpy as np
from rich.console import Console
from rich.text import Text

from discreet.clock import Clock
from discreet.demo.beliefs import DayBelief
from discreet.demo.story import Demo, Showing, already_known, headline, if_true, percent, week_told
from discreet.numerics import exceeds
from discreet.outputs import Output, text_of

LABEL = 24
"""Columns for the name of a line."""

BARS = " ▁▂▃▄▅▆▇█"
SILENCE = "·"
LOUD = ("hospital",)
"""Contexts of the demo that are to be seen at once."""

COLOURS = (
    "blue",
    "green",
    "magenta",
    "yellow",
    "cyan",
    "bright_blue",
    "bright_green",
    "bright_magenta",
    "bright_black",
)


def print_day(clock: Clock, truth: Sequence[str], told: Sequence[Output], secret: Collection[str]) -> None:
    """One day on stdout: the truth above what applications see, and what the letters mean."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    seen = [text_of(output) for output in told]
    letters = _letters_of([*truth, *seen], (), loud=secret)
    _put(
        console,
        _strip("", _hours_of(clock), {}, dim=True),
        _strip("the true day", truth, letters, loud=secret),
        _strip("applications see", seen, letters, loud=secret),
    )
    named = ", ".join(f"{letter} {label}" for label, letter in letters.items())
    console.print(Text(f"{named}, {SILENCE} silence", style="dim"), width=min(console.width, 80))


def print_demo(demo: Demo) -> None:
    """The whole story on stdout, within 80 columns for a day of 48 slots; in fewer, days take several lines."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    letters = _letters(demo)
    width = min(console.width, 100)
    console.print(Text(headline(demo), style="bold"), width=width)
    console.print()
    console.print("What is known already:")
    for sentence in already_known(demo):
        console.print(Text(f"  {sentence}", style="dim"), width=width)
    console.print()
    hours = _strip("", _hours(demo), {}, dim=True)
    _put(console, hours, _strip("the true day", demo.day.contexts, letters))
    console.print(Text(" " * LABEL * _fits(console, hours) + "only the person knows it", style="dim"))
    for showing in demo.showings:
        _print_showing(console, demo, showing, letters)
    _print_week(console, demo, letters, width)
    console.print()
    named = ", ".join(f"{letter} {label}" for label, letter in letters.items())
    console.print(Text(f"{named}, {SILENCE} silence", style="dim"), width=width)
    console.print(
        Text(
            f"Bars: what an observer believes of each secret, by slot; ^ where that is over its limit. {if_true(demo)}",
            style="dim",
        ),
        width=width,
    )
    console.print()


def _print_showing(console: Console, demo: Demo, showing: Showing, letters: dict[str, str]) -> None:
    console.print()
    out, total = sum(one.breached for one in showing.beliefs), len(showing.beliefs)
    verdict = (
        Text(f"{total} of {total} secrets kept", style="bold green")
        if showing.kept
        else Text(f"{out} of {total} secrets given away", style="bold red")
    )
    verdict.append(f", {percent(showing.utility)} of the day shown as it was", style="default not bold")
    console.print(Text.assemble((showing.mechanism, "bold"), ": ", verdict))
    _put(console, _strip("  applications saw", [text_of(output) for output in showing.outputs], letters))
    for one in showing.beliefs:
        bars, marks = _bars(demo, one)
        style = "red" if one.breached else "green"
        worst = f"  {percent(one.final[one.worst])}, limit {percent(one.limit[one.worst])}"
        name = Text(f"  {one.name}"[:LABEL].ljust(LABEL)).append_text(bars)
        _put(console, name, Text.assemble((worst.ljust(LABEL), style), (marks, "bold red")))


def _print_week(console: Console, demo: Demo, letters: dict[str, str], width: int) -> None:
    """The seven days of the mechanism that tells the story best: the last."""
    week = demo.week
    showing, slots = week.showings[-1], week.clock.slots
    console.print()
    console.print(Text(f"The week from that day on, as one stream. {week_told(week)}", style="bold"), width=width)
    console.print()
    _put(console, _strip("", _hours(demo), {}, dim=True))
    for number, (date, day) in enumerate(zip(week.dates, week.days, strict=True)):
        seen = [text_of(output) for output in showing.outputs[number * slots : (number + 1) * slots]]
        _put(
            console,
            _strip(f"{date:%a %d %b}  the truth", day.contexts, letters),
            _strip("            was seen as", seen, letters),
        )
    for one in showing.beliefs:
        worst = f"at most {percent(one.final[one.worst])}, limit there {percent(one.limit[one.worst])}"
        console.print(Text.assemble(f"  {one.name}"[:LABEL].ljust(LABEL), (worst, "red" if one.breached else "green")))


def _fits(console: Console, line: Text) -> bool:
    return len(line.plain.rstrip()) <= console.width


def _put(console: Console, *lines: Text) -> None:
    """Lines of one day, a name and a column a slot; where they are too wide, the names first and the day in pieces."""
    if all(_fits(console, line) for line in lines):
        for line in lines:
            console.print(line, no_wrap=True)
        return
    for line in lines:
        if line.plain[:LABEL].strip():
            console.print(line[:LABEL], no_wrap=True)
    slots = max(len(line) for line in lines) - LABEL
    pieces = -(-slots // console.width)
    wide = -(-slots // pieces)
    for first in range(LABEL, LABEL + slots, wide):
        for line in lines:
            console.print(line[first : first + wide], no_wrap=True)


def _letters(demo: Demo) -> dict[str, str]:
    """A letter for each label: its own first where free, then any of its letters, then any at all."""
    seen = [*demo.day.contexts, *(text_of(output) for showing in demo.showings for output in showing.outputs)]
    seen += [*demo.week.truth, *(text_of(output) for showing in demo.week.showings for output in showing.outputs)]
    return _letters_of(seen, sorted(demo.policy.contexts), loud=LOUD)


def _letters_of(seen: Sequence[str], first: Sequence[str], *, loud: Collection[str]) -> dict[str, str]:
    letters: dict[str, str] = {}
    for label in dict.fromkeys([*first, *seen]):
        if label:
            wanted = [label[0].upper()] if label in loud else [label[0].lower(), label[0].upper()]
            free = (letter for letter in [*wanted, *label, *string.ascii_letters] if letter not in letters.values())
            letters[label] = next(free, "?")
    return letters


def _strip(
    name: str, labels: Sequence[str], letters: dict[str, str], *, dim: bool = False, loud: Collection[str] = LOUD
) -> Text:
    """One character a slot, coloured by its label."""
    line = Text(name.ljust(LABEL))
    order = list(letters)
    for label in labels:
        if dim:
            line.append(label, style="dim")
        elif not label:
            line.append(SILENCE, style="dim")
        else:
            place = order.index(label)
            secret = label in loud
            line.append(
                letters[label], style="bold white on red" if secret else f"black on {COLOURS[place % len(COLOURS)]}"
            )
    return line


def _hours(demo: Demo) -> list[str]:
    return _hours_of(demo.clock)


def _hours_of(clock: Clock) -> list[str]:
    """The hours over the strip, as one character a slot."""
    slots = clock.slots
    line = [" "] * slots
    step = max(1, slots // 8)
    for slot in range(0, slots, step):
        for place, letter in enumerate(clock.label(slot)[:step]):
            line[slot + place] = letter
    return line


def _bars(demo: Demo, one: DayBelief) -> tuple[Text, str]:
    """A bar a slot, and the marks under those that are over the limit."""
    slots = demo.clock.slots
    beliefs = one.moments[1:, 0] if one.at == "any" else one.final
    limits = list(one.limit) * slots if one.at == "any" else list(one.limit)
    line, marks = Text(), ""
    for belief, limit in zip(beliefs, limits, strict=False):
        if np.isnan(belief):  # the secret does not hold here
            line.append(" ")
            marks += " "
            continue
        over = exceeds(belief, limit)
        line.append(BARS[min(len(BARS) - 1, 1 + int(belief * (len(BARS) - 1)))], style="red" if over else "green")
        marks += "^" if over else " "
    return line, marks
