"""FDH layer by layer against a replay in fractions, what a layer alone keeps, and how the layers together breach."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.enumerate import prefixes, worst
from discreet.contracts import is_finite
from discreet.kernels import FiniteKernel
from discreet.laws import check as check_laws
from discreet.mechanisms import Hybrid
from discreet.mechanisms import fdh as hierarchical
from discreet.mechanisms.fdh import Fdh, State
from discreet.numerics import SLACK
from discreet.outputs import Output
from tests.mechanisms.maskit.test_probabilistic import within_delta
from tests.strategies import random_chain, random_hidden, random_policy, searches

FOUR = d.Hierarchy({"top": {"A": ["c0", "c1"], "B": ["c2", "c3"]}})
DEEP = d.Hierarchy({"top": {"west": {"A": ["c0"], "B": ["c1", "c2"]}, "east": {"C": ["c3"]}}})


def random_fdh(seed: int, *, slots: int = 3) -> Fdh:
    chain = random_chain(seed, n=4, slots=slots, zeros=(0.0, 0.3, 0.6)[seed % 3])
    return Fdh(chain, random_policy(seed, chain), hierarchy=DEEP if seed % 2 else FOUR)


def histories(mechanism: Fdh) -> Iterator[tuple[Output, ...]]:
    """The empty one, and every sequence of outputs of positive probability that the day goes on after."""
    yield ()
    for prefix in prefixes(mechanism, policy=d.Policy()):
        if len(prefix.outputs) < mechanism.model.slots:
            yield prefix.outputs


def state_after(mechanism: Fdh, outputs: tuple[Output, ...]) -> Any:
    state = mechanism.start()
    for output in outputs:
        state = mechanism.advance(state, output)
    return state


# --- the shipped examples


def test_the_layer_that_is_shown_is_seen() -> None:
    """One slot, four equally likely contexts, s secret, delta 1/4.

    Leaves: x and y are released, s and z are not: silence there leaves s at 1/2, gain 1/4. Nodes: B is released with
    2/3, A (with s under it) never: silence there leaves A at 3/4, gain 1/4. Together: the root means s (1/4) or z whose
    coin fell on silence (1/12): s is believed with 3/4, gain 1/2.
    """
    chain = d.MarkovChain(["s", "x", "y", "z"], [0.25] * 4, np.zeros((0, 4, 4)))
    tree = d.Hierarchy({"top": {"A": ["s", "x"], "B": ["y", "z"]}})
    mechanism = Fdh(chain, d.Policy("s", delta=0.25), hierarchy=tree)
    for check in mechanism.checks:
        assert d.audit(check).worst_gain == pytest.approx(0.25, abs=1e-9)
        assert d.audit(check).holds
    result = d.audit(mechanism)
    assert result.exact
    assert result.holds is False
    assert result.breach is not None
    assert result.breach.outputs == (d.Generalized("top"),)
    assert result.breach.belief == pytest.approx(0.75, abs=1e-9)
    assert result.worst_gain == pytest.approx(0.5, abs=1e-9)
    assert float(worst(mechanism, exact=True)[0]) == pytest.approx(0.5, abs=1e-9)
    assert float(mechanism.expected_utility()) == pytest.approx(1 / 2 + 1 / 2 * 1 / 4 * 2 / 3, abs=1e-9)


def test_lumped_chains_are_not_markov() -> None:
    """s -> a1 -> c and x -> a2 -> d, with a1 and a2 under one node: its chain forgets, the person does not."""
    names = ["s", "x", "a1", "a2", "c", "d"]
    follows = {"s": "a1", "x": "a2", "a1": "c", "a2": "d", "c": "c", "d": "d"}
    step = [[float(follows[i] == j) for j in names] for i in names]
    chain = d.MarkovChain.homogeneous(names, [0.5, 0.5, 0, 0, 0, 0], step, slots=3)
    tree = d.Hierarchy({"top": {"S": ["s"], "X": ["x"], "A": ["a1", "a2"], "C": ["c"], "D": ["d"]}})
    mechanism = Fdh(chain, d.Policy("s", delta=0.1), hierarchy=tree)
    assert all(d.audit(check).holds for check in mechanism.checks)
    result = d.audit(mechanism)
    assert result.holds is False
    assert result.breach is not None
    assert result.breach.outputs == (d.Generalized("top"), d.Generalized("A"), d.Generalized("C"))
    assert (result.breach.prior, result.breach.belief) == (0.5, 1.0)


def test_most_random_chains_breach_although_each_layer_holds() -> None:
    """Theory section 5: 19 of 20 random 4-context chains; 18 of these."""
    breached = 0
    for seed in range(20):
        mechanism = Fdh(random_chain(seed, n=4, slots=3, zeros=0.0), d.Policy("c0", delta=0.1), hierarchy=FOUR)
        assert all(d.audit(check).holds for check in mechanism.checks)
        result = d.audit(mechanism)
        assert result.exact
        breached += result.holds is False
    assert 16 <= breached <= 20


# --- what it computes


def test_kernels_are_the_layers_checks_in_turn() -> None:
    """Each layer replays what is known at it; its coin is thrown where all finer coins fell on silence."""
    for seed in searches(24):
        mechanism = random_fdh(seed)
        tree, contexts = mechanism.hierarchy, mechanism.model.contexts
        for outputs in histories(mechanism):
            kernel = mechanism.kernel(state_after(mechanism, outputs))
            for c, context in enumerate(contexts):
                left = Fraction(1)
                wanted: dict[Output, Fraction] = {}
                for k, check in enumerate(mechanism.checks):
                    state = check.start()
                    for output in outputs:
                        node = output.context if isinstance(output, d.Released) else getattr(output, "node", "")
                        known = tree.layer_of(node) <= k
                        state = check.advance(state, d.Released(tree.at_layer(node, k)) if known else d.Suppressed())
                    node = tree.at_layer(context, k)
                    inner = check.kernel(state)
                    assert is_finite(inner)
                    told = inner.likelihood(d.Released(node))[check.model.contexts.index(node)]
                    wanted[d.Generalized(node) if k else d.Released(node)] = left * Fraction(float(told))
                    left *= 1 - Fraction(float(told))
                wanted[d.Generalized("top")] = left
                for output, column in zip(kernel.outputs, kernel.weights[c].tolist(), strict=True):
                    assert abs(Fraction(column, kernel.total) - wanted.get(output, Fraction(0))) <= 4 * 2.0**-52
                    assert column == 0 or wanted.get(output, 0) > 0


def test_lumped_chains_are_what_mapped_days_teach() -> None:
    for seed in searches(20):
        chain = random_chain(seed, n=4, slots=3)
        mechanism = Fdh(chain, d.Policy(), hierarchy=DEEP)
        paths = {
            path: chain.initial[path[0]]
            * chain.transitions[0][path[0], path[1]]
            * chain.transitions[1][path[1], path[2]]
            for path in itertools.product(range(4), repeat=3)
        }
        for k, check in enumerate(mechanism.checks):
            lumped = check.model
            above = [lumped.contexts.index(DEEP.at_layer(context, k)) for context in chain.contexts]
            for t, (i, a) in itertools.product(range(2), itertools.product(range(len(lumped.contexts)), repeat=2)):
                here = sum(p for path, p in paths.items() if above[path[t]] == i)
                both = sum(p for path, p in paths.items() if above[path[t]] == i and above[path[t + 1]] == a)
                if here > 0:
                    assert lumped.transitions[t][i, a] == pytest.approx(both / here, abs=1e-12)
            assert lumped.prior[2].sum() == pytest.approx(1, abs=1e-12)


class LeavesOnly(Fdh):
    """What an observer sees who takes every coarser output for silence."""

    def kernel(self, state: State) -> FiniteKernel:
        kernel = super().kernel(state)
        fine = [isinstance(output, d.Released) for output in kernel.outputs]
        coarse = kernel.weights[:, ~np.array(fine)].sum(axis=1, keepdims=True)
        outputs: tuple[Output, ...] = (
            *(output for output in kernel.outputs if isinstance(output, d.Released)),
            d.Suppressed(),
        )
        return FiniteKernel(outputs, np.hstack([kernel.weights[:, fine], coarse]), kernel.total)


def test_the_guarantee_holds_for_the_leaves_alone() -> None:
    for seed in searches(40):
        chain = random_chain(seed, n=4, slots=3)
        policy = random_policy(seed, chain)
        seen = LeavesOnly(chain, policy, hierarchy=FOUR)
        assert within_delta(seen, policy), seed
        assert seen.guarantee.kind == "window only"
        assert "seen alone, the contexts" in seen.guarantee.statement
        assert "at='any' are not bounded" in seen.guarantee.statement


def test_utility_equals_the_enumeration() -> None:
    for seed in searches(30):
        mechanism = random_fdh(seed)
        total = sum(float(p.probability) * mechanism.worth("", p.outputs[-1]) for p in prefixes(mechanism))
        utility = mechanism.expected_utility()
        assert utility.half_width == 0
        assert float(utility) * mechanism.model.slots == pytest.approx(total, abs=1e-12)


@pytest.mark.slow("compares with a slow twin on many random cases")
def test_utility_is_drawn_where_states_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The draws are seeded: the exact value lies within the 95 % half-width on these."""
    for seed in (3, 4, 8):
        exact = float(random_fdh(seed, slots=6).expected_utility())
        with monkeypatch.context() as patch:
            patch.setattr(hierarchical, "STATES", 3)
            drawn = random_fdh(seed, slots=6).expected_utility()
        assert 0 < drawn.half_width < 0.022
        assert abs(drawn.mean - exact) <= 1.5 * drawn.half_width


def test_days_that_come_out_alike_do_not_make_a_drawn_utility_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without secrets every drawn day is worth 1; half_width 0 would claim that no day can be worth anything else."""
    monkeypatch.setattr(hierarchical, "STATES", 3)
    chain = random_chain(5, n=4, slots=6, zeros=0.0)
    mechanism = Fdh(chain, d.Policy(), hierarchy=FOUR)
    assert mechanism.expected_utility() == d.Utility(1.0, 3 / hierarchical.DAYS)
    assert mechanism.expected_utility(60) == d.Utility(1.0, 3 / 60)


def test_layer_weights() -> None:
    chain = random_chain(5, n=4, slots=2, zeros=0.0)
    mechanism = Fdh(chain, d.Policy(), hierarchy=DEEP)
    assert mechanism.weights == (1.0, 0.5, 0.0, 0.0)
    assert [mechanism.worth("c1", o) for o in (d.Released("c1"), d.Generalized("B"), d.Generalized("west"))] == [
        1,
        0.5,
        0,
    ]
    assert mechanism.worth("c1", d.Suppressed()) == 0
    assert float(mechanism.expected_utility()) == pytest.approx(1, abs=1e-12)  # without secrets all are leaves
    assert float(Fdh(chain, d.Policy(), hierarchy=DEEP, weights=[3, 2, 1, 0]).expected_utility()) == pytest.approx(3)


def test_a_secret_under_every_node_of_a_layer_is_no_secret_there() -> None:
    """c0 or c2: at the layer of A and B the event is certain, so that layer always releases."""
    chain = random_chain(2, n=4, slots=3, zeros=0.0)
    mechanism = Fdh(chain, d.Policy([d.Secret("either", {"c0", "c2"})], delta=0.1), hierarchy=FOUR)
    inner = mechanism.checks[1].policy
    assert inner.secrets == ()
    for outputs in histories(mechanism):
        assert d.Generalized("top") not in mechanism.kernel(state_after(mechanism, outputs)).outputs


def test_secrets_keep_slots_deltas_and_names_at_every_layer() -> None:
    chain = random_chain(2, n=4, slots=3, zeros=0.0)
    secret = d.Secret("late", {"c1"}, slots=[2], delta=0.05)
    inner = Fdh(chain, d.Policy([secret, d.Secret("ever", {"c3"}, at="any")]), hierarchy=FOUR).checks[1].policy
    assert inner.secrets == (d.Secret("late", {"A"}, slots=[2], delta=0.05), d.Secret("ever", {"B"}, at="any"))


def test_a_layers_past_is_what_is_known_there() -> None:
    chain = random_chain(1, n=4, slots=3, zeros=0.0)
    mechanism = Fdh(chain, d.Policy("c0", delta=0.3), hierarchy=FOUR)
    leaves, nodes = mechanism.checks
    start = mechanism.start()
    told: dict[Output, tuple[Output, Output]] = {
        d.Released("c2"): (d.Released("c2"), d.Released("B")),
        d.Generalized("B"): (d.Suppressed(), d.Released("B")),
        d.Generalized("top"): (d.Suppressed(), d.Suppressed()),
        d.Suppressed(): (d.Suppressed(), d.Suppressed()),
    }
    for output, (leaf, node) in told.items():
        assert mechanism.advance(start, output) == (leaves.advance(start[0], leaf), nodes.advance(start[1], node))


def test_laws() -> None:
    for seed in searches(20):
        check_laws(random_fdh(seed, slots=4), seed=seed)


# --- chains of its own, edges, bad input


def test_chains_can_be_given_in_any_order_of_contexts() -> None:
    chain = random_chain(6, n=4, slots=3, zeros=0.0)
    policy = d.Policy("c0", delta=0.2)
    plain = Fdh(chain, policy, hierarchy=FOUR)
    lumped = plain.checks[1].model
    turned = d.MarkovChain(lumped.contexts[::-1], lumped.initial[::-1], lumped.transitions[:, ::-1, ::-1])
    for chains in ([chain, lumped], [chain, turned], [chain, lumped, lumped]):
        given = Fdh(chain, policy, hierarchy=FOUR, chains=chains)
        assert given.guarantee.proven
        assert float(given.expected_utility()) == pytest.approx(float(plain.expected_utility()), abs=1e-9)
        for outputs in histories(plain):
            ours, theirs = (m.kernel(state_after(m, outputs)) for m in (plain, given))
            for output in ours.outputs:
                assert theirs.likelihood(output) == pytest.approx(ours.likelihood(output), abs=1e-9)
    other = Fdh(chain, policy, hierarchy=FOUR, chains=[random_chain(7, n=4, slots=3, zeros=0.0), lumped])
    assert not other.guarantee.proven
    assert "the given chain" in other.guarantee.statement


def test_chains_learned_from_mapped_days() -> None:
    days = random_chain(6, n=4, slots=3).sample(200, seed=1)
    above = [d.Day(tuple(FOUR.at_layer(context, 1) for context in day.contexts)) for day in days]
    chains = [d.MarkovChain.fit(rows, smoothing="none") for rows in (days, above)]
    given = Fdh(chains[0], d.Policy("c0", delta=0.2), hierarchy=FOUR, chains=chains)
    lumped = Fdh(chains[0], d.Policy("c0", delta=0.2), hierarchy=FOUR)
    ours, theirs = lumped.checks[1].model, given.checks[1].model
    order = [ours.contexts.index(node) for node in theirs.contexts]
    assert theirs.prior == pytest.approx(ours.prior[:, order], abs=1e-12)
    assert theirs.transitions == pytest.approx(ours.transitions[:, order][:, :, order], abs=1e-12)


def test_a_hierarchy_may_know_more_than_the_model() -> None:
    tree = d.Hierarchy({"top": {"A": ["c0", "c9"], "B": ["c1", "c2"], "C": ["c8"]}})
    mechanism = Fdh(random_chain(3, n=3, slots=2), d.Policy("c0"), hierarchy=tree)
    assert mechanism.checks[1].model.contexts == ("A", "B")
    check_laws(mechanism)


def test_one_context_and_one_layer() -> None:
    chain = d.MarkovChain(["home"], [1.0], np.ones((1, 1, 1)))
    mechanism = Fdh(chain, d.Policy(), hierarchy=d.Hierarchy({"home": []}))
    assert mechanism.kernel(mechanism.start()).outputs == (d.Released("home"),)
    assert float(mechanism.expected_utility()) == 1
    check_laws(mechanism)


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_delta_zero_and_one(delta: float) -> None:
    for seed in searches(10):
        chain = random_chain(seed, n=4, slots=3, zeros=0.5)
        mechanism = Fdh(chain, d.Policy(["c0", "c3"], delta=delta), hierarchy=FOUR)
        if delta:
            assert float(mechanism.expected_utility()) == pytest.approx(1, abs=1e-12)
        else:
            assert all(worst(check)[0] <= SLACK for check in mechanism.checks)


def test_options_reach_the_checks() -> None:
    options: dict[str, Any] = {"lookahead": True, "search": "mondrian", "grid": 3, "budget": 50}
    for check in Fdh(random_chain(2, n=4), d.Policy("c0"), hierarchy=FOUR, **options).checks:
        assert isinstance(check, Hybrid)
        assert check.simulatable.lookahead
        assert (check.probabilistic.search, check.probabilistic.grid, check.probabilistic.budget) == ("mondrian", 3, 50)


def test_bad_hierarchies_are_refused() -> None:
    chain = random_chain(2, n=4)
    with pytest.raises(d.DiscreetError, match="context 'c3' of the model is missing from the hierarchy"):
        Fdh(chain, d.Policy(), hierarchy=d.Hierarchy({"top": {"A": ["c0", "c1", "c2"]}}))
    with pytest.raises(d.DiscreetError, match="context 'c1' of the model is an inner node"):
        Fdh(chain, d.Policy(), hierarchy=d.Hierarchy({"top": {"c1": ["c0"], "A": ["c2", "c3"]}}))


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.5, 0.0, 0.0], [1.0, float("nan"), 0.0]])
def test_bad_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(d.DiscreetError, match="give 3 finite numbers, one a layer"):
        Fdh(random_chain(2, n=4), d.Policy(), hierarchy=FOUR, weights=weights)


def test_bad_chains_are_refused() -> None:
    chain = random_chain(2, n=4, slots=3)
    node = d.MarkovChain.homogeneous(["A", "B"], [0.5, 0.5], np.eye(2), 3)
    cases: list[tuple[list[Any], str]] = [
        ([chain], "chains has 1 chains, the hierarchy 3 layers"),
        ([chain, chain], r"the chain of layer 1 lacks 'A'"),
        ([chain, d.MarkovChain.homogeneous(["A", "B", "Z"], [1, 0, 0], np.eye(3), 3)], "layer 1 has 'Z'"),
        ([chain, d.MarkovChain.homogeneous(["A", "B"], [0.5, 0.5], np.eye(2), 4)], "4 slots, the model 3"),
        ([random_hidden(1, n=4), node], "needs a Markov chain"),
    ]
    for chains, message in cases:
        with pytest.raises(d.DiscreetError, match=message):
            Fdh(chain, d.Policy(), hierarchy=FOUR, chains=chains)


def test_hidden_models_and_foreign_outputs_are_refused() -> None:
    with pytest.raises(d.DiscreetError, match="Fdh needs a Markov chain"):
        Fdh(random_hidden(1, n=4), d.Policy(), hierarchy=FOUR)
    mechanism = Fdh(random_chain(2, n=4), d.Policy(), hierarchy=FOUR)
    for output in (d.Released("c9"), d.Generalized("c1"), d.Released("A"), d.Perturbed((0.0,))):
        with pytest.raises(d.DiscreetError, match="is never output by this mechanism"):
            mechanism.advance(mechanism.start(), output)
