from __future__ import annotations

import numpy as np
import pytest

from discreet.choosing import choices
from discreet.choosing.choices import at_delta, drawn_weeks, hierarchy_for, mean_of_weeks, spec_of
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import evaluate
from discreet.mechanisms import Adaptive
from discreet.models.kinds import MONDAY
from discreet.places import Circle, Place, Places
from discreet.policy import Policy, Secret
from tests.choosing.routines import lived

ROUTINE = lived(70, {"hospital": (10, range(10, 12)), "gym": (2, range(18, 20))})
POLICY = Policy([Secret("medical", {"hospital"}, at="any", delta=0.05)], delta=0.1)
CAMPUS = Places(
    [
        Place("work", Circle(48.15, 11.58, 900)),
        Place("gym", Circle(48.152, 11.582, 80)),
        Place("home", Circle(48.1, 11.5, 100)),
        Place("hospital", Circle(48.2, 11.6, 100)),
    ]
)


def test_utility_is_what_evaluate_finds_on_the_same_weeks() -> None:
    told = []
    found = choices(ROUTINE, POLICY, deltas=(0.2, 0.05), weeks=2, seed=3, progress=lambda *done: told.append(done))
    assert found.deltas == (0.05, 0.2)
    assert found.vocabularies == ("suppress", "deceive")
    assert told[-1] == (56, 56)
    days = drawn_weeks(ROUTINE, 2, 3)
    for one in found.choices:
        mechanism = Adaptive(ROUTINE.since(MONDAY), at_delta(POLICY, one.delta), outputs=one.vocabulary)  # type: ignore[arg-type]
        judged = evaluate(mechanism, days, seed=3)
        assert one.utility.mean == pytest.approx(judged.utility, abs=1e-12)
        assert one.silent == pytest.approx(judged.suppressed, abs=1e-12)
        assert one.true + one.coarse + one.false + one.silent == pytest.approx(1, abs=1e-12)
        assert judged.breached_days == 0
        assert one.holds
        assert one.worst is not None
        assert one.worst.gain <= one.delta / 2 + 1e-9  # the secret's own delta is half of the policy's
    assert all(one.false == 0 for one in found.choices if one.vocabulary == "suppress")


@pytest.mark.parametrize("weeks", [2, 8, 30])
def test_the_half_width_covers_the_truth_as_often_as_it_says(weeks: int) -> None:
    """95 % of 10,000 intervals, give or take five standard deviations: a correct one fails once in two million."""
    drawn = np.random.default_rng(weeks).normal(0.7, 0.1, (10_000, weeks))
    covered = sum(abs(one.mean - 0.7) <= one.half_width for one in map(mean_of_weeks, drawn))
    assert abs(covered - 9_500) < 5 * np.sqrt(10_000 * 0.95 * 0.05)


def test_weeks_are_drawn_from_the_routine() -> None:
    days = drawn_weeks(ROUTINE, 60, 1)
    assert [day.date for day in days[:8:7]] == [MONDAY, MONDAY.replace(day=MONDAY.day + 7)]
    noon = np.mean([day.contexts[13] == "work" for day in days if day.date is not None and day.date.weekday() < 5])
    prior = ROUTINE.prior(MONDAY)[13, ROUTINE.contexts.index("work")]
    assert abs(noon - prior) < 4 * np.sqrt(prior * (1 - prior) / 300)  # fails a correct draw once in 16,000


def test_a_wider_place_is_told_where_the_map_has_one() -> None:
    tree = hierarchy_for(ROUTINE, CAMPUS)
    assert tree is not None
    assert tree.ancestors("gym") == ("in work", "anywhere")
    found = choices(ROUTINE, POLICY, deltas=(0.1,), hierarchy=tree, weeks=2)
    assert found.vocabularies == ("suppress", "deceive", "generalize")
    assert found.of(0.1, "generalize").coarse > 0
    assert hierarchy_for(ROUTINE, Places(CAMPUS.places[1:])) is None
    assert hierarchy_for(ROUTINE, None) is None


def test_own_deltas_keep_their_proportion() -> None:
    policy = at_delta(POLICY, 0.02)
    assert policy.delta == 0.02
    assert policy.secrets[0].delta == pytest.approx(0.01)
    assert at_delta(POLICY, 0.1) == POLICY


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(DiscreetError, match="did you mean 'deceive'"):
        spec_of("decieve", None)
    with pytest.raises(DiscreetError, match="needs places that lie in others"):
        choices(ROUTINE, POLICY, vocabularies=["generalize"])
    with pytest.raises(DiscreetError, match=r"delta is 1\.5"):
        choices(ROUTINE, POLICY, deltas=(1.5,))
    with pytest.raises(DiscreetError, match="at least 2"):
        choices(ROUTINE, POLICY, weeks=1)
    with pytest.raises(DiscreetError, match="was not looked at"):
        choices(ROUTINE, POLICY, deltas=(0.1,), vocabularies=["suppress"], weeks=2).of(0.2, "suppress")
