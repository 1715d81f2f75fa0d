"""Habits over the last two contexts: states, rows against a plain loop, dates that follow each other, and refusals."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pytest

import discreet as d
from discreet.models.hidden.pairs import PairChain
from discreet.models.learning.counts import STRENGTHS
from discreet.models.learning.held_out import judged, relearned
from discreet.models.learning.order_two import factors, tilted, triples
from discreet.models.pairs import Pairs
from discreet.models.store import load_days
from tests.strategies import labels

MONDAY = dt.date(2026, 1, 5)


def days_of_order_two(count: int, slots: int = 12, seed: int = 0) -> list[d.Day]:
    """Someone who goes back to where they came from."""
    rng, found, before, now = np.random.default_rng(seed), [], 0, 0
    for k in range(count):
        row = []
        for _ in range(slots):
            then = before if before != now and rng.random() < 0.8 else int(rng.integers(3))
            before, now = now, then
            row.append("abc"[now])
        found.append(d.Day(tuple(row), MONDAY + k * dt.timedelta(days=1)))
    return found


@pytest.mark.parametrize(("n", "most"), [(1, 96), (3, 96), (3, 6), (4, 12), (5, 3)])
def test_a_state_and_the_next_context_are_the_next_state(n: int, most: int) -> None:
    pairs = Pairs.of(labels(n), range(n), most)
    assert pairs.states <= max(most, 2 * n)
    for before in range(n):
        for now in range(n):
            state = pairs.table[before, now]
            assert pairs.now[state] == now
            assert list(pairs.following[state]) == [pairs.table[now, then] for then in range(n)]
            private = pairs.remember(pairs.remember(None, before), now)
            assert (private, pairs.private_contexts[private]) == (n + state, now)
    assert pairs.has(pairs.private_contexts, pairs.remember)
    assert n == 1 or not pairs.has(pairs.private_contexts, lambda memory, context: context)
    assert len(set(pairs.labels)) == pairs.states


def test_a_context_that_was_stayed_in_is_always_told_apart() -> None:
    pairs = Pairs.of(labels(40), range(40))
    assert pairs.states == 80
    assert all((pairs.table[:, c] == pairs.table[c, c]).sum() == 1 for c in range(40))


def test_rows_are_those_of_a_plain_loop() -> None:
    """The module's equations, written out; the strength that it chose is among those that it may choose."""
    rng, n = np.random.default_rng(1), 3
    pairs, codes = Pairs.of(labels(n), range(n), 7), rng.integers(n, size=(20, 9))
    base = rng.dirichlet(np.ones(n), size=(4, n))
    counted: dict[tuple[int, int], int] = {}
    for row in codes:
        for a, b, c in zip(row, row[1:], row[2:], strict=False):
            counted[pairs.table[a, b], c] = counted.get((pairs.table[a, b], int(c)), 0) + 1

    def expected(strength: float) -> np.ndarray:
        steps = np.zeros((4, pairs.states, pairs.states))
        for t in range(4):
            for state in range(pairs.states):
                b = int(pairs.now[state])
                own = [counted.get((state, c), 0) for c in range(n)]
                every = [
                    sum(counted.get((s, c), 0) for s in range(pairs.states) if pairs.now[s] == b) for c in range(n)
                ]
                usual = [x / sum(every) for x in every]
                tilt = [(own[c] + strength * usual[c]) / (sum(own) + strength) / usual[c] for c in range(n)]
                row = [base[t, b, c] * tilt[c] for c in range(n)]
                for c in range(n):
                    steps[t, state, pairs.table[b, c]] += row[c] / sum(row)
        return steps

    found = tilted(base, factors(triples(codes, n), pairs), pairs)
    assert min(np.abs(found - expected(float(strength))).max() for strength in STRENGTHS) < 1e-12


def test_what_was_never_seen_is_as_habits_over_one_context_say() -> None:
    pairs = Pairs.of(labels(2), range(2))
    assert factors(np.zeros((2, 2, 2), dtype=np.int64), pairs).tolist() == [[1.0, 1.0]] * 4


def test_days_of_order_two_are_likelier_by_habits_of_order_two() -> None:
    days = days_of_order_two(120)
    scores = [d.MarkovChain.fit(days[:90], order=order).log_likelihood(days[90:]).mean() for order in (1, 2)]
    assert scores[1] > scores[0] + 1
    pair = d.MarkovChain.fit(days[:90], order=2)
    assert pair.contexts == d.MarkovChain.fit(days[:90]).contexts
    assert pair.prior.sum(axis=1) == pytest.approx(1.0)


def test_a_routine_of_order_two_joins_nights_and_is_total() -> None:
    days = days_of_order_two(40)
    routine = d.Routine.fit(days, order=2, secrets=["clinic"])
    assert set(routine.contexts) == {"a", "b", "c", "clinic", "other", "unknown"}
    endless, one = routine.since("2026-03-02"), d.Routine.fit(days, secrets=["clinic"]).since("2026-03-02")
    assert endless.contexts == one.contexts
    for t in (0, 11, 12, 500):
        assert endless.prior_at(t).sum() == pytest.approx(1.0)
        assert (endless.transition(t) @ endless.emission(t) > 0).all()  # every context may follow every pair
    flat = [c for day in days for c in day.contexts]
    whole = triples([np.array([sorted(set(flat)).index(c) for c in flat])], 3).sum()
    apart = sum(triples([np.array([sorted(set(flat)).index(c) for c in day.contexts])], 3).sum() for day in days)
    assert (whole, apart) == (len(flat) - 2, len(flat) - 2 * len(days))


def test_what_habits_of_order_two_cannot_do_is_said() -> None:
    days = days_of_order_two(10)
    with pytest.raises(d.DiscreetError, match=r"order=3 is not known; use 1, or 2"):
        d.MarkovChain.fit(days, order=3)
    with pytest.raises(d.DiscreetError, match=r"use Routine\.fit\(days, order=2\)"):
        d.MarkovChain.fit(days, by="weekpart", order=2)  # type: ignore[call-overload]
    routine = d.Routine.fit(days, order=2)
    with pytest.raises(d.DiscreetError, match="learn again from all days"):
        routine.updated(days)
    mechanism = d.mechanisms.Adaptive(routine.since(MONDAY), d.Policy(["a"], delta=0.2))
    with pytest.raises(d.DiscreetError, match="habits over two contexts, or hidden ones, stay"):
        mechanism.then("2027-01-01", routine=d.Routine.fit(days))
    with pytest.raises(d.DiscreetError, match=r"give routine\.since\(date\)"):
        d.mechanisms.Adaptive(routine, d.Policy(["a"], delta=0.2))  # type: ignore[arg-type]


def test_a_file_holds_all_of_it(tmp_path: Path) -> None:
    days, clock = days_of_order_two(20), d.Clock(slots=12, zone="Europe/Paris", cut="04:00")
    for model in (
        d.MarkovChain.fit(days, order=2, clock=clock),
        d.Routine.fit(days, order=2, secrets=["clinic"], clock=clock),
        d.Routine.fit(days, None, "calibrated", order=2),
    ):
        d.save(tmp_path / "m", model)
        found = load_days(tmp_path / "m")
        assert (found, found.clock, found.fingerprint) == (model, model.clock, model.fingerprint)  # type: ignore[union-attr]
        if isinstance(model, PairChain):
            with pytest.raises(d.DiscreetError, match="do not keep what they were learned from"):
                relearned(found, days, d.Policy())
        else:
            assert relearned(found, days, d.Policy()) == relearned(model, days, d.Policy())


def test_a_day_is_as_likely_as_its_pairs() -> None:
    """Against the filter over hidden states; over nights against the chain of all days."""
    days = days_of_order_two(30)
    pair = d.MarkovChain.fit(days[:20], order=2)
    assert pair.step_log_likelihood(days[20:]).sum(axis=1) == pytest.approx(pair.log_likelihood(days[20:]))
    assert pair.step_log_likelihood([("a",) * 11 + ("elsewhere",)])[0, -1] == -np.inf
    routine = d.Routine.fit(days[:20], order=2)
    whole = tuple(context for day in days[20:] for context in day.contexts)
    found = judged(routine, days[20:]).log_likelihood
    assert days[20].date == MONDAY + dt.timedelta(days=20)
    begins = routine.day(routine.kind_of(days[20].date)).initial
    chain = routine.since(days[20].date, begins).unrolled(10)
    assert found == pytest.approx(float(chain.log_likelihood([whole])[0]) / len(whole))
