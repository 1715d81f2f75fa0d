"""What a change of policy would be, found out in a process of its own (`preview`): nothing changes.

In another thread of the gateway it would share tables with the thread that decides, and in that thread it would keep
slots waiting. Here the mechanism is made anew, and the session is resumed from a checkpoint, which is public. It is a
module of its own because `preview` runs as `__main__`, where a class of its own would be another one when unpickled.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from discreet.adversary.checkpoint import Checkpoint
from discreet.gateway.slots.changes import HabitsFrom, changed, mechanism_of
from discreet.live.mechanism_cache import SharedMechanisms
from discreet.mechanisms.named import Spec
from discreet.models.routine.routine import Routine
from discreet.policy import Policy
from discreet.session import Session


@dataclass(frozen=True)
class Trial:
    """A change to a policy or to habits, and all that the public side of a stream is made of."""

    spec: Spec
    history: tuple[HabitsFrom, ...]
    start: dt.date
    first: int
    checkpoint: str
    policy: Policy
    routine: Routine | None = None
    """Other habits; None where they stay."""

    def date(self) -> dt.date:
        """From when it would hold if it were made now; what cannot be announced is an error."""
        mechanism = mechanism_of(self.spec, self.history, self.start, self.first, SharedMechanisms())
        session = Session.resume(mechanism, checkpoint=Checkpoint.from_json(self.checkpoint))
        routine = self.routine or self.history[-1].routine
        return changed(session, self.history[-1], routine, self.policy)[1].date
