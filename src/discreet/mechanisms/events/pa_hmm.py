"""S-PPATP's PA-HMM (Li and Sun 2020, Algorithms 4 to 6): each event is published with a probability of its own.

The paper searches a vector of publishing probabilities on a grid such that every output is private, by a check that is
not exact and a search that is not sound. Both are here as printed (`published.py`), by the options `check` and
`search`. What is different by default, and why:
- The posterior is exact (`stretches.py`). The paper's Eq. 22 weighs events by the topics' emissions even where an event
  is published or withheld: it overlooks that a published event reveals itself, and that silence favours events that are
  rarely published.
- A hidden Markov model does not decouple at published events, so "all possible trajectories" are exponentially many.
  The check covers every output of every `window` positions in a row, and the guarantee says so. So does the printed
  check here; with a window over all positions it is the paper's.
- The search is ALGPR as its authors wrote it (`monotone.py`). Algorithm 6 as printed keeps candidates that fail the
  check, leaves a coordinate at a middle that failed, drops candidates that nothing has covered, and leaves its grid.
- "Dominates" is read as Proposition 3 needs it: what publishes less of everything is private if what publishes more is.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal, get_args

import numpy as np

from discreet.contracts import DayModel, Utility
from discreet.errors import DiscreetError
from discreet.kernels import FiniteKernel, suppressing_kernel
from discreet.mechanisms.base import SlotMechanism
from discreet.mechanisms.events.published import Emissions, PublishedStretches, vector_search
from discreet.mechanisms.events.stretches import Stretches
from discreet.mechanisms.monotone import GridLevels, best_minimal
from discreet.numerics import ROOM, FloatArray, IntArray, rounded_up
from discreet.policy import Guarantee, Policy

BUDGET = 5_000
"""Checks, one for each event and position: one walk over 96 events and 50 positions, all there is on tiny models."""

LEAST_WINDOW = 3
"""Shorter windows would not see that a silence is told by what is published on both of its sides."""

WHOLE = (
    "whatever is output, the gain on each secret at each slot stays within its delta. Secrets at='any' are not bounded"
)

PART = (
    "an observer who sees {window} slots in a row and no others gains at most delta on each secret at each of these "
    "slots; what more slots together tell is not bounded. Secrets at='any' are not bounded"
)

Rule = Literal["exact", "published"]
Search = Literal["algpr", "published"]

UNSOUND = (
    "nothing is proven: the paper's check (Eq. 22, by {emissions}) passes for every output of {window} slots in a "
    "row, and it is not the posterior. It overlooks that a published event reveals itself"
)
FAILED = (
    "nothing is proven: Algorithm 6 as printed leaves probabilities at which its check failed, and the vector that it "
    "found fails it"
)
WEIGHED: dict[Emissions, str] = {"topics": "the topics' emissions", "published": "the emissions after publishing"}


class PaHmm(SlotMechanism):
    """Publishes event e at slot t with probability `p[t, e]`, whatever was output before, else nothing.

    `window` is how many slots in a row the check covers. Probabilities are multiples of 1/`grid`; of the vectors that
    pass and cannot be raised anywhere alone, the search returns the best within a `budget` of checks: `vectors` says
    how many it compared, `checks` what it took, `exhaustive` whether no other is better. Where the window covers all
    slots, the guarantee is exact. Works on any model; contexts need not be events.

    `check="published"` judges by the paper's Eq. 19 to 22, `emissions` being which of them Eq. 22 adds up: the
    topics', or those after publishing. `search="published"` is Algorithm 6 as printed, which has a grid of its own and
    no budget. `passes` says whether the vector passes the check that it was searched by; Algorithm 6's may not.
    """

    def __init__(
        self,
        model: DayModel,
        policy: Policy,
        *,
        window: int = LEAST_WINDOW,
        grid: int = 10,
        budget: int = BUDGET,
        check: Rule = "exact",
        search: Search = "algpr",
        emissions: Emissions = "topics",
    ) -> None:
        for name, value, least, meaning in (
            ("window", window, LEAST_WINDOW, "slots in a row that the check covers; a shorter day is one window"),
            ("grid", grid, 1, "publishing probabilities are multiples of 1/grid"),
            ("budget", budget, 1, "checks that the search may make"),
        ):
            if not isinstance(value, int | np.integer) or value < least:
                raise DiscreetError(f"{name} is {value!r}; give a whole number of at least {least} ({meaning})")
        for name, word, words in (
            ("check", check, get_args(Rule)),
            ("search", search, get_args(Search)),
            ("emissions", emissions, get_args(Emissions)),
        ):
            if word not in words:
                raise DiscreetError(f"{name} is {word!r}; use {words[0]!r} or {words[1]!r}")
        if check == "exact" and emissions != "topics":
            raise DiscreetError("emissions is for check='published' (Eq. 22); the exact check has no such choice")
        super().__init__(model, policy)
        self.window, self.grid, self.budget = min(window, model.slots), grid, budget
        self.check, self.search, self.emissions = check, search, emissions
        self.stretches = (
            Stretches(model, self.secrets, window)
            if check == "exact"
            else PublishedStretches(model, self.secrets, window, emissions)
        )
        self.vectors = self.checks = 0
        self.exhaustive = False
        if search == "published":
            self._silent, self.passes = vector_search(self.stretches)  # (T, n), multiples of 1/16
        else:
            self._silent, self.passes = self._searched(), True
        self.guarantee = self._guarantee()
        self.p: FloatArray = 1 - self._silent
        self.p.setflags(write=False)

    def _guarantee(self) -> Guarantee:
        if not self.passes:
            return Guarantee("none", FAILED, proven=False)
        if self.check == "published":
            statement = UNSOUND.format(emissions=WEIGHED[self.emissions], window=self.window)
            return Guarantee("none", statement, proven=False)
        if self.window == self.model.slots:
            return Guarantee("exact delta", WHOLE)
        return Guarantee("window only", PART.format(window=self.window))

    def _searched(self) -> FloatArray:
        search = _StretchLevels(self.stretches, self.grid)
        found = best_minimal(search.top, search, search.value, budget=self.budget)
        self.vectors, self.checks = found.vectors, found.checks
        self.exhaustive = found.exhaustive and self.check == "exact"  # Eq. 22 is not monotone
        silent = rounded_up(search.silent(found.levels))  # what is sampled
        return silent if self.stretches.is_private(silent) else np.ones_like(silent)

    def worst_gain(self) -> float:
        """The largest gain that the outputs of a window can cause on a secret in it, by exact posteriors."""
        return Stretches(self.model, self.secrets, self.window).worst_gain(self._silent)

    def kernel(self, state: int) -> FiniteKernel:
        """Truth with probability p, else silence."""
        return self._kernels[state]

    @cached_property
    def _kernels(self) -> tuple[FiniteKernel, ...]:
        return tuple(suppressing_kernel(self.model.contexts, row) for row in self._silent)

    def expected_utility(self, days: int | None = None) -> Utility:
        """Exact: the sum of prior times p over the slots."""
        return Utility(float((self.stretches.prior * self.p).sum() / self.model.slots))


class _StretchLevels(GridLevels):
    """What ALGPR asks about levels: whether every stretch passes, and where lowering the likeliest first leads."""

    def __init__(self, stretches: Stretches, grid: int) -> None:
        super().__init__(stretches.possible, stretches.prior, grid)
        self._stretches = stretches
        self._orders = [  # the likeliest first: it is worth most
            np.array([e for e in np.argsort(-row, kind="stable") if stretches.possible[t, e]], dtype=np.int64)
            for t, row in enumerate(stretches.prior)
        ]

    def holds(self, levels: IntArray) -> bool:
        return self._stretches.is_private(self.silent(levels), ROOM)

    def minimal(self, levels: IntArray) -> tuple[IntArray, int]:
        table, checks = self._stretches.lowered(self.table(levels), self.grid, self._orders)
        return self.levels_in(table), checks
