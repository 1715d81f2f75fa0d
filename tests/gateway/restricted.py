"""Restrictions of deploy/discreet.service for a process of the tests: what the unit's filter denies is denied here too.

`python -m tests.gateway.restricted` denies itself the calls of @resources, as `SystemCallFilter=~@resources` does, and
then does what the gateway does in processes of its own.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

RESOURCES = {
    "sched_setparam": 142,
    "sched_setscheduler": 144,
    "setpriority": 141,
    "setrlimit": 160,
    "sched_setaffinity": 203,
    "mbind": 237,
    "set_mempolicy": 238,
    "ioprio_set": 251,
    "migrate_pages": 256,
    "move_pages": 279,
    "sched_setattr": 314,
}
"""Numbers of the calls on x86-64, by `systemd-analyze syscall-filter @resources`."""

SUPPORTED = sys.platform == "linux" and platform.machine() == "x86_64"

LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, DENY = 0x7FFF0000, 0x00050000 | errno.EPERM
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2


def restrict() -> None:
    """Deny them to this process and all that it starts, with the unit's SystemCallErrorNumber."""
    numbers = sorted(RESOURCES.values())
    lines = [struct.pack("HBBI", LOAD, 0, 0, 0)]
    lines += [struct.pack("HBBI", EQUAL, len(numbers) - k, 0, number) for k, number in enumerate(numbers)]
    lines += [struct.pack("HBBI", RETURN, 0, 0, ALLOW), struct.pack("HBBI", RETURN, 0, 0, DENY)]
    program = ctypes.create_string_buffer(b"".join(lines))
    described = struct.pack("HL", len(lines), ctypes.addressof(program))
    library = ctypes.CDLL(None, use_errno=True)
    for words in ((NO_NEW_PRIVILEGES, 1, 0, 0, 0), (SET_SECCOMP, FILTER, ctypes.c_char_p(described), 0, 0)):
        if library.prctl(*words):
            raise OSError(ctypes.get_errno(), "the filter cannot be set")


def work(out: Path, report: Any, part: Any, *given: Any) -> dict[str, Any]:
    """A step of the first run that does nothing much."""
    report("working", 1, 1)
    return {"given": list(given)}


def main() -> None:
    """Restricted, then a step of the first run and the bounds of a preview."""
    from discreet.gateway.owner.preview import bounded
    from discreet.gateway.server import room
    from discreet.gateway.setup.job import Job

    restrict()
    try:
        os.nice(1)
    except PermissionError:
        print("denied")
    bounded()
    assert room() > 0
    ended: list[tuple[Any, str | None]] = []
    with tempfile.TemporaryDirectory() as folder:
        Job("read", Path(folder), work, (3,), lambda job, result, problem: ended.append((result, problem))).wait()
    print(ended)


if __name__ == "__main__":
    main()
