"""The probabilistic check against enumeration: windows, closed form, searches, and what must be refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest

import discreet as d
from discreet.adversary.enumerate import expected_releases, worst
from discreet.mechanisms import Probabilistic
from discreet.mechanisms.maskit.probabilistic import Search
from discreet.mechanisms.maskit.windows import LEAST, Order, Windows
from discreet.mechanisms.monotone import best_minimal
from discreet.numerics import SLACK, WEIGHT_BITS, FloatArray, IntArray
from tests.mechanisms.enumeration import grid_vectors, releases_suppressed, tiny, worst_suppressed
from tests.mechanisms.test_baselines import CASES, golden_chain
from tests.strategies import random_chain, random_hidden, random_policy, searches

SEARCHES: tuple[Search, ...] = get_args(Search)


def random_case(seed: int, *, largest: int = 4) -> tuple[d.MarkovChain, d.Policy]:
    rng = np.random.default_rng(seed)
    slots = int(rng.integers(1, 4))
    n = int(rng.integers(2, largest + 1 if slots < 3 else largest))
    chain = random_chain(seed, n=n, slots=slots, zeros=float(rng.choice([0.0, 0.3, 0.6])))
    return chain, random_policy(seed, chain)


def random_p(seed: int, chain: d.MarkovChain) -> FloatArray:
    rng = np.random.default_rng([seed, 1])
    shape = (chain.slots, len(chain.contexts))
    return np.where(rng.random(shape) < 0.5, rng.random(shape), rng.integers(2, size=shape)).astype(np.float64)


def within_delta(mechanism: Any, policy: d.Policy) -> bool:
    """Every secret at each slot, on its own, by the brute-force oracle."""
    return all(
        worst(mechanism, policy=d.Policy([secret], delta=policy.delta))[0] <= policy.delta_of(secret) + SLACK
        for secret in policy.secrets
        if secret.at == "each"
    )


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_golden_vectors(case: dict[str, Any]) -> None:
    golden = case["suppression"]
    policy = d.Policy(case["secrets"], delta=case["delta"])
    given = Probabilistic(golden_chain(case), policy, p=golden["p"], verify=False)
    assert given.worst_gain(golden["p"]) == pytest.approx(golden["worst_gain"], abs=1e-12)
    assert given.is_private(golden["p"]) == (golden["worst_gain"] <= case["delta"] + SLACK)
    releases = float(given.expected_utility()) * given.model.slots
    assert releases == pytest.approx(golden["expected_releases"], abs=1e-12)


def test_worst_gain_and_is_private_equal_the_enumeration() -> None:
    for seed in (*searches(120, full=250), 4400):  # 4400: a row of rounding errors once seemed to dominate others
        chain, policy = random_case(seed, largest=3)
        p = random_p(seed, chain)
        check = Probabilistic(chain, policy, p=p, verify=False)
        twin = tiny(chain, policy)
        assert check.worst_gain(p) == pytest.approx(float(worst_suppressed(twin, p.tolist())), abs=1e-12), seed
        excess = float(worst_suppressed(twin, p.tolist(), over_delta=True))
        if abs(excess) > 2 * SLACK:
            assert check.is_private(p) == (excess <= 0), seed


@pytest.mark.parametrize("search", SEARCHES)
def test_what_is_found_is_private_and_its_utility_exact(search: Search) -> None:
    for seed in searches(80, full=200):
        chain, policy = random_case(seed)
        check = Probabilistic(chain, policy, search=search, grid=4)
        assert within_delta(check, policy), seed
        assert float(check.expected_utility()) * chain.slots == pytest.approx(expected_releases(check), abs=1e-12)
        assert check.is_private(check.p)


def test_found_vectors_are_minimal() -> None:
    for seed in searches(60, full=120):
        chain, policy = random_case(seed)
        windows = Windows(chain, policy.for_model(chain.contexts, chain.slots))
        silent = np.ones((chain.slots, len(chain.contexts)))
        check = Probabilistic(chain, policy, p=silent)
        for order in check.orders():
            for grid, step in ((0, 1e-5), (4, 0.25)):
                p, _ = windows.lowered(silent, order, grid=grid)
                for t, i in zip(*np.nonzero(windows.possible & (p > LEAST)), strict=True):
                    below = p.copy()
                    below[t, i] = max(0.0, p[t, i] - step)
                    assert not windows.is_private(below), (seed, order.name, t, i)


class Bisection:
    """The oracle of a bare predicate: coordinates are lowered in `order`, each by bisection."""

    def __init__(self, predicate: Callable[[IntArray], bool], order: Iterable[int]) -> None:
        self._predicate = predicate
        self._order = tuple(order)

    def holds(self, levels: IntArray) -> bool:
        """The predicate itself."""
        return self._predicate(levels)

    def minimal(self, levels: IntArray) -> tuple[IntArray, int]:
        """Lower each coordinate to the smallest level that the others, as they are, allow (MaskIt, Section 3.2)."""
        found = levels.copy()
        checks = 0
        for k in self._order:
            low, high = 0, int(found[k])
            while low < high:
                middle = (low + high) // 2
                found[k] = middle
                checks += 1
                if self._predicate(found):
                    high = middle
                else:
                    low = middle + 1
            found[k] = high
        return found, checks


def test_mondrian_equals_the_papers_loop() -> None:
    """Algorithm 2 with bisection on the grid and privacy by enumeration, coordinate by coordinate."""
    for seed in searches(25, full=60):
        chain, policy = random_case(seed, largest=3)
        twin = tiny(chain, policy)
        check = Probabilistic(chain, policy, p=np.ones((chain.slots, len(chain.contexts))))
        for order in list(check.orders())[::2]:
            where = [(t, i) for t, i in order.coordinates() if check.windows.possible[t, i]]

            def private(levels: Any, where: list[tuple[int, int]] = where, twin: Any = twin) -> bool:
                p = np.ones((chain.slots, len(chain.contexts)))  # noqa: B023  # called before the next chain
                for (t, i), level in zip(where, levels, strict=True):
                    p[t, i] = level / 4
                return worst_suppressed(twin, p.tolist(), over_delta=True) <= Fraction(SLACK)

            levels, _ = Bisection(private, range(len(where))).minimal(np.full(len(where), 4))
            fast, _ = check.windows.lowered(check.p, order, grid=4)
            assert [fast[t, i] for t, i in where] == [level / 4 for level in levels], (seed, order.name)


def test_orders_visit_every_coordinate_once() -> None:
    chain, policy = random_case(3)
    for order in Probabilistic(chain, policy).orders():
        everything = sorted((t, i) for t in range(chain.slots) for i in range(len(chain.contexts)))
        assert sorted(order.coordinates()) == everything or order.name == "likeliest first"
        possible = Probabilistic(chain, policy).windows.possible
        assert sorted(c for c in order.coordinates() if possible[c]) == [c for c in everything if possible[c]]


@pytest.mark.slow("compares with a slow twin on many random cases")
def test_algpr_finds_the_best_on_the_grid() -> None:
    for seed in searches(24, full=60):
        n, grid = (2, 2) if seed % 2 else (3, 1)
        chain = random_chain(seed, n=n, slots=2, zeros=0.2)
        policy = d.Policy("c0", delta=0.1) if seed % 3 else random_policy(seed, chain)
        check = Probabilistic(chain, policy, search="algpr", grid=grid)
        assert check.exhaustive
        twin = tiny(chain, policy)
        best = max(
            releases_suppressed(twin, p)
            for p in grid_vectors(twin, n, grid)
            if worst_suppressed(twin, p, over_delta=True) <= SLACK
        )
        assert float(check.expected_utility()) * 2 == pytest.approx(float(best), abs=1e-12), seed


def test_algpr_sometimes_beats_every_greedy_order() -> None:
    ahead = 0
    for seed in range(60):
        chain, policy = random_chain(seed, n=3, slots=3, zeros=0.2), d.Policy("c0", delta=0.1)
        algpr = Probabilistic(chain, policy, search="algpr", grid=4)
        assert algpr.exhaustive
        mondrian = Probabilistic(chain, policy, search="mondrian", grid=4)
        ahead += float(algpr.expected_utility()) > float(mondrian.expected_utility()) + 1e-9
    assert ahead > 0


def test_algpr_says_when_its_budget_ran_out() -> None:
    chain, policy = random_chain(5, n=4, slots=3, zeros=0.0), d.Policy(["c0", "c1"], delta=0.2)
    short = Probabilistic(chain, policy, search="algpr", budget=1)
    assert not short.exhaustive
    longer = Probabilistic(chain, policy, search="algpr")
    assert longer.vectors > short.vectors
    assert float(longer.expected_utility()) >= float(short.expected_utility())


@pytest.mark.slow("compares with a slow twin on many random cases")
def test_algpr_by_default_compares_many_vectors() -> None:
    """At least 50 minimal vectors on 12 contexts and 24 slots, unless fewer settle it."""
    chain = random_chain(1, n=12, slots=24, zeros=0.7)
    check = Probabilistic(chain, d.Policy(["c1", "c5"], delta=0.1), search="algpr")
    assert check.exhaustive or check.vectors >= 50


def test_searches_are_ordered() -> None:
    """exact tries all that mondrian tries, and algpr starts from what mondrian found."""
    for seed in searches(50, full=150):
        chain, policy = random_case(seed)
        mondrian, exact, algpr = (
            float(Probabilistic(chain, policy, search=search).expected_utility())
            for search in ("mondrian", "exact", "algpr")
        )
        assert exact >= mondrian - 1e-12
        assert algpr >= mondrian - 1e-12


def test_best_is_never_below_either_and_the_same_each_time() -> None:
    """With the same budget `exact` is never ahead, nor is ALGPR where it ends; sometimes both are behind."""
    ahead = {"exact": 0, "algpr": 0}
    for seed in searches(40, full=150):
        chain, policy = random_chain(seed, n=3, slots=3, zeros=0.2), d.Policy("c0", delta=0.1)
        best = Probabilistic(chain, policy, grid=4)
        assert best.search == "best"
        assert best.exhaustive
        for search in ("exact", "algpr"):
            other = Probabilistic(chain, policy, search=search, grid=4, budget=best.budget)
            assert float(best.expected_utility()) >= float(other.expected_utility()) - 1e-12, (seed, search)
            ahead[search] += float(best.expected_utility()) > float(other.expected_utility()) + 1e-9
        assert (Probabilistic(chain, policy, grid=4).p == best.p).all()
    assert min(ahead.values()) > 0


def test_best_with_little_budget_is_exact() -> None:
    """The budget counts the walks first: what `exact` does is always done."""
    for seed in range(20):
        chain, policy = random_case(seed)
        short = Probabilistic(chain, policy, search="best", budget=1)
        exact = Probabilistic(chain, policy, search="exact", budget=1)
        assert float(short.expected_utility()) >= float(exact.expected_utility())


def test_the_generic_search_on_a_monotone_predicate() -> None:
    """A knapsack: 2a + 3b + c >= 9 with weights 1, 2, 1, whose minimal vectors can be listed by hand."""

    def enough(levels: Any) -> bool:
        return bool(2 * levels[0] + 3 * levels[1] + levels[2] >= 9)

    def value(levels: Any) -> float:
        return -float(levels[0] + 2 * levels[1] + levels[2])

    found = best_minimal(np.array([3, 3, 3]), Bisection(enough, range(3)), value, budget=1000)
    assert found.exhaustive
    assert found.value == -5.0  # (3, 1, 0)
    assert enough(found.levels)
    spent = best_minimal(np.array([3, 3, 3]), Bisection(enough, range(3)), value, budget=1)
    assert (spent.exhaustive, spent.vectors) == (False, 1)
    with pytest.raises(d.DiscreetError, match="holds for none"):
        best_minimal(np.array([1, 1, 1]), Bisection(enough, range(3)), value, budget=1000)


def test_sampled_weights_round_suppression_up() -> None:
    chain, policy = random_chain(4, n=3, slots=2, zeros=0.0), d.Policy("c0", delta=0.9)
    wanted = np.full((2, 3), 1 / 3)
    check = Probabilistic(chain, policy, p=wanted, verify=False)
    assert ((check.p >= wanted) & (check.p - wanted < 2.0**-WEIGHT_BITS)).all()
    kernel = check.kernel(check.start())
    silent = kernel.weights[:, kernel.outputs.index(d.Suppressed())]
    assert [Fraction(int(weight), kernel.total) for weight in silent] == [Fraction(value) for value in check.p[0]]


def test_closed_form_where_the_last_release_is_worth_nothing() -> None:
    """A bound within 2**-20 of 1 leaves the context silent: it would open windows for nothing."""
    chain = d.MarkovChain(["s", "x"], [0.5, 0.5], np.zeros((0, 2, 2)))
    p, _ = Windows(chain, d.Policy("s", delta=0.0).for_model(chain.contexts, 1)).lowered(
        np.ones((1, 2)), Order("all", ((np.array([0, 1]),),))
    )
    assert np.array_equal(p, np.ones((1, 2)))


# --- bad input and edges


def test_an_empty_secret_set_releases_everything() -> None:
    chain = random_chain(2, n=3, slots=3)
    for search in SEARCHES:
        check = Probabilistic(chain, d.Policy(), search=search)
        assert float(check.expected_utility()) == pytest.approx(1.0, abs=1e-12)
        assert check.worst_gain(check.p) == 0


def test_delta_one_releases_everything_that_can_occur() -> None:
    for seed in searches(10):
        chain = random_chain(seed, n=3, slots=3, zeros=0.5)
        check = Probabilistic(chain, d.Policy(["c0", "c1"], delta=1.0))
        assert np.array_equal(check.p, np.where(check.windows.possible, 0.0, 1.0))


def test_delta_zero_changes_no_belief() -> None:
    for seed in searches(100):
        chain, policy = random_case(seed)
        none = d.Policy([d.Secret(s.name, s.contexts, slots=s.slots) for s in policy.secrets], delta=0.0)
        check = Probabilistic(chain, none)
        assert within_delta(check, none), seed
        assert worst(check, policy=none)[0] <= SLACK


def test_delta_zero_still_releases_what_is_independent_of_the_secret() -> None:
    chain = d.MarkovChain(["a", "b", "s", "x"], [0.5, 0.5, 0, 0], [[[0.0, 0.0, 0.5, 0.5]] * 4])
    check = Probabilistic(chain, d.Policy("s", delta=0.0))
    assert check.p[0, :2].tolist() == [0.0, 0.0]
    assert check.p[1, 2:].tolist() == [1.0, 1.0]


def test_secrets_that_are_certain_or_impossible_at_some_slots() -> None:
    """s is certain at slot 0 and impossible at slot 2: releasing there changes no belief about then."""
    step = [[[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]]
    chain = d.MarkovChain(["s", "x"], [1, 0], step)
    policy = d.Policy("s", delta=0.1)
    check = Probabilistic(chain, policy)
    assert check.p[0].tolist() == [0.0, 1.0]  # certain anyway; x cannot occur
    assert check.p[2].tolist() == [1.0, 0.0]
    assert 0 < check.p[1, 1] < 1
    assert within_delta(check, policy)


def test_secrets_with_slots_and_deltas_of_their_own() -> None:
    chain = random_chain(11, n=3, slots=3, zeros=0.0)
    night = d.Secret("night", {"c0", "c1"}, slots=[2], delta=0.02)
    policy = d.Policy([night, "c2"], delta=0.2)
    check = Probabilistic(chain, policy)
    assert within_delta(check, policy)
    day_only = Probabilistic(chain, d.Policy([d.Secret("c2", slots=[0])], delta=0.2))
    assert float(day_only.expected_utility()) > float(check.expected_utility())


def test_secrets_at_any_slot_are_left_out_and_the_guarantee_says_so() -> None:
    chain = random_chain(7, n=3, slots=3)
    check = Probabilistic(chain, d.Policy([d.Secret("ever", {"c0"}, at="any")], delta=0.1))
    assert float(check.expected_utility()) == pytest.approx(1.0, abs=1e-12)
    assert check.guarantee.covers == {"each"}
    assert "at='any' are not bounded" in check.guarantee.statement


def test_impossible_contexts_stay_silent() -> None:
    chain = d.MarkovChain(["a", "b"], [1, 0], np.zeros((0, 2, 2)))
    check = Probabilistic(chain, d.Policy())
    kernel = check.kernel(0)
    assert kernel.likelihood(d.Suppressed()).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": 0}, "grid is 0"),
        ({"grid": -3}, "grid is -3"),
        ({"budget": 0}, "budget is 0"),
        ({"search": "finest"}, "search='finest' is not known"),
        ({"p": [[0.5, 0.5]]}, "p has shape"),
        ({"p": [[0.5, 0.5, 1.5]] * 3}, r"p\[0, 2\] is 1.5"),
        ({"p": [[0.5, float("nan"), 1]] * 3}, "suppression probabilities are from 0 to 1"),
        ({"p": [[0.0, 0.0, 0.0]] * 3}, "p is not private: some output gains"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(d.DiscreetError, match=message):
        Probabilistic(random_chain(1, n=3, slots=3, zeros=0.0), d.Policy("c0", delta=0.05), **options)


def test_hidden_models_are_refused() -> None:
    with pytest.raises(d.DiscreetError, match="needs a Markov chain"):
        Probabilistic(random_hidden(1), d.Policy("c0"))


def test_given_vectors() -> None:
    chain, policy = random_chain(1, n=3, slots=3, zeros=0.0), d.Policy("c0", delta=0.05)
    silent = Probabilistic(chain, policy, p=np.ones((3, 3)))
    assert silent.guarantee.kind == "exact delta"
    assert len(silent.kernel(0).outputs) == 1
    loud = Probabilistic(chain, policy, p=np.zeros((3, 3)), verify=False)
    assert loud.guarantee.kind == "none"
    assert silent.advance(0, d.Released("c1")) == silent.advance(0, d.Suppressed()) == 1
