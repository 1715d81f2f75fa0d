from __future__ import annotations

import time
from functools import partial

import pytest

from discreet.contexts import Day
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import evaluate
from discreet.mechanisms import Capp, EfficientFake, Hybrid, MaskSensitive, NoMask, Probabilistic, Simulatable
from discreet.models.chain.markov import MarkovChain
from discreet.policy import Policy
from discreet_experiments.shared.replay import observed, replayed
from discreet_experiments.shared.runs import workers
from discreet_experiments.shared.sheets import Sheet

CHAIN = MarkovChain(("s", "x", "y"), [0.3, 0.4, 0.3], [[[0.5, 0.5, 0.0], [0.2, 0.6, 0.2], [0.0, 0.3, 0.7]]] * 4)
POLICY = Policy("s", delta=0.1)
DAYS = [*CHAIN.sample(20, seed=1), Day(("s", "y", "x", "never", "x"))]


@pytest.mark.parametrize("mechanism", [NoMask, MaskSensitive, Simulatable, Probabilistic, Hybrid])
def test_with_or_without_an_observer_the_outputs_are_the_same(mechanism: type[Hybrid]) -> None:
    built = mechanism(CHAIN, POLICY)
    watched = observed(built, DAYS, ["s"], seed=4)
    assert replayed(built, DAYS, ["s"], seed=4) == watched.shown
    judged = evaluate(built, DAYS, seed=4)
    assert watched.shown.slots == judged.slots
    assert watched.shown.utility == pytest.approx(judged.utility)
    assert watched.pairs == round(judged.breach_rate * judged.slots)
    assert watched.worst_gain == judged.worst_gain
    assert watched.off_model == judged.off_model


def test_slots_are_counted_by_what_was_true_and_what_was_shown() -> None:
    days = [Day(("s", "x", "y", "y", "x"))]
    masked = observed(MaskSensitive(CHAIN, POLICY), days, ["s"], seed=0)
    assert (masked.shown.released_secret, masked.shown.released_other) == (0, 4)
    assert (masked.shown.suppressed_secret, masked.shown.suppressed_other) == (1, 0)
    assert masked.breached == masked.breached_silent == 1  # silence is the secret
    bare = observed(NoMask(CHAIN, POLICY), days, ["s"], seed=0)
    assert bare.shown.utility == 1
    assert (bare.breached, bare.breached_silent) == (1, 0)
    assert bare.decisions.suppressed is None
    assert bare.decisions.released is not None


@pytest.mark.parametrize("mechanism", [Capp, EfficientFake])
def test_a_fake_is_no_release_and_no_silence(mechanism: type[Capp]) -> None:
    built = mechanism(CHAIN, POLICY)
    shown = observed(built, DAYS, ["s"], seed=4).shown
    assert shown.utility == pytest.approx(evaluate(built, DAYS, seed=4).utility)
    assert shown.utility == (shown.released_secret + shown.released_other) / shown.slots
    assert shown.faked_secret + shown.faked_other > 0
    assert shown.suppressed_secret + shown.suppressed_other == 1  # the label that was never learned
    assert shown.slots == sum(len(day) for day in DAYS)


def test_a_secret_that_was_faked_can_be_breached() -> None:
    """Slots that are always alike, both contexts secret. CAPP tells the truth with 3/5 each time; most tell it."""
    chain = MarkovChain(("s", "x"), [0.5, 0.5], [[[1.0, 0.0], [0.0, 1.0]]] * 5)
    learned = observed(Capp(chain, Policy(["s", "x"], delta=0.1)), [Day(("s",) * 6)] * 20, ["s"], seed=1)
    assert learned.breached_faked > 0
    assert learned.breached_silent == 0
    assert learned.breached_faked <= learned.shown.faked_secret
    assert learned.pairs > 0


def test_outputs_are_worth_what_is_said() -> None:
    half = observed(NoMask(CHAIN, POLICY), DAYS[:2], ["s"], seed=0, worth=lambda context, output: 0.5)
    assert half.shown.utility == 0.5


def test_a_breach_is_judged_by_the_whole_days_output() -> None:
    """Two slots that are always alike: the first is silent and tells nothing, until the second is shown."""
    chain = MarkovChain(("s", "x"), [0.5, 0.5], [[[1.0, 0.0], [0.0, 1.0]]])
    silent_first = Probabilistic(chain, POLICY, p=[[1.0, 1.0], [0.0, 0.0]], verify=False)
    assert observed(silent_first, [Day(("s", "s"))], ["s"], seed=0).breached == 2
    assert observed(silent_first, [Day(("x", "x"))], ["s"], seed=0).breached == 0


def _square(number: int) -> int:
    time.sleep(0.02 if number == 0 else 0.0)
    return number * number


def _fails(number: int) -> int:
    raise DiscreetError(f"{number} is the one")


def test_answers_do_not_depend_on_how_many_work() -> None:
    heard: list[tuple[int, int]] = []
    answers = []
    for processes in (1, 2):
        with workers(processes) as pool:
            answers.append(pool.map(_square, range(6), lambda done, total: heard.append((done, total))))
            if processes == 2:
                with pytest.raises(DiscreetError, match="is the one"):
                    pool.map(_fails, range(6), lambda done, total: None)
    assert answers == [[0, 1, 4, 9, 16, 25]] * 2
    assert heard == [(done, 6) for done in range(1, 7)] * 2
    with pytest.raises(DiscreetError, match="0 processes"), workers(0):
        pass


def test_a_worker_that_dies_is_told() -> None:
    import os

    with workers(2) as pool, pytest.raises(DiscreetError, match="worker process ended"):
        pool.map(partial(os._exit), [3], lambda done, total: None)


def test_tables() -> None:
    table = Sheet.of([{"a": "x", "b": 0.12345, "c": None, "d": 3}, {"a": "y", "b": 1e-7, "c": 0.0, "d": 4}])
    assert table.shown() == [["x", "0.123", "-", "3"], ["y", "1.0e-07", "0.000", "4"]]
    assert table.without("b", "c").header == ("a", "d")
    assert table.records()[0]["b"] == 0.12345
    assert Sheet.of([]).rows == ()
