"""Home Assistant: how it finds a released person by itself (MQTT discovery), and its states as readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from discreet.data.formats.home_assistant import row_of
from discreet.data.rows import inside, instant_of
from discreet.gateway.config.broker import Broker, identifier
from discreet.gateway.config.section import Section
from discreet.gateway.store.own_store import Reading
from discreet.gateway.wires.ingest import reading

PLACE = "{{ value_json.get('context') or value_json.get('node') or 'None' }}"
"""The name of what was released; None is a sensor that knows nothing."""


def discovery(broker: Broker, person: str, view: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Topics and documents by which Home Assistant shows a view: a tracker, the place's name, and the slot's time."""
    base = broker.topic(person, view)
    device = identifier(broker.name, person, view)
    shared = {
        "device": {"identifiers": [device], "name": person if view == "whole" else f"{person} ({view})"},
        "origin": {"name": "discreet"},
        "availability_topic": broker.status,
        "qos": 1,
    }
    tracker = {
        "unique_id": device,
        "name": None,
        "state_topic": f"{base}/state",
        "json_attributes_topic": f"{base}/attributes",
        "payload_reset": "None",
        "source_type": "gps",
    }
    place = {"unique_id": f"{device}-place", "name": "Place", "state_topic": base, "value_template": PLACE}
    time = {
        "unique_id": f"{device}-time",
        "name": "Time",
        "state_topic": base,
        "value_template": "{{ value_json.end }}",
        "device_class": "timestamp",
    }
    for kind, one in (("device_tracker", tracker), ("sensor", place), ("sensor", time)):
        yield f"{broker.discovery}/{kind}/{one['unique_id']}/config", shared | one


@dataclass(frozen=True)
class HomeAssistantSource:
    """Entities whose states are somebody's context, over the WebSocket API or over MQTT statestream."""

    entities: Mapping[str, str]
    """Whose each entity is: {"person.jane": "jane"}."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What a state is called here, where Home Assistant calls it otherwise: {"Work": "office"}."""
    url: str | None = None
    token: str | None = field(default=None, repr=False)
    again: int = 900
    """Seconds after which states are asked for again over the WebSocket: one that lasts makes no event."""
    statestream: str | None = None
    """The base topic of mqtt_statestream, instead of a url."""

    @classmethod
    def read(cls, at: Section) -> HomeAssistantSource:
        """From one table of [[home_assistant]]."""
        entities = at.pairs("entities", 'say whose each is: entities = { "person.jane" = "jane" }')
        labels = at.pairs("labels", 'give names of states: labels = { "Work" = "office" }', {})
        url = at.maybe("url", "give the address, such as http://homeassistant.local:8123")
        token = at.secret("token", "make a long-lived access token on your profile's page of Home Assistant")
        again = at.whole("again", "give seconds, or 0 for never", 900, 0, 86_400)
        base = at.maybe("statestream", "give the base_topic of mqtt_statestream")
        at.done()
        for entity in entities:
            if len(entity.split(".")) != 2 or not all(entity.split(".")) or set(entity) & set("/+#\0"):
                raise at.error("entities", f"has {entity!r}; an entity is written as in person.jane")
        if not entities:
            raise at.error("entities", "is empty; name at least one, or leave the whole table out")
        if (url is None) == (base is None):
            raise at.error("url", "give it, or statestream: one of the two")
        if url is not None and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname):
            raise at.error("url", f"is {url!r}; give an address such as http://homeassistant.local:8123")
        if url is not None and token is None:
            raise at.error("token_file", "is missing; give the path of a file with a long-lived access token")
        if base is not None and set(base) & set("+#\0"):
            raise at.error("statestream", f"is {base!r}; give the topic without + and #")
        return cls(entities, labels, url, token, again, None if base is None else base.rstrip("/"))

    @property
    def socket(self) -> str:
        """The address of the WebSocket API."""
        return "ws" + (self.url or "").removeprefix("http").rstrip("/") + "/api/websocket"

    def reading(self, state: object, entity: object, instant: int | None = None) -> Reading | None:
        """What a state says of the person of its entity, at its own time or at one that is given; None for no context.

        Asked again, it is still the same since it changed: that prolongs what it says, and is no news of it. Any entity
        may have labels as states; the parser knows people and trackers, so all are told it as a person's.
        """
        person = self.entities.get(entity) if isinstance(entity, str) else None
        if person is None:
            return None
        told = row_of(state, "person.any")
        if not isinstance(told, tuple):
            return None
        _, then, latitude, longitude, accuracy, label = told
        if instant is not None:
            latitude = longitude = None  # what still holds is the state; a position was of its own time
        named = None if label is None else self.labels.get(_said(state), label)
        when = then if instant is None else instant
        changed = instant_of(inside(state, "last_changed"))
        since = changed if changed is not None and changed < when else None
        return reading(person, source_of(str(entity)), when, latitude, longitude, accuracy, named, since)


def source_of(entity: str) -> str:
    """What an entity is called as the source of readings."""
    return f"home_assistant/{entity}"


def _said(state: object) -> str:
    """The state as Home Assistant spells it."""
    text = state.get("state") if isinstance(state, dict) else None
    return text if isinstance(text, str) else ""
