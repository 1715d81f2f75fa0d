"""Homogeneous chains of attributes and of events."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.events import Event, Events, Trajectory
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.models.topics.trajectories import fit_attribute_chains, fit_event_chain

A, B, C = Event("eat", "day", "cafe"), Event("work", "day", "office"), Event("work", "night", "office")
TWO = [Trajectory("p", (A, B, B, C)), Trajectory("q", (B, A)), Trajectory("r", (A,))]
EVENTS = Events(("eat", "work"), ("day", "night"), ("cafe", "office"))


def test_plain_chains_divide_counts() -> None:
    chains = fit_attribute_chains(TWO, EVENTS, slots=6, smoothing="none")
    assert [chain.contexts for chain in chains] == [EVENTS.activities, EVENTS.times, EVENTS.locations]
    assert [chain.slots for chain in chains] == [6, 6, 6]
    np.testing.assert_allclose(chains.activity.initial, [2 / 3, 1 / 3])
    np.testing.assert_allclose(chains.activity.transitions[0], [[0.0, 1.0], [1 / 3, 2 / 3]])
    np.testing.assert_allclose(
        chains.time.transitions[4], [[3 / 4, 1 / 4], [0.0, 1.0]]
    )  # night is never left: it stays


def test_event_chains_run_over_the_triples_that_occur() -> None:
    events = Events.from_trajectories(TWO, occurring_only=True)
    chain = fit_event_chain(TWO, events, slots=4, smoothing="none")
    assert set(chain.contexts) == {A.label, B.label, C.label}
    a, b, c = (chain.index_of(event.label) for event in (A, B, C))
    assert chain.initial[[a, b, c]].tolist() == pytest.approx([2 / 3, 1 / 3, 0])
    assert chain.transitions[0, b, [a, b, c]].tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    assert chain.transitions[0, c, c] == 1


def test_smoothed_chains_hold_nothing_impossible_that_was_seen_elsewhere() -> None:
    chains = fit_attribute_chains(TWO, EVENTS, slots=3)
    for chain in chains:
        assert (chain.transitions > 0).all()
        assert (chain.initial > 0).all()
    plain = fit_attribute_chains(TWO, EVENTS, slots=3, smoothing="none")
    assert plain.activity.transitions[0, 0, 0] == 0


def test_backing_off_predicts_new_trajectories_better_than_dividing() -> None:
    truth = topic_model(people=40, seed=2)
    seen, new = trajectories(truth, 40, seed=1), trajectories(truth, 40, seed=2)
    events = Events.from_trajectories(seen, occurring_only=True)
    known = [trajectory for trajectory in new if (events.codes(trajectory, missing=-1) >= 0).all()]
    days = [tuple(event.label for event in trajectory.events) for trajectory in known]
    plain = fit_event_chain(seen, events, 40, "none").log_likelihood(days)
    smoothed = fit_event_chain(seen, events, 40, "auto").log_likelihood(days)
    assert len(days) > 20
    assert np.isfinite(smoothed).all()
    assert np.isinf(plain).mean() > 0.2


def test_bad_requests_are_refused() -> None:
    with pytest.raises(DiscreetError, match=r"no trajectories"):
        fit_attribute_chains([], EVENTS, 3)
    with pytest.raises(DiscreetError, match=r"smoothing='laplace'"):
        fit_event_chain(TWO, EVENTS, 3, smoothing="laplace")  # type: ignore[arg-type]
    with pytest.raises(DiscreetError, match=r"activity 'swim'"):
        fit_event_chain([Trajectory("p", (Event("swim", "day", "cafe"),))], EVENTS, 3)
