"""DPHMM's experiments on made-up walks: what is measured against plain recomputation, and the paper's shape."""

from __future__ import annotations

import csv
import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import DataError, DiscreetError
from discreet.mechanisms.perturbation import degrees_of_protection
from discreet.models import MarkovChain
from discreet.places import Plane
from discreet_experiments.dphmm.city import City, read_city
from discreet_experiments.dphmm.families import FAMILIES, judge, scene_of
from discreet_experiments.dphmm.person import Parameters, Work, graph_of, mechanism_of, noise_of, work
from discreet_experiments.dphmm.run import DphmmReproduction
from discreet_experiments.dphmm.sequences import Trial
from discreet_experiments.shared.positions import BEIJING, LOS_ANGELES, Recording
from tests.experiments.quiet import quiet
from tests.experiments.recorded import RECORDED

SLOTS = 12
RUNS = (Parameters("util", 1.0, 1000.0), Parameters("trs"), Parameters("dpls"))


def made_up_walks(folder: Path, recordings: tuple[Recording, ...] = (BEIJING, LOS_ANGELES), steps: int = 60) -> Path:
    """A file for each: four people who wander over a square of 7 x 7 cells, most often to a neighbour."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, recording in enumerate(recordings):
        rng, plane = np.random.default_rng(number), Plane(40.0, 116.0)
        rows = []
        for user in range(4):
            place = rng.integers(0, 7, 2)
            for step in range(steps):
                place = np.clip(place + rng.integers(-1, 2, 2), 0, 6)
                latitude, longitude = plane.degrees((place + rng.uniform(0.2, 0.8, 2)) * recording.side)[0]
                rows.append((user, 1_300_000_000 + 60 * step, latitude, longitude, ""))
        with gzip.open(folder / recording.file, "wt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("user", "timestamp", "lat", "lon", "mode"))
            writer.writerows(rows)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up_walks(tmp_path_factory.mktemp("walks"))


@pytest.fixture(scope="module")
def city(folder: Path) -> City:
    return read_city(folder, BEIJING, 3, SLOTS)


def test_a_city_is_cells_and_steps(city: City) -> None:
    assert len(city.contexts) <= 64
    assert city.tracks.shape == (3, SLOTS)
    assert city.found == 4 * (60 // SLOTS)
    assert city.visits.sum() == 240
    assert city.counts.sum() == 4 * 59  # nobody leaps, nothing is missing
    transition = city.transition()
    assert transition.sum(axis=1) == pytest.approx(1)
    for track in city.tracks:
        assert (transition[track[:-1], track[1:]] > 0).all()  # the chain was learned from them
    apart = np.linalg.norm(city.query[city.rows] - city.query[city.columns], axis=1)
    assert apart.max() < 3.5  # a neighbour, or one more cell by the grid's own cut
    assert (city.query * 2 == np.rint(city.query * 2)).all()
    assert np.abs(city.query * 340 - city.grid.metres(city.contexts)).max() < 1e-6


def test_what_is_measured_is_what_was_released(city: City) -> None:
    (found,) = work(Work(city, (1,), RUNS, seed=4))
    track = city.tracks[1]
    initial = np.eye(len(city.contexts))[track[0]]
    chain = MarkovChain.homogeneous(city.contexts, initial, city.transition(), SLOTS)
    for run in RUNS:
        one = found[run]
        assert one.possible[0] == one.degree[0] == 1  # the start is known
        assert one.error[0] == 0  # and its answer is on the lattice
        plain = np.linalg.norm(one.points - city.query[track] * 0.34, axis=1)
        assert one.error == pytest.approx(plain)
        assert (one.degree >= np.minimum(2, one.possible)).all()  # nobody is exposed
        assert (one.degree <= one.possible).all()
        assert (one.unkept >= one.seconds).all()
        if run.system != "dpls":
            assert not one.surrogates.any()
            mechanism = mechanism_of(run, chain, city.query, graph_of(run, chain, city.query, city.side))
            inside = chain.prior[SLOTS - 1] > 0
            assert one.possible[-1] == inside.sum()  # no output rules a cell out, where hulls have two dimensions
            kernel = mechanism.kernel_for(inside)
            assert one.degree[-1] == degrees_of_protection(kernel.hulls[0], city.query, inside)[track[-1]]
    again = work(Work(city, (0, 1), RUNS, seed=4))[1]
    assert all((again[run].points == found[run].points).all() for run in RUNS)  # however the work is split


def test_the_papers_shape(city: City) -> None:
    epsilons = (0.5, 1.0, 4.0)
    runs = tuple(replace(run, epsilon=epsilon) for run in RUNS for epsilon in epsilons)
    found = work(Work(city, (0, 1, 2), runs))

    def mean(run: Parameters, measure: str) -> float:
        return float(np.mean([getattr(one[run], measure)[1:].mean() for one in found]))

    util, trs, _ = (replace(run, epsilon=1.0) for run in RUNS)
    assert mean(trs, "degree") > mean(util, "degree")
    assert mean(util, "error") < mean(trs, "error")
    for run in RUNS:
        at = [replace(run, epsilon=epsilon) for epsilon in epsilons]
        assert mean(at[0], "error") > mean(at[1], "error") > mean(at[2], "error")
        if run.system != "dpls":  # what is possible does not depend on the noise: equal, slot by slot
            for one in found:
                assert all((one[other].degree == one[at[0]].degree).all() for other in at)


def test_isotropic_noise_is_the_same_law(city: City) -> None:
    chain = MarkovChain.homogeneous(city.contexts, city.visits / city.visits.sum(), city.transition(), SLOTS)
    (hull,) = (
        mechanism_of(RUNS[1], chain, city.query, graph_of(RUNS[1], chain, city.query, city.side))
        .kernel_for(chain.prior[-1] > 0)
        .hulls
    )
    lengths = noise_of(hull, 1.0, 200_000, 7)
    # A length's standard deviation is below its mean here, so the ratio of two means errs by 0.0032 at most: 6 of them.
    assert lengths["isotropic"] / lengths["K-norm"] == pytest.approx(1, abs=0.02)


def test_figures_have_a_row_for_each(folder: Path, tmp_path: Path) -> None:
    reproduction = DphmmReproduction(quiet(folder), Trial(sequences=2, slots=SLOTS))
    ten, eleven, twelve, thirteen = (reproduction.figure(which) for which in ("10", "11", "12", "13"))
    assert len(ten.summary.rows) == 2 * 3
    assert len(eleven.summary.rows) == 2 * 2 * 3
    assert len(eleven.people.rows) == 2 * 3 * 2 * SLOTS
    assert len(twelve.summary.rows) == 2 * 2 * 5
    assert len(thirteen.summary.rows) == 2 * 2 * 4
    at = {(row["data"], row["measure"], row.get("epsilon")): row for row in twelve.summary.records()}
    over = {(row["data"], row["measure"], row["system"]): row["all slots"] for row in eleven.summary.records()}
    for (data, measure, system), value in over.items():
        assert at[data, measure, 1.0][str(system)] == pytest.approx(value)  # one run serves both
    hulls = reproduction.figure("hulls")
    for row in hulls.summary.records():
        own, whole = float(row["area, own edges"] or 0), float(row["area, with added"] or 0)
        assert whole == pytest.approx(own) if row["edges added"] == 0 else whole >= own
        assert (row["edges added"] == 0) == (row["without neighbour"] == 0)  # the made-up cells lie close together
    noise, way = reproduction.figure("noise"), reproduction.figure("map")
    for row in noise.summary.records():
        assert float(row["ratio"] or 0) == pytest.approx(float(row["Laplace"] or 0) / float(row["K-norm"] or 1))
    assert len(way.summary.rows) == SLOTS
    for figure in (ten, eleven, twelve, hulls, noise, way):
        figure.draw(tmp_path / f"{figure.name}.png")
        assert (tmp_path / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")


def test_both_families_are_judged_alike(city: City) -> None:
    scene = scene_of(city, 0, cells=4, slots=3, days=8)
    judged = {family.name: judge((k, family), scene) for k, family in enumerate(FAMILIES)}
    delta = scene.policy.delta
    for name, one in judged.items():
        assert one.met <= one.bound + 1e-9, name
        assert one.found <= one.bound + 1e-9, name
        if one.promise == "delta":
            assert one.holds
            assert one.met <= delta + 1e-9
    assert judged["NoMask"].truthful == 1
    assert judged["NoMask"].error == pytest.approx(0, abs=1e-9)
    assert judged["NoMask"].found == pytest.approx(judged["NoMask"].bound)  # audited exactly
    # Noise of epsilon 1 on the graph of neighbours promises nothing about the secret, and less noise tells more.
    assert judged["Dphmm G_util, 1"].found > delta
    assert judged["Dphmm complete, 0.1"].bound < judged["Dphmm complete, 1"].bound
    assert judged["Dphmm complete, 0.1"].error > judged["Dphmm complete, 1"].error


def test_bad_plans_and_data_are_told(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DiscreetError, match="0 sequences"):
        read_city(folder, BEIJING, 0, SLOTS)
    with pytest.raises(DataError, match="lower --slots"):
        read_city(folder, BEIJING, 2, 1000)
    with pytest.raises(DataError, match="no such file"):
        read_city(tmp_path, BEIJING, 2, SLOTS)
    with pytest.raises(DiscreetError, match="start="):
        Trial(start="home")  # type: ignore[arg-type]


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded data is not part of the project")
def test_on_recorded_walks_the_papers_shape_holds() -> None:
    city = read_city(RECORDED, LOS_ANGELES, 3, 20)
    found = work(Work(city, (0, 1, 2), (Parameters("util", 1.0, 2000.0), Parameters("trs"), Parameters("dpls"))))
    mean = {
        (run.system, measure): float(np.mean([getattr(one[run], measure)[1:].mean() for one in found]))
        for run in found[0]
        for measure in ("degree", "error")
    }
    assert mean["trs", "degree"] > mean["dpls", "degree"] > mean["util", "degree"]
    assert mean["util", "error"] < min(mean["trs", "error"], mean["dpls", "error"])
