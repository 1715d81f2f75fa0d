"""At equal attack success: Adaptive beside local differential privacy and geo-indistinguishability, in one attack.

`python -m benchmarks attack --part peers --data FOLDER`. Randomised response over the k contexts that a person's
habits know shows the truth with probability e^epsilon / (e^epsilon + k - 1), else any other alike: epsilon a slot,
and no delta. Planar Laplace adds noise of density epsilon^2 / (2 pi) exp(-epsilon r) to the middle of the cell; what is
shown is the nearest of the person's cells (a slot without a position stays what it is, as noise is for positions
alone). Both are made anew in every slot. The observer is `discreet.evaluation.attack`, who learns from 40 % of the
held-out days with their truth. Utility is the share of slots in which what is shown is true. A peer's utility at
Adaptive's share of right claims is interpolated between the two settings around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from discreet.clock import Clock
from discreet.contexts import UNKNOWN, Day
from discreet.data import PositionColumns, read_days
from discreet.evaluation.attack import attack
from discreet.listener import Progress
from discreet.outputs import Output, Released
from discreet.places import Grid, Plane
from discreet.places.cells import GRID_LABEL
from discreet.policy import Policy, Secret
from discreet_experiments.adaptive.attacked import SILENCE, parts_played, released, renamed
from discreet_experiments.adaptive.picture import PICTURED, Pictured
from discreet_experiments.shared.people import CHECK_INS, Rules, Trace, existing, spread
from discreet_experiments.shared.positions import BEIJING, LOS_ANGELES
from discreet_experiments.shared.subjects import Setting, Subject, seed_for, subject

CALGARY = 2.0
"""How wide a cell of Foursquare's is, in kilometres."""


def check_ins_in_cells(folder: Path, rules: Rules, progress: Progress | None = None) -> list[Trace]:
    """Everybody's check-ins (Foursquare) by where they were, not by what: planar Laplace needs positions."""
    days = read_days(
        existing(folder, CHECK_INS),
        Clock(rules.slots, cut=rules.cut),
        columns=PositionColumns(),
        cells=Grid(1000 * CALGARY, Plane(51.05, -114.07)),
        zone="UTC",  # times are local and say no zone
        pick="modal",
        progress=progress,
    ).people.values()
    enough = [own for own in days if len(own) >= rules.least_days]
    return [Trace(number, tuple(own)) for number, own in enumerate(enough, 1)]


KILOMETRES = {"Foursquare": CALGARY, "GeoLife": BEIJING.place / 1000, "Gowalla": LOS_ANGELES.place / 1000}
"""How wide a cell is; areas of Reality Mining have no positions."""

DATA = (
    *(source for source in PICTURED if source.name in ("Reality Mining", "GeoLife", "Gowalla")),
    Pictured("Foursquare", "cell", check_ins_in_cells),
)

OWN = ("deceive", "suppress", SILENCE)
RESPONSE, LAPLACE = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0), (0.03, 0.1, 0.3, 1.0, 2.0)
"""Epsilons; of planar Laplace, for a kilometre."""


class Made(NamedTuple):
    """What an attack on a mechanism came to."""

    utility: float
    visits: float
    """The share of slots shown truly, of those in which the person was seen somewhere."""
    right: float
    claims: int


def randomised(one: Subject, epsilon: float, rng: np.random.Generator) -> Callable[[str], str]:
    """The truth, or any other context that the habits know; a label that they do not know is shown as one of those."""
    contexts = one.chain.contexts
    truth = math.exp(epsilon) / (math.exp(epsilon) + len(contexts) - 1)

    def shown(context: str) -> str:
        others = [other for other in contexts if other != context]
        return context if context in contexts and rng.random() < truth else others[int(rng.integers(len(others)))]

    return shown


def planar(one: Subject, epsilon: float, rng: np.random.Generator, *, kilometres: float) -> Callable[[str], str]:
    """The cell nearest to a point with noise; labels that are no cells stay."""
    found = {context: GRID_LABEL.fullmatch(context) for context in one.chain.contexts}
    cells = {context: [int(k) * kilometres for k in match.groups()] for context, match in found.items() if match}
    names, middles = list(cells), np.array(list(cells.values()))

    def shown(context: str) -> str:
        if context not in cells:
            return context
        angle, radius = rng.random() * 2 * math.pi, rng.gamma(2.0, 1 / epsilon)
        point = cells[context] + radius * np.array([math.cos(angle), math.sin(angle)])
        return names[int(((middles - point) ** 2).sum(axis=1).argmin())]

    return shown


def attacked(people: Sequence[Subject], show: Callable[[Subject], list[list[Output]]], setting: Setting) -> Made:
    """The attack on what everybody showed, secrets called by their number."""
    days: list[Day] = []
    outputs: list[list[Output]] = []
    told: list[bool] = []
    seen: list[bool] = []
    for one in people:
        names, shown = parts_played(one), show(one)
        for day, own in zip(one.held_out, shown, strict=True):
            told += [output == Released(context) for context, output in zip(day.contexts, own, strict=True)]
            seen += [context != UNKNOWN for context in day.contexts]
            contexts = tuple(names.get(place, place) for place in day.contexts)
            days.append(replace(day, contexts=contexts, person=str(one.number)))
        outputs += renamed(shown, names)
    policy = Policy([Secret(f"secret {k}") for k in range(1, setting.secrets + 1)], delta=setting.delta)
    found = attack(days, outputs, policy, split="days", seed=setting.seed).secrets
    claims, right = sum(one.claims for one in found), sum(one.right for one in found)
    visits = sum(true for true, place in zip(told, seen, strict=True) if place) / max(1, sum(seen))
    return Made(sum(told) / len(told), visits, right / claims if claims else math.nan, claims)


Make = Callable[[Subject, float, np.random.Generator], Callable[[str], str]]
"""What a person shows for each context, at an epsilon."""


def by_noise(make: Make, epsilon: float, seed: int, one: Subject) -> list[list[Output]]:
    """What a mechanism that shows a context for each context shows of a person's days."""
    shown = make(one, epsilon, np.random.default_rng(seed_for(seed, one.number, "peer")))
    return [[Released(shown(context)) for context in day.contexts] for day in one.held_out]


def at_equal(right: float, made: Sequence[Made]) -> tuple[float, float]:
    """What a peer shows, and of visits, where its share of right claims is so high; NaN where it never is.

    Of several such places the one where it shows most.
    """
    for low, high in reversed(list(pairwise(made))):
        if low.right <= right <= high.right:
            part = (right - low.right) / (high.right - low.right) if high.right > low.right else 1.0
            return low.utility + part * (high.utility - low.utility), low.visits + part * (high.visits - low.visits)
    return math.nan, math.nan


def peers(data: Path, most: int, days: int, only: str | None = None) -> None:
    """Print the table."""
    print("data            mechanism            epsilon  utility  of visits  right claims   of")
    for source in DATA:
        if only not in (None, source.name):
            continue
        setting = replace(Setting(), smoothing="auto", pool="places", days=days)
        setting = replace(setting, rules=source.rules(setting.rules))
        traces = spread(source.reader(data, setting.rules), most)
        people = [one for one in (subject(trace, setting) for trace in traces) if one is not None]

        own = {name: attacked(people, partial(released, name, setting=setting), setting) for name in OWN}
        for name, made in own.items():
            row(source.name, name, "", made)
        side = KILOMETRES.get(source.name)
        swept: dict[str, tuple[Make, tuple[float, ...]]] = {"randomised response": (randomised, RESPONSE)}
        if side is not None:
            swept["planar Laplace"] = (partial(planar, kilometres=side), LAPLACE)
        for peer, (make, levels) in swept.items():
            found = [attacked(people, partial(by_noise, make, epsilon, setting.seed), setting) for epsilon in levels]
            for epsilon, made in zip(levels, found, strict=True):
                row(source.name, peer, f"{epsilon:g}", made)
            for name in OWN[:2]:
                equal, visits = at_equal(own[name].right, found)
                told = "no setting has so few" if math.isnan(equal) else f"{equal:.3f}, {visits:.3f} of visits"
                mine = f"{own[name].utility:.3f}, {own[name].visits:.3f} of visits"
                print(f"  shown by {peer} at the right claims of {name} ({mine}): {told}", flush=True)


def row(data: str, name: str, epsilon: str, made: Made) -> None:
    """Print one mechanism's."""
    figures = f"{made.utility:>8.3f} {made.visits:>10.3f} {made.right:>13.3f} {made.claims:>4}"
    print(f"{data:<15} {name:<20} {epsilon:>7} {figures}", flush=True)
