"""Streams of one policy and the same habits, whose public states hold a belief that is shown and decides nothing."""

from __future__ import annotations

import datetime as dt
from typing import Any

from discreet.adversary.endless import EndlessAdversary
from discreet.errors import DiscreetError
from discreet.models.routine.routine import Routine
from discreet.policy import Policy


class UnchangingStream:
    """What is refused where nothing changes at a cut; `adversary` is whose belief public states hold."""

    model: Any
    adversary: EndlessAdversary

    @property
    def called(self) -> str:
        """What errors call it."""
        return type(self).__name__

    def adversaries_at(self, cuts: tuple[int, ...]) -> tuple[EndlessAdversary, ...]:
        """The stream's adversary; habits do not change here."""
        if cuts:
            raise DiscreetError(f"the checkpoint is after {len(cuts)} changes, which {self.called} has none of")
        return (self.adversary,)

    def known(self, state: Any) -> frozenset[str]:
        """The contexts of the habits; any other label is `other`."""
        return frozenset(self.model.contexts)

    def then(self, date: dt.date | str, *, policy: Policy | None = None, routine: Routine | None = None) -> Any:
        """Not defined: a stream is of one policy and the same habits."""
        raise DiscreetError(
            f"{self.called} goes on with the habits and the policy that it was made for; begin a new stream where they "
            "change, or use adaptive, which changes both at a cut"
        )
