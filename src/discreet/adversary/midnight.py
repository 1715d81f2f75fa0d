"""Over midnight: the last slot of a day and the first of the next correlate, so a day's guarantee is not a week's.

A mechanism starts each day anew, but an observer does not. `AcrossMidnight` is the same mechanism over several days on
one long chain, for the audit and the adversary: `audit(AcrossMidnight(mechanism, overnight(days, chain.contexts)))`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from discreet.contexts import Day
from discreet.contracts import AnyMechanism, Kernel, Needs, Utility
from discreet.errors import DiscreetError
from discreet.models.arrays import encoded
from discreet.models.chain import MarkovChain
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import Output
from discreet.policy import Guarantee, Policy, Secret


def overnight(days: Iterable[Day], contexts: Sequence[str]) -> FloatArray:
    """(n, n): P(first slot | last slot of the day before), counted over consecutive dates of the same person.

    A context that was never last before another day leads to the average first slot, or stays put if there is none.
    """
    dated = {(day.person, day.date): day.contexts for day in days if day.date is not None}
    n = len(contexts)
    counts = np.zeros((n, n))
    for (person, date), labels in dated.items():
        assert date is not None
        following = dated.get((person, date + dt.timedelta(days=1)))
        if following is not None:
            last, first = encoded([[labels[-1], following[0]]], tuple(contexts))[0]
            counts[last, first] += 1
    if not counts.any():
        raise DiscreetError("no two of the days are consecutive dates of one person; give days with their dates")
    average = counts.sum(axis=0) / counts.sum()
    seen = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.where(seen > 0, counts / np.where(seen > 0, seen, 1), average))


class AcrossMidnight:
    """A mechanism repeated over `days` days of one long chain; each secret holds on each day, at="any" day by day."""

    needs: ClassVar[Needs] = "chain"

    def __init__(self, mechanism: AnyMechanism, nights: npt.ArrayLike, days: int = 2) -> None:
        day = mechanism.model
        if day.emissions is not None or len(mechanism.private_contexts) != len(day.contexts):
            raise DiscreetError("days are joined for Markov chains, and for mechanisms that keep no private memory")
        if days < 1:
            raise DiscreetError(f"{days} days are no time; give at least 1")
        steps = [day.transitions, np.asarray(nights, dtype=np.float64)[None]] * days
        self.model = MarkovChain(day.contexts, day.initial, np.concatenate(steps[:-1]))
        self.policy = None if mechanism.policy is None else _repeated(mechanism.policy, day.slots, days)
        self.guarantee = Guarantee("none", "a day's guarantee does not reach over midnight")
        self.private_contexts: IntArray = mechanism.private_contexts
        self._mechanism, self._day = mechanism, day.slots

    def start(self) -> tuple[int, Hashable]:
        """The public state: (slot, the state of that day)."""
        return 0, self._mechanism.start()

    def kernel(self, state: tuple[int, Hashable]) -> Kernel:
        """The day's own."""
        return self._mechanism.kernel(state[1])

    def advance(self, state: tuple[int, Hashable], output: Output) -> tuple[int, Hashable]:
        """On midnight the day's mechanism starts anew."""
        slot = state[0] + 1
        return slot, self._mechanism.start() if slot % self._day == 0 else self._mechanism.advance(state[1], output)

    def remember(self, memory: int | None, context: int) -> int:
        """The private state is the context."""
        return context

    def worth(self, context: str, output: Output) -> float:
        """The day's own."""
        return self._mechanism.worth(context, output)

    def expected_utility(self, days: int | None = None) -> Utility:
        """Not defined: what a day is worth is asked of the day's mechanism."""
        raise DiscreetError("AcrossMidnight is for judging; ask the day's mechanism for its expected utility")


def _repeated(policy: Policy, slots: int, days: int) -> Policy:
    secrets: list[Secret] = []
    for secret in policy.secrets:
        own = range(slots) if secret.slots is None else sorted(secret.slots)
        shifted = [[day * slots + slot for slot in own] for day in range(days)]
        if secret.at == "any":
            secrets += [
                Secret(f"{secret.name} (day {k + 1})", secret.contexts, window, secret.delta, "any")
                for k, window in enumerate(shifted)
            ]
        else:
            every = [slot for window in shifted for slot in window]
            secrets.append(Secret(secret.name, secret.contexts, every, secret.delta))
    return Policy(secrets, delta=policy.delta)
