"""Dphmm over models without end: the day's kernels on the joined chain, skips, checkpoints, what is spent, and room."""

from __future__ import annotations

import datetime as dt
import math
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary import Adversary
from discreet.adversary.checkpoint import Checkpoint
from discreet.adversary.rows import DROPPED
from discreet.adversary.unrolled import Unrolled
from discreet.errors import DiscreetError, PolicyError
from discreet.laws import check
from discreet.mechanisms import Adaptive, Dphmm
from discreet.mechanisms.perturbation import OdometerSums, PolicyGraph
from discreet.mechanisms.perturbation.dphmm import CACHED_KERNELS
from discreet.mechanisms.perturbation.endless import LIVE
from discreet.models.kinds import MONDAY
from discreet.models.routine.routine import Routine
from discreet.outputs import SKIPPED, SUPPRESSED, Output, Perturbed
from discreet.randomness import SeededEntropy
from tests.mechanisms.perturbation.examples import random_graph, random_integers
from tests.models.test_routine import random_routine
from tests.strategies import searches

SQUARES = np.array([[x, y] for x in range(3) for y in range(2)], dtype=np.float64)
"""Six cells of a small grid."""

PARALLEL = np.array([(0.0, 0), (1, 0), (0, 1), (1, 1)])
"""Two pairs of contexts on two lines: noise along the lines never leads across."""


def walks(slots: int = 4) -> Routine:
    """Somebody on the small grid who stays, moves to a cell nearby, and now and then anywhere."""
    near = np.abs(SQUARES[:, None] - SQUARES[None]).sum(axis=2) <= 1
    steps = near * np.where(np.eye(6), 6.0, 1.0) + 0.01
    steps /= steps.sum(axis=1, keepdims=True)
    chain = d.MarkovChain.homogeneous([f"c{k}" for k in range(6)], np.full(6, 1 / 6), steps, slots)
    return Routine({"day": chain}, {("day", "day"): steps})


def still(n: int = 4) -> Routine:
    """Nobody ever moves: nothing is forgotten."""
    labels = [f"c{k}" for k in range(n)]
    chain = d.MarkovChain.homogeneous(labels, np.full(n, 1 / n), np.eye(n), 2)
    return Routine({"day": chain}, {("day", "day"): np.eye(n)})


def on_the_grid(policy: d.Policy | None = None, epsilon: float = 1.0, **options: Any) -> Dphmm:
    given = {"graph": PolicyGraph.within(SQUARES, 1.0), "query": SQUARES, "epsilon": epsilon, **options}
    return Dphmm(walks().since(MONDAY), policy, **given)


def path_of(model: Any, days: int, seed: int) -> list[int]:
    codes: list[int] = model.unrolled(days).sample_codes(1, seed)[0].tolist()
    return codes


def drawn(made: Dphmm, path: list[int], seed: int = 0) -> tuple[list[Output], Any]:
    """The outputs along a path, and the public state after them."""
    rng, state, outputs = SeededEntropy(seed), made.start(), []
    for context in path:
        outputs.append(made.kernel(state).sample(context, rng))
        state = made.advance(state, outputs[-1])
    return outputs, state


@pytest.mark.parametrize("support", ["possible", ("mass", 0.05), ("mass", 0.3)])
def test_kernels_are_those_of_the_joined_chain_slot_by_slot(support: Any) -> None:
    """Routines with and without zeros, random graphs, both noises; silence and what is never output among the rest."""
    for seed in searches(10):
        rng = np.random.default_rng(seed)
        endless = random_routine(seed, n=5, zeros=float(rng.choice([0.0, 0.3, 0.6]))).since("2024-01-05")
        options: dict[str, Any] = {
            "graph": random_graph(rng, 5),
            "query": random_integers(rng, 5, 2).astype(np.float64),
            "epsilon": float(rng.choice([0.2, 1.0, 4.0])),
            "noise": "laplace" if seed % 2 else "knorm",
            "support": support,
        }
        made, whole = Dphmm(endless, **options), Dphmm(endless.unrolled(8), **options)
        entropy, state, past, outputs = SeededEntropy(seed), made.start(), whole.start(), []
        for slot, context in enumerate(path_of(endless, 8, seed)):
            kernel, expected = made.kernel(state), whole.kernel(past)
            assert kernel.digest == expected.digest, (seed, slot)
            output = expected.sample(context, entropy) if slot % 7 != 5 else SUPPRESSED
            assert output == SUPPRESSED or (kernel.likelihood(output) == expected.likelihood(output)).all()
            state, past = made.advance(state, output), whole.advance(past, output)
            np.testing.assert_allclose(state.belief.weights, past.belief.weights, atol=1e-13, err_msg=f"seed {seed}")
            np.testing.assert_array_equal(state.reached, past.reached)
            outputs.append(output)
        read, told = whole.odometer(outputs), state.spent
        assert made.odometer(outputs) == read
        assert (told.realised, told.epsilon, told.answered) == (read.realised, read.epsilon, len(outputs)), seed
        unprotected = sum(reading.nothing_to_protect for reading in read.readings)
        assert (told.last, told.unprotected) == (read.readings[-1], unprotected)
        assert made.spent(iter(outputs)) == told


def test_a_stream_that_begins_within_a_day_counts_its_slots_from_there() -> None:
    endless = walks(slots=4).since(MONDAY, first=6)
    made = Dphmm(endless, graph=PolicyGraph.complete(6), query=SQUARES, epsilon=1.0)
    whole = Dphmm(endless.unrolled(2), graph=PolicyGraph.complete(6), query=SQUARES, epsilon=1.0)
    outputs, state = drawn(made, [0, 1, 2, 5, 4])
    past = whole.start()
    for output in outputs:
        past = whole.advance(past, output)
    np.testing.assert_allclose(state.belief.weights, past.belief.weights, atol=1e-15)
    assert (made.start().slot, state.slot, state.spent.last.slot) == (6, 11, 10)
    assert str(state.spent).startswith("since slot 2 of 2024-01-02: 5 slots answered, 0 skipped; epsilon 5 over edges")


def test_states_have_the_size_of_a_day_and_are_equal_where_kernels_are() -> None:
    made = on_the_grid()
    outputs, state = drawn(made, path_of(made.model, 5, 1))
    again = made.start()
    for output in outputs:
        again = made.advance(again, output)
    assert state == again
    assert hash(state) == hash(again)
    assert state != drawn(made, path_of(made.model, 5, 2))[1]
    assert not any(isinstance(value, tuple) and len(value) > 9 for value in vars(state).values())


def test_what_is_possible_does_not_underflow_and_a_checkpoint_keeps_it() -> None:
    """Two pairs far apart under little noise: the belief underflows to zero, what is possible does not."""
    answers = [[0.0, 0.0], [1.0, 0.0], [200.0, 0.0], [200.0, 1.0]]
    made = Dphmm(still().since(MONDAY), graph=PolicyGraph.from_edges(4, [(0, 1), (2, 3)]), query=answers, epsilon=5.0)
    with d.Session(made, rng=SeededEntropy(1)) as session:
        for _ in range(5):
            session.release("c0")
        assert session.belief.weights[2] == 0
        point = Checkpoint.from_json(session.checkpoint().to_json())
        state = point.state_of(made)
        assert state.reached.tolist() == [True] * 4
        assert made.kernel(state).support.tolist() == [0, 1, 2, 3]
        assert made.advance(state, SUPPRESSED).reached.tolist() == [True] * 4
        session.skip()
        assert session.checkpoint().state_of(made).reached.tolist() == [True] * 4


def test_what_is_ruled_out_stays_so() -> None:
    """Pairs on parallel lines: a point of one line rules the other pair out, and where nobody moves, for good."""
    made = Dphmm(still().since(MONDAY), graph=PolicyGraph.from_edges(4, [(0, 1), (2, 3)]), query=PARALLEL, epsilon=1.0)
    _, state = drawn(made, [2])
    assert state.reached.tolist() == [False, False, True, True]
    for output in (SKIPPED, SUPPRESSED, Perturbed((0.0, 0.0))):  # the last of the three is on the other line
        state = made.advance(state, output)
        assert made.kernel(state).support.tolist() == [2, 3]


def test_a_skip_tells_nothing_and_costs_nothing() -> None:
    for support in ("possible", ("mass", 0.2)):
        made = on_the_grid(support=support)
        _, state = drawn(made, [0, 1, 4])
        after = made.advance(state, SKIPPED)
        np.testing.assert_allclose(after.belief.weights, state.belief.predicted(), atol=1e-15)
        assert (after.slot, after.skipped, after.belief.off_model) == (4, True, False)
        assert (after.spent.skipped, after.spent.answered) == (1, 3)
        assert (after.spent.realised, after.spent.epsilon) == (state.spent.realised, state.spent.epsilon)
        silent = made.advance(state, SUPPRESSED)  # silence was decided: the slot is charged, as a day's is
        np.testing.assert_array_equal(silent.belief.weights, after.belief.weights)
        assert silent.spent.answered == 4
        assert made.kernel(after).digest == made.kernel(silent).digest
        outputs: list[Output] = [Perturbed((0.0, 0.0)), SKIPPED, Perturbed((1.0, 1.0))]
        assert [reading.slot for reading in made.odometer(outputs).readings] == [0, 2]


@pytest.mark.parametrize("support", ["possible", ("mass", 0.2)])
def test_a_session_goes_on_from_a_checkpoint_as_if_nothing_had_happened(support: Any) -> None:
    policy = d.Policy(["c1", d.Secret("at c5", {"c5"}, at="any")], delta=0.05)
    made = on_the_grid(policy, support=support)
    path = path_of(made.model, 9, 3)
    with d.Session(made, rng=SeededEntropy(5)) as session:
        for slot, context in enumerate(path[:18]):
            session.skip() if slot == 7 else session.release(f"c{context}")
        point = Checkpoint.from_json(session.checkpoint().to_json())
        since = [session.release(f"c{context}") for context in path[18:27]]
        since.append(session.skip())
        resumed = d.Session.resume(
            on_the_grid(policy, support=support), since, checkpoint=point, digest=session.digest, rng=SeededEntropy(5)
        )
        assert (resumed.slot, resumed.skips, resumed.off_model) == (28, 2, 0)
        assert resumed.digest == session.digest
        assert resumed.gains() == session.gains()
        one, other = session.checkpoint().state_of(made), resumed.checkpoint().state_of(made)
        assert one == other
        assert made.kernel(one).digest == made.kernel(other).digest
        for output in (session.release("c2"), resumed.release("c2")):
            assert isinstance(output, Perturbed)


@pytest.mark.parametrize("support", ["possible", ("mass", 0.05)])
def test_a_session_goes_on_by_likelihoods_as_a_gateway_keeps_them(support: Any) -> None:
    made = on_the_grid(d.Policy("c1", delta=0.2), support=support)
    session, columns, told = d.Session(made, rng=SeededEntropy(3)), [], []
    for context in path_of(made.model, 2, 4):
        kernel = session.kernel
        told.append(session.release(f"c{context}"))
        columns.append(kernel.likelihood(told[-1]))
    resumed = d.Session.resume(made, told, session.private, columns=columns)
    assert resumed.belief.digest() == session.belief.digest()
    assert made.kernel(resumed.state).digest == made.kernel(session.state).digest
    assert resumed.state.reached.tolist() == session.state.reached.tolist()


def test_what_is_spent_is_counted_from_a_checkpoint_on() -> None:
    made = on_the_grid()
    with d.Session(made, rng=SeededEntropy(2)) as session:
        before = [session.release("c3") for _ in range(6)]
        point = session.checkpoint()
        after = [session.release("c3"), session.skip(), session.release("c3")]
    restored = point.state_of(made)
    assert restored.spent == OdometerSums(6, MONDAY + dt.timedelta(days=1), 2)
    told = made.spent(after, restored)
    assert (told.since, told.answered, told.skipped, told.epsilon) == (6, 2, 1, 2.0)
    whole = made.spent([*before, *after])
    assert (whole.since, whole.answered, whole.skipped, whole.epsilon) == (0, 8, 1, 8.0)
    assert whole.realised == math.fsum([made.spent(before).realised, told.realised])
    assert [r.slot for r in made.odometer(after, restored).readings] == [6, 8]


def test_what_is_spent_carries_infinity() -> None:
    """Pairs on parallel lines: everyone is protected, the two pairs are told apart for certain."""
    made = Dphmm(
        random_routine(1, n=4).since(MONDAY),
        graph=PolicyGraph.from_edges(4, [(0, 1), (2, 3)]),
        query=PARALLEL,
        epsilon=1.0,
    )
    _, state = drawn(made, [0, 1])
    assert state.spent.realised == math.inf
    assert (state.spent.unbounded, state.spent.epsilon) == (2, 2.0)
    assert "inf between any two ways" in str(state.spent)


def test_another_mechanism_refuses_the_checkpoint() -> None:
    point = d.Session(on_the_grid()).checkpoint()
    others: list[dict[str, Any]] = [
        {"epsilon": 2.0},
        {"graph": PolicyGraph.complete(6)},
        {"query": SQUARES[:, ::-1]},
        {"support": ("mass", 0.1)},
        {"noise": "laplace"},
        {"protect": "minimum"},
    ]
    assert point.state_of(on_the_grid()).slot == 0
    for options in others:
        with pytest.raises(DiscreetError, match="another settings"):
            point.state_of(on_the_grid(**options))
    with pytest.raises(DiscreetError, match="another policy"):
        point.state_of(on_the_grid(d.Policy(["c0"])))


def test_shown_gains_are_the_joined_chains_and_no_breach_goes_by_unseen() -> None:
    """A gain that is shown is that of the filter that keeps all rows; one left out is within delta, or settled."""
    delta, days = 0.05, 12
    policy = d.Policy([d.Secret("c1", {"c1"}), d.Secret("c0 or c5", {"c0", "c5"}, slots=[1, 2])], delta=delta)
    made = on_the_grid(policy, epsilon=2.0)
    slots = made.model.day_slots
    joined = d.Policy(
        [
            d.Secret("c1", {"c1"}),
            d.Secret("c0 or c5", {"c0", "c5"}, slots=[day * slots + t for day in range(days) for t in (1, 2)]),
        ],
        delta=delta,
    )
    whole = Adversary(Dphmm(made.model.unrolled(days), joined, **_options(made)), policy=joined)
    state, exact, entropy = made.start(), whole.start(), SeededEntropy(4)
    last: dict[tuple[str, int], float] = {}
    dropped = 0
    for context in path_of(made.model, days, 4):
        kernel = made.kernel(state)
        output = kernel.sample(context, entropy)
        state, exact = made.advance(state, output), exact.after(kernel.likelihood(output))
        all_gains = exact.by_secret()
        shown = {(name, slot): gain for name, rows in state.belief.by_secret().items() for slot, gain in rows.items()}
        last |= shown
        for (name, slot), gain in shown.items():
            if slot < days * slots:
                assert gain == pytest.approx(np.asarray(all_gains[name])[slot], abs=1e-12)
        for name, gains in all_gains.items():
            for slot in np.flatnonzero(np.asarray(gains) > delta + 1e-9).tolist():
                assert abs(last[name, slot] - np.asarray(gains)[slot]) <= 2 * DROPPED, (name, slot)
                dropped += (name, slot) not in shown
    assert dropped > 0  # rows beyond their delta were settled and let go


def _options(made: Dphmm) -> dict[str, Any]:
    return {"graph": made.graph, "query": SQUARES, "epsilon": made.epsilon}


def test_what_is_told_for_certain_is_shown_once() -> None:
    """A point of one line says in which pair somebody is: nothing later tells more of it."""
    policy = d.Policy([d.Secret("below", {"c0", "c1"})], delta=0.1)
    made = Dphmm(
        random_routine(1, n=4).since(MONDAY),
        policy,
        graph=PolicyGraph.from_edges(4, [(0, 1), (2, 3)]),
        query=PARALLEL,
        epsilon=1.0,
    )
    state, entropy = made.start(), SeededEntropy(1)
    for slot in range(6):
        state = made.advance(state, made.kernel(state).sample(0, entropy))
        past = {opens: gain for opens, gain in state.belief.by_secret()["below"].items() if opens <= slot}
        assert past == {slot: pytest.approx(1 - made.model.prior_at(slot)[:2].sum())}


def test_gains_of_a_past_date_are_all_there() -> None:
    policy = d.Policy(["c1"], delta=0.05)
    made = on_the_grid(policy, epsilon=2.0)
    outputs: list[Output] = []
    with d.Session(made, rng=SeededEntropy(8)) as session:
        outputs += [session.release(f"c{context}") for context in path_of(made.model, 6, 8)]
        asked = session.gains(MONDAY + dt.timedelta(days=2))["c1"]
    whole = Dphmm(made.model.unrolled(6), policy, **_options(made))
    adversary, past = Adversary(whole), whole.start()
    belief = adversary.start()
    for output in outputs:
        belief, past = belief.after(whole.kernel(past).likelihood(output)), whole.advance(past, output)
    np.testing.assert_allclose(asked, np.asarray(belief.by_secret()["c1"])[8:12], atol=1e-12)


def test_without_a_policy_there_are_no_secrets_and_nothing_is_ahead() -> None:
    made = on_the_grid()
    assert made.horizon == 0
    with d.Session(made, rng=SeededEntropy(1)) as session:
        session.release("c1")
        assert session.gains() == {}
        assert session.belief.stack.shape == (1, 6)
    policy = d.Policy(["c1"], delta=0.1)
    watched = on_the_grid(policy)
    assert watched.horizon == Adaptive(made.model, policy).horizon
    assert made.guarantee == watched.guarantee  # a policy promises nothing about belief


@pytest.mark.slow("walks long streams")
def test_thousands_of_slots_take_the_room_of_a_few_days() -> None:
    """Secrets that are breached again and again, skips among the slots, supports that change."""
    policy = d.Policy(["c1", d.Secret("at c5", {"c5"}, at="any")], delta=0.01)
    made = on_the_grid(policy, support=("mass", 0.05))
    path = path_of(made.model, 100, 1)
    session, used, rows = d.Session(made, rng=SeededEntropy(1)), [], 0
    outputs = 500 * sum(map(sys.getsizeof, (Perturbed((0.5, 0.5)), (0.5, 0.5), 0.5, 0.5)))  # bytes of so many
    try:
        for slot in range(1_000):
            session.skip() if slot % 50 == 49 else session.release(f"c{path[slot % 400]}")
            rows = max(rows, len(session.belief.rows.secret))
            if slot == 400:  # a day of the log has few slots here, and the last fortnight of it is there by now
                tracemalloc.start()
            if slot in (499, 999):
                used.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert rows < 100
    assert len(made._kernels) <= CACHED_KERNELS
    assert used[1] - used[0] < outputs / 2  # the log of a fortnight varies; the outputs of these slots are not kept
    assert session.checkpoint().slot == 1_000


def test_rows_that_never_settle_are_capped() -> None:
    """Nobody moves and everything is forgotten slowly: the oldest rows are no longer shown, kernels are the same."""
    steps = np.eye(6) * 0.98 + 0.02 / 6
    chain = d.MarkovChain.homogeneous([f"c{k}" for k in range(6)], np.full(6, 1 / 6), steps, 2)
    endless = Routine({"day": chain}, {("day", "day"): steps}).since(MONDAY)
    options: dict[str, Any] = {"graph": PolicyGraph.complete(6), "query": SQUARES, "epsilon": 0.5}
    made = Dphmm(endless, d.Policy(["c0"], delta=0.01), **options)
    plain = Dphmm(endless, **options)
    state, alone, entropy = made.start(), plain.start(), SeededEntropy(3)
    for _ in range(LIVE + 200):
        kernel = made.kernel(state)
        assert kernel.digest == plain.kernel(alone).digest
        output = kernel.sample(0, entropy)
        state, alone = made.advance(state, output), plain.advance(alone, output)
        assert len(state.belief.rows.secret) <= LIVE + 1
    assert len(state.belief.rows.secret) == LIVE + 1
    assert state.belief.rows.opens[-1] == LIVE + 199
    np.testing.assert_array_equal(state.belief.weights, alone.belief.weights)


def test_the_same_mechanism_from_another_date_shares_its_kernels() -> None:
    made = on_the_grid(d.Policy(["c1"], delta=0.1))
    _, state = drawn(made, [0, 1])
    later = made.since("2024-03-01")
    assert later.start().spent.date == dt.date(2024, 3, 1)
    assert made.start().spent.date == MONDAY
    assert later.kernel(later.start()) is made.kernel(state)  # every context is possible in both
    with pytest.raises(DiscreetError, match="another model"):
        d.Session(made).checkpoint().state_of(later)


@pytest.mark.parametrize("options", [{}, {"noise": "laplace"}, {"support": ("mass", 0.2)}])
def test_the_laws_hold_on_its_first_days(options: dict[str, Any]) -> None:
    check(Unrolled(on_the_grid(d.Policy(["c1"]), **options), days=2), walks=2, budget=200)


def test_the_audit_judges_its_first_days() -> None:
    made = on_the_grid(d.Policy(["c1"], delta=0.1), epsilon=0.5)
    found = d.audit(made, days=2, budget=200)
    alone = Dphmm(made.model.unrolled(2), d.Policy(["c1"], delta=0.1), **_options(made))
    assert 0.1 < found.worst_gain <= d.audit(alone, budget=200).bound
    assert d.audit(made, days=1, since="2024-01-06", budget=50).worst_gain > 0


def test_largest_ratios_are_asked_for_so_many_days() -> None:
    for seed in searches(6):
        endless = random_routine(seed, n=4, zeros=0.4 * (seed % 2)).since(MONDAY)
        rng = np.random.default_rng(seed)
        options: dict[str, Any] = {"graph": random_graph(rng, 4), "query": random_integers(rng, 4, 2), "epsilon": 1.0}
        expected = Dphmm(endless.unrolled(3), **options).largest_log_ratios()
        np.testing.assert_array_equal(Dphmm(endless, **options).largest_log_ratios(days=3), expected)


def test_graphs_of_transitions_look_at_nights_too() -> None:
    for seed in searches(6):
        endless = random_routine(seed, n=4, zeros=0.7).since(MONDAY)
        assert PolicyGraph.transitions(endless) == PolicyGraph.transitions(endless.unrolled(14))


def test_what_needs_the_other_kind_of_model_is_refused_with_a_remedy() -> None:
    endless, day = on_the_grid(), Dphmm(walks().day("day"), graph=PolicyGraph.complete(6), query=SQUARES, epsilon=1.0)
    with pytest.raises(DiscreetError, match=r"give routine.since\(date\)"):
        Dphmm(walks(), graph=PolicyGraph.complete(6), query=SQUARES, epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(DiscreetError, match=r"give routine.since\(date\)"):
        Dphmm(walks().then(walks(), "2024-02-01"), **_options(endless))  # type: ignore[arg-type]
    with pytest.raises(DiscreetError, match="begin a new stream"):
        Dphmm(walks().then(walks(), "2024-02-01").since(MONDAY), **_options(endless))
    with pytest.raises(DiscreetError, match="begin a new stream"):
        d.Session(endless).change(routine=walks())
    for ask in (lambda: day.adversary, lambda: day.since(MONDAY), lambda: day.spent([])):
        with pytest.raises(DiscreetError, match="for days without end"):
            ask()
    assert day.horizon is None
    with pytest.raises(DiscreetError, match="give at least 1"):
        endless.largest_log_ratios()
    with pytest.raises(DiscreetError, match="leave days= out"):
        day.largest_log_ratios(days=2)
    with pytest.raises(DiscreetError, match="or leave the policy out"):
        Dphmm(still().since(MONDAY), d.Policy(["c0"]), graph=PolicyGraph.complete(4), query=np.eye(4), epsilon=1.0)
    with pytest.raises(PolicyError, match="never seen"):
        on_the_grid(d.Policy(["nowhere"]))


def test_a_new_stream_takes_over_where_another_ends() -> None:
    """New habits begin with what the belief has predicted: the filter of the joined chain."""
    made = on_the_grid()
    _, state = drawn(made, [0, 1, 4, 4])
    later = walks().since(MONDAY + dt.timedelta(days=1), initial=state.belief.predicted())
    taken = Dphmm(later, **_options(made))
    for output in drawn(taken, [5, 5])[0]:
        state = made.advance(state, output)
    again = taken.start()
    for output in drawn(taken, [5, 5])[0]:
        again = taken.advance(again, output)
    np.testing.assert_allclose(again.belief.weights, state.belief.weights, atol=1e-14)
