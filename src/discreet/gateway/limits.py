"""Rates: how often a caller may come. A limit knows the clock and the caller, and nothing of what the person does.

One that slowed down when much is read, or when something is hidden, would tell.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

CALLERS = 10_000
"""Callers that are remembered; of more, the one that was away longest starts anew."""


@dataclass(frozen=True)
class Rate:
    """So many calls at once, and so many a second after that."""

    burst: float
    a_second: float


LOGIN = Rate(10, 1 / 60)
"""Tries of the owner's password, of one address."""

APPLICATION = Rate(200, 20)
SOURCE = Rate(5_000, 500)
OWNER = Rate(500, 50)


class Limit:
    """A bucket a caller: a call takes one out, the clock fills it again."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self._clock = rate, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, caller: str) -> float:
        """Take one: 0, or how many seconds to wait until there is one."""
        now = self._clock()
        left, since = self._left.pop(caller, (self.rate.burst, now))
        left = min(self.rate.burst, left + (now - since) * self.rate.a_second)
        allowed = left >= 1
        self._left[caller] = (left - 1 if allowed else left, now)
        if len(self._left) > CALLERS:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self.rate.a_second
