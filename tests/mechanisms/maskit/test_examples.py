"""The worked examples of the MaskIt paper, in fractions (figures reconstructed in theory, section 3)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.enumerate import worst
from discreet.mechanisms import Hybrid, Probabilistic, SetLabelled, Simulatable
from discreet.numerics import SLACK
from tests.mechanisms.enumeration import Tiny, releases_suppressed, simulated, tiny, worst_suppressed

NEAR = 1e-10  # "exact" stays inside its bound by a part of 2**-36


def chain_of(start: dict[str, Fraction], *steps: dict[str, dict[str, Fraction]]) -> tuple[d.MarkovChain, Any, Any]:
    """A chain from its drawing, as floats and as fractions; contexts that are never left stay where they are."""
    names = list(dict.fromkeys([*start, *(j for step in steps for row in step.values() for j in row)]))
    initial = [start.get(name, Fraction(0)) for name in names]
    transitions = [
        [[step.get(i, {i: Fraction(1)}).get(j, Fraction(0)) for j in names] for i in names] for step in steps
    ]  # (T-1, n, n)
    shape = (len(steps), len(names), len(names))
    floats = np.array(transitions, dtype=np.float64).reshape(shape)
    return d.MarkovChain(names, np.array(initial, dtype=np.float64), floats), initial, transitions


def exactly(chain: tuple[d.MarkovChain, Any, Any], delta: Fraction, *secrets: str) -> Tiny:
    model, initial, transitions = chain
    whole = frozenset(range(model.slots))
    return Tiny(initial, transitions, [(frozenset({model.contexts.index(name)}), whole, delta) for name in secrets])


def vector(model: d.MarkovChain, *suppressed: dict[str, Fraction]) -> list[list[Fraction]]:
    """p (T, n) from the suppressed contexts of each slot; others are released."""
    return [[row.get(context, Fraction(0)) for context in model.contexts] for row in suppressed]


HALF, THIRD, QUARTER = Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)
EXAMPLE_1 = chain_of({"s": HALF, "x": HALF})


def test_example_1_probabilities_and_gain() -> None:
    model = EXAMPLE_1[0]
    twin = exactly(EXAMPLE_1, QUARTER, "s")
    p = vector(model, {"s": Fraction(1), "x": THIRD})
    assert worst_suppressed(twin, p) == QUARTER
    assert releases_suppressed(twin, p) == THIRD
    assert worst_suppressed(twin, vector(model, {"s": Fraction(1), "x": THIRD - Fraction(1, 10**9)})) > QUARTER
    assert worst_suppressed(twin, vector(model, {"s": Fraction(999, 1000), "x": Fraction(1)})) == HALF


def test_example_1_is_found() -> None:
    policy = d.Policy("s", delta=0.25)
    exact = Probabilistic(EXAMPLE_1[0], policy)
    assert exact.p == pytest.approx(np.array([[1, 1 / 3]]), abs=NEAR)
    assert float(exact.expected_utility()) == pytest.approx(1 / 3, abs=NEAR)
    sampled = worst_suppressed(exactly(EXAMPLE_1, QUARTER, "s"), exact.p.tolist())
    assert QUARTER - Fraction(NEAR) < sampled <= QUARTER + Fraction(SLACK)
    for search in ("mondrian", "algpr"):
        on_grid = Probabilistic(EXAMPLE_1[0], policy, search=search)
        assert on_grid.p == pytest.approx(np.array([[1, 0.4]]), abs=1e-15)
        assert float(on_grid.expected_utility()) == pytest.approx(0.3, abs=1e-15)
    assert float(Simulatable(EXAMPLE_1[0], policy).expected_utility()) == 0


def test_example_2_privacy_is_neither_convex_nor_concave() -> None:
    figure = chain_of(
        {"y1": HALF, "y2": HALF},
        {"y1": {"s1": HALF, "z1": HALF}, "y2": {"s2": HALF, "z2": HALF}},
    )
    twin, model = exactly(figure, QUARTER, "s1", "s2"), figure[0]
    policy = d.Policy(["s1", "s2"], delta=0.25)
    check = Probabilistic(model, policy)
    one = Fraction(1)
    cases = [
        (({"y1": one, "y2": one}, {"s1": one, "s2": one}), QUARTER),
        (({}, {"s1": one, "s2": one, "z1": one, "z2": one}), QUARTER),
        (({"y1": HALF, "y2": HALF}, {"s1": one, "s2": one, "z1": HALF, "z2": HALF}), Fraction(5, 12)),
        (({"y1": one}, {"z1": one, "s1": one, "s2": one}), Fraction(3, 4)),
        (({"y2": one}, {"z2": one, "s1": one, "s2": one}), Fraction(3, 4)),
    ]
    for slots, gain in cases:
        p = vector(model, *slots)
        assert worst_suppressed(twin, p) == gain
        floats = np.array(p, dtype=np.float64)
        assert check.worst_gain(floats) == pytest.approx(float(gain), abs=1e-12)
        assert check.is_private(floats) == (gain <= QUARTER)


def test_example_3_the_probabilistic_check_is_superior() -> None:
    figure = chain_of(dict.fromkeys(("s1", "s2", "x1", "x2"), QUARTER))
    twin, model = exactly(figure, QUARTER, "s1", "s2"), figure[0]
    p = vector(model, {"s1": Fraction(1), "s2": Fraction(1)})
    assert worst_suppressed(twin, p) == QUARTER
    assert releases_suppressed(twin, p) == HALF
    assert simulated(twin) == (Fraction(0), Fraction(0))
    hybrid = Hybrid(model, d.Policy(["s1", "s2"], delta=0.25))
    assert (hybrid.chosen, hybrid.advantage) == ("probabilistic", 0.5)
    assert float(hybrid.simulatable.expected_utility()) == 0
    assert np.array_equal(hybrid.probabilistic.p, [[1, 1, 0, 0]])


def example_4() -> tuple[d.MarkovChain, Any, Any]:
    one = Fraction(1)
    return chain_of(
        dict.fromkeys(("w1", "w2", "w3", "w4", "w5", "w6"), Fraction(1, 6)),
        {f"w{k}": {f"x{(k + 1) // 2}": one} for k in range(1, 7)},
        {"x1": {"s1": HALF, "y1": HALF}, "x2": {"y2": one}, "x3": {"s2": HALF, "y3": HALF}},
        {"s1": {"z1": one}, "y1": {"z2": one}, "s2": {"z2": one}, "y3": {"z1": one}, "y2": {"z1": HALF, "z2": HALF}},
    )


def test_example_4_the_simulatable_check_is_superior() -> None:
    figure = example_4()
    twin, model = exactly(figure, THIRD, "s1", "s2"), figure[0]
    assert simulated(twin) == (Fraction(8, 3), THIRD)
    one = Fraction(1)
    p = vector(model, {}, {}, {"s1": one, "y1": one, "s2": one, "y3": one}, {"z1": one, "z2": one})
    assert worst_suppressed(twin, p) == THIRD
    assert releases_suppressed(twin, p) == Fraction(7, 3)
    hybrid = Hybrid(model, d.Policy(["s1", "s2"], delta=1 / 3))  # met with equality: a sloppy tolerance fails here
    assert float(hybrid.simulatable.expected_utility()) == pytest.approx(8 / 12, abs=1e-15)
    assert float(hybrid.probabilistic.expected_utility()) == pytest.approx(7 / 12, abs=1e-15)
    assert hybrid.chosen == "simulatable"
    assert hybrid.advantage == pytest.approx(1 / 12, abs=1e-15)
    assert worst(hybrid)[0] == pytest.approx(1 / 3, abs=1e-12)


def test_example_4_no_vector_of_zeros_and_ones_does_better() -> None:
    model = example_4()[0]
    check = Probabilistic(model, d.Policy(["s1", "s2"], delta=1 / 3), search="algpr", grid=1)
    assert check.exhaustive
    assert float(check.expected_utility()) == pytest.approx(7 / 12, abs=1e-15)


def test_example_5_the_labels_of_figure_3() -> None:
    model = EXAMPLE_1[0]
    check = SetLabelled(model, d.Policy("s", delta=0.25), labels={"s": {"s", "y", "z"}})
    assert check.labels == {"s": {"s", "y", "z"}, "x": {"x"}}
    assert check.mu.tolist() == [[1]]
    assert check.kernel(check.start()).outputs == (d.Released("x"), d.Suppressed())
    open_to_all = SetLabelled(model, d.Policy("s", delta=1.0), labels={"s": {"s", "y", "z"}})
    assert open_to_all.kernel(open_to_all.start()).outputs == (d.Generalized("0: s | y | z"), d.Released("x"))


def test_example_6_without_the_mapping_the_weak_adversary_gains_more_than_delta() -> None:
    prior = HALF * THIRD  # state 1 is s, y or z, equally likely
    strong = exactly(EXAMPLE_1, QUARTER, "s")
    p = vector(EXAMPLE_1[0], {"s": Fraction(1), "x": THIRD})
    assert worst_suppressed(strong, p) == QUARTER  # private against those who know the chain
    # Silence happens only if the chain has a sensitive context: the adversary infers the chain, hence the posterior.
    silent = Fraction(1, 2) / (Fraction(1, 2) + Fraction(1, 2) * THIRD)
    assert (silent - prior, HALF - prior) == (Fraction(7, 12), THIRD)  # probabilistic, simulatable
    assert min(silent - prior, HALF - prior) > QUARTER


def test_example_6_with_the_mapping_the_weak_adversary_gains_less() -> None:
    model = EXAMPLE_1[0]
    check = SetLabelled(model, d.Policy("s", delta=0.25), labels={"s": {"s", "y", "z"}}, mechanism=Probabilistic)
    kernel = check.kernel(check.start())
    on_silence = [
        Fraction(int(weight), kernel.total) for weight in kernel.weights[:, kernel.outputs.index(d.Suppressed())]
    ]
    state = HALF * on_silence[0] / (HALF * on_silence[0] + HALF * on_silence[1])
    gain = THIRD * state - THIRD * HALF  # silence is the same whether state 1 is s, y or z: nothing is learned of that
    assert 0 < gain <= QUARTER
    assert gain == pytest.approx(1 / 12, abs=NEAR)


def test_the_cache_of_passed_triples_would_accept_a_breach() -> None:
    """Lemma 3 at p = 1 (theory, section 3): the silent window passes for (0, 0.1) and fails for (1, 0.1) above it."""
    check = Probabilistic(EXAMPLE_1[0], d.Policy("s", delta=0.25))
    low, high = np.array([[0.0, 0.1]]), np.array([[1.0, 0.1]])
    assert not check.is_private(low)
    assert not check.is_private(high)
    assert check.worst_gain(high) == pytest.approx(1 / 1.1 - 0.5, abs=1e-12)
    assert worst_suppressed(tiny(check.model, check.policy), high.tolist()) == pytest.approx(0.409, abs=1e-3)
