"""Options of mechanisms as plain values (words, numbers, lists, tables), fitted to what constructors declare.

What an option may be stands in the constructor's signature and nowhere else: a mechanism that takes a `Hierarchy`, a
`PolicyGraph` or an array over contexts can be written down in a file without another line of code.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from discreet.contracts import DayModel, Mechanism
from discreet.errors import DiscreetError, did_you_mean
from discreet.hierarchy import Hierarchy

PLAIN = (str, int, float, bool)


class Options(Mapping[str, Any]):
    """A table that cannot change and has a hash; tables in it are `Options` too, and lists are tuples.

    Values that are not plain (a `Hierarchy`, a function) are kept as they are; they must have a hash themselves.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        self._values = {str(key): _frozen(key, value) for key, value in (values or {}).items()}

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return repr(self.plain())

    def plain(self) -> dict[str, Any]:
        """The same as dictionaries and lists: what TOML and JSON have."""
        return {key: _thawed(value) for key, value in self._values.items()}


def _frozen(key: object, value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return Options(value)
    if isinstance(value, set | frozenset):
        value = sorted(value)
    if isinstance(value, list | tuple):
        return tuple(_frozen(key, item) for item in value)
    try:
        hash(value)
    except TypeError:
        raise DiscreetError(
            f"option {key!r} is {value!r}, which can be changed; give numbers, text, lists, tables or a frozen object"
        ) from None
    return value


def _thawed(value: object) -> object:
    if isinstance(value, Options):
        return value.plain()
    return [_thawed(item) for item in value] if isinstance(value, tuple) else value


# --- what a constructor takes


@dataclass(frozen=True)
class Parameter:
    """An option that a constructor takes: what its type is declared to be, and its default."""

    hint: Any
    default: Any = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is inspect.Parameter.empty

    @property
    def words(self) -> str:
        """What may be given, for people."""
        return " or ".join(dict.fromkeys(want.words for want in wants(self.hint)))

    @property
    def is_tree(self) -> bool:
        """Whether a hierarchy will do."""
        return any(want.fit is _hierarchy for want in wants(self.hint))

    @property
    def is_text(self) -> bool:
        """Whether plain text will do."""
        return any(want.words == TEXT for want in wants(self.hint))


@cache
def parameters(maker: Callable[..., Any]) -> tuple[Mapping[str, Parameter], bool]:
    """The options of `maker(model, policy, *, options)`, and whether it hands further ones on (`**options`).

    Looked up once: reading type hints takes as long as publishing several events, and a table has thousands of people.
    """
    try:
        hints = get_type_hints(getattr(maker, "__init__") if isinstance(maker, type) else maker)  # noqa: B009  for mypy
    except Exception:  # names that exist for type checkers only: then any value is taken as it is
        hints = {}
    found: dict[str, Parameter] = {}
    hands_on = False
    for parameter in list(inspect.signature(maker).parameters.values())[2:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            hands_on = True
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            found[parameter.name] = Parameter(hints.get(parameter.name, Any), parameter.default)
    return types.MappingProxyType(found), hands_on


# --- fitting


@dataclass(frozen=True)
class OptionSite:
    """Where a value is fitted: the model whose contexts it speaks of (None: look at its form only), its neighbours."""

    model: DayModel | None
    given: Options

    def index(self, context: object) -> int:
        """The number of a context."""
        if self.model is None:
            return 0
        if context not in self.model.contexts:
            hint = did_you_mean(str(context), self.model.contexts)
            raise DiscreetError(f"context {context!r} is not one of the model's; {hint}")
        return self.model.contexts.index(str(context))

    def covered(self, listed: Iterable[object], what: str) -> None:
        """Complain about contexts of the model that are not listed: silence would leave them unprotected."""
        missing = [] if self.model is None else [name for name in self.model.contexts if name not in set(listed)]
        if missing:
            raise DiscreetError(f"{what} leaves out {', '.join(map(repr, missing))}; list every context of the model")


class MisfitError(Exception):
    """A value is of another kind; perhaps another one that is allowed takes it."""


@dataclass(frozen=True)
class Want:
    """One kind of value that an option takes, in words and as a function that gives what the constructor needs."""

    words: str
    fit: Callable[[Any, OptionSite], object]


def fitted(option: str, hint: Any, value: object, place: OptionSite) -> object:
    """The value as its constructor needs it; one of another kind is an error that says what to give."""
    if not isinstance(value, (*PLAIN, tuple, Options)):
        return value  # made in Python
    try:
        return _fit(hint, value, place)
    except MisfitError:
        shown = repr(_thawed(value))
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        raise DiscreetError(f"option {option} is {shown}; give {Parameter(hint).words}") from None
    except DiscreetError as error:
        raise DiscreetError(f"option {option}: {error}") from None


def _fit(hint: Any, value: object, place: OptionSite) -> object:
    for want in wants(hint):
        try:
            return want.fit(value, place)
        except MisfitError:
            continue
    raise MisfitError


TEXT = "text"
ARRAYS = frozenset(get_args(npt.ArrayLike) or (npt.ArrayLike,))
"""What stands for an array: the members of a union, or since NumPy 2.5 (on Python 3.12 and later) the alias itself."""


def wants(hint: Any) -> list[Want]:
    """What a declared type takes, most particular first."""
    members = list(get_args(hint)) if get_origin(hint) in (Union, types.UnionType) else [hint]
    found = []
    if set(members) >= ARRAYS:
        members = [member for member in members if member not in ARRAYS]
        found = [Want("numbers (a list with rows of one length, or a table with a row for each context)", _array)]
    return found + [_want(member) for member in members if member is not types.NoneType]


def _want(hint: Any) -> Want:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return Want("a value", lambda value, _: _thawed(value))
    if hint in _SCALARS:
        return _SCALARS[hint]
    if origin is Literal:
        return Want(" or ".join(map(repr, inner)), lambda value, _: _checked(value, value in inner))
    if hint is Hierarchy:
        return Want("a table of nodes with lists of contexts at the bottom, or a map (FILE.geojson)", _hierarchy)
    if getattr(hint, "__name__", "") == "PolicyGraph" and isinstance(hint, type):
        return Want("a table with kind, such as kind = 'complete'", lambda value, place: _graph(hint, value, place))
    if origin is Callable and get_origin(inner[-1]) is Mechanism:
        return Want("the name of a mechanism", _maker)
    if origin is tuple and inner[-1] is not Ellipsis:
        return Want(f"a list of {len(inner)}", lambda value, place: _tuple(inner, value, place))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        each = Parameter(inner[1]).words
        return Want(f"a table of {each}", lambda value, place: _mapping(inner[1], value, place))
    if isinstance(origin, type) and issubclass(origin, Iterable) and _writable(inner[0]):
        each = Parameter(inner[0]).words
        return Want(f"a list ({each})", lambda value, place: _sequence(inner[0], value, place))
    return Want(f"{getattr(hint, '__name__', hint)}, which only Python can make", _never)


def _writable(hint: Any) -> bool:
    return any(want.fit is not _never for want in wants(hint))


def _checked(value: object, fits: bool) -> object:
    if not fits:
        raise MisfitError
    return value


def _never(value: object, place: OptionSite) -> object:
    raise MisfitError


def _number(value: object, _: OptionSite) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MisfitError
    return float(value)


_SCALARS: dict[Any, Want] = {
    bool: Want("true or false", lambda value, _: _checked(value, isinstance(value, bool))),
    int: Want("a whole number", lambda value, _: _checked(value, type(value) is int)),
    float: Want("a number", _number),
    str: Want(TEXT, lambda value, _: _checked(value, isinstance(value, str))),
}


def _sequence(hint: Any, value: object, place: OptionSite) -> tuple[object, ...]:
    if not isinstance(value, tuple):
        raise MisfitError
    return tuple(_fit(hint, item, place) for item in value)


def _tuple(hints: Sequence[Any], value: object, place: OptionSite) -> tuple[object, ...]:
    if not isinstance(value, tuple) or len(value) != len(hints):
        raise MisfitError
    return tuple(_fit(hint, item, place) for hint, item in zip(hints, value, strict=True))


def _mapping(hint: Any, value: object, place: OptionSite) -> dict[str, object]:
    if not isinstance(value, Options):
        raise MisfitError
    return {key: _fit(hint, item, place) for key, item in value.items()}


def _array(value: object, place: OptionSite) -> object:
    """Numbers as an array; a table gives each context its row."""
    if isinstance(value, Options):
        for context in value:
            place.index(context)
        place.covered(value, "the table")
        value = tuple(value[context] for context in (value if place.model is None else place.model.contexts))
    if not _numeric(value):
        raise MisfitError
    try:
        array = np.array(value, dtype=np.float64)
    except (ValueError, OverflowError):  # rows of several lengths, or an integer beyond floats
        raise MisfitError from None
    return array if array.ndim <= 2 else _never(value, place)


def _numeric(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_numeric, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _hierarchy(value: object, _: OptionSite) -> Hierarchy:
    if not isinstance(value, Options):
        raise MisfitError
    return Hierarchy(value.plain())


def _maker(value: object, _: OptionSite) -> object:
    from discreet.mechanisms.named import Spec

    if not isinstance(value, str):
        raise MisfitError
    return Spec(value).maker


# --- policy graphs, by the names of contexts

_GRAPHS = {"complete": None, "transitions": None, "categories": "categories", "within": "radius", "edges": "edges"}
"""The kinds of policy graph, and what each is told beside its kind."""


def _graph(graph: Any, value: object, place: OptionSite) -> object:
    """A policy graph from a table: `kind`, and what that kind needs, in labels."""
    if not isinstance(value, Options):
        raise MisfitError
    kind = value.get("kind", "edges" if "edges" in value else None)
    if kind not in _GRAPHS:
        raise DiscreetError(f"kind is {kind!r}; use {', '.join(map(repr, _GRAPHS))}")
    needs = _GRAPHS[kind]
    for key in value:
        if key not in ("kind", needs):
            raise DiscreetError(f"kind {kind!r} has no {key!r}; it has {needs or 'nothing else'}")
    if needs is not None and needs not in value:
        raise DiscreetError(f"kind {kind!r} needs {needs}")
    if kind == "within":
        radius, query = value["radius"], _query(place)
        if not _numeric(radius) or isinstance(radius, tuple):
            raise DiscreetError(f"radius is {_thawed(radius)!r}; give a distance in the query's unit")
        return value if place.model is None else graph.within(query, radius)
    groups = [] if needs is None else _groups(value[needs], needs, place)
    if place.model is None:
        return value
    if kind == "transitions":
        return graph.transitions(place.model)
    n = len(place.model.contexts)
    return graph.complete(n) if kind == "complete" else graph(n, groups)


def _groups(value: object, what: str, place: OptionSite) -> list[list[int]]:
    """Lists of labels as context numbers: pairs for edges; categories hold each context exactly once."""
    if not (isinstance(value, tuple) and all(isinstance(group, tuple) for group in value)):
        raise DiscreetError(f"{what} is {_thawed(value)!r}; give a list of lists of contexts")
    listed = [context for group in value for context in group]
    if what == "categories":
        place.covered(listed, "categories")
        twice = sorted({str(context) for context in listed if listed.count(context) > 1})
        if twice:
            raise DiscreetError(f"context {twice[0]!r} stands in categories twice; put it in one")
    for group in value:
        if what == "edges" and len(set(group)) != 2:
            raise DiscreetError(f"{list(group)!r} is no edge; give two contexts")
    return [[place.index(context) for context in group] for group in value]


def _query(place: OptionSite) -> object:
    """The answers that distances are measured between: those of the mechanism's one query."""
    query = place.given.get("query")
    try:
        return query if isinstance(query, np.ndarray) else _array(query, place)
    except MisfitError:
        raise DiscreetError(
            "kind 'within' measures between the answers of one query; give query as a table of points, or name edges"
        ) from None
