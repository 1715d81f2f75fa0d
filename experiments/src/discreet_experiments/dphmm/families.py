"""Both families on the same cells: mechanisms that bound the gain on a secret, and noise that bounds ratios over edges.

A common measure of what is left to learn is how far the observer's best point, the mean of the belief, is from the
truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet.adversary.audit import audit
from discreet.adversary.belief import Adversary
from discreet.adversary.process import SeenProcess
from discreet.evaluation.replay import replay
from discreet.models.chain.markov import MarkovChain
from discreet.numerics import FloatArray
from discreet.outputs import Released
from discreet.places import Grid
from discreet.policy import Policy
from discreet.randomness import SeededEntropy
from discreet_experiments.charts import marks
from discreet_experiments.dphmm.city import KILOMETRE, City
from discreet_experiments.dphmm.person import Parameters, graph_of, mechanism_of
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import NOBODY, Figure
from discreet_experiments.shared.sheets import Cell, Sheet
from discreet_experiments.shared.subjects import seed_for
from discreet_experiments.shared.systems import build, system

SIDE = 2000.0
"""Metres of a cell here: a secret must be a place, and mechanisms of the first family plan over all cells."""

BUDGET = 20_000
"""Kernels that an audit's searches may look at."""


@dataclass(frozen=True, eq=False)
class Scene:
    """The most visited large cells, a day of some steps between them, and one of them as the secret."""

    chain: MarkovChain
    query: FloatArray  # (n, 2), kilometres
    policy: Policy
    days: int
    seed: int
    radius: float = 3000.0

    @property
    def secret(self) -> str:
        """Its label."""
        return self.policy.secrets[0].name


@dataclass(frozen=True)
class Family:
    """A mechanism by name."""

    name: str
    promise: str
    make: Callable[[Scene], Any]


def _noisy(name: str, epsilon: float, scene: Scene) -> Any:
    run = Parameters(name, epsilon, scene.radius if name == "util" else None)
    return mechanism_of(run, scene.chain, scene.query, graph_of(run, scene.chain, scene.query, 1.0))


def _first(name: str, scene: Scene) -> Any:
    return build(name, scene.chain, scene.policy)


GRAPHS: dict[str, str] = {"util": "G_util", "trs": "G_trs", "complete": "complete"}

FAMILIES: tuple[Family, ...] = (
    *(
        Family(one.label, "delta" if one.proven else "none", partial(_first, one.name))
        for one in map(system, ("no-mask", "hybrid", "suppress", "deceive"))
    ),
    *(
        Family(f"Dphmm {graph}, {epsilon:g}", f"epsilon {epsilon:g} over edges", partial(_noisy, name, epsilon))
        for name, graph in GRAPHS.items()
        for epsilon in (1.0, 0.1)
    ),
    Family("DPLS, 1", "epsilon 1 in the set", partial(_noisy, "dpls", 1.0)),
)


def scene_of(city: City, seed: int, *, cells: int = 8, slots: int = 6, days: int = 50, delta: float = 0.1) -> Scene:
    """Join the city's cells to large ones, keep the most visited, and the steps among them; the secret is drawn."""
    large = Grid(SIDE, city.grid.plane).labels(city.grid.centres(city.contexts))
    visits: dict[str, int] = {}
    for label, count in zip(large, city.visits.tolist(), strict=True):
        visits[label] = visits.get(label, 0) + count
    kept = sorted(visits, key=lambda label: (-visits[label], label))[:cells]
    number = {label: k for k, label in enumerate(kept)}
    place = np.array([number.get(label, -1) for label in large])
    steps = np.zeros((len(kept), len(kept)))
    inside = (place[city.rows] >= 0) & (place[city.columns] >= 0)
    np.add.at(steps, (place[city.rows[inside]], place[city.columns[inside]]), city.counts[inside])
    steps[steps.sum(axis=1) == 0] = np.eye(len(kept))[steps.sum(axis=1) == 0]
    names = tuple(f"cell {k}" for k in range(1, len(kept) + 1))  # by visits; no place is named
    initial = np.array([visits[label] for label in kept], dtype=np.float64)
    chain = MarkovChain.homogeneous(names, initial / initial.sum(), steps / steps.sum(axis=1, keepdims=True), slots)
    secret = names[SeededEntropy(seed_for(seed, 0, "secret")).below(len(names))]
    query = Grid(SIDE, city.grid.plane).metres(kept) / KILOMETRE
    return Scene(chain, query, Policy([secret], delta=delta), days, seed)


@dataclass(frozen=True)
class Verdict:
    """One mechanism: what the audit says of the secret, and what an observer of drawn days is left with."""

    name: str
    promise: str
    found: float
    bound: float
    holds: bool | None
    met: float  # the worst gain on the drawn days
    truthful: float  # the share of slots with the true cell released
    error: float  # kilometres from the belief's mean to the truth


def judge(item: tuple[int, Family], scene: Scene) -> Verdict:
    """Audit it, then release days drawn from the chain."""
    number, family = item
    mechanism = family.make(scene)
    result = audit(mechanism, policy=scene.policy, budget=BUDGET)
    rng = SeededEntropy(seed_for(scene.seed, number, "families"))
    met, truthful, errors = 0.0, 0, []
    adversary = Adversary(mechanism, policy=scene.policy)
    places = adversary.process.contexts if isinstance(adversary.process, SeenProcess) else np.arange(len(scene.query))
    for moment in replay(mechanism, scene.chain.sample(scene.days, scene.seed), rng=rng, judge=adversary):
        truthful += moment.output == Released(moment.context)
        mean = np.bincount(places, weights=moment.belief.weights, minlength=len(scene.query)) @ scene.query
        errors.append(float(np.linalg.norm(mean - scene.query[scene.chain.index_of(moment.context)])))
        met = max(met, float(moment.belief.gains.max()))
    told, error = truthful / len(errors), float(np.mean(errors))
    return Verdict(family.name, family.promise, result.worst_gain, result.bound, result.holds, met, told, error)


def families(cohort: Cohort, city: City, seed: int) -> Figure:
    """The table and a chart of what the observer is left with."""
    scene = scene_of(city, seed)
    judged = cohort.over("both families", partial(judge, scene=scene), list(enumerate(FAMILIES)))
    rows: list[dict[str, Cell]] = [
        {
            "mechanism": one.name,
            "promise": one.promise,
            "worst gain found": one.found,
            "bound": one.bound,
            "within delta": {True: "yes", False: "no", None: "open"}[one.holds],
            "on drawn days": one.met,
            "truth released": one.truthful,
            "observer's error, km": one.error,
        }
        for one in judged
    ]
    title = "Both families on the same cells"
    chain = scene.chain
    note = (
        f"{city.recording.name}: the {len(chain.contexts)} most visited cells of {SIDE / KILOMETRE:g} km, "
        f"{chain.slots} slots, secret: one of them, delta {scene.policy.delta:g}; {scene.days} days drawn from the "
        "chain"
    )
    remarks = (
        "worst gain found and bound: the audit's interval for the gain on the secret, at any slot, after any outputs",
        "observer's error: kilometres from the mean of the belief to the true cell's centre, mean over days and slots",
    )
    chart = partial(
        marks.pairs,
        title,
        note,
        tuple((one.name, one.found, min(one.bound, 1.0), one.error) for one in judged),
        delta=scene.policy.delta,
    )
    return Figure("families", title, note, Sheet.of(rows), NOBODY, remarks, chart)
