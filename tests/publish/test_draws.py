from __future__ import annotations

import hashlib
import hmac
import os
import pickle
from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.events import Event
from discreet.mechanisms.named import Spec
from discreet.models.hidden.markov import HiddenMarkovModel
from discreet.numerics import digest_of
from discreet.policy import Policy
from discreet.publish import RunKey
from discreet.publish.draws import build, decision_of
from tests.publish.plans import plan_of

KEY = bytes(range(32))


def by_hand(key: bytes, person: str, piece: int, slot: int, decision: str, built: str) -> int:
    """The first 1,000 bits of a slot, by the formulas that the module states."""
    parts = ["'discreet publish'", repr(person), repr(piece), repr(decision), repr(built)]
    drawn_for = hashlib.sha256("".join(f"{len(part.encode())}:{part}" for part in parts).encode()).digest()
    piece_key = hmac.new(key, drawn_for, hashlib.sha256).digest()
    slot_key = hmac.new(piece_key, slot.to_bytes(8, "big"), hashlib.sha256).digest()
    blocks = [hashlib.shake_256(b"discreet key:%s:%d" % (slot_key, number)).digest(64) for number in (1, 2)]
    return int.from_bytes(b"".join(blocks), "little") % 2**1000


def test_a_draw_is_what_the_formulas_say() -> None:
    for run, built in ((RunKey(KEY), build()), (RunKey.of_seed(7), "")):
        for person, piece, slot in (("ann", 0, 0), ("ånn:1", 3, 70_000)):
            draws = run.piece(person, piece, "some decision")
            draws.at(slot)
            assert draws.bits(1000) == by_hand(run.key, person, piece, slot, "some decision", built)
    assert RunKey.of_seed(7).key == hashlib.sha256(b"discreet:publish:7").digest()


def test_each_part_of_what_is_drawn_for_has_draws_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def bits(key: bytes = KEY, person: str = "ann", piece: int = 0, slot: int = 0, decision: str = "a") -> int:
        draws = RunKey(key).piece(person, piece, decision)
        draws.at(slot)
        return draws.bits(128)

    found = [bits(), bits(key=KEY[::-1]), bits(person="bob"), bits(piece=1), bits(slot=1), bits(decision="b")]
    monkeypatch.setattr("discreet.publish.draws.build", lambda: "another")
    found.append(bits())
    assert len(set(found)) == 7


def test_a_slot_draws_the_same_whatever_was_drawn_before_it() -> None:
    fresh, used = RunKey(KEY).piece("ann", 0, "a"), RunKey(KEY).piece("ann", 0, "a")
    used.bits(77)
    used.at(1)
    used.below(1000)
    for slot in (2, 0):
        fresh.at(slot)
        used.at(slot)
        assert [fresh.below(10**6) for _ in range(300)] == [used.below(10**6) for _ in range(300)]


def test_keys_come_from_the_system_and_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert RunKey.new() != RunKey.new()
    monkeypatch.setattr(os, "urandom", lambda count: b"k" * count)
    assert RunKey.new() == RunKey(b"k" * 32)
    assert "kkk" not in repr(RunKey.new())
    assert "6b6b" not in repr(RunKey.new())
    with pytest.raises(DiscreetError, match="has 32 bytes, this one 3"):
        RunKey(b"abc")


def test_equal_decisions_have_equal_digests_and_others_do_not() -> None:
    plan, people = plan_of()
    model, events = plan.habits.of(people[:1], 6)
    other, _ = plan.habits.of(people[1:2], 6)
    longer, _ = plan.habits.of(people[:1], 7)
    decision = decision_of(model, plan.policy, plan.mechanism, events)
    # A copy holds every slot's arrays, where the model has one for all of them.
    copied = pickle.loads(pickle.dumps(model))
    assert isinstance(model, HiddenMarkovModel)
    copied.transitions = np.ascontiguousarray(model.transitions)
    copied.emissions = np.ascontiguousarray(model.emissions)
    assert copied.emissions.strides[0] != model.emissions.strides[0] == 0
    assert decision_of(copied, plan.policy, plan.mechanism, events) == decision
    stricter = Policy(plan.policy.secrets, delta=plan.policy.delta / 2)
    fewer = replace(events, occurring=tuple(map(Event.of, events.contexts[:3])))
    found = {
        decision,
        decision_of(other, plan.policy, plan.mechanism, events),
        decision_of(longer, plan.policy, plan.mechanism, events),
        decision_of(model, stricter, plan.mechanism, events),
        decision_of(model, plan.policy, Spec("adaptive"), events),
        decision_of(model, plan.policy, Spec("no-mask"), events),
        decision_of(model, plan.policy, plan.mechanism, fewer),
    }
    assert len(found) == 7
    one, two = Spec("adaptive", {"outputs": "suppress", "plan": "lazy"}), Spec("adaptive", {"plan": "lazy"})
    two = two.with_options(outputs="suppress")
    assert decision_of(model, plan.policy, one, events) == decision_of(model, plan.policy, two, events)


def test_an_option_that_no_other_process_could_name_is_refused() -> None:
    plan, people = plan_of()
    model, events = plan.habits.of(people[:1], 6)
    with pytest.raises(DiscreetError, match="could not be repeated"):
        decision_of(model, plan.policy, Spec("adaptive", {"outputs": object()}), events)


def test_the_build_is_the_source() -> None:
    assert build() == build()
    assert len(bytes.fromhex(build())) == len(digest_of([]))
