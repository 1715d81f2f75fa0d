"""What is left of a person outside the own store: the table that habits were learned from, and positions that phones
left at the broker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.gateway.config.broker import Broker
from discreet.gateway.wires.owntracks_source import OwnTracksSource

if TYPE_CHECKING:
    from discreet.gateway.config.settings import Settings

WAIT = 2.0
"""Seconds in which a broker sends what it has retained."""

SUFFIX = "policy.toml"


def tables_of(settings: Settings, person: str) -> list[Path]:
    """The tables of readings that setup left beside a person's policy."""
    known = settings.people.get(person)
    if known is None:
        return []
    prefix = known.policy.name.removesuffix(SUFFIX) if known.policy.name.endswith(SUFFIX) else ""
    return [path for path in [known.policy.with_name(f"{prefix}readings.parquet")] if path.is_file()]


def topics_of(phones: Sequence[OwnTracksSource], person: str) -> list[str]:
    """Where a person's phones leave positions, as filters to subscribe to."""
    found = []
    for one in phones:
        if one.person == person:
            base = f"owntracks/{one.user}/{one.device or '+'}"
            found += [base, f"{base}/#"]
    return found


async def cleared(broker: Broker, topics: Sequence[str]) -> tuple[list[str], list[str]]:
    """Clear what is retained there: what is gone, and what the broker still has because its ACL does not let us."""
    from discreet.gateway.wires.mqtt.connection import Message

    before = await _retained(broker, topics, ())
    left = await _retained(broker, topics, [Message(topic, b"") for topic in before])
    return [topic for topic in before if topic not in left], left


async def _retained(broker: Broker, topics: Sequence[str], first: Sequence[Any]) -> list[str]:
    """The topics on which something is retained, after these messages."""
    from discreet.gateway.wires.mqtt.connection import BrokerConnection

    found: set[str] = set()

    def take(client: Any, data: Any, message: Any) -> None:
        if message.retain and message.payload:
            found.add(message.topic)

    link = BrokerConnection(broker, "forget", take)
    try:
        await link.open()
        await link.publish(first)
        link.client.subscribe([(topic, 0) for topic in topics])
        await asyncio.sleep(WAIT)
    finally:
        await link.close()
    return sorted(found)
