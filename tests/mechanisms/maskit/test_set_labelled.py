"""Weaker adversaries: set-labelled chains by enumeration, and the published bundle."""

from __future__ import annotations

import math
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.checkpoint import Checkpoint
from discreet.adversary.enumerate import prefixes
from discreet.adversary.unrolled import Unrolled
from discreet.errors import OneDayError
from discreet.kernels import FiniteKernel
from discreet.laws import check as check_laws
from discreet.mechanisms import Adaptive, Hybrid, MaskSensitive, Probabilistic, Published, SetLabelled, Simulatable
from discreet.mechanisms.base import SlotMechanism
from discreet.numerics import SLACK, WEIGHT_BITS
from discreet.randomness import SeededEntropy
from tests.mechanisms.maskit.test_probabilistic import random_case, within_delta
from tests.strategies import random_chain, random_hidden, searches


def random_labels(seed: int, chain: d.MarkovChain) -> dict[str, set[str]]:
    rng = np.random.default_rng([seed, 2])
    return {
        context: {context, *(other for other in chain.contexts if rng.random() < 0.4), *(["elsewhere"] * (seed % 2))}
        for context in chain.contexts
        if rng.random() < 0.8
    }


def weak_gain(check: Any, secret: d.Secret) -> Fraction:
    """The largest gain of any adversary who knows the sets, whatever P(context | state) it holds within them.

    The gain is the sum over states of P(in the secret | state) times the gain on the state; the factors lie between 0
    and 1 and are 0 where the set does not meet the secret, so the worst adversary counts exactly the positive gains.
    """
    contexts = check.model.contexts
    slots = range(check.model.slots) if secret.slots is None else secret.slots
    carriers = [context for context in contexts if check.labels[context] & secret.contexts]
    states = d.Policy([d.Secret(context) for context in carriers], delta=1.0)
    largest = Fraction(0)
    for prefix in prefixes(check, policy=states):
        for u in slots:
            gains = (Fraction(prefix.gains[context, u]) for context in carriers)
            largest = max(largest, sum((gain for gain in gains if gain > 0), Fraction(0)))
    return largest


@pytest.mark.parametrize("kind", [Hybrid, Simulatable, Probabilistic])
def test_no_weak_adversary_gains_more_than_delta(kind: Any) -> None:
    for seed in searches(60):
        chain, policy = random_case(seed)
        check = SetLabelled(chain, policy, labels=random_labels(seed, chain), mechanism=kind)
        for secret in policy.secrets:
            if secret.at == "each":
                assert weak_gain(check, secret) <= Fraction(policy.delta_of(secret)) + Fraction(SLACK), seed
        assert within_delta(check, policy), seed  # nor does one who knows the habits


@pytest.mark.parametrize("outputs", ["suppress", "deceive"])
@pytest.mark.parametrize("memory", ["last", "none"])
def test_a_check_that_remembers_keeps_its_promise_too(outputs: str, memory: str) -> None:
    remembered = 0
    for seed in searches(20):
        chain, policy = random_case(seed)
        options: dict[str, Any] = {"mechanism": Adaptive, "outputs": outputs, "memory": memory}
        check = SetLabelled(chain, policy, labels=random_labels(seed, chain), **options)
        check_laws(check, seed=seed)
        remembered += len(check.private_contexts) > len(chain.contexts)
        for secret in policy.secrets:
            if secret.at == "each":
                assert weak_gain(check, secret) <= Fraction(policy.delta_of(secret)) + Fraction(SLACK), seed
    assert (remembered > 0) == (memory == "last")


def endless_case(seed: int) -> tuple[d.Routine, d.Policy]:
    """Two contexts and a secret, two slots a day, with nights, and nothing impossible."""
    rng = np.random.default_rng([seed, 9])
    contexts = ("c0", "c1", "c2")[: 2 + seed % 2]
    n = len(contexts)

    def rows(*shape: int) -> Any:
        return rng.dirichlet(np.ones(n), size=shape) * 0.9 + 0.1 / n

    day = d.MarkovChain(contexts, rows(), rows(1, n))
    policy = d.Policy([d.Secret("c0", delta=0.3), d.Secret("late", {"c1"}, slots=[1], delta=0.4)][: 1 + seed % 2])
    return d.Routine({"day": day}, {("day", "day"): rows(n)}), policy


@pytest.mark.parametrize("memory", ["last", "none"])
def test_over_days_without_end_no_weak_adversary_gains_more_than_delta_either(memory: str) -> None:
    shared = released = 0
    for seed in searches(12):
        routine, policy = endless_case(seed)
        labels = random_labels(seed, routine.day("day"))
        check = SetLabelled(
            routine.since("2026-01-05"),  # type: ignore[arg-type]  # without end
            policy,
            labels=labels,
            mechanism=Adaptive,
            memory=memory,
        )
        shared += int(check.mu.max() > 1)
        unrolled: Any = Unrolled(check, 2)
        unrolled.labels = check.labels
        for secret in unrolled.policy.secrets:
            assert weak_gain(unrolled, secret) <= Fraction(policy.delta_of(secret)) + Fraction(SLACK), seed
        assert d.audit(check, days=2).excess <= SLACK, seed
        with d.Session(check, rng=SeededEntropy(seed)) as stream:
            outputs = [stream.release("c1") for _ in range(12)]
            released += sum(isinstance(output, d.Released | d.Generalized) for output in outputs)
            gains = [gain for slots in stream.gains().values() for gain in slots.values()]
            assert max(gains, default=0.0) <= 0.4 + SLACK
    assert shared > 0
    assert released > 0


def test_a_stream_of_sets_goes_on_from_a_checkpoint_and_starts_anew_where_it_has_to() -> None:
    routine, policy = endless_case(1)
    labels = {"c0": {"c0", "c1"}}
    options: dict[str, Any] = {"labels": labels, "mechanism": Adaptive}
    check = SetLabelled(routine.since("2026-01-05"), policy, **options)  # type: ignore[arg-type]
    whole = d.Session(check, rng=SeededEntropy(3))
    for context in ("c0", "c1", "c1", "c0", "c1"):
        whole.release(context)
    whole.skip()
    point = Checkpoint.from_json(whole.checkpoint().to_json())
    again = d.Session.resume(check, checkpoint=point, private=whole.private, rng=SeededEntropy(8))
    whole.draw_from(SeededEntropy(8))
    assert again.digest == whole.digest
    assert [again.release(one) for one in ("c1", "c0")] == [whole.release(one) for one in ("c1", "c0")]
    columns = [check.kernel(check.start()).likelihood(d.Suppressed())]
    assert d.Session.resume(check, [d.Suppressed()], columns=columns).slot == 1
    with pytest.raises(OneDayError):  # Hybrid decides one day at a time
        SetLabelled(routine.since("2026-01-05"), policy, labels=labels)  # type: ignore[arg-type]
    with pytest.raises(d.DiscreetError, match="begin a new stream"):
        whole.change(policy=d.Policy("c1", delta=0.3))
    assert check.since("2026-02-02").settings == check.settings


class ToTheLimit(SlotMechanism):
    """One slot, whose silence gains each secret its delta and half the slack, as a check may that meets its bound."""

    guarantee = d.Guarantee("exact delta", "to the limit and a little beyond", covers=frozenset({"each"}))

    def kernel(self, state: int) -> FiniteKernel:
        assert len(self.policy.secrets) == 4
        bound = Fraction(self.secrets.least_delta[0]) + Fraction(SLACK) / 2
        # five states of 1/5 each: silence of weight 1 for the four that are secret, w for the fifth
        w = 1 / (Fraction(1, 5) + bound) - 4
        weight = math.ceil(w * 2**WEIGHT_BITS)
        rows = [[0, 2**WEIGHT_BITS]] * 4 + [[2**WEIGHT_BITS - weight, weight]]
        return FiniteKernel((d.Released("4"), d.Suppressed()), rows, 2**WEIGHT_BITS)


def test_the_slack_is_used_once_not_once_a_state() -> None:
    """s may be behind four of five states; a check that uses its own slack on each used four of them together."""
    chain = d.MarkovChain(("s", "a", "b", "c", "x"), [0.2] * 5, np.zeros((0, 5, 5)))
    policy = d.Policy("s", delta=0.1)
    labels = {context: {context, "s"} for context in "sabc"}
    check = SetLabelled(chain, policy, labels=labels, mechanism=ToTheLimit)
    gain = weak_gain(check, policy.secrets[0])
    assert Fraction(0.1) - 4 * Fraction(SLACK) < gain <= Fraction(0.1) + Fraction(SLACK)


def test_a_delta_that_cannot_be_shared_is_refused() -> None:
    chain = random_chain(3, n=3, slots=2, zeros=0.0)
    labels = {"c0": {"c0", "c1"}, "c1": {"c0", "c1"}}
    with pytest.raises(d.DiscreetError, match="delta of secret 'c0' is 0, too little to be shared by the 2 states"):
        SetLabelled(chain, d.Policy("c0", delta=0), labels=labels)
    assert SetLabelled(chain, d.Policy("c2", delta=0), labels=labels).guarantee.kind == "exact delta"


def test_mu_is_counted_by_secret_and_slot() -> None:
    """s can be behind a and s at slot 0, but a cannot occur at slot 1."""
    chain = d.MarkovChain(["s", "a", "x"], [0.2, 0.4, 0.4], [[[0.5, 0.0, 0.5]] * 3])
    check = SetLabelled(chain, d.Policy(["s", "x"], delta=0.3), labels={"a": {"a", "s"}, "s": {"s", "a"}})
    assert check.mu.tolist() == [[2, 1], [1, 1]]
    inner = check.mechanism.policy
    assert inner is not None
    bounds = {(min(secret.contexts), slot): secret.delta for secret in inner.secrets for slot in secret.slots or ()}
    half = 0.15 - SLACK
    assert bounds == {("0", 0): half, ("1", 0): half, ("0", 1): 0.3, ("1", 1): 0.3, ("2", 0): 0.3, ("2", 1): 0.3}


def test_without_labels_it_is_the_check_itself() -> None:
    chain, policy = random_chain(3, n=3, slots=3, zeros=0.0), d.Policy(["c0"], delta=0.3)
    check, plain = SetLabelled(chain, policy, labels={}, mechanism=Probabilistic), Probabilistic(chain, policy)
    assert float(check.expected_utility()) == float(plain.expected_utility())
    assert check.kernel(check.start()).outputs == plain.kernel(plain.start()).outputs


def test_outputs_are_numbered_sets() -> None:
    chain = random_chain(3, n=3, slots=2, zeros=0.0)
    check = SetLabelled(chain, d.Policy(), labels={"c0": {"c0", "c1"}, "c1": {"c0", "c1"}})
    wanted = (d.Generalized("0: c0 | c1"), d.Generalized("1: c0 | c1"), d.Released("c2"))
    assert check.kernel(check.start()).outputs == wanted
    for output in (*wanted, d.Suppressed()):
        assert check.kernel(check.advance(check.start(), output)).outputs == wanted


def test_it_obeys_the_laws() -> None:
    for seed in searches(10):
        chain, policy = random_case(seed)
        check_laws(SetLabelled(chain, policy, labels=random_labels(seed, chain)), seed=seed)


def test_the_guarantee_is_that_of_the_mechanism_inside() -> None:
    chain = random_chain(3, n=3, slots=2, zeros=0.0)
    assert SetLabelled(chain, d.Policy("c0"), labels={}).guarantee.kind == "exact delta"
    assert SetLabelled(chain, d.Policy("c0"), labels={}, mechanism=MaskSensitive).guarantee.kind == "none"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"c9": {"c9"}}, "'c9', which the model has never seen"),
        ({"c0": {"c1"}}, "give a set that contains 'c0'"),
        ({"c0": "c0"}, "give a set that contains 'c0'"),
    ],
)
def test_bad_labels_are_refused(labels: dict[str, Any], message: str) -> None:
    with pytest.raises(d.DiscreetError, match=message):
        SetLabelled(random_chain(1, n=3), d.Policy(), labels=labels)


def test_hidden_models_are_refused() -> None:
    with pytest.raises(d.DiscreetError, match="needs a Markov chain"):
        SetLabelled(random_hidden(1), d.Policy(), labels={})


def bundle() -> Published:
    days = [d.Day(("home", "work", "home")), d.Day(("home", "shop", "home")), d.Day(("home", "work", "work"))]
    chain = d.MarkovChain.fit(days, smoothing="none")
    check = Hybrid(chain, d.Policy("shop", delta=0.2))
    rng = SeededEntropy(1)
    released = []
    for day in days:
        state, outputs = check.start(), []
        for context in day.contexts:
            outputs.append(check.kernel(state).sample(chain.index_of(context), rng))
            state = check.advance(state, outputs[-1])
        released.append(outputs)
    return Published(chain, released)


@pytest.mark.parametrize("name", ["bundle", "bundle.zip"])
def test_a_bundle_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    written = bundle()
    written.write(tmp_path / name)
    read = Published.read(tmp_path / name)
    assert read.releases == written.releases
    assert read.model.fingerprint == written.model.fingerprint
    assert isinstance(read.model, d.MarkovChain)
    assert read.model.counts is None  # the habits are published, not the days they were learned from
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_reader_of_a_bundle_believes_what_the_strong_adversary_believes(tmp_path: Path) -> None:
    """Theorem 6: with model and releases in hand, prior and posterior are those of one who knows the habits."""
    bundle().write(tmp_path / "bundle")
    read = Published.read(tmp_path / "bundle")
    assert isinstance(read.model, d.MarkovChain)
    check = Hybrid(read.model, d.Policy("shop", delta=0.2))
    assert within_delta(check, check.policy)
    assert all(
        output in (d.Suppressed(), *map(d.Released, read.model.contexts)) for day in read.releases for output in day
    )


@pytest.mark.parametrize("name", ["bundle", "bundle.zip"])
def test_the_reader_of_a_routines_bundle_believes_what_the_strong_adversary_believes(tmp_path: Path, name: str) -> None:
    """Theorem 6 over days without end: the reader's belief after the last output is the session's own."""
    routine, policy = endless_case(1)
    stream = d.Session(Adaptive(routine.since("2026-01-05"), policy), rng=SeededEntropy(2))
    days = [[stream.release(context) for context in one] for one in (("c0", "c1"), ("c1", "c1"))]
    days.append([stream.skip()])
    Published(routine, days, start="2026-01-05").write(tmp_path / name)
    read = Published.read(tmp_path / name)
    assert isinstance(read.model, d.Routine)
    assert read.start is not None
    assert read.releases == tuple(map(tuple, days))
    reader = Adaptive(read.model.since(read.start), policy)
    theirs = d.Session.resume(reader, [output for day in read.releases for output in day])
    assert theirs.belief.digest() == stream.belief.digest()
    assert theirs.gains() == stream.gains()


def test_a_routines_bundle_has_a_start_and_no_gaps() -> None:
    routine, _ = endless_case(1)
    with pytest.raises(d.DiscreetError, match="give start"):
        Published(routine, [])
    with pytest.raises(d.DiscreetError, match="day 0 has 1 outputs of 2"):
        Published(routine, [[d.Suppressed()], [d.Suppressed()]], start="2026-01-05")
    with pytest.raises(d.DiscreetError, match="start is for a routine"):
        Published(routine.day("day"), [], start="2026-01-05")


def test_nothing_is_overwritten_or_left_behind(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note").write_text("mine")
    with pytest.raises(d.DiscreetError, match="not an empty folder"):
        bundle().write(tmp_path / "full")
    with pytest.raises(d.DiscreetError, match="cannot be written"):
        bundle().write(tmp_path / "absent" / "bundle")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["full", "note"]


def test_damaged_bundles_are_refused(tmp_path: Path) -> None:
    with pytest.raises(d.DiscreetError, match="not a published bundle"):
        Published.read(tmp_path / "absent.zip")
    bundle().write(tmp_path / "bundle")
    (tmp_path / "bundle" / "releases.jsonl").write_text('{"day": 0, "slot": 1, "kind": "suppressed"}\n')
    with pytest.raises(d.DiscreetError, match=r"releases.jsonl, line 1"):
        Published.read(tmp_path / "bundle")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    with pytest.raises(d.DiscreetError, match="not a published bundle"):
        Published.read(tmp_path / "empty.zip")
    d.save(tmp_path / "bundle" / "model.npz", random_hidden(1))
    with pytest.raises(d.DiscreetError, match="not a Markov chain"):
        Published.read(tmp_path / "bundle")


def test_days_longer_than_the_models_are_refused() -> None:
    with pytest.raises(d.DiscreetError, match="day 0 has 4 outputs"):
        Published(random_chain(1, n=2, slots=3), [[d.Suppressed()] * 4])
