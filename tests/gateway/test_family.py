"""docs/gateway.md as it stands, from an empty folder to a family of three on a broker whose phones show each other."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

import aiomqtt
import httpx
import pytest

from tests.data import histories
from tests.gateway.debian import Debian, debian, steps_of
from tests.gateway.first import empty_web
from tests.gateway.mosquitto import ABSENT, PROGRAM, Heard, hearing, until
from tests.gateway.test_deployed import PAGE, _Broker, password, taken
from tests.gateway.web import Wall, Web

pytestmark = [
    pytest.mark.broker,
    pytest.mark.slow("follows the docs: three people are set up, each at a terminal"),
    pytest.mark.skipif(PROGRAM is None, reason=ABSENT),
]

QUICKER = """\
if [ "$1" = setup ]; then set -- "$@" --weeks 2; [ -e discreet.toml ] || set -- "$@" --slots 12; fi
exec {python} -c 'import discreet.choosing.choices as one; one.KERNELS = 20
from discreet.cli import main; main()' "$@"
"""
"""The command as it is, with documented options that make it short, and audits of fewer kernels."""

ANSWERS = "clinic\npark\n" + 12 * "\n"
"""What two of the places are called; then what is suggested."""

OWNERS = "a long password"
FAMILY = ("jane", "joe", "kim")
SLOTS = 15
"""A day and some slots: everybody is at home, which is told at night at the latest."""


@pytest.fixture
def machine() -> Iterator[Debian]:
    """A machine with a broker, and the histories of three people in an empty folder."""
    with debian() as one:
        text = (one.root / "bin" / "discreet").read_text()
        (python,) = re.findall(r"exec (\S+)", text)
        (one.root / "bin" / "discreet").write_text("#!/bin/sh\n" + QUICKER.format(python=shlex.quote(python)))
        for name in ("joe-takeout.zip", "kim-takeout.zip", "takeout.zip"):
            histories.google_records(one.home).rename(one.home / name)
        yield one


@contextmanager
def served(machine: Debian) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`discreet serve`, at a port of its own, until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        ["discreet", "serve", "--port", str(port)],
        executable=machine.root / "bin" / "discreet",
        cwd=machine.home,
        env=machine.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process, port
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def habits(machine: Debian) -> None:
    """Step 1."""
    for command, printed in steps_of(PAGE, "1. Habits and secrets"):
        if command.startswith("cd "):
            machine.home /= command.split()[1]
        elif command.startswith("discreet setup"):
            machine.run(command, ANSWERS, terminal=True)
        else:
            assert machine.run(command).strip() == printed


def first_start(machine: Debian) -> None:
    """Steps 2 and 3: the owner's password, a phone and an application over HTTP."""
    with served(machine) as (process, port):
        assert process.stdout is not None
        said = ""
        while "token add application" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        (first,) = re.findall(r"^ +(curl .*\\\n.*)$", said, flags=re.MULTILINE)
        answer = machine.run(first.replace('"password": "..."', f'"password": "{OWNERS}"'))
        assert json.loads(answer).keys() >= {"csrf"}
        secrets: dict[str, str] = {}
        for command, printed in steps_of(PAGE, "3. A phone and an application, without a broker"):
            given = command.replace("127.0.0.1:8321", f"127.0.0.1:{port}")
            for name, secret in secrets.items():
                given = given.replace(name, secret)
            if "token add" in command:
                name = f"{command.split()[3].upper()}_SECRET"
                (secrets[name],) = re.findall(r"^  (\S{30,})$", machine.run(given), flags=re.MULTILINE)
            elif command.startswith("curl -N"):
                said = machine.run(f"timeout 3 {given} || [ $? = 124 ]")
                assert said.startswith("retry: 2000\n")
            else:
                assert machine.run(given).startswith(printed)


def broker(machine: Debian) -> None:
    """Step 4, up to the gateway's start."""
    ((block, _),) = steps_of(PAGE, "4. A broker", "toml")
    for command, printed in steps_of(PAGE, "4. A broker")[:-1]:
        if command == "discreet serve --check":
            with (machine.home / "discreet.toml").open("a") as file:
                file.write("\n" + block.replace("[broker]\n", f"[broker]\nport = {machine.port}\n"))
            (machine.home / "broker.password").write_text(password("discreet"))
            (machine.home / "broker.password").chmod(0o600)
        assert taken(machine, command) == printed or "mosquitto_passwd" in command


def family(machine: Debian) -> dict[str, str]:
    """Step 8, up to the gateway's start: the invitations that it gives."""
    invitations: dict[str, str] = {}
    ((block, _),) = steps_of(PAGE, "8. A family of three", "toml")
    for command, printed in steps_of(PAGE, "8. A family of three")[:-1]:
        if command.startswith("discreet setup"):
            machine.run(command, ANSWERS, terminal=True)
            continue
        if command.startswith("rm "):
            with (machine.home / "discreet.toml").open("a") as file:
                file.write("\n" + block)
        said = taken(machine, command)
        if "owner invite" in command:
            (invitations[command.split()[-1]],) = re.findall(r"#invited/(\S+)", said)
        else:
            assert said == printed or "mosquitto_passwd" in command
    return invitations


def test_from_an_empty_folder_to_a_family_of_three(machine: Debian) -> None:
    assert sorted(path.name for path in machine.home.iterdir()) == ["joe-takeout.zip", "kim-takeout.zip", "takeout.zip"]
    habits(machine)
    first_start(machine)
    broker(machine)
    invitations = family(machine)

    async def starts() -> None:
        async with hearing(_Broker(machine.port), "#", user="family", password=password("family")) as heard:
            with served(machine):
                await until("the gateway", lambda: any(bytes(one.payload) == b"online" for one in heard))

    asyncio.run(starts())
    asyncio.run(day(machine, invitations))


async def day(machine: Debian, invitations: dict[str, str]) -> None:
    """The same folder by a clock that is moved: everybody at home, and what each account hears of it."""
    async with AsyncExitStack() as stack:
        at = _Broker(machine.port)
        heard: dict[str, Heard] = {
            name: await stack.enter_async_context(hearing(at, "#", user=name, password=password(name)))
            for name in (*FAMILY, "home-assistant", "recorder", "family")
        }
        web = await stack.enter_async_context(empty_web(machine.home, Wall(time.time())))
        assert list(web.served.gateway.keeper.people) == list(FAMILY)
        phones = {
            name: await stack.enter_async_context(
                aiomqtt.Client("127.0.0.1", machine.port, username=name, password=password(name))
            )
            for name in ("jane", "joe")
        }
        kim = web.bearer("source", "kim")
        told: list[str] = []
        for _ in range(SLOTS):
            told = await slot(web, phones, kim)
            if told == ["jane", "joe"] and {"released/kim/family"} <= {str(one.topic) for one in heard["joe"]}:
                break
        assert told == ["jane", "joe"], "kim's phone shows both over HTTP"
        for name in ("jane", "joe"):
            others = {f"released/{one}/family" for one in FAMILY if one != name}
            await until(f"{name}'s map", lambda name=name, others=others: others <= topics(heard[name]))
            assert topics(heard[name]) == others, f"{name}'s phone hears the others, and nothing else"
        assert topics(heard["kim"]) == {"released/jane/family", "released/joe/family"}
        assert topics(heard["recorder"]) <= {"released/jane/whole"}
        of_joe = {one for one in topics(heard["home-assistant"]) if "joe" in one}
        assert not of_joe, "joe tells the broker a coarse view alone"
        assert {f"discreet/{one}/family" for one in FAMILY} <= topics(heard["family"])
        assert not {one for one in topics(heard["family"]) if "whole" in one or one.startswith("owntracks")}
        await accounts(web, invitations)


def topics(heard: Heard) -> set[str]:
    return {str(one.topic) for one in heard}


async def slot(web: Web, phones: dict[str, aiomqtt.Client], kim: dict[str, str]) -> list[str]:
    """One slot with everybody at home: of whom kim's phone is told a place, once it is over."""
    keeper = web.served.gateway.keeper
    web.wall.now = keeper.next - 60
    latitude, longitude = histories.WHERE["home"]
    position = {"_type": "location", "lat": latitude, "lon": longitude, "tst": int(web.wall.now), "acc": 12}
    for name, phone in phones.items():
        await phone.publish(f"owntracks/{name}/pixel", json.dumps(position), qos=1)
    assert (await web.client.post("/pub", json=position, headers=kim)).status_code == 200
    since = int(web.wall.now) * 1_000_000
    await until("readings of all", lambda: all(keeper.own.readings(name, since) for name in FAMILY))
    await web.pass_slot()
    answer = await web.client.post("/pub", json=position, headers=kim)
    return sorted({one["topic"].split("/")[1] for one in answer.json() if one["_type"] == "location"})


async def accounts(web: Web, invitations: dict[str, str]) -> None:
    """Joe and Kim see themselves, and the owner sees Jane alone."""
    assert sorted(invitations) == ["joe", "kim"]
    seen = {}
    for name, invitation in invitations.items():
        async with httpx.AsyncClient(base_url=web.client.base_url) as browser:
            given = {"invitation": invitation, "password": f"a long password of {name}"}
            assert (await browser.post("/v1/owner/invitation", json=given)).status_code == 200
            seen[name] = (await browser.get("/v1/owner")).json()["people"]
    async with httpx.AsyncClient(base_url=web.client.base_url) as browser:
        assert (await browser.post("/v1/owner/login", json={"password": OWNERS})).status_code == 200
        seen["owner"] = (await browser.get("/v1/owner")).json()["people"]
    assert seen == {"joe": ["joe"], "kim": ["kim"], "owner": ["jane"]}
