"""`discreet.toml` as the text that somebody wrote: one section is changed, and every other byte stays as it is.

A section that is new goes to the end of the file. One that is there is changed key by key, so that comments beside the
keys stay. Where it is written in a form that this cannot be done in, it is written anew where it stands, and its
comments follow it. The result is parsed before it is used: it says what was wanted, and all else as before.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from tomlkit.container import Container
    from tomlkit.items import Item, Table

Values = Mapping[str, Any]

BY_HAND = "write it there by hand, and start the gateway anew"

HERE = "\0"
"""Where a section stood; no file of TOML has this letter."""


def section_text(where: Sequence[str], table: Values, deep: int = 0) -> str:
    """A section as a new file has it; tables below `deep` levels of it are inline."""
    import tomlkit

    made: Table = _as_section(table, deep)
    for key in reversed(where):
        outer = tomlkit.table(is_super_table=True)
        outer.append(tomlkit.key(key), made)
        made = outer
    return tomlkit.dumps(made).lstrip("\n")


def edited(text: str, where: Sequence[str], table: Values | None, deep: int = 0) -> str:
    """The text with this table under these keys, such as `("people", "jane")`; without it for None."""
    wanted = tomllib.loads(text)
    at = wanted
    for key in where[:-1]:
        at = at.setdefault(key, {})
    known = where[-1] in at
    if table is None and not known:
        return text
    if table is None:
        del at[where[-1]]
    else:
        at[where[-1]] = _plain(table)
    ways: tuple[Callable[..., str], ...] = (_changed, _rewritten) if known else (_appended, _changed)
    for way in reversed(ways) if table is None else ways:
        if _same(after := way(text, where, table, deep), wanted):
            return after
    raise DiscreetError(f"{'.'.join(where)} is not a section of its own in discreet.toml; {BY_HAND}")


def _same(text: str, wanted: Values) -> bool:
    """Whether a text says this; a table of tables is empty or missing alike."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return _filled(found) == _filled(wanted)


def _filled(table: Values) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value != {}}


def _plain(value: Any) -> Any:
    """As tomllib would read it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


# --- ways to change a text


def _appended(text: str, where: Sequence[str], table: Values, deep: int) -> str:
    """The section at the end, after a blank line."""
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return text + gap + section_text(where, table, deep)


def _changed(text: str, where: Sequence[str], table: Values | None, deep: int) -> str:
    """Keys that have another value get it, within the section or the inline table that is there."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        at: Any = document
        for key in where[:-1]:
            at = at[key]
        if table is None:
            del at[where[-1]]
        elif where[-1] in at:
            _fill(at[where[-1]], table)
        else:
            at[where[-1]] = _inline(table)
        return document.as_string()
    except (TOMLKitError, ValueError, KeyError, TypeError, AttributeError):  # a form that it cannot be changed in
        return ""


def _fill(at: Any, table: Values) -> None:
    for key in [key for key in at if key not in table]:
        del at[key]
    new = {}
    for key, value in table.items():
        if key not in at:
            new[key] = value
        elif isinstance(value, Mapping) and isinstance(at[key], Mapping):
            _fill(at[key], value)
        elif at[key] != _plain(value):
            at[key] = _inline(value)
    for key, value in new.items():
        _add(at, key, _inline(value))


def _add(at: Any, key: str, value: Item) -> None:
    """A new key after the others of its table: tomlkit would put it after the comments that lead to the next one."""
    import tomlkit
    from tomlkit.items import Table

    if not isinstance(at, Table):
        at[key] = value
        return
    body = at.value.body
    last = max((k for k, (own, one) in enumerate(body) if own is not None and not isinstance(one, Table)), default=-1)
    body.insert(last + 1, (tomlkit.key(key), value))


def _rewritten(text: str, where: Sequence[str], table: Values | None, deep: int) -> str:
    """The section as a new one, or nothing, in the place of the old; its comments stay, of whatever they are."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
    except TOMLKitError:
        return ""
    _cut(document, list(where), [HERE])
    before, _, after = document.as_string().partition(HERE)
    if table is None:
        return (before[:-1] if before.endswith("\n\n") else before) + after
    return before + section_text(where, table, deep) + after


def _cut(container: Container, where: list[str], mark: list[str]) -> None:
    """Leave of every table of these keys its comments, the first after the mark. Only the text is good after this."""
    import tomlkit
    from tomlkit.items import Table

    for k, (key, one) in enumerate(container.body):
        if key is None or key.key != where[0] or not isinstance(one, Table):
            continue
        if len(where) > 1:
            _cut(one.value, where[1:], mark)
        else:
            found = (mark.pop() if mark else "") + "".join(_comments(one.value))
            container.body[k] = (None, tomlkit.ws(found))


def _comments(container: Container) -> list[str]:
    """Comments on lines of their own, and the blank lines after the last key."""
    from tomlkit.items import Comment, Table, Whitespace

    found: list[str] = []
    for key, one in container.body:
        if isinstance(one, Comment | Whitespace):
            found.append(one.as_string())
        elif key is not None:
            found = [line for line in found if line.strip()]
            found += _comments(one.value) if isinstance(one, Table) else []
    return found


# --- values


def _as_section(table: Values, deep: int) -> Table:
    import tomlkit

    made = tomlkit.table()
    for key, value in table.items():
        made.append(
            tomlkit.key(key), _as_section(value, deep - 1) if deep and isinstance(value, Mapping) else _inline(value)
        )
    return made


def _inline(value: Any) -> Item:
    """A value on one line; a table as an inline one."""
    import tomlkit

    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for key, inner in value.items():
            table.append(tomlkit.key(key), _inline(inner))
        return table
    if isinstance(value, list | tuple):
        array = tomlkit.array()
        array.extend(map(_inline, value))
        return array
    found: Item = tomlkit.item(value)
    return found
