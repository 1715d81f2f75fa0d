from __future__ import annotations

import sys
from pathlib import Path

import pytest

from discreet import mechanisms
from discreet.contracts import MechanismClass
from discreet.laws import cases
from tests.cli.conftest import POLICY, READINGS, Discreet, error_of
from tests.laws.test_laws import each_slot, models_for
from tests.strategies import needs_of
from tests.test_docs import blocks

KINDS = {"delta": "exact delta", "window": "window only", "none": "none", "epsilon": "epsilon"}


def test_all_are_listed_and_the_default_comes_first(discreet: Discreet) -> None:
    ran = discreet("mechanisms")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[1].startswith("adaptive *")
    assert sorted(mechanisms.PROMISES) == sorted(mechanisms.WHERE)
    listed = {one["name"]: one for one in discreet("mechanisms", "--json").json["mechanisms"]}
    assert len(listed) == len(mechanisms.WHERE)
    assert [name for name, one in listed.items() if one["default"]] == ["adaptive"]
    assert listed["mask-sensitive"]["promise"] == "none"


@pytest.mark.parametrize("name", sorted(mechanisms.WHERE))
def test_what_is_said_of_a_promise_is_what_the_guarantee_says(name: str) -> None:
    kind: MechanismClass = getattr(mechanisms, name)
    promised = KINDS[mechanisms.PROMISES[name].split(":")[0]]
    model, policy = next(models_for(kind, 0))
    for mechanism in cases(kind, model, each_slot(policy) if needs_of(kind) != "events" else policy):
        if name == "PaHmm":  # on a day as short as this one the window covers all of it
            assert mechanism.guarantee.kind in ("exact delta", "window only")
        elif name == "PaMarkov" and not mechanism.internal:  # type: ignore[attr-defined]
            assert mechanism.guarantee.kind == "window only"
        else:
            assert mechanism.guarantee.kind == promised


def test_adaptive_decides_unless_another_is_named(discreet: Discreet, endless: list[str]) -> None:
    model = endless[1]
    document = discreet("audit", "--model", model, "--policy", POLICY, "--budget", "5", "--json").json
    assert document["mechanism"] == "adaptive"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The mechanism of docs/tutorial-mechanism.md, in a file of the working directory."""
    page = (Path(__file__).parents[2] / "docs" / "tutorial-mechanism.md").read_text(encoding="utf-8")
    (block,) = [one.content for one in blocks(page) if one.language == "python" and "class EveryOther" in one.content]
    (tmp_path / "every_other.py").write_text(block, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "every_other", raising=False)
    return "every_other:EveryOther"


def test_ones_own_works_wherever_a_mechanism_is_named(discreet: Discreet, brief: list[str], own: str) -> None:
    using = [*brief, "--mechanism", own]
    audited = discreet("audit", *using, "--json")
    assert (audited.code, audited.json["holds"], audited.json["without_end"]) == (1, False, False)
    rows = discreet("release", *using, READINGS, "--json").json["releases"]
    assert [row["kind"] == "suppressed" for row in rows] == [False, True] * (len(rows) // 2)
    (part,) = discreet("evaluate", READINGS, *using, "--option", "of=4", "--json").json["parts"]
    assert part["utility"] == 1 / 4
    compared = discreet("compare", READINGS, *brief, "--mechanism", own, "--mechanism", f"{own} of=4", "--json")
    assert [(row["mechanism"], row["utility"]) for row in compared.json["mechanisms"]] == [
        (own, 1 / 2),
        (f"{own}, of=4", 1 / 4),
    ]


def test_what_is_wrong_with_ones_own_is_one_line(discreet: Discreet, endless: list[str], own: str) -> None:
    for wrong, words in (
        ("every_one:EveryOther", "No module named 'every_one'"),
        ("every_other:EveryOne", "did you mean 'EveryOther'?"),
        ("every_other:d", "is no mechanism: it lacks start, kernel, advance"),
        ("every_other.py:EveryOther", "name the module, every_other:EveryOther"),
    ):
        assert words in error_of(discreet("audit", *endless, "--mechanism", wrong))
    assert "has no option 'off'; did you mean 'of'?" in error_of(
        discreet("audit", *endless, "--mechanism", own, "--option", "off=3")
    )
