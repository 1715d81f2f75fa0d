"""Values as TOML writes them, so that what is read by tomllib can be written without a library of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping

from discreet.errors import DiscreetError


def toml_value(value: object) -> str:
    """A value on one line: text, numbers, lists, and tables as inline tables."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{toml_key(str(key))} = {toml_value(inner)}" for key, inner in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    raise DiscreetError(f"{value!r} cannot be written as TOML; use text, numbers, lists and tables")


def toml_key(key: str) -> str:
    """A key, in quotes where it has to be."""
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else _quoted(key)


def toml_comment(text: str) -> str:
    """Text as a comment; a name in it may hold what a comment may not."""
    return "# " + "".join(letter if letter.isprintable() else " " for letter in text)


def _quoted(text: str) -> str:
    """JSON escapes what TOML does, but for the letter DEL; lone surrogates are in neither."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")
