"""The steps of the docs, as they stand, with the real broker; and what each account that they make can read there."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import aiomqtt
import pytest

from discreet.gateway.config.broker import Broker, ToldView
from discreet.gateway.config.deployment import Accounts
from discreet.gateway.store.folder import Folder
from discreet.gateway.store.journal import SqliteJournal
from discreet.models.store import save
from tests.gateway.debian import Debian, debian, steps_of
from tests.gateway.mosquitto import ABSENT, PROGRAM, Heard, Mosquitto, hearing, until
from tests.gateway.test_publisher import FORMS, days, opened, telling
from tests.gateway.web import ROUTINE
from tests.test_docs import ROOT

pytestmark = [pytest.mark.broker, pytest.mark.skipif(PROGRAM is None, reason=ABSENT)]

PAGE = "docs/gateway.md"
SETTINGS = """\
[clock]
zone = "UTC"
slots = 12

[people.jane]
routine = "jane.model"
policy = "policy.toml"
"""


def password(account: str) -> str:
    return f"{account}'s password"


@pytest.fixture
def machine() -> Iterator[Debian]:
    """A machine on which steps 1 to 3 are done."""
    with debian() as one:
        save(one.home / "jane.model", ROUTINE)
        (one.home / "policy.toml").write_text('delta = 0.1\n[[secret]]\ncontexts = ["clinic"]\n')
        (one.home / "discreet.toml").write_text(SETTINGS)
        yield one


def taken(machine: Debian, command: str) -> str:
    """One step; passwords are typed twice, and what asks systemd for the broker gets it."""
    account = command.split()[-1]
    said = machine.run(command, f"{password(account)}\n" * 2 if "mosquitto_passwd" in command else "")
    if command.endswith("systemctl restart mosquitto"):
        machine.start_broker()
    return said.strip()


def serving(machine: Debian) -> subprocess.Popen[bytes]:
    """`discreet serve`, at a port of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    line = [sys.executable, "-c", "from discreet.cli import main; main()", "serve", "--port", port]
    return subprocess.Popen(line, cwd=machine.home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_the_steps_to_a_broker_as_they_stand(machine: Debian) -> None:
    """Step 4 of the docs beside Debian's own file, up to a gateway that Home Assistant hears of and phones do not."""
    ((block, _),) = steps_of(PAGE, "4. A broker", "toml")
    for command, printed in steps_of(PAGE, "4. A broker"):
        if command == "discreet serve --check":
            with (machine.home / "discreet.toml").open("a") as file:
                file.write(block.replace("[broker]\n", f"[broker]\nport = {machine.port}\n"))
            (machine.home / "broker.password").write_text(password("discreet"))
            (machine.home / "broker.password").chmod(0o600)
        if command != "discreet serve":
            assert taken(machine, command) == printed or "mosquitto_passwd" in command

    async def story() -> None:
        jane = aiomqtt.Client("127.0.0.1", machine.port, username="jane", password=password("jane"))
        broker = _Broker(machine.port)
        async with AsyncExitStack() as stack:
            heard = {
                name: await stack.enter_async_context(hearing(broker, "#", user=name, password=password(name)))
                for name in ("home-assistant", "recorder", "discreet")
            }
            async with jane as phone:
                await phone.publish("owntracks/jane/pixel", b"raw", 1, retain=True)
            topics = {name: (lambda one=one: {str(m.topic) for m in one}) for name, one in heard.items()}
            await until("what the gateway says", lambda: "discreet/status" in topics["home-assistant"](), 60)
            await until("the phone", lambda: "owntracks/jane/pixel" in topics["discreet"]())
            await until("how it is found", lambda: len(topics["home-assistant"]()) == 4)
            assert topics["recorder"]() == set()
            assert not [one for one in topics["home-assistant"]() if one.startswith("owntracks")]

    process = serving(machine)
    try:
        asyncio.run(story())
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


class _Broker(Mosquitto):
    """One that was started elsewhere."""

    def __init__(self, port: int) -> None:
        self.port = port


def test_what_was_decided_goes_along_to_the_service(machine: Debian) -> None:
    """Step 7: the unit goes on with the journal of the gateway that was started by hand."""
    journal = SqliteJournal(Folder.made(machine.home / "discreet-data").journal)
    journal.close()
    before = (machine.home / "discreet-data" / "journal.db").read_bytes()
    machine.run("discreet deploy --to deploy")
    for command, _ in steps_of(PAGE, "7. For good")[:8]:
        if " pip " not in command.replace("/", " ") and "venv" not in command and "journalctl" not in command:
            machine.run(command)
    unit = (machine.root / "etc/systemd/system/discreet.service").read_text()
    (line,) = [one for one in unit.splitlines() if one.startswith("ExecStart=")]
    words = machine.here(line).split()
    data, config = Path(words[words.index("--data") + 1]), Path(words[words.index("--config") + 1])
    assert (data / "journal.db").read_bytes() == before
    assert config.read_text() == SETTINGS
    assert "enable --now discreet" in (machine.root / "systemctl").read_text()


def test_the_brokers_own_file_of_the_container_takes_the_same_one_in(machine: Debian) -> None:
    machine.run("discreet deploy --to deploy && mosquitto_passwd -c deploy/passwd jane", "word\nword\n")
    volumes = [
        line.strip("- \n").split(":")[:2]
        for line in (ROOT / "deploy/compose.yaml").read_text().partition("  mosquitto:\n")[2].splitlines()
        if line.endswith(":ro")
    ]
    assert len(volumes) == 4
    for file, target in volumes:
        where = machine.root / target.removeprefix("/").replace("mosquitto/config", "etc/mosquitto/own")
        where.parent.mkdir(exist_ok=True)
        where.write_bytes((machine.home / "deploy" / file.removeprefix("./")).read_bytes())
    machine.start_broker("etc/mosquitto/own/mosquitto.conf", port=1884)


ACCOUNTS = Accounts.named(["jane"], ["family"])


def test_an_account_hears_of_its_views_and_of_no_other(tmp_path: Path) -> None:
    """Every account asks for everything; a view's discovery reaches who may read the view."""
    (tmp_path / "acl").write_text(ACCOUNTS.acl())
    passwords = tmp_path / "passwd"
    passwords.write_text("".join(f"{name}:{password(name)}\n" for name in ACCOUNTS.names))
    if subprocess.run(["mosquitto_passwd", "-U", str(passwords)], capture_output=True, check=False).returncode:
        pytest.skip("mosquitto_passwd is not there")
    more = f"allow_anonymous false\npassword_file {passwords}\nacl_file {tmp_path}/acl\n"
    broker = Mosquitto(tmp_path, more).start()
    tells = (ToldView("jane"), ToldView("jane", "family"))
    at = Broker(port=broker.port, user="discreet", password=password("discreet"), tells=tells)

    async def story() -> dict[str, set[str]]:
        async with AsyncExitStack() as stack:
            heard: dict[str, Heard] = {
                name: await stack.enter_async_context(hearing(broker, "#", user=name, password=password(name)))
                for name in ACCOUNTS.names
            }
            gateway = await stack.enter_async_context(opened(tmp_path))
            await stack.enter_async_context(telling(gateway, at))
            located = set()
            for turned in days(gateway, 1):
                await gateway.tell(turned)
                located |= {name for name, forms in FORMS.items() if forms.owntracks(turned[-1], "JA")}
            assert located == {"whole", "family"}, "both were told somewhere"
            last = f"{turned[-1].date.isoformat()}".encode(), f'"slot":{turned[-1].slot}'.encode()
            for name, view in (("home-assistant", "whole"), ("family", "family")):
                await until(
                    "the last",
                    lambda name=name, view=view: any(
                        str(one.topic) == f"discreet/jane/{view}" and all(part in bytes(one.payload) for part in last)
                        for one in heard[name]
                    ),
                )
            await asyncio.sleep(0.3)  # for what must not come
            return {name: {str(one.topic) for one in some} for name, some in heard.items()}

    try:
        topics = asyncio.run(story())
    finally:
        broker.stop()

    def of(view: str) -> set[str]:
        device = f"discreet-jane-{view}"
        found = {f"homeassistant/sensor/{device}-{one}/config" for one in ("place", "time")}
        told = {f"discreet/jane/{view}{end}" for end in ("", "/state", "/attributes")}
        return told | found | {f"homeassistant/device_tracker/{device}/config", f"released/jane/{view}"}

    assert topics["home-assistant"] == of("whole") | {"discreet/status"}
    assert topics["family"] == of("family") | {"discreet/status"}
    assert topics["recorder"] == {"released/jane/whole"}
    assert topics["jane"] == set()


def test_the_sample_in_the_docs_is_what_is_made_of_these_names() -> None:
    assert (ROOT / "deploy" / "mosquitto.acl").read_text(encoding="utf-8") == ACCOUNTS.acl()


def test_the_folder_is_not_this_machines() -> None:
    with debian() as one:
        text = "password_file /etc/mosquitto/passwd\nsudo cp a/etc/b /var/lib/x /usr/lib/y"
        expected = f"password_file {one.root}/etc/mosquitto/passwd\nsudo cp a/etc/b {one.root}/var/lib/x /usr/lib/y"
        assert one.here(text) == expected
        assert one.here(expected) == expected
