"""Adaptive release while the policy changes, in mid-stream (theory, section 10; the proof is in endless.md).

A policy is changed at a cut, the one after next unless told otherwise. What is beyond a new limit by then was told
before, and is listed as such; it rises no further. Past rows of the old policy keep their limits until they die.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from discreet.adversary.endless import EndlessAdversary
from discreet.errors import DiscreetError
from discreet.kernels import FiniteKernel
from discreet.mechanisms.adaptive.kernel import ReleaseKernel
from discreet.mechanisms.adaptive.machine import AdaptiveMachine, AdaptiveState
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import Output
from discreet.policy import Policy

Make = Callable[[Any, Policy, tuple[AdaptiveMachine, int] | None], AdaptiveMachine]
"""The machine of these habits and this policy, and which machine it follows, at which cut."""

MOST_MACHINES = 8
"""Machines kept for changes at other cuts than the last."""


class Change(NamedTuple):
    """A new policy from a cut on."""

    slot: int
    policy: Policy


class Changes:
    """Machines one after the other: each takes over the belief of the one before."""

    def __init__(self, model: Any, policy: Policy, make: Make, changes: tuple[Change, ...]) -> None:
        self._make, self.changes = make, changes
        self._first = make(model, policy, None)
        self._later: OrderedDict[tuple[int, ...], AdaptiveMachine] = OrderedDict()
        for change in changes:
            if change.slot % (model.day_slots or 1) or change.slot <= model.first:
                raise DiscreetError(f"a change at slot {change.slot} is at no cut after the first; give a later date")
        cuts: tuple[int, ...] = ()
        for change in changes:  # refuses now what looks too far ahead later
            cuts = (*cuts, change.slot)
            self.machine(cuts)
        self.horizon = max(self.machine(cuts[:k]).horizon or 0 for k in range(len(cuts) + 1))
        self.adversary: EndlessAdversary = self._first.adversary
        self.decider, self.memory = self._first.decider, self._first.memory
        self.private_contexts: IntArray = self._first.private_contexts
        self.remember = self._first.remember

    def machine(self, cuts: tuple[int, ...]) -> AdaptiveMachine:
        """The machine after changes at these cuts."""
        if not cuts:
            return self._first
        found = self._later.get(cuts)
        if found is None:
            before, change = self.machine(cuts[:-1]), self.changes[len(cuts) - 1]
            found = self._later[cuts] = self._make(before.model, change.policy, (before, cuts[-1]))
            found.decider.effort = self._first.decider.effort
            if len(self._later) > MOST_MACHINES:
                self._later.popitem(last=False)
        return found

    def start(self) -> AdaptiveState:
        """The first machine's."""
        return self._first.start()

    def kernel(self, state: AdaptiveState) -> FiniteKernel | ReleaseKernel:
        """Of the machine whose turn it is."""
        return self.machine(state.cuts).kernel(state)

    def advance(self, state: AdaptiveState, output: Output) -> AdaptiveState:
        """The machine's own; then, where one is due, the next takes over."""
        return self._taken_over(self.machine(state.cuts).advance(state, output))

    def retraced(self, state: AdaptiveState, output: Output, column: FloatArray) -> AdaptiveState:
        """The same, by the likelihood that an output had when it was drawn."""
        return self._taken_over(self.machine(state.cuts).retraced(state, output, column))

    def _taken_over(self, after: AdaptiveState) -> AdaptiveState:
        passed = len(after.cuts)
        if passed == len(self.changes) or after.slot != self.changes[passed].slot:
            return after
        cuts = (*after.cuts, after.slot)
        next_one = self.machine(cuts)
        own, *others = (one.carried(own) for one, own in zip(next_one.adversaries, after.beliefs.each, strict=True))
        return next_one.restored(own, after.skipped, cuts, tuple(others))

    def restored(
        self,
        belief: Any,
        skipped: bool,
        cuts: tuple[int, ...] = (),
        others: tuple[Any, ...] = (),
    ) -> AdaptiveState:
        """The public state of a checkpoint."""
        return self.machine(cuts).restored(belief, skipped, cuts, others)

    def adversaries_at(self, cuts: tuple[int, ...]) -> tuple[EndlessAdversary, ...]:
        """The adversaries after changes at these cuts."""
        if len(cuts) > len(self.changes):
            raise DiscreetError(
                f"the checkpoint is after {len(cuts)} changes, of which the mechanism knows {len(self.changes)}"
            )
        return self.machine(cuts).adversaries
