"""Limits on odds (docs/theory.md, section 13): by what factor outputs may multiply the odds of a secret.

odds(x) = x / (1 - x). For a fixed prior q, "belief at most l" and "odds multiplied by at most R" are one requirement
when odds(l) = R odds(q). So a bound on the factor is a row of the programme like any other, with another limit.
Everything here is plain float arithmetic in one order, so that every machine computes the same limits.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.numerics import FloatArray


def gain_within(prior: float, growth: float) -> float:
    """l - q where odds(l) = (1 + growth) odds(q): (R - 1) q (1 - q) / (1 + (R - 1) q), never negative.

    Infinite where the growth is: then it bounds nothing.
    """
    if math.isinf(growth):
        return math.inf
    if not 0 < prior < 1:
        return 0.0
    return growth * prior * (1 - prior) / (1 + growth * prior)


def doubted_growth(prior: float, delta: float, doubt: float) -> float:
    """R - 1 where R is the least odds(q' + delta) / odds(q') for priors q' within a factor `doubt` of this one.

    odds(q' + delta) / odds(q') - 1 = delta / (q' (1 - q' - delta)). The denominator is largest at q' = (1 - delta) / 2,
    so the least is at that point where the range contains it, and else at the nearer end. Infinite where no such prior
    is below 1 - delta: there delta alone is the limit.
    """
    if delta == 0 or not 0 < prior < 1:
        return 0.0
    other = min(max((1 - delta) / 2, prior / doubt), prior * doubt)
    room = other * (1 - other - delta)
    return delta / room if room > 0 else math.inf


def factors(priors: FloatArray, beliefs: FloatArray) -> FloatArray:
    """By what the odds of each belief exceed those of its prior; 1 where the prior leaves nothing to learn."""
    open_ones = (priors > 0) & (priors < 1)
    before = np.where(open_ones, priors, 0.5)
    told = np.where(open_ones, np.maximum(beliefs, 0.0), 0.5)
    rest = 1 - told
    odds = np.divide(told, rest, out=np.full(len(told), np.inf), where=rest > 0)
    return np.asarray(odds * ((1 - before) / before))


def factor(prior: float, belief: float) -> float:
    """The same of one belief."""
    return float(factors(np.array([prior]), np.array([belief]))[0])


def in_words(multiplied: float) -> str:
    """A factor as reports have it: x 2.9, and "without bound" where a belief is certain."""
    return "without bound" if math.isinf(multiplied) else f"x {multiplied:.3g}"
