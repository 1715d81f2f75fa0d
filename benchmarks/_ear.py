"""An application at a broker, in a process of its own, that writes down every event it is told: a JSON object a line.

Its session stays at the broker (QoS 1, a fixed client id), so nothing that the broker was told passes it by.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

TOPIC = "discreet/+/whole"
END = b"the end"


@contextmanager
def hearing(port: int, file: Path) -> Iterator[None]:
    """What is told at this broker within the block is in the file after it."""
    process = subprocess.Popen([sys.executable, "-m", __name__, str(port), str(file)])
    try:
        while not file.exists():  # made when the broker has confirmed the subscription
            if process.poll() is not None:
                raise RuntimeError("the application at the broker did not start; its error is above")
            time.sleep(0.01)
        yield
        last = paho.Client(CallbackAPIVersion.VERSION2)
        last.connect("127.0.0.1", port)
        last.loop_start()
        last.publish("discreet/end/whole", END, 1).wait_for_publish(60)
        last.loop_stop()
        process.wait(60)
    finally:
        process.kill()
        process.wait()


def main(port: int, file: Path) -> None:
    """Listen until the last message."""
    ear = paho.Client(CallbackAPIVersion.VERSION2, client_id="ear", clean_session=False)
    heard = open(file.with_suffix(".part"), "ab", buffering=0)  # noqa: SIM115 - until the process ends

    def take(client: paho.Client, _: Any, message: paho.MQTTMessage) -> None:
        if message.payload == END:
            client.disconnect()
        elif message.payload:
            heard.write(message.payload + b"\n")

    ear.on_message = take
    ear.on_subscribe = lambda *_: os.link(file.with_suffix(".part"), file)
    ear.connect("127.0.0.1", port)
    ear.subscribe(TOPIC, 1)
    ear.loop_forever(retry_first_connection=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
