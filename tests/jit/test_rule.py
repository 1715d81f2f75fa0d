"""When a loop is interpreted and when it is compiled, and that nobody can tell by what it returns."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.errors import DiscreetError
from discreet.jit import FLOATS, INT, compiled, helper, in_place, rule, sums
from discreet.jit.modules import OTHERS, PARTS, SESSION
from discreet.jit.warming import loops_of
from discreet.numerics import FloatArray
from discreet.randomness import SeededEntropy
from tests.strategies import random_chain

SOURCES = Path(rule.__file__).parents[1]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Loops that a test has had interpreted are looked for again."""
    yield
    for loop in rule.LOOPS.values():
        loop.forget()


@helper
def _twice(value: float) -> float:
    return value + value


def _one_at_once(values: FloatArray) -> float:
    return float(values[0])


@in_place(plain=_one_at_once)
def _first(values: FloatArray) -> float:
    for k in range(len(values)):
        if k == 0:
            return float(values[k])
    return 0.0


@compiled(FLOATS, INT)
def _sum(values: FloatArray, times: int) -> float:
    total = 0.0
    for value in values:
        total += _twice(value) * times
    return total + _first(values) * 0.0


def test_a_loop_is_the_same_compiled_and_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    loop: Any = _sum
    values = np.array([0.1, 0.2, 0.3])
    monkeypatch.setenv(rule.VARIABLE, "never")
    plain = _sum(values, 3)
    assert not loop.is_compiled
    assert type(plain) is float, "as compiled code returns it, not NumPy's"
    monkeypatch.setenv(rule.VARIABLE, "now")
    assert _sum(values, 3) == plain
    assert loop.is_compiled
    read_only, strided = values.copy(), np.array([0.1, 9, 0.2, 9, 0.3])[::2]
    read_only.setflags(write=False)
    assert _sum(read_only, 3) == _sum(strided, 3) == plain
    with pytest.raises(TypeError, match="No matching definition"):
        loop("text", 3)


def test_a_written_array_with_gaps_is_refused_rather_than_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.mechanisms.events.loops import lower_levels

    monkeypatch.setenv(rule.VARIABLE, "now")
    with pytest.raises(TypeError, match="No matching definition"):
        lower_levels(np.ones(4, np.int64)[::2], np.array([0]), np.zeros((1, 2)))


def test_a_loop_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(_sum)) is _sum


def test_a_word_that_is_not_known_names_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rule.VARIABLE, "later")
    with pytest.raises(DiscreetError, match="DISCREET_COMPILE=later is not known; set it to background, now, never"):
        rule.mode()
    monkeypatch.setenv(rule.VARIABLE, "")
    assert rule.mode() == "background"
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert rule.mode() == "never"


def test_a_batch_compiles_first_and_small_calls_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the background mode, without a child: the parts that would start one are noted instead."""
    from discreet.jit import background, cache

    asked: list[str] = []
    monkeypatch.setenv(rule.VARIABLE, "background")
    monkeypatch.setattr(background, "ask", lambda loop: asked.append(loop.name))
    monkeypatch.setattr(cache, "is_ready", lambda loop: False)
    plain = rule.LOOPS[f"{__name__}._sum"].py_func
    loop = rule.Loop(plain, ((FLOATS, INT),), plain, lambda values, times: len(values) > 2)
    assert loop(np.ones(2), 1) == 4.0
    assert not loop.is_compiled
    assert asked == [loop.name]
    assert loop(np.ones(2), 1) == 4.0
    assert asked == [loop.name], "asked for once in a while, not at every call"
    assert loop(np.ones(3), 1) == 6.0
    assert loop.is_compiled


def test_compiled_code_is_taken_over_in_mid_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """One stream of kernels, interpreted up to some slot and compiled from there on, wherever that slot is."""

    def stream(swap_at: int) -> list[Any]:
        monkeypatch.setenv(rule.VARIABLE, "never")
        for loop in rule.LOOPS.values():
            loop.forget()
        chain = random_chain(3, n=4, slots=6, zeros=0.1)
        mechanism = d.mechanisms.Adaptive(chain, d.Policy(["c0", "c1"], delta=0.1), outputs="deceive", plan="lazy")
        state, entropy = mechanism.start(), SeededEntropy(5)
        found: list[Any] = []
        for slot in range(6):
            if slot == swap_at:
                monkeypatch.setenv(rule.VARIABLE, "now")
            kernel: Any = mechanism.kernel(state)
            output = kernel.sample(0, entropy)
            found.append((kernel.weights.tobytes(), output))
            state = mechanism.advance(state, output)
        return found

    interpreted = stream(6)
    assert not any(loop.is_compiled for loop in loops_of(SESSION))
    for swap_at in (0, 3):
        assert stream(swap_at) == interpreted
        assert rule.LOOPS["discreet.mechanisms.programme._solve"].is_compiled


def test_interpreted_sessions_do_not_load_numba() -> None:
    code = (
        "import sys, discreet as d\n"
        "habits = d.MarkovChain.homogeneous(('home', 'clinic'), [1.0, 0.0], [[0.9, 0.1], [0.9, 0.1]], slots=3)\n"
        "today = d.Session(d.mechanisms.Adaptive(habits, d.Policy(['clinic'], delta=0.1)))\n"
        "today.release('home'); today.release('clinic')\n"
        "sys.exit('numba' in sys.modules or 'scipy' in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], env={**os.environ, rule.VARIABLE: "never"}, check=True)


def test_every_module_with_loops_is_known_and_declares_their_types() -> None:
    """What is not listed is neither warmed nor part of the name of the cache's folder."""
    found = {
        ".".join(("discreet", *path.relative_to(SOURCES).with_suffix("").parts))
        for path in SOURCES.rglob("*.py")
        if "\n@compiled(" in path.read_text(encoding="utf-8")
    }
    helpers = {
        ".".join(("discreet", *path.relative_to(SOURCES).with_suffix("").parts))
        for path in SOURCES.rglob("*.py")
        if any(f"\n@{word}" in path.read_text(encoding="utf-8") for word in ("helper", "in_place"))
    }
    assert found == {*SESSION, *OTHERS}
    assert helpers <= {*SESSION, *OTHERS, *PARTS}
    loops = loops_of((*SESSION, *OTHERS))
    assert {loop.__module__ for loop in loops} == found
    assert [loop.name for loop in rule.LOOPS.values() if loop.__module__ in found and not loop.signatures] == []


def test_shared_sums_are_plain_python_for_python() -> None:
    assert sums.dot(np.ones(9), np.ones(9)) == 9.0
    assert not isinstance(sums.dot, rule.Loop)
