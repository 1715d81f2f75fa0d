"""What is typed: mechanisms by name, and the library's errors in the words of the command."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.clock import seconds_of_duration, slots_of

if TYPE_CHECKING:
    from discreet.mechanisms.named import Spec

__all__ = ["in_options", "look_here_too", "read_spec", "seconds_of_duration", "slots_of"]


def read_spec(mechanism: str, options: Sequence[str] | None) -> Spec:
    """The mechanism asked for: a name, module:Class or a TOML file, with its --option key=value."""
    from discreet.mechanisms.named import Spec

    look_here_too(mechanism)
    return Spec.from_text(mechanism, options or ())


def look_here_too(mechanism: str) -> None:
    """A class of one's own, which a file may name too, is looked for in the working directory as well."""
    if (":" in mechanism or mechanism.endswith(".toml")) and (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)


_SPOKEN = (
    (
        r"name the right one with SightingColumns\((?:latitude|longitude)=\.\.\.\)",
        "rename them, or make the table with discreet import",
    ),
    (r"(?:Event|Sighting)?Columns\(timestamp=\.\.\.\)", "--time"),
    (r"(?:Event|Sighting)?Columns\((\w+)=\.\.\.\)", r"--\1"),
    (r"pass user=None", "give --user ''"),
    (
        r"pass naive_zone=, for example naive_zone='Europe/Paris'",
        "give --naive-zone, for example --naive-zone Europe/Paris",
    ),
    (r"pass time_format= with", "give --time-format with"),
    (r" \(skip_bad=True\)", ""),
    (r"learn again with keep=\[(.*)\]$", r"learn again with --keep \1"),
)
"""The library's errors speak of arguments; those who type a command have options."""


def in_options(message: str) -> str:
    """An error of the library in the words of the command."""
    for spoken, option in _SPOKEN:
        message = re.sub(spoken, option, message)
    return message
