"""What a table of one person's history says of itself before it is read: the time zone, and how it records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.batch.reading import ReadingOptions
from discreet.clock import Clock
from discreet.errors import DataError
from discreet.listener import Note, ignore

if TYPE_CHECKING:
    from discreet.places import Sightings
    from discreet.places.zones import Zones


@dataclass(frozen=True)
class Looked:
    """Where nights were spent, and for how many seconds a reading stands; None where that is not known."""

    zones: Zones | None
    first: int
    """When the history begins, in microseconds."""
    stands: float | None

    def zone(self, given: str | None, note_later: Note = ignore) -> str:
        """The zone to cut days by: the one given, or where nights were spent, which is said."""
        if self.zones is None:
            return given or "UTC"
        if given is None:
            note_later(f"{self.zones.sentence()}; --zone says otherwise")
            return self.zones.home
        warning = self.zones.warning(Clock(24, given), self.first)
        if warning is not None:
            note_later(f"{warning} --zone {self.zones.home} cuts them there")
        return given

    def carry(self, given: str | None, note_later: Note = ignore) -> str:
        """How long a reading stands: as given, or as the source records, which is said where it is not as usual."""
        from discreet.places.pace import CHANGES

        if given is not None:
            return given
        if self.stands != CHANGES:
            return CARRY
        hours = f"{CHANGES / 3600:g}h"
        note_later(f"the source records changes only: a reading stands until the next one, for up to {hours} (--carry)")
        return hours


CARRY = "4h"
"""How long a reading stands where nothing else is known."""

NOTHING = Looked(None, 0, None)


def looked_at(sightings: Sightings) -> Looked:
    """What one person's sightings say."""
    from discreet.places.pace import stands_for
    from discreet.places.zones import zones_of

    return Looked(zones_of(sightings), int(sightings.instants[0]), stands_for(sightings.instants))


def looked_into(data: Path, reading: ReadingOptions) -> Looked:
    """What a table says that is one person's history: imported, or of positions on a map; of others nothing is known.

    It is read once more for that. What is wrong with it is told when it is read in earnest.
    """
    from discreet.data import SightingColumns, open_source, read_sightings
    from discreet.data.table import IMPORTED

    columns = SightingColumns(reading.user or None, reading.time, context=reading.context)
    try:
        source = open_source(data)
        if tuple(source.header) != IMPORTED and reading.places is None:
            return NOTHING
        people = read_sightings(source, columns=columns, zone=reading.naive_zone, skip_bad=True).people
    except DataError:
        return NOTHING
    own = [one for name, one in people.items() if reading.person in (None, name)]
    return looked_at(own[0]) if len(own) == 1 else NOTHING


def told_before(
    data: Path, reading: ReadingOptions, carry: str | None, zone: str | None, note_later: Note = ignore
) -> tuple[ReadingOptions, str]:
    """The options with the carry, and the zone, that are given or that the history says."""
    looked = looked_into(data, reading)
    return replace(reading, carry=looked.carry(carry, note_later)), looked.zone(zone, note_later)


def kept_of(places: Path | None, declared: Sequence[str]) -> tuple[str, ...]:
    """Contexts that are not merged, and are there even if never visited: those declared, and those of the map that may
    be secret. The rule of `setup` is the same."""
    from discreet.choosing.kept_labels import worth_keeping
    from discreet.places import read_places

    return tuple(sorted({*declared, *(() if places is None else worth_keeping(read_places(places)))}))
