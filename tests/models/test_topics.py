"""Topics: the sampler against enumeration, and what is learned against what generated the data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.errors import DiscreetError, ModelError
from discreet.events import Event, Events, Trajectory
from discreet.models.topics import model as topics_module
from discreet.models.topics.choice import choose_topics
from discreet.models.topics.gibbs import DirichletPrior, Sampler, Tokens, counted
from discreet.models.topics.model import Concentrations, TopicModel, r_hat, tokens_of
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.numerics import FloatArray, IntArray

SIZES = (2, 3, 2)
PRIOR = DirichletPrior(start=0.7, transition=0.4, activity=0.3, time=0.9, location=1.6)


def tokens_drawn(rng: np.random.Generator, people: list[list[int]]) -> Tokens:
    """Random events; `people` are the lengths of each person's trajectories."""
    lengths = [length for own in people for length in own]
    owner = [u for u, own in enumerate(people) for length in own for _ in range(length)]
    first = [int(k == 0) for length in lengths for k in range(length)]
    last = [int(k == length - 1) for length in lengths for k in range(length)]
    values = np.stack([rng.integers(0, size, sum(lengths)) for size in SIZES], axis=1)
    return Tokens(values, *(np.array(each, dtype=np.int64) for each in (owner, first, last)))


def log_joint(tokens: Tokens, z: tuple[int, ...], K: int) -> float:
    """log P(topics, events) by the chain rule of Polya urns, event by event: no counts to keep, nothing to remove."""

    def urn(drawn: list[int], sides: int, weight: float) -> float:
        total, seen = 0.0, [0] * sides
        for n, side in enumerate(drawn):
            total += math.log((seen[side] + weight) / (n + sides * weight))
            seen[side] += 1
        return total

    N = len(z)
    total = urn([z[i] for i in range(N) if tokens.first[i]], K, PRIOR.start)
    for u in range(int(tokens.person.max()) + 1):
        for k in range(K):
            left = [z[i + 1] for i in range(N) if tokens.person[i] == u and not tokens.last[i] and z[i] == k]
            total += urn(left, K, PRIOR.transition)
    for column, weight in enumerate((PRIOR.activity, PRIOR.time, PRIOR.location)):
        for k in range(K):
            total += urn([int(tokens.values[i, column]) for i in range(N) if z[i] == k], SIZES[column], weight)
    return total


def states(N: int, K: int) -> Iterator[tuple[int, ...]]:
    return product(range(K), repeat=N)


def sampler_at(tokens: Tokens, z: tuple[int, ...], K: int) -> Sampler:
    sampler = Sampler(tokens, SIZES, K, PRIOR, seed=0)
    sampler.topics = np.array(z, dtype=np.int64)
    sampler.counts = counted(tokens, sampler.topics, SIZES, K)
    return sampler


# One person; the only event; first, middle and last; several people; several trajectories of one person.
SHAPES = [[[4]], [[1]], [[2]], [[3], [1], [2]], [[2, 3], [1, 1]]]


@pytest.mark.parametrize("people", SHAPES)
@pytest.mark.parametrize("K", [1, 2, 3])
def test_the_conditional_is_that_of_the_enumerated_joint(people: list[list[int]], K: int) -> None:
    rng = np.random.default_rng(sum(map(sum, people)) * 10 + K)
    tokens = tokens_drawn(rng, people)
    N = len(tokens.values)
    for _ in range(12):
        z = tuple(rng.integers(0, K, N).tolist())
        sampler = sampler_at(tokens, z, K)
        for i in range(N):
            joint = np.array([log_joint(tokens, (*z[:i], k, *z[i + 1 :]), K) for k in range(K)])
            expected = np.exp(joint - joint.max())
            np.testing.assert_allclose(
                sampler.conditional(i), expected / expected.sum(), rtol=1e-12, err_msg=f"{z}, {i}"
            )
        assert sampler.topics.tolist() == list(z)


@pytest.mark.parametrize("people", SHAPES)
def test_the_log_joint_is_that_of_the_urns(people: list[list[int]]) -> None:
    tokens = tokens_drawn(np.random.default_rng(1), people)
    for z in states(len(tokens.values), 2):
        assert sampler_at(tokens, z, 2).log_joint() == pytest.approx(log_joint(tokens, z, 2), rel=1e-12)


def test_counts_stay_those_of_the_topics() -> None:
    tokens = tokens_drawn(np.random.default_rng(2), [[5], [1], [7, 2]])
    sampler = Sampler(tokens, SIZES, 3, PRIOR, seed=4)
    for sweep in range(50):
        sampler.sweep(power=0.5 if sweep < 10 else 1.0)
        for held, fresh in zip(sampler.counts, counted(tokens, sampler.topics, SIZES, 3), strict=True):
            np.testing.assert_array_equal(held, fresh)


def posterior(tokens: Tokens, K: int) -> FloatArray:
    joint = np.array([log_joint(tokens, z, K) for z in states(len(tokens.values), K)])
    weights = np.exp(joint - joint.max())
    return np.asarray(weights / weights.sum())


def visits(tokens: Tokens, K: int, draws: int, thin: int) -> IntArray:
    sampler = Sampler(tokens, SIZES, K, PRIOR, seed=11)
    place = K ** np.arange(len(tokens.values) - 1, -1, -1)
    found = np.zeros(K ** len(tokens.values), dtype=np.int64)
    for _ in range(draws):
        for _ in range(thin):
            sampler.sweep()
        found[sampler.topics @ place] += 1
    return found


def statistic(seen: IntArray, expected: FloatArray) -> float:
    return float(((seen - expected) ** 2 / expected).sum())


@pytest.mark.slow("runs the sampler to its end")
def test_the_sampler_visits_states_as_often_as_the_posterior_says() -> None:
    """Pearson's statistic over 32 states: a right sampler fails about once in a million seeds.

    Draws are 40 sweeps apart. The slowest mode of a sweep, by enumeration, shrinks by 0.835, so that draws are
    independent to 0.835^40 < 0.001.

    A wrong one is found: with Eq. 6 as printed, where a row's sum counts occurrences, the statistic is far beyond.
    """
    tokens = tokens_drawn(np.random.default_rng(5), [[3], [2]])
    draws = 8_000
    seen = visits(tokens, 2, draws, thin=40)
    expected = posterior(tokens, 2)
    limit = chi2.isf(1e-6, len(expected) - 1)
    assert draws * expected.min() > 5
    assert statistic(seen, draws * expected) < limit
    joint = np.log(expected) + np.array([_printed(tokens, z, 2) for z in states(5, 2)])
    wrong = np.exp(joint) / np.exp(joint).sum()
    assert statistic(seen, draws * wrong) > limit


def _printed(tokens: Tokens, z: tuple[int, ...], K: int) -> float:
    """What dividing by occurrences instead of transitions that leave would change in the log joint."""
    changed = 0.0
    for u in range(int(tokens.person.max()) + 1):
        for k in range(K):
            own = [i for i in range(len(z)) if tokens.person[i] == u and z[i] == k]
            leaving = sum(not tokens.last[i] for i in own)
            changed -= sum(math.log(n + K * PRIOR.transition) for n in range(leaving, len(own)))
    return changed


def test_the_conditional_holds_at_every_event_of_a_long_trajectory() -> None:
    """Ratios of the fast log joint, which the tests above hold to the urns."""
    tokens = tokens_drawn(np.random.default_rng(6), [[30], [20]])
    sampler = Sampler(tokens, SIZES, 4, PRIOR, seed=1)
    for i in range(50):
        z = sampler.topics.copy()
        joint = np.empty(4)
        for k in range(4):
            z[i] = k
            joint[k] = sampler_at(tokens, tuple(z.tolist()), 4).log_joint()
        expected = np.exp(joint - joint.max())
        np.testing.assert_allclose(sampler.conditional(i), expected / expected.sum(), rtol=1e-9)


def aligned_distance(model: TopicModel, truth: TopicModel) -> float:
    """The largest total variation between any row of two models' emissions, topics relabelled as fits best."""
    best = 1.0
    for order in permutations(range(truth.topics)):
        rows = (
            np.abs(getattr(model, name)[list(order)] - getattr(truth, name)).sum(axis=1).max() / 2
            for name in ("activity", "time", "location")
        )
        best = min(best, max(rows))
    return best


def clear_topics(people: int) -> TopicModel:
    """Three topics that are told apart by what they emit, and that people move between differently."""
    main = np.full((3, 3), 0.05) + 0.85 * np.eye(3)
    rng = np.random.default_rng(8)
    return TopicModel(
        Events(tuple("abc"), tuple("tuv"), tuple("xyz")),
        tuple(f"p{u}" for u in range(people)),
        initial=[0.6, 0.3, 0.1],  # type: ignore[arg-type]
        transitions=rng.dirichlet(np.ones(3), (people, 3)),
        activity=main,
        time=np.roll(main, 1, axis=1),
        location=main[::-1],
    )


@pytest.mark.slow("runs the sampler to its end")
def test_topics_are_recovered_up_to_their_names() -> None:
    truth = clear_topics(40)
    drawn = trajectories(truth, (60, 140), seed=3)
    model = TopicModel.fit(drawn, 3, events=truth.events, seed=1)
    assert model.diagnostics is not None
    assert model.diagnostics.converged
    assert model.diagnostics.r_hat <= topics_module.CONVERGED
    assert aligned_distance(model, truth) < 0.05  # about 1300 events a topic: a share is known to 0.014
    order = min(permutations(range(3)), key=lambda o: float(np.abs(model.activity[list(o)] - truth.activity).sum()))
    rows = np.ix_(range(40), order, order)
    error = np.abs(model.transitions[rows] - truth.transitions).sum(axis=2).mean() / 2
    assert error < 0.1  # some 33 transitions a row and person; from uniform rows it is above 0.25
    assert np.abs(1 / 3 - truth.transitions).sum(axis=2).mean() / 2 > 0.25
    assert np.abs(model.initial[list(order)] - truth.initial).max() < 0.25  # 40 starts


def test_equal_seeds_give_equal_models_and_others_do_not() -> None:
    drawn = trajectories(topic_model(people=4, topics=2), 20)
    one, same, other = (TopicModel.fit(drawn, 2, sweeps=400, seed=seed) for seed in (1, 1, 2))
    for name in ("initial", "transitions", "activity", "time", "location"):
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))
    assert one.diagnostics is not None
    assert same.diagnostics is not None
    np.testing.assert_array_equal(one.diagnostics.traces, same.diagnostics.traces)
    assert not np.array_equal(one.transitions, other.transitions)


@pytest.mark.slow("runs the sampler to its end")
def test_held_out_likelihood_finds_the_number_of_topics() -> None:
    drawn = trajectories(clear_topics(30), 60, seed=5)
    choice = choose_topics(drawn, (1, 2, 3, 4, 6), sweeps=1000)
    assert choice.topics == 3, choice
    assert choice.scores[3] > choice.scores[2] > choice.scores[1]
    assert list(choice.converged) == [1, 2, 3, 4, 6]


def test_r_hat_tells_chains_that_agree_from_chains_that_do_not() -> None:
    rng = np.random.default_rng(0)
    alike = rng.normal(size=(4, 2000))
    assert r_hat(alike) == pytest.approx(1, abs=0.01)
    assert r_hat(alike + np.array([[0], [0], [0], [1]])) > 1.1
    assert r_hat(alike + np.linspace(0, 2, 2000)) > 1.1  # chains agree, but all still move
    assert r_hat(np.ones((2, 10))) == 1
    assert r_hat(np.array([[1.0] * 10, [2.0] * 10])) == math.inf
    # By hand: halves (1, 3) and (2, 4), means 2 and 3 with variance 1/2, variance within 2: sqrt(1/2 + 1/4).
    assert r_hat(np.array([[1.0, 3.0, 2.0, 4.0]])) == pytest.approx(math.sqrt(0.75))


def test_one_topic_is_learned_exactly() -> None:
    """With one topic nothing is hidden: the estimates are smoothed frequencies."""
    drawn = [Trajectory("p", (Event("a", "t", "x"), Event("b", "t", "x"), Event("a", "t", "y")))]
    model = TopicModel.fit(drawn, 1, concentrations=Concentrations(activity=0.5, time=1, location=0.25))
    np.testing.assert_allclose(model.activity, [[2.5 / 4, 1.5 / 4]])
    np.testing.assert_allclose(model.time, [[1]])
    np.testing.assert_allclose(model.location, [[2.25 / 3.5, 1.25 / 3.5]])


def test_people_become_hidden_markov_models() -> None:
    truth = topic_model(people=3, topics=2, sizes=(2, 2, 3), seed=1)
    hidden = truth.person("p2", slots=5)
    assert hidden.contexts == truth.events.contexts
    np.testing.assert_allclose(hidden.transitions, np.broadcast_to(truth.transitions[1], (4, 2, 2)))
    for n, context in enumerate(hidden.contexts):
        a, t, p = (
            truth.events.value_index(*pair)
            for pair in zip(("activity", "time", "location"), context.split("|"), strict=True)
        )
        np.testing.assert_allclose(
            hidden.emissions[0, :, n], truth.activity[:, a] * truth.time[:, t] * truth.location[:, p]
        )
    drawn = hidden.sample(1, seed=0)[0]
    trajectory = Trajectory("p2", tuple(map(Event.of, drawn.contexts)))
    assert truth.log_likelihood(trajectory).sum() == pytest.approx(hidden.log_likelihood([drawn])[0])
    with pytest.raises(DiscreetError, match=r"nobody called 'p9'"):
        truth.person("p9", 5)


def test_what_topics_never_show_is_impossible() -> None:
    """Two topics that are never left, each with one event of its own."""
    events, one = Events(("a", "b"), ("t",), ("x",)), Event("a", "t", "x")
    sure, one_value = np.eye(2), np.ones((2, 1))
    model = TopicModel(events, ("p",), sure[0], sure[None], sure, one_value, one_value)
    first = Trajectory("p", (one, Event("b", "t", "x"), one))
    assert model.log_likelihood(first).tolist() == [0, -np.inf, -np.inf]
    assert model.log_likelihood(Trajectory("p", (Event("swim", "t", "x"), one))).tolist() == [-np.inf, -np.inf]
    with pytest.raises(ModelError, match=r"topic 1 has none of the events that occur"):
        replace(model, events=Events(("a", "b"), ("t",), ("x",), occurring=(one,))).person("p", 2)


def test_only_occurring_events_share_the_probability() -> None:
    drawn = trajectories(topic_model(people=3, topics=2), 10)
    events = Events.from_trajectories(drawn, occurring_only=True)
    model = TopicModel.fit(drawn, 2, events=events, sweeps=400)
    assert model.emissions.shape == (2, len(events.contexts))
    np.testing.assert_allclose(model.emissions.sum(axis=1), 1)
    assert np.isfinite(model.log_likelihood(drawn[0])).all()
    strange = Trajectory(drawn[0].person, (*drawn[0].events[:2], Event("never", "seen", "before"), drawn[0].events[0]))
    assert np.isfinite(model.log_likelihood(strange)).tolist() == [True, True, False, False]


def test_short_trajectories_and_many_of_one_person_are_learned() -> None:
    event, other = Event("a", "t", "x"), Event("b", "u", "y")
    drawn = [Trajectory("p", (event,)), Trajectory("q", (event, other)), Trajectory("p", (other, event, other))]
    model = TopicModel.fit(drawn, 2, sweeps=400)
    assert model.people == ("p", "q")
    tokens = tokens_of(drawn, model.events, model.people)
    assert tokens.person.tolist() == [0, 1, 1, 0, 0, 0]
    assert tokens.first.tolist() == [1, 1, 0, 1, 0, 0]
    assert tokens.last.tolist() == [1, 0, 1, 0, 0, 1]
    assert (model.transitions > 0).all()


def test_progress_is_told_and_an_unfinished_run_says_so() -> None:
    drawn = trajectories(topic_model(people=5, topics=4), 30)
    seen: list[tuple[int, int]] = []
    model = TopicModel.fit(drawn, 4, sweeps=400, progress=lambda done, most: seen.append((done, most)))
    assert seen == [(100, 400), (200, 400), (300, 400), (400, 400)]
    assert model.diagnostics is not None
    assert model.diagnostics.sweeps == 400
    assert model.diagnostics.converged == (model.diagnostics.r_hat <= 1.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topics": 0}, "0 topics cannot be used"),
        ({"topics": 2.5}, "2.5 topics cannot be used"),
        ({"chains": 1}, "1 chains cannot be used"),
        ({"sweeps": 10}, "10 sweeps cannot be used"),
        ({"trajectories": []}, "no trajectories"),
        ({"events": Events(("z",), ("t",), ("x",))}, "activity 'a' is not known"),
    ],
)
def test_bad_requests_are_refused(options: dict[str, object], message: str) -> None:
    request = {"trajectories": [Trajectory("p", (Event("a", "t", "x"),))], "topics": 2, **options}
    with pytest.raises(DiscreetError, match=message):
        TopicModel.fit(**request)  # type: ignore[arg-type]


def test_bad_tables_and_choices_are_refused() -> None:
    good = topic_model(people=2, topics=2)
    with pytest.raises(ModelError, match=r"activity"):
        TopicModel(good.events, good.people, good.initial, good.transitions, good.time, good.time, good.location)
    with pytest.raises(ModelError, match=r"twice"):
        TopicModel(good.events, ("p", "p"), good.initial, good.transitions, good.activity, good.time, good.location)
    with pytest.raises(DiscreetError, match=r"concentration of time is 0"):
        Concentrations(time=0)
    with pytest.raises(DiscreetError, match=r"no numbers of topics"):
        choose_topics(trajectories(good, 5), ())
    with pytest.raises(DiscreetError, match=r"nothing can be held out"):
        choose_topics(trajectories(good, 1))
    strange = [Trajectory(one.person, (*one.events, Event("swim", "t", "x"))) for one in trajectories(good, 5)]
    with pytest.raises(DiscreetError, match=r"activity 'swim' is not known"):  # though all such events are held out
        choose_topics(strange, (1,), events=good.events)
    with pytest.raises(DiscreetError, match=r"cannot be simulated"):
        topic_model(people=0)
    with pytest.raises(DiscreetError, match=r"cannot be \(3, 2\) long"):
        trajectories(good, (3, 2))


def test_simulated_people_have_the_lengths_asked_for() -> None:
    truth = topic_model()
    assert (truth.events.sizes, len(truth.people), truth.topics) == ((4, 3, 8), 10, 4)
    assert {len(one) for one in trajectories(truth)} == {50}
    lengths = [len(one) for one in trajectories(topic_model(people=60), (2, 4))]
    assert set(lengths) == {2, 3, 4}
    assert trajectories(truth, seed=1) == trajectories(truth, seed=1) != trajectories(truth, seed=2)
