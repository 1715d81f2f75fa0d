"""The slots that `python -m benchmarks programmes` keeps: decided again they have the kernels that they had."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import programmes

from discreet.mechanisms.adaptive.decision import Decider


def test_kept_slots_are_decided_as_on_the_walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worths: list[float] = []
    decided = Decider.decided

    def noted(self: Decider, slot: object) -> object:
        decision = decided(self, slot)  # type: ignore[arg-type]
        if slot.rows:  # type: ignore[attr-defined]
            worths.append(decision.worth)
        return decision

    monkeypatch.setattr(Decider, "decided", noted)
    someone = programmes.simulated()[0]
    for kept in programmes.walks(someone, {"a day": 1, "without end": 1}):
        first = list(worths)
        worths.clear()
        assert len(first) == len(kept.slots) > 0
        programmes.save(kept, tmp_path)
        again = programmes.decided(programmes.load(tmp_path / f"{kept.name}.npz"))
        assert [one.worth for one in again] == first == worths
        worths.clear()


def test_the_table_counts_what_is_not_solved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    someone = programmes.simulated()[0]
    for kept in programmes.walks(someone, {"a day": 1, "without end": 1}):
        programmes.save(kept, tmp_path)
    solved = list(programmes.summary(programmes.replayed(tmp_path)))
    assert len(solved) == 1 + 12 + 1
    assert " 0.00 %     0.00 %" in solved[-1]
    monkeypatch.setattr(Decider, "_solved", lambda *_: iter(()))
    assert "100.00 %   100.00 %" in list(programmes.summary(programmes.replayed(tmp_path)))[-1]
