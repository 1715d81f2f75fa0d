"""When commands compile: batch work first, with a word about it; the first demo after its page is there.

`discreet.jit.rule` says what happens otherwise: loops are interpreted until a child process has compiled them. A batch
would spend longer in interpreted loops than compiling takes.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.cli.terminal import busy, note

if TYPE_CHECKING:
    from discreet.evaluation.compare import Each

VARIABLE = "DISCREET_COMPILE"

EVERY = 5.0
"""Seconds between two lines about progress."""

Verb = TypeVar("Verb", bound=Callable[..., Any])

_own_process = False


def in_own_process() -> None:
    """To be said where a process is the command's own: what it sets does not outlive it."""
    global _own_process
    _own_process = True


def on_cores() -> Each | None:
    """How a command works on several choices: on all cores, where its process is its own; else one after the other."""
    from discreet.batch.workers import on_all_cores

    return on_all_cores if _own_process else None


def batch(verb: Verb, *, everything: bool = False) -> Verb:
    """A verb that compiles what sessions need, or everything, before the first loop runs or the first worker starts.

    Not before: a file that is missing is an error at once. What the environment says stands.
    """

    @functools.wraps(verb)
    def compiles_first(*arguments: Any, **named: Any) -> Any:
        if _own_process and not os.environ.get(VARIABLE):
            from discreet.jit import rule

            os.environ[VARIABLE] = "now"  # for the processes of a pool, too
            rule.before_compiling = functools.partial(compile_first, everything=everything)
        return verb(*arguments, **named)

    return compiles_first  # type: ignore[return-value]  # its signature is the verb's


def compile_first(*, everything: bool) -> None:
    """Compile in one go, and say how far it is."""
    from discreet.jit.modules import OTHERS, SESSION
    from discreet.jit.warming import not_ready, warm

    modules = (*SESSION, *OTHERS) if everything else SESSION
    if not_ready(modules):
        warm(CompileLines(), modules=modules)


class CompileLines:
    """Progress in whole lines on stderr, few of them: a bar may be shown below, or nobody watches."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, done: int, total: int, name: str) -> None:
        """Say it, if the last line is a while ago."""
        if not name:
            note(f"compiled {total} loops; they are kept for the next commands")
        elif time.monotonic() >= self._next:
            first = not self._next
            self._next = time.monotonic() + EVERY
            note(f"compiling, once: {done} of {total} loops" + "; this takes up to a minute" * first)


def does_without() -> bool:
    """Whether this process leaves its loops uncompiled, because compiling would take longer than a demo."""
    if not _own_process or os.environ.get(VARIABLE):
        return False
    from discreet.jit.modules import SESSION
    from discreet.jit.rule import mode
    from discreet.jit.warming import not_ready

    if mode() != "background" or not not_ready(SESSION):
        return False
    os.environ[VARIABLE] = "never"
    return True


def compile_now() -> None:
    """Compile what the next commands need; Ctrl-C leaves it for later."""
    from discreet.jit.modules import SESSION
    from discreet.jit.warming import warm

    os.environ.pop(VARIABLE, None)
    with contextlib.suppress(KeyboardInterrupt), busy("compiling, once, for the next commands; Ctrl-C leaves it"):
        warm(lambda done, total, name: None, modules=SESSION)
