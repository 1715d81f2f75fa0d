from __future__ import annotations

import csv
from pathlib import Path

from discreet.events import Trajectory
from discreet.publish import RunKey, publish_person
from discreet.publish.report_file import write_reports
from tests.publish.plans import plan_of


def test_names_stay_whole_whatever_is_in_them(tmp_path: Path) -> None:
    plan, people = plan_of()
    names = ["a,b", 'c"d', "e\nf", "g\rh", "i"]
    reports = [publish_person(plan, Trajectory(name, people[0].events), RunKey.of_seed(1))[1] for name in names]
    write_reports(tmp_path / "report.csv", reports, [secret.name for secret in plan.policy.secrets])
    with (tmp_path / "report.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["person"] for row in rows] == names
    assert {int(row["events"]) for row in rows} == {len(people[0])}
