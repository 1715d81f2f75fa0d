"""What is broken at present, for the owner; one log line when something breaks, and one when it is back.

Nothing here may depend on where somebody is: whether the gateway is ready is for anybody to see.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

LOG = logging.getLogger("discreet.gateway")


@dataclass(frozen=True)
class Broken:
    """One thing that does not work."""

    what: str
    """Of which part: the name that it has in the log."""
    words: str
    """For the owner: what is wrong, and what to do."""


class Health:
    """The parts of a gateway that do not work at present."""

    def __init__(self) -> None:
        self._broken: dict[str, Broken] = {}
        self._lock = threading.Lock()

    def broken(self, what: str, log: str, words: str | None = None, *, kind: str = "") -> None:
        """Something does not work. It is logged once, until it is mended; the words may change meanwhile."""
        with self._lock:
            news = what not in self._broken
            self._broken[what] = Broken(what, words or log)
        if news:
            LOG.error(log, extra={"part": what} | ({"kind": kind} if kind else {}))

    def mended(self, what: str) -> None:
        """It works, perhaps again."""
        with self._lock:
            news = self._broken.pop(what, None)
        if news is not None:
            LOG.warning("it works again", extra={"part": what})

    @property
    def ready(self) -> bool:
        """Whether everything works."""
        return not self._broken

    @property
    def reasons(self) -> list[Broken]:
        """What does not work, in the order in which it broke."""
        with self._lock:
            return list(self._broken.values())
