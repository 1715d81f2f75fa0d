"""Values of this package's data classes as JSON, and back: what workers write down for the one that reads it.

Data, and no code: a text makes numbers, texts, containers, arrays, dates and instances of data classes and named tuples
of this package, and whatever else it asks for is refused.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import json
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from discreet.errors import FileFormatError

KIND = "!"
"""The key of an object that stands for something JSON has not."""

OWN = __name__.partition(".")[0]


def to_text(value: object) -> str:
    """The value as one line; a value of another kind is a mistake of the program."""
    return json.dumps(_plain(value), separators=(",", ":"))


def from_text(text: str) -> Any:
    """The value that `to_text` has written."""
    try:
        return _value(json.loads(text))
    except (KeyError, TypeError, ValueError, AttributeError, ImportError) as error:
        raise FileFormatError(f"an answer of a worker cannot be read: {error}; run it again") from error


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return _marked(value)


def _marked(value: Any) -> dict[str, Any]:
    """What JSON has no word for, with the name of its kind."""
    own = type(value)
    if isinstance(value, dict):
        return {KIND: "dict", "of": [[_plain(key), _plain(one)] for key, one in value.items()]}
    if dataclasses.is_dataclass(value) and _is_own(own):
        fields = {one.name: _plain(getattr(value, one.name)) for one in dataclasses.fields(value) if one.init}
        return {KIND: _name(own), "of": fields}
    if isinstance(value, tuple):
        kind = _name(own) if hasattr(own, "_fields") and _is_own(own) else "tuple"
        return {KIND: kind, "of": [_plain(one) for one in value]}
    if isinstance(value, frozenset):
        return {KIND: "frozenset", "of": sorted(map(_plain, value))}
    if isinstance(value, dt.datetime | dt.date):
        return {KIND: "datetime" if isinstance(value, dt.datetime) else "date", "of": value.isoformat()}
    if isinstance(value, PurePath):
        return {KIND: "path", "of": str(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        body = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {KIND: "array", "of": body, "type": value.dtype.str, "shape": value.shape}
    raise TypeError(f"{own.__module__}.{own.__qualname__} is no plain value")


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(one) for one in plain]
    if not isinstance(plain, dict):
        return plain
    kind, of = plain[KIND], plain["of"]
    if kind == "dict":
        return {_value(key): _value(one) for key, one in of}
    if kind == "tuple":
        return tuple(map(_value, of))
    if kind == "frozenset":
        return frozenset(map(_value, of))
    if kind == "datetime":
        return dt.datetime.fromisoformat(of)
    if kind == "date":
        return dt.date.fromisoformat(of)
    if kind == "path":
        return Path(of)
    if kind == "array":
        return np.frombuffer(base64.b64decode(of), np.dtype(plain["type"])).reshape(plain["shape"])
    made = _class(kind)
    return made(**{name: _value(one) for name, one in of.items()}) if isinstance(of, dict) else made(*map(_value, of))


def _is_own(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == OWN


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(name: str) -> type:
    """A data class or a named tuple of this package, and nothing else."""
    module, _, qualified = name.partition(":")
    if module.partition(".")[0] != OWN:
        raise ValueError(f"{name!r} is none of its kinds")
    found = getattr(import_module(module), qualified)
    named_tuple = isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields")
    if not isinstance(found, type) or not (named_tuple or dataclasses.is_dataclass(found)):
        raise ValueError(f"{name!r} is none of its kinds")
    return found
