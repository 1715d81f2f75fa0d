"""What is too large for Adaptive is refused before it starts, and what is near the limit is not."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from benchmarks import grows

from discreet.errors import DiscreetError
from discreet.mechanisms.adaptive import size
from discreet.mechanisms.adaptive.adaptive import Adaptive
from discreet.models import MarkovChain
from discreet.policy import Policy, Secret


def sparse(contexts: int, slots: int = 2) -> MarkovChain:
    """Every context leads to itself alone, so that memory keeps all pairs apart."""
    return MarkovChain.homogeneous(
        tuple(f"c{k}" for k in range(contexts)), np.full(contexts, 1 / contexts), np.eye(contexts), slots=slots
    )


def test_memory_of_many_contexts_is_refused_with_what_helps() -> None:
    chain, policy = sparse(400), Policy(["c1"])
    with pytest.raises(DiscreetError, match=r"160,400 private states .* 2\.3 GB .* memory='none', or merge rare"):
        Adaptive(chain, policy, plan="lazy")
    assert Adaptive(chain, policy, memory="none", plan="lazy").memory == "none"


def test_a_day_of_many_slots_and_secrets_is_refused_with_what_helps() -> None:
    contexts = tuple(f"c{k}" for k in range(40))
    chain = MarkovChain.homogeneous(contexts, np.full(40, 1 / 40), np.full((40, 40), 1 / 40), slots=1440)
    with pytest.raises(DiscreetError, match=r"14,400 pairs of a slot and a secret, .* 3\.3 GB .* at='any'"):
        Adaptive(chain, Policy(contexts[:10]), plan="lazy")
    any_slot = Policy([Secret(f"{one} today", {one}, at="any") for one in contexts[:10]])
    size.refuse_long_day(chain, any_slot, "suppress")  # does not grow with slots squared


def test_what_is_said_to_be_needed_is_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, policy = sparse(60), Policy(["c1"])
    private = 60 * 61
    tracemalloc.start()
    Adaptive(chain, policy, plan="lazy")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 < most / (size.FOLLOWING * private * 60) < 2
    monkeypatch.setattr(size, "MOST_BYTES", size.FOLLOWING * private * 60)
    assert len(Adaptive(chain, policy, plan="lazy").private_contexts) == private  # at the limit
    monkeypatch.setattr(size, "MOST_BYTES", size.MOST_BYTES - 1)
    with pytest.raises(DiscreetError, match="private states with memory"):
        Adaptive(chain, policy, plan="lazy")


def test_the_table_of_growth(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(grows, "DECISIONS", 8)
    monkeypatch.setattr(grows, "cell", lambda *given: grows.measured(*given[0], *given[1:]))
    grows.main(["--tiny", "--seconds", "60"])
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 2 + 8 + 3 + 1
    assert [line.split()[:4] for line in told[2:4]] == [["5", "4", "1", "8"], ["5", "4", "3", "8"]]
    assert told[-1] == "left out, over 60 s: none"


def test_a_cell_over_its_seconds_is_left_out_and_said() -> None:
    assert list(grows.lines(((5,), (4,), (1,)), "deceive", "last", 0.0))[2:] == ["left out, over 0 s: 5x4x1"]


def test_exponents_are_those_of_the_cells() -> None:
    cells = [
        grows.Cell(n, slots, secrets, 0, 3.0 * n**2 * slots**0.5 * secrets, 0, 0, 0, 0)
        for n in (10, 20)
        for slots in (24, 48)
        for secrets in (1, 3)
    ]
    assert grows.exponents(cells, "median") == pytest.approx([2, 0.5, 1])
