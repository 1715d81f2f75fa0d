"""Logins of people who see to their own truth, secrets and applications, beside the owner's password.

Whoever has an account is out of the owner's sight. So that no owner comes to see what was true by taking an account
over, the past that is kept of a person is erased when the account is removed or invited anew: `owed` names whose has to
be, and until it is, nobody sees that person.
"""

from __future__ import annotations

import hmac
import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

from discreet.gateway.store.database import DAMAGE, is_damaged
from discreet.gateway.store.journal.base import JournalError

T = TypeVar("T")

INVITED = 7 * 86_400.0
"""Seconds for which an invitation holds."""

Execute = Callable[[str, tuple[Any, ...]], sqlite3.Cursor]


@dataclass(frozen=True)
class Account:
    """One person's account, as the owner sees it."""

    person: str
    open: bool
    """Whether a password is set: until then the owner sees to the person."""
    until: int | None
    """When an invitation ends that was not accepted; seconds since 1970."""


class PersonAccounts:
    """The accounts of a data folder, in the file of its tokens."""

    def __init__(self, execute: Execute, clock: Callable[[], float]) -> None:
        self._execute, self._clock = execute, clock

    def known(self) -> list[Account]:
        """Every account, by name."""
        now = self._clock()

        def made(person: str, password: str | None, until: int | None) -> Account:
            return Account(person, password is not None, until if until is not None and until > now else None)

        return self._made(made, "SELECT person, password, until FROM account WHERE gone = 0 ORDER BY person")

    def closed(self) -> frozenset[str]:
        """Whom the owner does not see."""
        return frozenset(
            self._made(str, "SELECT person FROM account WHERE password IS NOT NULL OR gone = 1 OR owed = 1")
        )

    def passwords(self) -> dict[str, str]:
        """The hash of every account's password."""
        asked = "SELECT person, password FROM account WHERE password IS NOT NULL AND gone = 0"
        return dict(self._made(lambda person, password: (str(person), str(password)), asked))

    def password(self, person: str) -> str | None:
        """The hash of one account's password; None where there is none."""
        return self.passwords().get(person)

    def invite(self, person: str) -> str:
        """A secret by which the person sets a password, once; the one before holds no more."""
        secret = secrets.token_urlsafe(32)
        until = int(self._clock() + INVITED)
        self._execute(
            "INSERT INTO account VALUES (?, NULL, ?, ?, 0, 0) ON CONFLICT (person)"
            " DO UPDATE SET invitation = excluded.invitation, until = excluded.until WHERE gone = 0",
            (person, _digest(secret), until),
        )
        return secret

    def invited(self, secret: str) -> str | None:
        """Whom an invitation is for; None for one that is unknown, used or over."""
        given, now = _digest(secret), self._clock()
        asked = "SELECT person, invitation, until FROM account WHERE invitation IS NOT NULL AND gone = 0"
        rows = self._made(lambda person, invitation, until: (str(person), bytes(invitation), int(until)), asked)
        for person, invitation, until in rows:
            if hmac.compare_digest(invitation, given) and now < until:
                return person
        return None

    def accept(self, person: str, hashed: str) -> None:
        """The invited person's password. Where there was one, the past is owed: it was somebody else's to see."""
        self._execute(
            "UPDATE account SET owed = (password IS NOT NULL OR owed), password = ?, invitation = NULL, until = NULL"
            " WHERE person = ? AND gone = 0",
            (hashed, person),
        )
        self._end_sessions(person)

    def set_password(self, person: str, hashed: str) -> None:
        """Another password, by who knew the one before; its sessions end."""
        self._execute("UPDATE account SET password = ? WHERE person = ? AND gone = 0", (hashed, person))
        self._end_sessions(person)

    def remove(self, person: str) -> bool:
        """End an account, at once; the owner sees to the person when the past is erased. False if there is none.

        One that was never opened leaves nothing to erase.
        """
        never_opened = self._execute(
            "DELETE FROM account WHERE person = ? AND password IS NULL AND owed = 0 AND gone = 0", (person,)
        )
        ended = self._execute(
            "UPDATE account SET gone = 1, owed = 1, password = NULL, invitation = NULL, until = NULL"
            " WHERE person = ? AND gone = 0",
            (person,),
        )
        self._end_sessions(person)
        return never_opened.rowcount > 0 or ended.rowcount > 0

    def owed(self) -> list[str]:
        """Whose past has to be erased before anybody sees the person."""
        return self._made(str, "SELECT person FROM account WHERE owed = 1 ORDER BY person")

    def erased(self, person: str) -> None:
        """The past is erased: the account is open, or gone for good."""
        self._execute("DELETE FROM account WHERE person = ? AND gone = 1", (person,))
        self._execute("UPDATE account SET owed = 0 WHERE person = ?", (person,))

    def _made(self, make: Callable[..., T], query: str) -> list[T]:
        found = self._execute(query, ()).fetchall()
        try:
            return [make(*row) for row in found]
        except DAMAGE as error:
            raise JournalError(is_damaged("access.db", error)) from error

    def _end_sessions(self, person: str) -> None:
        self._execute("DELETE FROM session WHERE person = ?", (person,))


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()
