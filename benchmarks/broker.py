"""A real broker on loopback: readings in, acknowledged after the commit, and a thousand people told at one boundary."""

from __future__ import annotations

import asyncio
import dataclasses
import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from tests.gateway.mosquitto import ABSENT, PROGRAM, Mosquitto, until
from tests.gateway.payloads import LOCATION, TST, encoded
from tests.gateway.people import CLOCK, START, closed, keeper, person_config

from discreet.gateway.config.broker import Broker, ToldView
from discreet.gateway.config.views import View
from discreet.gateway.runtime import Gateway
from discreet.gateway.store.journal import JournalRow
from discreet.gateway.wires.mqtt.connection import FIRST, BrokerConnection
from discreet.gateway.wires.mqtt.publisher import MqttPublisher
from discreet.gateway.wires.mqtt.subscriber import MqttSource
from discreet.gateway.wires.owntracks_source import OwnTracksSource
from discreet.outputs import Released

READINGS = 20_000
PEOPLE = 1_000
ASKED = 3_000


def _send(port: int) -> None:
    """A phone that has much to say."""
    phone = paho.Client(CallbackAPIVersion.VERSION2)
    phone.max_inflight_messages_set(100)
    phone.connect("127.0.0.1", port)
    phone.loop_start()
    sent = [phone.publish("owntracks/jane/pixel", encoded({**LOCATION, "tst": TST - k}), 1) for k in range(READINGS)]
    sent[-1].wait_for_publish()
    phone.disconnect()
    phone.loop_stop()


async def readings(folder: Path, broker: Mosquitto) -> None:
    jane = person_config(outputs="suppress")
    async with Gateway(keeper(folder, START.timestamp(), jane), wall=START.timestamp).running() as gateway:
        source = MqttSource(gateway, Broker(port=broker.port), [OwnTracksSource("jane", "jane")])
        task = asyncio.create_task(source.run())
        await source.connected.wait()
        kept, accept = [0], gateway.accept

        async def counted(some: Any) -> int:
            refused = await accept(some)
            kept[0] += len(some)
            return refused

        gateway.accept = counted  # type: ignore[method-assign, assignment]
        sender = multiprocessing.get_context("spawn").Process(target=_send, args=(broker.port,))
        sender.start()
        await until("the first", lambda: kept[0] > 0, 60)
        began, busy, first = time.perf_counter(), time.process_time(), kept[0]
        await until("all of them", lambda: kept[0] >= READINGS, 600)
        seconds, busy = time.perf_counter() - began, time.process_time() - busy
        sender.join()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    rate = (READINGS - first) / seconds
    verdict = "met" if rate >= ASKED else "MISSED"
    print(f"readings, acknowledged after the commit: {rate:,.0f}/s (at least {ASKED:,}: {verdict})")
    print(f"  {busy / seconds:.0%} of a core is busy here; the phone and the broker have the rest")


async def told(folder: Path, broker: Mosquitto) -> None:
    jane = person_config(outputs="suppress")
    gateway = Gateway(keeper(folder, START.timestamp(), jane), wall=START.timestamp)
    people = {f"p{k}": dataclasses.replace(jane, name=f"p{k}") for k in range(PEOPLE)}
    tells = tuple(ToldView(name) for name in people)
    teller = MqttPublisher(gateway, Broker(port=broker.port, tells=tells), people, {"whole": View()}, first=FIRST)
    task = asyncio.create_task(teller.run())
    heard: list[int] = []
    link = BrokerConnection(
        Broker(port=broker.port, name="listener"), "x", lambda client, data, message: heard.append(1)
    )
    await link.open()
    link.client.subscribe("discreet/+/whole/state")
    await teller.connected.wait()
    for slot in (3, 4, 5):
        ends = int(CLOCK.end_of(START.date(), slot).timestamp())
        rows = [JournalRow(name, START.date(), slot, ends, 1, slot, Released("home"), "", ()) for name in people]
        heard.clear()
        began, busy = time.perf_counter(), time.process_time()
        await gateway.tell(rows)
        await until("everybody", lambda: len(heard) >= PEOPLE, 60)
        seconds, busy = time.perf_counter() - began, time.process_time() - busy
        print(f"{PEOPLE:,} people at one boundary, four messages each: {seconds:.2f} s, {busy:.2f} s of them busy here")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await link.close()
    closed(gateway.keeper)


def main() -> None:
    if PROGRAM is None:
        print(f"not run: {ABSENT}")
        return
    for work in (readings, told):
        with tempfile.TemporaryDirectory() as name:
            broker = Mosquitto(Path(name), "set_tcp_nodelay true\n").start()
            try:
                asyncio.run(work(Path(name), broker))
            finally:
                broker.stop()


if __name__ == "__main__":
    main()
