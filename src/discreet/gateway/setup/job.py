"""One piece of long work in a process of its own: it says how far it is, can be ended at any time, and leaves nothing.

Its process writes into a folder that only a good end makes part of the draft. If the gateway itself is killed, the
process ends at its next word, for nobody listens any more, and what it wrote is thrown away at the next start.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError

LOG = logging.getLogger("discreet.gateway.setup")

OUT = ".setup-page-"
"""How the folders begin that work writes into."""

OFTEN = 0.1
"""Seconds between two words of how far it is."""

NICE = 10
"""The work yields to slots that are due."""

ENDED = "this stopped unexpectedly, perhaps for lack of memory; try again, or bring fewer files at a time"
FAILED = "this failed; the log says why"

Work = Callable[..., dict[str, Any]]
"""A function of a module: `(out, report, part, *given)`; it writes into `out`, and returns plain values."""


@dataclass(frozen=True)
class Far:
    """How far work is: what is being done, how much of it, of how much; 0 of 0 where that is not known."""

    what: str
    done: int = 0
    total: int = 0


class Job:
    """Work that is under way. `ended` is called from a thread, with the result, or with None and what went wrong."""

    def __init__(
        self, name: str, folder: Path, work: Work, given: tuple[Any, ...], ended: Callable[[Job, Any, str | None], None]
    ) -> None:
        from discreet.publish.engines.pool import interrupts_held

        self.name, self.far = name, Far("starting")
        self.part: dict[str, Any] | None = None
        """The result as far as it goes."""
        self.out = Path(tempfile.mkdtemp(prefix=OUT, dir=folder))  # of mode 0700
        self._ended, self._cancelled = ended, False
        context = multiprocessing.get_context("spawn")
        self._listening, saying = context.Pipe(duplex=False)
        self._process = context.Process(target=_run, args=(saying, work, self.out, given), daemon=True)
        with interrupts_held():
            self._process.start()
        saying.close()
        self._watching = threading.Thread(target=self._watch, name=f"setup {name}", daemon=True)
        self._watching.start()

    def cancel(self) -> None:
        """End it, and what it wrote."""
        self._cancelled = True
        self._process.kill()
        self._watching.join()

    def wait(self) -> None:
        """Until it has ended and said so."""
        self._watching.join()

    def _watch(self) -> None:
        result: Any = None
        problem: str | None = ENDED
        try:
            while True:
                kind, value = self._listening.recv()
                if kind == "far":
                    self.far = value
                    continue
                if kind == "part":
                    self.part = value
                    continue
                result, problem = (value, None) if kind == "done" else (None, str(value))
                break
        except EOFError:
            pass
        self._process.join()
        self._listening.close()
        try:
            if not self._cancelled:
                self._ended(self, result, problem)
        except Exception as error:  # of a disk that is full, say; the page asks again
            LOG.error("the end of a step could not be written", extra={"kind": type(error).__name__})
        finally:
            shutil.rmtree(self.out, ignore_errors=True)


def _run(saying: Connection, work: Work, out: Path, given: tuple[Any, ...]) -> None:
    """In the process: files are for their owner alone."""
    from discreet.gateway.logs import set_up
    from discreet.publish.engines.pool import quiet_end

    quiet_end()
    set_up(level=logging.INFO)
    os.umask(0o077)
    with suppress(OSError, AttributeError):  # the unit's own restrictions forbid it; the work goes on without
        os.nice(NICE)
    said = 0.0
    last = ""

    def report(what: str, done: int, total: int) -> None:
        nonlocal said, last
        now = time.monotonic()
        if what != last or now - said >= OFTEN:
            said, last = now, what
            saying.send(("far", Far(what, done, total)))  # an error where nobody listens any more: the work ends

    def part(result: dict[str, Any]) -> None:
        saying.send(("part", result))

    try:
        answer: tuple[str, object] = ("done", work(out, report, part, *given))
    except DiscreetError as error:
        answer = ("error", str(error))
    except BrokenPipeError:
        return
    except Exception as error:  # its text may hold what was read
        LOG.error("a step failed", extra={"kind": type(error).__name__})
        answer = ("error", FAILED)
    with suppress(BrokenPipeError):
        saying.send(answer)
    saying.close()
