"""A day without a change is a day where the person was, if the reading before stands all day."""

from __future__ import annotations

from pathlib import Path

from discreet.clock import Clock
from discreet.data import read_days


def _read(tmp_path: Path, carry: int, *rows: str) -> dict[str, set[str]]:
    path = tmp_path / "changes.csv"
    path.write_text("user,timestamp,context\n" + "".join(f"ann,{row}\n" for row in rows), encoding="utf-8")
    (days,) = read_days(path, Clock(24), carry=carry).people.values()
    return {str(day.date): set(day.contexts) for day in days}


def test_a_quiet_day_at_home_is_a_day_at_home(tmp_path: Path) -> None:
    rows = ("2026-01-02T18:00:00Z,home", "2026-01-05T08:00:00Z,work")
    found = _read(tmp_path, 72, *rows)
    assert sorted(found) == ["2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"]
    assert found["2026-01-03"] == found["2026-01-04"] == {"home"}


def test_a_day_that_is_known_in_part_is_none(tmp_path: Path) -> None:
    rows = ("2026-01-02T18:00:00Z,home", "2026-01-05T08:00:00Z,work")
    assert sorted(_read(tmp_path, 48, *rows)) == ["2026-01-02", "2026-01-03", "2026-01-05"]
    assert sorted(_read(tmp_path, 29, *rows)) == ["2026-01-02", "2026-01-03", "2026-01-05"]  # to the last slot
    assert sorted(_read(tmp_path, 28, *rows)) == ["2026-01-02", "2026-01-05"]
    assert sorted(_read(tmp_path, 4, *rows)) == ["2026-01-02", "2026-01-05"]


def test_what_is_unknown_does_not_stand(tmp_path: Path) -> None:
    rows = ("2026-01-02T18:00:00Z,unknown", "2026-01-05T08:00:00Z,work")
    assert sorted(_read(tmp_path, 72, *rows)) == ["2026-01-02", "2026-01-05"]
