"""The door of the owner and of accounts: passwords, kept as argon2id, and sessions that a cookie stands for.

Before the first password a one-time token, which the terminal shows, opens the door once. Sessions survive a restart:
of a cookie its digest is kept, and what a page sends along with writes is made of the cookie. Another password ends
them.

Tries are limited by the address and the clock alone: of one address (of IPv6, a /64), and of all addresses together
from which nobody has logged in yet. One from which the owner has is let past that limit and past the queue of others,
so that whoever guesses cannot lock the owner out.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from cachetools import LRUCache

from discreet.errors import DiscreetError
from discreet.gateway.auth.passwords import LONGEST, check
from discreet.gateway.auth.tokens import Access, Grant, digest_of
from discreet.gateway.rate_limits import LOGIN, LOGIN_IN_ALL, Rate, RateLimit, household
from discreet.gateway.store.journal.base import JournalError

QUEUE = 5
"""Tries that wait for the one that is checked, which takes a fifth of a second; known addresses have as many more."""

KNOWN = 100
"""Addresses from which the owner has logged in that are remembered."""

SESSION = 12 * 3600.0
"""Seconds that a session lasts."""

PASSWORD_CHECK = 1.0
"""Seconds between two looks at whether the command has set another password."""

SESSIONS = 100
"""Sessions at once; a further one ends the oldest."""


class TooManyError(DiscreetError):
    """Too many tries; `wait` says for how long."""

    def __init__(self, wait: float) -> None:
        super().__init__(f"too many tries; wait {wait:.0f} s")
        self.wait = wait


@dataclass(frozen=True)
class OwnerSession:
    """An owner who has logged in."""

    grant: Grant
    ends: float
    csrf: str = field(repr=False, default="")
    """What a page has to send along with every write: another site's page cannot know it."""


class Owner:
    """Password and sessions."""

    def __init__(
        self,
        access: Access,
        *,
        clock: Callable[[], float] = time.monotonic,
        rate: Rate = LOGIN,
        in_all: Rate = LOGIN_IN_ALL,
    ) -> None:
        self._access, self._clock = access, clock
        self._hasher = PasswordHasher()
        self._limit, self._in_all = RateLimit(rate, clock), RateLimit(in_all, clock)
        self._known: LRUCache[str, None] = LRUCache(KNOWN)
        self._waiting = 0
        self._one_at_a_time = asyncio.Semaphore(1)  # argon2 takes 64 MB and a fifth of a second
        self._sessions: dict[bytes, OwnerSession] = {}
        for digest, (name, person, lasts) in access.sessions().items():
            self._sessions[digest] = OwnerSession(Grant(name, "owner", person), clock() + min(SESSION, lasts))
        self._calls: list[Callable[[str], None]] = []
        self._hashed = access.passwords()
        self._nobodys = _hash_of_nothing(self._hasher)
        self._look_again = 0.0
        self.first: str | None = None if access.has_password() else secrets.token_urlsafe(32)
        """The one-time token, while there is no password."""

    async def begin(self, address: str, first: str, password: str) -> str:
        """Set the first password with the one-time token; the cookie's value."""
        self._count(address)
        if self.first is None or not hmac.compare_digest(digest_of(first), digest_of(self.first)):
            raise DiscreetError("this is not the token that the terminal shows, or it has been used")
        check(password)
        self.first = None
        await self._set(address, password)
        return self._entered(address)

    async def accept(self, address: str, invitation: str, password: str) -> str:
        """Open an account with an invitation, which then holds no more; the cookie's value."""
        self._count(address)
        accounts = self._access.accounts
        person = accounts.invited(invitation)
        if person is None:
            raise DiscreetError("this invitation does not hold: it was used, it is over, or there is a newer one")
        check(password)
        hashed = await self._hash(address, password)
        if accounts.invited(invitation) != person:
            raise DiscreetError("this invitation has been used meanwhile")
        accounts.accept(person, hashed)
        self._hashed[person] = hashed
        self._end_all_of(person)
        return self._entered(address, person)

    async def login(self, address: str, password: str, person: str | None = None) -> str | None:
        """The cookie's value for the right password, the owner's or a person's; None for a wrong one."""
        return self._entered(address, person) if await self.is_right(address, password, person) else None

    async def is_right(self, address: str, password: str, person: str | None = None) -> bool:
        """Whether a password is the owner's, or that of a person's account; a try, which counts.

        A person without an account takes as long to refuse as one with another password.
        """
        self._count(address)
        hashed = self._access.password() if person is None else self._access.accounts.password(person)
        if len(password) > LONGEST or (person is None and hashed is None):
            return False
        async with self._turn(address):
            right = await asyncio.to_thread(self._is_right, hashed or self._nobodys, password)
        return right and hashed is not None

    async def change(self, address: str, password: str, new: str, person: str | None = None) -> str | None:
        """Another password, by who knows the present one: every session ends, and the cookie of a new one is returned.

        None where the present one is wrong.
        """
        check(new)
        if not await self.is_right(address, password, person):
            return None
        await self._set(address, new, person)
        return self._entered(address, person)

    async def _set(self, address: str, password: str, person: str | None = None) -> None:
        hashed = await self._hash(address, password)
        self._access.set_password(hashed, person)
        self._hashed[person] = hashed
        self._end_all_of(person)

    async def _hash(self, address: str, password: str) -> str:
        async with self._turn(address):
            return await asyncio.to_thread(self._hasher.hash, password)

    @asynccontextmanager
    async def _turn(self, address: str) -> AsyncIterator[None]:
        """One check at a time; a few may wait for it, and of known addresses some more."""
        if self._waiting >= QUEUE * (1 + (household(address) in self._known)):
            raise TooManyError(1.0)
        self._waiting += 1
        try:
            async with self._one_at_a_time:
                yield
        finally:
            self._waiting -= 1

    def session(self, cookie: str) -> OwnerSession | None:
        """The session that a cookie stands for."""
        self.look()
        found = self._sessions.get(digest_of(cookie))
        return None if found is None else replace(found, csrf=_csrf(cookie))

    def logout(self, cookie: str) -> None:
        """End a session."""
        self._end(digest_of(cookie))

    def logout_everywhere(self, person: str | None = None) -> None:
        """End every session of the owner's, or of a person's account."""
        self._end_all_of(person)

    def _end_all_of(self, person: str | None) -> None:
        for digest in [one for one, session in self._sessions.items() if session.grant.person == person]:
            self._end(digest)

    def on_ended(self, call: Callable[[str], None]) -> None:
        """Call this with the name of each session that ends: its time is over, its owner has left, or others came."""
        self._calls.append(call)

    def look(self) -> None:
        """End the sessions whose time is over; called every second."""
        now = self._clock()
        if now >= self._look_again:
            self._look_again = now + PASSWORD_CHECK
            self._end_of_password()
        for digest in [digest for digest, session in self._sessions.items() if now >= session.ends]:
            self._end(digest)

    def _end_of_password(self) -> None:
        """A password that was changed or taken away by the command ends every session of the one before."""
        with suppress(JournalError):
            hashed = self._access.passwords()
            changed = [one for one in {*hashed, *self._hashed} if hashed.get(one) != self._hashed.get(one)]
            self._hashed = hashed
            self.first = None if None in hashed else self.first
            for person in changed:
                self._end_all_of(person)

    def _end(self, digest: bytes) -> None:
        session = self._sessions.pop(digest, None)
        if session is not None:
            self._forget(digest)
            for call in self._calls:
                call(session.grant.token)

    def _count(self, address: str) -> None:
        caller = household(address)
        wait = self._limit.wait(caller) or (0.0 if caller in self._known else self._in_all.wait(""))
        if wait:
            raise TooManyError(wait)

    def _entered(self, address: str, person: str | None = None) -> str:
        caller = household(address)
        self._known[caller] = None
        return self._opened(person)

    def _is_right(self, hashed: str, password: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False

    def _opened(self, person: str | None = None) -> str:
        cookie = secrets.token_urlsafe(32)
        grant = Grant(f"session-{secrets.token_hex(4)}", "owner", person)
        while len(self._sessions) >= SESSIONS:
            self._end(next(iter(self._sessions)))
        self._sessions[digest_of(cookie)] = OwnerSession(grant, self._clock() + SESSION)
        with suppress(JournalError):  # a full disk: it ends with the process
            self._access.keep_session(digest_of(cookie), grant.token, SESSION, person)
        return cookie

    def _forget(self, digest: bytes) -> None:
        """Ending comes first, whatever the disk does."""
        with suppress(JournalError):
            self._access.end_session(digest)


def _csrf(cookie: str) -> str:
    """Who has the cookie can make it, and another site's page has not; nobody can make the cookie of it."""
    return hmac.new(cookie.encode(), b"discreet csrf", "sha256").hexdigest()


def _hash_of_nothing(hasher: PasswordHasher) -> str:
    """What no password matches, and takes as long to find out: a name must not tell whether there is an account."""
    salt, hashed = (b64encode(secrets.token_bytes(size)).rstrip(b"=").decode() for size in (16, 32))
    terms = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v=19${terms}${salt}${hashed}"
