"""OwnTracks: phones that post to the gateway, and what one of their messages says, whichever way it came.

Android puts a refused message back at the head of its queue and tries it for days, iOS deletes it. So who has the right
password is answered 200 and `[]` to anything, 503 only while nothing can be written, and nothing is ever asked of the
phone: a `cmd` in an answer would be executed.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.data.formats.owntracks import row_of
from discreet.data.json_objects import loads
from discreet.gateway import recorder
from discreet.gateway.credentials import Grants, granted, refused
from discreet.gateway.forms import encoded
from discreet.gateway.heard import reading
from discreet.gateway.journal.base import JournalError
from discreet.gateway.own_store import Reading
from discreet.gateway.person import Settled
from discreet.gateway.runtime import BusyError, Gateway
from discreet.gateway.tables import Table, topic_part
from discreet.gateway.views import View

if TYPE_CHECKING:
    from nacl.secret import SecretBox  # only who has a key needs it

KEY_BYTES = 32
"""Of a key; the app fills a shorter one up with zero bytes."""

LARGEST = 1 << 18
"""Bytes of a message; what is longer holds no position. Waypoints of a phone are some thousands."""

MANY = 1000
"""Messages of one body that are read, where it is a list."""

SPEAKING = ("location", "transition")
"""Types of messages that say where somebody is."""

LONGEST_DEVICE = 64


@dataclass(frozen=True)
class OwnTracksSource:
    """A person's phones: the user of their topics, one device or any, and the key of encrypted messages."""

    person: str
    user: str
    device: str | None = None
    key: str | None = field(default=None, repr=False)

    @classmethod
    def from_table(cls, table: Mapping[str, object], where: str, folder: Path = Path()) -> OwnTracksSource:
        """From one table of [[owntracks]]."""
        at = Table(table, where, folder)
        person = at.text("person", "say whose phone it is, by a name of [people]")
        user = topic_part(at, "user", at.text("user", "give the user name that is set in the app", person))
        device = topic_part(at, "device", at.text("device", "give the device's name")) if "device" in at else None
        key = at.secret("key", "give the encryption key that is set in the app")
        at.done()
        if key is not None and len(key.encode()) > KEY_BYTES:
            raise at.error("key", f"is longer than {KEY_BYTES} bytes; the app takes no more")
        if key is not None and find_spec("nacl") is None:
            raise at.error("key", "needs PyNaCl; pip install 'discreet[owntracks-encryption]'")
        return cls(person, user, device, key)

    @property
    def box(self) -> SecretBox | None:
        """What opens encrypted messages."""
        if self.key is None:
            return None
        from nacl.secret import SecretBox

        return SecretBox(self.key.encode().ljust(KEY_BYTES, b"\0"))


def routes(
    gateway: Gateway,
    access: Grants,
    people: Mapping[str, Settled],
    views: Mapping[str, View],
    sources: Sequence[OwnTracksSource] = (),
) -> list[Route]:
    """Where phones post (`/pub` is the Recorder's path), and what the OwnTracks frontend reads."""
    boxes: dict[str, list[SecretBox]] = {}
    for one in sources:
        if one.box is not None:
            boxes.setdefault(one.person, []).append(one.box)

    async def publish(request: Request) -> Response:
        try:
            grant = granted(request, access, "source")
            if grant is None or grant.person is None:
                return refused()
            body = await _body(request)
            said, box = opened(body, boxes.get(grant.person, ()))
            device = _device(said, request.headers.get("x-limit-d"))
            if found := list(readings_of(said, grant.person, device)):
                await gateway.accept(found)
        except (JournalError, BusyError):
            return Response(status_code=503, headers={"Retry-After": "2"})
        return Response(answer(box), media_type="application/json")

    return [Route(path, publish, methods=["POST"]) for path in ("/owntracks", "/pub")] + recorder.routes(
        gateway, access, people, views
    )


def opened(body: bytes, boxes: Sequence[SecretBox]) -> tuple[object, SecretBox | None]:
    """What a body says, and what opened it if it was encrypted; None for what cannot be read."""
    said = _json(body)
    if not isinstance(said, dict) or said.get("_type") != "encrypted":
        return said, None
    if not boxes:
        return None, None
    from nacl.exceptions import CryptoError

    for box in boxes:
        try:
            return _json(box.decrypt(base64.b64decode(said.get("data") or ""))), box
        except (CryptoError, ValueError, TypeError):
            continue
    return None, None


def readings_of(said: object, person: str, device: str) -> list[Reading]:
    """The readings in what a phone said: of one message, or of a list of them."""
    messages = said[:MANY] if isinstance(said, list) else [said]
    found = (_reading(one, person, device) for one in messages if isinstance(one, dict))
    return [one for one in found if one is not None]


def answer(box: SecretBox | None) -> bytes:
    """Nothing to say, in the way that the phone spoke."""
    if box is None:
        return b"[]"
    return encoded({"_type": "encrypted", "data": base64.b64encode(box.encrypt(b"[]")).decode()})


def _reading(said: dict[str, Any], person: str, device: str) -> Reading | None:
    kind = said.get("_type")
    if kind not in SPEAKING:
        return None
    told = row_of(said, person)
    if not isinstance(told, tuple):
        return None
    # A phone may send an event and a position of the same second; both count, so they are two sources.
    source = f"owntracks/{device}" + ("/event" if kind == "transition" else "")
    return reading(person, source, *told[1:])


def _device(said: object, header: str | None) -> str:
    """The device's name: of the message's own topic, or of the header that phones send."""
    topic = said.get("topic") if isinstance(said, dict) else None
    parts = topic.split("/") if isinstance(topic, str) else []
    name = parts[2] if len(parts) >= 3 else header or ""
    return name[:LONGEST_DEVICE] if name.isprintable() and name else "phone"


async def _body(request: Request) -> bytes:
    """The body; empty where it is too long or breaks off."""
    held = bytearray()
    try:
        async for chunk in request.stream():
            held += chunk
            if len(held) > LARGEST:
                return b""
    except ClientDisconnect:
        return b""
    return bytes(held)


def _json(body: bytes) -> object:
    try:
        return loads(body)
    except (ValueError, RecursionError):
        return None
