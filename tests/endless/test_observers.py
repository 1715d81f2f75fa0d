"""Several observers of days without end: before each, no gain above delta + 2^-40, past or to come; and going on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.checkpoint import Checkpoint
from discreet.mechanisms import Adaptive
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray
from discreet.outputs import SKIPPED
from discreet.randomness import SeededEntropy
from tests.endless.oracle import events_of, search
from tests.endless.routines import Case, random_case
from tests.endless.test_enumeration import AHEAD, BOTH
from tests.strategies import searches


def others_of(case: Case, count: int = 2) -> list[Routine]:
    """Routines of people who saw other days: half as the person's, in what is possible the same."""
    rng = np.random.default_rng([case.seed, 13])
    own = case.endless.routine

    def otherwise(rows: FloatArray) -> FloatArray:
        drawn = np.where(rows > 0, rng.dirichlet(np.ones(rows.shape[-1]), size=rows.shape[:-1]) + 1e-3, 0.0)
        return np.asarray(0.5 * rows + 0.5 * drawn / drawn.sum(axis=-1, keepdims=True))

    found = []
    for _ in range(count):
        chains = {
            kind: d.MarkovChain(own.contexts, own.day(kind).initial, otherwise(own.day(kind).transitions))
            for kind in own.kinds
        }
        nights = {pair: otherwise(rows) for pair, rows in own.nights.items()}
        found.append(Routine(chains, nights, kind_of=own.rule))
    return found


def adaptive(case: Case, observers: list[Routine], outputs: str, memory: str) -> Adaptive | None:
    """None where a routine is refused, for rows that stay live too long."""
    options: Any = case.options(outputs)
    try:
        return Adaptive(case.endless, case.policy, memory=memory, observers=observers, **options)  # type: ignore[arg-type]
    except d.DiscreetError as refused:
        if "slots later" not in str(refused):
            raise
        return None


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_no_gain_exceeds_its_delta_before_each(outputs: str, memory: str) -> None:
    decisions = telling = 0
    for seed in searches(4, full=6):
        case = random_case(seed, "total", contexts=2 + seed % 2)
        observers = others_of(case)
        mechanism = adaptive(case, observers, outputs, memory)
        if mechanism is None:
            continue
        slots = case.endless.day_slots
        skips = () if seed % 3 else (slots + 1,)
        for model in (case.endless, *mechanism.observers):
            chain = model.unrolled(2 + AHEAD)
            events = events_of(case.policy, chain.contexts, slots, 2 + AHEAD)
            found = search(mechanism, chain, events, 2 * slots, skips=skips, budget=40, seed=seed)
            assert not found.worst.breached, (seed, outputs, memory, float(found.worst.excess), found.worst)
            decisions, telling = decisions + found.decisions, telling + found.telling
    assert telling > decisions / 4


def test_who_is_left_out_is_told_more() -> None:
    breached = 0
    for seed in searches(6):
        case = random_case(seed, "total", contexts=3)
        mechanism = adaptive(case, [], "suppress", "last")
        assert mechanism is not None
        other = others_of(case)[0].since(case.endless.start)
        chain, slots = other.unrolled(2 + AHEAD), case.endless.day_slots
        events = events_of(case.policy, chain.contexts, slots, 2 + AHEAD)
        breached += search(mechanism, chain, events, 2 * slots, budget=40, seed=seed).worst.breached
    assert breached


@pytest.mark.parametrize(("outputs", "memory"), [("suppress", "last"), ("deceive", "none")])
def test_a_checkpoint_holds_what_each_believes(outputs: str, memory: str) -> None:
    case = random_case(4, "total", contexts=3)
    observers = others_of(case)
    mechanism = adaptive(case, observers, outputs, memory)
    assert mechanism is not None
    session = d.Session(mechanism, rng=SeededEntropy(1))
    for context in ("c0", "c1", "c2", "c0", "c1"):
        session.release(context)
    session.skip()
    text = session.checkpoint().to_json()
    again = d.Session.resume(mechanism, checkpoint=Checkpoint.from_json(text), rng=SeededEntropy(2))
    assert [one.digest() for one in again.state.others] == [one.digest() for one in session.state.others]
    assert len(again.state.others) == 2
    kernels: list[Any] = [mechanism.kernel(one.state) for one in (again, session)]
    np.testing.assert_array_equal(kernels[0].weights, kernels[1].weights)
    alone = adaptive(case, [], outputs, memory)
    assert alone is not None
    with pytest.raises(d.DiscreetError, match="another settings"):
        d.Session.resume(alone, checkpoint=Checkpoint.from_json(text))


def test_what_was_decided_in_one_cycle_serves_the_next_and_other_dates() -> None:
    case = random_case(5, "total", contexts=3)
    mechanism = adaptive(case, others_of(case), "suppress", "last")
    assert mechanism is not None

    def walked(one: Any, slots: int) -> list[Any]:
        state, kernels = one.start(), []
        for t in range(slots):
            kernels.append(one.kernel(state).weights)
            state = one.advance(state, d.Released("c0") if t % 5 == 0 else d.Suppressed())
        return kernels

    week = 7 * case.endless.day_slots
    walked(mechanism, 5 * week)
    before = mechanism.effort.programmes
    later = mechanism.since("2027-03-01")
    fresh = Adaptive(later.model, case.policy, memory="last", observers=[one.routine for one in later.observers])
    for shared, own in zip(walked(later, 5 * week), walked(fresh, 5 * week), strict=True):
        np.testing.assert_array_equal(shared, own)
    assert mechanism.effort.programmes - before < week


def test_a_policy_changes_before_each() -> None:
    case = random_case(6, "total", contexts=3)
    policy = d.Policy([d.Secret("one", {"c0"})], delta=0.2)
    mechanism = Adaptive(case.endless, policy, observers=others_of(case))
    session = d.Session(mechanism, rng=SeededEntropy(3))
    session.change(policy=d.Policy([d.Secret("one", {"c0"}), d.Secret("two", {"c1"})], delta=0.2))
    slots = case.endless.day_slots
    for t in range(5 * slots):
        session.release(f"c{t % 3}")
        for belief in (session.state.belief, *session.state.others):
            rows, believed = belief.live()
            assert (believed <= rows.limit + 2.0**-40).all()
    with pytest.raises(d.DiscreetError, match="new stream"):
        session.change(routine=case.endless.routine)


def test_skips_tell_nobody_anything() -> None:
    case = random_case(7, "total", contexts=2)
    mechanism = adaptive(case, others_of(case), "deceive", "last")
    assert mechanism is not None
    state = mechanism.start()
    for _ in range(3 * case.endless.day_slots):
        state = mechanism.advance(state, SKIPPED)
    for belief, model in zip((state.belief, *state.others), (mechanism.model, *mechanism.observers), strict=True):
        np.testing.assert_allclose(belief.hidden(), model.prior_at(state.slot), atol=1e-12)


def test_observers_that_do_not_fit_are_refused() -> None:
    case = random_case(8, "total", contexts=3, slots=3)
    one = random_case(9, "total", contexts=3, slots=2).endless.routine
    with pytest.raises(d.DiscreetError, match="observer 1 has other slots"):
        Adaptive(case.endless, case.policy, observers=[one])
    with pytest.raises(d.DiscreetError, match="has a model of one day"):
        Adaptive(case.endless, case.policy, observers=[case.endless.routine.day(case.endless.routine.kinds[0])])


def test_an_audit_before_each_of_them() -> None:
    case = random_case(4, "total", contexts=2)
    others = others_of(case)
    policy = d.Policy(["c0"], delta=0.1)
    mechanism = Adaptive(case.endless, policy, observers=others)
    alone = Adaptive(case.endless, policy)
    for routine in others:
        assert d.audit(mechanism, model=routine, days=2).holds
    assert any(d.audit(alone, model=routine, days=2).holds is False for routine in others)
    with pytest.raises(d.DiscreetError, match="give one as model"):
        d.audit(mechanism, model=others[0].day(others[0].kinds[0]))
