"""A folder laid out as Debian lays out /, in which the steps of a page are run as they stand.

Paths below /etc, /var, /run and /opt lead into the folder, the broker has a port of its own, and sudo and systemctl are
stood in for; everything else is what a reader would run.
"""

from __future__ import annotations

import getpass
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.gateway.mosquitto import ABSENT, PROGRAM
from tests.test_docs import ROOT, blocks

OWN_FILE = """\
# Place your local configuration in /etc/mosquitto/conf.d/
#
# A full description of the configuration file is at
# /usr/share/doc/mosquitto/examples/mosquitto.conf.example

pid_file /run/mosquitto/mosquitto.pid

persistence true
persistence_location /var/lib/mosquitto/

log_dest file /var/log/mosquitto/mosquitto.log

include_dir /etc/mosquitto/conf.d
"""
"""/etc/mosquitto/mosquitto.conf of Debian's package, as it comes."""

FOLDERS = ("etc/mosquitto/conf.d", "etc/systemd/system", "var/lib/mosquitto", "var/log/mosquitto", "run/mosquitto")


LONGEST = 900
"""Seconds of a command, on a machine that is busy; one that asks for more than it is given would wait for ever."""


def steps_of(page: str, heading: str, language: str = "console") -> list[tuple[str, str]]:
    """The commands of a section, each with what the page says that it prints; of another language, its blocks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert section, f"{page} has no section {heading!r}"
    found = []
    for block in blocks(section):
        if block.language != language:
            continue
        if language != "console":
            found.append((block.content, ""))
            continue
        for part in re.split(r"^\$ ", block.content.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
            command, _, said = part.partition("\n")
            found.append((command.strip(), said.strip()))
    return found


class Debian:
    """The folder, and what was started in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        for name in (*FOLDERS, "home", "bin"):
            (root / name).mkdir(parents=True)
        (root / "etc/mosquitto/mosquitto.conf").write_text(self.here(OWN_FILE))
        self._is_root = os.getuid() == 0 and any(one.pw_name == "mosquitto" for one in pwd.getpwall())
        if self._is_root:
            for name in FOLDERS[2:]:
                shutil.chown(root / name, "mosquitto")
        else:  # nobody else's files can be made, and nobody's rights be dropped
            self._program("chown", "exit 0")
            (root / "etc/mosquitto/conf.d/test.conf").write_text(f"user {getpass.getuser()}\n")
        self._program("sudo", 'exec "$@"')
        self._program("systemctl", f'echo "$@" >> {root}/systemctl')
        self._program("discreet", f"exec {sys.executable} -c 'from discreet.cli import main; main()' \"$@\"")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._broker: subprocess.Popen[bytes] | None = None

    def _program(self, name: str, text: str) -> None:
        (self.root / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.root / "bin" / name).chmod(0o755)

    def here(self, text: str) -> str:
        """The same text with paths that lead into the folder."""
        below = rf"(?<![\w.\]])/(?=(?:etc|var|run|opt)/)(?!{re.escape(str(self.root)[1:])})"
        return re.sub(below, f"{self.root}/", text)

    @property
    def environment(self) -> dict[str, str]:
        """That of a shell here: programs of the folder come first."""
        return {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}:/usr/sbin"}

    def run(self, command: str, given: str = "", *, terminal: bool = False) -> str:
        """What a command of a page says; it has to succeed. At a terminal, `given` is typed."""
        ours, theirs = os.openpty()
        try:
            os.write(ours, given.encode() if terminal else b"")
            ran = subprocess.run(
                ["bash", "-c", self.here(command)],
                cwd=self.home,
                env=self.environment,
                **({"stdin": theirs} if terminal else {"input": given}),
                capture_output=True,
                text=True,
                check=False,
                timeout=LONGEST,
            )
        finally:
            os.close(ours)
            os.close(theirs)
        assert ran.returncode == 0, f"{command}\nexits with status {ran.returncode}:\n{ran.stdout}{ran.stderr}"
        return ran.stdout

    def start_broker(self, own: str = "etc/mosquitto/mosquitto.conf", port: int = 1883) -> None:
        """What `systemctl restart mosquitto` does, with what was copied."""
        assert PROGRAM is not None, ABSENT
        self.stop()
        for file in [self.root / own, *(self.root / "etc/mosquitto/conf.d").iterdir()]:
            text = self.here(file.read_text())
            file.write_text(re.sub(rf"^listener {port}\b", f"listener {self.port}", text, flags=re.MULTILINE))
        self._broker = subprocess.Popen([PROGRAM, "-c", str(self.root / own)], stderr=subprocess.PIPE)
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self._broker.poll() is not None:
                break
            time.sleep(0.01)
        assert self._broker.stderr is not None
        self._broker.kill()
        logged = "".join(one.read_text() for one in (self.root / "var/log/mosquitto").iterdir())
        raise AssertionError(f"the broker does not listen:\n{self._broker.stderr.read().decode()}{logged}")

    def stop(self) -> None:
        """End the broker, if it runs."""
        if self._broker is not None:
            self._broker.terminate()
            self._broker.communicate()
            self._broker = None


@contextmanager
def debian() -> Iterator[Debian]:
    """A folder that the broker's own account can enter, which pytest's cannot be."""
    with tempfile.TemporaryDirectory(prefix="debian-") as folder:
        Path(folder).chmod(0o755)
        one = Debian(Path(folder))
        try:
            yield one
        finally:
            one.stop()
