"""What an application is shown of the released stream: a function of its outputs, and of nothing else.

There is one stream for all. A view only joins what was released, so all applications together learn no more than the
whole stream tells, which is what the promise bounds (data processing: a function of the outputs has a posterior that is
an average of theirs).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.contexts import UNKNOWN
from discreet.errors import DiscreetError
from discreet.outputs import SUPPRESSED, Generalized, Output, Released, Skipped, Suppressed

WHOLE = "whole"


@dataclass(frozen=True)
class View:
    """Released contexts by group: `View("family", {"home": {"home"}}, rest="out")`; `whole` shows all as it is.

    What is in no group is `rest`, or silence where there is none. `unknown` is no part of the rest: a phone that is off
    would look like leaving. It stays `unknown` unless a group names it. Silence stays silence and a skip stays a skip.
    """

    name: str = WHOLE
    groups: Mapping[str, frozenset[str]] | None = None
    rest: str | None = None
    _group_of: Mapping[str, str] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        found: dict[str, str] = {}
        for group, contexts in (self.groups or {}).items():
            for context in contexts:
                if context in found:
                    raise DiscreetError(
                        f"view {self.name!r}: {context!r} is in the groups {found[context]!r} and {group!r}; keep one"
                    )
                found[context] = group
        object.__setattr__(self, "_group_of", found)

    @property
    def leaves_unknown(self) -> bool:
        """Whether `unknown` is shown as such, beside a name for all the rest."""
        return self.rest is not None and UNKNOWN not in self._group_of

    def of(self, output: Output) -> Output:
        """The output as this view shows it."""
        if self.groups is None or isinstance(output, Suppressed | Skipped):
            return output
        match output:
            case Released(label) | Generalized(label):
                if label == UNKNOWN and self.leaves_unknown:
                    return Released(UNKNOWN)
                shown = self._group_of.get(label, self.rest)
                return SUPPRESSED if shown is None else Released(shown)
        return SUPPRESSED  # points and events have no groups
