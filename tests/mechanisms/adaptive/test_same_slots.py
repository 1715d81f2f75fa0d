"""Kernels are kept by what they were made from: fewer programmes are solved, and no bit differs."""

from __future__ import annotations

import datetime as dt

import pytest

import discreet as d
from discreet.mechanisms.adaptive import machine
from discreet.models.routine.parts import made_once
from discreet.randomness import SeededEntropy

CHAIN = d.MarkovChain.homogeneous(
    ("home", "clinic", "work"), [0.8, 0.0, 0.2], [[0.6, 0.1, 0.3], [0.9, 0.1, 0.0], [0.3, 0.0, 0.7]], slots=4
)
NIGHTS = [[0.95, 0.0, 0.05], [1.0, 0.0, 0.0], [0.61, 0.0, 0.39]]
ROUTINE = d.Routine({"day": CHAIN}, {("day", "day"): NIGHTS})
POLICY = d.Policy(["clinic", d.Secret("clinic today", {"clinic"}, at="any")], delta=0.1)
MONDAY = dt.date(2026, 11, 16)


def adaptive(outputs: str = "suppress") -> d.mechanisms.Adaptive:
    return d.mechanisms.Adaptive(ROUTINE.since(MONDAY), POLICY, outputs=outputs)  # type: ignore[arg-type]


def weeks(mechanism: d.mechanisms.Adaptive, days: int = 30) -> tuple[str, list[d.Output]]:
    """The digest of a stream's outputs and of all the kernels that gave them, one slot skipped."""
    told: list[d.Output] = []
    with d.Session(mechanism, rng=SeededEntropy(3)) as session:
        for day in range(days):
            for context in ("home", "clinic" if day % 5 == 0 else "work", "home", "home"):
                told.append(session.skip() if len(told) == 17 else session.release(context))
        return session.digest, told


@pytest.mark.parametrize("outputs", ["suppress", "deceive"])
def test_kernels_that_are_kept_are_those_that_would_be_made(outputs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = adaptive(outputs)
    found = weeks(kept)
    monkeypatch.setattr(machine, "ROOM", 0)
    anew = adaptive(outputs)
    assert weeks(anew) == found
    if outputs == "suppress":
        assert kept.effort.programmes < anew.effort.programmes / 2


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "ROOM", 4_000)
    monkeypatch.setattr(machine, "STATES", 5)
    mechanism = adaptive("deceive")
    weeks(mechanism)
    known = mechanism.machine._known
    assert known.nbytes <= 4_000
    assert len(known.slots) <= 5


def test_a_mechanism_is_made_once_and_goes_on_from_another_date_with_what_it_decided() -> None:
    calls = []

    def make(model: object) -> d.mechanisms.Adaptive:
        calls.append(model)
        return d.mechanisms.Adaptive(model, POLICY)  # type: ignore[arg-type]

    once = made_once(make)
    first = once(ROUTINE.since(MONDAY))
    assert once(ROUTINE.since(MONDAY)) is first
    digest, _ = weeks(first)  # type: ignore[arg-type]
    solved = first.effort.programmes  # type: ignore[attr-defined]
    later = once(ROUTINE.since(MONDAY + dt.timedelta(days=7)))
    assert weeks(later) == weeks(adaptive().since(MONDAY + dt.timedelta(days=7)))  # type: ignore[arg-type]
    assert later.effort.programmes < 1.5 * solved  # type: ignore[attr-defined]
    assert weeks(first)[0] == digest  # type: ignore[arg-type]
    assert len(calls) == 1
    assert once(CHAIN) is not first
    assert len(calls) == 2
