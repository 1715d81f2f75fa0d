"""Topics over whole events: what the levels weigh, against counts and plain loops; and that strengths are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from discreet.errors import DiscreetError, ModelError
from discreet.events import Event, Events, Trajectory
from discreet.models.topics.event_model import EventModel, HeldOutEvents, Strengths, chosen_strengths
from discreet.models.topics.model import TopicModel
from discreet.models.topics.simulate import topic_model, trajectories

QUICK = 400


def shown(whole: Trajectory) -> int:
    return max(1, len(whole) * 4 // 5)


def learned(people: Sequence[Trajectory], topics: int = 1, whole_events: bool = True) -> TopicModel:
    """From the events that are not held out."""
    events = Events.from_trajectories(people, occurring_only=True)
    seen = [replace(whole, events=whole.events[: shown(whole)]) for whole in people]
    return TopicModel.fit(seen, topics, events=events, whole_events=whole_events, sweeps=QUICK)


def held_out(people: Sequence[Trajectory], model: TopicModel, secrets: Sequence[set[str]] = ()) -> HeldOutEvents:
    return HeldOutEvents.of(people, shown, model.people, model.events, secrets)


def drawn(chances: dict[Event, float], people: int, length: int, variety: float = np.inf) -> list[Trajectory]:
    """Events without order; people's chances are drawn around the average, as from `variety` events."""
    rng = np.random.default_rng(5)
    events, average = list(chances), np.array(list(chances.values()))
    own = [average if variety == np.inf else rng.dirichlet(variety * average) for _ in range(people)]
    return [
        Trajectory(f"p{u}", tuple(events[k] for k in rng.choice(len(events), length, p=chance)))
        for u, chance in enumerate(own)
    ]


def all_triples(activities: str, times: str, locations: str) -> list[Event]:
    return [Event(*values) for values in product(activities, times, locations)]


def either() -> dict[Event, float]:
    """Gambling is what happens at night or at the casino, but not both: no two attributes depend on each other."""
    return {
        event: 0.23 if (event.activity == "g") == ((event.time == "n") != (event.location == "c")) else 0.02
        for event in all_triples("gw", "nd", "co")
    }


def test_one_topic_is_frequencies_drawn_to_the_base() -> None:
    people = drawn(either(), people=6, length=40)
    base = TopicModel.fit(people, 1, events=Events.from_trajectories(people, occurring_only=True), sweeps=QUICK)
    model = EventModel(base, Strengths(emission=10, transition=1, person=30))
    counts = np.bincount(np.concatenate([base.events.codes(one) for one in people]), minlength=8)
    expected = (counts + 10 * base.raked[0]) / (240 + 10)
    np.testing.assert_allclose(model.emissions[0], expected, rtol=1e-12)
    own = np.bincount(base.events.codes(people[2]), minlength=8)
    np.testing.assert_allclose(model.emissions_of("p2")[0], (own + 30 * expected) / (40 + 30), rtol=1e-12)
    np.testing.assert_allclose(model.person("p2", 3).prior[1], (own + 30 * expected) / (40 + 30), rtol=1e-12)


@pytest.mark.parametrize("whole_events", [False, True])
def test_the_prior_of_every_event_is_its_frequency(whole_events: bool) -> None:
    """With several topics and strengths that take little; a product of attributes is far from it."""
    people = drawn(either(), people=10, length=100)
    events = Events.from_trajectories(people, occurring_only=True)
    base = TopicModel.fit(people, 3, events=events, whole_events=whole_events, sweeps=QUICK)
    model = EventModel(base, Strengths(emission=1, transition=30, person=30))
    frequency = np.bincount(np.concatenate([events.codes(one) for one in people]), minlength=8) / 1000
    prior = np.mean([model.person(one.person, 50).prior.mean(axis=0) for one in people], axis=0)
    assert np.abs(prior - frequency).max() < 0.01
    one = TopicModel.fit(people, 1, events=events, sweeps=QUICK)
    assert np.abs(one.person("p0", 1).prior[0] - frequency).max() > 0.09  # each is about 1/8 in it


def test_raking_gives_values_their_frequency_back_and_adds_no_dependence() -> None:
    """Gambling is at the casino and nowhere else; time is free. Scaled, the product holds it to be far too rare."""
    chances = {Event("g", t, "c"): 0.02 for t in "nd"} | {Event("w", t, p): 0.12 for t, p in product("nd", "opqr")}
    base = TopicModel.fit(
        drawn(chances, 20, 100), 1, events=Events(("g", "w"), ("n", "d"), tuple("copqr"), tuple(chances))
    )
    joint = base.raked[0]
    activity, time, location = base.events.attribute_index.T
    for column, table in ((activity, base.activity), (time, base.time), (location, base.location)):
        np.testing.assert_allclose(np.bincount(column, joint), table[0], atol=2e-5)  # priors of "g" and "c" differ
    place = {event.label: joint[base.events.index_of(event)] for event in chances}
    odds = place["g|n|c"] * place["w|d|o"] / (place["g|d|c"] * place["w|n|o"])
    assert odds == pytest.approx(1)  # time is independent still
    assert base.emissions[0][activity == 0].sum() < 0.2 * joint[activity == 0].sum()
    full = topic_model(people=2, topics=3, seed=1)
    np.testing.assert_array_equal(full.raked, full.emissions)  # where every triple occurs it is the product


def test_predictions_are_those_of_each_persons_hidden_markov_model() -> None:
    truth = topic_model(people=4, topics=2, sizes=(2, 2, 3), seed=1)
    people = trajectories(truth, (6, 11), seed=2)
    people.append(Trajectory("p1", people[3].events))  # a second one
    people.append(Trajectory("p2", people[3].events[:1]))  # too short to hold something out
    base = learned(people, topics=3, whole_events=False)
    model = EventModel(base, Strengths(emission=3, transition=2, person=5))
    secret = {label for label in base.events.contexts if label.startswith("activity 1")}
    held = held_out(people, base, [secret, {base.events.contexts[0]}])
    events, secrets = held.scores(model.predictor(held))
    assert len(events) == len(secrets) == 5
    for number, whole in enumerate(people[:5]):
        hidden, chance, score = model.person(whole.person, len(whole)), model.initial, np.zeros(2)
        for place, event in enumerate(whole.events):
            emissions = hidden.emissions[place]
            if place >= shown(whole):
                score[0] += np.log(chance @ emissions[:, base.events.index_of(event)])
                for one in (secret, {base.events.contexts[0]}):
                    inside = sum(float(chance @ emissions[:, base.events.index_of(label)]) for label in one)
                    score[1] += np.log(inside if event.label in one else 1 - inside)
            chance = chance * emissions[:, base.events.index_of(event)]
            chance = chance / chance.sum() @ model.transitions[model.people.index(whole.person)]
        assert (events[number], secrets[number]) == pytest.approx(tuple(score))


@pytest.mark.slow("compares with a slow twin on many random cases")
def test_strengths_are_found_by_what_is_held_out() -> None:
    """Weak where counts say what the level above cannot, strong where they say nothing but noise."""
    dependent = drawn(either(), people=20, length=100)
    base = learned(dependent, whole_events=False)
    assert chosen_strengths(base, held_out(dependent, base)).emission <= 30
    free = drawn(dict.fromkeys(all_triples("gw", "nd", "co"), 1 / 8), people=20, length=100)
    base = learned(free, whole_events=False)
    found = chosen_strengths(base, held_out(free, base))
    assert found.emission >= 300
    assert found.person >= 300  # they are all alike
    different = drawn(either(), people=20, length=100, variety=3)
    base = learned(different, whole_events=False)
    assert chosen_strengths(base, held_out(different, base)).person <= 30


def test_topics_drawn_by_whole_events_keep_what_attributes_tell_of_each_other_for_the_emissions() -> None:
    """Two topics that alternate, each with one dependence of its own: topics by attributes would stand for that."""
    rng = np.random.default_rng(1)
    day, night = [Event("w", "d", "o"), Event("m", "d", "c")], [Event("g", "n", "c"), Event("r", "n", "h")]
    people = [Trajectory(f"p{u}", tuple((day, night)[i % 2][rng.integers(2)] for i in range(60))) for u in range(8)]
    base = learned(people, topics=2)
    assert base.diagnostics is not None
    assert base.diagnostics.converged
    emissions = EventModel(base, Strengths(emission=1)).emissions
    first = np.array([event.time == "d" for event in map(Event.of, base.events.contexts)])
    mass = np.sort(emissions[:, first].sum(axis=1))
    assert mass[0] < 0.05
    assert mass[1] > 0.95
    assert base.totals is not None
    assert base.totals.topics.sum() == pytest.approx(8 * 48)
    np.testing.assert_allclose(base.totals.topics.sum(axis=1), np.round(base.totals.topics.sum(axis=1)), atol=1e-9)
    for table in (base.activity, base.time, base.location):
        np.testing.assert_allclose(table.sum(axis=1), 1)


def test_what_cannot_be_made() -> None:
    with pytest.raises(ModelError, match=r"make it by TopicModel.fit"):
        EventModel(topic_model())
    with pytest.raises(DiscreetError, match="the strength of person is 0; give a number above 0"):
        Strengths(person=0)
    model = EventModel(learned(drawn(either(), people=2, length=10)))
    with pytest.raises(DiscreetError, match="nobody called 'p7' was learned"):
        model.person("p7", 3)
