"""Who may do what: tokens with a purpose, and accounts, in a file of their own.

A token is 256 random bits, shown once and kept as its SHA-256: bits like these need no slow hash. `discreet token`
works on the same file while the gateway runs; the gateway sees the change at the next request, and `look` tells open
streams. Last use is kept by the hour, which is enough to find tokens that nobody needs.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from discreet.errors import DiscreetError
from discreet.gateway.auth.accounts import PersonAccounts
from discreet.gateway.config.views import WHOLE
from discreet.gateway.store.access_schema import SCHEMA
from discreet.gateway.store.database import DAMAGE, RAW, is_damaged, opened
from discreet.gateway.store.journal.base import JournalError

LOG = logging.getLogger("discreet.gateway.auth.tokens")

SECRET_BYTES = 32

HOUR = 3600

Purpose = Literal["source", "application", "owner"]


@dataclass(frozen=True)
class Grant:
    """What a caller may do: write one person's readings, read one person's view, or everything."""

    token: str
    """Public name of the token: it may stand in lists and logs."""
    purpose: Purpose
    person: str | None
    view: str = WHOLE
    now_only: bool = False
    """The present alone: no history, and no backlog of a stream."""


@dataclass(frozen=True)
class Token:
    """A token as its owner sees it in a list; times are seconds since 1970."""

    grant: Grant
    name: str
    made: int
    expires: int | None
    used: int | None
    """The hour of the last use."""
    revoked: int | None
    digest: bytes = field(repr=False)

    def holds(self, now: float) -> bool:
        """Whether it opens anything."""
        return self.revoked is None and (self.expires is None or now < self.expires)


class Access:
    """The tokens of a data folder, and the owner's password as its hash."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path, self._clock = path, clock
        self._connection = opened(path, SCHEMA, "list of tokens")
        self._lock = threading.RLock()
        self.accounts = PersonAccounts(self._execute, clock)
        self._version = -1
        self._by_digest: dict[bytes, Token] = {}
        self._ended: set[str] = set()
        self._refused: set[str] = set()  # revoked here, whether that could be written down or not
        self._used: dict[str, int] = {}
        self._calls: list[Callable[[str], None]] = []
        with self._lock:
            self._refresh()

    # --- asking

    def grant(self, secret: str) -> Grant | None:
        """What a secret opens; None for one that is unknown, expired or revoked."""
        digest = digest_of(secret)
        with self._lock:
            self._refresh()
            token = self._by_digest.get(digest)
            now = self._clock()
            if token is None or not hmac.compare_digest(token.digest, digest) or not self._opens(token, now):
                return None
            self._used[token.grant.token] = int(now) // HOUR * HOUR
            return token.grant

    def list(self) -> list[Token]:
        """Every token there was, the latest last."""
        with self._lock:
            self._refresh()
            return sorted(self._by_digest.values(), key=lambda one: (one.made, one.grant.token))

    def has_password(self) -> bool:
        """Whether the owner has set one."""
        return self.password() is not None

    def password(self) -> str | None:
        """The hash of the owner's password."""
        found = self._execute("SELECT password FROM owner").fetchone()
        return None if found is None else str(found[0])

    # --- changing

    def add(
        self,
        purpose: Purpose,
        person: str | None,
        *,
        view: str = WHOLE,
        now_only: bool = False,
        name: str = "",
        expires: float | None = None,
    ) -> tuple[str, str]:
        """A new token: its public name, and the secret, which is kept nowhere."""
        if purpose not in get_args(Purpose):
            raise DiscreetError(f"a token is for {', '.join(get_args(Purpose))}; {purpose!r} is none of them")
        if (person is None) != (purpose == "owner"):
            raise DiscreetError("a source and an application are of one person, an owner of none: give --person so")
        if purpose != "application" and (view != WHOLE or now_only):
            raise DiscreetError("a view, and the present alone, are for applications; leave them out")
        if expires is not None and expires <= self._clock():
            raise DiscreetError("the token would have expired already; give a time to come")
        token, secret = secrets.token_hex(4), secrets.token_urlsafe(SECRET_BYTES)
        self._execute(
            "INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
            (
                token,
                digest_of(secret),
                purpose,
                person,
                view,
                int(now_only),
                name,
                int(self._clock()),
                None if expires is None else int(expires),
            ),
        )
        self._forget_version()
        return token, secret

    def revoke(self, token: str) -> bool:
        """End a token, at once: its requests are refused and its streams closed. False if there is none to end.

        Where that cannot be written down (a full disk), the token is refused all the same until this process ends, and
        the error says so.
        """
        with self._lock:
            with suppress(JournalError):  # what was last read says whether there is such a token
                self._refresh()
            if all(one.grant.token != token or one.revoked is not None for one in self._by_digest.values()):
                return False
            self._refused.add(token)
            self._end_streams()
        try:
            self._execute(
                "UPDATE token SET revoked = ? WHERE token = ? AND revoked IS NULL", (int(self._clock()), token)
            )
        except JournalError as error:
            raise JournalError(f"{error}; {token} is refused now, but not after a restart: revoke it again") from error
        self._forget_version()
        return True

    def set_password(self, hashed: str, person: str | None = None) -> None:
        """Keep the hash of a password, the owner's or an account's; the one before and its sessions are gone first."""
        if person is not None:
            self.accounts.set_password(person, hashed)
            return
        self._execute("DELETE FROM session WHERE person IS NULL", ())
        self._execute("INSERT OR REPLACE INTO owner VALUES (1, ?)", (hashed,))

    def passwords(self) -> dict[str | None, str]:
        """The hash of every password: None's is the owner's."""
        found: dict[str | None, str] = dict(self.accounts.passwords().items())
        if (owner := self.password()) is not None:
            found[None] = owner
        return found

    def sessions(self) -> dict[bytes, tuple[str, str | None, float]]:
        """The sessions that have not ended: a cookie's digest, the session's name, whose account, what is left."""
        now = self._clock()
        self._execute("DELETE FROM session WHERE ends <= ?", (int(now),))
        rows = self._execute("SELECT digest, name, person, ends FROM session").fetchall()
        try:
            return {bytes(digest): (str(name), person, ends - now) for digest, name, person, ends in rows}
        except DAMAGE as error:
            raise JournalError(is_damaged(self.path, error)) from error

    def keep_session(self, digest: bytes, name: str, lasts: float, person: str | None = None) -> None:
        """Keep a session over a restart; of its cookie, the digest alone."""
        values = (digest, name, int(self._clock() + lasts), person)
        self._execute("INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?)", values)

    def end_session(self, digest: bytes) -> None:
        """A session that has ended is over after a restart, too."""
        self._execute("DELETE FROM session WHERE digest = ?", (digest,))

    def on_revoked(self, call: Callable[[str], None]) -> None:
        """Call this with the name of each token that ends: revoked, here or by the command, or expired.

        It is called before anything is written.
        """
        self._calls.append(call)

    def look(self) -> None:
        """Tell of tokens that ended since the last look, then write down which were used; called every second.

        What was last read decides who has ended, so that a token also ends by the clock when the file cannot be read.
        """
        try:
            with self._lock:
                self._refresh()
        finally:
            self._end_streams()
        with self._lock:
            self._write_used()

    def close(self) -> None:
        """Let go of the file, when nobody uses it: SQLite does not survive that."""
        with self._lock:
            self._connection.close()

    # --- within

    def _opens(self, token: Token, now: float) -> bool:
        return token.holds(now) and token.grant.token not in self._refused

    def _end_streams(self) -> None:
        """Tell everybody who listens of each token that has ended since; no listener keeps another from hearing it."""
        with self._lock:
            now = self._clock()
            ended = {one.grant.token for one in self._by_digest.values() if not self._opens(one, now)}
            fresh, self._ended = ended - self._ended, ended
        for token in fresh:
            for call in self._calls:
                try:
                    call(token)
                except Exception as error:
                    LOG.error("an end could not be passed on", extra={"kind": type(error).__name__})

    def _forget_version(self) -> None:
        self._version = -1  # SQLite counts what other connections change, not what this one does

    def _refresh(self) -> None:
        """Read the tokens again where the file has changed."""
        try:
            (version,) = self._execute("PRAGMA data_version").fetchone()
            if version != self._version:
                rows = self._execute("SELECT * FROM token").fetchall()
                self._by_digest = dict(map(_token, rows))
                self._version = version
        except DAMAGE as error:
            if isinstance(error, JournalError):
                raise
            raise JournalError(is_damaged(self.path, error)) from error

    def _write_used(self) -> None:
        known = {one.grant.token: one for one in self._by_digest.values()}
        for token, hour in self._used.items():
            if token in known and known[token].used != hour:
                self._execute("UPDATE token SET used = ? WHERE token = ?", (hour, token))
                self._by_digest[known[token].digest] = replace(known[token], used=hour)
        self._used.clear()

    def _execute(self, query: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        with self._lock:
            try:
                return self._connection.execute(query, values)
            except RAW as error:
                raise JournalError(f"{self.path}: cannot be used: {error}") from error


def digest_of(secret: str) -> bytes:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _token(row: tuple[Any, ...]) -> tuple[bytes, Token]:
    token, digest, purpose, person, view, now_only, name, made, expires, used, revoked = row
    ends = None if expires is None else int(expires)
    grant = Grant(str(token), purpose, person, str(view), bool(now_only))
    return bytes(digest), Token(grant, str(name), int(made), ends, used, revoked, digest)
