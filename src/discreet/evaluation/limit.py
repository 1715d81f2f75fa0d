"""The limit: what the best causal mechanism could release, by one linear programme on tiny models (theory section 4).

A mechanism that may look at the whole true past, and at everything it output, is a tree of choices with perfect recall,
so its sequence form is linear. For a path x of contexts up to slot t and outputs h of the same slots let
    y(x, h) = P(contexts x, outputs h).
Such numbers come from some causal mechanism iff they are non-negative and, for every x, h and context c that can
follow,
    sum over o of y(x c, h o) = P(c | x) y(x, h):
outputs up to a slot do not depend on what comes after it. The expected releases are the sum of y(x, h) over all x, h
whose last output is the last context. Delta-privacy asks for every complete h and every event j (a secret at a slot, or
a secret at="any") with prior q_j
    sum over x of y(x, h) (1{x in j} - q_j - delta_j) <= 0,
and prefixes of h need no rows of their own: a prefix's posterior is an average of its completions'.

Outputs that are neither the truth nor needed are left out. With `"deceive"` these are silence and contexts that are
impossible at the slot: adding the masses of such an output to those of a possible one, history by history, keeps every
equation and every inequality (they are homogeneous in the outputs' masses) and loses no release.

With `shown` the contexts are more than what is released: outputs are then the labels that contexts have there, and a
release is the own label. So a hidden Markov model becomes the chain of its pairs (state, context), whose mechanisms see
the hidden state as well and release contexts: whatever a mechanism of the model can do, one of these can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from discreet.contracts import Model
from discreet.errors import DiscreetError
from discreet.numerics import FloatArray
from discreet.policy import Policy

LARGEST = 30_000
"""Variables beyond which the programme is refused, because it would take minutes. Dense chains pass up to
5 contexts over 3 slots, 3 over 4 and 2 over 7 with fakes, 5 over 4 and 3 over 5 with silence: seconds each."""

FEASIBILITY = 1e-10
"""The solver's tolerances, the smallest it takes: the limit is then good to about 1e-9."""

Outputs = Literal["suppress", "deceive"]


@dataclass(frozen=True)
class Limit:
    """What the best causal mechanism releases: a fraction of the slots (`float()` gives it), and in slots."""

    utility: float
    expected_releases: float

    def __float__(self) -> float:
        return self.utility


def limit(
    model: Model, policy: Policy, outputs: Outputs = "suppress", *, shown: Mapping[str, str] | None = None
) -> Limit:
    """The largest expected utility of any causal mechanism that keeps every secret within its delta.

    `"suppress"` allows the truth or silence, `"deceive"` any context. Secrets at="any", with slots and over several
    contexts are all bounded. On a hidden Markov model the mechanism sees contexts, not hidden states. `shown` gives
    contexts the label that a release shows, several perhaps the same; without it each shows itself. The programme grows with (contexts x outputs) to the power of the slots; beyond `LARGEST` variables it is refused.
    """
    if outputs not in get_args(Outputs):
        raise DiscreetError(f"outputs={outputs!r} is not known; use 'suppress' or 'deceive'")
    programme = _Programme(model, policy, outputs, _labels(model.contexts, shown))
    releases = min(max(programme.solve(), 0.0), float(model.slots))
    return Limit(releases / model.slots, releases)


class _Path(NamedTuple):
    """A path of contexts up to some slot: where it comes from, its last context, and P(last | those before)."""

    contexts: tuple[int, ...]
    parent: int
    step: float
    ahead: FloatArray  # (K,): P(contexts, hidden state)


class _Programme:
    """Variables are numbered slot by slot: each is a path and a history, a tuple of output codes (n for silence)."""

    def __init__(self, model: Model, policy: Policy, outputs: Outputs, labels: Sequence[int]) -> None:
        self.model, self.labels = model, labels
        self.possible = [np.flatnonzero(row).tolist() for row in model.prior]
        self.shows = [list(dict.fromkeys(labels[c] for c in possible)) for possible in self.possible]
        self.deceive = outputs == "deceive"
        self.levels = self._paths()
        self._refuse_if_large()
        self.events, self.bounds = _events(model, policy, [path.contexts for path in self.levels[-1]])
        self.priors = self.events @ np.array([path.ahead.sum() for path in self.levels[-1]])
        self.worth: list[float] = []  # by variable
        self.equal: list[tuple[int, int, float]] = []  # (row, variable, coefficient)
        self.right: list[float] = []  # by row of equal
        self.last: list[tuple[int, int, int]] = []  # of the last slot: (variable, path, number of the history)
        self._build()

    def _paths(self) -> list[list[_Path]]:
        """Per slot the paths of positive probability; hidden states are summed over by the forward recursion."""
        model = self.model
        levels: list[list[_Path]] = []
        for t in range(model.slots):
            before = levels[-1] if t else [_Path((), -1, 1.0, model.initial)]
            found = []
            for number, path in enumerate(before):
                moved = path.ahead @ model.transitions[t - 1] if t else path.ahead
                for c in self.possible[t]:
                    ahead = moved * (model.emissions[t][:, c] if model.emissions is not None else _one_hot(moved, c))
                    if ahead.sum() > 0:
                        found.append(_Path((*path.contexts, c), number, float(ahead.sum() / path.ahead.sum()), ahead))
            if len(found) > LARGEST:
                self._refuse(len(found))
            levels.append(found)
        return levels

    def _refuse_if_large(self) -> None:
        size, histories = 0, 1
        for t, paths in enumerate(self.levels):
            histories *= len(self.shows[t]) if self.deceive else 2
            size += histories * len(paths)
        if size > LARGEST:
            self._refuse(size)

    def _refuse(self, size: int) -> None:
        raise DiscreetError(
            f"the limit of {len(self.model.contexts)} contexts over {self.model.slots} slots needs {size} variables or more, "
            f"and {LARGEST} are allowed; it is a yardstick for tiny models: use fewer contexts or slots"
        )

    def _allowed(self, slot: int, context: int) -> Sequence[int]:
        return self.shows[slot] if self.deceive else (self.labels[context], len(self.model.contexts))

    def _build(self) -> None:
        """One variable for each path and history, one equation for each path and history of the slot before."""
        level: list[dict[tuple[int, ...], int]] = []  # per path of the slot before: {history: variable}
        histories: dict[tuple[int, ...], int] = {}
        for t, paths in enumerate(self.levels):
            following: list[dict[tuple[int, ...], int]] = []
            for number, path in enumerate(paths):
                here: dict[tuple[int, ...], int] = {}
                for history, before in (level[path.parent] if t else {(): -1}).items():
                    row = len(self.right)
                    self.right.append(0.0 if t else path.step)
                    if t:
                        self.equal.append((row, before, -path.step))
                    for output in self._allowed(t, path.contexts[-1]):
                        variable = len(self.worth)
                        self.worth.append(float(output == self.labels[path.contexts[-1]]))
                        self.equal.append((row, variable, 1.0))
                        here[*history, output] = variable
                        if t + 1 == len(self.levels):
                            whole = histories.setdefault((*history, output), len(histories))
                            self.last.append((variable, number, whole))
                following.append(here)
            level = following

    def _private(self) -> Any:
        """The privacy rows: (complete histories x events that could exceed their bound, variables), sparse."""
        from scipy.sparse import csr_array

        rows, columns, values = [], [], []
        for j, (event, bound) in enumerate(zip(self.events, self.priors + self.bounds, strict=True)):
            if bound >= 1:
                continue
            for variable, path, history in self.last:
                rows.append(history * len(self.events) + j)
                columns.append(variable)
                values.append(event[path] - bound)
        if not rows:
            return None
        numbers, packed = np.unique(rows, return_inverse=True)
        return csr_array((values, (packed, columns)), shape=(len(numbers), len(self.worth)))

    def solve(self) -> float:
        """The expected number of releases."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        rows, columns, values = zip(*self.equal, strict=True)
        private = self._private()
        options = {"primal_feasibility_tolerance": FEASIBILITY, "dual_feasibility_tolerance": FEASIBILITY}
        for method in ("highs-ds", "highs-ipm"):
            result = linprog(
                -np.array(self.worth),
                A_ub=private,
                b_ub=None if private is None else np.zeros(private.shape[0]),
                A_eq=csr_array((values, (rows, columns)), shape=(len(self.right), len(self.worth))),
                b_eq=self.right,
                bounds=(0, None),
                method=method,
                options=options,
            )
            if result.status == 0:
                return -float(result.fun)
        raise DiscreetError(f"the solver gave up on the limit: {result.message}")


def _labels(contexts: tuple[str, ...], shown: Mapping[str, str] | None) -> list[int]:
    """The number of each context's label: that of the first context with it."""
    names = list(contexts) if shown is None else [shown.get(context, context) for context in contexts]
    return [names.index(name) for name in names]


def _one_hot(vector: FloatArray, index: int) -> FloatArray:
    kept = np.zeros_like(vector)
    kept[index] = 1.0
    return kept


def _events(model: Model, policy: Policy, paths: list[tuple[int, ...]]) -> tuple[FloatArray, FloatArray]:
    """(J, paths): whether the path is in the event, and the deltas (J,): secrets at each slot, then those at="any"."""
    table = policy.for_model(model.contexts, model.slots)
    inside = table.members[:, np.array(paths)] & table.active[:, None, :]  # (G, paths, T)
    events = [inside[g, :, slot] for slot, g in table.rows]
    deltas = [table.deltas[g] for _, g in table.rows]
    for g in np.flatnonzero(table.any_slot):
        events.append(inside[g].any(axis=1))
        deltas.append(table.deltas[g])
    return np.array(events, dtype=np.float64).reshape(len(events), len(paths)), np.array(deltas, dtype=np.float64)
