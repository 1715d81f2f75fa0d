"""Stopped at any write and on any day, a stream goes on as if it had not been; what was lost is noticed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from discreet import Clock, DiscreetError, Policy
from discreet.adversary.checkpoint import Checkpoint
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.slots.recovery import OlderJournalError
from discreet.gateway.store.journal import JournalError, JournalRow
from discreet.gateway.store.own_store import Reading
from discreet.mechanisms.named import Spec
from discreet.outputs import Skipped
from discreet.policy import Secret
from tests.gateway.people import CLOCK, START, WHERE, closed, habits, keeper, person_config
from tests.gateway.test_keeper import KilledError, boundaries, counted_bits, fed, killed_at, week

ROUTINE = habits()
NOW = START.timestamp()
WORSE = habits(seed=3)


def kind(policy: Policy, **options: object) -> PersonConfig:
    """A person under a policy and a mechanism's options."""
    routine = options.pop("routine", ROUTINE)
    spec = Spec("adaptive", options)
    return replace(person_config(routine=ROUTINE), routine=routine, spec=spec, policy=policy)  # type: ignore[arg-type]


EACH, ANY = Policy(["clinic"], delta=0.1), Policy([Secret("clinic", at="any", slots=range(4, 9))], delta=0.2)
KINDS: dict[str, Callable[[], PersonConfig]] = {
    "suppress": lambda: kind(EACH),
    "suppress, no memory": lambda: kind(EACH, memory="none"),
    "deceive, no memory": lambda: kind(EACH, outputs="deceive", memory="none"),
    "any": lambda: kind(ANY),
    "two observers": lambda: kind(EACH, routine=ROUTINE.with_observers([WORSE])),
}


def walked(folder: Path, who: PersonConfig, kill: int | None = None, days: int = 3) -> list[JournalRow]:
    """Rows of some days, in the middle of which the machine was off, killed at one write and started again."""
    folder.mkdir()
    one = keeper(folder, NOW, who, bits=_bits_of_slots())
    fed(one, week(days=days))
    if kill is not None:
        killed_at(one, kill)
    for number, boundary in enumerate(boundaries(days)):
        if 14 <= number < 16:
            continue  # off over two boundaries
        try:
            one.turn(boundary)
        except KilledError:
            closed(one)
            one = keeper(folder, boundary + 20, who, bits=_bits_of_slots(number))
            one.turn(boundary + 20)
    rows = list(one.journal.all_rows("jane"))
    closed(one)
    return rows


def _bits_of_slots(first: int = 0) -> Callable[[int], bytes]:
    """Bits that a slot has, however often they are asked for: skipped slots ask for none."""
    every = counted_bits()
    drawn = [every(32) for _ in range(200)]
    left = iter(drawn[first - 2 * (first > 15) :])
    return lambda count: next(left)[:count]


@pytest.mark.parametrize("name", KINDS)
def test_killed_around_a_cut_and_after_skips(tmp_path: Path, name: str) -> None:
    """The same outputs, kernels and chain as a machine that never stopped; at a day's last slot too, where the row and
    a checkpoint are written and the private state is not yet known to be."""
    who = KINDS[name]()
    whole = walked(tmp_path / "whole", who)
    at_cut, after_skips = 11 * 3, 14 * 3 + 1  # writes before: three a slot, one a skipped slot
    for write in (at_cut, after_skips):
        for step in range(2 * write, 2 * write + 6):
            if step % 6 == 0 and write == at_cut:
                continue  # before the stamp: covered by test_keeper
            rows = walked(tmp_path / f"{step}", who, step)
            assert [(row.key, row.output, row.kernel, row.chain) for row in rows] == [
                (row.key, row.output, row.kernel, row.chain) for row in whole
            ], (name, step)
            shutil.rmtree(tmp_path / f"{step}")


@pytest.mark.parametrize("name", KINDS)
def test_resumed_by_columns_the_belief_is_the_same_to_the_last_bit(tmp_path: Path, name: str) -> None:
    who = KINDS[name]()
    one = keeper(tmp_path, NOW, who)
    fed(one, week(days=2))
    for boundary in list(boundaries(2))[:18]:
        one.turn(boundary)
    before = one.people["jane"].session
    closed(one)
    two = keeper(tmp_path, boundary + 1, who)
    after = two.people["jane"].session
    assert after.state.belief.digest() == before.state.belief.digest()
    assert [other.digest() for other in after.state.others] == [other.digest() for other in before.state.others]
    assert after.kernel.digest == before.kernel.digest
    assert after.private == before.private
    closed(two)


@pytest.mark.parametrize("slots", [0, 1, 3])
def test_a_stream_that_began_in_the_middle_of_a_day_goes_on(tmp_path: Path, slots: int) -> None:
    who, ends = KINDS["suppress"](), list(boundaries(2))
    one = keeper(tmp_path, ends[4] + 600, who)
    fed(one, week(days=2))
    for boundary in ends[5 : 5 + slots]:
        one.turn(boundary)
    before = one.people["jane"]
    closed(one)
    two = keeper(tmp_path, ends[4 + slots] + 700, who)
    after = two.people["jane"]
    assert after.next == before.next == (START.date(), 5 + slots)
    assert after.session.state.belief.digest() == before.session.state.belief.digest()
    assert after.session.private == before.session.private
    (row,) = two.turn(ends[5 + slots])
    assert not isinstance(row.output, Skipped)
    closed(two)


def test_what_is_written_is_told_though_the_own_store_fails_after_it(tmp_path: Path) -> None:
    one = keeper(tmp_path, NOW, person_config(routine=ROUTINE))
    fed(one, week())
    real = one.own.settle

    def full(_: object) -> None:
        raise JournalError("disk full")

    one.own.settle = full  # type: ignore[method-assign, assignment]
    first, second = list(boundaries(1))[:2]
    assert len(one.turn(first)) == 1
    with pytest.raises(JournalError):
        one.turn(second)
    one.own.settle = real  # type: ignore[method-assign]
    assert len(one.turn(second)) == 1
    assert set(one.own.truth("jane", START.date())) == {0, 1}
    closed(one)


def test_rows_before_a_failure_are_told_after_it_and_a_commit_in_doubt_is_looked_at(tmp_path: Path) -> None:
    """A connection that breaks between a commit and its answer: the slot is decided, and is not decided again."""
    one = keeper(tmp_path, NOW, person_config(routine=ROUTINE))
    fed(one, week())
    real, calls = one.journal.append, iter(range(100))

    def breaks(*given: object) -> None:
        number = next(calls)
        real(*given)  # type: ignore[arg-type]
        if number == 1:
            raise JournalError("the server went away")

    one.journal.append = breaks  # type: ignore[method-assign, assignment]
    third = list(boundaries(1))[2]
    with pytest.raises(JournalError):
        one.turn(third)
    rows = one.turn(third)
    assert [row.slot for row in rows] == [0, 1, 2]
    assert list(one.journal.all_rows("jane")) == rows
    closed(one)


def _decided(folder: Path, until: int, first: int = 0) -> float:
    """Slots decided in a folder, from the first that is not; when the last of them ended."""
    ends = list(boundaries(2))
    one = keeper(folder, ends[first] - 1, person_config(routine=ROUTINE))
    fed(one, week(days=2))
    for boundary in ends[first:until]:
        one.turn(boundary)
    closed(one)
    return ends[until - 1]


def test_two_keepers_do_not_share_a_folder(tmp_path: Path) -> None:
    one = keeper(tmp_path, NOW, person_config(routine=ROUTINE))
    with pytest.raises(DiscreetError, match="another process keeps this journal"):
        keeper(tmp_path, NOW, person_config(routine=ROUTINE))
    closed(one)
    closed(keeper(tmp_path, NOW, person_config(routine=ROUTINE)))


def test_an_older_copy_of_the_journal_is_refused_and_one_of_the_own_store_is_a_skip(tmp_path: Path) -> None:
    now, older = tmp_path / "now", tmp_path / "older"
    now.mkdir()
    _decided(now, 2)
    shutil.copytree(now, older)
    ended = _decided(now, 5, first=2)
    mixed = tmp_path / "mixed"
    shutil.copytree(now, mixed)
    shutil.copy(older / "journal.db", mixed / "journal.db")
    with pytest.raises(OlderJournalError, match="restored from an older copy"):
        keeper(mixed, ended + 1, person_config(routine=ROUTINE))
    (mixed / "journal.db").unlink()
    with pytest.raises(OlderJournalError, match="it was lost"):
        keeper(mixed, ended + 1, person_config(routine=ROUTINE))
    shutil.copy(now / "journal.db", mixed / "journal.db")
    shutil.copy(older / "own.db", mixed / "own.db")
    one = keeper(mixed, ended + 1, person_config(routine=ROUTINE))
    (row,) = one.turn(list(boundaries(1))[5])
    assert isinstance(row.output, Skipped)
    closed(one)


def test_another_policy_or_habits_is_refused_where_the_own_store_lost_what_it_was(tmp_path: Path) -> None:
    """Without that it cannot be told what changes; a change that can is in test_changes."""
    ended = _decided(tmp_path, 2)
    one = keeper(tmp_path, ended + 1, person_config(routine=ROUTINE))
    one.own.drop_habits("jane", one.people["jane"].head.stream, 0)
    closed(one)
    with pytest.raises(DiscreetError, match="another policy"):
        keeper(tmp_path, ended + 1, kind(Policy(["clinic"], delta=0.2), outputs="deceive"))
    with pytest.raises(DiscreetError, match="another model"):
        keeper(tmp_path, ended + 1, person_config(routine=WORSE))


def test_another_clock_is_refused(tmp_path: Path) -> None:
    ended = _decided(tmp_path, 2)
    with pytest.raises(DiscreetError, match="another clock"):
        keeper(tmp_path, ended + 1, replace(person_config(routine=ROUTINE), clock=Clock(12, "Europe/Paris")))
    with pytest.raises(DiscreetError, match="learn the routine with this clock"):
        keeper(tmp_path, ended + 1, replace(person_config(routine=ROUTINE), clock=Clock(24)))


def test_a_person_who_was_left_out_comes_back_with_skips(tmp_path: Path) -> None:
    ended = _decided(tmp_path, 2)
    closed(keeper(tmp_path, ended + 1, person_config("joe", routine=ROUTINE)))
    one = keeper(tmp_path, ended + 3 * CLOCK.slot_seconds + 90, person_config(routine=ROUTINE))
    rows = one.turn(ended + 3 * CLOCK.slot_seconds + 90)
    assert [row.slot for row in rows] == [2, 3, 4]
    assert all(isinstance(row.output, Skipped) for row in rows)
    closed(one)


def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path) -> None:
    ended = _decided(tmp_path, 14)
    one = keeper(tmp_path, ended + 1, person_config(routine=ROUTINE))
    belief = one.people["jane"].session.state.belief.digest()
    head = one.people["jane"].head
    (last, text), _ = one.journal.checkpoints(head.stream)
    assert last == Checkpoint.from_json(text).slot == 12
    one.journal.append([], [(head.stream, last, text.replace("0x1", "0x0", 1))])
    closed(one)
    two = keeper(tmp_path, ended + 1, person_config(routine=ROUTINE))
    assert two.people["jane"].session.state.belief.digest() == belief
    closed(two)


def test_people_with_the_same_habits_share_one_mechanism(tmp_path: Path) -> None:
    people = [person_config(f"p{k}", habits(), "suppress") for k in range(3)]
    one = keeper(tmp_path, NOW, *people)
    assert len({id(person.session.mechanism) for person in one.people.values()}) == 1
    for boundary in list(boundaries(1))[:2]:
        one.turn(boundary)
    closed(one)
    two = keeper(tmp_path, boundary + 1, *people, person_config("late", ROUTINE, "suppress"))
    first, late = two.people["p0"].session.mechanism, two.people["late"].session.mechanism
    assert first is not late
    assert first.machine._known is late.machine._known  # type: ignore[attr-defined]
    closed(two)


def test_readings_from_before_1970_or_of_nobody_are_refused(tmp_path: Path) -> None:
    one: Keeper = keeper(tmp_path, NOW, person_config(routine=ROUTINE))
    assert one.read([Reading("jane", "phone", -(2**70), WHERE["home"])], NOW) == (0, 1)
    assert one.read([Reading("nobody", "phone", 0, WHERE["home"])], NOW) == (0, 1)
    closed(one)
