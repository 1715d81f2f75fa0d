"""A PostgreSQL server of the tests' own, from Debian's package, on a socket in a temporary folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

OWNER = "postgres"


def binaries() -> Path | None:
    """Where the server's programs are; None where it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


class Server:
    """One server; databases are made in it as tests need them."""

    def __init__(self) -> None:
        programs = binaries()
        assert programs is not None  # the fixture has looked
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
        self._made = 0
        if os.geteuid() == 0:  # the server refuses to run as root
            shutil.chown(self._folder, OWNER)
        self._run("initdb", "-D", f"{self._folder}/data", "-A", "trust", "-U", OWNER, "-E", "UTF8", "--locale=C")
        self.start()

    def start(self) -> None:
        """Start it, or start it again."""
        options = f"-c listen_addresses='' -c unix_socket_directories='{self._folder}' -c shared_buffers=16MB"
        log = f"{self._folder}/log"
        self._run("pg_ctl", "-D", f"{self._folder}/data", "-o", options, "-l", log, "-w", "start")

    def stop(self) -> None:
        """Stop it as a power cut would."""
        self._run("pg_ctl", "-D", f"{self._folder}/data", "-m", "immediate", "-w", "stop")

    def database(self) -> str:
        """A new database's address."""
        self._made += 1
        name = f"journal{self._made}"
        self._run("createdb", "-h", str(self._folder), "-U", OWNER, name)
        return f"host={self._folder} user={OWNER} dbname={name}"

    def end(self) -> None:
        """Stop it, and leave nothing behind."""
        self.stop()
        shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", OWNER, "--", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
