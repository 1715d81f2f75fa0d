"""A hidden Markov model without end: positions 0, 1, 2, ..., all with one transition and one emission.

Trajectories have no days, so positions are counted on and on. Where hidden states mix, priors approach the stationary
ones; from the position on at which they are those, the model repeats with a cycle of one position.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.contracts import computed_once
from discreet.errors import DiscreetError, ModelError
from discreet.models import arrays
from discreet.models.chain.stationary import stationary
from discreet.models.hidden.markov import HiddenMarkovModel
from discreet.numerics import RESOLUTION, FloatArray, ordered_product

BLOCK = 64
"""Positions whose priors are computed together."""

BLOCKS = 8
"""Blocks whose priors are kept, beside the first prior of each: until priors settle, those of others are computed
again."""


class EndlessHidden:
    """P(Y_0), P(Y_{t+1} | Y_t), P(X_t | Y_t), for every t: initial (K,), one transition (K, K), one emission (K, n).

    `HiddenMarkovModel.homogeneous(..., slots=None)` gives it. A secret's `slots` are positions, counted from the first.
    """

    slots: None = None
    day_slots: None = None
    clock: None = None
    cycle_slots = 1
    first = 0

    def __init__(
        self,
        contexts: Iterable[str],
        initial: npt.ArrayLike,
        transition: npt.ArrayLike,
        emission: npt.ArrayLike,
    ) -> None:
        self.contexts = arrays.labels(contexts)
        self.initial = arrays.probabilities(initial, (None,), "initial")
        k, n = len(self.initial), len(self.contexts)
        if k == 0:
            raise ModelError("the model has no hidden states; give at least one")
        self._transition = arrays.probabilities(transition, (k, k), "transition")
        self.emissions = arrays.probabilities(emission, (k, n), "emissions")  # of every position
        self.legs = [self]  # habits do not change
        self._starts: list[FloatArray] = [self.initial]  # P(Y_t) for t = 0, BLOCK, 2 BLOCK, ... until they settle
        self._blocks: dict[int, FloatArray] = {}  # (BLOCK + 1, K) each
        self._settled_from: int | None = None

    def transition(self, t: int) -> FloatArray:
        """(K, K): P(Y_{t+1} | Y_t)."""
        self._require(t)
        return self._transition

    def emission(self, t: int) -> FloatArray:
        """(K, n): P(X_t | Y_t)."""
        self._require(t)
        return self.emissions

    def step_name(self, t: int) -> tuple[str | int, ...]:
        """What the transition from position t on is called: all have one name."""
        return ("step",)

    @cached_property
    def stationary(self) -> FloatArray | None:
        """(K,): the one distribution that the transition leaves as it is; None where there are several."""
        return stationary(self._transition)

    @property
    def periodic(self) -> bool:
        """Whether priors are the stationary ones from the first position on."""
        return self.cyclic_at(0)

    def cyclic_at(self, t: int) -> bool:
        """Whether priors are the stationary ones from position t on.

        At the first such position no event's probability differs by more than 2**-44 from theirs, and the same states
        are possible; neither changes afterwards. It is looked for at the first position of every block.
        """
        self._require(t)
        if self.stationary is None:
            return False
        while self._settled_from is None and len(self._starts) <= t // BLOCK + 1:
            last = self._starts[-1]
            apart = math.fsum(np.abs(last - self.stationary))  # twice the total variation; exact, in any order
            if apart <= 2 * RESOLUTION and np.array_equal(last > 0, self.stationary > 0):
                self._settled_from = (len(self._starts) - 1) * BLOCK
            else:
                self._next_block()
        return self._settled_from is not None and t >= self._settled_from

    def _next_block(self) -> None:
        start = self._block(len(self._starts) - 1)[-1]
        start = np.asarray(start / math.fsum(start))  # rows sum to one up to rounding alone, which would add up
        start.setflags(write=False)
        self._starts.append(start)

    def _block(self, number: int) -> FloatArray:
        """(BLOCK + 1, K): the priors of a block of positions, and of the one after it."""
        found = self._blocks.get(number)
        if found is None:
            steps = np.broadcast_to(self._transition, (BLOCK, *self._transition.shape))
            found = self._blocks[number] = arrays.state_prior(self._starts[number], steps)
            found.setflags(write=False)
            if len(self._blocks) > BLOCKS:
                del self._blocks[next(iter(self._blocks))]
        return found

    def state_prior_at(self, t: int) -> FloatArray:
        """(K,): P(Y_t)."""
        if self.cyclic_at(t):
            assert self.stationary is not None
            return self.stationary
        while len(self._starts) <= t // BLOCK:
            self._next_block()
        return np.asarray(self._block(t // BLOCK)[t % BLOCK])

    def prior_at(self, t: int) -> FloatArray:
        """(n,): P(X_t)."""
        return ordered_product(self.state_prior_at(t), self.emissions)

    def phase(self, t: int) -> int | None:
        """Where in the cycle a position is: 0 where priors are the stationary ones, None before."""
        return 0 if self.cyclic_at(t) else None

    def once_cyclic(self) -> EndlessHidden | None:
        """The same model where priors repeat from the start; None where there is no one stationary distribution."""
        if self.stationary is None:
            return None
        return EndlessHidden(self.contexts, self.stationary, self._transition, self.emissions)

    def unrolled(self, slots: int) -> HiddenMarkovModel:
        """The model of the first so many positions."""
        return HiddenMarkovModel.homogeneous(self.contexts, self.initial, self._transition, self.emissions, slots)

    def _require(self, t: int) -> None:
        if t < 0:
            raise DiscreetError(f"position {t} is before the first, 0; give that or a later one")

    @computed_once
    def fingerprint(self) -> str:
        """A digest: equal models have equal fingerprints."""
        return arrays.fingerprint(
            ["endless hidden", self.contexts, self.initial, self._transition, self.emissions],
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EndlessHidden) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"EndlessHidden({len(self.initial)} states, {len(self.contexts)} contexts)"
