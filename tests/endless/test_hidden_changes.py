"""A policy that changes in mid-stream, over the positions of a hidden model and over pairs of contexts.

Changes over Markov chains are in test_broken_windows.py. The judge adds up paths of hidden states (hidden_oracle.py),
keeps every row, and knows nothing of beliefs or machines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.checkpoint import Checkpoint
from discreet.adversary.endless import EndlessAdversary
from discreet.adversary.endless_belief import EndlessBelief
from discreet.adversary.rows import Rows
from discreet.mechanisms import Adaptive
from discreet.models.hidden.pairs import PairChain
from discreet.numerics import SLACK, FloatArray, IntArray
from discreet.outputs import SKIPPED
from discreet.randomness import SeededEntropy
from tests.endless.hidden_models import Family, HiddenCase, random_hidden_case
from tests.endless.hidden_oracle import HiddenRecursion, rows_of
from tests.endless.pair_models import random_stream
from tests.endless.searched import Event
from tests.endless.test_hidden import adaptive
from tests.strategies import searches

BOTH = [(outputs, memory) for outputs in ("suppress", "deceive") for memory in ("last", "none")]
JUDGED = 9
"""Positions whose rows are judged, of which all but two are output."""

OLD, KEPT, NEW = (
    d.Secret("old", {"c0"}, slots=range(1, 4), at="any", delta=0.15),
    d.Secret("kept", {"c0"}, delta=0.2),
    d.Secret("new", {"c1"}, slots=range(1, 7), at="any", delta=0.1),
)
BEFORE = d.Policy([OLD, KEPT]), d.Policy([OLD])
AFTER = d.Policy([KEPT, NEW, d.Secret("also new", {"c1"}, delta=0.05)])


class Held:
    """What is held of rows from the cut on: those of old secrets that are past, all of kept ones, new ones' rests."""

    def __init__(self, machine: Any, model: Any, before: Sequence[Event], after: Sequence[Event], cut: int) -> None:
        kept = {row for row in before if row in after}
        new = [replace(row, slots=left) for row in after if row not in kept and (left := rest(row, cut))]
        self.cut, self.before, self.new = cut, len(before), np.array([row in new for row in (*before, *new)])
        self.recursion = HiddenRecursion(machine, model, (*before, *new))
        self.limits = self.recursion.priors + self.recursion.deltas
        self.alive = np.array([row in kept or max(row.slots) < cut or row in new for row in (*before, *new)])
        self._masses, self._column = self.recursion.start(), None

    def after(self, t: int, column: FloatArray | None) -> None:
        """Judge what is believed after one more output."""
        likely = np.ones(len(self.recursion.contexts)) if column is None else column
        beliefs = self.recursion.beliefs(self._masses, likely[:, None])[:, 0]
        held = self.alive & ~self.new if t < self.cut else self.alive
        assert (beliefs[held] <= self.limits[held] + SLACK).all(), t
        if t == self.cut - 1:  # what was believed of a new secret when it came into force may stay
            self.limits = np.where(self.new, np.maximum(self.limits, beliefs), self.limits)
        self._masses = self.recursion.push(self._masses, column)


def rest(row: Event, cut: int) -> frozenset[int]:
    return frozenset(slot for slot in row.slots if slot >= cut)


def walked(session: Any, held: Held, contexts: Sequence[str], cut: int, policy: d.Policy, **at: Any) -> bool:
    """Release these contexts, announcing the change before the cut, and judge after every output.

    Whether something was told already of a new secret when it came into force.
    """
    told = False
    for t, context in enumerate(contexts):
        if t == cut - 1:
            session.change(policy=policy, **at)
        kernel: Any = session.kernel
        output = session.skip() if context == "skip" else session.release(context)
        held.after(t, None if output == SKIPPED else kernel.likelihood(output))
        told = told or bool(session.already_told)
    return told


def drawn(model: Any, seed: int, count: int) -> list[str]:
    """A person's contexts, and now and then a slot that is skipped."""
    rng = np.random.default_rng([seed, 43])
    codes = model.sample_codes(1, seed)[0][:count].tolist()
    return ["skip" if rng.random() < 0.1 else model.contexts[code] for code in codes]


def positions(seed: int, outputs: str, memory: str, family: Family | None = None) -> tuple[HiddenCase, Any]:
    """A model with a policy before its change, and a mechanism; None where rows stay live too long."""
    case = random_hidden_case(seed + 50_000, family, contexts=2 if family else None)
    case = replace(case, policy=BEFORE[seed % 2])
    return case, adaptive(case, outputs, memory)


def changed(seed: int, outputs: str, memory: str, family: Family | None = None) -> bool:
    """Walk over a change at a position; whether something was told already of what it made secret."""
    case, mechanism = positions(seed, outputs, memory, family)
    if mechanism is None:
        return False
    cut = 2 + seed // 2 % 4
    old, new = (rows_of(policy, case.contexts, JUDGED) for policy in (case.policy, AFTER))
    held = Held(mechanism, case.unrolled(JUDGED), old, new, cut)
    try:
        session = d.Session(mechanism, rng=SeededEntropy(seed))
        return walked(session, held, drawn(case.unrolled(JUDGED), seed, JUDGED - 2), cut, AFTER, position=cut)
    except d.DiscreetError as refused:
        if "later" not in str(refused):  # rows of the new policy would matter for too long
            raise
        return False


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_a_policy_that_changes_at_a_position_is_held(outputs: str, memory: str) -> None:
    for seed in searches(20):
        changed(seed, outputs, memory)
    found = [changed(seed, outputs, memory, "order two") for seed in range(6)]
    assert any(found)  # habits that tell of c1 too


def forgetful(self: EndlessAdversary, belief: EndlessBelief) -> EndlessBelief:
    """Nothing past is carried over the cut."""
    carried = right_carried(self, belief)
    return replace(carried, stack=carried.stack[:1], low=carried.low[:1], rows=Rows.none())


def from_the_first(self: EndlessAdversary) -> IntArray:
    """New secrets are held as if they always had been: of a window, what was before the cut counts."""
    return np.full(len(self.secrets.names), self.model.first)


right_carried = EndlessAdversary.carried


@pytest.mark.parametrize(
    ("name", "wrong", "case"),
    [
        ("carried", forgetful, (0, "deceive", "last", "sticky")),
        ("_held_from", from_the_first, (49, "suppress", "none")),
    ],
)
def test_a_wrong_change_is_found_out(
    name: str, wrong: Callable[..., Any], case: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(*case)
    monkeypatch.setattr(EndlessAdversary, name, wrong)
    with pytest.raises(AssertionError):
        changed(*case)


def test_a_stream_of_positions_goes_on_over_its_change() -> None:
    """From a checkpoint before the change, and from one after it, as if it had never stopped."""
    case, mechanism = positions(1, "deceive", "last")
    whole = d.Session(mechanism, rng=SeededEntropy(5))
    assert whole.change(policy=AFTER, position=4) == 4
    contexts, outputs, kept = drawn(case.unrolled(20), 3, 12), [], {}
    for t, context in enumerate(contexts):
        if t in (2, 9):
            kept[t] = whole.checkpoint().to_json()
        outputs.append(whole.skip() if context == "skip" else whole.release(context))
    for t, text in kept.items():
        again = d.Session.resume(whole.mechanism, outputs[t:], checkpoint=Checkpoint.from_json(text))
        assert (again.digest, again.slot) == (whole.digest, whole.slot)
        np.testing.assert_array_equal(again.belief.stack, whole.belief.stack)


def test_a_position_that_is_none_is_refused() -> None:
    _, mechanism = positions(1, "deceive", "last")
    session = d.Session(mechanism, rng=SeededEntropy(5))
    session.release("c0")
    with pytest.raises(d.DiscreetError, match=r"position 1 comes next.*give 2 or more"):
        session.change(policy=AFTER, position=1)
    refused: Any = session.change
    for wrong in (
        {"policy": AFTER},
        {"position": 5},
        {"policy": AFTER, "position": True},
        {"policy": AFTER, "position": 5, "date": "2026-11-18"},
        {"routine": random_stream(0).model, "position": 5},
    ):
        with pytest.raises(d.DiscreetError, match=r"positions and no dates.*new session"):
            refused(**wrong)
    with pytest.raises(d.DiscreetError, match="change at a date"):
        mechanism.then("2026-11-18", policy=AFTER)


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_a_policy_that_changes_over_pairs_is_held(outputs: str, memory: str) -> None:
    for seed in searches(8):
        case = random_stream(seed + 900, contexts=2 + seed % 2)
        kept = d.Secret("c0", delta=0.2)
        before, after = d.Policy([kept]), d.Policy([kept, d.Secret("c1", delta=0.1)])
        mechanism = Adaptive(case.model, before, memory=memory, **case.options(outputs))  # type: ignore[arg-type]
        slots = case.model.day_slots
        days, cut = 4, 2 * slots
        old, new = (replace(case, policy=policy).rows(days) for policy in (before, after))
        model: PairChain = case.unrolled(days)
        session = d.Session(mechanism, rng=SeededEntropy(seed))
        contexts = drawn(model, seed, 3 * slots)
        date = case.model.date_of(cut)[0]
        walked(session, Held(mechanism, model, old, new, cut), contexts, cut, after, date=date)
