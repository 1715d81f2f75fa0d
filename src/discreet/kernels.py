"""Kernels with finitely many outputs: integer weights that are sampled exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.contracts import Rng, computed_once
from discreet.errors import DiscreetError
from discreet.events import ATTRIBUTES, Events
from discreet.numerics import (
    TOTAL,
    WEIGHT_BITS,
    BoolArray,
    FloatArray,
    IntArray,
    digest_of,
    integer_weights,
    power_of_two,
    rounded_up,
)
from discreet.outputs import SUPPRESSED, Output, PartialEvent, Released


class FiniteKernel:
    """P(output | private state) = weights / total, exactly: total is a power of two, so the quotients are floats."""

    def __init__(self, outputs: tuple[Output, ...], weights: npt.ArrayLike, total: int) -> None:
        self.outputs = outputs = tuple(outputs)
        given = np.asarray(weights)
        if given.dtype.kind == "f" and given.size and not (given == np.floor(given)).all():
            raise DiscreetError(
                "a kernel's weights are probabilities; FiniteKernel.rounded(outputs, probabilities, filler) makes "
                "integers of them"
            )
        self.weights: IntArray = np.array(given, dtype=np.int64)  # a copy: the caller's may change
        self.total = total
        if self.weights.ndim != 2 or self.weights.shape[1] != len(outputs) or not outputs:
            raise DiscreetError(
                f"a kernel's weights have shape {self.weights.shape}; {len(outputs)} outputs need weights of shape "
                f"(private states, {len(outputs)})"
            )
        if not power_of_two(total) or total > TOTAL:
            raise DiscreetError(
                f"a kernel's total is {total}; use a power of two up to 2**{WEIGHT_BITS}, so that weights / total is "
                f"exact, or FiniteKernel.rounded(outputs, weights / {total}, filler)"
            )
        out_of_range = (self.weights < 0) | (self.weights > total)  # also keeps the sums from overflowing
        if out_of_range.any() or (self.weights.sum(axis=1) != total).any():
            raise DiscreetError(f"every row of a kernel's weights must be non-negative and sum to {total}, its total")
        self.weights.setflags(write=False)
        self._cumulative: dict[int, IntArray] = {}
        self._index = {output: k for k, output in enumerate(outputs)}
        if len(self._index) < len(outputs):
            raise DiscreetError("an output occurs twice in a kernel; merge the columns")

    @classmethod
    def rounded(cls, outputs: tuple[Output, ...], probabilities: npt.ArrayLike, filler: int = -1) -> FiniteKernel:
        """Round probabilities (private states, outputs) to weights; output `filler` takes what rounding leaves.

        Weights are over 2**52. With silence as the filler, no other output becomes more likely than asked for.
        """
        return cls(outputs, integer_weights(np.asarray(probabilities, dtype=np.float64), filler), TOTAL)

    @computed_once
    def matrix(self) -> FloatArray:
        """(P, O): weights / total."""
        matrix = self.weights / float(self.total)
        matrix.setflags(write=False)
        return matrix

    @computed_once
    def digest(self) -> bytes:
        """Of outputs, weights and total."""
        return digest_of((self.outputs, self.total, self.weights.shape, self.weights))

    def sample(self, private: int, rng: Rng) -> Output:
        """Draw with exactly the row's weights."""
        cumulative = self._cumulative.get(private)
        if cumulative is None:  # of the rows that are drawn from: most kernels are used once
            cumulative = self._cumulative[private] = np.cumsum(self.weights[private])
        draw = rng.bits(self.total.bit_length() - 1)
        return self.outputs[int(cumulative.searchsorted(draw, side="right"))]

    def likelihood(self, output: Output) -> FloatArray:
        """The output's column; zeros for an output that this kernel never gives."""
        k = self._index.get(output)
        if k is None:
            return np.zeros(len(self.weights))
        return np.asarray(self.weights[:, k] / float(self.total))  # a column of `matrix`

    def __repr__(self) -> str:
        return f"FiniteKernel({len(self.weights)} private states, {len(self.outputs)} outputs)"


def silent_kernel(private_states: int) -> FiniteKernel:
    """Always silent: it changes no belief."""
    return FiniteKernel((SUPPRESSED,), np.ones((private_states, 1), dtype=np.int64), 1)


def suppressing_kernel(contexts: tuple[str, ...], silent: FloatArray) -> FiniteKernel:
    """Truth, or silence with probability `silent` (n,): multiples of 2**-52; anything between is rounded up."""
    silent = rounded_up(silent)
    shown = np.flatnonzero(silent < 1)
    if not len(shown):
        return silent_kernel(len(silent))
    outputs: tuple[Output, ...] = (*(Released(contexts[i]) for i in shown), SUPPRESSED)
    chances = np.zeros((len(silent), len(outputs)))
    chances[shown, np.arange(len(shown))] = 1 - silent[shown]
    return FiniteKernel.rounded(outputs, chances, filler=-1)


def publishing_kernel(events: Events, kept: BoolArray) -> FiniteKernel:
    """The kernel that publishes the kept attributes (n, 3) of each event; an event that keeps none is silence."""
    names = [(*events.values(attribute), None) for attribute in ATTRIBUTES]
    codes = np.where(kept, events.attribute_index, [len(values) - 1 for values in names])
    places: dict[Output, int] = {}
    chosen = []
    for row in codes.tolist():
        shown = PartialEvent(*(values[v] for values, v in zip(names, row, strict=True)))
        chosen.append(places.setdefault(SUPPRESSED if shown == PartialEvent() else shown, len(places)))
    weights = np.zeros((len(chosen), len(places)), dtype=np.int64)
    weights[np.arange(len(chosen)), chosen] = 1
    return FiniteKernel(tuple(places), weights, 1)
