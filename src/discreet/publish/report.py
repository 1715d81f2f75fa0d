"""What became of people's events, and what the published table tells an observer who knows the habits.

It speaks of the truth, so it is for the publisher alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from discreet.adversary.known import Known, merged
from discreet.errors import DiscreetError
from discreet.frames import Tabular
from discreet.given import counted
from discreet.policy import Guarantee, GuaranteeKind

if TYPE_CHECKING:
    import polars as pl

Scope = Literal["whole trajectory", "each piece alone"]
"""What a guarantee is about: all of a person's events together, or each of several pieces for itself."""

STRENGTH: tuple[GuaranteeKind, ...] = ("none", "epsilon", "window only", "exact delta")
"""Kinds of guarantees, from the one that bounds a belief least."""


@dataclass(frozen=True)
class PieceReport:
    """What one piece tells, at its end: a table is published whole, so that no part of it is seen before."""

    events: int
    breached: int
    """Positions where some secret's gain is over its delta."""
    settled: int
    """Positions where the habits alone put some secret's prior within delta of 1, so that the truth may be shown."""
    off_model: int
    """Events that the habits have no place for."""
    by_secret: Mapping[str, float]
    """The worst gain on each secret, below 0 where the piece speaks against it."""
    excess_by_secret: Mapping[str, float]
    """The largest gain on each secret beyond its own position's limit."""
    known: tuple[Known, ...]
    """What habits alone tell of each secret."""
    guarantee: Guarantee


@dataclass(frozen=True, slots=True)
class PersonReport:
    """What became of one person's events, and what the whole of it tells. Flat, for there may be a million of them."""

    person: str
    events: int
    pieces: int
    attributes: float
    """Events' worth of attributes shown as they are: a third for each."""
    silent: int
    """Events of which nothing is shown."""
    breached: int
    """Positions where some secret's gain is over its delta."""
    off_model: int
    """Events that the habits have no place for."""
    settled: int
    """Positions where the habits alone tell a secret."""
    by_secret: Mapping[str, float]
    """The worst gain on each secret."""
    excess_by_secret: Mapping[str, float]
    """The largest gain on each secret beyond its own position's limit; negative: the room that is left."""
    known: tuple[Known, ...]
    """What habits alone tell of each secret, over all positions."""
    guarantee: Guarantee
    """The weakest that holds for one of the pieces: PA-HMM, say, promises more of a short one."""

    @classmethod
    def of(cls, person: str, pieces: Sequence[PieceReport], *, attributes: float, silent: int) -> PersonReport:
        """What the person's pieces tell, taken together."""
        return cls(
            person=person,
            events=sum(piece.events for piece in pieces),
            pieces=len(pieces),
            attributes=attributes,
            silent=silent,
            breached=sum(piece.breached for piece in pieces),
            off_model=sum(piece.off_model for piece in pieces),
            settled=sum(piece.settled for piece in pieces),
            by_secret=worst_of(piece.by_secret for piece in pieces),
            excess_by_secret=largest_of(piece.excess_by_secret for piece in pieces),
            known=merged(piece.known for piece in pieces),
            guarantee=weakest(piece.guarantee for piece in pieces),
        )

    @property
    def scope(self) -> Scope:
        """What the guarantee and the gains are about."""
        return scope_of(self.pieces, 1)

    @property
    def worst_gain(self) -> float:
        """The largest gain on any secret."""
        return max(self.by_secret.values(), default=0.0)

    @property
    def utility(self) -> float:
        """The share of attributes shown as they are."""
        return self.attributes / self.events

    @property
    def breach_rate(self) -> float:
        """The share of positions that are breached."""
        return self.breached / self.events


@dataclass(frozen=True, repr=False)
class Report(Tabular):
    """What became of all people, in order of their names whatever the order they are given in."""

    people: tuple[PersonReport, ...]
    published: pl.DataFrame | None = field(default=None, compare=False)
    """The table that was published, where nothing else took its rows: person, activity, time, location."""

    def __post_init__(self) -> None:
        if not self.people:
            raise DiscreetError("there is nobody to report on; publish at least one person")
        refuse_twice(one.person for one in self.people)
        object.__setattr__(self, "people", tuple(sorted(self.people, key=lambda one: one.person)))

    def to_frame(self) -> pl.DataFrame:
        """A row for each person: private, as all of the report but `published`."""
        import polars as pl

        names = ("person", "events", "pieces", "utility", "silent", "breached", "off_model", "settled", "worst_gain")
        return pl.DataFrame({name: [getattr(one, name) for one in self.people] for name in names})

    def __repr__(self) -> str:
        people, events = counted(len(self.people), "person", "people"), counted(self.events, "event")
        return (
            f"Report({people}, {events}, utility={self.utility:.3f}, "
            f"worst_gain={self.worst_gain:.3f}, breach_rate={self.breach_rate:.3g})"
        )

    @classmethod
    def merged(cls, parts: Iterable[Report]) -> Report:
        """One report of people who were published apart."""
        return cls(tuple(one for part in parts for one in part.people))

    @property
    def events(self) -> int:
        """How many were published, in whole, in part or not at all."""
        return sum(one.events for one in self.people)

    @property
    def silent(self) -> int:
        """Events of which nothing is shown."""
        return sum(one.silent for one in self.people)

    @property
    def off_model(self) -> int:
        """Events that the habits have no place for."""
        return sum(one.off_model for one in self.people)

    @property
    def settled(self) -> int:
        """Positions where the habits alone tell a secret."""
        return sum(one.settled for one in self.people)

    @property
    def utility(self) -> float:
        """The share of all attributes that is shown as it is."""
        return sum(one.attributes for one in self.people) / self.events

    @property
    def breach_rate(self) -> float:
        """Li and Sun (2020), Eq. 2: the mean over people of the share of positions that are breached."""
        return sum(one.breach_rate for one in self.people) / len(self.people)

    @property
    def worst_gain(self) -> float:
        """The largest gain on any secret of anybody."""
        return max(one.worst_gain for one in self.people)

    @property
    def breached(self) -> bool:
        """Whether some gain is over its delta."""
        return any(one.breached for one in self.people)

    @property
    def by_secret(self) -> dict[str, float]:
        """The worst gain on each secret."""
        return worst_of(one.by_secret for one in self.people)

    @property
    def excess_by_secret(self) -> dict[str, float]:
        """The largest gain on each secret beyond its own position's limit."""
        return largest_of(one.excess_by_secret for one in self.people)

    @property
    def known(self) -> tuple[Known, ...]:
        """What habits alone tell of each secret, over all positions of everybody."""
        return merged(one.known for one in self.people)

    @property
    def guarantee(self) -> Guarantee:
        """The weakest that holds for somebody: no more than this is promised of the table."""
        return weakest(one.guarantee for one in self.people)

    @property
    def scope(self) -> Scope:
        """What the guarantee and the gains are about: pieces, where somebody has several."""
        return scope_of(sum(one.pieces for one in self.people), len(self.people))


def scope_of(pieces: int, people: int) -> Scope:
    """Of so many people in so many pieces."""
    return "each piece alone" if pieces > people else "whole trajectory"


def worst_of(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The largest gain on each secret; 0 for one that gains nowhere."""
    return {name: max(gain, 0.0) for name, gain in largest_of(parts).items()}


def largest_of(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The largest of each secret's numbers."""
    largest: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            largest[name] = max(largest.get(name, value), value)
    return largest


def weakest(guarantees: Iterable[Guarantee]) -> Guarantee:
    """The guarantee that promises least; equals in order of their words, so that it does not matter who comes first."""
    return min(guarantees, key=lambda one: (STRENGTH.index(one.kind), one.proven, len(one.covers), one.statement))


def refuse_twice(people: Iterable[str]) -> None:
    """Refuse a person who occurs twice: their draws would be the same, and their rows could not be told apart."""
    for person, times in Counter(people).items():
        if times > 1:
            raise DiscreetError(f"{person!r} has {times} trajectories; join them to one, in the order of time")
