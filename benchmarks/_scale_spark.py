"""Spark on this machine against the local engine: rates once started, marginal cost, a skewed key, and what sampling
costs in held-out likelihood.

Sizes by the environment, so that `python -m benchmarks scale --parts spark` fits a coffee break:
SPARK_PEOPLE (20,000; the bar is stated for 200,000), SPARK_EVENTS (the largest of the marginal costs, 100,000; stated
for 1,000,000), SPARK_SAMPLE (people of the comparison of samples, 400).
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.scale import ARCHETYPES, EVENTS, own_habits, write_table
from discreet.data import read_trajectories
from discreet.data.population import read_population
from discreet.data.published import write_frames
from discreet.events import Events, Trajectory
from discreet.mechanisms.named import Spec
from discreet.models.topics.event_model import EventModel, HeldOutEvents
from discreet.models.topics.model import TopicModel
from discreet.models.topics.newcomers import newcomer
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.policy import Policy
from discreet.publish import ChainHabits, Plan, RunKey, policy_for, publish_people
from discreet.publish.engines.pool import begin
from discreet.publish.engines.spark.session import missing
from discreet.publish.work import PEOPLE, PublishWork

MASTER = "local[2]"
SIZES = (10_000, 20_000, 50_000, 100_000, 300_000, 1_000_000)
"""Events of the tables that marginal costs are seen from."""


def lines() -> Iterator[str]:
    """What is printed."""
    yield from costs()
    lacks = missing()
    if lacks is not None:
        yield f"spark: left out, {lacks}"
        return
    from discreet.publish.engines.spark.session import running

    people = int(os.environ.get("SPARK_PEOPLE", "20000"))
    most = int(os.environ.get("SPARK_EVENTS", "100000"))
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="scale") as folder, running(MASTER) as session:
        yield f"spark: {MASTER}, started in {time.perf_counter() - begun:.0f} s"
        plan = plan_for(Path(folder))
        publish_once(session, plan, Path(folder), 1_000)  # workers are started and have their kernels
        yield from against_local(session, plan, Path(folder), people)
        yield from marginal(session, plan, Path(folder), most)
        yield from skewed(session, plan, Path(folder))
    yield from sampled(int(os.environ.get("SPARK_SAMPLE", "400")))


def plan_for(folder: Path) -> Plan:
    """Each person's own chain, PA-Markov: the local engine's benchmark has the same."""
    write_table(folder / "few", 100)
    events = Events.from_trajectories(read_trajectories(_joined(folder / "few")), occurring_only=True)
    policy = policy_for(Policy("activity=a1", delta=0.2), events)
    return Plan(ChainHabits(), policy, Spec("pa-markov"), 50)


def _joined(folder: Path) -> Path:
    path = folder.with_suffix(".parquet")
    pl.concat([pl.read_parquet(part) for part in sorted(folder.iterdir())]).write_parquet(path)
    return path


def publish_once(session: Any, plan: Plan, folder: Path, people: int, data: Path | None = None) -> float:
    """Seconds of a table from files to files, Spark running."""
    from discreet.publish.engines.spark.publish import publish_table
    from discreet.publish.engines.spark.tables import EventTable

    if data is None:
        data = folder / f"people-{people}"
        if not data.exists():
            write_table(data, people)
    number = len(list(folder.iterdir()))
    begun = time.perf_counter()
    publish_table(session, plan, EventTable((str(data),)), folder / f"out-{number}.parquet")
    return time.perf_counter() - begun


def against_local(session: Any, plan: Plan, folder: Path, people: int) -> Iterator[str]:
    """People a second from files to files, both engines once started."""
    spark = people / publish_once(session, plan, folder, people)
    local = people / local_once(plan, folder, people)
    yield f"  {people} people of {EVENTS} events, {ARCHETYPES} kinds of people, own chains, pa-markov, files to files"
    yield f"  spark {spark:.0f} people a second, local with 2 workers {local:.0f}"
    yield f"  spark against local once started: {spark / local:.2f}x (bar: 0.7x)"
    yield f"  a person costs {2000 / spark:.2f} ms of a core by spark"


def local_once(plan: Plan, folder: Path, people: int) -> float:
    """Seconds of the local engine from files to files, from when its processes have imported what they need."""
    begin()
    time.sleep(10)
    begun = time.perf_counter()
    read = read_population(folder / f"people-{people}", folder / f"sorted-{people}")
    roles = {role: role for role in ("user", "timestamp", "location", "activity")}
    write = partial(write_frames, folder / "local.parquet", roles)
    publish_people(plan, read.files(), len(read), write, workers=2)
    return time.perf_counter() - begun


def marginal(session: Any, plan: Plan, folder: Path, most: int) -> Iterator[str]:
    """Seconds for more and more events: what an event more costs, without Spark's start, and whether that is so of all.

    The best of two runs of each size counts, for other work on the machine only adds.
    """
    sizes = [size for size in SIZES if size <= most]
    found = [(size, min(publish_once(session, plan, folder, size // EVENTS) for _ in range(2))) for size in sizes]
    yield "  events " + ", ".join(f"{size}: {seconds:.1f} s" for size, seconds in found)
    yield f"  {line_through(found)}"


def line_through(found: Sequence[tuple[int, float]]) -> str:
    """The straight line nearest to seconds for events, each weighed by its own time, and how far they are from it.

    A line goes through any two points, so fewer than three say nothing.
    """
    if len(found) < 3:
        return f"no straight line can be held against {len(found)} sizes; let SPARK_EVENTS be {SIZES[2]} or more"
    events, seconds = np.array(found).T
    slope, fixed = np.polyfit(events, seconds, 1, w=1 / seconds)
    off = float(np.abs((fixed + slope * events) / seconds - 1).max())
    return (
        f"{1e6 * slope:.0f} us an event more, {fixed:.1f} s a table, by least squares over {len(found)} sizes; off the "
        f"straight line by at most {100 * off:.0f} % (bar: 15 %)"
    )


def skewed(session: Any, plan: Plan, folder: Path) -> Iterator[str]:
    """One person with a hundred times the events."""
    people = 1_000
    data = _joined(folder / f"people-{people}")
    rows = pl.read_parquet(data)
    one = rows.filter(pl.col("user") == rows["user"][0])
    more = pl.concat([one.with_columns(timestamp=pl.col("timestamp") + 1_000_000 * k) for k in range(1, 101)])
    path = folder / "skewed.parquet"
    pl.concat([rows, more]).write_parquet(path)
    even, uneven = (publish_once(session, plan, folder, people, one) for one in (data, path))
    yield (
        f"  {people} people: {even:.1f} s; one of them with {EVENTS * 101} events: {uneven:.1f} s, "
        f"{uneven / even * rows.height / (rows.height + more.height):.2f}x an event"
    )


# --- what sizes on paper are made of


def costs() -> Iterator[str]:
    """Processor time of the work on a person of 20 events, which is what Spark and the local engine send to cores.

    Processor time, and not that of the wall: it is the same on a machine that others use.
    """
    own, table = own_habits(400)
    kinds = pl.concat([table.with_columns(person=pl.lit(f"{k} ") + pl.col("person")) for k in range(4)]).sort("person")
    learned = trajectories(topic_model(people=60, topics=4, sizes=(4, 3, 6), seed=5), length=EVENTS, seed=5)
    policy = Policy("activity=activity 1", delta=0.2)
    events = Events.from_trajectories(learned, occurring_only=True)
    topics = Plan.learn(learned[:40], policy, topics=4, sweeps=400, events=events, piece_length=50)
    newcomers = pl.DataFrame(
        [(one.person, *event.values) for one in learned[40:] for event in one.events], schema=PEOPLE, orient="row"
    )
    yield f"cost of a person of {EVENTS} events, processor time of the work, in memory:"
    for words, plan, people in (
        ("pa-markov, own chains, nobody alike", own, table),
        ("pa-markov, own chains, each kind four times", own, kinds),
        ("adaptive, topics, not in the sample, nobody alike", topics, newcomers),
    ):
        number, work = people["person"].n_unique(), PublishWork(plan, RunKey.of_seed(1))
        work(people.head(EVENTS))  # compiled
        begun = time.process_time()
        done = work(people)
        took = 1000 * (time.process_time() - begun) / number
        size = (done.rows.estimated_size() + done.reports.estimated_size()) / number
        yield f"  {words}: {took:.1f} ms of a core, {size / 1000:.1f} kB of rows and report"


# --- topics from a sample


def sampled(people: int) -> Iterator[str]:
    """Log score of held-out events, topics learned from everybody and from a tenth, and how the others are placed."""
    truth = topic_model(people=people, topics=4, sizes=(5, 4, 6), seed=11)
    everybody = trajectories(truth, length=(30, 40), seed=11)
    shown = [Trajectory(one.person, one.events[: _shown(one)]) for one in everybody]
    events = truth.events
    whole = EventModel(TopicModel.fit(shown, 4, events=events, sweeps=600, seed=1, whole_events=True))
    tenth = EventModel(TopicModel.fit(shown[::10], 4, events=events, sweeps=600, seed=1, whole_events=True))
    others = [k for k in range(people) if k % 10]
    held = HeldOutEvents.of([everybody[k] for k in others], _shown, whole.people, events)
    by_gibbs = held.scores(whole.predictor(held))[0].sum() / held.tested.sum()
    placed = [_score(newcomer(tenth, [shown[k]], len(everybody[k])), everybody[k]) for k in others]
    shared = [_score(_anybody(tenth, len(everybody[k])), everybody[k]) for k in others]
    counts = int(held.tested.sum())
    yield f"  topics, {people} people, log score of a held-out event of the nine tenths:"
    yield f"    {by_gibbs:.4f} learned from everybody"
    yield f"    {sum(placed) / counts:.4f} learned from a tenth, own habits by expectation (what is released)"
    yield f"    {sum(shared) / counts:.4f} learned from a tenth, everybody's habits for all"


def _shown(one: Trajectory) -> int:
    return round(0.8 * len(one))


def _anybody(model: EventModel, slots: int) -> Any:
    from discreet.models.hidden.markov import HiddenMarkovModel

    return HiddenMarkovModel.homogeneous(
        model.events.contexts, model.initial, model.shared_transition, model.emissions, slots
    )


def _score(model: Any, one: Trajectory) -> float:
    """The log probability of the last fifth of the events, each given all before it."""
    place = {label: k for k, label in enumerate(model.contexts)}
    belief, total = np.asarray(model.initial), 0.0
    for t, event in enumerate(one.events):
        if t:
            belief = belief @ model.transitions[t - 1]
        likelihood = model.emissions[t][:, place[event.label]]
        chance = float(belief @ likelihood)
        belief = belief * likelihood / chance
        if t >= _shown(one):
            total += np.log(chance)
    return total
