"""`discreet policy hold`: the share of delta, chosen by later weeks and written into the policy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet import Clock
from discreet.evaluation.hold import hold
from discreet.models.store import save
from discreet.policy import read_policy
from tests.cli.conftest import Discreet, error_of
from tests.evaluation.test_hold import days_of, routine_of

TEXT = "# kept\ndelta = 0.1 # as it was\n\n[[secret]]\ncontexts = ['clinic']\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, days, clock = tmp_path_factory.mktemp("hold"), days_of(4, 1), Clock(4, "UTC")
    lines = ["user,timestamp,context"]
    for day in days:
        assert day.date is not None
        starts = (clock.start_of(day.date, slot) for slot in range(4))
        lines += [f"p,{at.isoformat()},{label}" for at, label in zip(starts, day.contexts, strict=True)]
    (path / "readings.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (path / "policy.toml").write_text(TEXT, encoding="utf-8")
    save(path / "p.model", type(routine_of(days)).fit(days, None, secrets=["clinic"], clock=clock))
    return path


def arguments(folder: Path, *more: object) -> list[object]:
    files = ["--history", folder / "readings.csv", "-m", folder / "p.model", "-p", folder / "policy.toml"]
    return [*files, "-o", "outputs=deceive", "-o", "memory=none", *more]


def test_the_share_is_written_and_every_other_line_stays(discreet: Discreet, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "held.toml"
    ran = discreet("policy", "hold", 0.8, *arguments(folder, "--out", out, "--json"))
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["version"] == "leave one week out"
    assert 0 < found["share"] < 1
    assert read_policy(out)[0].share == found["share"]
    lines = out.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "share" not in line] == TEXT.splitlines()
    assert (folder / "policy.toml").read_text(encoding="utf-8") == TEXT


def test_where_only_silence_holds_nothing_is_written(
    discreet: Discreet, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hold.__kwdefaults__ is not None
    monkeypatch.setitem(hold.__kwdefaults__, "shares", (1.0,))  # of small ones it depends on the draws
    out = tmp_path / "held.toml"
    ran = discreet("policy", "hold", 0.9999, *arguments(folder, "--out", out))
    assert ran.code == 1
    assert "only silence does" in " ".join(ran.out.split())
    assert not out.exists()


def test_a_share_of_days_is_between_0_and_1(discreet: Discreet, folder: Path) -> None:
    assert "between 0 and 1, such as 0.9" in error_of(discreet("policy", "hold", 90, *arguments(folder)))
