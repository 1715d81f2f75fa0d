from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.data import EventColumns, read_trajectories
from discreet.events import Events, Trajectory
from discreet.mechanisms import NoInternal
from discreet.models.topics.model import TopicModel
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.numerics import SLACK
from discreet.outputs import Output
from discreet.publish.plan import cut_all
from discreet_experiments.s_ppatp.figures import (
    DELTAS,
    EventSetting,
    PublishedGroup,
    breaches,
    figure8,
    figure9,
    figure10,
    table4,
    table5,
)
from discreet_experiments.s_ppatp.person import (
    FATES,
    SYSTEMS,
    EventSubject,
    SecretKind,
    _by_topics,
    _external,
    made,
    outcome,
    subject,
    sweep,
)
from discreet_experiments.s_ppatp.run import cells_of
from discreet_experiments.shared.figures import Figure
from discreet_experiments.shared.people import MEALS, spread
from tests.experiments.recorded import RECORDED
from tests.strategies import searches

KINDS: tuple[SecretKind, ...] = ("activity", "time", "location", "all")
SOUND = ("adaptive-events", "adaptive-attributes")


def someone(seed: int, length: int = 6, sizes: tuple[int, int, int] = (2, 2, 3)) -> EventSubject:
    model = topic_model(people=1, topics=2, sizes=sizes, seed=seed)
    one = subject(1, trajectories(model, length, seed), model, length, seed, own=False)
    assert one is not None
    return one


def test_what_is_measured_hangs_together() -> None:
    breached = dict.fromkeys(SYSTEMS, 0.0)
    for seed in searches(4):
        one = someone(seed)
        for kind, delta in product(KINDS, (0.1, 0.6)):
            found = {system: outcome(one, kind, delta, system, budget=100) for system in SYSTEMS}
            for system, each in found.items():
                assert sum(each.fates) == pytest.approx(1)
                assert each.fates[FATES.index("secret shown")] + each.fates[
                    FATES.index("other shown")
                ] == pytest.approx(each.utility)
                assert (each.breach_rate > 0) == (each.worst_gain > delta + SLACK)
                assert each.off_model == 0
                breached[system] += each.breach_rate
            assert found["no-mask"].utility == 1
            assert found["sensitive-mask"].fates[FATES.index("secret shown")] == 0
            assert found["sensitive-mask"].fates[FATES.index("other withheld")] == 0
            assert found["no-internal"].utility >= found["pa-markov"].utility
    assert all(breached[system] == 0 for system in SOUND)
    assert all(breached[system] > 0 for system in ("no-mask", "sensitive-mask", "no-internal", "pa-markov"))


def test_by_the_papers_reckoning_pa_markov_never_breaches_and_leaving_out_its_check_does() -> None:
    left_out = exact = 0.0
    for seed in searches(6):
        one = someone(seed)
        for kind, delta in product(KINDS, (0.05, 0.2)):
            with_check, without = (outcome(one, kind, delta, system) for system in ("pa-markov", "no-internal"))
            assert with_check.by_chains == 0  # Propositions 1 and 2
            assert without.by_chains is not None
            left_out += without.by_chains
            exact += with_check.breach_rate
    assert left_out > 0
    assert exact > 0  # which its equations do not see


def test_no_mask_is_breached_where_a_secret_is_true_and_was_not_expected() -> None:
    for seed in searches(6):
        one = someone(seed)
        for kind, delta in product(KINDS, (0.1, 0.4)):
            policy = one.policy(kind, delta)
            members = policy.for_model(one.model.contexts, one.model.slots).members
            prior = members @ one.model.prior.T
            codes = one.events.codes(one.window)
            over = (members[:, codes] & (1 - prior > delta)).any(axis=0)  # Eq. 24
            found = outcome(one, kind, delta, "no-mask")
            assert found.breach_rate == found.by_chains == pytest.approx(over.mean())


def slow_topics(mechanism: Any, outputs: Sequence[Output]) -> float:
    """Eq. 20 to 22 by adding up every path of topics."""
    model, policy = mechanism.model, mechanism.policy
    columns, state = [], mechanism.start()
    for output in outputs:
        columns.append(mechanism.kernel(state).likelihood(output))
        state = mechanism.advance(state, output)
    at = np.zeros((model.slots, len(model.initial)))
    for path in product(range(len(model.initial)), repeat=model.slots):
        chance = model.initial[path[0]]
        for t, topic in enumerate(path):
            chance *= model.emissions[t][topic] @ columns[t]
            chance *= model.transitions[t][topic, path[t + 1]] if t + 1 < model.slots else 1
        for t, topic in enumerate(path):
            at[t, topic] += chance
    at /= at.sum(axis=1, keepdims=True)
    over = 0
    for t in range(model.slots):
        event = at[t] @ model.emissions[t]
        gains = [
            sum(event[c] - model.prior[t][c] for c, label in enumerate(model.contexts) if label in secret.contexts)
            for secret in policy.secrets
        ]
        over += max(gains) > policy.delta
    return float(over / model.slots)


def test_the_reckoning_by_topics_is_that_of_every_path() -> None:
    from discreet.adversary.belief import Adversary
    from discreet.publish.person import publish_piece
    from discreet.randomness import SeededEntropy

    some = 0.0
    systems: tuple[str, ...] = ("no-mask", "sensitive-mask", "pa-hmm")
    for seed in searches(4):
        one = someone(seed, length=5)
        for system in systems:
            mechanism = made(system, one, one.policy("all", 0.05), budget=100)
            outputs, _ = publish_piece(mechanism, Adversary(mechanism), one.window, SeededEntropy(seed))
            found = _by_topics(mechanism, outputs)
            assert found == pytest.approx(slow_topics(mechanism, outputs))
            some += found
    assert some > 0


def test_an_attributes_chain_told_by_what_is_shown() -> None:
    """Eq. 15, the posterior between two values that are shown, by the chain's own powers."""
    one = someone(3, length=4)
    check = NoInternal(one.model, one.policy("location", 0.1), events=one.events).checks[2]
    chain, (secret,) = check.model, check.policy.secrets
    first, last = chain.contexts[0], chain.contexts[2]
    gains = _external(check, [first, None, None, last])[secret.name]
    a, b = 0, 2
    (s,) = (chain.contexts.index(label) for label in secret.contexts)
    steps = chain.transitions
    ahead = (steps[1] @ steps[2])[:, b]
    posterior = steps[0][a] * ahead / (steps[0][a] @ ahead)
    assert gains[1] == pytest.approx(posterior[s] - chain.prior[1][s])
    assert gains[0] == pytest.approx((s == a) - chain.prior[0][s])
    assert gains[3] == pytest.approx((s == b) - chain.prior[3][s])


def test_a_person_is_known_by_their_own_events() -> None:
    model = topic_model(people=2, topics=2, sizes=(3, 2, 4), seed=1)
    first, second = trajectories(model, 20, seed=1)
    one = subject(1, [first], model, 8, seed=0)
    assert one is not None
    assert (
        one.events.contexts
        == Events(model.events.activities, model.events.times, model.events.locations, occurring=first.events).contexts
    )
    assert one.window.events == first.events[:8]
    assert one.model.slots == 8
    for kind in KINDS:
        policy = one.policy(kind, 0.3)
        assert len(policy.secrets) == (3 if kind == "all" else 1)
        assert policy.delta == 0.3
    assert one.policy("one", 0.3) == one.policy(one.one, 0.3)
    same = subject(1, [first], model, 8, seed=0)
    assert same is not None
    assert same.values == one.values
    constant = Trajectory(second.person, (second.events[0],) * 8)
    assert subject(2, [constant], model, 8, seed=0) is None


@pytest.fixture(scope="module")
def group() -> PublishedGroup:
    people = []
    for seed in range(2):
        model = topic_model(people=2, topics=2, sizes=(2, 2, 2), seed=seed)
        for number, whole in enumerate(trajectories(model, 5, seed), 1):
            one = subject(10 * seed + number, [whole], model, 5, seed, own=False)
            assert one is not None
            people.append(one)
    cells = [(kind, delta, system) for kind in KINDS for delta in DELTAS for system in SYSTEMS]
    return PublishedGroup("simulated", model, people, [sweep(one, cells, budget=20) for one in people])


def test_tables_are_means_over_people(group: PublishedGroup) -> None:
    setting = EventSetting(window=5, sets=2)
    rows = table4(group, setting).summary.records()
    assert [(row["delta"], row["system"]) for row in rows[:2]] == [(0.1, "NoMask"), (0.1, "SensitiveMask")]
    assert len(rows) == len(DELTAS) * len(SYSTEMS)
    markov = next(row for row in rows if row["system"] == "PA-Markov" and row["delta"] == 0.3)
    found = [outcomes["activity", 0.3, "pa-markov"] for outcomes in group.found]
    assert markov["utility"] == pytest.approx(sum(each.utility for each in found) / 4)
    assert markov["breach rate"] == pytest.approx(sum(each.breach_rate for each in found) / 4)
    assert (markov["paper's utility"], markov["paper's breach rate"]) == (0.481, 0)
    assert {row["breach rate"] for row in rows if str(row["system"]).startswith("Adaptive")} == {0.0}


def test_one_of_any_is_each_persons_own_attribute(group: PublishedGroup) -> None:
    for one, found, each in zip(group.people, group.found, group.outcomes("one", 0.5, "pa-hmm"), strict=True):
        assert each is found[one.one, 0.5, "pa-hmm"]
    figure = breaches("5", group, EventSetting(window=5))
    assert {row["system"] for row in figure.summary.records()} == {
        "NoMask",
        "SensitiveMask",
        "PA-HMM",
        "PA-HMM as printed, by topics",
        "PA-HMM as printed, by published",
        "Adaptive events",
    }
    assert {row["secret"] for row in figure.people.records()} == {"one of each", "one of any"}


def test_each_figure_is_made_of_what_it_asks_for() -> None:
    """Nothing that a figure draws is missing from its cells, so that one of them can be made alone."""
    model = topic_model(people=1, topics=4, sizes=(2, 2, 2), seed=1)
    one = subject(1, trajectories(model, 4, 1), model, 4, 1, own=False)
    assert one is not None
    setting = EventSetting(window=4)
    makers: dict[str, Callable[[PublishedGroup], Figure]] = {
        "table4": partial(table4, setting=setting),
        "5": partial(breaches, "5", setting=setting),
        "6": partial(breaches, "6", setting=setting),
        "8": lambda found: figure8([found]),
        "9": lambda found: figure9([found]),
        "table5": lambda found: table5([found]),
        "10": lambda found: figure10([found]),
    }
    for figure, make in makers.items():
        found = sweep(one, cells_of(figure), budget=5)
        assert make(PublishedGroup("dining", model, [one], [found])).summary.records(), figure


def test_people_are_spread_evenly(group: PublishedGroup) -> None:
    assert [one.number for one in spread(group.people, 2)] == [1, 11]
    assert spread(group.people, 9) == list(group.people)


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded data is not part of the project")
def test_on_recorded_meals_adaptive_breaches_nobody_and_two_topics_converge() -> None:
    read = read_trajectories(RECORDED / MEALS, columns=EventColumns(location="context", activity="meal"), zone="UTC")
    windows = list(cut_all(read, 50))
    model = TopicModel.fit(windows, 2, events=Events.from_trajectories(windows, occurring_only=True), sweeps=2_000)
    assert model.diagnostics is not None
    assert model.diagnostics.converged
    long = [whole for whole in read if len(whole) >= 50][:3]
    for number, whole in enumerate(long, 1):
        one = subject(number, [whole], model, 50, seed=0)
        assert one is not None
        for system in SOUND:
            found = outcome(one, "all", 0.1, system)
            assert found.breach_rate == 0
            assert 0 < found.worst_gain <= 0.1 + SLACK
        assert outcome(one, "all", 0.1, "no-mask").breach_rate > 0.1
