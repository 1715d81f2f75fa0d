"""Rates: how often a caller may come. A limit knows the clock and the caller, and nothing of what the person does.

One that slowed down when much is read, or when something is hidden, would tell.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache

CALLERS = 10_000
"""Callers that are remembered; of more, the one that was away longest starts anew."""


@dataclass(frozen=True)
class Rate:
    """So many calls at once, and so many a second after that."""

    burst: float
    a_second: float


LOGIN = Rate(10, 1 / 60)
"""Tries of the owner's password, of one address."""

LOGIN_IN_ALL = Rate(100, 1 / 6)
"""Tries from all addresses together from which nobody has logged in yet: guessing from many is no faster."""

PREFIX = 64
"""Bits of an IPv6 address that stand for one household: whoever has one of its addresses has all of them."""

APPLICATION = Rate(200, 20)
SOURCE = Rate(5_000, 500)
OWNER = Rate(500, 50)


def household(address: str) -> str:
    """What limits of an address count by: the address, or the /64 of IPv6; an IPv4 address written as IPv6 is IPv4."""
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv4Address):
        return str(known)
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(ipaddress.ip_network((known, PREFIX), strict=False))


class RateLimit:
    """A bucket a caller: a call takes one out, the clock fills it again."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self._clock = rate, clock
        self._left: LRUCache[str, tuple[float, float]] = LRUCache(CALLERS)

    def wait(self, caller: str) -> float:
        """Take one: 0, or how many seconds to wait until there is one."""
        left = self._now(caller)
        allowed = left >= 1
        self._keep(caller, left - 1 if allowed else left)
        return 0.0 if allowed else (1 - left) / self.rate.a_second

    def charge(self, caller: str, calls: float) -> None:
        """Take out what a call turned out to cost besides; what is not there is owed."""
        self._keep(caller, self._now(caller) - calls)

    def _now(self, caller: str) -> float:
        now = self._clock()
        left, since = self._left.get(caller, (self.rate.burst, now))
        return min(self.rate.burst, left + (now - since) * self.rate.a_second)

    def _keep(self, caller: str, left: float) -> None:
        self._left[caller] = (left, self._clock())
