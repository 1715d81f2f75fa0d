"""MaskIt's probabilistic check (paper, Section 3): context i is suppressed at slot t with probability p[t, i]."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from discreet.contracts import DayModel, Needs, Utility
from discreet.errors import DiscreetError, PolicyError
from discreet.kernels import FiniteKernel, suppressing_kernel
from discreet.mechanisms.base import SlotMechanism
from discreet.mechanisms.maskit.windows import Order, Windows
from discreet.mechanisms.monotone import GridLevels, best_minimal
from discreet.numerics import FloatArray, IntArray, rounded_up
from discreet.policy import Guarantee, Policy

Search = Literal["best", "exact", "mondrian", "algpr"]

BUDGETS: dict[Search, int] = {"mondrian": 7_000, "exact": 14_000, "algpr": 40_000, "best": 14_000}
"""Checks, one for each coordinate looked at (and for each corner, in algpr). `exact` walks each order twice, so that
with the defaults it tries all that `mondrian` tries; `algpr` finds over 50 minimal vectors on 12 contexts, 24 slots;
`best` is `exact`, and then ALGPR with a part of as many checks."""

PART = 7
"""`best` gives ALGPR one check for so many of its budget, beyond the walks: 2,000, which take a
quarter of a second. 8,000 may find more: on random chains of 6 contexts a mean utility of 0.1252 against 0.1192, on ten
others of 6 0.0845 against 0.0839, and on ten each of 4 and of 9 no more."""

WALKS: dict[Search, tuple[str, ...]] = {
    "mondrian": ("grid",),
    "exact": ("whole", "grid"),
    "algpr": ("grid", "whole"),
    "best": ("whole", "grid"),
}
"""How each order is walked: on the grid, or with whole releases only (p to 0 or not at all); the best of a walk that is
coarser than the search is then finished: lowered as far as the search's own values allow."""

FINEST = 2**20
"""The finest grid: levels are counted in machine integers, and `exact` needs no grid."""

BANDS = 16
"""Into how many passes the order by prior is cut: a pass walks over the day, however few coordinates it visits."""

PROMISE = (
    "whatever is output, the gain on each secret at each slot stays within its delta: every window of silence between "
    "two releases passes (MaskIt, Theorem 2). Secrets at='any' are not bounded"
)


class Probabilistic(SlotMechanism):
    """Suppresses context i at slot t with probability p[t, i], whatever was output before.

    `search` finds p. `"mondrian"` lowers one coordinate after another from all ones, each to the smallest multiple of
    1/`grid` that the others allow. `"exact"` lowers to the smallest value at all, by the closed form in `windows.py`; a
    tight bound leaves nothing to coordinates that come later, so it first walks with whole releases only, and on the
    grid, and then lowers the best of either by the closed form. `"algpr"` starts from what these walks find on the grid
    and looks at further minimal vectors until the budget is spent. `"best"` is the better of these two: it does what
    `exact` does, gives ALGPR a seventh as many checks again, and lowers what that finds by the closed form. With the
    same budget it is never below `exact`.

    A greedy vector depends on the order of its coordinates, so several `orders` are tried, and the vector with the best
    exact expected utility is kept (`order` names its order). `budget` counts checks, never time: the first order is
    always walked, a further one only if the budget covers it. `checks` says how many were made, `vectors` how many
    minimal vectors were compared, `exhaustive` whether p is known to be the best on its grid.

    A given `p` is used after it is checked; `verify=False` skips the check, and then nothing is promised. In all cases
    suppression is rounded up to multiples of 2**-52, the weights that are sampled: privacy is monotone in p
    (Theorem 1). Contexts that the model holds impossible at a slot are always suppressed there.
    """

    needs: Needs = "chain"

    def __init__(
        self,
        model: DayModel,
        policy: Policy,
        *,
        search: Search = "best",
        grid: int = 10,
        p: npt.ArrayLike | None = None,
        budget: int | None = None,
        verify: bool = True,
    ) -> None:
        if search not in get_args(Search):
            raise DiscreetError(f"search={search!r} is not known; use 'best', 'exact', 'mondrian' or 'algpr'")
        if not 1 <= grid <= FINEST:
            raise DiscreetError(
                f"grid is {grid}; suppression probabilities are multiples of 1/grid, so give 1 or more, and {FINEST} "
                "at most"
            )
        if budget is not None and budget < 1:
            raise DiscreetError(f"budget is {budget}; give at least 1 check, or leave it out")
        super().__init__(model, policy)
        self.windows = Windows(model, self.secrets)
        self.search, self.grid = search, grid
        self.budget = BUDGETS[search] if budget is None else budget
        self.order: str | None = None
        self.checks = self.vectors = 0
        self.exhaustive = False
        self.guarantee = Guarantee("exact delta", PROMISE)
        self.p: FloatArray = self._searched() if p is None else self._given(p, verify)
        self.p.setflags(write=False)

    def worst_gain(self, p: npt.ArrayLike) -> float:
        """The largest gain on any secret at any slot that any output can cause if p (T, n) is used."""
        return self.windows.worst_gain(self._checked(p))

    def is_private(self, p: npt.ArrayLike) -> bool:
        """Whether p (T, n) keeps every gain within its delta (Algorithm 2's IsPrivate, over windows)."""
        return self.windows.is_private(self._checked(p))

    def utility_of(self, p: FloatArray) -> float:
        """Expected fraction of slots released with p (paper, Section 3)."""
        return float((self.windows.prior * (1 - p)).sum() / self.model.slots)

    def expected_utility(self, days: int | None = None) -> Utility:
        """Exact: the sum of prior (1 - p) over the slots."""
        return Utility(self.utility_of(self.p))

    def kernel(self, state: int) -> FiniteKernel:
        """Truth with probability 1 - p, else silence."""
        return self._kernels[state]

    @cached_property
    def _kernels(self) -> tuple[FiniteKernel, ...]:
        return tuple(suppressing_kernel(self.model.contexts, row) for row in self.p)

    def _checked(self, p: npt.ArrayLike) -> FloatArray:
        array = np.array(p, dtype=np.float64)
        shape = (self.model.slots, len(self.model.contexts))
        if array.shape != shape:
            raise DiscreetError(f"p has shape {array.shape}; it must be (slots, contexts) = {shape}")
        if not ((array >= 0) & (array <= 1)).all():  # also catches NaN
            where = tuple(int(k) for k in np.argwhere(~((array >= 0) & (array <= 1)))[0])
            raise DiscreetError(f"p{list(where)} is {array[where]}; suppression probabilities are from 0 to 1")
        return array

    def _sampled(self, p: FloatArray) -> FloatArray:
        """Rounded up to the weights that are sampled; impossible contexts are suppressed."""
        return np.where(self.windows.possible, rounded_up(p), 1.0)

    def _given(self, p: npt.ArrayLike, verify: bool) -> FloatArray:
        sampled = self._sampled(self._checked(p))
        if not verify:
            self.guarantee = Guarantee("none", "p was given and not checked; nothing is promised", proven=False)
        elif not self.windows.is_private(sampled):
            raise PolicyError(
                f"p is not private: some output gains {self.windows.worst_gain(sampled):.6g} on a secret; raise p, or "
                "pass verify=False to experiment with it"
            )
        return sampled

    def _searched(self) -> FloatArray:
        walked = self._walked()
        found: list[tuple[FloatArray, str]] = []
        if self.search == "mondrian":
            found += [(p, order.name) for p, order in walked["grid"]]
        if self.search in ("exact", "best"):
            for walk in ("whole", "grid"):
                p, order = self._finished(walked[walk], 0)
                found.append((p, order.name))
        if self.search in ("algpr", "best"):
            found += self._enumerated(walked)
        found.append((np.ones((self.model.slots, len(self.model.contexts))), "all suppressed"))
        found = [(self._sampled(p), name) for p, name in found]
        found.sort(key=lambda candidate: -self.utility_of(candidate[0]))  # stable: of equals, the first found
        for p, name in found:
            if self.windows.is_private(p):
                self.order = name
                return p
        raise AssertionError("total silence changes no belief")

    def _walked(self) -> dict[str, list[tuple[FloatArray, Order]]]:
        """By way of walking, one minimal vector for each order, as far as the budget reaches."""
        silent = np.ones((self.model.slots, len(self.model.contexts)))
        walks = WALKS[self.search]
        cost = int(self.windows.possible.sum()) * len(walks)
        found: dict[str, list[tuple[FloatArray, Order]]] = {walk: [] for walk in walks}
        for order in self.orders():
            if self.checks and self.checks + cost > self.budget:
                break
            for walk in walks:
                found[walk].append((self._lowered(silent, order, 1 if walk == "whole" else self.grid), order))
        self.vectors = sum(len(vectors) for vectors in found.values())
        return found

    def _enumerated(self, walked: dict[str, list[tuple[FloatArray, Order]]]) -> list[tuple[FloatArray, str]]:
        """What ALGPR starts from on the grid, and what it finds; for `best` lowered by the closed form."""
        seeds = [*walked["grid"], self._finished(walked["whole"], self.grid)]
        p, order = self._algpr(seeds)
        if self.search == "best":
            return [(self._lowered(p, order, 0), "algpr")]
        return [*((seed, order.name) for seed, order in seeds), (p, "algpr")]

    def _lowered(self, p: FloatArray, order: Order, grid: int) -> FloatArray:
        lower, checks = self.windows.lowered(p, order, grid=grid)
        self.checks += checks
        return lower

    def _finished(self, vectors: list[tuple[FloatArray, Order]], grid: int) -> tuple[FloatArray, Order]:
        """The best of some coarser vectors, lowered as far as the grid allows (0: by the closed form)."""
        p, order = max(vectors, key=lambda vector: self.utility_of(vector[0]))
        return self._lowered(p, order, grid), order

    def orders(self) -> Iterator[Order]:
        """Orders of coordinates, the cheapest first.

        Slot by slot, likeliest context first, is the quickest to walk: windows then end at the end of the day only.
        Context by context is worth more where habits are sticky: with one context released all day, silence means any
        of the others, whereas releasing all contexts in some slots soon leaves silence to the secrets alone. The
        commonest are worth most, the safest (those that lose least when released alone) get in each other's way least,
        and the rarest leave the others most. None is best for all.
        """
        prior = self.windows.prior
        common = prior.sum(axis=0)
        likeliest = tuple(np.argsort(-prior, axis=1, kind="stable"))
        yield Order("slots forwards", (likeliest,))
        yield self._by_context("commonest contexts first", -common)
        rank = np.empty(prior.size, dtype=np.int64)
        rank[np.argsort(-prior, axis=None, kind="stable")] = np.arange(prior.size)
        band = rank.reshape(prior.shape) * BANDS // max(1, int(self.windows.possible.sum()))
        yield Order(
            "likeliest first",
            tuple(tuple(row[band[t][row] == k] for t, row in enumerate(likeliest)) for k in range(BANDS)),
        )
        shown = ((1 - self.windows.alone()) * prior).sum(axis=0)
        yield self._by_context("safest contexts first", -shown / np.maximum(common, np.finfo(np.float64).tiny))
        yield self._by_context("rarest contexts first", common)
        yield Order("slots backwards", (likeliest,), backwards=True)

    def _by_context(self, name: str, key: FloatArray) -> Order:
        """One context after another by rising key, each through the whole day."""
        return Order(name, tuple((np.array([i]),) * self.model.slots for i in np.argsort(key, kind="stable")))

    def _algpr(self, walked: list[tuple[FloatArray, Order]]) -> tuple[FloatArray, Order]:
        """The best minimal vector on the grid within the budget (paper, Section 3.2; `monotone.py`).

        The greedy vectors are known already; corners are lowered in the order that was best, which is returned too.
        """
        left = self.budget // PART if self.search == "best" else self.budget - self.checks
        order = max(walked, key=lambda walk: self.utility_of(walk[0]))[1]
        search = _WindowLevels(self.windows, self.grid, order)
        found = best_minimal(
            search.top,
            search,
            search.value,
            budget=max(1, left),
            floor=search.levels_of(self.windows.alone(self.grid)),
            seeds=[search.levels_of(p) for p, _ in walked],
        )
        self.checks += found.checks
        self.vectors, self.exhaustive = found.vectors, found.exhaustive
        return search.silent(found.levels), order


class _WindowLevels(GridLevels):
    """What ALGPR asks about levels: whether every window passes, and where lowering in an order leads."""

    def __init__(self, windows: Windows, grid: int, order: Order) -> None:
        super().__init__(windows.possible, windows.prior, grid)
        self._windows, self._order = windows, order

    def holds(self, levels: IntArray) -> bool:
        return self._windows.is_private(self.silent(levels))

    def minimal(self, levels: IntArray) -> tuple[IntArray, int]:
        silent, checks = self._windows.lowered(self.silent(levels), self._order, grid=self.grid)
        return self.levels_of(silent), checks
