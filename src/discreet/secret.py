"""One secret: a set of contexts, when it holds, and the terms on which belief in it is bounded."""

from __future__ import annotations

import calendar
import datetime as dt
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from discreet.errors import PolicyError
from discreet.given import words_for

At = Literal["each", "any"]
Over = Literal["day", "week", "month"] | int

LONGEST = 366
"""Dates of a window at most: tables of what lies ahead grow with them."""

EVER = (
    "'ever' cannot be a secret: whoever knows the habits is nearly certain of it already, whatever is "
    "shown; give over='month', or a number of days"
)


@dataclass(frozen=True)
class Secret:
    """A set of contexts, perhaps only at some slots, in which nobody may gain more than delta belief.

    `at="each"` bounds the gain on "there at slot t" for each slot; `at="any"` bounds the gain on "there at some slot of
    the window". The first does not imply the second. `delta=None` takes the policy's. `begins`, for `at="any"`, says
    where the window of a day begins: slots before it belong to the window that began the day before, as in a night.

    `cap` bounds belief itself: where the prior q is at most cap - delta/2, the limit is min(q + delta, cap); elsewhere
    it is q + delta, for silence alone would be beyond a cap below q, and one just above q leaves nothing to show
    (`Policy.row_delta`). `odds` bounds the factor by which outputs may multiply the odds of the secret; None takes the
    policy's, and infinity means no such bound. `over` says how long the window of `at="any"` is: a day, a calendar week
    or month, or so many days; `sliding`: any so many in a row. Copies of a secret are made by `dataclasses.replace`, so
    that none of its terms is lost.
    """

    name: str
    contexts: frozenset[str]
    slots: frozenset[int] | None = None
    delta: float | None = None
    at: At = "each"
    begins: int = 0
    cap: float | None = None
    odds: float | None = None
    over: Over = "day"
    sliding: bool = False
    sequence: tuple[str, ...] = ()
    within: int = 0

    def __init__(
        self,
        name: str,
        contexts: Iterable[str] | str | None = None,
        slots: Iterable[int] | None = None,
        delta: float | None = None,
        at: At = "each",
        begins: int = 0,
        cap: float | None = None,
        odds: float | None = None,
        over: Over = "day",
        sliding: bool = False,
        sequence: Iterable[str] = (),
        within: int = 0,
    ) -> None:
        if not isinstance(name, str):
            raise PolicyError(f"the name of a secret is {words_for(name)}; give text, and its contexts after it")
        if contexts is None:
            contexts = {name}
        elif not isinstance(contexts, Iterable):
            raise PolicyError(f"the contexts of secret {name!r} are {words_for(contexts)}; give a set of labels")
        elif isinstance(contexts, str):
            contexts = {contexts}
        values = {
            "name": name,
            "contexts": frozenset(contexts),
            "slots": None if slots is None else _checked_slots(slots, name),
            "delta": None if delta is None else checked_share(delta, f"delta of secret {name!r}"),
            "at": at,
            "begins": _checked_begins(begins, name),
            "cap": None if cap is None else checked_share(cap, f"cap of secret {name!r}"),
            "odds": None if odds is None else checked_factor(odds, f"odds of secret {name!r}"),
            "over": _checked_over(over, name),
            "sliding": bool(sliding) and over not in ("day", 1),
            "sequence": tuple(sequence),
            "within": within,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        if not name:
            raise PolicyError("a secret has no name; name it so that reports can speak of it")
        if not self.contexts:
            raise PolicyError(f"secret {name!r} names no context; list at least one")
        for context in self.contexts:
            if not isinstance(context, str) or not context:
                raise PolicyError(f"secret {name!r} names {context!r}, which is not a label; use non-empty strings")
        if self.slots is not None and not self.slots:
            raise PolicyError(f"secret {name!r} is limited to no slot; leave slots out to mean the whole day")
        if at not in ("each", "any"):
            raise PolicyError(f"secret {name!r} has at={at!r}; use 'each' (at each slot) or 'any' (at some slot)")
        if begins and at != "any":
            raise PolicyError(f"secret {name!r} is at each slot, so it has no window that begins; leave begins out")
        if self.begins and self.slots is not None and max(self.slots) < self.begins:
            raise PolicyError(
                f"the window of secret {name!r} begins at slot {begins}, after all of its slots; give one of them"
            )

        self._check_window()

    def __repr__(self) -> str:
        """In the words of the constructor, without what is as it is by default."""
        own = [repr(self.name)]
        if self.contexts != {self.name}:
            own.append("{" + ", ".join(map(repr, sorted(self.contexts))) + "}")
        for one in fields(self)[2:]:
            value = getattr(self, one.name)
            if value != one.default:
                own.append(f"{one.name}={_listed(value) if one.name == 'slots' else repr(value)}")
        return f"Secret({', '.join(own)})"

    @classmethod
    def pattern(
        cls,
        name: str,
        sequence: Sequence[str],
        within: int,
        *,
        slots: Iterable[int] | None = None,
        delta: float | None = None,
        cap: float | None = None,
        odds: float | None = None,
    ) -> Secret:
        """Contexts one after the other, others perhaps between, from the first to the last at most `within` slots.

        "The gym, then the clinic" at some time of the day, or of the slots given: what is before them does not count.
        `Adaptive` over a Markov chain of one day bounds it; whatever cannot refuses it.
        """
        if isinstance(sequence, str) or len(sequence) < 2:
            raise PolicyError(f"pattern {name!r} is {sequence!r}; give two contexts or more, in their order")
        if isinstance(within, bool) or not isinstance(within, int) or within < len(sequence) - 1:
            raise PolicyError(
                f"pattern {name!r} is within {within!r} slots; give a number of slots, {len(sequence) - 1} or more"
            )
        terms: dict[str, Any] = {"slots": slots, "delta": delta, "cap": cap, "odds": odds}
        return cls(name, set(sequence), at="any", sequence=sequence, within=within, **terms)

    def _check_window(self) -> None:
        if self.sequence and (self.at != "any" or self.over != "day" or self.begins):
            raise PolicyError(
                f"pattern {self.name!r} is about some time of one day (at='any'); leave over and begins out"
            )
        if self.over != "day" and self.at != "any":
            raise PolicyError(
                f"secret {self.name!r} is at each slot, so it has no window over a {self.over}; use at='any'"
            )
        if self.sliding and not isinstance(self.over, int) and self.over != "week":
            raise PolicyError(
                f"secret {self.name!r} slides over a {self.over}, which is no number of days; give over=30, for example"
            )

    def windows_of(self, date: dt.date) -> list[tuple[dt.date, int]]:
        """The windows that a date belongs to: the first date of each, and how many dates it has.

        Weeks begin on Mondays and months on their first date. Windows of N days follow each other without a gap, of
        seven days like weeks. Sliding ones begin on every date.
        """
        if self.over == "day":
            return [(date, 1)]
        if self.over == "month":
            return [(date.replace(day=1), calendar.monthrange(date.year, date.month)[1])]
        days = 7 if self.over == "week" else int(self.over)
        if self.sliding:
            return [(date - dt.timedelta(days=before), days) for before in range(days - 1, -1, -1)]
        return [(date - dt.timedelta(days=(date.toordinal() - 1) % days), days)]

    @property
    def over_in_words(self) -> str:
        """What a window is, such as: the month, any 7 days in a row."""
        if not isinstance(self.over, int):
            return "any 7 days in a row" if self.sliding else f"the {self.over}"
        return f"any {self.over} days in a row" if self.sliding else f"each {self.over} days"

    def in_one_day(self, slots: int) -> tuple[Secret, ...]:
        """The secret on a model of one day of so many slots: a window that runs over the cut is two, each on its own.

        The window that begins on the day keeps the name; the end of the one that began before is "... (night before)".
        """
        if self.begins == 0:
            return (self,)
        self.require_begins_within(slots)
        window = range(slots) if self.slots is None else sorted(self.slots)
        after = [slot for slot in window if slot >= self.begins]
        before = [slot for slot in window if slot < self.begins]
        parts = [(self.name, after), (self.name + NIGHT_BEFORE, before)]
        return tuple(replace(self, name=name, slots=frozenset(own), begins=0) for name, own in parts if own)

    def require_begins_within(self, slots: int) -> None:
        """Refuse a window that begins after the day's last slot."""
        if self.begins >= slots:
            raise PolicyError(
                f"the window of secret {self.name!r} begins at slot {self.begins}, but the day has slots 0 to "
                f"{slots - 1}; use the clock that the model was learned with"
            )


NIGHT_BEFORE = " (night before)"
"""What the end of a window that began the day before is called, after its secret's name."""


def on_day(name: str, day: int, last: int | None = None) -> str:
    """What a secret at="any" is called on one of several days in a row, of which the first is 1, or over some."""
    return f"{name} (day {day})" if last is None or last == day else f"{name} (days {day} to {last})"


def _listed(slots: frozenset[int]) -> str:
    """Slot numbers in a few words: as a range where they are one."""
    numbers = sorted(slots)
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"range({numbers[0]}, {numbers[-1] + 1})"
    return "{" + ", ".join(map(str, numbers)) + "}"


def _checked_slots(slots: Iterable[int], name: str) -> frozenset[int]:
    try:
        return frozenset(operator.index(slot) for slot in slots)
    except TypeError:
        raise PolicyError(f"slots of secret {name!r} is {slots!r}; give slot numbers, such as range(44, 48)") from None


def _checked_begins(begins: int, name: str) -> int:
    try:
        slot = -1 if isinstance(begins, bool) else operator.index(begins)
    except TypeError:
        slot = -1
    if slot < 0:
        raise PolicyError(f"the window of secret {name!r} begins at {begins!r}; give a slot number, 0 or more")
    return slot


def _checked_over(over: object, name: str) -> Over:
    if over == "ever":
        raise PolicyError(f"secret {name!r}: {EVER}")
    if over in ("day", "week", "month"):
        return over
    if isinstance(over, bool) or not isinstance(over, int) or not 1 <= over <= LONGEST:
        raise PolicyError(
            f"secret {name!r} is over {over!r}; use 'day', 'week', 'month' or a number of days, 1 to {LONGEST}"
        )
    return "day" if over == 1 else over


def checked_share(value: object, what: str) -> float:
    """A probability, or a share of something."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:  # also catches NaN
        quoted = ", without quotes" if isinstance(value, str) else ""
        raise PolicyError(f"{what} is {value!r}; give a number from 0 to 1{quoted}")
    return float(value)


def checked_factor(value: object, what: str) -> float:
    """A factor on odds or on a frequency: a number, 1 or more, perhaps infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 1:  # also catches NaN
        raise PolicyError(f"{what} is {value!r}; give a factor of 1 or more, such as 2")
    return float(value)
