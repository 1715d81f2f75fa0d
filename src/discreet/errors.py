"""The errors that users meet. Each message says what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DiscreetError(ValueError):
    """Something the caller gave cannot be used; the message says what to change."""


class ModelError(DiscreetError):
    """A model's arrays do not describe probabilities."""


class PolicyError(DiscreetError):
    """A policy or secret that has no meaning, or none for this model."""


class OneDayError(DiscreetError):
    """A model without end was given to something that is for one day."""


class HorizonError(DiscreetError):
    """Habits so regular, or a delta so small, that what is known now tells of a secret too far ahead."""


class HierarchyError(DiscreetError):
    """A hierarchy that is not a tree of even depth; the message names the node."""


class DataError(DiscreetError):
    """A data file that cannot be read as declared; the message names file, row and column."""


class FileFormatError(DiscreetError):
    """A saved file that is damaged, of another kind, or written by a newer version."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name, or the names there are when nothing is near."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    shown = ", ".join(repr(name) for name in names[:8])
    return f"known: {shown}{', ...' if len(names) > 8 else ''}"
