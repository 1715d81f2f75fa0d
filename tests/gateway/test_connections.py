"""What a stranger can do with connections alone: large heads, slow ones, many, and bodies that nobody asked for."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from discreet import DiscreetError
from discreet.gateway.config.sections import Rates, Server
from discreet.gateway.rate_limits import household
from discreet.gateway.server import CONNECTIONS, FILES, SPARE, resource, room, tls_of
from discreet.gateway.wires.connections import AT_ONCE, HEAD_BYTES, HEADERS, Connections, Limited
from discreet.gateway.wires.guard import UNKNOWN_BODY, Guard
from tests.gateway.web import Web, listening_web, opened

Run = Callable[[Coroutine[Any, Any, None]], None]
LOOPS = [asyncio.run, *([import_module("uvloop").run] if find_spec("uvloop") else [])]
"""Of asyncio, and what the server runs on where it is installed: each has a TLS of its own."""

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


async def raw(web: Web, *sent: bytes, address: str = "127.0.0.1", pause: float = 0.0) -> bytes:
    """All that comes back on a connection of one's own until it is closed."""
    port = web.served.plan.server.port
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    try:
        with suppress(ConnectionError):
            for part in sent:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(pause)
        with suppress(ConnectionError):
            return await asyncio.wait_for(reader.read(), 120)
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"X: " + b"a" * (HEAD_BYTES + AT_ONCE), b"431"),
        (b"\r\n".join(b"X%d: a" % k for k in range(HEADERS)), b"431"),
        (b"X" * 2 * HEAD_BYTES, b"431"),
        (b"\r\n".join(b"X%d: a" % k for k in range(HEADERS - 2)), b"200"),
        (b"X: " + b"a" * (HEAD_BYTES // 2), b"200"),
        (b"\x00\x01", b"400"),
    ],
)
def test_heads_have_a_size(tmp_path: Path, head: bytes, status: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with listening_web(tmp_path) as web:
            said = await raw(web, GET + b"Connection: close\r\n"[: 19 * (status == b"200")] + head + b"\r\n\r\n")
            assert said.split(b" ")[1] == status
            assert (await web.client.get("/healthz")).status_code == 200, "others are served"

    asyncio.run(story())
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING], "a stranger fills no log"


def test_an_endless_head_is_not_kept(tmp_path: Path) -> None:
    """Whether it is one header or many, no more than the limit is read of it."""

    async def story() -> None:
        async with listening_web(tmp_path) as web:
            for part in (b"a" * 65536, b"X: a\r\n" * 10_000):
                taken = 0
                _, writer = await asyncio.open_connection("127.0.0.1", web.served.plan.server.port)
                writer.write(GET + b"X: ")
                with suppress(ConnectionError, TimeoutError):
                    async with asyncio.timeout(5):
                        while taken < 64 << 20:
                            writer.write(part)
                            await writer.drain()
                            taken += len(part)
                writer.close()
                assert taken < 16 << 20, "what the system's own buffers hold, and no more"

    asyncio.run(story())


@pytest.mark.parametrize(
    "sent",
    [
        [],
        [b"GET /healthz HT"],
        [GET, b"X: a\r\n"],
        [b"\r\n", b"\r\n"],
        [GET + b"\r\n", b"\r\n"],
        [GET + b"\r\n", b"GET /hea"],
        [GET + b"\r\n" + b"GET /hea"],
    ],
)
def test_half_a_request_is_given_up(tmp_path: Path, sent: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limited, "head_seconds", 0.5)

    async def story() -> None:
        async with listening_web(tmp_path) as web:
            began = time.monotonic()
            said = await raw(web, *sent, pause=0.1)
            assert time.monotonic() - began < 8, "the usual deadline is ten seconds"
            assert said.endswith(b"the request took too long")

    asyncio.run(story())


def test_a_stream_outlives_the_deadline_of_heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limited, "head_seconds", 0.2)

    async def story() -> None:
        async with listening_web(tmp_path, beat=0.3) as web:
            async with web.client.stream("GET", "/v1/people/jane/stream", headers=web.bearer("application")) as answer:
                lines = answer.aiter_lines()
                beats = 0
                async for line in lines:
                    beats += line == ":"
                    if beats == 3:
                        break
            assert beats == 3

    asyncio.run(story())


def test_connections_of_one_address_are_counted(tmp_path: Path) -> None:
    async def story() -> None:
        async with listening_web(tmp_path, limits=Rates(connections=3)) as web:
            port = web.served.plan.server.port
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            assert await raw(web, GET + b"\r\n") == b"", "a fourth is hung up on"
            said = await raw(web, GET + b"Connection: close\r\n\r\n", address="127.0.0.2")
            assert said.startswith(b"HTTP/1.1 200"), "others have their own"
            for _, writer in held:
                writer.close()
            for _ in range(5_000):
                if said := await raw(web, GET + b"Connection: close\r\n\r\n"):
                    break
                await asyncio.sleep(0.02)
            assert said.startswith(b"HTTP/1.1 200"), "and when some have gone there is room"

    asyncio.run(story())


# --- TLS


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A server's settings with a certificate of its own."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, which makes the certificate")
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "server.pem", folder / "server.key"
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=server -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*made.split(), "-out", certificate, "-keyout", key], check=True, capture_output=True)
    return Server(certificate=certificate, key=key)


async def secured(web: Web, pem: Server, *sent: bytes) -> bytes:
    """What comes back over TLS on a connection of one's own."""
    trusting = ssl.create_default_context(cafile=pem.certificate)
    reader, writer = await asyncio.open_connection("127.0.0.1", web.served.plan.server.port, ssl=trusting)
    for part in sent:
        writer.write(part)
    said = await asyncio.wait_for(reader.read(), 120)
    writer.close()
    return said


@pytest.mark.parametrize("run", LOOPS)
def test_requests_are_answered_over_tls(tmp_path: Path, pem: Server, run: Run) -> None:
    async def story() -> None:
        async with listening_web(tmp_path, server=pem) as web:
            said = await secured(web, pem, GET + b"\r\n" + GET + b"Connection: close\r\n\r\n")
            assert said.count(b"HTTP/1.1 200") == 2
            assert b"strict-transport-security" in said
            assert (await raw(web, GET + b"\r\n"))[:4] != b"HTTP", "nothing is answered in the clear"

    run(story())


@pytest.mark.parametrize("run", LOOPS)
def test_a_request_that_comes_with_the_end_of_the_handshake_is_not_lost(tmp_path: Path, pem: Server, run: Run) -> None:
    """The last flight of a handshake and the first request may arrive in one piece: a client written by hand."""

    async def story() -> None:
        async with listening_web(tmp_path, server=pem) as web:
            reader, writer = await asyncio.open_connection("127.0.0.1", web.served.plan.server.port)
            coming, going = ssl.MemoryBIO(), ssl.MemoryBIO()
            trusting = ssl.create_default_context(cafile=pem.certificate)
            client = trusting.wrap_bio(coming, going, server_hostname="127.0.0.1")
            while True:
                try:
                    client.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    writer.write(going.read())
                    coming.write(await asyncio.wait_for(reader.read(65536), 120))
            client.write(GET + b"Connection: close\r\n\r\n")
            writer.write(going.read())  # both at once
            said = b""
            while not said.endswith(b"}"):  # its body
                coming.write(await asyncio.wait_for(reader.read(65536), 120))
                with suppress(ssl.SSLWantReadError):
                    while piece := client.read(65536):
                        said += piece
            assert said.startswith(b"HTTP/1.1 200")
            writer.close()

    run(story())


@pytest.mark.parametrize("run", LOOPS)
@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\n\r\n"])
def test_half_a_handshake_is_counted_and_given_up(
    tmp_path: Path,
    pem: Server,
    sent: bytes,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(Limited, "head_seconds", 3.0)

    async def story() -> None:
        async with listening_web(tmp_path, server=pem, limits=Rates(connections=3)) as web:
            began, port = time.monotonic(), web.served.plan.server.port
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            await asyncio.sleep(0.1)
            assert await raw(web) == b"", "a fourth is hung up on"
            assert time.monotonic() - began < 2.9, "at once, and not when the others are given up"
            for reader, writer in held:
                writer.write(sent)
                with suppress(ConnectionError):
                    await asyncio.wait_for(reader.read(), 120)  # an alert at most, and then the end
                writer.close()
            assert time.monotonic() - began < 9, "the usual deadline is ten seconds"
            said = b""
            for _ in range(5_000):
                with suppress(OSError):
                    said = await secured(web, pem, GET + b"Connection: close\r\n\r\n")
                    break
                await asyncio.sleep(0.02)
            assert said.startswith(b"HTTP/1.1 200"), "there is room again"

    run(story())
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING], "a stranger fills no log"


def test_a_certificate_that_cannot_be_used_is_said(pem: Server) -> None:
    assert tls_of(Server()) is None
    with pytest.raises(DiscreetError, match="PEM files that belong together"):
        tls_of(replace(pem, key=pem.certificate))


# --- numbers


def test_counting() -> None:
    one = Connections(2, 5, proxies=["10.0.0.1"])
    assert [one.enter("10.0.0.2") for _ in range(3)] == [True, True, False]
    assert [one.enter("10.0.0.1") for _ in range(4)] == [True, True, True, False], (
        "a proxy speaks for many; five in all"
    )
    one.leave("10.0.0.2")
    assert one.enter("2001:db8::1")
    assert len(one) == 5
    assert household("2001:db8::1") == household("2001:db8::ffff:1%eth0") != household("2001:db8:0:1::1")
    assert household("::ffff:10.0.0.2") == household("10.0.0.2") != household("10.0.0.3")
    assert household("testclient") == "testclient"


@pytest.mark.skipif(resource is None, reason="the system has no limits of open files")
def test_connections_leave_files_for_the_rest() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        assert 0 < room() <= CONNECTIONS
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= min(FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
        after = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        assert room() + SPARE <= max(after, min(FILES, hard))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# --- bodies


POSTS = ("/v1/people/jane/readings", "/pub", "/v1/owner/tokens", "/v1/owner/people/jane/map", "/v1/owner/setup/files")


@pytest.mark.parametrize("path", POSTS)
def test_a_strangers_body_is_not_waited_for(tmp_path: Path, path: str) -> None:
    """They are refused by the head alone, and hung up on: nothing of the body is held, and little waited for."""

    async def story() -> None:
        async with listening_web(tmp_path) as web:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
            began = time.monotonic()
            said = await raw(web, head.encode() + b"a" * 1000)
            assert said.split(b" ")[1] in (b"401", b"404")
            assert b"connection: close" in said.lower()
            assert time.monotonic() - began < 5

    asyncio.run(story())


@pytest.mark.parametrize("path", POSTS)
def test_a_stranger_hears_the_answer_though_the_body_comes_late(tmp_path: Path, path: str) -> None:
    """A socket that is closed before the body has come sends a reset, which overtakes the answer."""

    async def story() -> None:
        async with listening_web(tmp_path) as web:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000\r\n\r\n".encode()
            last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            said = await raw(web, head, b"unwelcome" * 10_000, last, pause=0.1)
            assert said.split(b" ")[1] in (b"401", b"404")
            assert b"HTTP/1.1 200 " in said  # nobody hung up

    asyncio.run(story())


def test_who_is_not_known_yet_sends_a_short_body(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path) as web:
            long = {"password": "a" * UNKNOWN_BODY}
            assert (await web.client.post("/v1/owner/login", json=long)).status_code == 413

            async def pieces() -> AsyncIterator[bytes]:
                for _ in range(100):
                    yield b"a" * 100

            kind = {"Content-Type": "application/json"}
            sent = await web.client.post("/v1/owner/login", content=pieces(), headers=kind)
            assert sent.status_code == 413

    asyncio.run(story())


def test_a_slow_body_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Guard.__init__

    def impatient(self: Guard, *given: object, **options: object) -> None:
        real(self, *given, **{**options, "patience": 0.3})  # type: ignore[arg-type]

    monkeypatch.setattr(Guard, "__init__", impatient)

    async def story() -> None:
        async with listening_web(tmp_path) as web:
            secret = web.bearer("source")["Authorization"]
            head = f"POST /v1/people/jane/readings HTTP/1.1\r\nHost: localhost\r\nAuthorization: {secret}\r\n"
            said = await raw(web, head.encode() + b"Content-Length: 1000\r\n\r\n[", pause=0.1)
            assert said.split(b" ")[1] == b"408"
            assert json.loads(said.partition(b"\r\n\r\n")[2]) == {"error": "the body took too long"}

    asyncio.run(story())


def test_asking_for_another_protocol_writes_no_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with listening_web(tmp_path) as web:
            asking = {"Connection": "Upgrade", "Upgrade": "websocket"}
            for _ in range(3):
                assert (await web.client.get("/healthz", headers=asking)).status_code == 200

    asyncio.run(story())
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]


def test_over_tls_browsers_are_told_to_stay_there(tmp_path: Path) -> None:
    async def story(hsts: bool) -> tuple[bool, bool]:
        server = Server(proxies=("127.0.0.1",), hsts=hsts)
        async with opened(tmp_path / str(hsts), server=server) as web:
            plain = await web.client.get("/healthz")
            secure = await web.client.get("/healthz", headers={"X-Forwarded-Proto": "https"})
            assert plain.status_code == secure.status_code == 200
            name = "strict-transport-security"
            return name in plain.headers, name in secure.headers

    assert asyncio.run(story(True)) == (False, True)
    assert asyncio.run(story(False)) == (False, False)
