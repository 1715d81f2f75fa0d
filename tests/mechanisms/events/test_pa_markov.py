"""PA-Markov against the paper's loops in fractions, what it keeps, and how its silence breaches."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.enumerate import expected_releases, worst
from discreet.contracts import DayModel
from discreet.events import ATTRIBUTES, Events
from discreet.laws import check as check_laws
from discreet.mechanisms import MaskSensitive, NoInternal, NoMask, PaMarkov, SensitiveMask
from discreet.outputs import SUPPRESSED, Output, PartialEvent, truthful
from discreet.randomness import SeededEntropy
from tests.mechanisms.enumeration import Tiny, allowed, tiny
from tests.mechanisms.events.event_models import (
    SMALL,
    event_models,
    event_policy,
    independent,
    paths_of,
    topics,
)
from tests.strategies import enough, random_chain, searches

WIDE = Events(("work", "play"), ("day", "night"), ("here", "there"))


def walked(mechanism: Any, path: tuple[int, ...]) -> list[Output]:
    """What a mechanism that draws no coins outputs along a path."""
    state, outputs = mechanism.start(), []
    for context in path:
        output = mechanism.kernel(state).sample(context, SeededEntropy(0))
        outputs.append(output)
        state = mechanism.advance(state, output)
    return outputs


# --- the paper's loops


class Loops:
    """Algorithms 1 to 3 as loops over all paths, in fractions of the chains' and the model's floats."""

    def __init__(self, mechanism: PaMarkov) -> None:
        self.mechanism, self.events = mechanism, mechanism.events
        self.chains: list[Tiny] = [tiny(check.model, check.policy) for check in mechanism.checks]
        self.policy = mechanism.policy
        self.paths = paths_of(mechanism.model)

    def published(self, path: tuple[int, ...]) -> list[tuple[str | None, ...]]:
        """Algorithm 1; chances[k] is what is left of attribute k's paths after the values published of it."""
        left = [chain.paths() for chain in self.chains]
        outputs = []
        for t, c in enumerate(path):
            kept: list[int | None] = []
            for k, chain in enumerate(self.chains):
                value = int(self.events.attribute_index[c, k])
                if not any(other[t] == value for other in left[k]):  # the chain holds it impossible
                    kept.append(None)
                else:
                    kept.append(value if allowed(chain, left[k], t) else None)
            if self.mechanism.internal:
                kept = [None if v is None or self.implies(t, k, v) else v for k, v in enumerate(kept)]
            for k, value_ in enumerate(kept):
                if value_ is not None:
                    left[k] = {other: weight for other, weight in left[k].items() if other[t] == value_}
            named = zip(ATTRIBUTES, kept, strict=True)
            outputs.append(tuple(None if v is None else self.events.values(name)[v] for name, v in named))
        return outputs

    def implies(self, t: int, k: int, value: int) -> bool:
        """Algorithm 3: whether the value's rule for some secret has a confidence above prior + delta (Eq. 16)."""
        whole = sum(self.paths.values())
        rest = {p: w for p, w in self.paths.items() if self.events.attribute_index[p[t], k] == value}
        for secret in self.policy.secrets:
            inside = {c for c, label in enumerate(self.events.contexts) if label in secret.contexts}
            prior = sum(w for p, w in self.paths.items() if p[t] in inside) / whole
            confidence = sum(w for p, w in rest.items() if p[t] in inside) / sum(rest.values())
            if confidence - prior > Fraction(self.policy.delta_of(secret)):
                return True
        return False


@pytest.mark.slow("compares with the paper's own loops")
@pytest.mark.parametrize("internal", [True, False])
def test_outputs_are_those_of_the_papers_loops(internal: bool) -> None:
    published = withheld = 0
    for seed in searches(6):
        for model in event_models(seed, zeros=(0.0, 0.3)[seed % 2]):
            mechanism = PaMarkov(model, event_policy(seed), events=SMALL, internal=internal)
            loops = Loops(mechanism)
            for path in loops.paths:
                ours = [
                    (None, None, None) if out == SUPPRESSED else (out.activity, out.time, out.location)  # type: ignore[union-attr]
                    for out in walked(mechanism, path)
                ]
                assert ours == loops.published(path), (seed, path)
                published += sum(value is not None for event in ours for value in event)
                withheld += sum(value is None for event in ours for value in event)
    assert published > 500
    assert withheld > 500


def test_a_secret_of_some_slots_is_asked_about_there_alone() -> None:
    """Two positions that always agree, the first of them secret: what is published second tells of it as well."""
    model = d.MarkovChain(SMALL.contexts, [0.5, 0.0, 0.5, 0.0], np.eye(4)[None])  # always "here": "there" is impossible
    secret = SMALL.secret("activity", "play")
    for slots in (None, [0]):
        mechanism = PaMarkov(model, d.Policy(d.Secret("play", secret.contexts, slots=slots)), events=SMALL)
        assert float(mechanism.expected_utility()) == pytest.approx(2 / 3)  # times and locations say nothing here
        assert d.audit(mechanism).holds
    assert float(PaMarkov(model, d.Policy(), events=SMALL).expected_utility()) == pytest.approx(1)


def test_default_chains_are_the_models_marginals() -> None:
    for seed in searches(6):
        for model in event_models(seed):
            mechanism = PaMarkov(model, event_policy(seed), events=SMALL)
            paths = paths_of(model)
            whole = sum(paths.values())
            for k, chain in enumerate(mechanism.chains):
                value = {path: [int(SMALL.attribute_index[c, k]) for c in path] for path in paths}
                for t in range(model.slots - 1):
                    both = np.zeros((len(chain.contexts),) * 2)
                    for path, weight in paths.items():
                        both[value[path][t], value[path][t + 1]] += float(weight / whole)
                    assert chain.prior[t] == pytest.approx(both.sum(axis=1), abs=1e-12)
                    assert chain.prior[t][:, None] * chain.transitions[t] == pytest.approx(both, abs=1e-12)


# --- what is kept


def test_on_independent_attributes_both_checks_are_private() -> None:
    """Then the chains are the habits, no rule has a confidence above its prior, and the internal check does nothing."""
    exposed = released = 0
    for seed in searches(10):
        model = independent(seed, WIDE, slots=3, zeros=0.3)
        policy = event_policy(seed, WIDE)
        mechanism, plain = PaMarkov(model, policy, events=WIDE), NoInternal(model, policy, events=WIDE)
        result = d.audit(mechanism, method="exact")
        assert result.holds, (seed, result.breach)
        assert d.audit(plain).worst_gain == pytest.approx(result.worst_gain, abs=1e-12)
        assert float(plain.expected_utility()) == pytest.approx(float(mechanism.expected_utility()), abs=1e-12)
        exposed += d.audit(NoMask(model, policy)).holds is False
        released += float(mechanism.expected_utility()) > 0.3
    assert exposed > enough(5)
    assert released > enough(5)


def test_laws_hold_and_nothing_is_promised_that_is_not_kept() -> None:
    breached = 0
    for seed in searches(8):
        for model in event_models(seed, slots=2, events=WIDE, zeros=0.0):
            mechanism = PaMarkov(model, event_policy(seed, WIDE), events=WIDE, internal=seed % 2 == 0)
            check_laws(mechanism, seed=seed, walks=2)
            assert mechanism.guarantee.kind in ("none", "window only")
            breached += d.audit(mechanism).holds is False
    assert breached > 3


def test_expected_utility_is_that_of_all_outputs() -> None:
    for seed in searches(8):
        for model in event_models(seed):
            for kind in (PaMarkov, NoInternal, SensitiveMask):
                mechanism: Any = kind(model, event_policy(seed), events=SMALL)
                by_hand = float(expected_releases(mechanism)) / model.slots
                assert float(mechanism.expected_utility()) == pytest.approx(by_hand, abs=1e-12), (seed, kind)


def test_evaluation_counts_attributes() -> None:
    model = topics(3, WIDE, states=3, slots=6)
    mechanism = NoInternal(model, d.Policy(WIDE.secret("activity", "play"), delta=0.2), events=WIDE)
    days = model.sample(300, seed=1)
    result = d.evaluate(mechanism, days)
    spread = 4 / np.sqrt(len(days))  # four standard errors of a mean of numbers from 0 to 1: false alarm below 1e-4
    assert result.utility == pytest.approx(float(mechanism.expected_utility()), abs=spread)
    assert d.evaluate(NoMask(model, mechanism.policy), days[:3]).utility == 1


def test_what_an_output_tells_of_the_truth() -> None:
    assert truthful("a|t|l", d.Released("a|t|l")) == 1
    assert truthful("a|t|l", d.Released("a|t|k")) == 0
    assert truthful("a|t|l", PartialEvent("a", None, "l")) == pytest.approx(2 / 3)
    assert truthful("a|t|l", PartialEvent("b", "t", None)) == pytest.approx(1 / 3)
    assert truthful("a|t|l", SUPPRESSED) == 0
    assert truthful("home", PartialEvent("home", None, None)) == 0


# --- what the paper's claims come to (theory, section 7)


def casino() -> tuple[d.MarkovChain, d.Policy]:
    """One position: gambling is 1/4, always in the casino; working, the office (1/2) or the casino's bar (1/4)."""
    events = Events(("gambling", "working"), ("night",), ("casino", "office"))
    chance = {"gambling|night|casino": 0.25, "working|night|office": 0.5, "working|night|casino": 0.25}
    model = d.MarkovChain(events.contexts, [chance.get(c, 0.0) for c in events.contexts], np.zeros((0, 4, 4)))
    return model, d.Policy(events.secret("activity", "gambling"), delta=0.125)


def test_a_silence_of_the_internal_check_says_what_it_hides() -> None:
    """P(gambling) = 1/4. The casino implies it with confidence 1/2 > 1/4 + 1/8, so "casino" is withheld, and only it.

    A withheld location hence means the casino: belief 1/2, gain 1/4, twice the delta (theory 7a).
    """
    model, policy = casino()
    events = Events(("gambling", "working"), ("night",), ("casino", "office"))
    mechanism = PaMarkov(model, policy, events=events)
    assert set(mechanism.kernel(mechanism.start()).outputs) == {
        PartialEvent(None, "night", "office"),
        PartialEvent(None, "night", None),
    }
    result = d.audit(mechanism)
    assert result.exact
    assert result.breach is not None
    assert result.breach.outputs == (PartialEvent(None, "night", None),)
    assert (result.breach.prior, result.breach.belief) == (0.25, 0.5)
    assert worst(mechanism, exact=True)[0] == Fraction(1, 4)
    # without the check the casino says so itself: the check withheld a word and told the same
    plain = d.audit(NoInternal(model, policy, events=events))
    assert plain.breach is not None
    assert plain.breach.outputs == (PartialEvent(None, "night", "casino"),)
    assert plain.worst_gain == result.worst_gain
    assert d.audit(d.mechanisms.Adaptive(model, policy, outputs="attributes", events=events)).holds


def test_with_one_secret_the_first_silence_of_the_internal_check_always_breaches() -> None:
    silences = 0
    for seed in searches(40):
        for model in event_models(seed, slots=1, events=WIDE, zeros=0.0):
            secret = event_policy(seed, WIDE).secrets[0]
            policy = d.Policy(secret, delta=0.05)
            mechanism, plain = (PaMarkov(model, policy, events=WIDE, internal=k) for k in (True, False))
            shown = {
                k: {getattr(out, name) for out in plain.kernel(plain.start()).outputs if out != SUPPRESSED}
                for k, name in enumerate(ATTRIBUTES)
            }
            told = mechanism.kernel(mechanism.start())
            inside = np.array([context in secret.contexts for context in model.contexts])
            for k, name in enumerate(ATTRIBUTES):
                if None in shown[k]:
                    continue  # the external check withholds it
                withheld = [out for out in told.outputs if out == SUPPRESSED or getattr(out, name) is None]
                column = sum((told.likelihood(out) for out in withheld), np.zeros(len(inside)))
                if not (column * model.prior[0]).sum() > 0:
                    continue
                silences += 1
                belief = (column * model.prior[0])[inside].sum() / (column * model.prior[0]).sum()
                assert belief - model.prior[0][inside].sum() > policy.delta, (seed, name)
    assert silences > 20


def test_two_attributes_imply_what_neither_does_alone() -> None:
    """Gambling is when exactly one of (night, casino) holds: each alone tells nothing, both together everything."""
    events = Events(("gambling", "working"), ("day", "night"), ("casino", "office"))
    chances = {
        "gambling|day|casino": 0.25,
        "gambling|night|office": 0.25,
        "working|day|office": 0.25,
        "working|night|casino": 0.25,
    }
    model = d.MarkovChain(events.contexts, [chances.get(c, 0.0) for c in events.contexts], np.zeros((0, 8, 8)))
    mechanism = PaMarkov(model, d.Policy(events.secret("activity", "gambling"), delta=0.1), events=events)
    result = d.audit(mechanism)
    assert result.exact
    assert result.worst_gain == 0.5
    assert result.witness is not None
    assert result.witness.outputs[0] in (PartialEvent(None, "day", "casino"), PartialEvent(None, "night", "office"))


def test_equation_25_is_no_row_of_probabilities() -> None:
    """b_j(k) = 1 if k is NIL and j is sensitive, or k = j: a sensitive event has two outputs of probability 1."""
    model, policy = casino()
    sensitive = [context in policy.contexts for context in model.contexts]
    printed = [[1 if k == j else 0 for k in range(4)] + [1 if hide else 0] for j, hide in enumerate(sensitive)]
    assert [sum(row) for row in printed] == [2 if hide else 1 for hide in sensitive]
    kernel = SensitiveMask(model, policy).kernel(0)
    assert [kernel.likelihood(SUPPRESSED)[j] for j in range(4)] == [float(hide) for hide in sensitive]
    for j, context in enumerate(model.contexts):
        assert kernel.likelihood(d.Released(context))[j] == float(not sensitive[j])


# --- baselines


def test_sensitive_mask_of_whole_events_is_mask_sensitive() -> None:
    for seed in searches(4):
        for model in event_models(seed):
            policy = event_policy(seed)
            ours, theirs = SensitiveMask(model, policy), MaskSensitive(model, policy)
            for slot in range(model.slots):
                assert np.array_equal(ours.kernel(slot).weights, theirs.kernel(slot).weights)
            assert ours.expected_utility() == theirs.expected_utility()


def test_sensitive_mask_of_values_withholds_these_alone() -> None:
    model = topics(1, WIDE, states=2, slots=2)
    secrets = [WIDE.secret("location", "here"), d.Secret("one", {"play|night|there"}, slots=[1])]
    mechanism = SensitiveMask(model, d.Policy(secrets), events=WIDE)
    for slot in range(2):
        kernel = mechanism.kernel(slot)
        for c, context in enumerate(WIDE.contexts):
            a, t, place = context.split("|")
            expected: Output = PartialEvent(a, t, None if place == "here" else place)
            if context == "play|night|there" and slot == 1:
                expected = SUPPRESSED
            assert kernel.likelihood(expected)[c] == 1, (slot, context)


# --- given chains, and what is wrong with an argument


def given_chains(model: DayModel) -> list[d.MarkovChain]:
    """Homogeneous chains, as the paper learns them."""
    made = []
    for attribute in ATTRIBUTES:
        values = SMALL.values(attribute)
        made.append(
            d.MarkovChain.homogeneous(values, [1 / len(values)] * len(values), np.eye(len(values)), model.slots)
        )
    return made


def test_a_value_that_its_chain_holds_impossible_is_withheld() -> None:
    model = event_models(0, zeros=0.0)[0]
    mechanism = NoInternal(model, d.Policy(), events=SMALL, chains=given_chains(model))
    outputs = walked(mechanism, (0, 3, 0))  # the chains never change their value
    assert outputs == [
        PartialEvent("work", "day", "here"),
        PartialEvent(None, "day", None),
        PartialEvent("work", "day", "here"),
    ]
    check_laws(mechanism, walks=2)


def test_events_are_read_off_the_models_contexts_in_whatever_order() -> None:
    """The same habits with contexts in another order, and no word about events: the same is published of each path."""
    for seed in searches(5):
        policy = event_policy(seed, WIDE)
        order = np.random.default_rng(seed).permutation(len(WIDE.contexts))
        place = np.argsort(order)  # where each context of the first model stands in the second
        model = topics(seed, WIDE, states=2, slots=3)
        labels = [WIDE.contexts[k] for k in order]
        other = d.HiddenMarkovModel(labels, model.initial, model.transitions, model.emissions[:, :, order])
        for kind in (PaMarkov, NoInternal):
            stated, read = kind(model, policy, events=WIDE), kind(other, policy)
            assert read.events.contexts == other.contexts
            assert float(read.expected_utility()) == pytest.approx(float(stated.expected_utility()), abs=1e-12)
            for path in model.sample_codes(20, seed).tolist():
                assert walked(read, tuple(place[path])) == walked(stated, tuple(path))
    assert PaMarkov(event_models(0)[0], event_policy(0)).events.contexts == SMALL.contexts


def test_errors_say_what_to_do() -> None:
    model = event_models(0)[0]
    policy = event_policy(0)
    with pytest.raises(d.DiscreetError, match="learn the model from the same events"):
        PaMarkov(model, policy, events=WIDE)
    with pytest.raises(d.DiscreetError, match="'c0' is not the label of an event"):
        PaMarkov(random_chain(0), d.Policy("c0"))
    with pytest.raises(d.DiscreetError, match="not on values of one attribute"):
        PaMarkov(model, d.Policy("work|day|here"), events=SMALL)
    with pytest.raises(d.DiscreetError, match="give three"):
        PaMarkov(model, policy, events=SMALL, chains=given_chains(model)[:2])
    with pytest.raises(d.DiscreetError, match="same values in the same order"):
        PaMarkov(model, policy, events=SMALL, chains=given_chains(model)[::-1])
    with pytest.raises(d.DiscreetError, match="slots"):
        PaMarkov(model, policy, events=SMALL, chains=given_chains(event_models(0, slots=2)[0]))
    mechanism = PaMarkov(model, policy, events=SMALL)
    with pytest.raises(d.DiscreetError, match="partial events or nothing"):
        mechanism.advance(mechanism.start(), d.Released("work|day|here"))
    with pytest.raises(d.DiscreetError, match="never released"):
        mechanism.advance(mechanism.start(), PartialEvent("sleep", None, None))
