"""Days on which nothing is told, announced by the owner: whole days, from the cut after next on.

A slot of such a day is a skip, as when the machine was off: everybody learns that nothing was decided, and no more.
That is harmless only where it does not depend on where the person is just then. So a pause begins days after it is
announced, and ends at a cut; it can be taken back for days that are as far away.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from discreet.errors import DiscreetError
from discreet.gateway.slots.person import PersonStream
from discreet.gateway.store.own_store import OwnStore

AHEAD = dt.timedelta(days=2)
"""From the date of the slot that comes next to the first that may be changed: the cut after next."""

LONGEST = 366
"""Days of one pause."""

Pause = tuple[dt.date, dt.date]

AT_ONCE = (
    "a pause can start on {} at the earliest, the night after next: one that began at once would tell everybody that "
    "you want to hide something just now"
)
BACK = "this pause has begun, and it is too late to change its last days; they end on {}"


class Pauses:
    """Everybody's pauses, as they are kept in the own store."""

    def __init__(self, own: OwnStore) -> None:
        self._own = own
        self._of: dict[str, list[Pause]] = {}

    def of(self, person: str) -> list[Pause]:
        """A person's, the first first."""
        if person not in self._of:
            self._of[person] = self._own.pauses(person)
        return self._of[person]

    def holds(self, person: PersonStream) -> bool:
        """Whether the slot that comes next is one of a pause."""
        date, _ = person.next
        return any(first <= date <= last for first, last in self.of(person.name))

    def announce(self, person: PersonStream, first: dt.date, last: dt.date) -> None:
        """Nothing is told from the one date to the other; an error says why that cannot be."""
        earliest = person.next[0] + AHEAD
        if first < earliest:
            raise DiscreetError(AT_ONCE.format(earliest))
        if not 0 <= (last - first).days < LONGEST:
            raise DiscreetError(f"a pause ends on its first day or later, and has {LONGEST} days at most")
        self._keep(person, joined([*self.of(person.name), (first, last)]))

    def take_back(self, person: PersonStream, first: dt.date) -> None:
        """Without the pause that begins then, but for its days that can no longer be changed."""
        latest = person.next[0] + AHEAD - dt.timedelta(days=1)
        pauses = self.of(person.name)
        found = next((one for one in pauses if one[0] == first), None)
        if found is None:
            raise DiscreetError("there is no such pause")
        if found[1] <= latest:
            raise DiscreetError(BACK.format(found[1]))
        kept = [(first, latest)] if first <= latest else []
        self._keep(person, [*(one for one in pauses if one != found), *kept])

    def _keep(self, person: PersonStream, pauses: Sequence[Pause]) -> None:
        over = person.next[0]
        found = sorted(one for one in pauses if one[1] >= over)
        self._own.keep_pauses(person.name, found)
        self._of[person.name] = found


def joined(pauses: Sequence[Pause]) -> list[Pause]:
    """The same days, with pauses that touch or overlap made one."""
    found: list[Pause] = []
    for first, last in sorted(pauses):
        if found and first <= found[-1][1] + dt.timedelta(days=1):
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found
