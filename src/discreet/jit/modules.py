"""The modules with compiled loops: what `warm` compiles, and what the cache's folder is named after."""

from __future__ import annotations

SESSION = (
    "discreet.jit.sums",
    "discreet.adversary.steps",
    "discreet.adversary.filters",
    "discreet.adversary.doubled",
    "discreet.mechanisms.programme",
)
"""What a session of `Adaptive` needs: the filters of days and of streams, and the programme of a slot."""

OTHERS = (
    "discreet.mechanisms.dual_simplex",
    "discreet.mechanisms.events.loops",
    "discreet.mechanisms.maskit.loops",
    "discreet.mechanisms.perturbation.exponential",
    "discreet.mechanisms.perturbation.planar",
    "discreet.mechanisms.perturbation.solid",
    "discreet.models.topics.gibbs",
    "discreet.models.topics.newcomers",
    "discreet.models.topics.predictions",
    "discreet.places.stays",
)

PARTS = (
    "discreet.jit.backend",
    "discreet.jit.lanes",
    "discreet.mechanisms.basis",
    "discreet.mechanisms.inverse",
    "discreet.mechanisms.pivots",
)
"""Modules whose text is part of what those above compile to."""
