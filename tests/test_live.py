"""One person, day after day: a file and a pipe release alike, and no slot of no date is missing."""

from __future__ import annotations

import datetime as dt
from functools import partial

import numpy as np
import pytest

import discreet as d
from discreet.contexts import carry_forward, fitted
from discreet.contracts import Model
from discreet.live import Stream, span
from discreet.mechanisms import Adaptive, MaskSensitive, NoMask
from discreet.mechanisms.named import Spec
from discreet.models.week import days_by_part, part_on, parts_of
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


def no_mask(model: Model) -> NoMask:
    return NoMask(model, POLICY)


def bare(model: Model) -> NoMask:
    return NoMask(model, d.Policy())


def adaptive(model: Model) -> Adaptive:
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
    asked: list[Model] = []

    def make(model: Model) -> NoMask:
        asked.append(model)
        return NoMask(model, POLICY)

    stream = Stream(WEEK, make, start=FRIDAY)
    assert asked == [WEEK["weekday"], WEEK["weekend"]]  # once each, before the first slot
    served = []
    for _ in range(4):
        stream.release("home")
        assert stream._today is not None
        served.append(stream._today.mechanism.model)
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
    today = stream._today
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
