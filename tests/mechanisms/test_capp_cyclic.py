"""CAPP over days without end: the paper's time is cyclic (Z_{N+m} = Z_m), so (2) and (3) reach over midnight."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import discreet as d
from discreet.adversary import Adversary
from discreet.adversary.checkpoint import Checkpoint
from discreet.adversary.unrolled import Unrolled
from discreet.errors import DiscreetError, OneDayError
from discreet.laws import check
from discreet.mechanisms import Capp, EfficientFake
from discreet.mechanisms.capp import Constraints, Deception
from discreet.mechanisms.cyclic import Round
from discreet.mechanisms.named import Spec
from discreet.mechanisms.programme import PERTURBATION
from discreet.models.kinds import MONDAY
from discreet.models.routine.parts import without_end
from discreet.models.routine.routine import Routine
from discreet.numerics import SLACK, FloatArray
from discreet.outputs import Output
from discreet.randomness import SeededEntropy
from tests.models.test_routine import random_routine
from tests.strategies import enough, searches

KINDS: tuple[type[Deception], ...] = (Capp, EfficientFake)


def alike(seed: int, n: int = 3, slots: int = 3, zeros: float = 0.0) -> Routine:
    """A routine of one kind of day."""
    return random_routine(seed, n, slots, zeros, week=False)


def steps_of(routine: Routine) -> list[FloatArray]:
    """The N steps of the circle: those of the day, then the night."""
    return [*routine.day("day").transitions, routine.nights["day", "day"]]


def priors_of(steps: list[FloatArray]) -> list[FloatArray]:
    """P_c^t: the distribution that a whole turn leaves as it is, by a linear system, and what follows from it."""
    turn = np.linalg.multi_dot([*steps, np.eye(len(steps[0]))])
    n = len(turn)
    system = np.vstack([turn.T - np.eye(n), np.ones(n)])
    found = [np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)[0]]
    for step in steps[:-1]:
        found.append(found[-1] @ step)
    return found


def best_by_the_paper(
    steps: list[FloatArray], t: int, secrets: list[int], delta: float, constraints: Constraints
) -> float | None:
    """Eq. 11 at slot t, slots counted modulo N; None where it has no solution."""
    priors, slots, n = priors_of(steps), len(steps), len(steps[0])
    before, after = (t - 1) % slots, (t + 1) % slots
    rows = []
    for s in secrets:
        back = steps[before][s]
        if constraints == "bayes":
            back = priors[before][s] * back / priors[t]
        for told, u in ((np.eye(n)[s], t), (steps[t][:, s], after), (back, before)):
            for o in range(n):  # sum over c of b(o | c) p(c) (told(c) - prior - delta) <= 0
                row = np.zeros((n, n))
                row[:, o] = priors[t] * (told - priors[u][s] - delta)
                rows.append(row.ravel())
    found = linprog(
        -np.diag(priors[t]).ravel(),
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=np.kron(np.eye(n), np.ones(n)),
        b_eq=np.ones(n),
        bounds=(0, 1),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status in (0, 2)
    return -float(found.fun) if found.status == 0 else None


@pytest.mark.parametrize("constraints", ["published", "bayes"])
def test_every_slot_is_the_papers_programme_on_the_circle(constraints: Constraints) -> None:
    solved = unsolved = differs = 0
    for seed in searches(25):
        slots, n = 1 + seed % 4, 2 + seed % 3
        routine = alike(seed, n, slots)
        secrets, delta = list(range(1 + (seed % 2 and n > 2))), (0.05, 0.1, 0.2)[seed % 3]
        policy = d.Policy([f"c{s}" for s in secrets], delta=delta)
        mechanism = Capp(routine.since(MONDAY), policy, constraints=constraints)
        straight = Capp(routine.since(MONDAY), policy, constraints=constraints, cyclic=False)
        steps, total = steps_of(routine), 0.0
        for t, prior in enumerate(priors_of(steps)):
            best = best_by_the_paper(steps, t, secrets, delta, constraints)
            assert (t in mechanism.fallbacks) is (best is None), (seed, t)
            kernel = mechanism.kernel(t)
            truth = sum(prior[c] * kernel.likelihood(d.Released(f"c{c}"))[c] for c in range(n))
            if best is None:
                unsolved += 1
            else:
                assert truth == pytest.approx(best, abs=2 * PERTURBATION), (seed, t)
                solved += 1
            total += truth
            differs += t in (0, slots - 1) and not np.array_equal(kernel.matrix, straight.kernel(t).matrix)
        assert float(mechanism.expected_utility()) == pytest.approx(total / slots, abs=1e-9)
    assert solved > enough(30)
    assert differs > enough(10)
    assert (unsolved > 0) is (constraints == "published")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("constraints", ["published", "bayes"])
def test_without_the_circle_it_is_the_days_chain_slot_by_slot(kind: type[Deception], constraints: Constraints) -> None:
    """Without the night, and on all inner slots with it."""
    for seed in searches(10):
        routine = alike(seed, zeros=0.2, slots=4)
        cycle = routine.cycle
        if cycle is None:
            continue
        policy = d.Policy([d.Secret("c1"), d.Secret("early", {"c0"}, slots=[0, 1])], delta=0.1)
        chain = d.MarkovChain(routine.contexts, cycle[0, 0], routine.day("day").transitions)
        day = kind(chain, policy, constraints=constraints)
        straight = kind(routine.since(MONDAY), policy, constraints=constraints, cyclic=False)
        closed = kind(routine.since(MONDAY), policy, constraints=constraints)
        assert [len(closed.events(t).limits) for t in range(4)] == [5, 5, 4, 4]
        assert [len(straight.events(t).limits) for t in range(4)] == [4, 5, 4, 2]
        for t in range(4):
            assert straight.kernel(t).digest == day.kernel(t).digest, (seed, t)
            if t in (1, 2):
                assert closed.kernel(t).digest == day.kernel(t).digest, (seed, t)
        assert straight.fallbacks == day.fallbacks
        assert float(straight.expected_utility()) == float(day.expected_utility())


def gain_of_one_output(mechanism: Deception, t: int, u: int, days: int = 3) -> float:
    """The largest gain on the secret at absolute slot u by one output of slot t, everything else silent."""
    joined = Unrolled(mechanism, days)
    adversary = Adversary(joined)
    belief = adversary.start()
    for _ in range(t):
        belief = belief.after(np.ones(len(mechanism.private_contexts)))
    gains = belief.outcomes(mechanism.kernel(t % mechanism.day.slots).matrix).gains
    return float(gains[adversary.row_slot == u].max())


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_slot_and_the_next_days_first_one_look_at_each_other(kind: type[Deception]) -> None:
    """By the exact observer of joined days: (2) of the last slot bounds the morning, (3) of the first the night."""
    beyond = {"morning": 0, "night": 0}
    for seed in searches(12):
        routine = alike(seed)
        for what, slot, t, u in (("morning", 0, 2, 3), ("night", 2, 3, 2)):
            secret = d.Policy([d.Secret(what, {"c0"}, slots=[slot])], delta=0.02)
            closed = kind(routine.since(MONDAY), secret, constraints="bayes")
            straight = kind(routine.since(MONDAY), secret, constraints="bayes", cyclic=False)
            assert gain_of_one_output(closed, t, u) <= 0.02 + SLACK, (seed, what)
            beyond[what] += gain_of_one_output(straight, t, u) > 0.02 + SLACK
            events = closed.events(t % 3)
            assert len(events.limits) == 1
            assert len(straight.events(t % 3).limits) == 0
            if what == "morning":
                assert events.likelihood[0] == pytest.approx(routine.nights["day", "day"][:, 0])
                assert events.limits[0] == pytest.approx(routine.prior(MONDAY)[0, 0] + 0.02)
    assert min(beyond.values()) > enough(6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cyclic", [True, False])
def test_laws(kind: type[Deception], cyclic: bool) -> None:
    for seed in searches(3):
        routine = alike(seed, slots=2)
        policy = d.Policy(["c0", d.Secret("c1 today", {"c1"}, at="any")], delta=0.1)
        mechanism = kind(routine.since(MONDAY), policy, constraints="bayes", cyclic=cyclic)
        check(mechanism, seed=seed, walks=2)


def test_the_guarantee_is_of_one_output_alone_and_sequences_breach() -> None:
    routine, policy = alike(3), d.Policy("c0", delta=0.1)
    closed = Capp(routine.since(MONDAY), policy, constraints="bayes")
    straight = Capp(routine.since(MONDAY), policy, constraints="bayes", cyclic=False)
    assert closed.guarantee.kind == straight.guarantee.kind == "window only"
    assert closed.guarantee == Capp(routine.day("day"), policy, constraints="bayes").guarantee
    assert "not over midnight" in straight.guarantee.statement
    found = d.audit(closed, days=2)
    assert found.exact
    assert found.holds is False


def test_a_session_goes_on_over_midnight_and_from_a_checkpoint() -> None:
    routine, policy = alike(5), d.Policy("c0", delta=0.1)
    made = Capp(routine.since("2024-01-05", first=2), policy)
    path = routine.since("2024-01-05").unrolled(4).sample_codes(1, 3)[0].tolist()
    with d.Session(made, rng=SeededEntropy(5)) as session:
        for slot, context in enumerate(path):
            assert session.state.slot == slot + 2
            assert session.kernel is made.kernel((slot + 2) % 3)
            session.skip() if slot == 4 else session.release(f"c{context}")
        point = Checkpoint.from_json(session.checkpoint().to_json())
        since = [session.release("c1"), session.skip(), session.release("c2")]
        again = d.Session.resume(Capp(routine.since("2024-01-05", first=2), policy), since, checkpoint=point)
        assert (again.slot, again.skips, again.digest) == (session.slot, 2, session.digest)
        assert again.gains() == session.gains()
        with pytest.raises(DiscreetError, match="begin a new stream"):
            session.change(policy=d.Policy("c1"))
    with pytest.raises(DiscreetError, match="another settings"):
        point.state_of(Capp(routine.since("2024-01-05", first=2), policy, cyclic=False))


def test_a_stream_is_resumed_by_the_likelihoods_that_its_outputs_had() -> None:
    made = Capp(alike(5).since(MONDAY), d.Policy("c0", delta=0.1))
    columns: list[FloatArray | None] = []
    with d.Session(made, rng=SeededEntropy(2)) as session:
        outputs: list[Output] = []
        for slot in range(8):
            kernel = session.kernel
            outputs.append(session.skip() if slot == 3 else session.release(f"c{slot % 3}"))
            columns.append(None if slot == 3 else kernel.likelihood(outputs[-1]))
        again = d.Session.resume(made, outputs, columns=columns)
        assert (again.slot, again.skips, again.state) == (8, 1, session.state)
        assert again.gains() == session.gains()


def test_beliefs_are_those_of_the_joined_days() -> None:
    routine, policy = alike(6), d.Policy("c0", delta=0.05)
    made = Capp(routine.since(MONDAY), policy, constraints="bayes")
    joined = Adversary(Unrolled(made, 4))
    state, belief, rng = made.start(), joined.start(), SeededEntropy(1)
    for context in routine.since(MONDAY).unrolled(4).sample_codes(1, 2)[0].tolist():
        assert isinstance(state, Round)
        kernel = made.kernel(state)
        output = kernel.sample(context, rng)
        state, belief = made.advance(state, output), belief.after(kernel.likelihood(output))
        np.testing.assert_allclose(state.belief.weights, belief.weights, atol=1e-13)
    later = made.since("2024-01-03")
    assert later.model.start.isoformat() == "2024-01-03"
    assert later.kernel(later.start()) is made.kernel(0)


def test_it_is_found_by_name_and_runs_without_end_where_days_are_alike() -> None:
    policy = d.Policy("c0", delta=0.1)
    for name in ("capp", "efficient-fake"):
        make = partial(Spec.from_text(name, ["cyclic=false"]).make, policy=policy)
        running = without_end(alike(1), make, MONDAY)
        assert isinstance(running, Deception)
        assert running.cyclic is False
        assert without_end(random_routine(1), make, MONDAY) is None  # one mechanism for each kind, anew each day


@pytest.mark.parametrize("kind", KINDS)
def test_bad_use(kind: Any) -> None:
    policy, name = d.Policy("c0", delta=0.1), kind.__name__
    one = alike(1)
    fixed = d.MarkovChain(("c0", "c1"), [0.3, 0.7], [np.eye(2)])
    weekly = random_routine(1)
    for model, words in (
        (weekly.since(MONDAY), rf"one kind of day.* has 2: weekday, weekend; learn it with by=None, or use {name}"),
        (one.since(MONDAY, initial=[1, 0, 0]), "leave initial out"),
        (Routine({"day": fixed}, {("day", "day"): np.eye(2)}).since(MONDAY), "no one stationary distribution"),
        (one.then(alike(2), "2024-02-01").since(MONDAY), "habits that do not change"),
    ):
        with pytest.raises(OneDayError, match=words):
            kind(model, policy)
    slow = np.array([[1 - 1e-5, 1e-5], [1e-5, 1 - 1e-5]])
    regular = Routine({"day": d.MarkovChain(("c0", "c1"), [0.5, 0.5], [slow])}, {("day", "day"): slow})
    with pytest.raises(OneDayError, match=r"larger floor.*starts anew each day"):
        kind(regular.since(MONDAY), policy)
    with pytest.raises(DiscreetError, match="give True or False"):
        kind(one.since(MONDAY), policy, cyclic="no")
    with pytest.raises(DiscreetError, match="a routine has no first day"):
        kind(one, policy)
    day = kind(one.day("day"), policy)
    assert day.horizon is None
    with pytest.raises(DiscreetError, match="for days without end"):
        day.adversary  # noqa: B018
    with pytest.raises(DiscreetError, match="begin a new stream"):
        day.then(MONDAY)
