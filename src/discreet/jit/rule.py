"""The rule of hot loops: what is in the cache runs compiled; what is not yet is interpreted, and compiled meanwhile.

Interpreted and compiled loops have the same bits (docs/theory.md, section 12), so a running process may take compiled
code over between two calls. `DISCREET_COMPILE` says how: `background` (a child process compiles into the cache, and
this process loads what is there at the next call), `now` (the first call compiles and waits) or `never` (interpreted
throughout; numba is not even loaded, as with NUMBA_DISABLE_JIT=1).

Two kinds of functions: those that Python calls (`compiled`), each with its declared argument types, and those that only
they call (`helper`, `in_place`), which get no entry for Python and are optimised within their callers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar, cast, get_args, overload

import numpy as np

from discreet.errors import DiscreetError
from discreet.jit.kinds import Argument, Kind, Signature

Function = TypeVar("Function", bound=Callable[..., object])
Mode = Literal["background", "now", "never"]

VARIABLE = "DISCREET_COMPILE"

before_compiling: Callable[[], None] | None = None
"""Called once where a call is about to compile and wait: a command says so, and compiles more than that one loop."""

LOOK_AGAIN = 0.25
"""Seconds between two looks for compiled code: a look reads a folder, and interpreted calls come by the thousand."""


class Loop:
    """A function that Python calls: compiled where that is ready, plain Python until then."""

    def __init__(
        self,
        function: Callable[..., Any],
        signatures: Sequence[Signature],
        plain: Callable[..., Any],
        batch: bool | Callable[..., bool],
    ) -> None:
        self.py_func = function
        self.signatures = tuple(signatures)
        self.name = f"{function.__module__}.{function.__qualname__}"
        self._plain, self._batch = plain, batch
        self._compiled: Callable[..., Any] | None = None
        self._look_at = 0.0
        self.was_called = False
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled code if this process has it."""
        found = self._compiled or self._taken_over(arguments)
        if found is not None:
            try:
                return found(*arguments)
            except TypeError:
                return found(*self._without_gaps(arguments))
        with np.errstate(all="ignore"):  # compiled loops meet infinities too, in silence
            return _unboxed(self._plain(*arguments))

    def __reduce__(self) -> str:
        """By its name, as functions are pickled: a process of a pool has its own."""
        return self.__name__

    @property
    def is_compiled(self) -> bool:
        """Whether this process runs compiled code at the next call."""
        return self._compiled is not None

    def compile(self) -> None:
        """Load the compiled code, or compile it here and keep it in the cache."""
        from discreet.jit import backend

        self._compiled = backend.compiled(self)

    def forget(self) -> None:
        """Interpret again, until compiled code is looked for anew."""
        self._compiled, self._look_at = None, 0.0

    def _without_gaps(self, arguments: tuple[Any, ...]) -> list[Any]:
        """The arguments with arrays stored as declared: those that are only read are copied where they have gaps."""
        fitting = list(arguments)
        for signature in self.signatures:
            for k, (kind, given) in enumerate(zip(signature, arguments, strict=True)):
                if isinstance(kind, Kind) and not kind.written and isinstance(given, np.ndarray):
                    fitting[k] = np.ascontiguousarray(given)
        if all(one is other for one, other in zip(fitting, arguments, strict=True)):
            raise
        return fitting

    def _taken_over(self, arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
        """The compiled code, where it is ready or must be; None: interpret this call."""
        self.was_called = True
        how = mode()
        if how == "never":
            return None
        if how == "now" or not self.signatures:
            about_to_compile()
            self.compile()
            return self._compiled
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK_AGAIN
            from discreet.jit import cache

            if cache.is_ready(self):
                from discreet.jit import backend

                self._compiled = backend.loaded(self)
        if self._compiled is None and (self._batch(*arguments) if callable(self._batch) else self._batch):
            self.compile()
        if self._compiled is None and self._look_at == now + LOOK_AGAIN:
            from discreet.jit import background

            background.ask(self)
        return self._compiled


def _unboxed(result: Any) -> Any:
    """Python's own numbers, as compiled code returns them, in the place of NumPy's."""
    if isinstance(result, np.generic):
        return result.item()
    return tuple(map(_unboxed, result)) if type(result) is tuple else result


LOOPS: dict[str, Loop] = {}
"""Every loop that was imported, by name."""

HELPERS: list[tuple[Callable[..., Any], Callable[..., Any], bool]] = []
"""Functions that only loops call: as Python sees them, as they are compiled, and whether they count references."""


def about_to_compile() -> None:
    """Say so, once, where somebody wants to know: before a call waits, or before processes start that all would."""
    global before_compiling
    call, before_compiling = before_compiling, None
    if call is not None:
        call()


def mode() -> Mode:
    """What the environment asks for."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "never"
    told = os.environ.get(VARIABLE) or "background"
    if told not in get_args(Mode):
        raise DiscreetError(f"{VARIABLE}={told} is not known; set it to {', '.join(get_args(Mode))}, or unset it")
    return cast(Mode, told)


def compiled(
    *arguments: Argument,
    either: Sequence[Signature] = (),
    plain: Callable[..., object] | None = None,
    batch: bool | Callable[..., bool] = False,
) -> Callable[[Function], Function]:
    """A loop that Python calls, for these argument types, or for `either` of several lists of them.

    Nothing is relaxed: sums keep their order, products and sums are not fused, and infinities, NaN and signs of zero
    stay exact, because a zero here means impossible. `plain` is called while the loop is interpreted, where its own
    Python would take too long. `batch` says which calls take longer interpreted than compiling takes: they compile
    first. Without declared types the first call compiles, for the types that it is given.
    """
    signatures = tuple(either) or ((arguments,) if arguments else ())

    def decorate(function: Function) -> Function:
        loop = Loop(function, signatures, plain or function, batch)
        LOOPS[loop.name] = loop
        return cast(Function, loop)

    return decorate


class _Decorator(Protocol):
    """`@helper`, or `@helper(plain=...)`."""

    @overload
    def __call__(self, function: Function, /) -> Function: ...
    @overload
    def __call__(self, *, plain: Callable[..., object]) -> Callable[[Function], Function]: ...


def _decorator(*, counted: bool) -> _Decorator:
    def decorate(function: Any = None, *, plain: Any = None) -> Any:
        if function is None:
            return lambda given: noted(given, plain)
        return noted(function, function)

    def noted(function: Any, seen: Any) -> Any:
        HELPERS.append((seen, function, counted))
        return seen

    return cast(_Decorator, decorate)


helper = _decorator(counted=True)
"""A function that loops call. Called from Python it is plain Python, or `plain`, which has the same bits."""

in_place = _decorator(counted=False)
"""A helper that makes no array and returns none, so that nothing counts references in it."""
