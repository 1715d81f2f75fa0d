"""Caps on belief: every mechanism that promises an exact delta keeps each row's own limit, in fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary import Adversary
from discreet.adversary.checkpoint import Checkpoint
from discreet.adversary.enumerate import tolerated, worst_excess
from discreet.adversary.unrolled import Unrolled
from discreet.contracts import MechanismClass
from discreet.evaluation.limit import limit
from discreet.laws import cases
from discreet.mechanisms import Adaptive, Fdh, Simulatable
from discreet.mechanisms.maskit.probabilistic import Probabilistic
from discreet.models.routine.routine import Routine
from discreet.numerics import CLOSE, SLACK
from discreet.outputs import SUPPRESSED
from discreet.policy import Policy, Secret
from discreet.randomness import SeededEntropy
from tests.mechanisms.events.event_models import event_models, event_policy
from tests.strategies import random_chain, random_hidden, random_policy, random_rows, searches

SLACK_EXACT = Fraction(1, 2**40)


def each_slot(policy: Policy) -> Policy:
    return Policy([secret for secret in policy.secrets if secret.at == "each"] or ["c0"], delta=policy.delta)


@pytest.mark.parametrize("name", ["Adaptive", "Probabilistic", "Simulatable", "Hybrid", "SetLabelled"])
def test_what_promises_an_exact_delta_keeps_caps_in_fractions(name: str) -> None:
    kind: MechanismClass = getattr(d.mechanisms, name)
    bound = 0
    for seed in searches(8):
        chain = random_chain(seed, n=3, slots=3)
        policy = random_policy(seed, chain, caps=True)
        policy = policy if name == "Adaptive" else each_slot(policy)
        bound += any(
            delta < policy.delta_of(secret) for secret in policy.secrets for delta in _deltas(chain, secret, policy)
        )
        for mechanism in cases(kind, chain, policy):
            excess, found = worst_excess(mechanism, exact=True)
            assert excess <= SLACK_EXACT, (seed, found)
    assert bound > 0  # some cap was below prior + delta


def _deltas(model: Any, secret: Secret, policy: Policy) -> list[float]:
    return [float(delta) for (name, _), delta in tolerated(model, policy).items() if name == secret.name]


@pytest.mark.parametrize(
    "options", [{"outputs": "deceive"}, {"memory": "last"}, {"outputs": "deceive", "plan": "lazy"}]
)
def test_adaptive_keeps_caps_in_every_vocabulary_and_memory(options: dict[str, Any]) -> None:
    for seed in searches(5):
        for model in (random_chain(seed, n=3, slots=3), random_hidden(seed, states=2, n=2, slots=3)):
            if "memory" in options and model.emissions is not None:
                continue
            mechanism = Adaptive(model, random_policy(seed, model, caps=True), **options)
            excess, found = worst_excess(mechanism, exact=True)
            assert excess <= SLACK_EXACT, (seed, found)


def test_without_end_caps_hold_on_every_day() -> None:
    bound = 0
    for seed in searches(6):
        rng = np.random.default_rng([seed, 3])
        chain = d.MarkovChain(("s", "c"), random_rows(rng, (2,), 0.0), random_rows(rng, (1, 2, 2), 0.0))
        routine = Routine({"day": chain}, {("day", "day"): random_rows(rng, (2, 2), 0.0)})
        assert routine.cycle is not None
        cap = min(1.0, float(routine.cycle[0, 0, 0]) + 0.12)
        night = Secret("ever", {"s"}, at="any", cap=0.9)
        policy = Policy([Secret("s", cap=cap), night], delta=0.2)
        for outputs in ("suppress", "deceive"):
            machine = Adaptive(routine.since("2026-11-16"), policy, outputs=outputs)
            judged: Any = Unrolled(machine, 2)
            excess, found = worst_excess(judged, exact=True)
            assert excess <= SLACK_EXACT, (seed, outputs, found)
            bound += bool((Adversary(judged).deltas < 0.2).any())
            assert d.audit(machine, days=2).holds is True
    assert bound > 0


def test_a_policy_with_a_cap_that_comes_in_mid_stream_holds_what_was_not_told_before() -> None:
    chain = d.MarkovChain(("s", "c"), [0.3, 0.7], [[[0.6, 0.4], [0.2, 0.8]]])
    routine = Routine({"day": chain}, {("day", "day"): [[0.5, 0.5], [0.3, 0.7]]})
    loose, capped = Policy("s", delta=0.3), Policy([Secret("s", cap=0.55)], delta=0.3)
    stream = d.Session(Adaptive(routine.since("2026-11-16"), loose), rng=SeededEntropy(1))
    for context in ("c", "c", "s", "c"):
        stream.release(context)
    stream.change(policy=capped)
    for context in ("c", "s", "c", "c", "s", "s", "c", "c"):
        stream.release(context)
    belief = stream.belief
    rows, beliefs = belief.live()
    assert (beliefs <= rows.limit + SLACK).all()
    own = rows.secret < 1
    fresh = own & (rows.opens >= stream.slot)
    assert (rows.limit[fresh] <= 0.55 + 1e-12).all()


def test_a_cap_where_priors_are_round_numbers_is_not_torn_apart() -> None:
    """At q = cap - delta/2 the limit jumps: priors that are computed in several ways must be on one side."""
    chain = d.MarkovChain(("a", "b", "c"), [0.1, 0.05, 0.85], [[[0.1, 0.05, 0.85]] * 3] * 5)
    policy = Policy([Secret("a or b", {"a", "b"}, cap=0.2)], delta=0.1)
    judge = Adversary(Simulatable(chain, policy))
    assert judge.deltas == pytest.approx([0.05] * 6, abs=1e-12)
    assert (judge.priors + judge.deltas <= 0.2 + 2**-52).all()
    check = Probabilistic(chain, policy)
    assert d.audit(check).holds is True
    secret = policy.secrets[0]
    assert policy.cap_applies(secret, 0.15 + CLOSE / 2)
    assert not policy.cap_applies(secret, 0.15 + 2 * CLOSE)


def test_the_causal_limit_is_lower_under_a_cap_and_adaptive_stays_below_it() -> None:
    chain = d.MarkovChain(("a", "b"), [0.3, 0.7], [[[0.6, 0.4], [0.2, 0.8]]])
    free, capped = Policy("a", delta=0.2), Policy([Secret("a", cap=0.4)], delta=0.2)
    loose, tight = limit(chain, free), limit(chain, capped)
    assert float(tight) < float(loose)
    assert float(Adaptive(chain, capped).expected_utility()) <= float(tight) + 1e-9
    halved = Policy([Secret("a", slots=[0], delta=0.1), Secret("later", {"a"}, slots=[1], delta=0.2)])
    assert chain.prior[1, 0] == pytest.approx(0.32)  # above 0.4 - 0.2/2: the cap does not apply
    assert float(limit(chain, halved)) == pytest.approx(float(tight), abs=1e-9)  # cap - q, slot by slot


def test_window_checks_read_caps_as_deltas_slot_by_slot() -> None:
    """Mechanisms of a window have the same kernels under a cap and under the deltas that it amounts to."""
    chain = d.MarkovChain(("a", "b", "c"), [0.3, 0.5, 0.2], [[[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]]] * 2)
    capped = Policy([Secret("a", cap=0.38)], delta=0.1)
    rows = tolerated(chain, capped)
    spelt = Policy([Secret(f"a {t}", {"a"}, slots=[t], delta=float(rows["a", t])) for t in range(3)])
    assert {round(float(delta), 6) for delta in rows.values()} != {0.1}
    for name in ("Capp", "EfficientFake"):
        kind: Any = getattr(d.mechanisms, name)
        one, other = kind(chain, capped), kind(chain, spelt)
        for slot in range(3):
            assert one.kernel(slot).matrix == pytest.approx(other.kernel(slot).matrix, abs=1e-9)


def test_checks_of_events_read_caps_as_deltas_slot_by_slot() -> None:
    model = event_models(3)[0]
    plain = event_policy(3)
    highest = max(float(model.prior[t][_inside(model, one)].sum()) for one in plain.secrets for t in range(model.slots))
    capped = Policy([replace(one, cap=highest + 0.06) for one in plain.secrets], delta=0.1)
    rows = tolerated(model, capped)
    spelt = Policy(
        [
            replace(one, name=f"{one.name} {t}", slots=frozenset({t}), delta=float(rows[one.name, t]), cap=None)
            for one in capped.secrets
            for t in range(model.slots)
        ]
    )
    assert min(float(delta) for delta in rows.values()) < 0.07
    for name in ("PaHmm", "PaMarkov"):
        kind: MechanismClass = getattr(d.mechanisms, name)
        for one, other in zip(cases(kind, model, capped), cases(kind, model, spelt), strict=True):
            states = one.start(), other.start()
            for _ in range(model.slots):
                first, second = (mechanism.kernel(state) for mechanism, state in zip((one, other), states, strict=True))
                assert first.digest == second.digest, name
                states = one.advance(states[0], SUPPRESSED), other.advance(states[1], SUPPRESSED)


def _inside(model: Any, secret: Secret) -> list[int]:
    return [k for k, context in enumerate(model.contexts) if context in secret.contexts]


def test_layers_keep_the_cap() -> None:
    chain = random_chain(2, n=4, slots=3, zeros=0.0)
    tree = d.Hierarchy({"top": {"left": ["c0", "c1"], "right": ["c2", "c3"]}})
    check = Fdh(chain, Policy([Secret("c0", cap=0.6)], delta=0.1), hierarchy=tree)
    assert [layer.policy.secrets[0].cap for layer in check.checks] == [0.6, 0.6]


def test_a_checkpoint_goes_on_under_the_same_limits() -> None:
    chain = d.MarkovChain(("s", "c"), [0.3, 0.7], [[[0.6, 0.4], [0.2, 0.8]]] * 3)
    routine = Routine({"day": chain}, {("day", "day"): [[0.5, 0.5], [0.3, 0.7]]})
    day = Secret("today", {"s"}, at="any", cap=0.95)
    mechanism = Adaptive(routine.since("2026-11-16"), Policy([Secret("s", cap=0.45), day], delta=0.2))
    whole = d.Session(mechanism, rng=SeededEntropy(3))
    for context in ("c", "s", "c", "c", "c", "s"):
        whole.release(context)
    point = Checkpoint.from_json(whole.checkpoint().to_json())
    again = d.Session.resume(mechanism, checkpoint=point)
    (rows, beliefs), (others, same) = (one.belief.live() for one in (whole, again))
    assert np.array_equal(rows.delta, others.delta)
    assert np.array_equal(beliefs, same)
    assert (rows.delta[rows.secret == 0] < 0.2).any()
    with pytest.raises(d.DiscreetError, match="of another policy"):
        d.Session.resume(
            Adaptive(routine.since("2026-11-16"), Policy(["s", replace(day, cap=None)], delta=0.2)), checkpoint=point
        )


def test_habits_that_change_within_a_capped_window_find_its_new_limit() -> None:
    """A window that is open at the cut has another prior under new habits, and so another delta of its own."""
    steps = [[[0.9, 0.1], [0.1, 0.9]]]
    before, after = (
        Routine({"day": d.MarkovChain(("s", "c"), [0.1, 0.9], steps)}, {("day", "day"): [[1 - q, q], [p, 1 - p]]})
        for p, q in ((0.05, 0.5), (0.1, 0.5))
    )
    night = Secret("night", {"s"}, slots=[0, 1], at="any", begins=1, cap=0.5)
    policy = Policy([night], delta=0.3)
    stream = d.Session(Adaptive(before.since("2026-11-16"), policy), rng=SeededEntropy(1))
    for _ in range(3):
        stream.release("c")
    stream.release("c")  # the night is open at the cut that follows
    stream.change(routine=after)
    for _ in range(6):
        rows, beliefs = stream.belief.live()
        expected = [policy.row_delta(night, prior) for prior in rows.prior.tolist()]
        assert rows.delta == pytest.approx(expected, abs=1e-12)
        assert (beliefs <= rows.limit + SLACK).all()
        stream.release("c")


def test_caps_hold_before_several_observers_each_by_their_own_prior() -> None:
    for seed in searches(3):
        models = [random_chain(10 * seed + k, n=2, slots=3, zeros=0.0) for k in range(2)]
        policy = random_policy(seed, models[0], caps=True)
        mechanism = Adaptive(models[0], policy, observers=models[1:])
        for model in models:
            excess, found = worst_excess(mechanism, model, exact=True)
            assert excess <= SLACK_EXACT, (seed, found)
