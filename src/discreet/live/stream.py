"""Slot after slot: which session decides the slot that comes next, and what came of it. No input or output of its own.

Which model serves a date, what a reading is called there, how long it is carried, and where one day ends and the next
begins, is decided here and nowhere else: a file, a pipe, a gateway and a cluster that are given the same readings and
the same source of chance release the same.
"""

from __future__ import annotations

import datetime as dt
import json
import operator
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from types import TracebackType
from typing import Any, NamedTuple

from discreet.adversary.belief import Adversary
from discreet.adversary.checkpoint import Checkpoint
from discreet.clock import FIRST_YEAR, LAST_YEAR, Clock
from discreet.contexts import UNKNOWN, Carry, Day, fitted
from discreet.contracts import AnyMechanism, Rng
from discreet.errors import DiscreetError, OneDayError
from discreet.live.slots import ONE_DAY, Schedule, instants
from discreet.live.standing import Heard, Label
from discreet.models.routine.parts import AnyModel, AnyRoutine, Make, part_on, parts_of, without_end
from discreet.outputs import Output, Release
from discreet.randomness import SystemEntropy
from discreet.session import Session, checked_label

STATE = "discreet stream"
"""What a stream's state calls itself."""


def span(days: Sequence[Day]) -> tuple[dt.date, int]:
    """The first date of days in order, and how many dates there are up to the last, those without a day included."""
    dates = [day.date for day in days if day.date is not None]
    if not dates or len(dates) < len(days):
        raise DiscreetError("there is no day, or one without a date; give days with their dates")
    return dates[0], (dates[-1] - dates[0]).days + 1


class Drawn(NamedTuple):
    """A decision that nobody knows of yet: what would be seen, and the stream's sessions and readings after it."""

    release: Release
    session: Session
    carry: Carry
    cut: bool
    """Whether the day ends with it."""


class _Now(NamedTuple):
    """All that a decision changes, replaced at once: an interrupt finds the slot decided or not, never half."""

    date: dt.date
    today: Session | None  # None before the first slot, of the date where each has a session of its own
    carry: Carry
    off_model: int  # on earlier dates
    output: Release | None


class Stream:
    """One person's days from `start` on: `Stream(routine, make, start=date)`, then `.release("home")` slot by slot.

    `make(model)` gives the mechanism for a model (`partial(spec.make, policy=policy)`, or a constructor of your own).
    Over a `Routine` it is called once, with `routine.since(start)`, and the stream is one session without end: what is
    promised holds over midnight. A mechanism that releases one day at a time is made for each kind of day instead, as
    it is for each part of a week of `Models`, and starts anew each day: its promise ends at midnight. `endless` says
    which.

    A reading stands for `carry` further slots without one, over midnight too: for slots that have no times. Where
    readings have instants, `StandingRule` says what stands, and `carry` is 0. A label that was never learned is
    `other`, where the model has that; no reading is `unknown`. A stream without end may begin in the middle of a day:
    at slot `first` of `start`.

    Every slot of every date has exactly one output. A date on which nothing was read is a day of `unknown`, released
    like any other: a day that is missing would tell that the phone was off. `skip()` is for a machine that was off.

    `drawn`, `skipped` and `heard` decide the next slot and change nothing here; `take` makes it the past. A caller can
    write down in between what was drawn. `session` is where to go on from, where the caller has it.

    A release happens whole or not at all: after whatever interrupted it, the slot is either released, and `output` is
    what was drawn, or as it was, and may be released again. The next slot of a stream that
    is left is skipped.
    """

    def __init__(
        self,
        model: AnyModel,
        make: Make,
        *,
        start: dt.date | str,
        first: int = 0,
        carry: int = 0,
        person: str | None = None,
        rng: Rng | None = None,
        session: Session | None = None,
    ) -> None:
        self.model, self.person, self.clock = model, person, model.clock
        self.slots = next(iter(parts_of(model).values())).slots
        self._rng: Rng = SystemEntropy() if rng is None else rng
        self._start, self._first = _checked_date(start), first
        if not 0 <= first < self.slots:
            raise DiscreetError(f"first is {first}; give a slot of the first date, 0 to {self.slots - 1}")
        self._now = _Now(self._start, None, Carry(_checked_carry(carry)), 0, None)
        self._check(self.date)
        self._endless: AnyMechanism | None = None
        self._made: dict[str | None, tuple[AnyMechanism, Adversary]] = {}
        if session is not None:
            self._go_on_from(session, self._now.carry)
        elif isinstance(model, AnyRoutine):
            self._endless = without_end(model, make, self.date, first)
        if self._endless is None:
            self._made = _made(model, make)
            if first:
                raise OneDayError(f"first is {first}, and here each day starts anew, at its slot 0; leave it out")

    def _go_on_from(self, session: Session, carry: Carry) -> None:
        """One without end, which counts its slots from the first of the stream's first date."""
        self._endless = session.mechanism
        self._now = _Now(self._start + session.slot // self.slots * ONE_DAY, session, carry, 0, None)

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

    def state(self, heard: Heard | None = None) -> str:
        """All that `resume` needs to go on as if nothing had happened, as JSON; only where the stream is `endless`.

        `heard` is what a caller has to keep who goes by `StandingRule`; `heard_in` has it back. It holds the last
        readings: it is for the person's own side, and never beside what was released.
        """
        now = self._now
        if self._endless is None or now.today is None:
            raise DiscreetError("only a stream without end that has released something has a state to go on from")
        last, age = now.carry.memory
        content = {
            "kind": STATE,
            "format": 1,
            "start": self._start.isoformat(),
            "first": self._first,
            "person": self.person,
            "private": now.today.private,
            "last": last,
            "age": age,
            "checkpoint": now.today.checkpoint().to_json(),
        }
        if heard is not None:
            content["heard"] = heard.labels
        return json.dumps(content, ensure_ascii=False)

    @classmethod
    def resume(cls, model: AnyModel, make: Make, state: str, *, carry: int = 0, rng: Rng | None = None) -> Stream:
        """Go on from a `state` under the same model, policy and mechanism; others are refused. Nothing is drawn twice.

        The slots that passed meanwhile are for the caller to `skip`.
        """
        kept = _read_state(state)
        try:
            first = kept.get("first", 0)  # earlier versions skipped the slots before
            stream = cls(model, make, start=kept["start"], first=first, carry=carry, person=kept["person"], rng=rng)
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
        stream._go_on_from(today, last)
        return stream

    @property
    def date(self) -> dt.date:
        """The date of the slot that comes next."""
        return self._now.date

    @property
    def slot(self) -> int:
        """The slot that comes next, on `date`."""
        today = self._now.today
        return (self._first if today is None else today.slot) % self.slots

    @property
    def session(self) -> Session:
        """The session that decides the slot that comes next, as of the last decision."""
        return self._begun() if self._now.today is None else self._now.today

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
        return self.take(self.drawn(reading))

    def skip(self) -> Release:
        """Pass the next slot, in which nothing was decided: a machine that was off. Public, and it tells nothing.

        A reading before it stands a slot less, as after one without a reading.
        """
        return self.take(self.skipped())

    def drawn(self, reading: str | None, rng: Rng | None = None) -> Drawn:
        """The next slot decided from its reading, by bits of its own where they are given."""
        checked_label(reading)
        session, carry = self._next()
        context = carry.over(UNKNOWN if reading is None else reading)
        if rng is not None:
            session.draw_from(rng)
        drawn = self._drawn(session, carry, session.release(fitted(context, session.mechanism.model.contexts)))
        session.draw_from(self._rng)  # the slot's own bits have served
        return drawn

    def skipped(self) -> Drawn:
        """The next slot as it is when it is skipped."""
        return self._without_reading(Session.skip)

    def heard(self, output: Output) -> Drawn:
        """The next slot as it was told before, by who heard it; an output that was never possible there is refused."""
        return self._without_reading(lambda session: session.follow(output))

    def _without_reading(self, decide: Callable[[Session], object]) -> Drawn:
        session, carry = self._next()
        carry.over(UNKNOWN)
        decide(session)
        assert session.output is not None  # something was just decided
        return self._drawn(session, carry, session.output)

    def _next(self) -> tuple[Session, Carry]:
        """Copies to decide the next slot with: what is drawn counts when they are taken over."""
        if not self.slot:
            self._check(self.date)
        return self.session.branched(), copy(self._now.carry)

    def _drawn(self, session: Session, carry: Carry, output: Output) -> Drawn:
        start = None if self.clock is None else self.clock.start_of(self.date, self.slot)
        released = Release(self.person, self.date, self.slot, start, output)
        return Drawn(released, session, carry, session.slot % self.slots == 0)

    def take(self, drawn: Drawn) -> Release:
        """What was drawn is the past now, and the next slot comes."""
        now, (released, session, carry, cut) = self._now, drawn
        date = now.date + ONE_DAY if cut else now.date
        if cut and not self.endless:
            self._now = _Now(date, None, carry, now.off_model + session.off_model, released)
        else:
            self._now = _Now(date, session, carry, now.off_model, released)
        return released

    def due(self, schedule: Schedule, now: int) -> Iterator[tuple[int, bool]]:
        """While a slot is due by now: when it ends, and whether it is skipped. Decide it before you ask on."""
        assert self.clock is not None  # who has a time has a clock
        while schedule.due(ends := instants(self.clock, self.date, self.slot)[1]) <= now:
            yield ends, schedule.skips(ends, now)

    def change(self, session: Session) -> None:
        """Decide the next slot with this session, which is the present one with habits or a policy that changed."""
        self._now = self._now._replace(today=session)

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

    def _begun(self) -> Session:
        if self._endless is not None:
            return Session(self._endless, rng=self._rng)
        mechanism, adversary = self._made[part_on(self.model, self.date)]
        return Session(mechanism, rng=self._rng, adversary=adversary)


def heard_in(state: str, clock: Clock) -> Heard:
    """What the state of a stream holds for `StandingRule`.

    Earlier versions, and streams without times, kept the last reading and how many slots ago it was: then it is taken
    as of the end of its slot, so that it stands in no fewer slots than it would have.
    """
    kept = _read_state(state)
    try:
        if "heard" in kept:
            return Heard(tuple(Label(int(instant), str(label)) for instant, label in kept["heard"]))
        last, age = str(kept["last"]), int(kept["age"])
        checkpoint = Checkpoint.from_json(kept["checkpoint"])
        number = checkpoint.slot - 1 - age
        if last == UNKNOWN or number < 0:
            return Heard()
        date = dt.date.fromisoformat(kept["start"]) + number // clock.slots * ONE_DAY
        return Heard((Label(instants(clock, date, number % clock.slots)[1] - 1, last),))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, DiscreetError):
            raise
        raise DiscreetError(f"the state is damaged: {error!r}; give what Stream.state gave") from None


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
