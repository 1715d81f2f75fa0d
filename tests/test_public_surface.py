"""The names that outsiders write, pinned: a change here is a change for users."""

from __future__ import annotations

import inspect
import io
import pickle
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import discreet as d
from discreet.randomness import SeededEntropy

SCRIPT = Path(__file__).parent.parent / "examples" / "script.py"

SURFACE = {
    *("UNKNOWN", "Clock", "Day", "Hierarchy", "carry_forward", "merge_rare"),
    *("Event", "Events", "Intervals", "TopicModel", "Trajectory"),
    *("MarkovChain", "HiddenMarkovModel", "Models", "load", "save"),
    *("Policy", "Routine", "Secret", "Guarantee", "Utility", "DiscreetError"),
    *("Output", "Released", "Generalized", "Skipped", "Suppressed", "Perturbed", "PartialEvent"),
    *("Session", "audit", "Audit", "attack", "Attack", "compare", "publish", "Plan", "Report"),
    *("evaluate", "Evaluation", "limit", "Limit", "laws", "mechanisms", "data", "warm"),
}


def test_the_surface_is_exactly_this() -> None:
    assert set(d.__all__) == SURFACE
    for name in SURFACE:
        assert getattr(d, name) is not None
    assert set(dir(d)) == {*d.__all__, "__version__"}  # nothing that an editor would offer in vain


def test_importing_discreet_imports_nothing_heavy() -> None:
    code = "import sys, discreet; print([m for m in ('numba', 'scipy', 'polars', 'rich', 'typer') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_importing_discreet_is_quick() -> None:
    """A tenth of a second of processor time and a half, Python's own start included."""
    code = "import discreet, time; print(time.process_time())"
    best = min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    )
    assert best < 0.15


def test_what_is_public_says_what_it_is() -> None:
    for name in d.__all__:
        told = inspect.getdoc(getattr(d, name))
        assert name in ("UNKNOWN", "Output") or (told and told[0].isupper() and "." in told), name


def test_publishing_is_called_by_the_name_of_its_package() -> None:
    """`d.publish` is the package once something of it is imported, and a function all the same."""
    from discreet.publish import Plan

    found: object = d.publish
    assert found is sys.modules["discreet.publish"]
    assert callable(d.publish)
    assert d.Plan is Plan


CHAIN = d.MarkovChain.homogeneous(("home", "clinic"), [0.9, 0.1], [[0.8, 0.2], [0.7, 0.3]], slots=3)
HIDDEN = ((0.5, 0.5), (0.5, 0.5)), ((0.9, 0.1), (0.2, 0.8))
POLICY = d.Policy(["clinic", d.Secret("clinic late", {"clinic"}, slots=range(1, 3), at="any", delta=0.2)], delta=0.1)
DAYS = [d.Day(day.contexts, f"2026-03-0{k}", "ann") for k, day in enumerate(CHAIN.sample(7, 1), 1)]


def audited() -> d.Audit:
    return d.audit(d.mechanisms.MaskSensitive(CHAIN, POLICY))


def evaluated() -> d.Evaluation:
    return d.evaluate(d.mechanisms.MaskSensitive(CHAIN, POLICY), DAYS)


VALUES: dict[str, Callable[[], object]] = {
    "MarkovChain": lambda: CHAIN,
    "Models": lambda: d.MarkovChain.fit(DAYS, by="weekpart"),
    "Routine": lambda: d.Routine.fit(DAYS, by=None),
    "EndlessChain": lambda: d.Routine.fit(DAYS).since("2026-03-09"),
    "HiddenMarkovModel": lambda: d.HiddenMarkovModel.homogeneous(("home", "clinic"), (1, 0), *HIDDEN, slots=3),
    "EndlessHidden": lambda: d.HiddenMarkovModel.homogeneous(("home", "clinic"), (1, 0), *HIDDEN),
    "Policy": lambda: POLICY,
    "Audit": audited,
    "Evaluation": evaluated,
    "Clock": lambda: d.Clock(24, "Europe/Paris", "04:00"),
    "Day": lambda: DAYS[0],
}


@pytest.mark.parametrize("name", VALUES)
def test_values_say_in_a_line_what_they_are_and_pickle_to_equals(name: str) -> None:
    value = VALUES[name]()
    again = pickle.loads(pickle.dumps(value))
    assert again == value
    assert again is not value
    assert hash(again) == hash(value) if name not in ("Audit", "Evaluation", "Models") else True
    assert repr(value).startswith(f"{name}(")
    assert "\n" not in repr(value)
    assert len(repr(value)) < 200
    assert value != object()


def test_mechanisms_say_in_a_line_what_they_are() -> None:
    policy = d.Policy(["clinic"], delta=0.1)
    line = "(MarkovChain(2 contexts, 3 slots), 1 secret, delta=0.1"
    assert repr(d.mechanisms.MaskSensitive(CHAIN, policy)) == f"MaskSensitive{line})"
    assert repr(d.mechanisms.Adaptive(CHAIN, policy, plan="lazy")) == f"Adaptive{line}, outputs='suppress')"


def test_one_is_not_written_as_many() -> None:
    table = "user,timestamp,context\na,2026-03-02T04:00:00Z,home\n"
    assert repr(d.data.read_days(io.StringIO(table), d.Clock(4))) == "Readings(1 person, 1 day, 1 row, 0 bad)"
    position = "user,timestamp,lat,lon\na,2026-03-02T04:00:00Z,1,2\n"
    assert repr(d.data.read_positions(io.StringIO(position))) == "Positions(1 person, 1 row, 0 bad)"


def test_models_that_differ_are_not_equal() -> None:
    other = d.MarkovChain.homogeneous(CHAIN.contexts, [0.8, 0.2], CHAIN.transition(0), slots=3)
    clocked = d.MarkovChain(CHAIN.contexts, CHAIN.initial, CHAIN.transitions, clock=d.Clock(3))
    assert other != CHAIN
    assert clocked != CHAIN
    assert d.Routine.fit(DAYS) != d.Routine.fit(DAYS, floor=0.01)


def test_a_policy_is_shown_in_the_words_that_make_it() -> None:
    names = {"Policy": d.Policy, "Secret": d.Secret}
    for policy in (POLICY, d.Policy(), d.Policy(d.Secret("x", {"y", "z"}, slots=[1, 3], cap=0.4), odds=3, share=0.8)):
        assert eval(repr(policy), names) == policy


def test_a_session_shows_neither_truth_nor_memory() -> None:
    shown = set()
    for context in ("home", "clinic"):
        session = d.Session(d.mechanisms.Adaptive(CHAIN, POLICY), rng=SeededEntropy(1))
        session.release(context)
        shown.add(repr(session))
    assert shown == {"Session(Adaptive, slot 1 of 3)"}


@pytest.mark.slow("a whole script: it learns, checks laws and audits")
def test_a_users_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """`make check` has mypy and basedpyright, strict, look at the same script."""
    runpy.run_path(str(SCRIPT), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["MaskSensitive", "Mornings", "Arrivals", "Adaptive"]
    assert lines[3].startswith("Adaptive exact delta: worst gain 0.10, holds True")
    assert len(SCRIPT.read_text(encoding="utf-8").splitlines()) >= 100


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(d, "anything_else")
