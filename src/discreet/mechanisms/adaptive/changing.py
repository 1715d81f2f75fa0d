"""Adaptive release while habits, or the policy, change (theory, section 10; the proof is in endless.md).

New habits from a date on are again one chain, but the change itself may tell: rows after it may be beyond their limits
the moment the chain changes, and silence cannot repair that. So a change of habits is applied at the first cut from its
date on at which every row of the joined chain is within its limit under the present belief: a public check. A change
of policy is applied at its cut; what is beyond a new limit by then was told before, and is listed as such.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from discreet.adversary.endless import EndlessAdversary, EndlessBelief
from discreet.errors import DiscreetError
from discreet.kernels import FiniteKernel
from discreet.mechanisms.adaptive.endless import Endless, Ongoing
from discreet.mechanisms.adaptive.table import ReleaseKernel
from discreet.models.changing import joined
from discreet.models.endless import EndlessChain
from discreet.models.routine import Routine
from discreet.numerics import IntArray
from discreet.outputs import Output
from discreet.policy import Policy

Make = Callable[[EndlessChain, Policy, Endless | None], Endless]

KEPT = 8
"""Machines kept for changes at other cuts than the last."""


class Change(NamedTuple):
    """New habits, a new policy, or both, from a cut on."""

    slot: int
    routine: Routine | None = None
    policy: Policy | None = None


class Changes:
    """Machines one after the other: each takes over the belief of the one before."""

    def __init__(self, model: EndlessChain, policy: Policy, make: Make, changes: tuple[Change, ...]) -> None:
        self._make, self.changes = make, changes
        self._first = make(model, policy, None)
        self._later: OrderedDict[tuple[int, ...], Endless] = OrderedDict()
        self._slots = model.day_slots
        for change in changes:
            if change.slot % self._slots or change.slot <= model.first:
                raise DiscreetError(f"a change at slot {change.slot} is at no cut after the first; give a later date")
        cuts: tuple[int, ...] = ()
        for change in changes:  # refuses now what looks too far ahead later
            cuts = (*cuts, change.slot)
            self.machine(cuts)
        self.horizon = max(self.machine(cuts[:k]).horizon for k in range(len(cuts) + 1))
        self.adversary: EndlessAdversary = self._first.adversary
        self.decider, self.memory = self._first.decider, self._first.memory
        self.private_contexts: IntArray = self._first.private_contexts
        self.remember = self._first.remember

    def machine(self, cuts: tuple[int, ...]) -> Endless:
        """The machine after changes at these cuts."""
        if not cuts:
            return self._first
        found = self._later.get(cuts)
        if found is None:
            before, change = self.machine(cuts[:-1]), self.changes[len(cuts) - 1]
            model = before.model if change.routine is None else joined(before.model, change.routine, cuts[-1])
            policy = before.policy if change.policy is None else change.policy
            found = self._later[cuts] = self._make(model, policy, before)
            found.decider.effort = self._first.decider.effort
            if len(self._later) > KEPT:
                self._later.popitem(last=False)
        return found

    def start(self) -> Ongoing:
        """The first machine's."""
        return self._first.start()

    def kernel(self, state: Ongoing) -> FiniteKernel | ReleaseKernel:
        """Of the machine whose turn it is."""
        return self.machine(state.cuts).kernel(state)

    def advance(self, state: Ongoing, output: Output) -> Ongoing:
        """The machine's own; then, at a cut, the changes that are due and may be applied."""
        after = self.machine(state.cuts).advance(state, output)
        while (changed := self._changed(after)) is not None:
            after = changed
        return after

    def _changed(self, state: Ongoing) -> Ongoing | None:
        """The state after the next change; None where none is due, or it has to wait."""
        passed = len(state.cuts)
        if state.slot % self._slots or passed == len(self.changes) or state.slot < self.changes[passed].slot:
            return None
        cuts = (*state.cuts, state.slot)
        belief = self.machine(cuts).adversary.carried(state.belief)
        return None if belief is None else replace(state, key=belief.digest(), belief=belief, cuts=cuts)

    def restored(self, belief: EndlessBelief, skipped: bool, cuts: tuple[int, ...] = ()) -> Ongoing:
        """The public state of a checkpoint."""
        return self.machine(cuts).restored(belief, skipped, cuts)

    def adversary_at(self, cuts: tuple[int, ...]) -> EndlessAdversary:
        """The adversary after changes at these cuts."""
        if len(cuts) > len(self.changes):
            raise DiscreetError(
                f"the checkpoint is after {len(cuts)} changes, of which the mechanism knows {len(self.changes)}"
            )
        return self.machine(cuts).adversary
