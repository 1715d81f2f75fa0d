from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest

from discreet.errors import DiscreetError
from discreet.publish import PersonReport, PieceReport, Plan, Report, RunKey, Summary, publish_person
from discreet.publish.report_schema import reports_in
from discreet.publish.work import PublishWork
from tests.publish.plans import plan_of
from tests.publish.test_report import EXACT, PART, piece
from tests.publish.test_work import table


def records(plan: Plan, people: pl.DataFrame) -> pl.DataFrame:
    done = PublishWork(plan, RunKey.of_seed(2))(people)
    shown = done.rows.group_by("person", maintain_order=True).agg(
        pl.struct("activity", "time", "location").alias("shown")
    )
    return done.reports.join(shown, on="person").with_columns(duplicates=pl.lit(1), unordered=pl.lit(2))


@pytest.mark.parametrize("name", ["adaptive", "no-mask"])
def test_a_summary_says_what_the_report_of_all_people_says(name: str) -> None:
    plan, people = plan_of(4, 0.1, name)
    found = records(plan, table(people))
    report = Report(tuple(reports_in(found)))
    whole = Summary.of(found)
    parts = [Summary.of(found[:1]), Summary.of(found[1:]), Summary.of_bad(3, ["a", "b"])]
    for summary in (whole, Summary.joined(parts), Summary.of_text(Summary.joined(parts).text())):
        for same in ("events", "silent", "off_model", "settled", "breached", "worst_gain", "by_secret", "guarantee"):
            assert getattr(summary, same) == getattr(report, same), same
        assert summary.excess_by_secret == report.excess_by_secret
        assert summary.utility == pytest.approx(report.utility, rel=1e-12)
        assert summary.breach_rate == pytest.approx(report.breach_rate, rel=1e-12)
        assert summary.people == len(people)
        assert summary.breached_people == sum(one.breached > 0 for one in report.people)
        worst = sorted(report.people, key=lambda one: (-one.worst_gain, one.person))
        assert summary.worst == tuple(replace(one, known=()) for one in worst)
        for one, other in zip(summary.known, report.known, strict=True):
            assert (one.name, one.rows, one.told_at, one.highest) == (
                other.name,
                other.rows,
                other.told_at,
                other.highest,
            )
            assert one.mean == pytest.approx(other.mean, rel=1e-12)
        utilities = sorted(one.utility for one in report.people)
        assert [summary.utility_at(share) for share in (0.0, 0.5, 1.0)] == pytest.approx(
            [utilities[0], utilities[1], utilities[2]], abs=5e-5
        )
        rows = [row for one in people for row in publish_person(plan, one, RunKey.of_seed(2))[0]]
        assert summary.shown["location"] == sum(row.location is not None for row in rows)
    joined = Summary.joined(parts)
    assert (joined.bad, joined.problems, joined.rows) == (3, ("a", "b"), report.events + 3 * 1 + 3)


def test_people_are_counted_by_tenths_of_utility() -> None:
    summary = Summary(people=9, utilities=Counter({0: 1, 999: 1, 1_000: 2, 5_500: 1, 9_999: 3, 10_000: 1}))
    assert summary.people_by_utility() == (2, 2, 0, 0, 0, 1, 0, 0, 0, 4)
    assert Summary.joined([summary, summary]).people_by_utility() == (4, 4, 0, 0, 0, 2, 0, 0, 0, 8)


def test_of_nobody_there_is_no_quantile() -> None:
    nobody = Summary.joined([Summary.of_bad(1, ["why"])])
    assert Summary.of_text(nobody.text()) == nobody
    with pytest.raises(DiscreetError, match="nobody to report on"):
        nobody.utility_at(0.5)


# --- people added one after another


@pytest.mark.parametrize("held", [3, 100])
def test_a_summary_says_what_a_report_of_the_same_people_does(held: int) -> None:
    rng = random.Random(held)
    people = []
    for number in range(40):
        pieces = [
            piece(rng.randrange(4, 9), rng.randrange(2), rng.choice([EXACT, PART]), a=rng.choice([0.1, 0.2, -0.1]))
            for _ in range(rng.randrange(1, 4))
        ]
        people.append(PersonReport.of(f"{number:02}", pieces, attributes=rng.random() * 4, silent=rng.randrange(3)))
    report, summary = Report(tuple(people)), Summary(held)
    for one in people:
        summary.add(one)
    for name in ("events", "silent", "off_model", "settled", "utility", "breach_rate", "breached", "worst_gain"):
        assert getattr(summary, name) == getattr(report, name), name
    assert (summary.by_secret, summary.excess_by_secret) == (report.by_secret, report.excess_by_secret)
    assert (summary.known, summary.guarantee) == (report.known, report.guarantee)
    assert summary.people == 40
    assert summary.breached_people == sum(one.breached > 0 for one in people)
    worst = sorted(people, key=lambda one: -one.worst_gain)[:held]
    assert summary.worst == tuple(replace(one, known=()) for one in worst)
    exact = sorted(one.utility for one in people)
    for share in (0.05, 0.25, 0.5, 0.95, 1):
        assert summary.utility_at(share) == pytest.approx(exact[math.ceil(share * 40) - 1], abs=0.5e-4)


def test_nobody_has_no_summary() -> None:
    with pytest.raises(DiscreetError, match="nobody to report on"):
        _ = Summary().guarantee
    with pytest.raises(DiscreetError, match="nobody to report on"):
        Summary().utility_at(0.5)


def tied(one: PieceReport, number: int) -> PieceReport:
    """With a highest prior that others have as well, at another slot."""
    return replace(one, known=tuple(replace(known, highest=0.5, highest_at=1 + number % 4) for known in one.known))


@pytest.mark.parametrize("held", [2, 5, 100])
def test_who_is_held_does_not_depend_on_the_order_or_the_parts(held: int) -> None:
    rng = random.Random(held)
    people = [PersonReport.of(f"{n:02}", [tied(piece(a=n % 3 / 10), n)], attributes=n / 9, silent=0) for n in range(30)]
    wanted = sorted(people, key=lambda one: (-one.worst_gain, one.person))[:held]
    for _ in range(5):
        rng.shuffle(people)
        cut = rng.randrange(31)
        parts = []
        for some in (people[:cut], people[cut:]):
            parts.append(Summary(held))
            for one in some:
                parts[-1].add(one)
        joined = Summary.joined([*parts, Summary.of_bad(1, ["why"])])
        assert [one.person for one in joined.worst] == [one.person for one in wanted]
        assert (joined.people, joined.held) == (30, held)
        assert [(one.highest, one.highest_at) for one in joined.known] == [(0.5, 1)]
        assert Summary.of_text(joined.text()) == joined
        assert joined.utility_at(1.0) == round(29 / 9 / 4, 4)


def test_joined_parts_hold_as_many_as_each_of_them() -> None:
    parts = [Summary(1), Summary(3)]
    for number, part in enumerate(parts * 2):
        part.add(PersonReport.of(str(number), [piece(a=0.1 * number)], attributes=1.0, silent=0))
    assert [one.person for one in Summary.joined(parts).worst] == ["3"]
