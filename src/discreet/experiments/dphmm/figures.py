"""Figures 10 to 13 of DPHMM, noise compared, and a released way on the map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from discreet.errors import DiscreetError
from discreet.experiments.charts import maps, plots
from discreet.experiments.dphmm.families import families
from discreet.experiments.dphmm.run import (
    BEIJING,
    KILOMETRE,
    LOS_ANGELES,
    NAMES,
    City,
    Recording,
    Released,
    Run,
    Start,
    System,
    Work,
    graph_of,
    mechanism_of,
    noise_of,
    read_city,
    release,
    work,
)
from discreet.experiments.shared.cohort import Cohort
from discreet.experiments.shared.figures import NOBODY, Figure
from discreet.experiments.shared.subjects import seed_for
from discreet.experiments.shared.tables import Cell, Table
from discreet.mechanisms.perturbation import sensitivity_hull
from discreet.models.chain import MarkovChain
from discreet.numerics import FloatArray
from discreet.randomness import SeededEntropy

SYSTEMS: tuple[System, ...] = ("util", "trs", "dpls")
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Of Figure 12: the paper's are lost with the figure."""

Which = Literal["10", "11", "12", "13", "hulls", "noise", "map", "families"]
ALL: tuple[Which, ...] = ("10", "11", "12", "13", "hulls", "noise", "map", "families")

FURTHER = (6000.0, 10_000.0)
"""Radii, in metres, beyond those of Figure 13, to see where the graph's own edges outgrow those that protection adds."""

SHOWN = (1, 5, 10, 20, 50, 99)
"""Slots in the tables of what changes over time; slot 0 is known to the observer."""

SMOOTHED = 5
"""Slots of the moving mean in the charts, as the paper smooths its own; the CSV files are not smoothed."""

TOGETHER = 2
"""Sequences a process takes at a time."""

DRAWS = 100_000

MAPPED, HULLS = 30, 5
"""Slots on the map, and those between two hulls."""


@dataclass(frozen=True)
class Trial:
    """What is released, and how."""

    sequences: int = 20
    slots: int = 100
    epsilon: float = 1.0
    start: Start = "known"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.start not in ("known", "habit"):
            raise DiscreetError(f"start={self.start!r} is not known; use 'known' or 'habit'")


@dataclass(frozen=True)
class Reproduction:
    """The experiments on some cities; what figures share is computed once."""

    cohort: Cohort
    trial: Trial
    recordings: tuple[Recording, ...] = (BEIJING, LOS_ANGELES)
    _cities: list[City] = field(default_factory=list)
    _found: dict[tuple[str, Run], list[Released]] = field(default_factory=dict)

    def figure(self, which: Which) -> Figure:
        """A result of the paper, or one beside it."""
        made: dict[Which, Callable[[], Figure]] = {
            "10": self._run_time,
            "11": self._over_time,
            "12": partial(self._swept, "12"),
            "13": partial(self._swept, "13"),
            "hulls": self._hulls,
            "noise": self._noise,
            "map": self._map,
            "families": lambda: families(self.cohort, self.cities[0], self.trial.seed),
        }
        return made[which]()

    @property
    def cities(self) -> list[City]:
        """Read once."""
        if not self._cities:
            for recording in self.recordings:
                with self.cohort.bar(f"reading {recording.name}") as report:
                    self._cities.append(
                        read_city(self.cohort.folder, recording, self.trial.sequences, self.trial.slots, report)
                    )
        return self._cities

    @property
    def note(self) -> str:
        """Whom and how, in a line."""
        start = "a known start" if self.trial.start == "known" else "a start by habit"
        return f"{'; '.join(city.described() for city in self.cities)}; {start}"

    @property
    def caption(self) -> str:
        """The same, as short as a chart's second line."""
        cells = ", ".join(f"{city.recording.name} ({len(city.contexts)} cells)" for city in self.cities)
        counts = " and ".join(sorted({str(len(city.tracks)) for city in self.cities}))
        return f"{cells}: {counts} sequences of {self.trial.slots} slots" + (
            "; the start is known" if self.trial.start == "known" else ""
        )

    def run_of(self, city: City, system: System) -> Run:
        """The paper's defaults."""
        return Run(system, self.trial.epsilon, city.recording.radius if system == "util" else None)

    def released(self, what: str, city: City, runs: Sequence[Run]) -> dict[Run, list[Released]]:
        """Every sequence by every run, those computed before not again."""
        name = city.recording.name
        wanted = tuple(dict.fromkeys(run for run in runs if (name, run) not in self._found))
        if wanted:
            numbers = range(len(city.tracks))
            items = [
                Work(city, tuple(numbers[k : k + TOGETHER]), wanted, self.trial.start, self.trial.seed)
                for k in range(0, len(numbers), TOGETHER)
            ]
            answers = [one for some in self.cohort.over(f"{what}, {name}", work, items) for one in some]
            for run in wanted:
                self._found[name, run] = [one[run] for one in answers]
        return {run: self._found[name, run] for run in runs}

    def _defaults(self, what: str, city: City) -> dict[System, list[Released]]:
        runs = {system: self.run_of(city, system) for system in SYSTEMS}
        found = self.released(what, city, list(runs.values()))
        return {system: found[run] for system, run in runs.items()}

    def _run_time(self) -> Figure:
        rows: list[dict[str, Cell]] = []
        each: list[dict[str, Cell]] = []
        panels = []
        for city in self.cities:
            found = self._defaults("figure 10", city)
            curves = {}
            for system, all_of in found.items():
                fresh = 1000 * np.stack([one.unkept for one in all_of])  # (sequences, slots), milliseconds
                kept = 1000 * np.stack([one.seconds for one in all_of])
                row: dict[str, Cell] = {"data": city.recording.name, "system": NAMES[system]}
                row.update({f"slot {slot}": float(np.median(fresh[:, slot])) for slot in _shown(city)})
                row["all slots"], row["kernels kept"] = float(np.median(fresh)), float(np.median(kept))
                row["possible"] = float(np.stack([one.possible for one in all_of])[:, -1].mean())
                rows.append(row)
                curves[NAMES[system]] = _smooth(np.median(fresh, axis=0))
            each += _each_slot(city, found)
            panels.append(_panel(city.recording.name, city, curves, "milliseconds a slot", logarithmic=True))
        title = "Figure 10: run time"
        remarks = (
            "milliseconds a slot, medians over sequences: belief, graph, hull, noise and draw; kernels kept: as used, where "
            "a set of possible cells that occurred before is not computed again",
            "possible: cells in the support at the last slot, mean over sequences",
        )
        chart = partial(plots.courses, title, self.caption, (panels,))
        return Figure("figure10", title, self.note, Table.of(rows), Table.of(each), remarks, chart)

    def _over_time(self) -> Figure:
        rows: list[dict[str, Cell]] = []
        each: list[dict[str, Cell]] = []
        upper, lower = [], []
        for city in self.cities:
            found = self._defaults("figure 11", city)
            curves: dict[str, dict[str, tuple[float, ...]]] = {"degree": {}, "error": {}}
            for measure in curves:
                for system, all_of in found.items():
                    values = np.stack([getattr(one, measure) for one in all_of])
                    row: dict[str, Cell] = {
                        "data": city.recording.name,
                        "measure": MEASURES[measure],
                        "system": NAMES[system],
                    }
                    row.update({f"slot {slot}": float(values[:, slot].mean()) for slot in _shown(city)})
                    row["all slots"] = float(values[:, 1:].mean())
                    row["surrogates"] = float(np.mean([one.surrogates[1:].mean() for one in all_of]))
                    rows.append(row)
                    curves[measure][NAMES[system]] = _smooth(values.mean(axis=0))
            each += _each_slot(city, found)
            upper.append(_panel(city.recording.name, city, curves["degree"], MEASURES["degree"]))
            lower.append(_panel(city.recording.name, city, curves["error"], MEASURES["error"]))
        title = "Figure 11: protection and error over time"
        remarks = (
            "means over sequences; all slots: from slot 1 on; degree of protection: possible cells that the noise's hull "
            "around the true one holds, itself included; error: kilometres between released point and true cell's centre",
            "surrogates: the share of slots whose true cell lies outside the support and is released as the nearest inside",
        )
        chart = partial(plots.courses, title, self.caption, (upper, lower))
        return Figure("figure11", title, self.note, Table.of(rows), Table.of(each), remarks, chart)

    def _points(self, which: Literal["12", "13"], city: City) -> tuple[tuple[float, ...], dict[System, list[Run]]]:
        """What is swept, and each system's runs over it."""
        if which == "12":
            return EPSILONS, {
                system: [
                    Run(system, epsilon, city.recording.radius if system == "util" else None) for epsilon in EPSILONS
                ]
                for system in SYSTEMS
            }
        radii = city.recording.radii
        return tuple(radius / KILOMETRE for radius in radii), {
            "util": [Run("util", self.trial.epsilon, radius) for radius in radii],
            "dpls": [self.run_of(city, "dpls")] * len(radii),
        }

    def _swept(self, which: Literal["12", "13"]) -> Figure:
        across = "epsilon" if which == "12" else "r, kilometres"
        rows: list[dict[str, Cell]] = []
        each: list[dict[str, Cell]] = []
        upper: list[plots.Panel] = []
        lower: list[plots.Panel] = []
        for city in self.cities:
            points, runs = self._points(which, city)
            found = self.released(f"figure {which}", city, [run for own in runs.values() for run in own])
            for measure, panels in (("degree", upper), ("error", lower)):
                means = {
                    system: tuple(
                        float(np.mean([getattr(one, measure)[1:].mean() for one in found[run]])) for run in own
                    )
                    for system, own in runs.items()
                }
                for k, point in enumerate(points):
                    row: dict[str, Cell] = {
                        "data": city.recording.name,
                        "measure": MEASURES[measure],
                        across: point,
                    }
                    row.update({NAMES[system]: values[k] for system, values in means.items()})
                    rows.append(row)
                series = {NAMES[system]: values for system, values in means.items()}
                panels.append(
                    plots.Panel(
                        city.recording.name,
                        across,
                        points,
                        series,
                        MEASURES[measure],
                        measure == "error",
                        which == "12",
                    )
                )
            for system, own in runs.items():
                for point, run in zip(points, own, strict=True):
                    each += [
                        {
                            "data": city.recording.name,
                            "system": NAMES[system],
                            across: point,
                            "sequence": number,
                            MEASURES["degree"]: float(one.degree[1:].mean()),
                            MEASURES["error"]: float(one.error[1:].mean()),
                        }
                        for number, one in enumerate(found[run], 1)
                    ]
        title = f"Figure {which}: " + ("the effect of epsilon" if which == "12" else "the effect of G_util's radius")
        remarks = ("means over sequences and over the slots from 1 on",)
        chart = partial(plots.courses, title, self.caption, (upper, lower))
        return Figure(f"figure{which}", title, self.note, Table.of(rows), Table.of(each), remarks, chart)

    def _hulls(self) -> Figure:
        """What makes G_util's hull: its own edges, or those added for cells that have no neighbour within r."""
        rows: list[dict[str, Cell]] = []
        panels = []
        for city in self.cities:
            chain, query = _chain(city, self.trial.slots), city.query
            inside = chain.prior[-1] > 0
            radii = (*city.recording.radii, *FURTHER)
            areas: dict[str, list[float]] = {"own edges": [], "with added": []}
            for radius in radii:
                run = Run("util", self.trial.epsilon, radius)
                graph = graph_of(run, chain, query, city.side)
                kernel = mechanism_of(run, chain, query, graph).kernel_for(inside)
                own, whole = sensitivity_hull(graph, query, inside), kernel.hulls[0]
                for name, hull in zip(areas, (own, whole), strict=True):
                    areas[name].append(hull.volume * city.side**2 if hull.dimension == 2 else 0.0)
                joined = np.unique(graph.restricted(inside).edges)
                rows.append(
                    {
                        "data": city.recording.name,
                        "r, kilometres": radius / KILOMETRE,
                        "possible": int(inside.sum()),
                        "without neighbour": int(inside.sum()) - len(joined),
                        "edges added": len(kernel.added),
                        **{f"area, {name}": values[-1] for name, values in areas.items()},
                    }
                )
            series = {name: tuple(values) for name, values in areas.items()}
            across = tuple(radius / KILOMETRE for radius in radii)
            panels.append(plots.Panel(city.recording.name, "r, kilometres", across, series, "hull, square kilometres"))
        title = "What makes G_util's hull"
        remarks = ("areas in square kilometres, for the cells that are possible at the end when any start is",)
        chart = partial(plots.amounts, title, self.caption, tuple(panels))
        return Figure("hulls", title, self.note, Table.of(rows), NOBODY, remarks, chart)

    def _noise(self) -> Figure:
        rows: list[dict[str, Cell]] = []
        bars = {}
        for city in self.cities:
            runs = {system: self.run_of(city, system) for system in SYSTEMS}
            laplace = {system: Run(run.system, run.epsilon, run.radius, "laplace") for system, run in runs.items()}
            found = self.released("noise", city, [*runs.values(), *laplace.values()])
            for system in SYSTEMS:
                errors = [
                    float(np.mean([one.error[1:].mean() for one in found[run]]))
                    for run in (runs[system], laplace[system])
                ]
                lengths = self._lengths(city, runs[system])
                rows.append(
                    {
                        "data": city.recording.name,
                        "system": NAMES[system],
                        "K-norm": errors[0],
                        "Laplace": errors[1],
                        "ratio": errors[1] / errors[0],
                        "one hull: drawn": lengths["K-norm"],
                        "one hull: isotropic": lengths["isotropic"],
                    }
                )
                bars[f"{city.recording.name}, {NAMES[system]}"] = [
                    released.error[1:].mean() / other.error[1:].mean()
                    for released, other in zip(found[runs[system]], found[laplace[system]], strict=True)
                ]
        title = "Noise shaped by the hull, and Laplace noise"
        remarks = (
            "kilometres, means over sequences and slots; ratio: Laplace's error by K-norm's",
            f"one hull: the mean length of {DRAWS} draws for the cells possible at the end, drawn from the hull and by way of "
            "its isotropic position (the planar isotropic mechanism): the same law, so equal but for chance "
            "(a standard error of 0.2 % each)",
        )
        chart = partial(
            plots.strips, title, self.caption, bars, across="error with K-norm noise, as a share of Laplace's"
        )
        return Figure("noise", title, self.note, Table.of(rows), NOBODY, remarks, chart)

    def _lengths(self, city: City, run: Run) -> dict[str, float]:
        chain = _chain(city, self.trial.slots)
        mechanism = mechanism_of(run, chain, city.query, graph_of(run, chain, city.query, city.side))
        (hull,) = mechanism.kernel_for(chain.prior[-1] > 0).hulls
        # A seed of its own for each row: with one for all, a single chance deviation would look like a bias in every row.
        own = seed_for(self.trial.seed, 0, f"{city.recording.name} {run.system} lengths")
        lengths = noise_of(hull, run.epsilon, DRAWS, own)
        return {name: city.side * length for name, length in lengths.items()}

    def _map(self) -> Figure:
        """A way drawn from the learned chain, so that it is nobody's."""
        city = self.cities[0]
        run = Run("util", self.trial.epsilon, city.recording.radius)
        slots = min(MAPPED, self.trial.slots)
        habits = _chain(city, slots)
        (track,) = habits.sample_codes(1, self.trial.seed)
        chain = MarkovChain.homogeneous(
            city.contexts, np.eye(len(city.contexts))[track[0]], habits.transitions[0], slots
        )
        mechanism = mechanism_of(run, chain, city.query, graph_of(run, chain, city.query, city.side))
        one = release(mechanism, track, SeededEntropy(self.trial.seed), city.side)
        centres = city.query * city.side
        state, hulls = mechanism.start(), {}
        for slot in range(slots):
            if slot % HULLS == HULLS - 1:
                hulls[slot] = (mechanism.kernel(state).hulls[0].vertices * city.side).tolist()
            state = mechanism.advance(state, one.outputs[slot])
        half = city.side / 2
        squares = [
            [(x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)] for x, y in centres
        ]
        rows: list[dict[str, Cell]] = [
            {
                "slot": slot,
                "possible": int(one.possible[slot]),
                "degree of protection": int(one.degree[slot]),
                "error, km": float(one.error[slot]),
            }
            for slot in range(slots)
        ]
        title = "One way released"
        note = (
            f"{city.recording.name}'s cells; {slots} slots drawn from the learned chain, so nobody's own; "
            f"G_util within {(run.radius or 0) / KILOMETRE:g} km, epsilon {run.epsilon:g}"
        )
        truth = [(float(x), float(y)) for x, y in centres[track]]
        points = [(float(x), float(y)) for x, y in one.points]
        chart = partial(maps.trajectory, title, note, squares, truth, points, hulls)
        return Figure("map", title, note, Table.of(rows), NOBODY, (), chart)


MEASURES = {"degree": "degree of protection", "error": "error, km"}


def _chain(city: City, slots: int) -> MarkovChain:
    return MarkovChain.homogeneous(city.contexts, city.visits / city.visits.sum(), city.transition(), slots)


def _shown(city: City) -> list[int]:
    return [slot for slot in SHOWN if slot < city.tracks.shape[1]]


def _smooth(values: FloatArray) -> tuple[float, ...]:
    """The moving mean of the slots from 1 on, with fewer at the ends."""
    known = np.asarray(values[1:], dtype=np.float64)
    window = np.ones(min(SMOOTHED, len(known)))
    share = np.convolve(np.ones(len(known)), window, "same")
    return tuple((np.convolve(known, window, "same") / share).tolist())


def _panel(
    title: str, city: City, curves: dict[str, tuple[float, ...]], up: str, *, logarithmic: bool = False
) -> plots.Panel:
    slots = tuple(float(slot) for slot in range(1, city.tracks.shape[1]))
    return plots.Panel(title, "slot", slots, curves, up, logarithmic)


def _each_slot(city: City, found: dict[System, list[Released]]) -> list[dict[str, Cell]]:
    """A row a system, sequence and slot; no place is named."""
    return [
        {
            "data": city.recording.name,
            "system": NAMES[system],
            "sequence": number,
            "slot": slot,
            "possible": int(one.possible[slot]),
            MEASURES["degree"]: int(one.degree[slot]),
            MEASURES["error"]: float(one.error[slot]),
            "seconds": float(one.unkept[slot]),
            "seconds, kept": float(one.seconds[slot]),
        }
        for system, all_of in found.items()
        for number, one in enumerate(all_of, 1)
        for slot in range(len(one.degree))
    ]
