from __future__ import annotations

from itertools import permutations

import pytest

from discreet.adversary.known import Row, known_of
from discreet.errors import DiscreetError
from discreet.policy import Guarantee, Policy
from discreet.publish import PersonReport, PieceReport, Report
from discreet.publish.report import weakest

EXACT = Guarantee("exact delta", "every gain")
PART = Guarantee("window only", "some gains")


def piece(events: int = 4, breached: int = 0, guarantee: Guarantee = EXACT, **gains: float) -> PieceReport:
    over = {name: gain - 0.1 for name, gain in gains.items()}
    policy = Policy(list(gains), delta=0.1)
    known = known_of(policy, [Row(name, slot, 0.2 * slot) for name in gains for slot in range(events)])
    return PieceReport(events, breached, 1, 2, by_secret=gains, excess_by_secret=over, known=known, guarantee=guarantee)


def person(name: str, *pieces: PieceReport) -> PersonReport:
    return PersonReport.of(name, pieces, attributes=3.0, silent=1)


def test_pieces_add_up_and_the_worst_of_them_counts() -> None:
    one = person("ann", piece(breached=1, a=0.1, b=-0.2), piece(2, a=0.05, c=0.3, guarantee=PART))
    assert (one.events, one.pieces, one.breached, one.settled, one.off_model) == (6, 2, 1, 2, 4)
    assert one.by_secret == {"a": 0.1, "b": 0.0, "c": 0.3}
    assert one.excess_by_secret == pytest.approx({"a": 0.0, "b": -0.3, "c": 0.2})
    assert [(each.name, each.rows, each.highest) for each in one.known] == [
        ("a", 6, 0.6000000000000001),
        ("b", 4, 0.6000000000000001),
        ("c", 2, 0.2),
    ]
    assert one.known[0].mean == pytest.approx((4 * 0.3 + 2 * 0.1) / 6)
    assert one.worst_gain == 0.3
    assert one.utility == 0.5
    assert one.guarantee == PART


def test_a_report_does_not_depend_on_who_comes_first() -> None:
    people = [
        person("bob", piece(a=0.2)),
        person("ann", piece(breached=4, a=0.1)),
        person("eve", piece(guarantee=PART)),
    ]
    report = Report(tuple(people))
    for order in permutations(people):
        assert Report(order) == report
        assert Report.merged([Report(order[:1]), Report(order[1:])]) == report
    assert [one.person for one in report.people] == ["ann", "bob", "eve"]
    assert report.by_secret == {"a": 0.2}
    assert report.breached
    assert report.breach_rate == pytest.approx(1 / 3)  # Eq. 2: a mean over people
    assert report.guarantee == PART
    assert (report.events, report.silent, report.settled, report.off_model) == (12, 3, 3, 6)
    assert report.utility == 9 / 12


def test_the_weakest_guarantee_is_found_in_any_order() -> None:
    none = Guarantee("none", "nothing", proven=False)
    doubt = Guarantee("exact delta", "every gain", proven=False)
    ratio = Guarantee("epsilon", "ratios", covers=frozenset())
    for order in permutations([EXACT, PART, none, doubt, ratio]):
        assert weakest(order) == none
    assert weakest([EXACT, doubt]) == doubt
    assert weakest([PART, EXACT]) == PART
    assert weakest([ratio, PART]) == ratio


def test_nobody_and_a_person_twice_have_no_report() -> None:
    with pytest.raises(DiscreetError, match="nobody to report on"):
        Report(())
    with pytest.raises(DiscreetError, match="'ann' has 2 trajectories"):
        Report.merged([Report((person("ann", piece()),))] * 2)
