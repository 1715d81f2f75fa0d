"""The oracle of hidden models itself: its twins agree with each other, with the audit and with the oracle of chains."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.enumerate import worst
from discreet.contracts import AnyMachine
from discreet.kernels import FiniteKernel
from discreet.mechanisms import Adaptive, MaskSensitive, NoMask
from discreet.outputs import SKIPPED, Output
from tests.endless import oracle
from tests.endless.hidden_models import FAMILIES, HiddenCase, random_hidden_case
from tests.endless.hidden_oracle import (
    HiddenPaths,
    HiddenRecursion,
    context_paths,
    exact_excess,
    rounding,
    rows_of,
    search,
)
from tests.endless.oracle import FLOATS
from tests.endless.searched import SLACK, Event
from tests.strategies import RandomMechanism, searches

AGREEMENT = 1e-12
POSITIONS = 6  # every window of a random policy ends before


class Skippable(RandomMechanism):
    """Random kernels that also take skips."""

    def advance(self, state: Any, output: Output) -> Any:
        return super().advance(state, d.Suppressed() if output == SKIPPED else output)


def random_machine(case: HiddenCase, positions: int = POSITIONS, memory: bool | None = None) -> Skippable:
    remembers = case.seed % 2 == 0 if memory is None else memory
    return Skippable(case.unrolled(positions), case.policy, seed=case.seed, memory=remembers)


def gains_of(policy: d.Policy, contexts: tuple[str, ...], positions: int) -> tuple[Event, ...]:
    """Rows of which the excess is the gain."""
    return tuple(replace(row, delta=Fraction(0), cap=None) for row in rows_of(policy, contexts, positions))


def test_a_hidden_state_is_told_by_what_it_shows() -> None:
    """By hand: state 0 shows s or x with 1/2, state 1 shows x alone; each state stays with 3/4."""
    stays = [[0.75, 0.25], [0.25, 0.75]]
    model = d.HiddenMarkovModel.homogeneous(("s", "x"), [0.5, 0.5], stays, [[0.5, 0.5], [0.0, 1.0]], slots=3)
    policy = d.Policy([d.Secret("s"), d.Secret("soon", {"s"}, slots={1, 2}, at="any")], delta=0.125)
    rows = rows_of(policy, model.contexts, 3)
    paths = HiddenPaths(NoMask(model, policy), model, rows)
    # P(no s at 1 and 2): P(Y_1 = 0) = 1/2; from state 0 it is 1/2 (3/4 1/2 + 1/4), from state 1 1/4 1/2 + 3/4
    assert paths.priors == [Fraction(1, 4)] * 3 + [1 - Fraction(1, 2) * (Fraction(5, 16) + Fraction(7, 8))]
    # s at 0 tells state 0 for certain: s at 1 with 3/4 1/2, s at 2 with (9/16 + 1/16) 1/2
    shown = paths.start * np.array([path[0] == 0 for path in paths.paths])
    never = Fraction(3, 4) * Fraction(5, 16) + Fraction(1, 4) * Fraction(7, 8)
    assert paths.beliefs(shown) == [1, Fraction(3, 8), Fraction(5, 16), 1 - never]
    assert paths.along([d.Released("s")]).excess == Fraction(5, 8)
    assert paths.tree(1).event == rows[0]
    last = HiddenPaths(NoMask(model, policy), model, rows[2:3])
    assert last.tree(1).excess == Fraction(5, 16) - Fraction(3, 8)  # a row ahead of what was output is judged too


def test_paths_are_all_paths_of_pairs() -> None:
    for seed in searches(14):
        case = random_hidden_case(seed, contexts=2)
        model, listed = case.unrolled(3), dict[tuple[int, ...], Fraction]()
        initial, step, emission = model.initial.tolist(), model.transitions[0].tolist(), model.emissions[0].tolist()
        for states in itertools.product(range(len(initial)), repeat=3):
            for path in itertools.product(range(2), repeat=3):
                chance = Fraction(initial[states[0]])
                for a, b in itertools.pairwise(states):
                    chance *= Fraction(step[a][b])
                for y, c in zip(states, path, strict=True):
                    chance *= Fraction(emission[y][c])
                listed[path] = listed.get(path, Fraction(0)) + chance
        found = context_paths(model)
        whole, all_of_it = sum(found.values()), sum(listed.values())
        assert {path: Fraction(w, whole) for path, w in found.items()} == {
            path: chance / all_of_it for path, chance in listed.items() if chance
        }, seed


@pytest.mark.parametrize("skips", [(), (0,), (1, 2)])
def test_the_twins_agree_on_random_mechanisms(skips: tuple[int, ...]) -> None:
    for seed in searches(14):
        case = random_hidden_case(seed, contexts=2)
        machine, model = random_machine(case), case.unrolled(POSITIONS)
        rows = rows_of(case.policy, case.contexts, POSITIONS)
        exact = HiddenPaths(machine, model, rows).tree(3, skips)
        found = search(machine, model, rows, 3, skips=skips, budget=10**6)
        assert found.complete
        assert abs(found.worst.excess - exact.excess) < FLOATS, seed
        assert exact.event is not None
        assert exact_excess(machine, model, exact.event, exact.outputs) == exact.excess, seed


def test_beliefs_agree_row_by_row() -> None:
    """Along random outputs and a skip, floats against paths and whole numbers against paths."""
    for seed in searches(14):
        case = random_hidden_case(seed, contexts=2 + seed % 2 if seed % 7 != 4 else 2)
        machine, model = random_machine(case), case.unrolled(POSITIONS)
        rows = rows_of(case.policy, case.contexts, POSITIONS)
        recursion, rng = HiddenRecursion(machine, model, rows), np.random.default_rng(seed)
        masses, state, outputs = recursion.start(), machine.start(), list[Output]()
        for t in range(4):
            column = None
            if t != seed % 5:
                kernel = machine.kernel(state)
                chances = recursion.chances(masses, kernel.matrix)
                k = int(rng.choice(len(chances), p=chances / chances.sum()))
                column = kernel.matrix[:, k]
            outputs.append(SKIPPED if column is None else kernel.outputs[k])
            shown = np.ones((len(recursion.contexts), 1)) if column is None else column[:, None]
            excess = recursion.beliefs(masses, shown)[:, 0] - recursion.priors - recursion.deltas
            exact = [exact_excess(machine, model, row, outputs) for row in rows]
            np.testing.assert_allclose(excess, [float(e) for e in exact], rtol=0, atol=rounding(model))
            for e, row in enumerate(rows):
                assert HiddenPaths(machine, model, [row]).along(outputs).excess >= exact[e], (seed, row)
            masses, state = recursion.push(masses, column), machine.advance(state, outputs[-1])


FINITE: dict[str, Callable[[HiddenCase, int], AnyMachine]] = {
    "NoMask": lambda case, N: NoMask(case.unrolled(N), case.policy),
    "MaskSensitive": lambda case, N: MaskSensitive(case.unrolled(N), case.policy),
    "random": lambda case, N: random_machine(case, N, memory=False),
    "random, memory": lambda case, N: random_machine(case, N, memory=True),
    "suppress": lambda case, N: Adaptive(case.unrolled(N), case.policy, **case.options("suppress")),
    "deceive": lambda case, N: Adaptive(case.unrolled(N), case.policy, **case.options("deceive")),
    "generalize": lambda case, N: Adaptive(case.unrolled(N), case.policy, **case.options("generalize")),
}


def finite_case(seed: int, positions: int) -> HiddenCase:
    """A case whose secrets are about the positions of a finite model; windows are cut to them."""
    case = random_hidden_case(seed, contexts=2 + seed % 2 if FAMILIES[seed % len(FAMILIES)] != "order two" else 2)
    secrets = [
        secret if secret.slots is None else replace(secret, slots=frozenset(u % positions for u in secret.slots))
        for secret in case.policy.secrets
    ]
    return replace(case, policy=d.Policy(secrets))


@pytest.mark.parametrize("kind", FINITE)
def test_the_worst_gain_is_the_audits_and_the_enumerations(kind: str) -> None:
    for seed in searches(14):
        positions = 2 + seed % 2
        case = finite_case(seed, positions)
        machine: Any = FINITE[kind](case, positions)
        gain = HiddenPaths(machine, machine.model, gains_of(case.policy, case.contexts, positions)).tree(positions)
        enumerated, _ = worst(machine)
        assert float(gain.excess) == pytest.approx(max(enumerated, 0), abs=AGREEMENT), seed
        audit = d.audit(machine)
        assert audit.exact
        assert float(gain.excess) == pytest.approx(audit.worst_gain, abs=AGREEMENT), seed
        excess = HiddenPaths(machine, machine.model, rows_of(case.policy, case.contexts, positions)).tree(positions)
        found = search(machine, machine.model, rows_of(case.policy, case.contexts, positions), positions)
        assert float(excess.excess) == pytest.approx(float(found.worst.excess), abs=AGREEMENT), seed
        if isinstance(machine, Adaptive):
            assert not excess.breached, (seed, float(excess.excess))


class OverPairs:
    """A machine as one over the chain of pairs (hidden state, context), pair `y n + c`; its kernels look at c alone."""

    def __init__(self, machine: Any, states: int) -> None:
        self.machine, self.policy, self.states, self.n = machine, machine.policy, states, len(machine.model.contexts)
        privates = len(machine.private_contexts)
        self.private_contexts = np.repeat(np.arange(states) * self.n, privates) + np.tile(
            machine.private_contexts, states
        )
        self.model: Any = None

    def remember(self, memory: int | None, context: int) -> int:
        privates = len(self.machine.private_contexts)
        y, c = divmod(context, self.n)
        return y * privates + int(self.machine.remember(None if memory is None else memory % privates, c))

    def start(self) -> Any:
        return self.machine.start()

    def kernel(self, state: Any) -> FiniteKernel:
        kernel = self.machine.kernel(state)
        return FiniteKernel(kernel.outputs, np.tile(kernel.weights, (self.states, 1)), kernel.total)

    def advance(self, state: Any, output: Output) -> Any:
        return self.machine.advance(state, output)


@pytest.mark.parametrize("skips", [(), (1,)])
def test_a_hidden_model_is_a_chain_over_pairs(skips: tuple[int, ...]) -> None:
    """The oracle of chains, which was proven elsewhere, gives the same of the chain over pairs."""
    for seed in searches(14):
        case = random_hidden_case(seed, contexts=2)
        machine, model, n = random_machine(case), case.unrolled(POSITIONS), 2
        K, emission = len(case.initial), model.emissions[0]
        step = (model.transitions[0][:, :, None] * emission).reshape(K, K * n)
        chain = d.MarkovChain.homogeneous(
            [f"{y} {c}" for y in range(K) for c in range(n)],
            (model.initial[:, None] * emission).ravel(),
            np.repeat(step, n, axis=0),
            slots=POSITIONS,
        )
        rows = rows_of(case.policy, case.contexts, POSITIONS)
        lifted = [replace(row, members=frozenset(y * n + c for y in range(K) for c in row.members)) for row in rows]
        pairs = oracle.search(OverPairs(machine, K), chain, lifted, 3, skips=skips, budget=10**6)
        found = search(machine, model, rows, 3, skips=skips, budget=10**6)
        assert pairs.complete
        assert found.complete
        assert abs(pairs.worst.excess - found.worst.excess) < 2 * FLOATS, seed


def test_a_window_that_is_not_judged_whole_is_an_error() -> None:
    policy = d.Policy([d.Secret("soon", {"s"}, slots={2, 7}, at="any")])
    with pytest.raises(ValueError, match="judge at least 8 positions"):
        rows_of(policy, ("s", "x"), 7)
    assert len(rows_of(policy, ("s", "x"), 8)) == 1


def test_random_models_are_of_every_kind() -> None:
    """Few and many states, one context for a state, impossible steps, priors near 0 and 1, every kind of secret."""
    cases = [random_hidden_case(seed) for seed in range(140)]
    assert {len(case.initial) for case in cases} == {2, 3, 4}
    assert {len(case.contexts) for case in cases} == {2, 3, 4}
    assert {case.family for case in cases} == set(FAMILIES)
    assert any((case.transition == 0).any() for case in cases)
    first = np.concatenate([case.unrolled(2).prior.ravel() for case in cases])
    assert ((first > 0) & (first < 1e-5)).any()
    assert ((first < 1) & (first > 1 - 1e-5)).any()
    kinds = {(secret.at, secret.slots is None) for case in cases for secret in case.policy.secrets}
    assert kinds == {("each", True), ("each", False), ("any", False)}
    assert {case.policy.delta_of(secret) for case in cases for secret in case.policy.secrets} >= {0.0, 0.02, 0.4}


def test_what_is_too_near_for_floats_is_decided_exactly() -> None:
    """A gain of delta + 2^-40 is none too much; 2^-70 more is."""
    decided = 0
    for seed in searches(14):
        case = random_hidden_case(seed, contexts=2)
        machine, model = random_machine(case), case.unrolled(POSITIONS)
        worst_gain = HiddenPaths(machine, model, gains_of(case.policy, case.contexts, POSITIONS)).tree(3)
        assert worst_gain.event is not None
        if worst_gain.excess <= SLACK:
            continue
        for little, breached in ((Fraction(0), False), (Fraction(1, 2**70), True)):
            row = replace(worst_gain.event, delta=worst_gain.excess - SLACK - little)
            assert search(machine, model, [row], 3, budget=10**6).worst.breached == breached, seed
            assert HiddenPaths(machine, model, [row]).tree(3).breached == breached, seed
        decided += 1
    assert decided > 7
