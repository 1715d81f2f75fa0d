"""DPLS: location sets (Xiao and Xiong, CCS 2015), the baseline of DPHMM's experiments (its Section 7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.contracts import DayModel
from discreet.errors import PolicyError
from discreet.given import checked_model
from discreet.mechanisms.perturbation.dphmm import Dphmm
from discreet.mechanisms.perturbation.policy_graph import PolicyGraph
from discreet.mechanisms.perturbation.protection import Noise
from discreet.models.routine.changing import Changing
from discreet.models.routine.endless import EndlessChain
from discreet.models.routine.routine import Routine
from discreet.policy import Policy


class Dpls(Dphmm):
    """`Dphmm` with the likeliest set's contexts all joined: the smallest set that holds all but `left_out` of belief.

    A context outside the set is released as its nearest member, and the observer's filter knows of that. Every two
    contexts are joined, which is what the rule needs: with fewer edges an edge to a context outside would cost more
    than epsilon (theory, section 8).
    """

    def __init__(
        self,
        model: DayModel | EndlessChain,
        policy: Policy | None = None,
        *,
        query: npt.ArrayLike | Sequence[npt.ArrayLike],
        epsilon: float | Sequence[float],
        left_out: float = 0.01,
        noise: Noise = "knorm",
        step: float | None = None,
    ) -> None:
        if isinstance(left_out, bool) or not isinstance(left_out, int | float) or not 0 <= left_out < 1:
            raise PolicyError(f"left_out is {left_out!r}; give the share of belief outside the set, from 0 to below 1")
        given: object = model
        if not isinstance(given, Routine | Changing):  # which Dphmm refuses with a word of their own
            checked_model(model, "Dpls")
        super().__init__(
            model,
            policy,
            graph=PolicyGraph.complete(len(model.contexts)),
            query=query,
            epsilon=epsilon,
            noise=noise,
            support=("mass", left_out),
            step=step,
        )

    @classmethod
    def law_cases(cls, model: DayModel) -> Iterable[Mapping[str, Any]]:
        """A set that leaves a third of the belief out, and points in the plane, no two of them alike."""
        query = np.array([[k % 2, 0.5 * k * k] for k in range(len(model.contexts))], dtype=np.float64)
        return ({"query": query, "epsilon": 1.0, "left_out": 1 / 3},)

    def __repr__(self) -> str:
        return f"Dpls({self.model!r}, epsilon={self.epsilon:g}, noise={self.noise!r}, left_out={self.mass:g})"
