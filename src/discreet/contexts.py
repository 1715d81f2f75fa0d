"""What a person's day is made of: contexts, and days of them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.errors import DiscreetError
from discreet.given import as_date, checked_count, words_for

UNKNOWN = "unknown"
"""The context of a slot without a reading: learned like any other, because phones fall silent in particular places."""

OTHER = "other"
"""The context into which rare ones are merged."""


@dataclass(frozen=True)
class Day:
    """One person's day: a context a slot. A slot without a reading is `unknown`."""

    contexts: tuple[str, ...]
    date: dt.date | None = None
    person: str | None = None

    def __init__(self, contexts: Iterable[str], date: dt.date | str | None = None, person: str | None = None) -> None:
        if isinstance(contexts, str):
            raise DiscreetError(f"a day is one string, {contexts!r}; give a tuple of labels, one a slot")
        if not isinstance(contexts, Iterable):
            raise DiscreetError(f"a day's contexts are {words_for(contexts)}; give a tuple of labels, one a slot")
        if person is not None and not isinstance(person, str):
            raise DiscreetError(f"the person of a day is {words_for(person)}; give a name as text, or None")
        object.__setattr__(self, "contexts", tuple(contexts))
        object.__setattr__(self, "date", date if date is None else as_date(date, "the date of a day"))
        object.__setattr__(self, "person", person)
        where = f" ({self.person or 'person not given'}, {self.date or 'date not given'})"
        if not self.contexts:
            raise DiscreetError(
                f"a day has no slots{where}; give one context a slot, 'unknown' where there is no reading"
            )
        for slot, context in enumerate(self.contexts):
            if not isinstance(context, str) or not context:
                raise DiscreetError(
                    f"slot {slot} of a day{where} is {context!r}, not a label; use 'unknown' where there is no reading"
                )

    def __len__(self) -> int:
        return len(self.contexts)

    def fitted(self, contexts: Collection[str]) -> Day:
        """The day in the words of a model with these contexts: see `fitted`."""
        return replace(self, contexts=tuple(fitted(context, contexts) for context in self.contexts))


def carry_forward(days: Iterable[Day], slots: int, *, backward: bool = False) -> list[Day]:
    """Fill unknown slots with the last reading of the same person, for at most `slots` slots after it.

    Readings carry over midnight between consecutive dates. `backward` also fills the unknown slots at the start of a
    day from its first reading. Days are taken in the order given.
    """
    if isinstance(days, Day):
        raise DiscreetError("carry_forward takes several days, and one is given; give a list, [day]")
    carried = Carry(slots)
    filled: list[Day] = []
    before: Day | None = None
    for number, day in enumerate(days):
        if not isinstance(day, Day):
            raise DiscreetError(f"day {number} to fill is {words_for(day)}; give a list of Day(contexts, date=...)")
        if before is None or not _follows(before, day):
            carried = Carry(slots)
        contexts = [carried.over(context) for context in day.contexts]
        if backward:
            first = next((k for k, context in enumerate(contexts) if context != UNKNOWN), 0)
            contexts[:first] = [contexts[first]] * first
        filled.append(replace(day, contexts=tuple(contexts)))
        before = day
    return filled


class Carry:
    """Carries the last reading over slots without one, slot by slot: a stream and a file are filled alike."""

    def __init__(self, slots: int) -> None:
        self._slots = slots = checked_count(slots, "the number of slots that readings are carried for", least=0)
        self._last, self._age = UNKNOWN, slots

    def over(self, context: str) -> str:
        """The context that stands in the next slot, whose own reading is `context` (or `unknown`)."""
        self._age = self._age + 1 if context == UNKNOWN else 0
        if context != UNKNOWN:
            self._last = context
        return self._last if self._age <= self._slots else UNKNOWN

    @property
    def memory(self) -> tuple[str, int]:
        """The last reading and its age in slots, for whoever goes on after a restart; private, as readings are."""
        return self._last, self._age

    def remembering(self, last: str, age: int) -> Carry:
        """The same as it goes on from a `memory`."""
        found = Carry(self._slots)
        found._last, found._age = last, age
        return found


def _follows(before: Day, day: Day) -> bool:
    if before.person != day.person or before.date is None or day.date is None:
        return False
    return day.date - before.date == dt.timedelta(days=1)


MERGE_BELOW = 0.005
"""The share of the time below which `learn` and `setup` call a context `other`."""


def merge_rare(
    days: Sequence[Day],
    share: float,
    *,
    into: str = OTHER,
    keep: Iterable[str] = (),
    telling: Callable[[str], bool] | None = None,
) -> list[Day]:
    """Rename each person's contexts that fill less than `share` of that person's slots to `into`.

    `unknown`, the labels in `keep` (secrets, say) and those of which `telling` is true are never merged.
    """
    if not isinstance(share, int | float) or not 0 <= share < 1:
        raise DiscreetError(f"the share below which contexts are merged is {share!r}; give a number from 0 to below 1")
    spared = {UNKNOWN, keep} if isinstance(keep, str) else {UNKNOWN, *keep}
    counts: dict[str | None, Counter[str]] = {}
    for day in days:
        counts.setdefault(day.person, Counter()).update(day.contexts)
    if telling is not None:
        spared |= {label for counter in counts.values() for label in counter if telling(label)}
    rename = {
        person: {
            label: into for label, count in counter.items() if label not in spared and count < share * counter.total()
        }
        for person, counter in counts.items()
    }
    return [
        replace(day, contexts=tuple(rename[day.person].get(context, context) for context in day.contexts))
        for day in days
    ]


def fitted(context: str, contexts: Collection[str]) -> str:
    """A context as a model knows it: one never learned is `other`, where it has that; `unknown` stays what it is."""
    return OTHER if context not in contexts and context != UNKNOWN and OTHER in contexts else context


def shares(days: Iterable[Day]) -> dict[str, float]:
    """The share of the slots that each context fills, the largest first."""
    counts = Counter(context for day in days for context in day.contexts)
    return {context: count / counts.total() for context, count in counts.most_common()}


def by_frequency(seen: Mapping[str, int]) -> tuple[str, ...]:
    """Labels from the most often seen to the least; equals in order of name."""
    return tuple(sorted(seen, key=lambda label: (-seen[label], label)))
