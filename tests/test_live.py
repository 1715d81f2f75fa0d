"""One person, day after day: a file and a pipe release alike, and no slot of no date is missing."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.contexts import carry_forward, fitted
from discreet.contracts import DayModel
from discreet.live import Stream, span
from discreet.mechanisms import Adaptive, MaskSensitive, NoMask
from discreet.mechanisms.named import Spec
from discreet.models.routine.parts import days_by_part, part_on, parts_of
from discreet.outputs import SUPPRESSED, Output, Release, Released
from discreet.randomness import SeededEntropy

FRIDAY = dt.date(2026, 3, 6)
CLOCK = d.Clock(4, "Europe/Paris", cut="04:00")
LABELS = ("home", "work", "clinic", "unknown")
POLICY = d.Policy(["clinic"], delta=0.1)


def chain(*contexts: str, clock: d.Clock | None = CLOCK, seed: int = 0) -> d.MarkovChain:
    rng, n = np.random.default_rng(seed), len(contexts)
    return d.MarkovChain(contexts, rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n), (3, n)), clock=clock)


def day(contexts: str, later: int = 0, person: str | None = None) -> d.Day:
    """A day so many days after Friday, a letter a slot."""
    names = {label[0]: label for label in (*LABELS, "other")}
    return d.Day(tuple(names[letter] for letter in contexts), FRIDAY + dt.timedelta(days=later), person)


def no_mask(model: DayModel) -> NoMask:
    return NoMask(model, POLICY)


def bare(model: DayModel) -> NoMask:
    return NoMask(model, d.Policy())


def adaptive(model: DayModel) -> Adaptive:
    return Adaptive(model, POLICY, outputs="deceive")


def shown(releases: list[Release]) -> list[str]:
    """A letter a slot: what a mechanism without secrets showed."""
    return [release.output.context[0] if isinstance(release.output, Released) else "-" for release in releases]


WEEK = d.Models({"weekday": chain(*LABELS, seed=1), "weekend": chain(*LABELS, seed=2)})
DAYS = [day("hwuh"), day("uucu", 3), day("uwwh", 4)]  # Friday, Monday and Tuesday


def by_hand(days: list[d.Day], seed: int, carry: int) -> list[Output]:
    """A session a date, of days that were filled before: the slow twin."""
    rng, outputs = SeededEntropy(seed), []
    known = {one.date: one for one in days}
    first, count = span(days)
    dates = [first + dt.timedelta(days=k) for k in range(count)]
    every = carry_forward([known.get(date, d.Day(("unknown",) * 4, date)) for date in dates], carry)
    for one in every:
        assert one.date is not None
        with d.Session(adaptive(WEEK.for_date(one.date)), rng=rng) as session:
            outputs += [session.release(context) for context in one.contexts]
    return outputs


@pytest.mark.parametrize("carry", [0, 1, 3, 30])
@pytest.mark.parametrize("seed", range(4))
def test_a_file_and_a_pipe_and_sessions_by_hand_release_the_same(seed: int, carry: int) -> None:
    with Stream(WEEK, adaptive, start=FRIDAY, carry=carry, rng=SeededEntropy(seed)) as stream:
        batch = list(stream.releases(DAYS))
    with Stream(WEEK, adaptive, start=FRIDAY, carry=carry, rng=SeededEntropy(seed)) as pipe:
        readings = ["home", "work", None, "home", *[None] * 8, None, None, "clinic", None, None, "work", "work", "home"]
        live = [pipe.release(reading) for reading in readings]
    assert batch == live
    assert [release.output for release in batch] == by_hand(DAYS, seed, carry)


def test_every_slot_of_every_date_has_exactly_one_row() -> None:
    stream = Stream(WEEK, no_mask, start=FRIDAY, person="ann")
    rows = list(stream.releases(DAYS))
    dates = [FRIDAY + dt.timedelta(days=k) for k in range(5)]
    assert [(row.date, row.slot) for row in rows] == [(date, slot) for date in dates for slot in range(4)]
    assert {row.person for row in rows} == {"ann"}
    assert [row.start for row in rows] == [CLOCK.start_of(row.date, row.slot) for row in rows]
    assert (
        "".join(shown(rows)) == "hwuh" + "uuuu" * 2 + "uucu" + "uwwh"
    )  # Saturday and Sunday say nothing, in eight rows
    assert (stream.date, stream.slot) == (dates[-1] + dt.timedelta(days=1), 0)


def test_readings_are_carried_over_midnight_and_dates_without_any() -> None:
    with Stream(WEEK, no_mask, start=FRIDAY, carry=6) as stream:
        assert "".join(shown(list(stream.releases([day("uuuh"), day("uuuw", 2)])))) == "uuuh" + "hhhh" + "hhuw"


def test_a_stream_can_be_fed_by_days_and_by_slots() -> None:
    stream = Stream(WEEK, no_mask, start=FRIDAY)
    assert shown(list(stream.releases([day("hhww")]))) == list("hhww")
    assert stream.release("clinic").date == FRIDAY + dt.timedelta(days=1)
    assert stream.slot == 1
    with pytest.raises(d.DiscreetError, match="finish it slot by slot"):
        stream.releases([day("hhww", 2)])


def test_the_part_of_the_week_decides() -> None:
    asked: list[DayModel] = []

    def make(model: DayModel) -> NoMask:
        asked.append(model)
        return NoMask(model, POLICY)

    stream = Stream(WEEK, make, start=FRIDAY)
    assert asked == [WEEK["weekday"], WEEK["weekend"]]  # once each, before the first slot
    served = []
    for _ in range(4):
        stream.release("home")
        assert stream._now.today is not None
        served.append(stream._now.today.mechanism.model)
        for _ in range(3):
            stream.release(None)
    assert served == [WEEK["weekday"], WEEK["weekend"], WEEK["weekend"], WEEK["weekday"]]


def test_a_date_without_a_model_is_told_before_anything_is_released() -> None:
    weekdays = d.Models({"weekday": WEEK["weekday"]})
    with pytest.raises(d.DiscreetError, match="2026-03-07 is a weekend, and no weekend was learned"):
        Stream(weekdays, no_mask, start=FRIDAY).releases([day("hhhh"), day("hhhh", 3)])  # no reading at the weekend
    with pytest.raises(d.DiscreetError, match="no weekend was learned"):
        Stream(weekdays, no_mask, start=FRIDAY + dt.timedelta(days=1))
    stream = Stream(weekdays, no_mask, start=FRIDAY)
    assert len(list(stream.releases([day("hhhh")]))) == 4
    with pytest.raises(d.DiscreetError, match="no weekend was learned"):
        stream.release("home")


def test_labels_never_learned_are_other_and_no_reading_is_not() -> None:
    with Stream(chain("home", "other"), bare, start=FRIDAY) as stream:
        assert [stream.release(reading).output for reading in ("planetarium", None, "home")] == [
            Released("other"),
            SUPPRESSED,
            Released("home"),
        ]
        assert stream.off_model == 1
    with Stream(chain("home", "work"), bare, start=FRIDAY) as stream:
        assert stream.release("planetarium").output == SUPPRESSED
    assert stream.off_model == 1
    assert fitted("unknown", ("home", "other")) == "unknown"
    assert day("hwc").fitted(("home", "other")).contexts == ("home", "other", "other")


def test_off_model_readings_are_counted_over_days_and_the_truth_is_forgotten() -> None:
    make = partial(Spec("no-mask").make, policy=d.Policy(["work"]))
    stream = Stream(chain("home", "work", clock=None), make, start=FRIDAY)
    for reading in ("bar", "home", "bar", "home", "bar", "home"):
        released = stream.release(reading)
    assert stream.off_model == 3
    assert released.start is None  # no clock, no times
    today = stream._now.today
    assert today is not None
    before = today.private
    with stream:
        pass
    assert (before, today.private) == (0, None)
    assert stream.off_model == 3


class Failing(SeededEntropy):
    """Chance that fails when told to."""

    fails = False

    def bits(self, count: int) -> int:
        if self.fails:
            raise OSError("no entropy")
        return super().bits(count)

    def below(self, bound: int) -> int:
        if self.fails:
            raise OSError("no entropy")
        return super().below(bound)


def test_a_draw_that_fails_leaves_the_slot_to_be_tried_again() -> None:
    half = partial(Spec("probabilistic", {"p": np.full((4, 4), 0.5), "verify": False}).make, policy=POLICY)
    rng = Failing(1)
    stream = Stream(chain(*LABELS), half, start=FRIDAY, carry=1, rng=rng)
    stream.release("home")
    rng.fails = True
    for _ in range(3):
        with pytest.raises(OSError, match="entropy"):
            stream.release(None)
    rng.fails = False
    twin = Stream(chain(*LABELS), half, start=FRIDAY, carry=1, rng=SeededEntropy(1))
    twin.release("home")
    assert [stream.release(None) for _ in range(3)] == [twin.release(None) for _ in range(3)]  # home is carried once


@contextmanager
def interrupted(line: int, passed: list[str]) -> Iterator[None]:
    """Ctrl-C before the line of discreet's that is executed as number `line`; `passed` grows by the line's function."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_globals.get("__name__", "").startswith("discreet."):
            return None
        if event == "line":
            passed.append(frame.f_code.co_qualname)
            if len(passed) == line + 1:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


READ = ("home", None, None, "planetarium", None, "clinic")  # over midnight, carried, off the model


def whatever_happens(stream: Stream, line: int) -> tuple[list[Release | None], list[str]]:
    """Every reading released, the one that is interrupted again where it was not released before."""
    rows: list[Release | None] = []
    passed: list[str] = []
    for reading in READ:
        before = stream.output
        try:
            with interrupted(line, passed):
                rows.append(stream.release(reading))
        except KeyboardInterrupt:
            if stream.output is before:
                assert (stream.date, stream.slot) == divided(len(rows))
                rows.append(stream.release(reading))
            else:
                rows.append(stream.output)
        assert stream.output == rows[-1]
        assert (stream.date, stream.slot) == divided(len(rows))
    return rows, passed


def divided(slots: int) -> tuple[dt.date, int]:
    """The date and slot after so many slots from Friday on."""
    return FRIDAY + dt.timedelta(days=slots // 4), slots % 4


@pytest.mark.slow("interrupts a release at every line")
def test_wherever_a_release_is_interrupted_its_slot_is_released_or_as_it_was() -> None:
    """Before every line of code of six slots: each has one release, and the carry and what is off the model go on."""
    stream = Stream(WEEK, bare, start=FRIDAY, carry=1)
    assert stream.output is None
    wanted = [stream.release(reading) for reading in READ]
    assert shown(wanted) == list("hhu--c")
    _, passed = whatever_happens(Stream(WEEK, bare, start=FRIDAY, carry=1), sys.maxsize)
    assert {"Stream.release", "Session.release", "Clock.start_of", "Carry.over", "SessionSteps.told"} <= set(passed)
    for line in range(len(passed)):
        again = Stream(WEEK, bare, start=FRIDAY, carry=1)
        assert whatever_happens(again, line)[0] == wanted, f"line {line}, in {passed[line]}"
        assert again.off_model == stream.off_model == 2


@pytest.mark.parametrize("slot", range(5))
@pytest.mark.parametrize(
    "step",
    [
        "discreet.clock.Clock.start_of",
        "discreet.contexts.Carry.over",
        "discreet.live.stream.fitted",
        "discreet.session.Session.release",
        "discreet.session.steps.SessionSteps.told",
        "discreet.live.stream.Release",
    ],
)
def test_a_step_that_fails_leaves_the_slot_to_be_tried_again(
    monkeypatch: pytest.MonkeyPatch, step: str, slot: int
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise MemoryError

    stream = Stream(WEEK, bare, start=FRIDAY, carry=1)
    rows = [stream.release(reading) for reading in READ[:slot]]
    before = (stream.date, stream.slot, stream.off_model, stream.output)
    with monkeypatch.context() as patch:
        patch.setattr(step, fail)
        with pytest.raises(MemoryError):
            stream.release(READ[slot])
    assert (stream.date, stream.slot, stream.off_model, stream.output) == before
    rows += [stream.release(reading) for reading in READ[slot:]]
    assert shown(rows) == list("hhu--c")


def test_a_stream_that_was_left_skips_its_next_slot_publicly_and_keeps_its_last_output() -> None:
    """No slot is released twice: a day begun anew would tell more than one session allows."""
    with Stream(WEEK, bare, start=FRIDAY, carry=3) as stream:
        first = stream.release("home")
    assert stream.output == first
    rows = [stream.release(reading) for reading in ("work", "home", None, None, "work")]
    assert [row.slot for row in rows] == [1, 2, 3, 0, 1]
    assert isinstance(rows[0].output, d.Skipped)
    assert shown(rows) == list("-huuw")


@pytest.mark.parametrize("start", ["2026-03-06", "20260306"])
def test_a_start_may_be_text(start: str) -> None:
    assert Stream(WEEK, no_mask, start=start).release("home").date == FRIDAY


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("6 March", "start is '6 March'; give a date"),
        (None, "start is None; give a date"),
        (20260306, "start is 20260306; give a date"),
        (dt.datetime(2026, 3, 6, 1, tzinfo=dt.UTC), "start is 2026-03-06T01:00:00.*Clock.locate"),
    ],
)
def test_starts_that_are_no_dates(start: Any, message: str) -> None:
    with pytest.raises(d.DiscreetError, match=message):
        Stream(WEEK, no_mask, start=start)


@pytest.mark.parametrize("carry", ["4h", 1.5, 1.0, True, -1, None, dt.timedelta(hours=4)])
def test_carries_that_are_no_number_of_slots(carry: Any) -> None:
    with pytest.raises(d.DiscreetError, match=r"carry is .*; give a whole number of slots"):
        Stream(WEEK, no_mask, start=FRIDAY, carry=carry)
    assert Stream(WEEK, no_mask, start=FRIDAY, carry=np.int64(2)).release("home").slot == 0  # type: ignore[arg-type]


def test_a_reading_that_is_no_label_is_refused_and_the_slot_stays() -> None:
    stream = Stream(WEEK, no_mask, start=FRIDAY)
    for reading in (["home"], 5, b"home"):
        with pytest.raises(d.DiscreetError, match="give one label, or None"):
            stream.release(reading)  # type: ignore[arg-type]
    assert (stream.slot, stream.output) == (0, None)


@pytest.mark.parametrize(
    ("days", "message"),
    [
        ([day("hhhh", 1), day("hhhh")], "sort days"),
        ([day("hhhh"), day("hhhh")], "each date once"),
        ([day("hhhh", -1)], "sort days"),
        ([d.Day(("home",) * 4)], "no date"),
        ([day("hhh")], "3 slots, the model 4"),
        ([day("hhhh", 0, "bob")], "one person's"),
        ([day("hhhh", 365 * 80)], "2099-12-31"),
    ],
)
def test_days_that_cannot_be_released_in_their_order(days: list[d.Day], message: str) -> None:
    stream = Stream(WEEK, no_mask, start=FRIDAY, person="ann")
    with pytest.raises(d.DiscreetError, match=message):
        stream.releases(days)
    assert (stream.date, stream.slot) == (FRIDAY, 0)


@pytest.mark.parametrize("date", [dt.date.max, dt.date.min, dt.date(2100, 1, 1)])
def test_dates_beyond_time_zones(date: dt.date) -> None:
    with pytest.raises(d.DiscreetError, match="give one from 1970-01-01 to 2099-12-31"):
        Stream(WEEK, no_mask, start=date)


def test_the_last_date_of_all_can_be_released() -> None:
    stream = Stream(WEEK, no_mask, start=dt.date(2099, 12, 31))
    assert [stream.release("home").slot for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(d.DiscreetError, match="2100-01-01"):
        stream.release("home")


def test_spans() -> None:
    assert span(DAYS) == (FRIDAY, 5)
    for days in ([], [d.Day(("home",))]):
        with pytest.raises(d.DiscreetError, match="dates"):
            span(days)


def test_parts_of_the_week() -> None:
    one = chain("home", "work")
    assert parts_of(one) == {None: one}
    assert part_on(one, None) is None
    assert parts_of(WEEK) == {"weekday": WEEK["weekday"], "weekend": WEEK["weekend"]}
    assert days_by_part(WEEK, [*DAYS, day("hhhh", 1)]) == {"weekday": DAYS, "weekend": [day("hhhh", 1)]}
    with pytest.raises(d.DiscreetError, match="no date"):
        part_on(WEEK, None)
    assert WEEK.clock == CLOCK


def test_a_mechanism_with_secrets_keeps_them_over_days() -> None:
    """Silence for the clinic, on every day."""
    stream = Stream(WEEK, lambda model: MaskSensitive(model, POLICY), start=FRIDAY)
    assert "".join(shown(list(stream.releases(DAYS)))) == "hwuh" + "uuuu" * 2 + "uu-u" + "uwwh"
