"""One person, day after day: from readings to outputs. No input or output of its own.

Over a routine it is one session without end, where the mechanism can run so; else it is one session a day. Which model
serves a date, what a reading is called there, how long it stands, and where one day ends and the next begins, is said
here and nowhere else: a file, a pipe and a gateway that are given the same readings and the same source of chance
release the same.
"""

from __future__ import annotations

import datetime as dt
import json
import operator
from collections.abc import Iterator, Sequence
from copy import copy
from types import TracebackType
from typing import Any, NamedTuple

from discreet.adversary.belief import Adversary
from discreet.adversary.checkpoint import Checkpoint
from discreet.clock import FIRST_YEAR, LAST_YEAR
from discreet.contexts import UNKNOWN, Carry, Day, fitted
from discreet.contracts import AnyMechanism, Rng
from discreet.errors import DiscreetError
from discreet.models.parts import AnyModel, Make, part_on, parts_of, without_end
from discreet.models.routine import Routine
from discreet.outputs import Output, Release
from discreet.randomness import SystemEntropy
from discreet.session import Session, checked_label

ONE_DAY = dt.timedelta(days=1)

STATE = "discreet stream"
"""What a stream's state calls itself."""


def span(days: Sequence[Day]) -> tuple[dt.date, int]:
    """The first date of days in order, and how many dates there are up to the last, those without a day included."""
    dates = [day.date for day in days if day.date is not None]
    if not dates or len(dates) < len(days):
        raise DiscreetError("there is no day, or one without a date; give days with their dates")
    return dates[0], (dates[-1] - dates[0]).days + 1


class Stream:
    """One person's days from `start` on: `Stream(routine, make, start=date)`, then `.release("home")` slot by slot.

    `make(model)` gives the mechanism for a model (`partial(spec.make, policy=policy)`, or a constructor of your own).
    Over a `Routine` it is called once, with `routine.since(start)`, and the stream is one session without end: what is
    promised holds over midnight. A mechanism that releases one day at a time is made for each kind of day instead, as
    it is for each part of a week of `Models`, and starts anew each day: its promise ends at midnight. `endless` says
    which.

    A reading stands for `carry` further slots without one, over midnight too. A label that was never learned is
    `other`, where the model has that; no reading is `unknown`.

    Every slot of every date has exactly one output. A date on which nothing was read is a day of `unknown`, released
    like any other: a day that is missing would tell that the phone was off. `skip()` is for a machine that was off.

    A release happens whole or not at all: after whatever interrupted it, the slot is either released, and `output` is
    what was drawn, or as it was, and may be released again. A stream that is left is silent for the rest of its date;
    without end, its next slot is skipped.
    """

    def __init__(
        self,
        model: AnyModel,
        make: Make,
        *,
        start: dt.date | str,
        carry: int = 0,
        person: str | None = None,
        rng: Rng | None = None,
    ) -> None:
        self.model = model
        self.person = person
        self.clock = model.clock
        self.slots = next(iter(parts_of(model).values())).slots
        self._rng: Rng = SystemEntropy() if rng is None else rng
        self._start = _checked_date(start)
        self._now = _Now(self._start, None, Carry(_checked_carry(carry)), 0, None)
        self._check(self.date)
        self._endless = without_end(model, make, self.date) if isinstance(model, Routine) else None
        self._made = {} if self._endless is not None else _made(model, make)

    @property
    def endless(self) -> bool:
        """Whether this is one session without end; else one a day, and what is promised ends at midnight."""
        return self._endless is not None

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._now.today is not None:
            with self._now.today:  # the truth does not outlive the stream
                pass
        self._now = self._now._replace(carry=Carry(0))

    def state(self) -> str:
        """All that `resume` needs to go on as if nothing had happened, as JSON; only where the stream is `endless`.

        It holds the last readings: it is for the person's own side, and never beside what was released.
        """
        now = self._now
        if self._endless is None or now.today is None:
            raise DiscreetError("only a stream without end that has released something has a state to go on from")
        last, age = now.carry.memory
        content = {
            "kind": STATE,
            "format": 1,
            "start": self._start.isoformat(),
            "person": self.person,
            "private": now.today.private,
            "last": last,
            "age": age,
            "checkpoint": now.today.checkpoint().to_json(),
        }
        return json.dumps(content, ensure_ascii=False)

    @classmethod
    def resume(cls, model: AnyModel, make: Make, state: str, *, carry: int = 0, rng: Rng | None = None) -> Stream:
        """Go on from a `state` under the same model, policy and mechanism; others are refused. Nothing is drawn twice.

        The slots that passed meanwhile are for the caller to `skip`.
        """
        kept = _read_state(state)
        try:
            stream = cls(model, make, start=kept["start"], carry=carry, person=kept["person"], rng=rng)
            checkpoint = Checkpoint.from_json(kept["checkpoint"])
            last = stream._now.carry.remembering(str(kept["last"]), int(kept["age"]))
            private = kept["private"]
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, DiscreetError):
                raise
            raise DiscreetError(f"the state is damaged: {error!r}; give what Stream.state gave") from None
        if stream._endless is None:
            raise DiscreetError("a state is of a stream without end; this mechanism starts anew each day")
        today = Session.resume(stream._endless, private=private, checkpoint=checkpoint, rng=stream._rng)
        date = stream._start + today.slot // stream.slots * ONE_DAY
        stream._now = _Now(date, today, last, 0, None)
        return stream

    @property
    def date(self) -> dt.date:
        """The date of the slot that comes next."""
        return self._now.date

    @property
    def slot(self) -> int:
        """The slot that comes next, on `date`."""
        return 0 if self._now.today is None else self._now.today.slot % self.slots

    @property
    def off_model(self) -> int:
        """Readings that the model had no place for. Only the person may know: it depends on the truth."""
        return self._now.off_model + (0 if self._now.today is None else self._now.today.off_model)

    @property
    def output(self) -> Release | None:
        """The last release, for a caller that was interrupted before it had it; None before the first."""
        return self._now.output

    def release(self, reading: str | None) -> Release:
        """What applications see in the next slot, given its reading, or None where there is none."""
        checked_label(reading)
        session, carry = self._session(), copy(self._now.carry)  # copies: what is drawn counts when they are taken over
        context = carry.over(UNKNOWN if reading is None else reading)
        start = self._starts()
        return self._told(session, carry, start, session.release(fitted(context, session.mechanism.model.contexts)))

    def skip(self) -> Release:
        """Pass the next slot, in which nothing was decided: a machine that was off. Public, and it tells nothing.

        A reading before it stands a slot less, as after one without a reading. Only where the stream is `endless`.
        """
        session, carry = self._session(), copy(self._now.carry)
        carry.over(UNKNOWN)
        start = self._starts()
        return self._told(session, carry, start, session.skip())

    def _starts(self) -> dt.datetime | None:
        return None if self.clock is None else self.clock.start_of(self.date, self.slot)

    def _told(self, session: Session, carry: Carry, start: dt.datetime | None, output: Output) -> Release:
        """The stream takes over what was drawn."""
        now = self._now
        released = Release(self.person, now.date, self.slot, start, output)
        if session.slot % self.slots:
            self._now = _Now(now.date, session, carry, now.off_model, released)
        elif self.endless:
            self._now = _Now(now.date + ONE_DAY, session, carry, now.off_model, released)
        else:
            self._now = _Now(now.date + ONE_DAY, None, carry, now.off_model + session.off_model, released)
        return released

    def releases(self, days: Sequence[Day]) -> Iterator[Release]:
        """Every slot from the stream's date to the last of these days; dates in between that have no day are `unknown`.

        Days that go backwards, repeat, or have no model are an error before anything is released.
        """
        if self.slot:
            raise DiscreetError(f"{self.date} is released up to slot {self.slot}; finish it slot by slot first")
        for date, day in zip(self._dates(days), days, strict=True):
            if len(day) != self.slots:
                raise DiscreetError(
                    f"{date} has {len(day)} slots, the model {self.slots}; cut the days with the clock of the model"
                )
        return self._released(days)

    def _dates(self, days: Sequence[Day]) -> Iterator[dt.date]:
        """The date of each day, when each date up to it is known to have a model."""
        following = self.date
        for day in days:
            if day.date is None:
                raise DiscreetError("a day has no date; give Day(..., date=...)")
            if day.person not in (None, self.person):
                raise DiscreetError(
                    f"{day.date} is {day.person}'s, the stream {self.person}'s; a stream is one person's"
                )
            if day.date < following:
                raise DiscreetError(
                    f"{day.date} comes after {following - ONE_DAY} or a later date; sort days, and give each date once"
                )
            while following <= day.date:
                self._check(following)
                following += ONE_DAY
            yield day.date

    def _released(self, days: Sequence[Day]) -> Iterator[Release]:
        for day in days:
            while day.date is not None and self.date < day.date:
                yield self.release(None)
            for context in day.contexts:
                yield self.release(context)

    def _check(self, date: dt.date) -> None:
        if not FIRST_YEAR <= date.year <= LAST_YEAR:
            raise DiscreetError(f"the date is {date}; give one from {FIRST_YEAR}-01-01 to {LAST_YEAR}-12-31")
        part_on(self.model, date)

    def _session(self) -> Session:
        """The session to draw the next slot from: a copy, so that the stream's own stays as it is."""
        if not self.slot:
            self._check(self.date)
        if self._now.today is not None:
            return copy(self._now.today)
        if self._endless is not None:
            return Session(self._endless, rng=self._rng)
        mechanism, adversary = self._made[part_on(self.model, self.date)]
        return Session(mechanism, rng=self._rng, adversary=adversary)


class _Now(NamedTuple):
    """All that a release changes, replaced at once: an interrupt finds the slot released or not, never half."""

    date: dt.date
    today: Session | None  # None before the first slot, of the date where each has a session of its own
    carry: Carry
    off_model: int  # on earlier dates
    output: Release | None


def _read_state(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise DiscreetError(f"the state is not JSON: {error}; give what Stream.state gave") from None
    if not isinstance(content, dict) or content.get("kind") != STATE:
        raise DiscreetError("this is no state of a stream; give what Stream.state gave")
    if content.get("format") != 1:
        raise DiscreetError(
            f"the state has format {content.get('format')!r}, this program reads 1; resume with the version that "
            "wrote it"
        )
    return content


def _made(model: AnyModel, make: Make) -> dict[str | None, tuple[AnyMechanism, Adversary]]:
    """The mechanism of each part, and its observer."""
    made = {part: make(habits) for part, habits in parts_of(model).items()}
    return {part: (mechanism, Adversary(mechanism)) for part, mechanism in made.items()}


def _checked_date(given: object) -> dt.date:
    """A date, or text that is one."""
    if isinstance(given, dt.datetime):
        raise DiscreetError(
            f"start is {given.isoformat()}, a date and a time; give the date alone: Clock.locate says to which date a "
            "time belongs"
        )
    if isinstance(given, dt.date):
        return given
    try:
        return dt.date.fromisoformat(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise DiscreetError(f"start is {given!r}; give a date, or text such as '2026-03-02'") from None


def _checked_carry(given: object) -> int:
    """A number of slots; a time such as 4h is one only with a clock."""
    try:
        slots = -1 if isinstance(given, bool) else operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        slots = -1
    if slots < 0:
        raise DiscreetError(f"carry is {given!r}; give a whole number of slots, 0 or more")
    return slots
