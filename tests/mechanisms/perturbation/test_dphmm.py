"""Dphmm: Algorithm 2, its belief, its supports, its surrogates, and what an adversary with other knowledge gains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary import beliefs_along
from discreet.errors import PolicyError
from discreet.laws import check
from discreet.mechanisms import Dphmm
from discreet.mechanisms.perturbation import Hull, PolicyGraph
from discreet.mechanisms.perturbation.lattice import hull_ball
from discreet.mechanisms.perturbation.noise import LatticeNoise
from discreet.outputs import SUPPRESSED, Output, Perturbed, Released
from discreet.randomness import SeededEntropy
from tests.mechanisms.perturbation.examples import ANSWERS, CATEGORIES, chain, random_graph, random_integers
from tests.strategies import random_chain, random_hidden, searches


def mechanism(supports: list[list[int]], **options: Any) -> Dphmm:
    given = {"graph": CATEGORIES, "query": ANSWERS, "epsilon": 1.0, **options}
    return Dphmm(chain(supports), **given)


def released(made: Dphmm, path: list[int], seed: int = 0) -> list[Output]:
    rng, state, outputs = SeededEntropy(seed), made.start(), []
    for context in path:
        outputs.append(made.kernel(state).sample(context, rng))
        state = made.advance(state, outputs[-1])
    return outputs


def test_a_day_releases_points_and_keeps_the_belief_of_equation_2() -> None:
    """Forward belief by hand: prior through the transition, times exp(-epsilon norm), normalised."""
    for seed in searches(6, full=15):
        rng = np.random.default_rng(seed)
        model = random_chain(seed, n=5, slots=4, zeros=0.2)
        answers = rng.integers(-20, 20, size=(5, 2)).astype(np.float64)
        made = Dphmm(model, graph=PolicyGraph.complete(5), query=answers, epsilon=0.9)
        path = model.sample_codes(1, seed)[0].tolist()
        outputs = released(made, path, seed)
        after = model.initial
        state = made.start()
        for t, output in enumerate(outputs):
            before = after if t == 0 else after @ model.transitions[t - 1]
            kernel = made.kernel(state)
            assert isinstance(output, Perturbed)
            hull = kernel.hulls[0]
            parts = kernel.noises[0].parts
            norms = np.asarray(hull.norm(np.array(output.point) - answers))
            told = np.exp(-0.9 * np.ceil(parts * norms - 1e-7) / parts)  # levels; 1e-7 is above the hull's rounding
            after = before * np.where(before > 0, told, 1.0)
            after /= after.sum()
            state = made.advance(state, output)
            np.testing.assert_allclose(state.belief.weights, after, atol=1e-9, err_msg=f"seed {seed}")
        np.testing.assert_allclose(beliefs_along(made, outputs)[-1].weights, after, atol=1e-9)


def test_likelihoods_of_joined_contexts_differ_by_e_to_the_epsilon_at_most() -> None:
    """Along days of random models, graphs, supports and kinds of noise, at every output that is drawn or tried."""
    for seed in searches(12, full=25):
        rng = np.random.default_rng(seed)
        n = 5
        model = random_hidden(seed, n=n, slots=3) if seed % 4 == 0 else random_chain(seed, n=n, slots=4, zeros=0.4)
        graph = random_graph(rng, n)
        epsilon = float(rng.choice([0.2, 1.0, 3.0]))
        made = Dphmm(
            model,
            graph=graph,
            query=random_integers(rng, n, int(rng.integers(1, 4))).astype(np.float64),
            epsilon=epsilon,
            noise="laplace" if seed % 2 else "knorm",
        )
        state, entropy = made.start(), SeededEntropy(seed)
        for _ in range(model.slots):
            kernel = made.kernel(state)
            inside = np.zeros(n, dtype=np.bool_)
            inside[kernel.support] = True
            edges = [*graph.restricted(inside).edges.tolist(), *kernel.added]
            context = int(kernel.support[rng.integers(len(kernel.support))])
            drawn = [kernel.sample(context, entropy) for _ in range(5)]
            for output in (*drawn, *kernel.telling()):
                told = kernel.likelihood(output)
                for i, j in edges:
                    if told[i] > 0 or told[j] > 0:
                        assert abs(np.log(told[i] / told[j])) <= epsilon * (1 + 1e-9), seed
            joined = set(kernel.support.tolist()) if len(kernel.support) == 1 else {c for edge in edges for c in edge}
            near = [c for c in kernel.support.tolist() if c not in joined]
            assert all(kernel.degree(c) > 1 for c in near), seed
            state = made.advance(state, drawn[0])


def test_outputs_that_cannot_occur_tell_nothing() -> None:
    made = mechanism([[0, 1, 2], [0, 1]])
    kernel = made.kernel(made.start())
    for output in (SUPPRESSED, Released("s1"), Perturbed((0.3, 1e-9)), Perturbed((1.0,)), Perturbed((np.nan, 0.0))):
        np.testing.assert_array_equal(kernel.likelihood(output), np.zeros(6))
        after = made.advance(made.start(), output)
        np.testing.assert_array_equal(made.kernel(after).support, [0, 1])


def test_a_degenerate_hull_rules_contexts_out_exactly() -> None:
    """Of one edge alone, the noise stays on its line, and off the line nobody can have been."""
    made = mechanism([[1, 2], [1, 2, 4]], graph=PolicyGraph.from_edges(6, [(1, 2)]))
    kernel = made.kernel(made.start())
    assert kernel.balls[0].dimension == 1
    for seed in range(20):
        output = kernel.sample(1, SeededEntropy(seed))
        assert isinstance(output, Perturbed)
        assert sum(output.point) == 3.0  # on the line through (2, 1) and (3, 0), exactly
        assert (kernel.likelihood(output)[[1, 2]] > 0).all()
    assert not kernel.possible(Perturbed((0.0, 0.0))).any()


def test_what_is_possible_does_not_underflow() -> None:
    """Two pairs far apart under little noise: the belief underflows to zero, what is possible does not."""
    model = d.MarkovChain.homogeneous(["a", "b", "c", "e"], [1 / 4] * 4, np.eye(4), 4)
    answers = [[0.0, 0.0], [1.0, 0.0], [200.0, 0.0], [200.0, 1.0]]
    made = Dphmm(model, graph=PolicyGraph.from_edges(4, [(0, 1), (2, 3)]), query=answers, epsilon=5.0)
    state = made.start()
    for _ in range(3):
        output = made.kernel(state).sample(0, SeededEntropy(1))
        state = made.advance(state, output)
    assert state.belief.weights[2] == 0
    assert made.kernel(state).support.tolist() == [0, 1, 2, 3]


def test_the_support_by_mass_is_the_smallest_set_and_others_have_surrogates() -> None:
    model = d.MarkovChain(["a", "b", "c", "e"], [0.5, 0.3, 0.195, 0.005], np.zeros((0, 4, 4)))
    answers = np.array([[0.0], [4.0], [8.0], [7.0]])
    made = Dphmm(model, graph=PolicyGraph.complete(4), query=answers, epsilon=1.0, support=("mass", 0.01))
    kernel = made.kernel(made.start())
    assert kernel.support.tolist() == [0, 1, 2]
    assert kernel.stand_ins.tolist() == [0, 1, 2, 2]
    for seed in range(10):
        output = kernel.sample(3, SeededEntropy(seed))
        assert output == kernel.sample(2, SeededEntropy(seed))
        told = kernel.likelihood(output)
        assert told[3] == told[2]
        assert told.min() >= np.exp(-1.0) * told.max() * (1 - 1e-12)  # complete: every pair within e^epsilon
    wider = Dphmm(model, graph=PolicyGraph.complete(4), query=answers, epsilon=1.0, support=("mass", 0.6))
    assert wider.kernel(wider.start()).support.tolist() == [0]


def test_a_mass_of_nothing_left_out_leaves_nothing_out() -> None:
    """Sums of 30 shares differ in their last bit by the order they are added in."""
    for seed in searches(20):
        shares = np.random.default_rng(seed).dirichlet(np.ones(30))
        model = d.MarkovChain.homogeneous([str(c) for c in range(30)], shares, np.tile(shares, (30, 1)), 2)
        for delta in (0, 1e-18):
            made = Dphmm(
                model, graph=PolicyGraph.complete(30), query=np.arange(30.0), epsilon=1, support=("mass", delta)
            )
            assert len(made.kernel(made.start()).support) == 30, seed


@pytest.mark.parametrize("epsilon", [np.float32(1), np.int64(1), 1])
def test_numbers_of_numpy_are_numbers(epsilon: Any) -> None:
    assert mechanism([[0, 1]], epsilon=epsilon).epsilon == 1.0


def test_the_surrogate_rule_is_sound_for_the_complete_graph_only() -> None:
    """Answers 0.5, 1, 2.6, 3.4 in the set, 2 outside, radius 1: the edge 2 to 1 costs 2 epsilon, as promised."""
    answers = np.array([[0.5], [1.0], [2.6], [3.4], [2.0]])
    graph = PolicyGraph.within(answers, 1.0)
    assert graph.adjacency[4, 1]
    model = d.MarkovChain([f"c{k}" for k in range(5)], [0.25, 0.25, 0.25, 0.245, 0.005], np.zeros((0, 5, 5)))
    made = Dphmm(model, graph=graph, query=answers, epsilon=1.0, support=("mass", 0.01))
    kernel = made.kernel(made.start())
    assert kernel.stand_ins[4] == 2
    told = kernel.likelihood(kernel.telling()[1])  # at the answer of context 1
    assert np.log(told[1] / told[4]) == pytest.approx(2.0, abs=0.13)  # levels are 1/8 apart
    assert "not covered" in made.guarantee.statement
    complete = Dphmm(model, graph=PolicyGraph.complete(5), query=answers, epsilon=1.0, support=("mass", 0.01))
    assert "between any two contexts" in complete.guarantee.statement


def test_an_impossible_reading_is_released_as_the_nearest_possible_one_and_counted() -> None:
    made = mechanism([[0, 1, 2], [3, 4, 5]])
    with d.Session(made, rng=SeededEntropy(4)) as today:
        assert isinstance(today.release("s5"), Perturbed)  # impossible at slot 0
        assert today.off_model == 1
        assert isinstance(today.release("s4"), Perturbed)
        assert today.off_model == 1
    kernel = made.kernel(made.start())
    assert kernel.stand_ins[4] == 1  # (4, 2) is nearest to (2, 1) among s1, s2, s3 ((3, 0) is further)
    with d.Session(made) as today:
        assert today.release("never learned") == SUPPRESSED
        assert today.off_model == 1


def test_one_possible_context_is_answered_as_it_is_and_reported() -> None:
    made = mechanism([[4], [3, 4]])
    outputs = released(made, [4, 3])
    assert outputs[0] == Perturbed((4.0, 2.0))
    odometer = made.odometer(outputs)
    assert odometer.readings[0].nothing_to_protect
    assert odometer.readings[0].realised == 0
    assert not odometer.readings[1].nothing_to_protect
    assert "nothing left to protect" in str(odometer.readings[0])


def test_equal_answers_on_an_edge_are_fine() -> None:
    model = d.MarkovChain(["a", "b"], [0.5, 0.5], np.zeros((0, 2, 2)))
    made = Dphmm(model, graph=PolicyGraph.complete(2), query=[[1.0, 2.0], [1.0, 2.0]], epsilon=1.0)
    kernel = made.kernel(made.start())
    assert kernel.sample(0, SeededEntropy(0)) == Perturbed((1.0, 2.0))
    np.testing.assert_array_equal(kernel.likelihood(Perturbed((1.0, 2.0))), [1, 1])
    assert kernel.added == ()


def test_case_i_and_case_ii_adversaries() -> None:
    """Appendix 11.6. Who holds fewer contexts possible gains no more; who holds more may tell some apart by more."""
    made = mechanism([[3, 4, 5]])
    kernel = made.kernel(made.start())
    assert sum(kernel.realised()) == pytest.approx(1.0)  # a clique: every pair is joined
    assert sum(kernel.realised([3, 5])) <= 1.0  # Case I
    assert kernel.realised([4]) == (0.0,)
    # Case II: s3 is possible to the adversary, and stands as its nearest, which is joined; s2's answer likewise
    assert sum(kernel.realised([2, 3, 4, 5])) == pytest.approx(1.0)
    narrow = mechanism([[1, 2]], graph=PolicyGraph.from_edges(6, [(1, 2)])).kernel_for([1, 2])
    assert sum(narrow.realised([0, 1, 2, 3, 4, 5])) == pytest.approx(1.0)


def star(true: int, graph: PolicyGraph) -> LatticeNoise:
    """LocalDP (Definition 11.1): noise shaped by the neighbours of the true context alone."""
    steps = [(ANSWERS[true] - ANSWERS[k]) * 2**10 for k in graph.neighbours(true)]
    return LatticeNoise(hull_ball(np.array(steps, dtype=np.int64)), 1.0)


def test_example_11_2_the_attack_on_local_privacy() -> None:
    """s4 - s6 - s5: noise around s4 stays on the line to s6, around s5 likewise; off both lines it must be s6."""
    path = PolicyGraph.from_edges(6, [(3, 5), (5, 4)])
    noises = {c: star(c, path) for c in (3, 4, 5)}
    assert {c: noise.ball.dimension for c, noise in noises.items()} == {3: 1, 4: 1, 5: 2}
    rng = SeededEntropy(6)
    told: list[list[bool]] = []
    for _ in range(50):
        point = (ANSWERS[5] * 2**10).astype(np.int64) + np.array(noises[5].sample(rng))
        told.append(
            [
                bool(noises[c].exponents((point - (ANSWERS[c] * 2**10).astype(np.int64))[None])[0] > -np.inf)
                for c in (3, 4, 5)
            ]
        )
    off_lines = [row for row in told if row == [False, False, True]]
    assert len(off_lines) > 40  # the attacker is certain of s6
    made = mechanism([[3, 4, 5]], graph=path)  # one hull for all: nobody is ruled out
    kernel = made.kernel(made.start())
    for seed in range(50):
        assert (kernel.likelihood(kernel.sample(5, SeededEntropy(seed)))[[3, 4, 5]] > 0).all()


def test_several_queries_at_a_slot() -> None:
    """Points stand one after another, likelihoods multiply, epsilons add up (Theorem 7.1)."""
    second = np.array([[0.0], [3.0], [1.0], [7.0], [2.0], [2.0]])
    made = mechanism([[3, 4, 5], [1, 2]], query=[ANSWERS, second], epsilon=[1.0, 0.5])
    output = made.kernel(made.start()).sample(3, SeededEntropy(1))
    assert isinstance(output, Perturbed)
    assert len(output.point) == 3
    alone = [mechanism([[3, 4, 5]], query=query, epsilon=epsilon) for query, epsilon in ((ANSWERS, 1.0), (second, 0.5))]
    parts = [Perturbed(output.point[:2]), Perturbed(output.point[2:])]
    columns = [m.kernel(m.start()).likelihood(part) for m, part in zip(alone, parts, strict=True)]
    product = columns[0] * columns[1]
    np.testing.assert_allclose(made.kernel(made.start()).likelihood(output)[3:], (product / product.max())[3:])
    reading = made.odometer([output]).readings[0]
    assert reading.epsilon == 1.5
    assert reading.by_query == pytest.approx((1.0, 0.5))
    assert reading.realised == pytest.approx(1.5)
    check(made, walks=1)


def test_the_odometer_adds_up_and_carries_infinity() -> None:
    """Theorems 6.3 and 7.2 along supports with known norms, and a graph that leaves a pair infinitely apart."""
    made = mechanism([[3, 4, 5], [1, 3, 4, 5]])
    odometer = made.odometer(released(made, [3, 4]))
    hull = Hull.of_differences(made.kernel_for([1, 3, 4, 5]).hulls[0].vertices)
    largest = max(float(hull.norm(ANSWERS[i] - ANSWERS[j])) for i in (1, 3, 4, 5) for j in (1, 3, 4, 5))
    assert odometer.readings[1].realised == pytest.approx(largest, abs=1 / 8)
    assert odometer.readings[1].realised >= largest - 1e-9
    assert odometer.realised == pytest.approx(1.0 + odometer.readings[1].realised)
    assert odometer.epsilon == 2.0
    # pairs {0, 1} and {2, 3} on parallel lines: everyone is protected, the two pairs are told apart for certain
    model = d.MarkovChain([f"c{k}" for k in range(4)], [0.25] * 4, np.repeat(np.full((1, 4, 4), 0.25), 2, axis=0))
    parallel = np.array([(0.0, 0), (1, 0), (0, 1), (1, 1)])
    apart = Dphmm(model, graph=PolicyGraph.from_edges(4, [(0, 1), (2, 3)]), query=parallel, epsilon=1.0)
    outputs = released(apart, [0, 1, 2])
    readings = apart.odometer(outputs).readings
    assert readings[0].realised == np.inf
    assert apart.odometer(outputs).realised == np.inf
    assert apart.largest_log_ratios()[0] == np.inf


def test_realised_epsilon_is_the_largest_ratio_there_is() -> None:
    """Reached at a context's own answer, and never exceeded by what is drawn."""
    for seed in searches(20):
        rng = np.random.default_rng(seed)
        answers = rng.integers(-30, 30, size=(5, 2)).astype(np.float64)
        model = random_chain(seed, n=5, slots=1, zeros=0.0)
        made = Dphmm(model, graph=random_graph(rng, 5), query=answers, epsilon=1.0)
        kernel = made.kernel(made.start())
        realised = sum(kernel.realised())
        entropy = SeededEntropy(seed)
        reached = 0.0
        for output in (*kernel.telling(), *(kernel.sample(0, entropy) for _ in range(30))):
            told = kernel.likelihood(output)
            with np.errstate(divide="ignore"):
                spread = float(np.log(told.max()) - np.log(told.min()))
            assert spread <= realised + 1e-9, seed
            reached = max(reached, spread)
        assert reached == pytest.approx(realised), seed


def test_the_audit_gives_an_interval_with_the_points_that_reach_it() -> None:
    """One slot, two contexts: the worst gain is at the secret's own answer, and the bound is that very number."""
    model = d.MarkovChain(["home", "clinic"], [0.8, 0.2], np.zeros((0, 2, 2)))
    made = Dphmm(model, graph=PolicyGraph.complete(2), query=[[0.0, 0.0], [3.0, 1.0]], epsilon=1.0)
    result = d.audit(made, policy=d.Policy(["clinic"], delta=0.1))
    worst = 0.2 * np.e / (0.2 * np.e + 0.8) - 0.2
    assert result.worst_gain == pytest.approx(worst, abs=1e-9)
    assert result.bound == pytest.approx(worst, abs=1e-9)
    assert result.witness is not None
    assert result.witness.outputs == (Perturbed((3.0, 1.0)),)
    assert result.holds is False
    assert d.audit(made, policy=d.Policy(["clinic"], delta=0.3)).holds is True


def test_the_audit_bounds_longer_days_from_the_odometer() -> None:
    model = d.MarkovChain(["a", "b", "c"], [0.4, 0.3, 0.3], np.repeat(np.full((1, 3, 3), 1 / 3), 1, axis=0))
    made = Dphmm(model, graph=PolicyGraph.complete(3), query=[[0.0, 0.0], [2.0, 1.0], [1.0, 3.0]], epsilon=0.3)
    result = d.audit(made, policy=d.Policy(["a"], delta=0.1), budget=2000)
    odds = 0.4 / 0.6 * np.exp(0.6)
    assert result.bound == pytest.approx(odds / (1 + odds) - 0.4, abs=1e-9)
    assert 0.05 < result.worst_gain <= result.bound
    assert "ratios" in result.method


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "give a number above 0"),
        ({"epsilon": [1.0, 2.0]}, "2 epsilons for 1 queries"),
        ({"query": np.where(ANSWERS == 4, np.nan, ANSWERS)}, "answer for context 4"),
        ({"query": ANSWERS[:5]}, "answers 5 contexts, the model has 6"),
        ({"query": [[[1.0], [2.0]], [[1.0], [2.0, 3.0]]]}, "not a table of numbers"),
        ({"graph": [(0, 1)]}, "give a PolicyGraph"),
        ({"epsilon": 1e-9}, "give a coarser step"),
        ({"graph": PolicyGraph.complete(5)}, "over 5 contexts, the model has 6"),
        ({"noise": "gauss"}, "use 'knorm' or 'laplace'"),
        ({"protect": "none"}, "use 'greedy' or 'minimum'"),
        ({"support": "likely"}, "use 'possible' or"),
        ({"support": ("mass", 1.0)}, "use 'possible' or"),
        ({"protect": "minimum", "query": ANSWERS[:, :1]}, "two coordinates"),
        ({"policy": d.Policy(["nowhere"])}, "never seen"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        mechanism([[0, 1, 2]], **options)


def test_an_empty_support_is_refused() -> None:
    with pytest.raises(PolicyError, match="support is empty"):
        mechanism([[0, 1]]).kernel_for([])


@pytest.mark.parametrize("options", [{}, {"noise": "laplace"}, {"protect": "minimum"}, {"support": ("mass", 0.2)}])
def test_the_laws_hold(options: dict[str, Any]) -> None:
    check(mechanism([[0, 1, 2], [3, 4, 5], [1, 2, 4]], policy=d.Policy(["s5"]), **options), walks=3)


def test_days_are_evaluated() -> None:
    """Nothing is released as it is, so utility is 0; every slot has a point, and the error is the query's matter."""
    made = mechanism([[0, 1, 2], [3, 4, 5]], policy=d.Policy(["s5"]))
    days = made.model.sample(10, 3)
    result = d.evaluate(made, days)
    assert (result.utility, result.suppressed, result.off_model) == (0.0, 0.0, 0)
    assert 0 < result.worst_gain <= d.audit(made).bound
