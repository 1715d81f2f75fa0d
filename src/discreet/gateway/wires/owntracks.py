"""OwnTracks: phones that post to the gateway, and what one of their messages says, whichever way it came.

Android puts a refused message back at the head of its queue and tries it for days, iOS deletes it. So who has the right
password is answered 200 and `[]` to anything, 503 only while nothing can be written or the token comes too often, and
nothing is ever asked of the phone: a `cmd` in an answer would be executed. Where the settings grant it, an answer has
where friends are (`owntracks_friends`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.gateway.auth.authorization import Authorization, refused
from discreet.gateway.runtime import BusyError, Gateway
from discreet.gateway.store.journal.base import JournalError
from discreet.gateway.wires import recorder
from discreet.gateway.wires.owntracks_friends import Friend, FriendsOnTheMap, answer
from discreet.gateway.wires.owntracks_source import LARGEST, OwnTracksSource, opened, readings_of, why_unused
from discreet.gateway.wires.reads import Reads

if TYPE_CHECKING:
    from nacl.secret import SecretBox

LONGEST_DEVICE = 64


def routes(
    gateway: Gateway,
    auth: Authorization,
    sources: Sequence[OwnTracksSource] = (),
    reads: Reads | None = None,
    friends: Sequence[Friend] = (),
) -> list[Route]:
    """Where phones post (`/pub` is the Recorder's path), and what the OwnTracks frontend reads."""
    boxes: dict[str, list[SecretBox]] = {}
    for one in sources:
        if one.box is not None:
            boxes.setdefault(one.person, []).append(one.box)
    on_the_map = FriendsOnTheMap(gateway, auth, friends)
    encrypted = {one.person for one in sources} - {one.person for one in sources if one.reads_clear}

    async def publish(request: Request) -> Response:
        try:
            phone = auth.phone(request)
            if phone is None:
                return refused()
            grant, wait = phone
            if wait:
                return _later(wait)
            person = str(grant.person)
            body, own = await _body(request), boxes.get(person, ())
            said, box = opened(body, own, clear=person not in encrypted)
            device = _device(said, request.headers.get("x-limit-d"))
            if found := list(readings_of(said, person, device)):
                await gateway.accept(found)
            elif (why := why_unused(body, said, own)) is not None:
                gateway.refused.count(person, why)
            # Whoever has the phone's password, and not its key, is not told where its friends are.
            others = await on_the_map.of(person) if box is not None or person not in encrypted else []
        except (JournalError, BusyError):
            return _later(2)
        return Response(answer(others, box), media_type="application/json")

    posted = [Route(path, publish, methods=["POST"]) for path in ("/owntracks", "/pub")]
    return posted + recorder.routes(gateway, auth, reads or Reads(gateway, auth.charge))


def _later(seconds: float) -> Response:
    return Response(status_code=503, headers={"Retry-After": str(math.ceil(seconds))})


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
