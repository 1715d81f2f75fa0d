"""What an observer learns of a stream whose habits and policy change: `Recursion` (oracle.py), every row kept."""

from __future__ import annotations

from typing import Any

import numpy as np

import discreet as d
from discreet.numerics import FloatArray
from discreet.outputs import Output
from tests.endless.oracle import Recursion, events_from

Column = FloatArray | None
"""The likelihood of an output over private states; None for a skip."""


class Judge:
    """Beliefs in every row of a policy that holds from a slot on, on a mechanism's chain."""

    def __init__(self, mechanism: Any, slots: int, policy: d.Policy | None = None, first: int = 0) -> None:
        day = mechanism.model.day_slots
        chain = mechanism.model.unrolled(slots // day + 4)
        wanted = mechanism.policy if policy is None else policy
        self.recursion = Recursion(mechanism, chain, events_from(wanted, chain.contexts, day, chain.slots, first))
        self.limits: FloatArray = self.recursion.priors + self.recursion.deltas

    def beliefs(self, columns: tuple[Column, ...]) -> FloatArray:
        """(E,): after these outputs."""
        recursion = self.recursion
        masses = recursion.start()
        for column in columns[:-1]:
            masses = recursion.push(masses, column)
        last = np.ones(len(recursion.contexts)) if columns[-1] is None else columns[-1]
        return np.asarray(recursion.beliefs(masses, last[:, None])[:, 0])

    def told(self, columns: tuple[Column, ...], kernel: Any) -> list[tuple[Output, FloatArray]]:
        """The outputs that are possible after these, each with its column."""
        masses = self.recursion.start()
        for column in columns:
            masses = self.recursion.push(masses, column)
        matrix = kernel.weights / float(kernel.total)
        return [(kernel.outputs[o], matrix[:, o]) for o in np.flatnonzero(masses.everything @ matrix > 0)]
