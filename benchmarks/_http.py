"""A gateway in a process of its own, behind real sockets, and what loads it: plain clients that wait for each answer.

`Server` starts `python -m benchmarks._http FOLDER PEOPLE SENDERS AHEAD PAST`, which serves people of the same habits
with the limits that everybody has, writes where it listens and its tokens as one line of JSON, and another line when it
has stopped. Its clock begins AHEAD seconds before a slot ends, PAST slots after the first one, all of them skipped. The
clients are written by hand, because the machine that they share with the server should spend its time there.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from benchmarks._crashes import BEGAN, CLOCK, WHERE, person_config, routine
from discreet.gateway.app import GatewayPlan, PreparedGateway
from discreet.gateway.config.sections import Rates
from discreet.gateway.config.sections import Server as Address
from discreet.gateway.server import listening, run
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.folder import Folder
from discreet.gateway.store.journal import SqliteJournal
from discreet.gateway.store.own_store import OwnStore

STARTING = 120.0
"""Seconds that a server has to start."""


# --- the process that serves


def timed(keeper: Keeper) -> list[tuple[float, float]]:
    """What each boundary takes from now on: seconds by the wall clock, and by the thread's processor."""
    real, steps = keeper.step, list[tuple[float, float]]()

    def step(now: float) -> bool:
        at, used = time.perf_counter(), time.thread_time()
        decided = real(now)
        if decided:
            steps.append((time.perf_counter() - at, time.thread_time() - used))
        return decided

    keeper.step = step  # type: ignore[method-assign]
    return steps


def serve(folder: Path, people: int, senders: int, ahead: float, past: int) -> None:
    """Serve until SIGTERM, and write how long boundaries took and how busy the processor was."""
    bound = listening("127.0.0.1", 0)
    habits = routine()
    everybody = [person_config(f"p{k}", habits) for k in range(people)]
    start = BEGAN + (past + 1) * CLOCK.slot_seconds - ahead
    began = [time.monotonic()]
    if past:
        _lived(folder, everybody, BEGAN + past * CLOCK.slot_seconds)
        began[0] = time.monotonic()

    def wall() -> float:
        return start + time.monotonic() - began[0]

    address, limits = Address(port=bound.getsockname()[1]), Rates(connections=10 * (people + senders))
    served = PreparedGateway(GatewayPlan(everybody, wall=wall, server=address, limits=limits), Folder.made(folder))
    steps = timed(served.gateway.keeper)
    sources = [served.access.add("source", f"p{k}")[1] for k in range(senders)]
    readers = [served.access.add("application", one.name)[1] for one in everybody]
    used, cookie = [0.0], served.owner._opened()
    session = served.owner.session(cookie)
    assert session is not None  # it was just opened

    def ready() -> None:
        began[0], used[0] = time.monotonic(), time.process_time()
        told = {"port": bound.getsockname()[1], "began": began[0], "sources": sources, "readers": readers}
        print(json.dumps(told | {"cookie": f"{served.auth._cookie}={cookie}", "csrf": session.csrf}), flush=True)

    signal.signal(signal.SIGTERM, lambda number, frame: None)  # the server raises it again when it has stopped
    run(served, bound, ready)
    print(json.dumps({"steps": steps, "busy": time.process_time() - used[0]}), flush=True)


def _lived(folder: Path, everybody: Sequence[PersonConfig], until: float) -> None:
    """A past for everybody: the journal of a gateway that was off all the time."""
    made = Folder.made(folder)
    key = made.key()  # made before what it signs
    keeper = Keeper(everybody, SqliteJournal(made.journal), OwnStore(made.own), key, BEGAN + 1)
    keeper.turn(until + 1)
    keeper.journal.close()
    keeper.own.close()


@dataclass
class Server:
    """A server that runs; `stopped` is what it says at its end."""

    process: subprocess.Popen[str]
    port: int
    began: float
    """Of the machine's monotonic clock: the gateway's clock stood then at AHEAD before the boundary."""
    sources: Sequence[str]
    readers: Sequence[str]
    cookie: str
    """Of the owner's session, and what a write has to bring along."""
    csrf: str
    stopped: Any = None


@contextmanager
def serving(folder: Path, people: int, senders: int, ahead: float, past: int = 0) -> Iterator[Server]:
    """A server within the block."""
    given = map(str, (folder, people, senders, ahead, past))
    words = [sys.executable, "-m", "benchmarks._http", *given]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    out = process.stdout
    assert out is not None  # it is a pipe
    try:
        server = Server(process, **_line(out))
        yield server
        process.terminate()
        server.stopped = _line(out)
    finally:
        process.kill()
        process.wait()
        out.close()


def _line(out: IO[str]) -> Any:
    line = out.readline()
    if not line:
        raise RuntimeError("the server ended; its error is above")
    return json.loads(line)


# --- clients


def posted(person: str, secret: str, body: object) -> bytes:
    """A request that brings readings."""
    sent = json.dumps(body).encode()
    return (
        f"POST /v1/people/{person}/readings HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
    ).encode() + sent


class Sender(asyncio.Protocol):
    """Sends a request when the one before is answered; `waits` has the seconds that each took."""

    def __init__(self, requests: Iterator[bytes]) -> None:
        self._requests, self._held = requests, b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.sent: list[float] = []
        self.waits: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        """An answer, or a part of one."""
        self._held += data
        head, found, body = self._held.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]):
            return
        if not self._held.startswith(b"HTTP/1.1 200 "):
            self.done.set_exception(RuntimeError(self._held.decode(errors="replace")))
            self._transport.close()
            return
        self._held = b""
        self.waits.append(time.monotonic() - self.sent[-1])
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        """The server ends a connection only when it stops."""
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed a connection"))

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self.done.set_result(None)
            self._transport.close()
        else:
            self.sent.append(time.monotonic())
            self._transport.write(request)


def one_by_one(server: Server, number: int, until: float, batch: int) -> Iterator[bytes]:
    """Requests of a phone until a time; `batch` readings each."""
    where = list(WHERE.values())
    first = dt.datetime.fromtimestamp(BEGAN, dt.UTC).timestamp()
    count = 0
    while time.monotonic() < until:
        body = [
            {"time": first + 0.001 * i, "latitude": where[i % 3][0], "longitude": where[i % 3][1], "accuracy": 20}
            for i in range(count, count + batch)
        ]
        count += batch
        yield posted(f"p{number}", server.sources[number], body[0] if batch == 1 else body)


async def loaded(server: Server, seconds: float, batch: int) -> list[Sender]:
    """Every source sends for so long, each over a connection of its own."""
    loop, until = asyncio.get_running_loop(), time.monotonic() + seconds
    senders = []
    for number in range(len(server.sources)):
        _, sender = await loop.create_connection(
            partial(Sender, one_by_one(server, number, until, batch)), "127.0.0.1", server.port
        )
        senders.append(sender)
    await asyncio.gather(*(sender.done for sender in senders))
    return senders


class Reader(asyncio.Protocol):
    """An application's stream; `heard` is when its first output came, `events` when each did."""

    def __init__(self, person: str, secret: str) -> None:
        self._asking = (
            f"GET /v1/people/{person}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\n\r\n"
        ).encode()
        loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[None] = loop.create_future()
        self.heard: asyncio.Future[float] = loop.create_future()
        self.events: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._asking)

    def data_received(self, data: bytes) -> None:
        """The head of the answer, beats, and outputs."""
        if not self.opened.done():
            self.opened.set_result(None)
        if b"data: " in data:
            self.events.append(time.monotonic())
            if not self.heard.done():
                self.heard.set_result(self.events[0])


async def reading(server: Server) -> list[Reader]:
    """A stream of each person, all of them open."""
    loop = asyncio.get_running_loop()
    readers = []
    for number, secret in enumerate(server.readers):
        _, reader = await loop.create_connection(partial(Reader, f"p{number}", secret), "127.0.0.1", server.port)
        readers.append(reader)
    await asyncio.gather(*(reader.opened for reader in readers))
    return readers


def late(waits: Sequence[float], part: float = 0.99) -> float:
    """Milliseconds within which so many of the answers came."""
    return float(np.quantile(waits, part)) * 1000


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
