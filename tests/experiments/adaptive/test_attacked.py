"""The attack on recorded people, with made-up ones."""

from __future__ import annotations

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
    days, outputs = seen
    assert set(outputs) == set(SYSTEMS)
    assert {label for day in days for label in day.contexts} <= {*names.values(), "unknown", "other"}
    for day, true, shown in zip(days, one.held_out, outputs["mask-sensitive"], strict=True):
        assert [label == "secret 1" for label in day.contexts] == [label in one.secrets for label in true.contexts]
        for label, output in zip(day.contexts, shown, strict=True):
            assert output in ((SUPPRESSED,) if label == "secret 1" else (Released(label), SUPPRESSED))
    assert {output for day in outputs[SILENCE] for output in day} == {SUPPRESSED}


def test_the_table(folder: Path) -> None:
    figure = on_attacks(quiet(folder), SETTING, DATA[:1])
    rows = figure.summary.records()
    assert [row["system"] for row in rows] == ["MaskSensitive", "Adaptive deceive", "Adaptive suppress", "Silence"]
    assert {row["data"] for row in rows} == {"Reality Mining"}
    assert {row["verdict"] for row in rows} <= {"beyond", "within", "open", "not tested"}
    assert rows[-1]["verdict"] != "beyond"
