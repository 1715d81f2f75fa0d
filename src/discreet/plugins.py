"""What other distributions add to discreet, by the entry points of Python's packaging.

They are looked for when they are asked for, never at import: a search through all that is installed takes a while.
"""

from __future__ import annotations

import logging
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from discreet.errors import DiscreetError

COMMANDS = "discreet.commands"
"""Verbs of the command, each a `typer.Typer`."""

MECHANISMS = "discreet.mechanisms"
"""Classes that obey the contract of mechanisms; the entry point's name is the mechanism's."""

FORMATS = "discreet.formats"
"""Formats of files: objects that are a `Format` or a `Log`, or classes that make one without arguments."""

LEARNERS = "discreet.learners"
"""Functions that learn a person's habits from days: `learn(days, clock=, secrets=)` gives a model."""

LOG = logging.getLogger("discreet.plugins")


@cache
def _offered(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name. Of two with one name the first counts, in the order of distributions."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=lambda one: (one.name, one.value)):
        found.setdefault(point.name, point)
    return found


def names(group: str) -> tuple[str, ...]:
    """The names that a group offers; nothing is loaded."""
    return tuple(_offered(group))


def loaded(group: str, name: str) -> Any:
    """What an entry point names; an error that says which one, and whose, where it cannot be loaded."""
    point = _offered(group)[name]
    try:
        return point.load()
    except Exception as error:  # whatever somebody else's module raises when it is imported
        raise DiscreetError(f"{_named(point)} cannot be loaded: {type(error).__name__}: {error}") from error


def all_loaded(group: str) -> dict[str, Any]:
    """Everything that a group offers; what cannot be loaded is named in one line of the log, and left out."""
    found: dict[str, Any] = {}
    for name in _offered(group):
        try:
            found[name] = loaded(group, name)
        except DiscreetError as error:
            LOG.warning("%s; it is left out", error)
    return found


def _named(point: EntryPoint) -> str:
    owner = f" of {point.dist.name}" if point.dist is not None else ""
    return f"the plug-in {point.name}{owner} ({point.group}, {point.value})"
