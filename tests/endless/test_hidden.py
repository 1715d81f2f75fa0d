"""Adaptive over hidden Markov models without end, enumerated: no gain above delta + 2^-40 at any position, ever.

The oracle is hidden_oracle.py: it lists paths and knows nothing of how the mechanism keeps its belief.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.contracts import AnyMachine
from discreet.mechanisms import Adaptive
from discreet.outputs import SKIPPED, Output
from tests.endless.hidden_models import WINDOWS, Family, HiddenCase, one_secret, random_hidden_case
from tests.endless.hidden_oracle import HiddenPaths, rows_of, search
from tests.endless.searched import Search
from tests.strategies import searches

REFUSED = 0.1
"""The largest share of dense and of forgetful models that may be refused because rows matter for too long.

Those with a secret of delta 0 are not counted: its rows may matter for ever."""

AHEAD = 4
"""Positions after the last output whose rows are judged too, at least."""

BOTH = [(outputs, memory) for outputs in ("suppress", "deceive", "generalize") for memory in ("last", "none")]


def adaptive(case: HiddenCase, outputs: str, memory: str) -> AnyMachine | None:
    """The mechanism; None where the model is refused, for rows that stay live too long."""
    try:
        return Adaptive(case.endless(), case.policy, memory=memory, **case.options(outputs))  # type: ignore[arg-type]
    except d.DiscreetError as refused:
        if "later" not in str(refused):  # "... slots later": how far ahead a row would have to be judged
            raise
        return None


def searched(machine: AnyMachine, case: HiddenCase, positions: int, **options: Any) -> Search:
    judged = max(positions + AHEAD, WINDOWS)
    rows = rows_of(case.policy, case.contexts, judged)
    return search(machine, case.unrolled(judged), rows, positions, seed=case.seed, **options)


class Tally:
    """How many models were tried and refused, and how often something other than silence was possible."""

    def __init__(self) -> None:
        self.tried, self.refused, self.decisions, self.telling = Counter[str](), Counter[str](), 0, 0

    def mechanism(self, case: HiddenCase, outputs: str, memory: str) -> AnyMachine | None:
        machine = adaptive(case, outputs, memory)
        if min(case.policy.delta_of(secret) for secret in case.policy.secrets) > 0:
            self.tried[case.family] += 1
            self.refused[case.family] += machine is None
        return machine

    def holds(self, found: Search, case: HiddenCase) -> None:
        assert not found.worst.breached, (case.seed, case.family, float(found.worst.excess), found.worst)
        self.decisions += found.decisions
        self.telling += found.telling

    def is_worth_something(self) -> None:
        """A promise that is kept by refusing or by silence is no release."""
        assert self.refused["dense"] <= REFUSED * self.tried["dense"], self.refused
        assert self.refused["forgetful"] <= REFUSED * self.tried["forgetful"], self.refused
        assert self.telling > self.decisions / 4


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_no_gain_exceeds_its_delta(outputs: str, memory: str) -> None:
    tally = Tally()
    for seed in searches(21, full=42):
        case = random_hidden_case(seed)
        machine = tally.mechanism(case, outputs, memory)
        if machine is not None:
            tally.holds(searched(machine, case, 2 + seed % 4, budget=16), case)
    tally.is_worth_something()


TELLING: list[tuple[int, Family, int, tuple[int, ...]]] = [
    (0, "sticky", 0, ()),
    (2, "dense", 0, ()),
    (4, "dense", 0, (1, 3)),
    (12, "dense", 0, ()),
    (8, "sparse", 0, ()),
    (2, "order two", 0, ()),
    (4, "order two", 0, (1, 3)),
    (5, "order two", 4, ()),
    (7, "order two", 4, ()),
    (8, "order two", 0, ()),
    (11, "order two", 0, ()),
]
"""Seed, family, window and skips: models of two contexts on which mechanisms of test_hidden_breakers.py breach."""


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_no_gain_exceeds_its_delta_where_mistakes_show(outputs: str, memory: str) -> None:
    tally = Tally()
    for seed, family, window, skips in TELLING:
        case = one_secret(seed, family, window, contexts=2)
        machine = tally.mechanism(case, outputs, memory)
        if machine is not None:
            tally.holds(searched(machine, case, 5, skips=skips, budget=40), case)
    tally.is_worth_something()


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_no_gain_exceeds_its_delta_over_skips(outputs: str, memory: str) -> None:
    tally = Tally()
    for seed in searches(14, full=28):
        case, rng = random_hidden_case(seed + 10_000), np.random.default_rng([seed, 5])
        positions = 3 + seed % 3
        skips = {
            0: [int(rng.integers(positions))],
            1: [0],
            2: [1, 2],
            3: [int(t) for t in np.flatnonzero(rng.random(positions) < 0.4)],
        }[seed % 4]
        machine = tally.mechanism(case, outputs, memory)
        if machine is not None:
            tally.holds(searched(machine, case, positions, skips=skips, budget=14), case)
    tally.is_worth_something()


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_whole_trees_of_the_smallest_in_fractions(outputs: str, memory: str) -> None:
    """All outputs of two or three positions, all paths of six, no floats at all."""
    complete = 0
    for seed in searches(7):
        case = random_hidden_case(seed + 20_000, contexts=2)
        machine = adaptive(case, outputs, memory)
        if machine is None:
            continue
        rows = rows_of(case.policy, case.contexts, WINDOWS)
        skips = (1,) if seed % 3 == 0 else ()
        worst = HiddenPaths(machine, case.unrolled(WINDOWS), rows).tree(2 + seed % 2, skips)
        assert not worst.breached, (seed, case.family, float(worst.excess), worst)
        complete += 1
    assert complete


@pytest.mark.parametrize(("outputs", "memory"), BOTH)
def test_no_gain_exceeds_its_delta_on_the_way_to_far_positions(outputs: str, memory: str) -> None:
    """Rows that were dropped long ago are judged too; half of the kernels follow the gain that is nearest its limit."""
    families: tuple[Family, ...] = ("sticky", "order two", "lumped")
    tally = Tally()
    for seed in searches(3):
        case = random_hidden_case(seed + 30_000, families[seed % 3], contexts=2)
        machine = tally.mechanism(case, outputs, memory)
        if machine is not None:
            skips = {t for t in range(20) if t % 7 == 6} if seed % 2 else set()
            tally.holds(searched(machine, case, 20, skips=skips, budget=40), case)
    assert sum(tally.refused.values()) < sum(tally.tried.values())


@pytest.mark.parametrize("memory", ["none", "last"])
def test_a_long_walk_of_drawn_outputs_stays_within_delta(memory: str) -> None:
    """One sequence of 30 outputs, drawn as a person's would be, every row judged after every one."""
    walked = 0
    for seed in searches(6):
        case = random_hidden_case(seed + 40_000)
        machine = adaptive(case, "deceive" if seed % 2 else "suppress", memory)
        if machine is None:
            continue
        found = searched(Drawn(machine, case, seed), case, 30, budget=30)
        assert found.complete
        assert not found.worst.breached, (seed, case.family, float(found.worst.excess), found.worst)
        walked += 1
    assert walked


class Drawn:
    """A mechanism along contexts and outputs that are drawn once and for all: its tree is one path."""

    def __init__(self, machine: AnyMachine, case: HiddenCase, seed: int) -> None:
        self.machine, self.model, self.policy = machine, machine.model, machine.policy
        self.private_contexts = machine.private_contexts
        self.rng = np.random.default_rng([seed, 41])
        self.contexts = case.unrolled(40).sample_codes(1, seed)[0]
        self.kernels: dict[int, Any] = {}
        self.private: int | None = None

    def start(self) -> tuple[int, Any]:
        return 0, self.machine.start()

    def remember(self, memory: int | None, context: int) -> int:
        return self.machine.remember(memory, context)

    def kernel(self, state: tuple[int, Any]) -> Any:
        t, inner = state
        if t not in self.kernels:
            kernel: Any = self.machine.kernel(inner)
            self.private = self.machine.remember(self.private, int(self.contexts[t]))
            weights = kernel.weights[self.private] / float(kernel.total)
            self.kernels[t] = OneOutput(kernel, int(self.rng.choice(len(weights), p=weights / weights.sum())))
        return self.kernels[t]

    def advance(self, state: tuple[int, Any], output: Output) -> tuple[int, Any]:
        return state[0] + 1, self.machine.advance(state[1], output)


class OneOutput:
    """One column of a kernel. Likelihoods matter up to a factor only, so that rows need not sum to the total."""

    def __init__(self, kernel: Any, column: int) -> None:
        self.outputs, self.total = (kernel.outputs[column],), kernel.total
        self.weights = kernel.weights[:, [column]]


def rows_are_alike(machine: AnyMachine, state: Any) -> bool:
    """Whether all private states of a context have one row."""
    kernel: Any = machine.kernel(state)
    weights, contexts = kernel.weights, np.asarray(machine.private_contexts)
    return all((weights[contexts == c] == weights[contexts == c][0]).all() for c in np.unique(contexts))


@pytest.mark.parametrize("outputs", ["suppress", "deceive", "generalize"])
def test_rows_are_alike_after_a_skip_and_not_always(outputs: str) -> None:
    differed = 0
    for seed in searches(7):
        case = random_hidden_case(seed, "sticky" if seed % 2 else "dense", contexts=3)
        machine = adaptive(case, outputs, "last")
        if machine is None:
            continue
        rng, state = np.random.default_rng(seed), machine.start()
        before: Output | None = None
        for _ in range(8):
            kernel: Any = machine.kernel(state)
            if before == SKIPPED:
                assert rows_are_alike(machine, state), seed
            elif before is not None:
                differed += not rows_are_alike(machine, state)
            spoken = [output for output in kernel.outputs if kernel.likelihood(output).any()]
            before = SKIPPED if rng.random() < 0.3 else spoken[int(rng.integers(len(spoken)))]
            state = machine.advance(state, before)
    assert differed  # memory is looked at elsewhere, so the test can tell


@pytest.mark.parametrize("memory", ["none", "last"])
def test_a_skip_at_the_start_is_as_if_nobody_looked(memory: str) -> None:
    """After skips alone the belief is the prior: the kernel is that of a model which starts there."""
    for seed in searches(6):
        case = random_hidden_case(seed, "dense", contexts=2)
        machine = adaptive(case, "suppress", memory)
        if machine is None:
            continue
        state = machine.start()
        for _ in range(3):
            state = machine.advance(state, SKIPPED)
        assert rows_are_alike(machine, state), seed
        found = searched(machine, case, 4, skips=(0, 1, 2), budget=40)
        assert found.complete
        assert not found.worst.breached, seed


def test_ever_is_no_secret() -> None:
    model = random_hidden_case(0, "dense").endless()
    with pytest.raises(d.DiscreetError, match="slots"):
        Adaptive(model, d.Policy([d.Secret("ever", {"c0"}, at="any")], delta=0.1))


def test_what_never_forgets_is_refused() -> None:
    homogeneous: Any = d.HiddenMarkovModel.homogeneous
    model = homogeneous(("a", "b"), [0.5, 0.5], np.eye(2), [[0.9, 0.1], [0.1, 0.9]], None)
    with pytest.raises(d.DiscreetError, match="later"):
        Adaptive(model, d.Policy(["a"], delta=0.1))


def test_a_secret_of_some_positions_is_about_no_other() -> None:
    """Positions count from the start of the stream: once its rows are settled, everything may be told."""
    homogeneous: Any = d.HiddenMarkovModel.homogeneous
    model = homogeneous(("a", "b"), [0.5, 0.5], np.full((2, 2), 0.5), [[0.75, 0.25], [0.25, 0.75]], None)
    policy = d.Policy([d.Secret("then", {"a"}, slots={1})], delta=0.1)
    machine: Any = Adaptive(model, policy, memory="none")
    state = machine.start()
    told = []
    for _ in range(4):
        kernel = machine.kernel(state)
        told.append(min(kernel.likelihood(d.Released(c))[k] for k, c in enumerate("ab")) > 0.99)
        state = machine.advance(state, d.Suppressed())
    assert told == [True, False, True, True]


def test_what_a_stream_of_positions_cannot_do_is_said_in_its_own_words() -> None:
    still = d.HiddenMarkovModel.homogeneous(
        ("a", "b"), [0.5, 0.5], [[0.99999, 0.00001], [0.00001, 0.99999]], [[0.9, 0.1], [0.1, 0.9]], None
    )
    with pytest.raises(d.DiscreetError, match="hidden model a transition that mixes") as caught:
        d.mechanisms.Adaptive(still, d.Policy(["a"], delta=0.01), outputs="suppress")
    assert "routine" not in str(caught.value)
    quick = d.HiddenMarkovModel.homogeneous(("a", "b"), [0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]], [[0.9, 0.1], [0.1, 0.9]])
    session = d.Session(d.mechanisms.Adaptive(quick, d.Policy(["a"], delta=0.2), outputs="suppress"))
    with pytest.raises(d.DiscreetError, match=r"positions and no dates.*new session"):
        session.change(policy=d.Policy(["b"], delta=0.2))
