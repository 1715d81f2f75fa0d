"""A policy laid over a week: every part, on the clock that the model was learned with."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as d
from discreet.errors import PolicyError
from discreet.models.routine.parts import secrets_by_part


def chain(*contexts: str, clock: d.Clock | None = None) -> d.MarkovChain:
    n = len(contexts)
    return d.MarkovChain(contexts, np.full(n, 1 / n), np.full((3, n, n), 1 / n), clock=clock)


PARIS = d.Clock(4, "Europe/Paris")


def test_a_policy_is_laid_over_every_part() -> None:
    week = d.Models({"weekday": chain("home", "bar"), "weekend": chain("bar", "home", "zoo")})
    tables = secrets_by_part(week, d.Policy(["bar"]))
    assert {part: table.members.tolist() for part, table in tables.items()} == {
        "weekday": [[False, True]],
        "weekend": [[True, False, False]],
    }
    with pytest.raises(PolicyError, match="'zoo', which the model has never seen"):
        secrets_by_part(week, d.Policy(["zoo"]))  # weekdays have none


def test_clock_times_of_another_clock_are_refused() -> None:
    model, policy = chain("home", "bar", clock=PARIS), d.Policy(["bar"])
    with pytest.raises(PolicyError, match=r"\[clock\] is not the one that the model was learned with; leave"):
        secrets_by_part(model, policy, d.Clock(4))
    for clock in (PARIS, None):
        assert secrets_by_part(model, policy, clock)[None].slots == 4
    assert secrets_by_part(chain("home", "bar"), policy, PARIS)[None].slots == 4  # the model is on no clock
