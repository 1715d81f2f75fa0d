"""Figures 10 to 13 of DPHMM, noise compared, and a released way on the map."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from discreet.mechanisms.perturbation import sensitivity_hull
from discreet.models.chain.markov import MarkovChain
from discreet.numerics import FloatArray
from discreet.randomness import SeededEntropy
from discreet_experiments.charts import lines, maps, marks
from discreet_experiments.charts.lines import Look
from discreet_experiments.dphmm.city import KILOMETRE, City
from discreet_experiments.dphmm.person import Measured, Parameters, graph_of, mechanism_of, noise_of, release
from discreet_experiments.dphmm.sequences import SYSTEMS, Sequences
from discreet_experiments.shared.figures import NOBODY, Figure
from discreet_experiments.shared.sheets import Cell, Sheet
from discreet_experiments.shared.subjects import seed_for
from discreet_experiments.shared.systems import label, system

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Of Figure 12: the paper's are lost with the figure."""

FURTHER = (6000.0, 10_000.0)
"""Radii, in metres, beyond those of Figure 13, to see where the graph's edges outgrow those that protection adds."""

SHOWN = (1, 5, 10, 20, 50, 99)
"""Slots in the tables of what changes over time; slot 0 is known to the observer."""

SMOOTHED = 5
"""Slots of the moving mean in the charts, as the paper smooths its own; the CSV files are not smoothed."""

DRAWS = 100_000

MAPPED, HULLS = 30, 5
"""Slots on the map, and those between two hulls."""


def run_time(of: Sequences) -> Figure:
    """Figure 10: milliseconds a slot, and what of them a kept kernel saves."""
    rows: list[dict[str, Cell]] = []
    each: list[dict[str, Cell]] = []
    panels = []
    for city in of.cities:
        found = of.defaults("figure 10", city)
        curves = {}
        for name, all_of in found.items():
            fresh = 1000 * np.stack([one.unkept for one in all_of])  # (sequences, slots), milliseconds
            kept = 1000 * np.stack([one.seconds for one in all_of])
            row: dict[str, Cell] = {"data": city.recording.name, "system": label(name)}
            row.update({f"slot {slot}": float(np.median(fresh[:, slot])) for slot in _shown(city)})
            row["all slots"], row["kernels kept"] = float(np.median(fresh)), float(np.median(kept))
            row["possible"] = float(np.stack([one.possible for one in all_of])[:, -1].mean())
            rows.append(row)
            curves[system(name).look] = _smooth(np.median(fresh, axis=0))
        each += _each_slot(city, found)
        panels.append(_panel(city.recording.name, city, curves, "milliseconds a slot", logarithmic=True))
    title = "Figure 10: run time"
    remarks = (
        "milliseconds a slot, medians over sequences: belief, graph, hull, noise and draw; kernels kept: as used, "
        "where a set of possible cells that occurred before is not computed again",
        "possible: cells in the support at the last slot, mean over sequences",
    )
    chart = partial(lines.courses, title, of.caption, (panels,))
    return Figure("figure10", title, of.note, Sheet.of(rows), Sheet.of(each), remarks, chart)


def over_time(of: Sequences) -> Figure:
    """Figure 11: degree of protection and error, slot by slot."""
    rows: list[dict[str, Cell]] = []
    each: list[dict[str, Cell]] = []
    upper, lower = [], []
    for city in of.cities:
        found = of.defaults("figure 11", city)
        curves: dict[str, dict[Look, tuple[float, ...]]] = {"degree": {}, "error": {}}
        for measure in curves:
            for name, all_of in found.items():
                values = np.stack([getattr(one, measure) for one in all_of])
                row: dict[str, Cell] = {
                    "data": city.recording.name,
                    "measure": MEASURES[measure],
                    "system": label(name),
                }
                row.update({f"slot {slot}": float(values[:, slot].mean()) for slot in _shown(city)})
                row["all slots"] = float(values[:, 1:].mean())
                row["surrogates"] = float(np.mean([one.surrogates[1:].mean() for one in all_of]))
                rows.append(row)
                curves[measure][system(name).look] = _smooth(values.mean(axis=0))
        each += _each_slot(city, found)
        upper.append(_panel(city.recording.name, city, curves["degree"], MEASURES["degree"]))
        lower.append(_panel(city.recording.name, city, curves["error"], MEASURES["error"]))
    title = "Figure 11: protection and error over time"
    remarks = (
        "means over sequences; all slots: from slot 1 on; degree of protection: possible cells that the noise's hull "
        "around the true one holds, itself included; error: kilometres between released point and true cell's centre",
        "surrogates: the share of slots whose true cell lies outside the support and is released as the nearest inside",
    )
    chart = partial(lines.courses, title, of.caption, (upper, lower))
    return Figure("figure11", title, of.note, Sheet.of(rows), Sheet.of(each), remarks, chart)


def _points(
    of: Sequences, which: Literal["12", "13"], city: City
) -> tuple[tuple[float, ...], dict[str, list[Parameters]]]:
    """What is swept, and each system's runs over it."""
    if which == "12":
        return EPSILONS, {
            name: [Parameters(name, epsilon, city.recording.radius if name == "util" else None) for epsilon in EPSILONS]
            for name in SYSTEMS
        }
    radii = city.recording.radii
    return tuple(radius / KILOMETRE for radius in radii), {
        "util": [Parameters("util", of.setting.epsilon, radius) for radius in radii],
        "dpls": [of.run_of(city, "dpls")] * len(radii),
    }


def swept(of: Sequences, which: Literal["12", "13"]) -> Figure:
    """Figures 12 and 13: the same over epsilon, and over G_util's radius."""
    across = "epsilon" if which == "12" else "r, kilometres"
    rows: list[dict[str, Cell]] = []
    each: list[dict[str, Cell]] = []
    upper: list[lines.Panel] = []
    lower: list[lines.Panel] = []
    for city in of.cities:
        points, runs = _points(of, which, city)
        found = of.released(f"figure {which}", city, [run for own in runs.values() for run in own])
        for measure, panels in (("degree", upper), ("error", lower)):
            means = {
                name: tuple(float(np.mean([getattr(one, measure)[1:].mean() for one in found[run]])) for run in own)
                for name, own in runs.items()
            }
            for k, point in enumerate(points):
                row: dict[str, Cell] = {
                    "data": city.recording.name,
                    "measure": MEASURES[measure],
                    across: point,
                }
                row.update({label(name): values[k] for name, values in means.items()})
                rows.append(row)
            series = {system(name).look: values for name, values in means.items()}
            panels.append(
                lines.Panel(
                    city.recording.name,
                    across,
                    points,
                    series,
                    MEASURES[measure],
                    measure == "error",
                    which == "12",
                )
            )
        for name, own in runs.items():
            for point, run in zip(points, own, strict=True):
                each += [
                    {
                        "data": city.recording.name,
                        "system": label(name),
                        across: point,
                        "sequence": number,
                        MEASURES["degree"]: float(one.degree[1:].mean()),
                        MEASURES["error"]: float(one.error[1:].mean()),
                    }
                    for number, one in enumerate(found[run], 1)
                ]
    title = f"Figure {which}: " + ("the effect of epsilon" if which == "12" else "the effect of G_util's radius")
    remarks = ("means over sequences and over the slots from 1 on",)
    chart = partial(lines.courses, title, of.caption, (upper, lower))
    return Figure(f"figure{which}", title, of.note, Sheet.of(rows), Sheet.of(each), remarks, chart)


def hulls(of: Sequences) -> Figure:
    """What makes G_util's hull: its own edges, or those added for cells that have no neighbour within r."""
    rows: list[dict[str, Cell]] = []
    panels = []
    for city in of.cities:
        chain, query = city.chain(of.setting.slots), city.query
        inside = chain.prior[-1] > 0
        radii = (*city.recording.radii, *FURTHER)
        areas: dict[str, list[float]] = {"own edges": [], "with added": []}
        for radius in radii:
            run = Parameters("util", of.setting.epsilon, radius)
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
        series = {look: tuple(areas[look.label]) for look in lines.in_turn(list(areas))}
        across = tuple(radius / KILOMETRE for radius in radii)
        panels.append(lines.Panel(city.recording.name, "r, kilometres", across, series, "hull, square kilometres"))
    title = "What makes G_util's hull"
    remarks = ("areas in square kilometres, for the cells that are possible at the end when any start is",)
    chart = partial(lines.amounts, title, of.caption, tuple(panels))
    return Figure("hulls", title, of.note, Sheet.of(rows), NOBODY, remarks, chart)


def noise(of: Sequences) -> Figure:
    """K-norm noise beside Laplace's, on the sequences and for one hull."""
    rows: list[dict[str, Cell]] = []
    bars = {}
    for city in of.cities:
        runs = {name: of.run_of(city, name) for name in SYSTEMS}
        laplace = {name: Parameters(run.system, run.epsilon, run.radius, "laplace") for name, run in runs.items()}
        found = of.released("noise", city, [*runs.values(), *laplace.values()])
        for name in SYSTEMS:
            errors = [
                float(np.mean([one.error[1:].mean() for one in found[run]])) for run in (runs[name], laplace[name])
            ]
            lengths = _lengths(of, city, runs[name])
            rows.append(
                {
                    "data": city.recording.name,
                    "system": label(name),
                    "K-norm": errors[0],
                    "Laplace": errors[1],
                    "ratio": errors[1] / errors[0],
                    "one hull: drawn": lengths["K-norm"],
                    "one hull: isotropic": lengths["isotropic"],
                }
            )
            bars[f"{city.recording.name}, {label(name)}"] = [
                released.error[1:].mean() / other.error[1:].mean()
                for released, other in zip(found[runs[name]], found[laplace[name]], strict=True)
            ]
    title = "Noise shaped by the hull, and Laplace noise"
    remarks = (
        "kilometres, means over sequences and slots; ratio: Laplace's error by K-norm's",
        f"one hull: the mean length of {DRAWS} draws for the cells possible at the end, drawn from the hull and by "
        "way of its isotropic position (the planar isotropic mechanism): the same law, so equal but for chance "
        "(a standard error of 0.2 % each)",
    )
    chart = partial(marks.strips, title, of.caption, bars, across="error with K-norm noise, as a share of Laplace's")
    return Figure("noise", title, of.note, Sheet.of(rows), NOBODY, remarks, chart)


def _lengths(of: Sequences, city: City, run: Parameters) -> dict[str, float]:
    chain = city.chain(of.setting.slots)
    mechanism = mechanism_of(run, chain, city.query, graph_of(run, chain, city.query, city.side))
    (hull,) = mechanism.kernel_for(chain.prior[-1] > 0).hulls
    # A seed of its own for each row: with one for all, a single chance deviation would look like a bias in every row.
    own = seed_for(of.setting.seed, 0, f"{city.recording.name} {run.system} lengths")
    lengths = noise_of(hull, run.epsilon, DRAWS, own)
    return {name: city.side * length for name, length in lengths.items()}


def way(of: Sequences) -> Figure:
    """A way drawn from the learned chain, so that it is nobody's."""
    city = of.cities[0]
    run = Parameters("util", of.setting.epsilon, city.recording.radius)
    slots = min(MAPPED, of.setting.slots)
    habits = city.chain(slots)
    (track,) = habits.sample_codes(1, of.setting.seed)
    chain = MarkovChain.homogeneous(city.contexts, np.eye(len(city.contexts))[track[0]], habits.transitions[0], slots)
    mechanism = mechanism_of(run, chain, city.query, graph_of(run, chain, city.query, city.side))
    one = release(mechanism, track, SeededEntropy(of.setting.seed), city.side)
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
    return Figure("map", title, note, Sheet.of(rows), NOBODY, (), chart)


MEASURES = {"degree": "degree of protection", "error": "error, km"}


def _shown(city: City) -> list[int]:
    return [slot for slot in SHOWN if slot < city.tracks.shape[1]]


def _smooth(values: FloatArray) -> tuple[float, ...]:
    """The moving mean of the slots from 1 on, with fewer at the ends."""
    known = np.asarray(values[1:], dtype=np.float64)
    window = np.ones(min(SMOOTHED, len(known)))
    share = np.convolve(np.ones(len(known)), window, "same")
    return tuple((np.convolve(known, window, "same") / share).tolist())


def _panel(
    title: str, city: City, curves: dict[Look, tuple[float, ...]], up: str, *, logarithmic: bool = False
) -> lines.Panel:
    slots = tuple(float(slot) for slot in range(1, city.tracks.shape[1]))
    return lines.Panel(title, "slot", slots, curves, up, logarithmic)


def _each_slot(city: City, found: dict[str, list[Measured]]) -> list[dict[str, Cell]]:
    """A row a system, sequence and slot; no place is named."""
    return [
        {
            "data": city.recording.name,
            "system": label(name),
            "sequence": number,
            "slot": slot,
            "possible": int(one.possible[slot]),
            MEASURES["degree"]: int(one.degree[slot]),
            MEASURES["error"]: float(one.error[slot]),
            "seconds": float(one.unkept[slot]),
            "seconds, kept": float(one.seconds[slot]),
        }
        for name, all_of in found.items()
        for number, one in enumerate(all_of, 1)
        for slot in range(len(one.degree))
    ]
