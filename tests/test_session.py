"""A day, live: outputs, gains, crashes, readings that the model has no place for."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary import beliefs_along
from discreet.adversary.belief import Adversary
from discreet.contracts import Rng
from discreet.kernels import FiniteKernel
from discreet.mechanisms import Adaptive, Dphmm, MaskSensitive, NoMask
from discreet.randomness import SeededEntropy
from discreet.session.trail import memory_span
from tests.strategies import RandomMechanism, random_chain, random_mechanism, searches


def chain(*contexts: str, slots: int = 4) -> d.MarkovChain:
    n = len(contexts)
    return d.MarkovChain.homogeneous(contexts, np.full(n, 1 / n), np.full((n, n), 1 / n), slots)


def test_a_day_is_released_slot_by_slot_and_its_gains_are_the_filters() -> None:
    mechanism = MaskSensitive(chain("home", "work", "hospital"), d.Policy(["hospital"]))
    with d.Session(mechanism) as today:
        outputs = [today.release(context) for context in ("home", "hospital", "work", "home")]
        assert outputs == [d.Released("home"), d.Suppressed(), d.Released("work"), d.Released("home")]
        gains = today.gains()["hospital"]
        belief = beliefs_along(mechanism, outputs)[-1]
        np.testing.assert_array_equal(gains, belief.by_secret()["hospital"])
        np.testing.assert_allclose(gains, [-1 / 3, 2 / 3, -1 / 3, -1 / 3], atol=1e-12)
        with pytest.raises(d.DiscreetError, match="start a new session"):
            today.release("home")
    assert today.private is None


def test_gains_of_a_secret_at_any_slot_are_a_number_and_outside_its_slots_zero() -> None:
    policy = d.Policy([d.Secret("ever", {"b"}, at="any"), d.Secret("late", {"b"}, slots=[3])])
    with d.Session(NoMask(chain("a", "b"), policy)) as today:
        today.release("b")
        gains = today.gains()
    assert gains["ever"] == pytest.approx(1 / 16)
    np.testing.assert_array_equal(gains["late"], np.zeros(4))


def test_a_replayed_session_goes_on_as_if_nothing_had_happened() -> None:
    for seed in searches(20):
        mechanism = random_mechanism(seed, memory=seed % 2 == 0)
        contexts = [mechanism.model.contexts[seed % len(mechanism.model.contexts)]] * mechanism.model.slots
        whole, broken = d.Session(mechanism, rng=SeededEntropy(seed)), d.Session(mechanism, rng=SeededEntropy(seed))
        outputs = [whole.release(context) for context in contexts]
        cut = mechanism.model.slots // 2
        first = [broken.release(context) for context in contexts[:cut]]
        resumed = d.Session.resume(mechanism, first, broken.private, rng=broken._rng)
        assert resumed.slot == cut
        assert [resumed.release(context) for context in contexts[cut:]] == outputs[cut:]
        np.testing.assert_array_equal(resumed.belief.gains, whole.belief.gains)


class Remembering(RandomMechanism):
    """Random kernels over private states that remember: the last `back` contexts, or whether c0 was ever left behind.

    Private states are (what is remembered, current context), numbered as they are met from the start of a day.
    """

    def __init__(self, *, back: int | None, slots: int = 5) -> None:
        super().__init__(random_chain(1, n=2, slots=slots, zeros=0.0), d.Policy(["c0"], delta=0.3), seed=1, zeros=0.0)
        self._back = back
        self._met: list[tuple[Any, int]] = [((), c) for c in range(2)]
        for state in self._met:
            new = (self._following(state, c) for c in range(2))
            self._met += [found for found in dict.fromkeys(new) if found not in self._met]
        self.private_contexts = np.array([context for _, context in self._met])

    def _following(self, state: tuple[Any, int], context: int) -> tuple[Any, int]:
        past, before = state
        if self._back is None:
            return past or (("c0",) if before == 0 else ()), context
        return (*past, before)[-self._back :] if self._back else (), context

    def remember(self, memory: int | None, context: int) -> int:
        state = ((), context) if memory is None else self._following(self._met[memory], context)
        return self._met.index(state)


SPANS = [(0, 1), (1, 2), (2, 3), (None, math.inf)]


@pytest.mark.parametrize(("back", "span"), SPANS)
def test_as_many_readings_as_memory_reaches_back_decide_the_private_state(back: int | None, span: float) -> None:
    assert memory_span(Remembering(back=back)) == span


def test_adaptives_memory_spans_two_readings_also_where_contexts_are_grouped() -> None:
    chain, policy = random_chain(1, n=3, slots=3, zeros=0.0), d.Policy(["c0"], delta=0.3)
    assert memory_span(Adaptive(chain, policy, outputs="deceive", memory="none")) == 1
    assert memory_span(Adaptive(chain, policy, outputs="deceive", memory="last")) == 2

    class Grouped(Adaptive):
        pairs = 3  # of nine: the likeliest context is told apart from the two others

    grouped = Grouped(chain, policy, outputs="deceive", memory="last")
    assert len(grouped.private_contexts) == 3 + 2 * 3
    assert memory_span(grouped) == 2


@pytest.mark.parametrize(("back", "span"), SPANS)
def test_whatever_an_unknown_label_stood_for_the_row_that_is_drawn_is_the_one_the_observer_assumes(
    back: int | None, span: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every path, every slot of the unknown label, and every context that the observer may think was there.

    The silence after it is as long for every path: it tells nothing of what was read.
    """
    mechanism = Remembering(back=back)
    adversary, slots = Adversary(mechanism), mechanism.model.slots
    drawn: dict[int, int] = {}

    def sample(self: FiniteKernel, private: int, rng: Rng) -> d.Output:
        drawn[session.slot] = private
        return self.outputs[rng.below(len(self.outputs))]

    monkeypatch.setattr(FiniteKernel, "sample", sample)
    for number, path in enumerate(itertools.product(range(2), repeat=slots)):
        for hole in range(slots):
            drawn.clear()
            session = d.Session(mechanism, rng=SeededEntropy(number), adversary=adversary)
            for slot, context in enumerate(path):
                output = session.release("never learned" if slot == hole else mechanism.model.contexts[context])
                assert (slot in drawn) == (slot < hole or slot >= hole + span)
                assert slot in drawn or output == d.Suppressed()
                assert session.private == drawn.get(slot)
            assert session.off_model == slots - len(drawn)
            for instead in range(2):
                private: int | None = None
                for slot, context in enumerate(path):
                    private = mechanism.remember(private, instead if slot == hole else context)
                    assert drawn.get(slot, private) == private


@pytest.mark.parametrize("back", [0, 1, 2, None])
def test_a_lost_private_state_means_silence_until_the_next_day(back: int | None) -> None:
    """Unless the private state is the context itself, which the next reading tells."""
    mechanism = Remembering(back=back)
    for slots in range(1, mechanism.model.slots):
        session = d.Session.resume(mechanism, [d.Suppressed()] * slots)
        assert session.private is None
        outputs = [session.release("c1") for _ in range(slots, mechanism.model.slots)]
        assert (session.private is None) == (back != 0)
        assert session.off_model == (0 if back == 0 else len(outputs))
        assert back == 0 or outputs == [d.Suppressed()] * len(outputs)


def test_a_label_that_was_never_learned_does_not_bring_a_lost_private_state_back() -> None:
    session = d.Session.resume(Remembering(back=1), [d.Suppressed()])
    session.release("never learned")
    assert [session.release("c1") for _ in range(3)] == [d.Suppressed()] * 3
    assert session.off_model == 4


class Failing:
    """A source of chance that fails once, after so many draws."""

    def __init__(self, after: int) -> None:
        self._left, self._source = after, SeededEntropy(7)

    def bits(self, count: int) -> int:
        self._left -= 1
        if self._left == -1:
            raise KeyboardInterrupt
        return self._source.bits(count)

    def below(self, bound: int) -> int:
        return self._source.below(bound)


def test_a_draw_that_fails_leaves_the_session_as_it_was() -> None:
    mechanism = Remembering(back=2)
    day = [mechanism.model.contexts[slot % 2] for slot in range(mechanism.model.slots)]
    whole = d.Session(mechanism, rng=SeededEntropy(7))
    wanted = [(whole.release(context), whole.private, whole.digest) for context in day]
    for fails in range(len(day)):
        session = d.Session(mechanism, rng=Failing(fails))
        seen = []
        for slot, context in enumerate(day):
            if slot == fails:
                before = (session.slot, session.private, session.off_model, session.output, session.digest)
                with pytest.raises(KeyboardInterrupt):
                    session.release(context)
                assert (session.slot, session.private, session.off_model, session.output, session.digest) == before
            seen.append((session.release(context), session.private, session.digest))
            assert session.output == seen[-1][0]
        assert seen == wanted
        np.testing.assert_array_equal(session.belief.gains, whole.belief.gains)


def test_a_mechanism_that_fails_to_move_on_leaves_the_session_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Remembering(back=1)
    session = d.Session(mechanism, rng=SeededEntropy(7))
    session.release("c0")
    before = (session.slot, session.private, session.digest)

    def advance(state: Any, output: d.Output) -> Any:
        raise MemoryError

    monkeypatch.setattr(mechanism, "advance", advance)
    with pytest.raises(MemoryError):
        session.release("c1")
    monkeypatch.undo()
    assert (session.slot, session.private, session.digest) == before
    session.release("c1")
    assert session.private == mechanism.remember(before[1], 1)


@pytest.mark.parametrize("private", [-1, 8, True, 0.0, "home"])
def test_a_private_state_that_the_mechanism_does_not_have_is_refused(private: Any) -> None:
    with pytest.raises(d.DiscreetError, match="none of the mechanism's, which are numbers from 0 to 5"):
        d.Session.resume(Remembering(back=1), [d.Suppressed()], private)


def test_a_private_state_before_the_first_output_is_refused() -> None:
    with pytest.raises(d.DiscreetError, match="belongs to no slot"):
        d.Session.resume(Remembering(back=1), [], 0)
    assert d.Session.resume(Remembering(back=1)).slot == 0


def test_outputs_that_no_kernel_gives_are_refused_and_silence_is_not() -> None:
    mechanism = NoMask(chain("a", "b"), d.Policy(["b"]))
    for foreign in (d.Released("c"), d.Generalized("a"), d.Perturbed((0.0,)), "a", ["a"], None):
        with pytest.raises(d.DiscreetError, match=r"output 1 of those to resume from is .* never gives"):
            d.Session.resume(mechanism, [d.Released("a"), foreign])  # type: ignore[list-item]
    assert d.Session.resume(mechanism, [d.Released("a"), d.Suppressed()]).slot == 2  # a reading off the model


def test_outputs_to_resume_from_are_in_a_list() -> None:
    mechanism = NoMask(chain("a", "b"), d.Policy(["b"]))
    for outputs in (None, 3, d.Released("a")):
        with pytest.raises(d.DiscreetError, match=r"outputs to resume from are .*; give those of the day so far"):
            d.Session.resume(mechanism, outputs)  # type: ignore[arg-type]
    assert d.Session.resume(mechanism, iter([d.Released("a")])).slot == 1


@pytest.mark.parametrize("reading", [["a"], 0, True, b"a", d.Released("a")])
def test_a_reading_is_a_label_or_none(reading: Any) -> None:
    session = d.Session(NoMask(chain("a", "b"), d.Policy(["b"])))
    with pytest.raises(d.DiscreetError, match="give one label, or None where there is no reading"):
        session.release(reading)
    assert session.slot == 0
    assert session.release(np.str_("a")) == d.Released("a")


def test_more_outputs_than_slots_are_refused() -> None:
    mechanism = NoMask(chain("a", "b", slots=3), d.Policy(["b"]))
    outputs = [d.Released("a")] * 4
    assert d.Session.resume(mechanism, outputs[:3]).slot == 3
    with pytest.raises(d.DiscreetError, match="more outputs to resume from than slots: the day has 3 slots"):
        d.Session.resume(mechanism, outputs)


def test_a_digest_tells_kernels_and_outputs_apart() -> None:
    """Resuming recomputes it, whenever it is asked for; another policy, model or order of outputs has another."""
    model, policy = random_chain(3, n=3, slots=4, zeros=0.0), d.Policy(["c0"], delta=0.2)
    mechanism = Adaptive(model, policy, outputs="deceive")
    session, digests = d.Session(mechanism, rng=SeededEntropy(3)), []
    outputs = []
    for context in ("c1", "c2", "c1", "c0"):
        digests.append(session.digest)
        outputs.append(session.release(context))
    digests.append(session.digest)
    assert len(set(digests)) == 5
    for count, digest in enumerate(digests):
        fresh = Adaptive(random_chain(3, n=3, slots=4, zeros=0.0), policy, outputs="deceive")
        resumed = d.Session.resume(fresh, outputs[:count], digest=digest)
        assert resumed.digest == digest
        if count:
            with pytest.raises(d.DiscreetError, match=r"drawn by other kernels .* another build, model or policy"):
                d.Session.resume(fresh, outputs[: count - 1], digest=digest)
    others = [
        Adaptive(model, d.Policy(["c0"], delta=0.21), outputs="deceive"),
        Adaptive(random_chain(4, n=3, slots=4, zeros=0.0), policy, outputs="deceive"),
        Adaptive(model, policy, outputs="deceive", memory="none"),
    ]
    for other in others:
        with pytest.raises(d.DiscreetError, match=r"drawn by other kernels|never gives"):
            d.Session.resume(other, outputs, digest=digests[-1])


def test_noise_has_a_digest_too() -> None:
    model = random_chain(3, n=3, slots=3, zeros=0.0)
    (options,) = Dphmm.law_cases(model)
    session = d.Session(Dphmm(model, **options))
    outputs = [session.release("c1"), session.release("c2")]
    assert d.Session.resume(Dphmm(model, **options), outputs, digest=session.digest).slot == 2
    with pytest.raises(d.DiscreetError, match="drawn by other kernels"):
        d.Session.resume(Dphmm(model, **{**options, "epsilon": 1.5}), outputs, digest=session.digest)


def test_what_is_released_does_not_depend_on_who_judges() -> None:
    """An observer whose model holds b impossible at first: it is released all the same, and beliefs are theirs."""
    mine = chain("a", "b", slots=2)
    theirs = d.MarkovChain(("a", "b"), [1, 0], [[[0.9, 0.1], [0.5, 0.5]]])
    mechanism = NoMask(mine, d.Policy(["b"]))
    judge = Adversary(mechanism, theirs, d.Policy(["a"]))
    with d.Session(mechanism, adversary=judge) as today:
        assert [today.release("b"), today.release("b")] == [d.Released("b"), d.Released("b")]
        assert today.off_model == 0
        assert list(today.gains()) == ["a"]
        assert today.belief.adversary is judge


def test_readings_without_a_place_in_the_model_are_silent_and_counted() -> None:
    with d.Session(NoMask(chain("a", "b"), d.Policy(["b"]))) as today:
        assert today.release("c") == d.Suppressed()
        assert today.release(None) == d.Suppressed()
        assert today.off_model == 2
        assert today.release("a") == d.Released("a")
        assert today.off_model == 2


def test_no_reading_is_a_context_where_the_model_learned_it() -> None:
    with d.Session(NoMask(chain("a", d.UNKNOWN), d.Policy(["a"]))) as today:
        assert today.release(None) == d.Released(d.UNKNOWN)
        assert today.off_model == 0


def test_a_context_that_is_impossible_now_is_suppressed_and_counted() -> None:
    model = d.MarkovChain(("a", "b"), [1, 0], [[[0.5, 0.5], [0.5, 0.5]]])
    with d.Session(NoMask(model, d.Policy(["b"]))) as today:
        assert today.release("b") == d.Suppressed()
        assert today.off_model == 1
        assert today.release("b") == d.Released("b")
        assert today.off_model == 1


def test_after_an_unknown_label_a_remembering_mechanism_is_silent_for_a_slot() -> None:
    mechanism = RandomMechanism(
        random_chain(1, n=3, slots=4, zeros=0.0), d.Policy(["c0"]), seed=1, memory=True, zeros=0.0
    )
    session = d.Session(mechanism)
    session.release("c0")
    session.release("never learned")
    assert session.private is None
    assert session.release("c1") == d.Suppressed()  # the context before is not known, so neither is the private state
    session.release("c2")
    assert session.off_model == 2


def test_releases_draw_from_the_operating_system_unless_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return bytes(count)

    monkeypatch.setattr("os.urandom", urandom)
    mechanism = RandomMechanism(random_chain(1, zeros=0.0), d.Policy(["c0"]), seed=1, zeros=0.0)
    d.Session(mechanism).release(mechanism.model.contexts[0])
    assert asked
    asked.clear()
    d.Session(mechanism, rng=SeededEntropy(1)).release(mechanism.model.contexts[0])
    assert not asked
