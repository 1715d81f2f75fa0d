from __future__ import annotations

import pytest

from discreet import mechanisms
from discreet.contracts import MechanismClass
from discreet.laws import cases
from tests.cli.conftest import POLICY, Discreet
from tests.laws.test_laws import each_slot, models_for

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
    for mechanism in cases(kind, model, each_slot(policy) if kind.needs != "events" else policy):
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
