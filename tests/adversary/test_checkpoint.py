"""Checkpoints that were damaged, or altered by hand, are refused: a belief that is not the observer's keeps nothing."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.checkpoint import Checkpoint, _check
from discreet.randomness import SeededEntropy

LABELS = ("a", "b", "c")


def session() -> d.Session:
    rng = np.random.default_rng(1)

    def rows(*shape: int) -> Any:
        return 0.9 * rng.dirichlet([0.4] * 3, size=shape) + 0.1 / 3

    routine = d.Routine({"day": d.MarkovChain(LABELS, [1 / 3] * 3, rows(2, 3))}, {("day", "day"): rows(3)})
    night = d.Secret("night", {"b"}, at="any", slots=[2, 0], begins=2)
    mechanism = d.mechanisms.Adaptive(routine.since("2026-11-16"), d.Policy(["a", night], delta=0.1), outputs="deceive")
    running = d.Session(mechanism, rng=SeededEntropy(0))
    for label in "abcabc":
        running.release(label)
    return running


ALTERED: dict[str, Any] = {
    "slot": 5,
    "skipped": True,
    "secret": 7,
    "opens": 999,
    "closes": 999,
    "prior": "nan",
    "delta": "-0x1p0",
    "low": "nan",
    "stack": "0x1p2000",
    "told": [[9, 9, "0x1p-1"]],
    "cuts": [3],
    "digest": "00",
}


@pytest.mark.parametrize("key", sorted(ALTERED))
def test_what_was_altered_is_refused(key: str) -> None:
    content = json.loads(session().checkpoint().to_json())
    (measures,) = content["observers"]
    where, value = content if key in content else measures, ALTERED[key]
    if key in ("secret", "opens", "closes", "prior", "delta"):
        value = [value] * len(where[key])
    if key in ("low", "stack"):
        value = [[value] * 3] * len(where[key])
    assert where[key] != value
    where[key] = value
    with pytest.raises(d.DiscreetError, match="is damaged"):
        Checkpoint.from_json(json.dumps(content))


def test_what_was_cut_short_or_has_no_check_is_refused() -> None:
    text = session().checkpoint().to_json()
    with pytest.raises(d.DiscreetError, match="not JSON"):
        Checkpoint.from_json(text[:-10])
    content = json.loads(text)
    del content["check"]
    with pytest.raises(d.DiscreetError, match="is damaged"):
        Checkpoint.from_json(json.dumps(content))


def test_the_order_of_keys_and_spaces_do_not_matter() -> None:
    running = session()
    content = json.loads(running.checkpoint().to_json())
    again = Checkpoint.from_json(json.dumps(dict(sorted(content.items(), reverse=True)), indent=2))
    resumed = d.Session.resume(running.mechanism, checkpoint=again, private=running.private)
    assert (resumed.digest, resumed.slot) == (running.digest, running.slot)


def test_it_does_not_depend_on_the_truth_beyond_the_outputs() -> None:
    """Habits with zeros: a reading that they have no place for is silence, as a place may be that they have."""
    day = d.MarkovChain(LABELS, [0.5, 0.5, 0], [[[0.5, 0.25, 0.25], [0.5, 0.5, 0], [0.5, 0, 0.5]]])
    routine = d.Routine({"day": day}, {("day", "day"): [[0.9, 0.1, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]]})
    mechanism = d.mechanisms.Adaptive(routine.since("2026-11-16"), d.Policy(["c"], delta=0.1))
    impossible, other = d.Session(mechanism), d.Session(mechanism)
    other.follow(impossible.release("c"))
    assert (impossible.off_model, other.off_model) == (1, 0)
    assert impossible.checkpoint().to_json() == other.checkpoint().to_json()


def test_one_with_a_count_of_the_truth_is_still_read() -> None:
    content = json.loads(session().checkpoint().to_json())
    del content["check"]
    old = content | {"format": 2, "off_model": 3}
    read = Checkpoint.from_json(json.dumps({**old, "check": _check(old)}))
    assert read.to_json() == session().checkpoint().to_json()
    with pytest.raises(d.DiscreetError, match="reads 2 and 3"):
        Checkpoint.from_json(json.dumps({**content, "format": 4}))
