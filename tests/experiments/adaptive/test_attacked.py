"""The attack on recorded people, with made-up ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from discreet.outputs import SUPPRESSED, Released
from discreet_experiments.shared.people import Rules
from discreet_experiments.shared.subjects import Setting, subject
from tests.experiments.quiet import quiet
from tests.experiments.recorded import made_up

pytest.importorskip("sklearn", reason="scikit-learn is not installed; pip install discreet[attack]")

from discreet_experiments.adaptive.attacked import DATA, SILENCE, SYSTEMS, on_attacks, parts_played, seen_of

SETTING = Setting(Rules(slots=12, carry_hours=1000.0, least_days=20), secrets=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up(tmp_path_factory.mktemp("data"), count=2, days=40)


def test_places_are_called_by_their_part(folder: Path) -> None:
    trace = quiet(folder).read(SETTING.rules)[0]
    one = subject(trace, SETTING)
    assert one is not None
    names = parts_played(one)
    assert names[one.secrets[0]] == "secret 1"
    assert len(set(names.values())) == len(names)
    seen = seen_of(trace, SETTING)
    assert seen is not None
    days, outputs = seen.days, seen.shown
    assert set(outputs) == set(SYSTEMS)
    assert seen.shares["default, suppress"] == 1.0
    assert all(0 <= share <= 1 for share in seen.shares.values())
    assert {label for day in days for label in day.contexts} <= {*names.values(), "unknown", "other"}
    for day, true, shown in zip(days, one.held_out, outputs["mask-sensitive"], strict=True):
        assert [label == "secret 1" for label in day.contexts] == [label in one.secrets for label in true.contexts]
        for label, output in zip(day.contexts, shown, strict=True):
            assert output in ((SUPPRESSED,) if label == "secret 1" else (Released(label), SUPPRESSED))
    assert {output for day in outputs[SILENCE] for output in day} == {SUPPRESSED}


def test_the_table(folder: Path) -> None:
    figure = on_attacks(quiet(folder), SETTING, DATA[:1])
    rows = figure.summary.records()
    assert [row["system"] for row in rows] == [
        "default, suppress", "default, deceive", "held 0.9, suppress", "held 0.9, deceive",
        "MaskSensitive, plain counts", "Adaptive deceive, plain counts", "Adaptive suppress, plain counts", "silence",
    ]  # fmt: skip
    assert {row["data"] for row in rows} == {"Reality Mining"}
    assert {row["verdict"] for row in rows} <= {"beyond", "within", "open", "not tested"}
    assert rows[-1]["verdict"] != "beyond"
    assert (rows[0]["share"], rows[-1]["shown"]) == (1.0, 0.0)
    assert float(str(rows[2]["share"])) <= 1


def test_who_has_too_few_weeks_has_no_held_share(folder: Path) -> None:
    trace = quiet(folder).read(SETTING.rules)[0]
    few = seen_of(replace(trace, days=trace.days[:16]), SETTING)
    assert few is not None
    assert set(SYSTEMS) - set(few.shown) == {"held 0.9, suppress", "held 0.9, deceive"}
    assert len(few.days) == 8
