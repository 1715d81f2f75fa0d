"""Resumed by the likelihoods that outputs had: the same belief as of a session that never stopped, over changes too."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from discreet import DiscreetError, Policy
from discreet.mechanisms import Adaptive
from discreet.numerics import FloatArray
from discreet.outputs import Output, Released, Skipped
from discreet.randomness import SeededEntropy
from discreet.session import Session
from tests.gateway.people import START, a_day, habits

ROUTINE, LATER = habits(), habits(seed=4)
POLICY = Policy(["clinic"], delta=0.1)
CHANGES = {
    "none": {},
    "policy": {"policy": Policy(["clinic", "work"], delta=0.15)},
    "habits": {"routine": LATER},
}


def walked(mechanism: Adaptive, slots: int) -> tuple[Session, list[Output], list[FloatArray | None]]:
    """A session, its outputs and their likelihoods; two slots in the first night are skipped."""
    rng = np.random.default_rng(2)
    truth = [context for _ in range(4) for context in a_day(ROUTINE.clock, rng)]  # type: ignore[arg-type]
    session, outputs, columns = Session(mechanism, rng=SeededEntropy(3)), [], []
    for slot in range(slots):
        kernel = session.kernel
        output = session.skip() if slot in (11, 12) else session.release(truth[slot])
        outputs.append(output)
        columns.append(None if isinstance(output, Skipped) else kernel.likelihood(output))
    return session, outputs, columns


@pytest.mark.parametrize("kind", ["suppress", "deceive"])
@pytest.mark.parametrize("change", CHANGES)
def test_the_same_belief_and_the_same_next_kernel(kind: str, change: str) -> None:
    mechanism = Adaptive(ROUTINE.since(START.date()), POLICY, outputs=kind)  # type: ignore[arg-type]
    if CHANGES[change]:
        mechanism = mechanism.then(START.date() + dt.timedelta(days=2), **CHANGES[change])  # type: ignore[arg-type]
    for slots in (20, 24, 30):
        session, outputs, columns = walked(mechanism, slots)
        again = Session.resume(mechanism, outputs, session.private, columns=columns)
        assert again.state.belief.digest() == session.state.belief.digest()
        assert again.state.cuts == session.state.cuts
        assert again.kernel.digest == session.kernel.digest
        assert again.private == session.private


def test_another_builds_likelihoods_are_the_belief() -> None:
    """Where this build would have another kernel, what the output told then is what counts."""
    mechanism = Adaptive(ROUTINE.since(START.date()), POLICY)
    session, outputs, columns = walked(mechanism, 8)
    moved = [None if column is None else column * 0.5 + 0.25 for column in columns]
    again = Session.resume(mechanism, outputs, columns=moved)
    assert again.state.belief.digest() != session.state.belief.digest()
    belief = mechanism.start().belief
    for column in moved:
        assert column is not None
        belief = belief.after(column)
    assert again.state.belief.digest() == belief.digest()


def test_a_column_of_another_model_is_refused() -> None:
    mechanism = Adaptive(ROUTINE.since(START.date()), POLICY)
    _, outputs, columns = walked(mechanism, 3)
    with pytest.raises(DiscreetError, match="the journal is damaged, or of another model"):
        Session.resume(mechanism, outputs[:1], columns=[columns[0][:3]])  # type: ignore[index]


def test_retake_has_the_private_state_without_a_draw() -> None:
    mechanism = Adaptive(ROUTINE.since(START.date()), POLICY)
    before, outputs, columns = walked(mechanism, 2)
    session, more, likelihoods = walked(mechanism, 3)
    assert more[-1] == Released("home")
    taken = Session.resume(mechanism, outputs, before.private, columns=columns)
    taken.retake("home", more[-1], likelihoods[-1])
    assert taken.private == mechanism.remember(before.private, mechanism.model.contexts.index("home"))
    assert taken.state.belief.digest() == session.state.belief.digest()
    other = Session.resume(mechanism, outputs, before.private, columns=columns)
    other.retake("work", more[-1], likelihoods[-1])
    assert other.private is None, "it could not have been told from there: memory is lost"
