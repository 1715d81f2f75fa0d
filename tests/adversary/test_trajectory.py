"""The judge of whole trajectories against sums over every path, and against smoothing forwards and backwards."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.adversary import trajectory
from discreet.adversary.trajectory import SAME, TrajectoryJudge
from discreet.errors import DiscreetError
from discreet.models import HiddenMarkovModel
from discreet.models.hidden.endless import EndlessHidden
from discreet.numerics import FloatArray, exceeds
from discreet.policy import Policy, Secret
from tests.strategies import labels, random_rows, searches


class Plain:
    """Private states are contexts; with memory, pairs with the one before."""

    def __init__(self, model: Any, memory: bool = False) -> None:
        self.model, self.memory, n = model, memory, len(model.contexts)
        every = np.arange(n)
        self.private_contexts = np.concatenate([every, np.tile(every, n)]) if memory else every

    def remember(self, memory: int | None, context: int) -> int:
        n = len(self.model.contexts)
        return context if memory is None or not self.memory else n + int(self.private_contexts[memory]) * n + context


def random_model(seed: int, n: int = 3, states: int = 2, stays: float = 0.4) -> EndlessHidden:
    rng = np.random.default_rng([seed, 3])
    step = stays * np.eye(states) + (1 - stays) * random_rows(rng, (states, states), 0.0)
    return EndlessHidden(labels(n), random_rows(rng, (states,), 0.2), step, random_rows(rng, (states, n), 0.2))


def policy(any_too: bool) -> Policy:
    secrets = [Secret("one", {"c0"}, delta=0.1), Secret("two", {"c1", "c2"}, delta=0.2, cap=0.7)]
    return Policy([*secrets, Secret("ever", {"c1"}, at="any", delta=0.15)] if any_too else secrets)


def slow(
    model: HiddenMarkovModel, machine: Plain, own: Policy, columns: FloatArray, piece: int
) -> dict[tuple[str, int | None], tuple[float, float]]:
    """Gains and deltas of every row at the end, by every path of contexts."""
    n, slots = len(model.contexts), model.slots
    rows = {(s.name, t): (s, t) for s in own.secrets for t in (range(slots) if s.at == "each" else (None,))}
    total, prior, inside = 0.0, dict.fromkeys(rows, 0.0), dict.fromkeys(rows, 0.0)
    for path in product(range(n), repeat=slots):
        weight, private, seen = np.array(model.initial), None, 1.0
        for t, c in enumerate(path):
            weight = (weight @ model.transitions[t - 1] if t else weight) * model.emissions[t][:, c]
            private = machine.remember(private if t % piece else None, c)
            seen *= columns[t][private]
        chance = float(weight.sum())
        total += chance * seen
        for key, (secret, at) in rows.items():
            there = [model.contexts[c] in secret.contexts for c in path]
            if there[at] if at is not None else any(there):
                prior[key] += chance
                inside[key] += chance * seen
    return {
        key: (inside[key] / total - prior[key], own.row_delta(secret, prior[key])) for key, (secret, _) in rows.items()
    }


@pytest.mark.parametrize("memory", [False, True])
def test_the_judge_says_what_adding_up_all_paths_says(memory: bool) -> None:
    for seed in searches(8):
        model, slots, piece = random_model(seed), 5, 2 + 3 * (seed % 2)
        machine, own = Plain(model, memory), policy(any_too=seed % 3 > 0)
        columns = np.random.default_rng(seed).random((slots, len(machine.private_contexts))) ** 3
        judge = TrajectoryJudge(model, own)
        for t, column in enumerate(columns):
            if t % piece == 0:
                judge.begin(machine)
            judge.after(column)
        judge.end()
        found = slow(model.unrolled(slots), machine, own, columns, piece)
        for secret in own.secrets:
            mine = [value for (name, _), value in found.items() if name == secret.name]
            assert judge.by_secret[secret.name] == pytest.approx(max(gain for gain, _ in mine), abs=1e-12)
            assert judge.excess_by_secret[secret.name] == pytest.approx(max(g - d for g, d in mine), abs=1e-12)
        over = {t for (_, t), (gain, delta) in found.items() if exceeds(gain, delta)}
        assert judge.breached == (slots if None in over else len(over))


def smoothed(model: EndlessHidden, members: FloatArray, columns: FloatArray) -> FloatArray:
    """(N,): P(in the secret | all outputs), forwards and backwards."""
    emission, step = np.asarray(model.emissions), model.transition(0)
    ahead, back, found = [np.array(model.initial)], np.ones(len(model.initial)), np.zeros(len(columns))
    for column in columns[:-1]:
        weight = (ahead[-1] * (emission @ column)) @ step
        ahead.append(weight / weight.sum())
    for t in range(len(columns) - 1, -1, -1):
        joint = ahead[t] * back
        found[t] = (joint @ (emission * columns[t])) @ members / (joint @ (emission @ columns[t]))
        back = step @ (back * (emission @ columns[t]))
        back /= back.max()
    return found


def test_long_trajectories_are_judged_with_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    whole = TrajectoryJudge._let_go

    def counted(self: TrajectoryJudge) -> None:
        whole(self)
        looks.append(len(self._secret))

    monkeypatch.setattr(TrajectoryJudge, "_let_go", counted)
    for seed in searches(3):
        model, events = random_model(seed, n=4, states=3, stays=0.6), 600
        own, machine = Policy([Secret("one", {"c0"}, delta=0.1)]), Plain(model)
        columns = np.random.default_rng(seed).random((events, 4)) ** 2
        judge = TrajectoryJudge(model, own)
        judge.begin(machine)
        for column in columns:
            judge.after(column)
        judge.end()
        members = np.array([1.0, 0, 0, 0])
        gains = smoothed(model, members, columns) - [float(model.prior_at(t) @ members) for t in range(events)]
        assert judge.by_secret["one"] == pytest.approx(gains.max(), abs=SAME)
        assert judge.breached == int((gains > 0.1).sum())
        (known,) = judge.known
        assert known.rows == events
        assert known.mean == pytest.approx(np.mean([float(model.prior_at(t)[0]) for t in range(events)]), abs=1e-12)
    assert max(looks) < events / 2  # of 60 models the slowest to forget keeps 250 rows at once


def test_habits_that_never_forget_keep_so_many_rows_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trajectory, "MOST_ROWS", 20)
    model = EndlessHidden(labels(2), [0.5, 0.5], np.eye(2), [[0.9, 0.1], [0.2, 0.8]])
    judge = TrajectoryJudge(model, Policy([Secret("one", {"c0"}, delta=0.1)]))
    judge.begin(Plain(model))
    for _ in range(100):
        judge.after(np.array([0.6, 0.5]))
    assert len(judge._secret) <= 20 + trajectory.LOOKED
    judge.end()
    assert judge.events == 100
    assert judge.by_secret["one"] > 0.1


def test_an_impossible_output_says_nothing_and_other_contexts_are_refused() -> None:
    model = random_model(1)
    judge = TrajectoryJudge(model, policy(any_too=False))
    judge.begin(Plain(model))
    judge.after(np.zeros(3))
    judge.end()
    assert judge.by_secret == pytest.approx({"one": 0.0, "two": 0.0}, abs=1e-12)
    with pytest.raises(DiscreetError, match="different contexts"):
        judge.begin(Plain(random_model(1, n=2)))
