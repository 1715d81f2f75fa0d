"""Another policy, other habits: announced at a start, in force at a later cut, and never lost or half done."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet import Policy, Secret, Session
from discreet.gateway.slots.changes import policy_of, policy_text
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.journal import JournalError
from discreet.outputs import Skipped
from discreet.randomness import KeyedEntropy
from tests.gateway.people import START, closed, habits, keeper, person_config
from tests.gateway.test_keeper import boundaries, fed, week

ROUTINE, OTHERS = habits(), habits(seed=9)
NOW = START.timestamp()
DAY = dt.timedelta(days=1)
STRICTER = Policy([Secret("clinic", delta=0.05), Secret("work at night", {"work"}, slots=[0, 11])], delta=0.2)
BEFORE = person_config(routine=ROUTINE)
CHANGES = {
    "policy": replace(BEFORE, policy=STRICTER),
    "habits": replace(BEFORE, routine=OTHERS),
    "both": replace(BEFORE, routine=OTHERS, policy=STRICTER),
}


def opened(folder: Path, now: float, who: PersonConfig) -> Keeper:
    """A keeper that takes bits by the slot, so that all runs draw alike."""
    return keeper(folder, now, who, bits=lambda count: bytes(count))


def outputs(one: Keeper) -> list[object]:
    return [row.output for row in one.journal.all_rows("jane")]


def walked(folder: Path, who: PersonConfig, *, restarts: tuple[int, ...] = ()) -> list[object]:
    """Five days; the change is made known at the seventh slot, with starts in between."""
    ends = list(boundaries(5))
    one = opened(folder, NOW, BEFORE)
    fed(one, week(days=5))
    for number, end in enumerate(ends):
        if number == 7 or number in restarts:
            closed(one)
            one = opened(folder, end - 5, who if number >= 7 else BEFORE)
        one.turn(end)
    told = outputs(one)
    closed(one)
    return told


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_announced_and_the_stream_goes_on_as_a_session_does(tmp_path: Path, what: str) -> None:
    """The same outputs as one session that changes at the same slot, whatever starts come after."""
    who = CHANGES[what]
    told = walked(tmp_path, who)
    plain = Session(BEFORE.make(ROUTINE.since(START.date())), rng=None)
    contexts = [context for day in week(days=5).values() for context in day]
    expected = []
    for number, context in enumerate(contexts):
        if number == 7:
            date = plain.change(
                policy=None if what == "habits" else STRICTER, routine=None if what == "policy" else OTHERS
            )
            assert date >= START.date() + 2 * DAY, "the cut after next, or later"
        plain.draw_from(KeyedEntropy(bytes(32)))
        expected.append(plain.release(context))
    assert told == expected
    (tmp_path / "again").mkdir()
    assert walked(tmp_path / "again", who, restarts=(8, 9, 20, 23, 24, 25, 36, 37)) == expected


def test_the_owner_is_told_when_it_takes_effect(tmp_path: Path) -> None:
    one = opened(tmp_path, NOW, BEFORE)
    assert one.notes == []
    fed(one, week(days=5))
    one.turn(next(boundaries(1)))
    closed(one)
    two = opened(tmp_path, NOW + 7300, CHANGES["policy"])
    (note,) = two.notes
    assert note == f"jane: the policy changed: the new take effect on {START.date() + 2 * DAY}; until then the old hold"
    closed(two)
    three = opened(tmp_path, NOW + 7400, CHANGES["policy"])
    assert three.notes == [], "it is said once"
    closed(three)


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("cut", ["before the checkpoint", "with bits not erased", "a slot that is pending"])
def test_a_stop_while_it_changes_leaves_it_done_or_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, cut: str
) -> None:
    ends = list(boundaries(4))
    one = opened(tmp_path, NOW, BEFORE)
    fed(one, week(days=4))
    for end in ends[:5]:
        one.turn(end)

    def stopped(*given: Any, **named: Any) -> Any:
        raise JournalError("the machine stops")

    with monkeypatch.context() as patched:
        if cut == "with bits not erased":
            patched.setattr(one.own, "settle", stopped)
            one.turn(ends[5])
        elif cut == "a slot that is pending":
            patched.setattr(one.journal, "append", stopped)
            with pytest.raises(JournalError):
                one.turn(ends[5])
        else:
            one.turn(ends[5])
    closed(one)
    if cut == "before the checkpoint":
        with monkeypatch.context() as patched:
            patched.setattr("discreet.gateway.store.journal.sqlite.SqliteJournal.append", stopped)
            with pytest.raises(JournalError):
                opened(tmp_path, ends[5] + 1, CHANGES[what])
    for end in (ends[5] + 2, ends[5] + 3):
        one = opened(tmp_path, end, CHANGES[what])
        closed_history = one.people["jane"].config.history
        assert len(closed_history) == 2
        if end == ends[5] + 2:
            closed_first = closed_history
            closed(one)
    assert closed_first[1].date == closed_history[1].date
    for end in ends[6:]:
        one.turn(end)
    told = outputs(one)
    assert len(told) == len(ends)
    assert not any(isinstance(output, Skipped) for output in told), "memory went on"
    closed(one)
    (tmp_path / "plain").mkdir()
    plain = opened(tmp_path / "plain", NOW, BEFORE)
    fed(plain, week(days=4))
    for end in ends[:6]:
        plain.turn(end)
    closed(plain)
    plain = opened(tmp_path / "plain", ends[5] + 2, CHANGES[what])
    for end in ends[6:]:
        plain.turn(end)
    assert outputs(plain) == told
    closed(plain)


def test_another_mechanism_is_no_change(tmp_path: Path) -> None:
    one = opened(tmp_path, NOW, BEFORE)
    one.turn(next(boundaries(1)))
    closed(one)
    with pytest.raises(Exception, match="of another"):
        opened(tmp_path, NOW + 7300, person_config(routine=ROUTINE, outputs="suppress"))


def test_policies_are_kept_whole() -> None:
    whole = Policy(
        [
            Secret("a", {"b", "c"}, slots=[1, 2], delta=0.3, cap=0.9),
            Secret("night", {"d"}, slots=[0, 5], at="any", begins=5),
        ],
        delta=0.07,
    )
    assert policy_of(policy_text(whole)) == whole
    assert policy_of(policy_text(whole)).fingerprint == whole.fingerprint
