"""Why the truth was withheld: the rows that are named, held against an enumeration of every path."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from discreet import Policy, Routine, Secret
from discreet.adversary.rows import Rows
from discreet.mechanisms import Adaptive
from discreet.mechanisms.adaptive.slots import Slot
from discreet.mechanisms.adaptive.withheld import BINDING, InTheWay, Withheld, _in_the_way, _slot, withheld
from discreet.models import MarkovChain
from discreet.numerics import SLACK, TOTAL, BoolArray, FloatArray, IntArray
from discreet.outputs import SKIPPED, SUPPRESSED, Released
from tests.endless.routines import random_case
from tests.endless.test_observers import adaptive, others_of
from tests.strategies import enough, searches

DAYS, SLOTS = 2, 3
FORMS = [("suppress", "last"), ("suppress", "none"), ("deceive", "none"), ("generalize", "last")]


class Paths:
    """Every path of a few days: what an observer believes by columns, in plain loops."""

    def __init__(self, mechanism: Adaptive, chain: MarkovChain) -> None:
        every = itertools.product(range(len(chain.contexts)), repeat=len(chain.transitions) + 1)
        self.paths = np.array([path for path in every if self._chance(chain, path) > 0])
        self.chance = np.array([self._chance(chain, path) for path in self.paths])
        self.mechanism = mechanism
        self._privates: dict[frozenset[int], IntArray] = {}

    @staticmethod
    def _chance(chain: MarkovChain, path: Any) -> float:
        steps = [chain.transitions[t, path[t], path[t + 1]] for t in range(len(path) - 1)]
        return float(chain.initial[path[0]] * np.prod(steps))

    def privates(self, skips: set[int]) -> IntArray:
        """(paths, slots): the private state; memory starts anew after a skip."""
        found = np.zeros(self.paths.shape, dtype=np.int64)
        for k, path in enumerate(self.paths):
            memory: int | None = None
            for t, context in enumerate(path):
                memory = self.mechanism.remember(None if t - 1 in skips else memory, int(context))
                found[k, t] = memory
        return found

    def belief(self, columns: list[FloatArray], skips: set[int], visited: BoolArray) -> float:
        """P(visited | outputs with these columns)."""
        key = frozenset(skips)
        if key not in self._privates:
            self._privates[key] = self.privates(skips)
        privates = self._privates[key]
        weight = self.chance.copy()
        for t, column in enumerate(columns):
            weight *= column[privates[:, t]]
        return float(weight[visited].sum() / weight.sum())

    def visited(self, secret: Secret, opens: int, closes: int) -> BoolArray:
        """(paths,): whether a path is in the secret at a slot from one to another at which it holds."""
        index = {context: k for k, context in enumerate(self.mechanism.model.contexts)}
        member = np.isin(self.paths, [index[one] for one in secret.contexts])
        held = [opens <= t <= closes and (secret.slots is None or t % SLOTS in secret.slots) for t in range(6)]
        return np.asarray((member & np.array(held[: self.paths.shape[1]])).any(axis=1))


def moved(kernel: Any, private: Any, truth: int, instead: int, share: float) -> FloatArray:
    """The kernel that shows the truth so much more often in these private states."""
    matrix = np.array(kernel.matrix)
    matrix[private, truth] += share * matrix[private, instead]
    matrix[private, instead] *= 1 - share
    return matrix


Visit = tuple[Adaptive, Any, int, int, Withheld, Paths, list[FloatArray], set[int]]


def visits(seed: int, outputs: str, memory: str, skip: int | None = None) -> Iterator[Visit]:
    """Public states along a random stream, with each private state and output that was possible and not the truth."""
    case = random_case(seed, "total", contexts=3, slots=SLOTS)
    mechanism = Adaptive(case.endless, case.policy, memory=memory, **case.options(outputs))  # type: ignore[arg-type]
    paths, rng = Paths(mechanism, case.unrolled(DAYS)), np.random.default_rng([seed, 5])
    state, columns, skips = mechanism.start(), [], set[int]()
    for t in range(4):
        if t == skip:
            state, skips = mechanism.advance(state, SKIPPED), {t}
            columns.append(np.ones(len(mechanism.private_contexts)))
            continue
        kernel: Any = mechanism.kernel(state)
        likely = state.belief.predicted()
        for private in np.flatnonzero(likely > 1e-3).tolist():
            for o in np.flatnonzero(kernel.weights[private] > TOTAL >> 10).tolist():
                why = mechanism.withheld(state, private, kernel.outputs[o])
                if why is not None:
                    yield mechanism, state, private, o, why, paths, columns, skips
        column = likely @ kernel.matrix
        output = kernel.outputs[rng.choice(len(column), p=column / column.sum())]
        columns = [*columns, kernel.likelihood(output)]
        state = mechanism.advance(state, output)


def alike(mechanism: Adaptive, state: Any, private: int) -> Any:
    """The private states that act as this one does: after a skip, all of its context."""
    contexts = mechanism.private_contexts
    return np.flatnonzero(contexts == contexts[private]) if state.skipped else np.array([private])


@pytest.mark.parametrize(("outputs", "memory"), FORMS)
@pytest.mark.parametrize("skip", [None, 1])
def test_showing_the_truth_would_break_the_named_rows_and_no_other(outputs: str, memory: str, skip: int | None) -> None:
    named = 0
    for seed in searches(8, full=12):
        for mechanism, state, private, o, why, paths, before, skips in visits(seed, outputs, memory, skip):
            kernel: Any = mechanism.kernel(state)
            context = int(mechanism.private_contexts[private])
            truth = int(mechanism.vocabulary.worth[context].argmax())
            assert why.share == kernel.matrix[private, truth]
            assert why.rows, f"seed {seed}: a programme that was solved withholds nothing without a reason"
            rows = {(one.secret, one.opens): one for one in why.rows}
            states = alike(mechanism, state, private)
            always, hardly = (moved(kernel, states, truth, o, share) for share in (1.0, BINDING / 2))
            for secret, opens, closes in events(mechanism):
                visited = paths.visited(secret, opens, closes)
                one = rows.get((secret.name, opens))
                if one is not None:
                    side = truth if one.by == "truth" else o
                    found = paths.belief([*before, always[:, side]], skips, visited)
                    assert found == pytest.approx(one.belief, abs=1e-9), (seed, one)
                    assert found > one.limit
                    named += 1
                    assert one.own == _is_itself(mechanism, secret, context, state.slot, one)
                    continue
                limit = limit_of(mechanism, paths, secret, visited)
                for side in (truth, o):
                    if hardly[:, side].any():
                        assert paths.belief([*before, hardly[:, side]], skips, visited) <= limit + SLACK, (seed, opens)
    assert named > enough(25)


def test_before_several_observers_each_row_is_believed_as_its_own_observer_does() -> None:
    before = set()
    for seed in searches(8):
        case = random_case(seed, "total", contexts=3, slots=SLOTS)
        mechanism = adaptive(case, others_of(case), "suppress", "last")
        assert mechanism is not None, seed
        state = mechanism.start()
        kernel: Any = mechanism.kernel(state)
        each = [Paths(mechanism, model.unrolled(DAYS)) for model in (case.endless, *mechanism.observers)]
        secrets = {secret.name: secret for secret in case.policy.secrets}
        for private in np.flatnonzero(state.belief.predicted() > 1e-3).tolist():
            why = mechanism.withheld(state, private, SUPPRESSED)
            assert why is not None
            assert why.rows or why.share > 1 - 1e-9
            truth, silence = int(mechanism.private_contexts[private]), mechanism.vocabulary.silence
            always = moved(kernel, [private], truth, silence, 1.0)
            for one in why.rows:
                if one.closes < DAYS * SLOTS:
                    paths = each[one.observer]
                    visited = paths.visited(secrets[one.secret], one.opens, one.closes)
                    found = paths.belief([always[:, truth if one.by == "truth" else silence]], set(), visited)
                    assert found == pytest.approx(one.belief, abs=1e-9), (seed, one)
                    before.add(one.observer)
    assert before == {0, 1, 2}


def _is_itself(mechanism: Adaptive, secret: Secret, context: int, t: int, one: InTheWay) -> bool:
    inside = one.opens <= t <= one.closes and (secret.slots is None or t % SLOTS in secret.slots)
    return mechanism.model.contexts[context] in secret.contexts and inside


def events(mechanism: Adaptive) -> Iterator[tuple[Secret, int, int]]:
    """What secrets are about in the days that are enumerated."""
    adversary: Any = mechanism.adversary
    for g, secret in enumerate(mechanism.policy.secrets):
        for t in range(DAYS * SLOTS):
            if not adversary.secrets.active[g, t % SLOTS]:
                continue
            if secret.at == "each":
                yield secret, t, t
            elif (window := adversary.window(g, t)).opens == t and window.closes < DAYS * SLOTS:
                yield secret, t, window.closes


def limit_of(mechanism: Adaptive, paths: Paths, secret: Secret, visited: BoolArray) -> float:
    prior = paths.belief([], set(), visited)
    return prior + mechanism.policy.row_delta(secret, prior)


def without(slot: Slot, rows: tuple[Rows, ...], gone: BoolArray) -> tuple[Slot, tuple[Rows, ...]]:
    """The slot of one observer without some rows."""
    (view,), (own,) = slot.views, rows
    kept = view._replace(beyond=view.beyond[~gone], coefficients=view.coefficients[~gone])
    return slot._replace(views=(kept,)), (own.only(~gone),)


@pytest.mark.slow("compares with a slow twin on many random cases")
@pytest.mark.parametrize(("outputs", "memory"), FORMS)
def test_without_the_named_rows_more_is_shown_and_without_those_that_bind_nowhere_as_much(
    outputs: str, memory: str
) -> None:
    freed = 0
    for seed in searches(12):
        for mechanism, state, private, o, why, *_ in visits(seed, outputs, memory):
            machine: Any = mechanism.machine
            slot, rows = _slot(machine, state)
            decision = machine.decider.decided(slot)
            weights = decision.weights / TOTAL
            gone = np.isin(
                rows[0].secret * 1000 + rows[0].opens,
                [machine.adversary.names.index(one.secret) * 1000 + one.opens for one in why.rows],
            )
            freer, left = without(slot, rows, gone)
            here = slot.private == private
            context = int(mechanism.private_contexts[private])
            truth = int(mechanism.vocabulary.worth[context].argmax())
            pair = weights[:, [truth, o]]
            still = _in_the_way(machine.adversary, 0, freer.views[0], left[0], pair, here, context, state.slot)
            room = min((one.room for one in still), default=1.0)
            assert room > BINDING
            worth = mechanism.vocabulary.worth[context]
            better = float(slot.mass[here][0]) * weights[here][0, o] * room * (worth[truth] - worth[o])
            if better > 1e-5:  # values are perturbed by less than 1e-7 to break ties
                assert machine.decider.decided(freer).worth >= decision.worth + 0.99 * better, seed
                freed += 1
            same = machine.decider.decided(without(slot, rows, ~tight(mechanism, slot, weights))[0])
            assert same.worth == pytest.approx(decision.worth, abs=1e-6), seed
    assert freed > 10


def tight(mechanism: Adaptive, slot: Slot, weights: FloatArray) -> BoolArray:
    """(J,): rows that some output meets with equality; of one that is never told, those that a state would exceed."""
    coefficients, told = slot.views[0].coefficients, slot.mass @ weights
    allowed = np.isfinite(mechanism.vocabulary.worth[slot.context])
    met = coefficients @ (slot.mass[:, None] * weights) > -1e-9 * told
    exceeded = ((coefficients > 0)[:, :, None] & allowed).any(axis=1)  # (J, O)
    return np.asarray(np.where(told > 1e-9, met, exceeded).any(axis=1))


def clinic_after_gym() -> Adaptive:
    """Who is at the gym may be at the clinic next: showing the gym tells of the clinic."""
    contexts = ("home", "gym", "clinic", "other", "unknown")
    step = np.array(
        [
            [0.80, 0.17, 0.01, 0.01, 0.01],
            [0.40, 0.10, 0.48, 0.01, 0.01],
            [0.90, 0.05, 0.03, 0.01, 0.01],
            [0.90, 0.07, 0.01, 0.01, 0.01],
            [0.90, 0.07, 0.01, 0.01, 0.01],
        ]
    )
    chain = MarkovChain.homogeneous(contexts, np.array([0.96, 0.01, 0.01, 0.01, 0.01]), step, 4)
    routine = Routine({"day": chain}, {("day", "day"): step})
    policy = Policy([Secret("clinic", {"clinic"}, slots={2})], delta=0.1)
    return Adaptive(routine.since("2026-11-16"), policy)


def test_silence_at_the_gym_is_because_of_the_clinic_an_hour_later() -> None:
    mechanism = clinic_after_gym()
    state = mechanism.advance(mechanism.start(), Released("home"))
    home, gym, clinic = range(3)
    why = withheld(mechanism.machine, state, mechanism.remember(home, gym), SUPPRESSED)
    assert why is not None
    assert why.share == 0.0
    ((secret, opens, closes, by, belief, limit, room, own, observer),) = why.rows
    assert (secret, opens, closes, by, own, observer, room) == ("clinic", 2, 2, "truth", False, 0, 0.0)
    assert belief == pytest.approx(0.48)
    assert limit == pytest.approx(mechanism.model.prior_at(2)[clinic] + 0.1, abs=0.01)
    later = mechanism.advance(state, SUPPRESSED)
    itself = withheld(mechanism.machine, later, mechanism.remember(gym, clinic), SUPPRESSED)
    assert itself is not None
    assert itself.rows[0].own
    assert itself.rows[0].belief == 1.0


def test_where_chance_chose_the_share_is_said_and_what_is_true_of_nothing_is_none() -> None:
    mechanism = clinic_after_gym()
    state = mechanism.advance(mechanism.start(), Released("home"))
    home = 0
    kernel: Any = mechanism.kernel(state)
    private = mechanism.remember(home, home)
    why = withheld(mechanism.machine, state, private, SUPPRESSED)
    assert why is not None
    assert why.share == kernel.matrix[private, home]
    assert 0 < why.share < 1
    assert {one.by for one in why.rows} == {"told"}, "silence alone would tell of the clinic"
    assert withheld(mechanism.machine, state, private, Released("home")) is None
    assert withheld(mechanism.machine, mechanism.start(), private, SUPPRESSED) is None, "impossible in the first slot"
