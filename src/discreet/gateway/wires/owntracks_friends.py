"""Friends on the map of OwnTracks: what was released of people who grant a view to somebody, in answers to their phone.

Off unless the settings grant it. A friend is told what an application with that view is: the last slot that was told,
and nothing where it was silent. An answer never has a `cmd`, which a phone would execute.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from discreet.gateway.auth.authorization import Authorization
from discreet.gateway.config.section import Section
from discreet.gateway.config.views import WHOLE
from discreet.gateway.forms import encoded
from discreet.gateway.runtime import Gateway
from discreet.gateway.store.journal.base import JournalRow
from discreet.gateway.wires.recorder import tracker_of

if TYPE_CHECKING:
    from nacl.secret import SecretBox


@dataclass(frozen=True)
class Friend:
    """[[friend]]: `person` grants a view to somebody, whose phone shows it."""

    person: str
    to: str
    view: str = WHOLE

    @classmethod
    def read(cls, at: Section) -> Friend:
        """From one table of [[friend]]."""
        found = cls(
            at.text("person", "say who grants it, by a name of [people]"),
            at.text("to", "say who gets it on the phone, by a name of [people]"),
            at.text("view", "give a name of [views]", WHOLE),
        )
        at.done()
        if found.person == found.to:
            raise at.error("to", f"is {found.to!r} as well; a phone is not told of its own person")
        return found


class FriendsOnTheMap:
    """What phones are answered about others."""

    def __init__(self, gateway: Gateway, auth: Authorization, friends: Sequence[Friend]) -> None:
        self._gateway, self._auth, self._friends = gateway, auth, tuple(friends)
        self._last: dict[str, JournalRow] = {}

    async def of(self, person: str) -> list[dict[str, Any]]:
        """The messages for a phone of this person: a location and a name for each friend of whom a place was told."""
        found = []
        for one in self._friends:
            if one.to != person or one.person not in self._auth.people or one.view not in self._auth.views:
                continue
            row = await self._told(one.person)
            forms, tracker = self._auth.forms_of(one.person, one.view), tracker_of(one.person)
            location = None if row is None else forms.owntracks(row, tracker)
            if location is not None:
                topic = f"owntracks/{one.person}/{one.view}"
                found.append(location | {"topic": topic})
                found.append({"_type": "card", "name": one.person, "tid": location["tid"], "topic": f"{topic}/info"})
        return found

    async def _told(self, person: str) -> JournalRow | None:
        """The last slot that was told, read once."""
        shown, known = self._gateway.shown(person), self._last.get(person)
        if shown is None or (known is not None and known.key == shown):
            return known if shown is not None else None
        before = (shown[0], shown[1] - 1)
        rows = await run_in_threadpool(self._gateway.rows, person, before, shown, 1)
        if not rows:
            return None
        self._last[person] = rows[0]
        return rows[0]


def answer(messages: Sequence[dict[str, Any]], box: SecretBox | None) -> bytes:
    """The answer to a phone, in the way that it spoke: each message is encrypted where its own was."""
    if box is None:
        return encoded(list(messages))
    if not messages:
        return encoded(_sealed(b"[]", box))
    return encoded([_sealed(encoded(one), box) for one in messages])


def _sealed(body: bytes, box: SecretBox) -> dict[str, str]:
    return {"_type": "encrypted", "data": base64.b64encode(box.encrypt(body)).decode()}
