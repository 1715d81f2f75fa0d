"""A chain from perturbed reports alone, by expectation maximisation (DPHMM, Section 3.4).

Nobody saw the contexts; what is known of slot t is the likelihood L_t(c) of what was output, which public outputs and
the mechanism give (`Dphmm.likelihoods`). One transition matrix serves all slots. With f_t the forward vectors, b_t the
backward ones and Z the probability of a stream,

    P(X_t = i, X_{t+1} = j | outputs) = f_t(i) a(i, j) L_{t+1}(j) b_{t+1}(j) / Z,

a round sets a(i, j) to the expected share of steps from i that lead to j, and the start to the mean of P(X_0 |
outputs). No round makes the outputs less likely (Dempster, Laird, Rubin 1977). The likeliest chain need not be unique:
reports that tell nothing leave it as it was begun.

Sums run in the order of their terms, so that equal reports give equal chains on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError
from discreet.models import arrays
from discreet.models.chain.markov import MarkovChain
from discreet.numerics import FloatArray

ROUNDS = 200
"""Rounds at most."""

SETTLED = 1e-7
"""A round that raises the mean log-likelihood of a slot by less ends the search."""


@dataclass(frozen=True)
class FromReports:
    """What the reports teach: one start and one step, and the mean log-likelihood of a slot after each round.

    Likelihoods are known up to a factor a slot, so log-likelihoods compare with each other, and with nothing else.
    """

    contexts: tuple[str, ...]
    initial: FloatArray
    transition: FloatArray
    log_likelihoods: tuple[float, ...]
    converged: bool
    """Whether the search ended because nothing moved any more, and not after the last round."""

    def chain(self, slots: int) -> MarkovChain:
        """A day of so many slots by these habits."""
        return MarkovChain.homogeneous(self.contexts, self.initial, self.transition, slots)


def fit_reports(
    contexts: Sequence[str],
    streams: Sequence[npt.ArrayLike],
    *,
    initial: npt.ArrayLike | None = None,
    transition: npt.ArrayLike | None = None,
    rounds: int = ROUNDS,
) -> FromReports:
    """The chain under which streams of reports are likeliest, as far as the search comes.

    Each stream is an array (T, n): the likelihood of each slot's output in each context, up to a factor a slot; a slot
    that tells nothing is a row of ones. The search begins at `initial` and `transition`, by default a start at any
    context and a step that stays with chance 1/2: what is zero there stays zero.
    """
    names = arrays.labels(contexts)
    n = len(names)
    told = [_checked(stream, number, n) for number, stream in enumerate(streams)]
    if not told or rounds < 1:
        raise DiscreetError("there are no reports, or no rounds; give at least one stream and one round")
    start = arrays.probabilities(np.full(n, 1 / n) if initial is None else initial, (n,), "initial")
    lazy = np.eye(n) / 2 + np.full((n, n), 0.5 / n)
    step = arrays.probabilities(lazy if transition is None else transition, (n, n), "transition")
    slots = sum(map(len, told))
    reached: list[float] = []
    for _ in range(rounds):
        starts, steps, logarithm = np.zeros(n), np.zeros((n, n)), 0.0
        for stream in told:
            first, moved, likely = expected(start, step, stream)
            starts += first
            steps += moved
            logarithm += likely
        reached.append(logarithm / slots)
        if len(reached) > 1 and reached[-1] - reached[-2] < SETTLED:
            return FromReports(names, start, step, tuple(reached), converged=True)
        start = starts / starts.sum()
        left = steps.sum(axis=1, keepdims=True)
        step = np.where(left > 0, steps / np.where(left > 0, left, 1.0), step)  # a context never left keeps its row
    return FromReports(names, start, step, tuple(reached), converged=False)


def expected(initial: FloatArray, transition: FloatArray, told: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """P(X_0 | outputs) (n,), the expected number of each step (n, n), and the outputs' log-likelihood."""
    slots, n = told.shape
    forward, scale = np.empty((slots, n)), np.empty(slots)
    for t in range(slots):
        predicted = initial if t == 0 else (forward[t - 1][:, None] * transition).sum(axis=0)
        joint = predicted * told[t]
        scale[t] = joint.sum()
        if scale[t] <= 0:
            raise DiscreetError(
                f"the reports up to slot {t} are impossible under the chain; begin with one without zeros"
            )
        forward[t] = joint / scale[t]
    backward, steps = np.ones(n), np.zeros((n, n))
    for t in range(slots - 2, -1, -1):
        ahead = told[t + 1] * backward / scale[t + 1]
        steps += forward[t][:, None] * transition * ahead
        backward = (transition.T * ahead[:, None]).sum(axis=0)
    return forward[0] * backward, steps, float(np.log(scale).sum())


def _checked(stream: npt.ArrayLike, number: int, n: int) -> FloatArray:
    told = np.array(stream, dtype=np.float64)
    if told.ndim != 2 or told.shape[1] != n or not len(told):
        raise DiscreetError(f"stream {number} has shape {told.shape}; give (slots, contexts) = (*, {n})")
    if not (np.isfinite(told) & (told >= 0)).all() or not told.any(axis=1).all():
        raise DiscreetError(
            f"stream {number} has a slot without a likelihood; give numbers from 0 on, one above 0 a slot"
        )
    return told
