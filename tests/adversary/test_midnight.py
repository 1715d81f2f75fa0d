"""Two days: what one day's outputs tell of the other."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

import discreet as d
from discreet.adversary import audit
from discreet.adversary.enumerate import worst
from discreet.adversary.midnight import AcrossMidnight, overnight
from discreet.laws import check
from discreet.mechanisms import MaskSensitive, NoMask
from tests.strategies import random_chain, random_hidden, random_policy, random_rows, searches


def test_two_days_are_audited_as_the_enumeration_has_it() -> None:
    for seed in searches(15):
        chain = random_chain(seed, n=3, slots=2, zeros=0.2)
        nights = random_rows(np.random.default_rng(seed), (3, 3), 0.2)
        both = AcrossMidnight(MaskSensitive(chain, random_policy(seed, chain)), nights)
        truth, _ = worst(both)
        result = audit(both)
        assert result.exact
        assert result.worst_gain == pytest.approx(max(truth, 0), abs=1e-12)
        check(both, seed=seed)


def test_a_guarantee_of_one_day_can_fail_over_two() -> None:
    """Releasing all of today says nothing of today's secret here, but everything of yesterday's last slot."""
    chain = d.MarkovChain(("s", "x"), [0.5, 0.5], np.zeros((0, 2, 2)))
    silent_secret = d.Policy([d.Secret("s", {"s"}, delta=0.5)])
    one = NoMask(chain, silent_secret)
    assert audit(one).holds
    joined = AcrossMidnight(one, np.eye(2))
    assert joined.model.slots == 2
    assert audit(joined, policy=d.Policy([d.Secret("both", {"s"}, at="any", delta=0.4)])).holds is False


def test_overnight_counts_consecutive_dates_of_one_person() -> None:
    first = dt.date(2026, 3, 2)
    days = [
        d.Day(("a", "b"), date=first, person="p"),
        d.Day(("c", "a"), date=first + dt.timedelta(days=1), person="p"),
        d.Day(("a", "a"), date=first + dt.timedelta(days=3), person="p"),
        d.Day(("b", "c"), date=first + dt.timedelta(days=2), person="q"),
    ]
    np.testing.assert_array_equal(overnight(days, ("a", "b", "c")), [[0, 0, 1], [0, 0, 1], [0, 0, 1]])
    with pytest.raises(d.DiscreetError, match="consecutive"):
        overnight(days[2:], ("a", "b", "c"))


def test_what_cannot_be_joined_is_refused() -> None:
    with pytest.raises(d.DiscreetError, match="at least 1"):
        AcrossMidnight(NoMask(random_chain(1), d.Policy(["c0"])), np.eye(3), days=0)
    model = random_hidden(1)
    with pytest.raises(d.DiscreetError, match="Markov chains"):
        AcrossMidnight(NoMask(model, d.Policy(["c0"])), np.eye(3))
