"""A kernel of truth or silence, by one integer weight a private state."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from discreet.contracts import Rng, computed_once
from discreet.numerics import TOTAL, WEIGHT_BITS, FloatArray, IntArray, digest_of
from discreet.outputs import SUPPRESSED, Output


@lru_cache(maxsize=64)
def _numbers(outputs: tuple[Output, ...]) -> dict[Output, int]:
    """The column of each output: one table for all kernels of a mechanism."""
    return {output: k for k, output in enumerate(outputs)}


class ReleaseKernel:
    """Truth with an integer weight for each private state, silence with the rest."""

    def __init__(self, outputs: tuple[Output, ...], contexts: IntArray, release: IntArray) -> None:
        self.outputs = outputs
        self.total = TOTAL
        self._contexts, self._release = contexts, release
        self._number = _numbers(outputs)

    def sample(self, private: int, rng: Rng) -> Output:
        """One comparison of integers."""
        if rng.bits(WEIGHT_BITS) < self._release[private]:
            return self.outputs[int(self._contexts[private])]
        return SUPPRESSED

    def likelihood(self, output: Output) -> FloatArray:
        """The output's column."""
        number = self._number.get(output)
        if number is None:
            return np.zeros(len(self._release))
        if output == SUPPRESSED:
            return np.asarray((TOTAL - self._release) / TOTAL)
        return np.asarray(np.where(self._contexts == number, self._release, 0) / TOTAL)

    @property
    def nbytes(self) -> int:
        """Bytes of its weights."""
        return self._release.nbytes

    @computed_once
    def weights(self) -> IntArray:
        """(P, n + 1)."""
        weights = np.zeros((len(self._release), len(self.outputs)), dtype=np.int64)
        weights[np.arange(len(weights)), self._contexts] = self._release
        weights[:, -1] = TOTAL - self._release
        weights.setflags(write=False)
        return weights

    @computed_once
    def matrix(self) -> FloatArray:
        """(P, n + 1): weights / total."""
        return self.weights / float(TOTAL)

    @computed_once
    def digest(self) -> bytes:
        """Of what the weights are made from."""
        return digest_of((self.outputs, self.total, self._contexts, self._release))
