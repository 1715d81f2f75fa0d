"""People followed without an engine: what is told is what a live stream tells, once, however readings come."""

from __future__ import annotations

import datetime as dt
import json
import random
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from discreet import Clock, DiscreetError
from discreet.live.slots import instants, slot_at
from discreet.mechanisms.named import Spec
from discreet.models.store import files_for, save
from discreet.outputs import Release, Released, Skipped
from discreet.publish.stream.day_keys import DAY, DayKeys, SlotDraws, day_of
from discreet.publish.stream.people import Following, Held, LabelledInstant, People, begun, read, written_by
from tests.publish.followed import CLOCK, MONDAY, Engine, by_hand, end_of, folder_of, readings_of

HOUR = 3_600_000
PARIS = Clock(48, "Europe/Paris")


def hours(days: int) -> range:
    return range(end_of(MONDAY, 0) - 2 * HOUR, end_of(MONDAY + dt.timedelta(days=days - 1), CLOCK.slots - 1) + 1, HOUR)


def keys_of(releases: list[Release]) -> list[tuple[str | None, dt.date, int]]:
    return [(one.person, one.date, one.slot) for one in releases]


@pytest.mark.parametrize("carry", [0, 2 * 7200])
def test_a_week_equals_a_week_of_a_live_stream(tmp_path: Path, carry: int) -> None:
    """The week has 167 hours: slots of the hour that is left out have no reading, and an output."""
    following = folder_of(tmp_path, ["ann", "bob"], carry=carry, margin=0)
    known = {name: readings_of(seed, 7) for seed, name in enumerate(("ann", "bob"))}
    engine = Engine(following, known)
    releases: list[Release] = []
    for now in hours(7):
        arrived = [(name, one) for name, held in known.items() for one in held if now - HOUR <= one.instant < now]
        releases += engine.batch(arrived, now)
    for name, held in known.items():
        assert [one for one in releases if one.person == name] == by_hand(following, name, held, 7)
    assert len(set(keys_of(releases))) == len(releases) == 2 * 7 * CLOCK.slots
    assert {one.kind for one in releases} >= {"released", "suppressed"}


@pytest.mark.parametrize("seed", range(3))
def test_the_order_and_the_batches_of_readings_do_not_matter(tmp_path: Path, seed: int) -> None:
    """Readings come up to an hour after they were taken, in any order, in batches of any length: none is late."""
    rng = random.Random(seed)
    following = folder_of(tmp_path, ["ann"], margin=3600)
    known = readings_of(seed, 3)
    coming = sorted((one.instant + rng.randrange(HOUR), one) for one in known)
    engine = Engine(following, ["ann"])
    releases: list[Release] = []
    now, end = hours(3)[0], hours(3)[-1] + HOUR
    while now < end:
        now = min(now + rng.randrange(1, 9 * HOUR), end)
        arrived = [("ann", one) for at, one in coming if at <= now]
        coming = [(at, one) for at, one in coming if at > now]
        releases += engine.batch(rng.sample(arrived, len(arrived)), now)
    assert releases == by_hand(following, "ann", known, 3)


def test_a_batch_that_is_run_again_tells_the_same(tmp_path: Path) -> None:
    following = folder_of(tmp_path, ["ann"])
    known = [("ann", one) for one in readings_of(1, 2)]
    engine = Engine(following, ["ann"])
    list(engine.batch(known[:9], hours(2)[9]))
    before, now = dict(engine.states), hours(2)[-1]
    first = list(engine.batch(known[9:], now))
    after = dict(engine.states)
    engine = Engine(following, ["ann"])  # in another process, from what was kept
    engine.states = before
    assert list(engine.batch(known[9:], now)) == first
    assert engine.states == after
    assert len(first) > 12


def test_a_slot_is_told_when_its_margin_is_over_and_not_before(tmp_path: Path) -> None:
    following = folder_of(tmp_path, ["ann", "bob"], margin=5)
    engine = Engine(following, ["ann", "bob"])
    reading = LabelledInstant(end_of(MONDAY, 0) - 1, "home")
    due = end_of(MONDAY, 0) + 5000
    assert list(engine.batch([("ann", reading)], due - 1)) == []
    assert keys_of(list(engine.batch([], due))) == [("ann", MONDAY, 0), ("bob", MONDAY, 0)]
    assert list(engine.batch([], due)) == []


def test_a_late_reading_stands_in_later_slots_only(tmp_path: Path) -> None:
    following = folder_of(tmp_path, ["ann"], carry=9 * 7200)
    engine, same = Engine(following, ["ann"]), Engine(following, ["ann"])
    now = end_of(MONDAY, 3) + 2000
    old = [
        ("ann", LabelledInstant(instant, "clinic")) for instant in (end_of(MONDAY, 3) - 10 * 7_200_000, 0, -(10**14))
    ]
    late = [
        ("ann", LabelledInstant(instant, context))
        for instant, context in ((0, "shop"), (end_of(MONDAY, 3) - 1, "home"))
    ]
    for one in (engine, same):
        list(one.batch([("ann", LabelledInstant(end_of(MONDAY, 2), "work"))], now))
    before = Held.from_bytes(engine.states["ann"].held)
    assert [one.label for one in before.heard.labels] == ["work"]
    assert list(engine.batch(old, now + HOUR)) == list(same.batch([], now + HOUR))
    assert engine.states == same.states
    list(engine.batch(late, now + HOUR))
    assert [one.label for one in Held.from_bytes(engine.states["ann"].held).heard.labels] == ["home"]


def test_a_state_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    """It had the last reading of each open slot, and in the stream's state the one before and its age in slots."""
    following = folder_of(tmp_path, ["ann"], margin=0, carry=2 * 3600)
    readings = [
        LabelledInstant(end_of(MONDAY, slot) - 1, label) for slot, label in ((0, "home"), (1, "work"), (5, "shop"))
    ]
    whole, older = Engine(following, ["ann"]), Engine(following, ["ann"])
    expected = list(whole.batch([("ann", one) for one in readings], end_of(MONDAY, 2)))
    list(older.batch([("ann", one) for one in readings], end_of(MONDAY, 2)))
    state = older.states["ann"]
    stream = json.loads(state.stream)
    assert stream["first"] == 0
    stream |= {"last": "work", "age": 1}  # as it was kept, in whole slots
    del stream["first"]
    held = json.dumps([MONDAY.isoformat(), 3, end_of(MONDAY, 3), [[5, list(readings[2])]]]).encode()
    older.states["ann"] = state._replace(held=held, stream=json.dumps(stream).encode())
    assert list(older.batch([], end_of(MONDAY, 7))) == list(whole.batch([], end_of(MONDAY, 7)))
    assert older.states == whole.states
    assert expected[-1].slot == 2


def test_a_reading_ahead_waits_for_its_slot(tmp_path: Path) -> None:
    following = folder_of(tmp_path, ["ann"], margin=0)
    known = readings_of(2, 1)
    engine = Engine(following, ["ann"])
    releases = list(engine.batch([("ann", one) for one in known], end_of(MONDAY, 2)))
    held = Held.from_bytes(engine.states["ann"].held)
    assert held.slot == 3
    assert [one.instant < end_of(MONDAY, 2) * 1000 for one in held.heard.labels].count(True) <= 1
    releases += engine.batch([], end_of(MONDAY, 23))
    assert releases == by_hand(following, "ann", known, 1)


def test_what_ended_longer_ago_than_the_grace_is_skipped(tmp_path: Path) -> None:
    """Down for three slots: nothing was decided in those, and memory starts anew; the next one is decided."""
    following = folder_of(tmp_path, ["ann"], margin=0, grace=60)
    engine = Engine(following, ["ann"])
    first = list(engine.batch([("ann", LabelledInstant(end_of(MONDAY, 0) - 1, "home"))], end_of(MONDAY, 0) + 60_000))
    down = list(engine.batch([], end_of(MONDAY, 3) + 59_999))
    assert [type(one.output) is Skipped for one in first + down] == [False, True, True, False]
    assert [one.slot for one in first + down] == [0, 1, 2, 3]


def test_whoever_begins_in_the_middle_of_a_day_shows_nothing_of_before(tmp_path: Path) -> None:
    following = folder_of(tmp_path, ["ann", "bob"], archetypes=1, margin=0)
    now = end_of(MONDAY, 4) + 1
    engine = Engine(following, ["ann", "bob"], now=now, since=None)
    releases = list(engine.batch([], end_of(MONDAY, 6)))
    assert keys_of(releases) == [(name, MONDAY, slot) for name in ("ann", "bob") for slot in (5, 6)]
    person = engine.people.get("bob")
    assert person is not None
    by_itself = engine.people.stream(person, Held(MONDAY, 5, 0), b"", None)
    assert (by_itself.date, by_itself.slot) == (MONDAY, 5)
    assert len(engine.people._made) == 1


@pytest.mark.parametrize("date", [dt.date(2026, 3, 29), dt.date(2026, 10, 25), dt.date(2026, 6, 1)])
def test_an_instant_lies_between_the_ends_of_its_slot(date: dt.date) -> None:
    """Every ten minutes of a day on which clocks change, and of one on which they do not."""
    begins, step = instants(PARIS, date, 0)[0], 600_000_000
    places = [slot_at(PARIS, begins + k * step) for k in range(23 * 6)]
    for k, place in enumerate(places):
        start, end = instants(PARIS, *place)
        assert start <= begins + k * step < end
    assert places == sorted(places)


def test_of_readings_at_one_instant_the_order_does_not_matter(tmp_path: Path) -> None:
    people = People(folder_of(tmp_path, ["ann"]))
    person = people.get("ann")
    assert person is not None
    instant = end_of(MONDAY, 0) - 1
    held = Held(MONDAY, 0, instant + 1)
    both = [LabelledInstant(instant, "home"), LabelledInstant(instant, "work")]
    assert read(people, person, held, both) == read(people, person, held, both[::-1])
    assert Held.from_bytes(read(people, person, held, both).to_bytes()) == read(people, person, held, both)


def test_people_who_share_habits_share_tables(tmp_path: Path) -> None:
    following = folder_of(tmp_path, [f"p{k}" for k in range(6)], archetypes=2)
    engine = Engine(following, [f"p{k}" for k in range(6)])
    list(engine.batch([], end_of(MONDAY, 3)))
    assert len(engine.people._made) == 2
    assert len({id(person.routine) for k in range(6) if (person := engine.people.get(f"p{k}"))}) == 2
    assert People(following).get("nobody") is None


def test_other_habits_under_a_stream_are_refused(tmp_path: Path) -> None:
    following = folder_of(tmp_path, ["ann", "bob"], margin=0)
    engine = Engine(following, ["ann"])
    list(engine.batch([], end_of(MONDAY, 0)))
    paths = files_for(following.models, ["ann", "bob", ""])
    paths["bob"].replace(paths["ann"])
    engine.people = People(following)
    with pytest.raises(DiscreetError, match="another model"):
        list(engine.batch([], end_of(MONDAY, 1)))


def test_only_streams_without_end_are_followed(tmp_path: Path) -> None:
    following = folder_of(tmp_path, ["ann"])
    daily = People(replace(following, mechanism=Spec("no-mask")))
    person = daily.get("ann")
    assert person is not None
    with pytest.raises(DiscreetError, match="without end"):
        begun(daily, person, 0, MONDAY)
    save(files_for(following.models, ["ann", ""])["ann"], person.routine.day("weekday"))
    with pytest.raises(DiscreetError, match=r"ann\.model.*without end"):
        People(following).get("ann")


def test_a_damaged_state_and_settings_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DiscreetError, match="damaged"):
        Held.from_bytes(b'["2026-03-23", 1]')
    with pytest.raises(DiscreetError, match="margin is -1"):
        Following(tmp_path, tmp_path, tmp_path, Spec("adaptive"), margin=-1)


# --- keys


def test_a_draw_is_a_function_of_whom_and_when_and_what_decides(tmp_path: Path) -> None:
    keys = DayKeys.kept_in(tmp_path / "keys")
    end = end_of(MONDAY, 5)

    def bits(person: str = "ann", decision: str = "d", date: dt.date = MONDAY, slot: int = 5, at: int = end) -> int:
        draws = SlotDraws(DayKeys(tmp_path / "keys"), person, decision)
        draws.at(date, slot, at)
        return draws.bits(128)

    assert bits() == bits()
    others = [bits("bob"), bits(decision="e"), bits(date=MONDAY + dt.timedelta(1)), bits(slot=6), bits(at=end + DAY)]
    assert len({bits(), *others}) == 6
    draws = SlotDraws(keys, "ann", "d")
    with pytest.raises(DiscreetError, match="for which slot"):
        draws.bits(1)
    draws.at(MONDAY, 5, end)
    draws.bits(3)
    draws.at(MONDAY, 5, end)
    assert draws.bits(128) == bits()


def test_a_key_is_for_its_owner_alone_and_made_once(tmp_path: Path) -> None:
    keys = DayKeys.kept_in(tmp_path / "keys")
    made = keys.of(MONDAY)
    path = tmp_path / "keys" / "2026-03-23"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert DayKeys(tmp_path / "keys").of(MONDAY) == made
    assert made.key.hex() not in repr(keys) + repr(made)
    path.chmod(0o640)
    with pytest.raises(DiscreetError, match="others may have read"):
        DayKeys(tmp_path / "keys").of(MONDAY)


def test_of_two_who_make_a_key_both_read_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, other = DayKeys.kept_in(tmp_path / "keys"), DayKeys(tmp_path / "keys")
    make = keys._make

    def beaten(path: Path) -> None:
        other.of(MONDAY)
        make(path)

    monkeypatch.setattr(keys, "_make", beaten)
    assert keys.of(MONDAY) == other.of(MONDAY)
    assert len(list(keys.folder.iterdir())) == 1


def test_an_erased_day_is_never_drawn_again(tmp_path: Path) -> None:
    keys = DayKeys.kept_in(tmp_path / "keys")
    for k in range(3):
        keys.of(MONDAY + dt.timedelta(days=k))
    assert keys.erase(MONDAY + dt.timedelta(days=2)) == 2
    assert sorted(one.name for one in keys.folder.iterdir()) == ["2026-03-25", "erased"]
    keys.of(MONDAY + dt.timedelta(days=2))
    for one in (keys, DayKeys(tmp_path / "keys")):
        with pytest.raises(DiscreetError, match="is erased"):
            one.of(MONDAY)
    assert keys.erase(MONDAY) == 0
    assert keys.erased_before() == MONDAY + dt.timedelta(days=2)


def test_a_key_that_is_erased_while_it_is_looked_for_is_not_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, driver = DayKeys.kept_in(tmp_path / "keys"), DayKeys(tmp_path / "keys")
    driver.of(MONDAY)

    def erased_meanwhile(path: Path) -> bool:
        driver.erase(MONDAY + dt.timedelta(days=1))
        return False

    monkeypatch.setattr(Path, "exists", erased_meanwhile)
    with pytest.raises(DiscreetError, match="is erased"):
        keys.of(MONDAY)
    assert [one.name for one in keys.folder.iterdir()] == ["erased"]


@pytest.mark.parametrize("after", [0, 1, DAY // 2, DAY - 1])
def test_a_key_is_needed_until_the_last_slot_of_its_day_is_told(after: int) -> None:
    """By every slot end around a midnight: those that are not told by then have a key that is left."""
    midnight = DAY * 20_000
    now, margin = midnight + after + 2000, 2.0
    first = written_by(now, margin)
    for end in {edge + step for edge in (midnight, midnight + after, midnight + DAY) for step in range(-3, 4)}:
        is_told = end + 2000 < now  # Spark wakes nobody up at the very instant
        assert is_told or day_of(end) >= first
    assert first == day_of(midnight + after)
    assert written_by(midnight + 2000, margin) == day_of(midnight)
    assert written_by(midnight + 2001, margin) == day_of(midnight + 1)


def test_states_tell_no_key_and_outputs_no_state(tmp_path: Path) -> None:
    following = folder_of(tmp_path, ["ann"])
    engine = Engine(following, ["ann"])
    releases = list(engine.batch([("ann", LabelledInstant(end_of(MONDAY, 0) - 1, "home"))], end_of(MONDAY, 0) + 2000))
    key = DayKeys(following.keys).of(day_of(end_of(MONDAY, 0))).key.hex()
    assert key not in engine.states["ann"].stream.decode()
    assert set(json.loads(releases[0].to_json())) <= {"person", "date", "slot", "start", "kind", "value", "context"}
    assert isinstance(releases[0].output, Released) or releases[0].kind == "suppressed"
