"""Views in `discreet.toml`, changed while the gateway runs: one section is written anew, and every other line stays.

What stands in the file after a change is parsed before it is written: it has that view, and all else as it was, or the
change is refused and the file stays as it is. A view is a function of what was released (`views`), so whatever it shows
tells no more than the whole stream does.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.files import written_whole
from discreet.gateway.config.section import Section
from discreet.gateway.config.sections import read_view, view_lines
from discreet.gateway.config.settings import WRITING
from discreet.gateway.config.views import WHOLE, View

BY_HAND = "write it there by hand, and start the gateway anew"

HEADER = re.compile(r"^[ \t]*\[(?P<keys>[^\[\]\n]+)\][ \t]*(#.*)?$")
"""A line that begins a table; [[...]] begins one of a list."""


def view_of(name: str, groups: Mapping[str, object], rest: str | None) -> View:
    """A view as the settings would read it; what is wrong is an error."""
    if not name.strip() or not name.isprintable() or set(name) & set("/+#") or len(name) > 100:
        raise DiscreetError("the view's name cannot be part of an address or a topic; use a name without / + #")
    table: dict[str, object] = {"groups": dict(groups)} | ({} if rest is None else {"rest": rest})
    return read_view(name, Section(Path("discreet.toml"), table, ("views", name)))


def written(text: str, name: str, view: View | None) -> str:
    """The text of the settings with this view in the place of what it had under the name; without it for None."""
    before = tomllib.loads(text)
    kept = _without(text, name).rstrip("\n") + "\n"
    after = kept if view is None else kept + "\n".join(view_lines(view)) + "\n"
    wanted = {key: value for key, value in before.get("views", {}).items() if key != name}
    if view is not None:
        wanted[name] = tomllib.loads("\n".join(view_lines(view)))["views"][name]
    try:
        found = tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        found = {}
    if found.pop("views", {}) != wanted or found != {key: one for key, one in before.items() if key != "views"}:
        raise DiscreetError(f"views.{name} is not a section of its own in discreet.toml; {BY_HAND}")
    return after


def _without(text: str, name: str) -> str:
    """The text without the lines of [views.NAME] and of tables below it; comments stay, of whatever they are."""
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        header = HEADER.match(line.rstrip("\n"))
        if header is not None or line.lstrip().startswith("[["):
            inside = header is not None and _keys(header["keys"])[:2] == ["views", name]
        if not inside or line.lstrip().startswith("#"):
            kept.append(line)
    return "".join(kept)


def _keys(text: str) -> list[str]:
    """The keys of a table's header, quoted or not."""
    try:
        found: Any = tomllib.loads(f"[{text}]")
    except tomllib.TOMLDecodeError:
        return []
    keys = []
    while isinstance(found, dict) and found:
        ((key, found),) = found.items()
        keys.append(key)
    return keys


def write_view(file: Path, name: str, view: View | None) -> None:
    """Put a view into the file, or take it out; whole or not at all, and for the same eyes as before."""
    if name == WHOLE:
        raise DiscreetError(f"{WHOLE} is the view that shows all as it is; give another name")
    file = file.resolve()  # a link stays one
    with WRITING:
        try:
            text, mode = file.read_text(encoding="utf-8"), file.stat().st_mode & 0o777
            after = written(text, name, view)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            remedy = "look at it, and start the gateway anew"
            raise DiscreetError(f"{file.name} cannot be read any more; {remedy}") from None
        with written_whole(file, private=True) as opened:
            opened.write(after.encode())
        file.chmod(mode)
