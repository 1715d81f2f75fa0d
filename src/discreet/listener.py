"""What work says on the way, for whoever started it: notes and progress. Nothing below the command prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

Note = Callable[[str], None]
"""Called with a line for whoever started the work."""

Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


def ignore(message: str) -> None:
    """Nobody listens."""


@contextmanager
def unseen(what: str) -> Iterator[Progress]:
    """Progress that nobody watches."""
    yield lambda done, total: None


@dataclass(frozen=True)
class Listener:
    """Who hears of the work; nobody, unless told otherwise. It is pickled where workers are sent it."""

    note: Note = ignore
    note_later: Note = ignore
    """A note for when the work is done: an error is one line, and stands alone."""
    progress: Callable[[str], AbstractContextManager[Progress]] = unseen
    """What is being done, while the block runs."""


NOBODY = Listener()
