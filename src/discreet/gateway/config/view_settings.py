"""Views in `discreet.toml`, changed while the gateway runs.

A view is a function of what was released (`views`), so whatever it shows tells no more than the whole stream does.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.files import written_whole
from discreet.gateway.config.document import edited
from discreet.gateway.config.section import Section
from discreet.gateway.config.sections import read_view, view_table
from discreet.gateway.config.settings import WRITING
from discreet.gateway.config.views import WHOLE, View


def view_of(name: str, groups: Mapping[str, object], rest: str | None) -> View:
    """A view as the settings would read it; what is wrong is an error."""
    if not name.strip() or not name.isprintable() or set(name) & set("/+#") or len(name) > 100:
        raise DiscreetError("the view's name cannot be part of an address or a topic; use a name without / + #")
    table: dict[str, object] = {"groups": dict(groups)} | ({} if rest is None else {"rest": rest})
    return read_view(name, Section(Path("discreet.toml"), table, ("views", name)))


def write_view(file: Path, name: str, view: View | None) -> None:
    """Put a view into the file, or take it out; whole or not at all, and for the same eyes as before."""
    if name == WHOLE:
        raise DiscreetError(f"{WHOLE} is the view that shows all as it is; give another name")
    file = file.resolve()  # a link stays one
    with WRITING:
        try:
            text, mode = file.read_bytes().decode(), file.stat().st_mode & 0o777
            after = edited(text, ("views", name), None if view is None else view_table(view))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            remedy = "look at it, and start the gateway anew"
            raise DiscreetError(f"{file.name} cannot be read any more; {remedy}") from None
        with written_whole(file, private=True) as opened:
            opened.write(after.encode())
        file.chmod(mode)
