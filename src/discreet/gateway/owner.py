"""The owner's own door: a password, kept as argon2id, and sessions that a cookie stands for.

Before the first password a one-time token, which the terminal shows, opens the door once. Sessions live in memory: a
restart ends them. Tries are limited by the address and the clock alone.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from discreet.errors import DiscreetError
from discreet.gateway.access import Access, Grant, digest_of
from discreet.gateway.limits import LOGIN, Limit, Rate

SHORTEST = 10
LONGEST = 1000
"""Letters of a password."""

SESSION = 12 * 3600.0
"""Seconds that a session lasts."""

SESSIONS = 100
"""Sessions at once; a further one ends the oldest."""


class TooManyError(DiscreetError):
    """Too many tries; `wait` says for how long."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"too many tries; wait {wait:.0f} s")
        self.wait = wait


@dataclass(frozen=True)
class Session:
    """An owner who has logged in."""

    grant: Grant
    csrf: str = field(repr=False)
    """What a page has to send along with every write: another site's page cannot know it."""
    ends: float


class Owner:
    """Password and sessions."""

    def __init__(self, access: Access, *, clock: Callable[[], float] = time.monotonic, rate: Rate = LOGIN) -> None:
        self._access, self._clock = access, clock
        self._hasher = PasswordHasher()
        self._limit = Limit(rate, clock)
        self._one_at_a_time = asyncio.Semaphore(1)  # argon2 takes 64 MB and a fifth of a second
        self._sessions: dict[bytes, Session] = {}
        self._calls: list[Callable[[str], None]] = []
        self.first: str | None = None if access.has_password() else secrets.token_urlsafe(32)
        """The one-time token, while there is no password."""

    async def begin(self, address: str, first: str, password: str) -> str:
        """Set the first password with the one-time token; the cookie's value."""
        self._count(address)
        if self.first is None or not hmac.compare_digest(digest_of(first), digest_of(self.first)):
            raise DiscreetError("this is not the token that the terminal shows, or it has been used")
        if not SHORTEST <= len(password) <= LONGEST:
            raise DiscreetError(f"the password has {len(password)} letters; give {SHORTEST} to {LONGEST}")
        self.first = None
        async with self._one_at_a_time:
            hashed = await asyncio.to_thread(self._hasher.hash, password)
        self._access.set_password(hashed)
        return self._opened()

    async def login(self, address: str, password: str) -> str | None:
        """The cookie's value for the right password; None for a wrong one."""
        self._count(address)
        hashed = self._access.password()
        if hashed is None or len(password) > LONGEST:
            return None
        async with self._one_at_a_time:
            right = await asyncio.to_thread(self._is_right, hashed, password)
        return self._opened() if right else None

    def session(self, cookie: str) -> Session | None:
        """The session that a cookie stands for."""
        self.look()
        return self._sessions.get(digest_of(cookie))

    def logout(self, cookie: str) -> None:
        """End a session."""
        self._end(digest_of(cookie))

    def on_ended(self, call: Callable[[str], None]) -> None:
        """Call this with the name of each session that ends: its time is over, its owner has left, or others came."""
        self._calls.append(call)

    def look(self) -> None:
        """End the sessions whose time is over; called every second."""
        now = self._clock()
        for digest in [digest for digest, session in self._sessions.items() if now >= session.ends]:
            self._end(digest)

    def _end(self, digest: bytes) -> None:
        session = self._sessions.pop(digest, None)
        if session is not None:
            for call in self._calls:
                call(session.grant.token)

    def _count(self, address: str) -> None:
        if wait := self._limit.wait(address):
            raise TooManyError(wait)

    def _is_right(self, hashed: str, password: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False

    def _opened(self) -> str:
        cookie = secrets.token_urlsafe(32)
        grant = Grant(f"session-{secrets.token_hex(4)}", "owner", None)
        while len(self._sessions) >= SESSIONS:
            self._end(next(iter(self._sessions)))
        self._sessions[digest_of(cookie)] = Session(grant, secrets.token_urlsafe(32), self._clock() + SESSION)
        return cookie
