"""OwnTracks: whose phones these are, and what one of their messages says, whichever way it came."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from discreet.data.formats.owntracks import row_of
from discreet.data.json_objects import loads
from discreet.gateway.config.section import Section
from discreet.gateway.slots.sources import Why
from discreet.gateway.store.own_store import Reading
from discreet.gateway.wires.ingest import reading

if TYPE_CHECKING:
    from nacl.secret import SecretBox

LARGEST = 1 << 18
"""Bytes of a message; what is longer holds no position. Waypoints of a phone are some thousands."""

MANY = 1000
"""Messages of one body that are read, where it is a list."""

SPEAKING = ("location", "transition")
"""Types of messages that say where somebody is."""

BOX_KEY = 32
"""Bytes of a key, as libsodium's secret boxes have it."""


@dataclass(frozen=True)
class OwnTracksSource:
    """A person's phones: the user of their topics, one device or any, and the key of encrypted messages."""

    person: str
    user: str
    device: str | None = None
    key: str | None = field(default=None, repr=False)
    clear: bool = False
    """Whether messages that are not encrypted are read although there is a key."""

    @classmethod
    def read(cls, at: Section) -> OwnTracksSource:
        """From one table of [[owntracks]]."""
        person = at.text("person", "say whose phone it is, by a name of [people]")
        user = at.topic_part("user", "give the user name that is set in the app", person)
        device = at.topic_part("device", "give the device's name") if "device" in at else None
        key = at.secret("key", "give the encryption key that is set in the app")
        clear = at.flag("clear", False)
        at.done()
        if key is not None and find_spec("nacl") is None:
            raise at.error("key", "needs PyNaCl; install it with: pip install 'discreet[owntracks-encryption]'")
        if key is not None and len(key.encode()) > BOX_KEY:
            raise at.error("key", f"is longer than {BOX_KEY} bytes; the app takes no more")
        return cls(person, user, device, key, clear)

    @property
    def reads_clear(self) -> bool:
        """Whether messages that are not encrypted are read: without a key all are, with one by the setting alone.

        Whoever has the phone's password, and not its key, must not be able to say where somebody is.
        """
        return self.key is None or self.clear

    @property
    def box(self) -> SecretBox | None:
        """What opens encrypted messages; the app fills a short key up with zero bytes."""
        if self.key is None:
            return None
        from nacl.secret import SecretBox

        return SecretBox(self.key.encode().ljust(BOX_KEY, b"\0"))


def opened(body: bytes, boxes: Sequence[SecretBox], *, clear: bool = True) -> tuple[object, SecretBox | None]:
    """What a body says, and what opened it if it was encrypted; None for what cannot be read.

    Not `clear`: nor for what is not encrypted.
    """
    said = _json(body)
    if not isinstance(said, dict) or said.get("_type") != "encrypted":
        return (said if clear else None), None
    if not boxes:
        return None, None  # nobody gave a key, and PyNaCl need not be there
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


def why_unused(body: bytes, said: object, boxes: Sequence[SecretBox]) -> Why | None:
    """Why a message that gave no reading gave none; None where it is of a kind that has none."""
    if said is None:
        sealed = _json(body)
        if isinstance(sealed, dict) and sealed.get("_type") == "encrypted":
            return "wrong_key" if boxes else "no_key"
        return "unreadable" if sealed is None else "not_encrypted"  # it can be read, and is refused where a key is set
    messages = said[:MANY] if isinstance(said, list) else [said]
    spoke = any(isinstance(one, dict) and one.get("_type") in SPEAKING for one in messages)
    return "unusable" if spoke else None


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


def _json(body: bytes) -> object:
    try:
        return loads(body)
    except (ValueError, RecursionError):
        return None
