"""The exponential that likelihoods are made of: the same bits on every machine, and as close as it says."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

from discreet.mechanisms.perturbation.exponential import exponential
from discreet.numerics import FloatArray


def units_off(values: FloatArray) -> float:
    """The largest error of `exponential`, in units of the last place of the result."""
    worst = 0.0
    with localcontext() as context:
        context.prec = 60
        for x, y in zip(values.tolist(), exponential(values).tolist(), strict=True):
            exact = Decimal(x).exp()
            worst = max(worst, float(abs(Decimal(y) - exact) / Decimal(float(np.spacing(float(exact))))))
    return worst


def test_the_exponential_is_as_close_as_it_says() -> None:
    rng = np.random.default_rng(0)
    assert units_off(-rng.random(2000) * 0.35) < 1.5
    assert units_off(-rng.random(2000) * 40) < 1.5
    assert units_off(-rng.random(2000) * 745) < 1.5  # the last of these are below 2**-1022
    np.testing.assert_array_equal(exponential(np.array([0.0, -0.0, -746.0, -1e300, -np.inf])), [1, 1, 0, 0, 0])
