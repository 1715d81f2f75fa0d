"""Adaptive release against exact integers: no output that could come next, on any walk, tells more than delta.

The claim is gain <= delta + 2**-40 for every secret at every slot and for "at some slot", after every prefix. It is
checked without any rounding (`exact_walk`), for all outputs of each kernel, not only for the one that the walk takes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.contracts import DayModel
from discreet.hierarchy import Hierarchy
from discreet.mechanisms import Adaptive
from discreet.models import MarkovChain
from discreet.models.simulate import person
from discreet.outputs import SUPPRESSED, Output
from discreet.policy import Policy, Secret
from discreet.randomness import SeededEntropy
from tests.mechanisms.adaptive.exact_walk import ExactWalk, Gain
from tests.strategies import RandomMechanism, random_chain, random_hidden, random_mechanism, random_policy, searches

SLACK = Fraction(1, 2**40)

Choice = Callable[[dict[Output, list[Gain]], Any, int], Output]  # (what can be next, kernel, slot): what is next


def tree(contexts: tuple[str, ...]) -> Hierarchy:
    """Two layers above the contexts: pairs, and all."""
    pairs = {f"pair {k}": list(contexts[k : k + 2]) for k in range(0, len(contexts), 2)}
    return Hierarchy({"all": pairs})


def adaptive(model: DayModel, policy: Policy, outputs: str, memory: str | None, *, plan: str = "lazy") -> Adaptive:
    options: dict[str, Any] = {"outputs": outputs, "memory": memory, "plan": plan}
    if outputs == "generalize":
        options["hierarchy"] = tree(model.contexts)
    return Adaptive(model, policy, **options)


def lived(mechanism: Any, seed: int) -> Choice:
    """Outputs as a person's day gives them: the truth drawn from the model, the output from the kernel."""
    truth = mechanism.model.sample_codes(1, seed)[0].tolist()
    entropy = SeededEntropy(seed)
    memory: list[int | None] = [None]

    def choose(_next: dict[Output, list[Gain]], kernel: Any, slot: int) -> Output:
        private = mechanism.remember(memory[0], truth[slot])
        memory[0] = private
        output: Output = kernel.sample(private, entropy)
        return output

    return choose


def unlikely(seed: int) -> Choice:
    """The least likely output three times in four, else any: where rounding has the least mass to hide in."""
    rng = np.random.default_rng(seed)

    def choose(following: dict[Output, list[Gain]], _kernel: Any, _slot: int) -> Output:
        outputs = list(following)  # in the kernel's order
        if rng.random() < 0.75:
            return min(outputs, key=lambda output: following[output][0].whole)
        return outputs[rng.integers(len(outputs))]

    return choose


def check_walk(mechanism: Any, choose: Choice, message: object) -> None:
    """Walk a day and check all that could be output at each slot."""
    walked = ExactWalk(mechanism)
    for slot in range(walked.slots):
        kernel = walked.kernel()
        following = walked.gains(kernel)
        assert following, (message, slot)
        for gain in itertools.chain.from_iterable(following.values()):
            assert gain.within(SLACK), (message, slot, gain.output, gain.secret, gain.slot, float(gain.excess))
        walked.follow(kernel, choose(following, kernel, slot))


Paths = list[tuple[tuple[int, ...], Fraction]]


def enumerated(
    mechanism: RandomMechanism, outputs: list[Output]
) -> dict[tuple[str, int | None], tuple[Fraction, Fraction]]:
    """{(secret, slot): prior and posterior after the outputs} by trying every path of hidden states and contexts."""
    model, policy = mechanism.model, mechanism.policy
    assert policy is not None
    n, hidden = len(model.contexts), len(model.initial)
    emissions = [np.eye(n)] * model.slots if model.emissions is None else model.emissions
    kernels, state = [], mechanism.start()
    for output in outputs:
        kernels.append(mechanism.kernel(state))
        state = mechanism.advance(state, output)
    before: Paths = []
    after: Paths = []
    for states in itertools.product(range(hidden), repeat=model.slots):
        for contexts in itertools.product(range(n), repeat=model.slots):
            weight = Fraction(float(model.initial[states[0]]))
            for t, (y, c) in enumerate(zip(states, contexts, strict=True)):
                weight *= Fraction(float(emissions[t][y, c]))
                if t:
                    weight *= Fraction(float(model.transitions[t - 1][states[t - 1], y]))
            if not weight:
                continue
            before.append((contexts, weight))
            private: int | None = None
            for c, kernel, output in zip(contexts, kernels, outputs, strict=False):
                private = mechanism.remember(private, c)
                weight *= Fraction(int(kernel.weights[private, kernel.outputs.index(output)]), kernel.total)
            after.append((contexts, weight))

    def chance(paths: Paths, secret: Secret, slots: list[int]) -> Fraction:
        met = (w for path, w in paths if any(model.contexts[path[u]] in secret.contexts for u in slots))
        return sum(met, Fraction(0)) / sum((w for _, w in paths), Fraction(0))

    found: dict[tuple[str, int | None], tuple[Fraction, Fraction]] = {}
    for secret in policy.secrets:
        slots = sorted(range(model.slots) if secret.slots is None else secret.slots)
        for slot in [None] if secret.at == "any" else slots:
            asked = slots if slot is None else [slot]
            found[secret.name, slot] = (chance(before, secret, asked), chance(after, secret, asked))
    return found


@pytest.mark.parametrize("seed", searches(20))
def test_the_walk_equals_an_enumeration_of_all_paths(seed: int) -> None:
    mechanism = random_mechanism(seed)
    walked = ExactWalk(mechanism)
    rng = np.random.default_rng(seed)
    outputs: list[Output] = []
    while walked.slot < walked.slots:
        kernel = walked.kernel()
        following = walked.gains(kernel)
        output = list(following)[rng.integers(len(following))]
        outputs.append(output)
        expected = enumerated(mechanism, outputs)
        assert len(following[output]) == len(expected)
        for gain in following[output]:
            prior, posterior = expected[gain.secret, gain.slot]
            assert (gain.prior, Fraction(gain.part, gain.whole)) == (prior, posterior), (seed, outputs, gain.secret)
        walked.follow(kernel, output)


OPTIONS = [(outputs, memory) for outputs in ("suppress", "generalize", "deceive") for memory in (None, "none")]


def small_models(seed: int) -> Iterator[tuple[str, DayModel]]:
    rng = np.random.default_rng(seed)
    n, slots = int(rng.integers(4, 7)), int(rng.integers(6, 11))
    for zeros in (0.0, 0.3, 0.7):
        yield f"chain with {zeros} zeros", random_chain(seed, n=n, slots=slots, zeros=zeros)
    yield "hidden", random_hidden(seed, states=3, n=4, slots=6, zeros=0.3)


def test_what_is_cut_from_a_column_stays_with_outputs_that_the_context_has() -> None:
    """A column of one rare state that exceeds its limit whole: nothing else of that state could take what is cut."""
    _, model = list(small_models(91))[1]
    mechanism = adaptive(model, random_policy(91, model), "suppress", None, plan="lazy")
    belief = mechanism.adversary.start()
    state = mechanism.start()
    for _ in range(2):
        belief = belief.after(mechanism.kernel(state).likelihood(SUPPRESSED))
        state = mechanism.advance(state, SUPPRESSED)
    decision = mechanism.decider.decide(belief)
    allowed = np.isfinite(mechanism.vocabulary.worth[mechanism.private_contexts[decision.private]])
    assert not decision.weights[~allowed].any()
    check_walk(mechanism, unlikely(91), "seed 91")


@pytest.mark.slow("enumerates every output of random models")
@pytest.mark.parametrize(("outputs", "memory"), OPTIONS)
def test_no_output_of_a_random_model_tells_more_than_delta(outputs: str, memory: str | None) -> None:
    for seed in searches(3, full=8):
        for kind, model in small_models(seed):
            plan = "full" if seed % 2 else "lazy"
            mechanism = adaptive(model, random_policy(seed, model), outputs, memory, plan=plan)
            for choose in (lived(mechanism, seed), unlikely(seed)):
                check_walk(mechanism, choose, (kind, seed, outputs, memory))


@pytest.mark.parametrize(("outputs", "memory"), OPTIONS)
def test_the_walk_notices_a_delta_that_is_a_millionth_too_large(outputs: str, memory: str | None) -> None:
    found = 0
    for seed in range(3):
        model = random_chain(seed, n=4, slots=6, zeros=0.0)
        mechanism = adaptive(model, Policy(["c1"], delta=0.1), outputs, memory)
        walked = ExactWalk(mechanism, Policy(["c1"], delta=0.1 - 1e-6))
        choose = lived(mechanism, seed)
        for slot in range(walked.slots):
            kernel = walked.kernel()
            following = walked.gains(kernel)
            found += sum(not gain.within(SLACK) for gains in following.values() for gain in gains)
            walked.follow(kernel, choose(following, kernel, slot))
    assert found


def habits(seed: int, contexts: int, slots: int, smoothing: Any) -> MarkovChain:
    return MarkovChain.fit(person(days=60, slots=slots, contexts=contexts, seed=seed), smoothing=smoothing)


PEOPLE = Policy(
    [
        "hospital",
        Secret("care", {"hospital", "pharmacy"}, delta=0.05),
        Secret("hospital today", {"hospital"}, at="any", delta=0.2),
    ],
    delta=0.1,
)
EACH = Policy(["hospital", Secret("care", {"hospital", "pharmacy"}, delta=0.05)], delta=0.1)


@pytest.mark.slow("enumerates every output of random models")
@pytest.mark.parametrize("smoothing", ["auto", "none"])
@pytest.mark.parametrize(
    ("outputs", "contexts", "slots", "policy"),
    [
        ("suppress", 12, 48, EACH),
        ("suppress", 8, 24, PEOPLE),
        ("generalize", 8, 24, PEOPLE),
        ("deceive", 8, 24, EACH),
    ],
)
def test_no_output_on_a_persons_day_tells_more_than_delta(
    smoothing: str, outputs: str, contexts: int, slots: int, policy: Policy
) -> None:
    for seed in searches(1):
        mechanism = adaptive(habits(seed + 1, contexts, slots, smoothing), policy, outputs, None)
        for choose in (lived(mechanism, seed), unlikely(seed)):
            check_walk(mechanism, choose, (smoothing, outputs, seed))
