"""The real broker on loopback, which can be killed and started again; and a client that writes down what it hears."""

from __future__ import annotations

import asyncio
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiomqtt

PROGRAM = shutil.which("mosquitto", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin")))
ABSENT = "mosquitto is not installed (Debian: apt install mosquitto)"


def free_port() -> int:
    """One that nobody has just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Mosquitto:
    """A broker whose files are in a folder."""

    def __init__(self, folder: Path, more: str = "autosave_on_changes true\nautosave_interval 1\n") -> None:
        self.port = free_port()
        self._configuration = folder / "mosquitto.conf"
        self._saved = folder / "mosquitto.db"
        access = "" if "allow_anonymous" in more else "allow_anonymous true\n"
        self._text = (
            f"user {getpass.getuser()}\npersistence true\n"
            f"persistence_location {folder}/\n"
            f"max_queued_messages 0\n{access}{more}"
        )
        self._started = False
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Mosquitto:
        """Start it, or start it again; the first time at another port where somebody took the one that was free."""
        assert PROGRAM is not None, ABSENT
        for _ in range(5):
            self._configuration.write_text(f"listener {self.port} 127.0.0.1\n{self._text}")
            self._process = subprocess.Popen(
                [PROGRAM, "-c", str(self._configuration)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            if self._listens(self._process):
                self._started = True
                return self
            if not self._started:
                self.port = free_port()
        raise AssertionError("mosquitto did not start")

    def _listens(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether it is there; False where it ended instead."""
        for _ in range(6000):
            if process.poll() is not None:
                return False
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0 and process.poll() is None:
                    return True
            time.sleep(0.01)
        raise AssertionError("mosquitto does not listen")

    def save(self) -> None:
        """Make the broker write its sessions to disk now.

        It acknowledges a message before it saves it: what it has neither saved nor delivered is lost with it, and no
        subscriber can change that.
        """
        assert self._process is not None
        before = self._written()
        self._process.send_signal(signal.SIGUSR1)
        for _ in range(3000):
            if self._written() != before:
                return
            time.sleep(0.01)
        raise AssertionError("mosquitto does not save its sessions")

    def _written(self) -> tuple[int, int] | None:
        """Which file of sessions is there: a new one takes the place of the old at each save."""
        try:
            found = self._saved.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(10)
            self._process = None


Heard = list[aiomqtt.Message]


@asynccontextmanager
async def hearing(
    broker: Mosquitto, *topics: str, version: str = "3.1.1", user: str | None = None, password: str | None = None
) -> AsyncIterator[Heard]:
    """What comes on topics, as it comes."""
    heard: Heard = []
    protocol = aiomqtt.ProtocolVersion.V5 if version == "5" else aiomqtt.ProtocolVersion.V311
    async with aiomqtt.Client("127.0.0.1", broker.port, protocol=protocol, username=user, password=password) as client:

        async def listen() -> None:
            async for message in client.messages:
                heard.append(message)

        await client.subscribe([(topic, 1) for topic in topics])
        task = asyncio.create_task(listen())
        try:
            yield heard
        finally:
            task.cancel()


async def until(what: str, is_so: object, seconds: float = 120.0) -> None:
    """Wait for something that a broker or a thread brings about."""
    assert callable(is_so)
    for _ in range(int(seconds / 0.02)):
        if is_so():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"waited in vain: {what}")
