"""The names that outsiders write, pinned: a change here is a change for users."""

from __future__ import annotations

import subprocess
import sys

import discreet as d

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
    assert set(d.__all__) <= set(dir(d))


def test_importing_discreet_imports_nothing_heavy() -> None:
    code = "import sys, discreet; print([m for m in ('numba', 'scipy', 'polars', 'rich', 'typer') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(d, "anything_else")
