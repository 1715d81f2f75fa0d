"""What numba does for `rule`: types, dispatchers and code kept on disk. Imported when something is loaded or compiled.

Only functions that Python calls get a wrapper for Python; helpers are typed once for each list of types, literal
integers counted as integers, and their code is part of their callers'.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numba
import numba.core.types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.typing.templates import builtin_registry

from discreet.jit import cache
from discreet.jit.kinds import Argument, RecordKind
from discreet.jit.rule import HELPERS, LOOPS, Loop

_njit: Any = numba.njit  # takes more options than it says
types: Any = numba.core.types
llvm: Any = llvmlite.binding
_globals: Any = builtin_registry
_index_file: Any = IndexDataCacheFile

_ENTRY: dict[str, Any] = {"fastmath": False, "no_cfunc_wrapper": True}
_HELPER = {**_ENTRY, "no_cpython_wrapper": True}


def _without_blas() -> None:
    """Load numba's arrays without scipy.linalg, 15 MB that no loop here uses.

    numba only looks whether it is there; whoever compiles a product of matrices has it imported then, as ever.
    """
    try:
        import numba.np.linalg as linalg

        found = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            arrays: Any = importlib.import_module("numba.np.arraymath")
            arrays.ensure_blas = found
        finally:
            linalg.ensure_blas = found
    except (ImportError, AttributeError):  # another numba, which loads it by itself
        return


if "numba.np.arraymath" not in sys.modules and importlib.util.find_spec("scipy") is not None:
    _without_blas()

_dispatchers: dict[str, Any] = {}
_registered: dict[int, Any] = {}  # by the identity of what Python sees, which is kept alive here


def compiled(loop: Loop) -> Callable[..., Any]:
    """The compiled loop, from the cache where it is there."""
    made = _dispatcher(loop)
    if not loop.signatures:
        _register()
    for signature in loop.signatures:
        given = tuple(_type(argument) for argument in signature)
        if not _inserted(made, given):
            _register()
            made.compile(given)
    return _closed(loop, made)


def loaded(loop: Loop) -> Callable[..., Any] | None:
    """The compiled loop from the cache; None where what is there cannot be used."""
    made = _dispatcher(loop)
    for signature in loop.signatures:
        given = tuple(_type(argument) for argument in signature)
        if not _inserted(made, given):
            cache.discard(loop)
            return None
    return _closed(loop, made)


def _inserted(made: Any, given: Any) -> bool:
    """Whether a dispatcher has code for these types, now that the cache has been looked at."""
    if given in made.overloads:
        return True
    found = made._cache.load_overload(given, made.targetctx)
    if found is None:
        return False
    made.targetctx.insert_user_function(found.entry_point, found.fndesc, [found.library])
    made.add_overload(found)
    return True


def _closed(loop: Loop, made: Any) -> Callable[..., Any]:
    """Arguments that fit the declared types are converted, and no others are compiled for."""
    if loop.signatures:
        made.disable_compile()
    call: Callable[..., Any] = made
    return call


def _dispatcher(loop: Loop) -> Any:
    if loop.name not in _dispatchers:
        made = _njit(**_ENTRY)(loop.py_func)
        made._cache = _Kept(loop)
        _dispatchers[loop.name] = _plain_integers(made)
    return _dispatchers[loop.name]


def _register() -> None:
    """Say to numba which compiled function stands for each function that Python sees."""
    importlib.import_module("discreet.jit.lanes")
    loops = [(loop, loop.py_func, True) for loop in LOOPS.values()]  # called by others, they are helpers too
    for seen, function, counted in (*HELPERS, *loops):
        if id(seen) not in _registered:
            made = _plain_integers(_njit(**_HELPER, _nrt=counted)(function))
            _globals.register_global(seen, types.Dispatcher(made))
            _registered[id(seen)] = seen, made


def _plain_integers(made: Any) -> Any:
    """A dispatcher that is not typed anew for each literal integer that a caller passes."""
    resolve = made.get_call_template

    def unliteral(arguments: Any, named: Any) -> Any:
        return resolve(
            tuple(types.unliteral(one) for one in arguments),
            {name: types.unliteral(one) for name, one in named.items()},
        )

    made.get_call_template = unliteral
    return made


def _type(argument: Argument) -> Any:
    if isinstance(argument, RecordKind):
        return types.BaseTuple.from_types([_type(field) for field in argument.fields], argument.of)  # equal kinds too
    number = {"float64": types.float64, "int64": types.int64, "bool": types.boolean}[argument.dtype]
    if argument.dimensions == 0:
        return number
    return types.Array(number, argument.dimensions, "C", readonly=not argument.written)


class _Locator:
    """Where numba keeps a loop's code: `cache` says where, for every loop alike."""

    def __init__(self, loop: Loop) -> None:
        self._py_file = loop.py_func.__code__.co_filename
        self._loop = loop

    def get_cache_path(self) -> str:
        return str(cache.folder_of(self._loop))

    def get_source_stamp(self) -> str:
        return cache.file_name(self._loop)

    def get_disambiguator(self) -> str:
        return ""

    def ensure_cache_path(self) -> None:
        """Nothing to do: `cache` has made it."""


class _Code(CompileResultCacheImpl):
    def __init__(self, loop: Loop) -> None:
        self._lineno = loop.py_func.__code__.co_firstlineno
        self._locator = _Locator(loop)
        self._filename_base = cache.file_name(loop)

    def reduce(self, cres: Any) -> Any:
        """Without the code that callers would inline, because only Python calls what is kept here.

        LLVM would parse that code at each start: 6 MB of memory for the largest loop. The names that it defines stay,
        because numba looks for functions and environments among them.
        """
        found: Any = super()
        parts = found.reduce(cres)
        match parts:
            case ((name, "object", (code, inlined)), *rest):
                return ((name, "object", (code, _names_alone(inlined))), *rest)
        return parts  # another numba, which keeps it otherwise


def _names_alone(bitcode: bytes) -> bytes:
    """A module that defines the same names, and has no code."""
    module = llvm.parse_bitcode(bitcode)
    values = (*module.functions, *module.global_variables)
    names = (one.name for one in values if not one.is_declaration)
    mangled = (f'@"{name}" = global i8 0' for name in names if name.startswith("_ZN"))  # others may hold quotes
    return bytes(llvm.parse_assembly("\n".join(mangled)).as_bitcode())


class _Kept(FunctionCache):
    """numba's files, in our folder; a folder that cannot be read or written is no error."""

    def __init__(self, loop: Loop) -> None:
        self._py_func = loop.py_func
        self._name = loop.name
        self._impl = _Code(loop)
        self._cache_path = self._impl.locator.get_cache_path()
        self._cache_file = _index_file(self._cache_path, self._impl.filename_base, cache.file_name(loop))
        self._enabled = True

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found: Any = super()
            return found.load_overload(sig, target_context)
        except Exception:  # cut off, of another llvmlite, not ours to read: then it is compiled anew
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError):
            kept: Any = super()
            kept.save_overload(sig, data)
