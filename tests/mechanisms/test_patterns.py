"""Patterns as secrets: enumerated against every choice of slots, in fractions; refusals; what a file says."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary import Adversary
from discreet.adversary.enumerate import prefixes, worst_excess
from discreet.adversary.patterns import LOST, MET, after
from discreet.errors import PolicyError
from discreet.mechanisms import Adaptive, NoMask
from discreet.models.routine.routine import Routine
from discreet.policy import Policy, Secret, read_policy
from tests.strategies import labels, random_chain, searches


def random_pattern(seed: int, contexts: tuple[str, ...], slots: int) -> Secret:
    """Two or three contexts, the same twice at times, within a few slots, of the whole day or of some slots."""
    rng = np.random.default_rng([seed, 41])
    length = int(rng.integers(2, 4))
    sequence = [str(label) for label in rng.choice(contexts, size=length)]
    held = None if rng.random() < 0.6 else {int(slot) for slot in rng.choice(slots, size=slots - 1, replace=False)}
    return Secret.pattern("pattern", sequence, int(rng.integers(length - 1, slots + 1)), slots=held)


def test_the_automaton_meets_what_some_choice_of_slots_meets() -> None:
    for seed in range(60):
        secret, slots = random_pattern(seed, labels(3), 5), 5
        held = range(slots) if secret.slots is None else sorted(secret.slots)
        sequence = [labels(3).index(one) for one in secret.sequence]
        for path in itertools.product(range(3), repeat=slots):
            ages = (LOST,) * (len(sequence) - 1)
            for t, context in enumerate(path):
                ages = after(ages, sequence, secret.within, context, t in held)
            met = any(
                chosen[-1] - chosen[0] <= secret.within and [path[slot] for slot in chosen] == sequence
                for chosen in itertools.combinations(held, len(sequence))
            )
            assert (ages == MET) == met, (secret, path)


@pytest.mark.parametrize("memory", ["last", "none"])
@pytest.mark.parametrize("outputs", ["suppress", "deceive"])
def test_no_gain_on_a_pattern_exceeds_its_delta(outputs: Any, memory: Any) -> None:
    telling = 0
    slots = 4 if outputs == "suppress" else 3  # fakes multiply histories
    for seed in searches(3, 8):
        chain = random_chain(seed, n=3, slots=slots)
        pattern = random_pattern(seed, chain.contexts, slots)
        policy = Policy([pattern, Secret("c0")], delta=0.1, odds=3.0 if seed % 3 == 0 else None)
        mechanism = Adaptive(chain, policy, outputs=outputs, memory=memory)
        excess, found = worst_excess(mechanism, exact=True)
        assert excess <= 2.0**-40, (seed, found)
        assert d.audit(mechanism).excess == pytest.approx(float(excess), abs=1e-9)
        telling += float(mechanism.expected_utility()) > 0.05
    assert telling >= 1


def test_the_observer_believes_what_enumeration_says() -> None:
    """NoMask knows of no pattern; an observer may ask about one all the same."""
    for seed in range(6):
        chain = random_chain(seed, n=3, slots=4)
        policy = Policy([random_pattern(seed, chain.contexts, 4)])
        mechanism = NoMask(chain, Policy("c0"))
        judge = Adversary(mechanism, policy=policy)
        for prefix in prefixes(mechanism, policy=policy):
            belief, state = judge.start(), mechanism.start()
            for output in prefix.outputs:
                belief = belief.after(mechanism.kernel(state).likelihood(output))
                state = mechanism.advance(state, output)
            assert belief.gains[0] == pytest.approx(prefix.gains["pattern", None], abs=1e-12)


def test_what_cannot_bound_a_pattern_refuses_it() -> None:
    policy = Policy([Secret.pattern("gym then clinic", ["a", "b"], within=2)])
    chain = d.MarkovChain.homogeneous(("a", "b", "c"), [0.2, 0.2, 0.6], np.full((3, 3), 1 / 3), 3)
    message = r"secret 'gym then clinic' is a pattern, which Adaptive over a Markov chain of one day bounds"
    for name in ("Simulatable", "Probabilistic", "Hybrid", "Capp", "MaskSensitive", "NoMask"):
        with pytest.raises(PolicyError, match=message):
            getattr(d.mechanisms, name)(chain, policy)
    routine = Routine({"day": chain}, {("day", "day"): np.full((3, 3), 1 / 3)})
    with pytest.raises(PolicyError, match=message):
        Adaptive(routine.since("2026-11-16"), policy)
    hidden = d.HiddenMarkovModel(("a", "b"), [0.5, 0.5], np.full((2, 2, 2), 0.5), [[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(PolicyError, match=r"patterns are bounded where contexts are seen"):
        Adaptive(hidden, policy)


@pytest.mark.parametrize(
    ("sequence", "within", "message"),
    [
        (["a"], 2, r"pattern 'p' is \['a'\]; give two contexts or more"),
        ("ab", 2, r"pattern 'p' is 'ab'; give two contexts or more"),
        (["a", "b", "c"], 1, r"pattern 'p' is within 1 slots; give a number of slots, 2 or more"),
        (["a", "b"], True, r"pattern 'p' is within True slots"),
    ],
)
def test_a_pattern_without_meaning_is_refused(sequence: Any, within: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Secret.pattern("p", sequence, within)


def test_a_file_has_patterns(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('[[secret]]\npattern = ["gym", "clinic"]\nwithin = 4\ndelta = 0.05\n')
    policy = read_policy(path)[0]
    assert policy.secrets == (Secret.pattern("gym then clinic", ["gym", "clinic"], 4, delta=0.05),)
    assert (
        policy.fingerprint != Policy([Secret("gym then clinic", {"gym", "clinic"}, at="any", delta=0.05)]).fingerprint
    )
    path.write_text('[[secret]]\npattern = ["gym", "clinic"]\n')
    with pytest.raises(PolicyError, match=r"number 1 is a pattern; give within, a number of slots"):
        read_policy(path)
