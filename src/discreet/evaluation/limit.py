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
`limit_programme` solves it, and proves what it found.

Outputs that are neither the truth nor needed are left out. With `"deceive"` these are silence and contexts that are
impossible at the slot: adding the masses of such an output to those of a possible one, history by history, keeps every
equation and every inequality (they are homogeneous in the outputs' masses) and loses no release.

With `shown` the contexts are more than what is released: outputs are then the labels that contexts have there, and a
release is the own label. So a hidden Markov model becomes the chain of its pairs (state, context), whose mechanisms see
the hidden state as well and release contexts: whatever a mechanism of the model can do, one of these can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

import numpy as np

from discreet.contracts import DayModel, require_end
from discreet.errors import DiscreetError
from discreet.evaluation.limit_programme import Booleans, Integers, Level, Programme
from discreet.given import checked_pair
from discreet.numerics import FloatArray, slack_of
from discreet.policy import Policy

LARGEST = 30_000
"""Variables beyond which the programme is refused, because it would take minutes. Dense chains pass up to
5 contexts over 3 slots, 3 over 4 and 2 over 7 with fakes, 5 over 4 and 3 over 5 with silence: seconds each."""

Outputs = Literal["suppress", "deceive"]


@dataclass(frozen=True)
class Limit:
    """What the best causal mechanism releases: a fraction of the slots (`float()` gives it), and in slots.

    Both sides are proven. A mechanism that was checked reaches `expected_releases`, and keeps every delta and the odds
    that follow from it to 2**-40 of themselves; none that keeps every delta can add more than `gap`.
    """

    utility: float
    expected_releases: float
    gap: float = 0.0

    def __float__(self) -> float:
        return self.utility


def limit(
    model: DayModel,
    policy: Policy,
    outputs: Outputs = "suppress",
    *,
    shown: Mapping[str, str] | None = None,
    slack: bool = True,
) -> Limit:
    """The largest expected utility of any causal mechanism that keeps every secret within its delta.

    `"suppress"` allows the truth or silence, `"deceive"` any context. Secrets at="any", with slots and over several
    contexts are all bounded. On a hidden Markov model the mechanism sees contexts, not hidden states. `shown` gives
    contexts the label that a release shows, several perhaps the same; without it each shows itself. Beliefs may exceed
    their limits by the slack that mechanisms have (`numerics.slack_of`), or with `slack=False` by nothing.

    The programme grows with (contexts x outputs) to the power of the slots; beyond `LARGEST` variables it is refused.
    However small probabilities are, what is returned is proven to 1e-9 expected releases (`limit_programme`); where
    that fails, the error says what is known.
    """
    if outputs not in get_args(Outputs):
        raise DiscreetError(f"outputs={outputs!r} is not known; use 'suppress' or 'deceive'")
    checked_pair(model, policy, "limit")
    require_end(model, "give routine.since(date).unrolled(days)")
    tree = _Tree(model, outputs, _labels(model.contexts, shown))
    below, above = tree.programme(*_events(tree, policy, slack)).solve()
    return Limit(float(below) / model.slots, float(below), max(float(above - below), 0.0))


class _Path(NamedTuple):
    """A path of contexts up to some slot, where it comes from, and (K,) P(contexts, hidden state) as integers."""

    contexts: tuple[int, ...]
    parent: int
    ahead: Integers


class _Tree:
    """Paths of positive probability, level by level, and the shares of outputs that a mechanism may choose."""

    def __init__(self, model: DayModel, outputs: Outputs, labels: Sequence[int]) -> None:
        self.model, self.labels = model, labels
        self.deceive = outputs == "deceive"
        self.paths = self._paths()
        self.shows = [list(dict.fromkeys(labels[path.contexts[-1]] for path in paths)) for paths in self.paths]
        self._refuse_if_large()

    def _paths(self) -> list[list[_Path]]:
        """Per slot the paths of positive probability; hidden states are summed over by the forward recursion."""
        model = self.model
        emissions = np.eye(len(model.contexts))[None] if model.emissions is None else model.emissions
        emissions = np.broadcast_to(emissions, (model.slots, *emissions.shape[1:]))
        paths: list[list[_Path]] = []
        for t in range(model.slots):
            before = paths[-1] if t else [_Path((), -1, _as_integers(model.initial))]
            step = _as_integers(model.transitions[t - 1]) if t else None
            shown = _as_integers(emissions[t])
            found = []
            for number, path in enumerate(before):
                moved = path.ahead if step is None else path.ahead @ step
                for c in range(len(model.contexts)):
                    ahead = moved * shown[:, c]
                    if ahead.any():
                        found.append(_Path((*path.contexts, c), number, ahead))
            if len(found) > LARGEST:
                self._refuse(len(found))
            paths.append(found)
        return paths

    def _refuse_if_large(self) -> None:
        size, histories = 0, 1
        for shows, paths in zip(self.shows, self.paths, strict=True):
            histories *= len(shows) if self.deceive else 2
            size += histories * len(paths)
        if size > LARGEST:
            self._refuse(size)

    def _refuse(self, size: int) -> None:
        raise DiscreetError(
            f"the limit of {len(self.model.contexts)} contexts over {self.model.slots} slots needs {size} variables "
            f"or more, and {LARGEST} are allowed; it is a yardstick for tiny models: use fewer contexts or slots"
        )

    def _allowed(self, slot: int, context: int) -> Sequence[int]:
        """The outputs, by code: labels, and one more for silence, which comes second."""
        return self.shows[slot] if self.deceive else (self.labels[context], len(self.model.contexts))

    def masses(self) -> list[Integers]:
        """P(path), times a common factor, so that each is the sum of those it continues in to the bit."""
        masses = [np.array([path.ahead.sum() for path in self.paths[-1]], dtype=object)]
        for t in range(self.model.slots - 1, 0, -1):
            before = np.full(len(self.paths[t - 1]), 0, dtype=object)
            np.add.at(before, np.array([path.parent for path in self.paths[t]]), masses[0])
            masses.insert(0, before)
        return masses

    def programme(self, members: Booleans, deltas: Sequence[float]) -> Programme:
        """One share for each path and history, one row for each path and history of the slot before."""
        levels: list[Level] = []
        known: list[list[tuple[tuple[int, ...], int]]] = [[((), 0)]]  # per path of the slot before: (history, share)
        for t, (paths, masses) in enumerate(zip(self.paths, self.masses(), strict=True)):
            parents: list[int] = []  # of each row, as are the next two
            owners, worths = [], []
            following: list[list[tuple[tuple[int, ...], int]]] = []
            for number, path in enumerate(paths):
                allowed, own = self._allowed(t, path.contexts[-1]), self.labels[path.contexts[-1]]
                here = []
                for history, share in known[path.parent if t else 0]:
                    first = len(parents) * len(allowed)
                    here += [((*history, output), first + k) for k, output in enumerate(allowed)]
                    parents.append(share)
                    owners.append(number)
                    worths.append([int(output == own) for output in allowed])
                following.append(here)
            known = following
            levels.append(Level(np.array(parents), np.array(owners), masses[owners], np.array(worths)))
        codes: dict[tuple[int, ...], int] = {}
        histories = np.array([codes.setdefault(history, len(codes)) for here in known for history, _ in here])
        quiet = 0 if self.deceive else 1
        return Programme(levels, histories.reshape(levels[-1].worths.shape), members, deltas, quiet)


def _labels(contexts: tuple[str, ...], shown: Mapping[str, str] | None) -> list[int]:
    """The number of each context's label: that of the first context with it."""
    names = list(contexts) if shown is None else [shown.get(context, context) for context in contexts]
    return [names.index(name) for name in names]


def _as_integers(rows: FloatArray) -> Integers:
    """Rows of probabilities as integers of one sum for all rows: what rounding left of a sum to one is divided out.

    It must be: with a delta of 1e-12 a prior that is off by 1e-16 would change the limit in the seventh digit.
    """
    ratios = [float(value).as_integer_ratio() for value in rows.ravel()]
    largest = max(below for _, below in ratios)
    exact = np.array([above * (largest // below) for above, below in ratios], dtype=object).reshape(rows.shape)
    sums = exact.sum(axis=-1, keepdims=True)
    return np.asarray(exact * (math.lcm(*np.ravel(sums).tolist()) // sums))


def _events(tree: _Tree, policy: Policy, slack: bool) -> tuple[Booleans, list[float]]:
    """(J, paths): whether the path is in the event, and the J deltas: secrets at each slot, then those at="any"."""
    table = policy.for_model(tree.model.contexts, tree.model.slots)
    paths, masses = [path.contexts for path in tree.paths[-1]], tree.masses()[-1]
    inside = table.members[:, np.array(paths)] & table.active[:, None, :]  # (G, paths, T)
    each = [(inside[g, :, slot], g) for slot, g in table.rows]
    events = each + [(inside[g].any(axis=1), g) for g in np.flatnonzero(table.any_slot).tolist()]
    members = np.array([event for event, _ in events], dtype=np.bool_).reshape(len(events), len(paths))
    priors = [float(Fraction(masses[event].sum(), masses.sum())) for event in members]
    own = table.policy.secrets
    deltas = [table.policy.row_delta(own[g], prior) for (_, g), prior in zip(events, priors, strict=True)]
    if slack:
        deltas = (np.array(deltas) + slack_of(np.array(priors) + np.array(deltas))).tolist()
    return members, deltas
