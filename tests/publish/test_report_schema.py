"""The report has one schema, and both engines write it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest

from discreet.publish import PersonReport, RunKey, publish_person
from discreet.publish.report_file import write_reports
from discreet.publish.report_schema import RECORD, columns_of, json_schema, records_frame, reports_in
from tests.publish.plans import plan_of
from tests.publish.sparks import LOCAL, session_at, written


def fits(row: dict[str, object]) -> None:
    """A row against the JSON Schema, by the few rules that it uses."""
    schema = json_schema()
    types = {"string": str, "integer": int, "number": float}
    assert set(schema["required"]) == set(schema["properties"]) <= set(row)
    for name, value in row.items():
        patterns = [one for start, one in schema["patternProperties"].items() if name.startswith(start[1:])]
        (declared,) = [schema["properties"][name]] if name in schema["properties"] else patterns
        kinds = [declared["type"]] if isinstance(declared["type"], str) else declared["type"]
        assert (value is None and "null" in kinds) or type(value) in [types[one] for one in kinds if one != "null"]


def test_this_machine_writes_the_schema(tmp_path: Path) -> None:
    plan, people = plan_of()
    names = [secret.name for secret in plan.policy.secrets]
    reports = [publish_person(plan, one, RunKey.of_seed(1))[1] for one in people]
    write_reports(tmp_path / "report.parquet", reports, names)
    write_reports(tmp_path / "report.csv", reports, names)
    table = pl.read_parquet(tmp_path / "report.parquet")
    assert dict(table.schema) == columns_of(names)
    assert pl.read_csv(tmp_path / "report.csv", schema=columns_of(names)).equals(table)
    for row, report in zip(table.to_dicts(), reports, strict=True):
        fits(row)
        assert [row[f"gain {name}"] for name in names] == [report.by_secret[name] for name in names]
        assert [row[f"excess {name}"] for name in names] == [report.excess_by_secret[name] for name in names]
        assert [row[f"prior {name}"] for name in names] == [known.highest for known in report.known]
        assert row["guarantee"] == report.guarantee.kind


@pytest.mark.spark
def test_spark_writes_the_schema(tmp_path: Path) -> None:
    from discreet.publish.engines.spark.publish import publish_table

    plan, people = plan_of()
    names = [secret.name for secret in plan.policy.secrets]
    session = session_at(LOCAL)
    try:
        table = written(people, tmp_path / "events.parquet")
        done = publish_table(session, plan, table, tmp_path / "published.parquet", seed=1)
    finally:
        session.stop()
    found = pl.concat([pl.read_parquet(path) for path in sorted(done.report.iterdir())])
    assert dict(found.schema) == columns_of(names)
    for row in found.to_dicts():
        fits(row)
    reports = [publish_person(plan, one, RunKey.of_seed(1))[1] for one in people]
    write_reports(tmp_path / "report.parquet", reports, names)
    assert found.sort("person").equals(pl.read_parquet(tmp_path / "report.parquet").sort("person"))


def test_a_record_reads_back_as_the_report_that_it_was() -> None:
    plan, people = plan_of()
    reports = [publish_person(plan, one, RunKey.of_seed(1))[1] for one in people]
    records = records_frame((one, "digest") for one in reports)
    assert list(reports_in(records)) == reports
    assert set(RECORD) == {field.name for field in fields(PersonReport)} | {"given"}


def test_the_page_describes_every_column() -> None:
    page = (Path(__file__).parents[2] / "docs" / "population.md").read_text(encoding="utf-8")
    told = page.partition("## What the report says")[2].partition("\n## ")[0]
    schema = json_schema()
    patterns = [f"{start.strip('^ ')} NAME" for start in schema["patternProperties"]]
    assert [name for name in [*schema["properties"], *patterns] if f"`{name}`" not in told] == []
