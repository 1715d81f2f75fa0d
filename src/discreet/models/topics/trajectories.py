"""Chains learned from trajectories: one for each attribute, or one over events. Homogeneous: events have no slots.

Trajectories differ in length, so a transition is the same after every event (Li and Sun 2020, Section 3.3.1). Give the
trajectories of one person, or of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from discreet.errors import DiscreetError
from discreet.events import ATTRIBUTES, Events, Trajectory
from discreet.models.chain.markov import MarkovChain
from discreet.models.learning.counts import Smoothing, estimate_homogeneous
from discreet.numerics import IntArray


class AttributeChains(NamedTuple):
    """Three chains that know nothing of each other."""

    activity: MarkovChain
    time: MarkovChain
    location: MarkovChain


def fit_attribute_chains(
    trajectories: Iterable[Trajectory], events: Events, slots: int, smoothing: Smoothing = "auto"
) -> AttributeChains:
    """A chain of `slots` events for each attribute; see `estimate_homogeneous` for the smoothing."""
    rows = [events.attribute_index[events.codes(trajectory)] for trajectory in trajectories]
    activity, time, location = (
        _chain([row[:, column] for row in rows], events.values(attribute), slots, smoothing)
        for column, attribute in enumerate(ATTRIBUTES)
    )
    return AttributeChains(activity, time, location)


def fit_event_chain(
    trajectories: Iterable[Trajectory], events: Events, slots: int, smoothing: Smoothing = "auto"
) -> MarkovChain:
    """A chain of `slots` events over `events.contexts`; with all triples rather than those that occur it is large."""
    return _chain([events.codes(trajectory) for trajectory in trajectories], events.contexts, slots, smoothing)


def _chain(rows: list[IntArray], labels: tuple[str, ...], slots: int, smoothing: Smoothing) -> MarkovChain:
    if not rows:
        raise DiscreetError("there are no trajectories to learn from; give at least one")
    n = len(labels)
    initial = np.bincount([row[0] for row in rows], minlength=n)
    cells = np.concatenate([row[:-1] * n + row[1:] for row in rows])
    steps = np.bincount(cells, minlength=n * n).reshape(n, n)
    return MarkovChain.homogeneous(labels, *estimate_homogeneous(initial, steps, smoothing), slots)
