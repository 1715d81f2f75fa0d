"""Questions, each of which has an option: asked where somebody can answer, else answered by it or by its default."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from discreet.errors import DiscreetError

Answer = TypeVar("Answer")


def edit_lines() -> None:
    """Let answers be edited, and names of files be completed, where the system can."""
    with suppress(ImportError):
        import readline

        readline.parse_and_bind("tab: complete")


def somebody_there() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


class Asker:
    """Asks on stdout where `asks`; with `yes`, defaults are taken; otherwise what is missing is an error."""

    def __init__(self, *, asks: bool, yes: bool) -> None:
        self.asks, self._yes = asks and not yes, yes

    def answer(
        self,
        option: str,
        question: str,
        read: Callable[[str], Answer],
        default: str | None = None,
        shown: str | None = None,
    ) -> Answer:
        """The answer, as `read` makes it of text; what it refuses is said, and asked again.

        An empty answer is the default; `shown` is how the question shows that, if not as it is.
        """
        if self.asks:
            return self._asked(option, question, read, default, (default or "") if shown is None else shown)
        if self._yes and default is not None:
            return read(default)
        why = "nothing is suggested" if self._yes else "nobody is there to ask"
        means = {"y": "yes", "n": "no"}.get(default or "", shown or default)
        taken = "" if default is None else f", or --yes for {means!r}"
        raise DiscreetError(f"{question.rstrip('?:').strip()}: {why}; give {option}{taken}")

    def agreed(self, option: str, question: str, *, default: bool) -> bool:
        """Yes or no."""
        words = {"y": True, "yes": True, "n": False, "no": False}

        def read(text: str) -> bool:
            if text.strip().lower() not in words:
                raise DiscreetError("write y or n")
            return words[text.strip().lower()]

        return self.answer(option, question, read, "y" if default else "n", "Y/n" if default else "y/N")

    def _asked(
        self, option: str, question: str, read: Callable[[str], Answer], default: str | None, shown: str
    ) -> Answer:
        prompt = f"{question} [{shown}] " if shown else f"{question} "
        while True:
            try:
                text = input(prompt).strip()
            except EOFError:
                raise DiscreetError(f"the input ended at: {question} Answer it, or give {option}") from None
            try:
                if text or default is not None:
                    return read(text or str(default))
                print("  an answer is needed here")
            except DiscreetError as error:
                print(f"  {error}")
