from __future__ import annotations

import polars as pl
import pytest

from discreet.errors import DiscreetError
from discreet.publish import Plan, Report, RunKey, publish_person
from discreet.publish.summary import TableSummary
from discreet.publish.work import PublishWork, reports_in
from tests.publish.plans import plan_of
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
    whole = TableSummary.of(found)
    parts = [TableSummary.of(found[:1]), TableSummary.of(found[1:]), TableSummary.of_bad(3, ["a", "b"])]
    for summary in (whole, TableSummary.joined(parts), TableSummary.of_text(TableSummary.joined(parts).text())):
        for same in ("events", "silent", "off_model", "settled", "breached", "worst_gain", "by_secret", "guarantee"):
            assert getattr(summary, same) == getattr(report, same), same
        assert summary.excess_by_secret == report.excess_by_secret
        assert summary.utility == pytest.approx(report.utility, rel=1e-12)
        assert summary.breach_rate == pytest.approx(report.breach_rate, rel=1e-12)
        assert summary.people == len(people)
        assert summary.breached_people == sum(one.breached > 0 for one in report.people)
        assert summary.worst == tuple(sorted(report.people, key=lambda one: (-one.worst_gain, one.person)))
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
    joined = TableSummary.joined(parts)
    assert (joined.bad, joined.problems, joined.rows) == (3, ("a", "b"), report.events + 3 * 1 + 3)


def test_of_nobody_there_is_no_quantile() -> None:
    nobody = TableSummary.joined([TableSummary.of_bad(1, ["why"])])
    assert TableSummary.of_text(nobody.text()) == nobody
    with pytest.raises(DiscreetError, match="nobody to report on"):
        nobody.utility_at(0.5)
