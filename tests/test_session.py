"""A day, live: outputs, gains, crashes, readings that the model has no place for."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as d
from discreet.adversary import beliefs_along
from discreet.mechanisms import MaskSensitive, NoMask
from discreet.randomness import SeededEntropy
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


def test_a_lost_private_state_means_silence_until_the_next_day() -> None:
    mechanism = random_mechanism(4, memory=True, zeros=0.0)
    context = mechanism.model.contexts[0]
    for slots in range(1, mechanism.model.slots):
        session = d.Session.resume(mechanism, [d.Suppressed()] * slots, private=None)
        for _ in range(slots, mechanism.model.slots):
            assert session.release(context) == d.Suppressed()
        assert session.off_model == mechanism.model.slots - slots
    assert mechanism.model.slots > 1


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
