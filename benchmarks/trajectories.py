"""Publishing events: PA-Markov and PA-HMM against plain loops, and events a second, adaptive release included."""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._timing import alternating
from discreet.events import ATTRIBUTES, Events, Trajectory
from discreet.mechanisms import Adaptive, NoInternal, PaHmm, PaMarkov
from discreet.mechanisms.named import Spec
from discreet.models import HiddenMarkovModel
from discreet.numerics import ROOM, FloatArray
from discreet.outputs import SUPPRESSED, PartialEvent
from discreet.policy import Policy
from discreet.randomness import SystemEntropy

if TYPE_CHECKING:
    from discreet.publish import Plan

PAPER = Events(tuple("abcd"), ("morning", "noon", "evening"), tuple(f"place {k}" for k in range(8)))
SMALL = Events(("a", "b"), ("day", "night"), ("x",))


def topics(seed: int, events: Events = PAPER, states: int = 8, slots: int = 50) -> HiddenMarkovModel:
    """A person of the paper's sizes: topics with habits of their own."""
    rng = np.random.default_rng(seed)
    parts = [rng.dirichlet(np.full(size, 0.5), states) for size in events.sizes]
    emissions = np.einsum("ka,kt,kl->katl", *parts).reshape(states, -1)
    initial, step = rng.dirichlet(np.ones(states)), rng.dirichlet(np.full(states, 0.5), states)
    return HiddenMarkovModel.homogeneous(events.contexts, initial, step, emissions, slots)


def secret(delta: float, events: Events = PAPER) -> Policy:
    """An activity is secret, as in the paper's Table 4."""
    return Policy(events.secret("activity", "a"), delta=delta)


def three(delta: float) -> Policy:
    """An activity, a time and a location are secret, as in the paper's Figure 4a."""
    chosen = [("activity", "a"), ("time", "noon"), ("location", "place 0")]
    return Policy([PAPER.secret(*pair) for pair in chosen], delta=delta)


# --- PA-Markov


def external_check(chain: Any, i: int, output: list[int | None], members: set[int], delta: float) -> bool:
    """Algorithm 2 as printed: every value that could come, every secret, every position; powers taken by loops."""
    n, slots = len(chain.contexts), chain.slots
    last = max((j for j in range(i) if output[j] is not None), default=-1)
    for y in range(n):
        if _reach(chain, last, output, i)[y] > 0:
            tried = [*output[:i], y]
            for s in members:
                for j in range(slots):
                    if _posterior(chain, tried, j)[s] - _forward(chain, -1, None, j)[s] > delta + ROOM:
                        return False
    return True


def _forward(chain: Any, a: int, value: int | None, j: int) -> FloatArray:
    """P(x_j | x_a = value), from the start for a = -1 (Eq. 13)."""
    row = np.array(chain.initial) if a < 0 else np.eye(len(chain.contexts))[value]
    for t in range(max(a, 0), j):
        row = row @ chain.transitions[t]
    return np.asarray(row)


def _reach(chain: Any, last: int, output: list[int | None], i: int) -> FloatArray:
    return _forward(chain, last, None if last < 0 else output[last], i)


def _posterior(chain: Any, output: list[int | None], j: int) -> FloatArray:
    """P(x_j | the last value published at or before j and the first after it) (Eq. 15)."""
    before = max((k for k in range(min(j, len(output) - 1) + 1) if output[k] is not None), default=-1)
    after = min((k for k in range(j + 1, len(output)) if output[k] is not None), default=None)
    row = _forward(chain, before, None if before < 0 else output[before], j)
    if after is not None:
        ahead = np.array([_forward(chain, j, v, after)[output[after]] for v in range(len(row))])
        row = row * ahead
        row = row / row.sum()
    return np.asarray(row)


def plain_pa_markov(mechanism: PaMarkov, codes: list[int]) -> list[tuple[int | None, ...]]:
    """Algorithms 1 to 3 as loops, on the mechanism's chains: what the paper's own code does."""
    events, policy = mechanism.events, mechanism.policy
    outputs: list[list[int | None]] = [[] for _ in ATTRIBUTES]
    for i, c in enumerate(codes):
        event = events.attribute_index[c].tolist()
        for k, chain in enumerate(mechanism.chains):
            members = {v for v, value in enumerate(chain.contexts) if value in ("a", "noon", "place 0")}
            outputs[k].append(event[k] if external_check(chain, i, outputs[k], members, policy.delta) else None)
        prior = mechanism.model.prior[i]
        for k, value in enumerate(event):
            same = events.attribute_index[:, k] == value
            for hidden in policy.secrets:
                inside = np.array([context in hidden.contexts for context in events.contexts])
                confidence = prior[same & inside].sum() / prior[same].sum()
                if confidence - prior[inside].sum() > policy.delta + ROOM:
                    outputs[k][i] = None
    return list(zip(*outputs, strict=True))


def published(mechanism: Any, codes: list[int], entropy: SystemEntropy) -> list[Any]:
    """The outputs along a trajectory: what a publisher does for each person."""
    state, outputs = mechanism.start(), []
    for context in codes:
        output = mechanism.kernel(state).sample(context, entropy)
        outputs.append(output)
        state = mechanism.advance(state, output)
    return outputs


def _same(output: Any, plain: tuple[int | None, ...]) -> bool:
    shown = (None, None, None) if output == SUPPRESSED else (output.activity, output.time, output.location)
    return shown == tuple(
        None if v is None else PAPER.values(name)[v] for name, v in zip(ATTRIBUTES, plain, strict=True)
    )


def pa_markov(people: int = 50) -> None:
    """Tables and outputs for every person, against the paper's loops on one of them."""
    policy, entropy = three(0.65), SystemEntropy()
    PaMarkov(topics(0), policy, events=PAPER)  # compiles
    models = [topics(seed) for seed in range(people)]
    days = [model.sample_codes(1, seed=1)[0].tolist() for model in models]
    began = time.perf_counter()
    outputs = [
        published(PaMarkov(model, policy, events=PAPER), day, entropy) for model, day in zip(models, days, strict=True)
    ]
    ours = time.perf_counter() - began
    began = time.perf_counter()
    plain = plain_pa_markov(PaMarkov(models[0], policy, events=PAPER), days[0])
    twin = (time.perf_counter() - began) * people
    same = all(map(_same, outputs[0], plain))
    print(
        f"PA-Markov, {people} people x 50 events, tables included: {ours:.2f} s; the paper's loops {twin:.0f} s "
        f"(one person's {twin / people:.1f} s, times {people}): {twin / ours:.0f}x (at least 100x), "
        f"same outputs: {same}",
        flush=True,
    )


def million(events: int = 1_000_000) -> None:
    """PA-Markov for a million events, person after person: memory stays that of one."""
    policy, entropy, slots = secret(0.3), SystemEntropy(), 50
    began, done, told = time.perf_counter(), 0, 0
    early = 0
    while done < events:
        model = topics(done // slots)
        mechanism = PaMarkov(model, policy, events=PAPER)
        for day in model.sample_codes(20, seed=done).tolist():  # twenty trajectories of one person
            outputs = published(mechanism, day, entropy)
            told += sum(isinstance(output, PartialEvent) for output in outputs)
            done += slots
        early = early or (memory() if done >= events // 20 else 0)
    seconds = time.perf_counter() - began
    print(
        f"PA-Markov: {done} events of {done // (20 * slots)} people in {seconds:.0f} s, {done / seconds:.0f} a second, "
        f"{told / done:.3f} of them published at least in part; highest memory {memory()} MB, "
        f"{early} MB after a twentieth",
        flush=True,
    )


def memory() -> int:
    """The most memory that the process had so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


# --- PA-HMM


class PlainPaHmm:
    """The search with the plain check: every window, every output, every path; slot by slot, bisection on the grid."""

    def __init__(self, model: HiddenMarkovModel, members: list[int], delta: float, grid: int) -> None:
        self.model, self.members, self.delta, self.grid = model, members, delta + ROOM, grid

    def private(self, silent: FloatArray) -> bool:
        """Algorithm 5 on windows of 3, by recursion over outputs."""
        model, n = self.model, len(self.model.contexts)
        for a in range(model.slots - 2):
            choices: list[list[int | None]] = [[*range(n), None]] * 3
            for first in choices[0]:
                for second in choices[1]:
                    for third in choices[2]:
                        if not self._within(a, (first, second, third), silent):
                            return False
        return True

    def _within(self, a: int, outputs: tuple[int | None, ...], silent: FloatArray) -> bool:
        model = self.model
        for u in range(3):
            ahead, inside = model.state_prior[a], model.state_prior[a]
            for k, output in enumerate(outputs):
                emission, s = model.emissions[a + k], silent[a + k]
                if output is None:
                    told, part = emission @ s, emission[:, self.members] @ s[self.members]
                else:
                    told = emission[:, output] * (1 - s[output])
                    part = told if output in self.members else told * 0
                ahead, inside = ahead * told, inside * (part if k == u else told)
                if k < 2:
                    ahead, inside = ahead @ model.transitions[a + k], inside @ model.transitions[a + k]
            total = ahead.sum()
            prior = model.prior[a + u, self.members].sum()
            if total > 0 and inside.sum() / total - prior > self.delta:
                return False
        return True

    def search(self) -> FloatArray:
        """From all silent, each event to the lowest level on the grid that passes."""
        silent = np.ones((self.model.slots, len(self.model.contexts)))
        for t in range(self.model.slots):
            for e in np.argsort(-self.model.prior[t], kind="stable").tolist():
                low, high = 0, self.grid
                while low < high:
                    middle = (low + high) // 2
                    silent[t, e] = middle / self.grid
                    low, high = (low, middle) if self.private(silent) else (middle + 1, high)
                silent[t, e] = high / self.grid
        return silent


def pa_hmm() -> None:
    """The search against its plain twin on a small model, and alone at the paper's sizes."""
    model, policy = topics(2, SMALL, states=3, slots=5), secret(0.15, SMALL)
    PaHmm(model, policy, budget=1)  # compiles
    members = [c for c, context in enumerate(SMALL.contexts) if context in policy.contexts]
    found: dict[str, FloatArray] = {}

    def ours() -> None:
        found["ours"] = PaHmm(model, policy, budget=1).p

    def plain() -> None:
        found["plain"] = 1 - PlainPaHmm(model, members, 0.15, 10).search()

    best = alternating({"ours": ours, "plain": plain}, repetitions=1)
    same = np.allclose(found["ours"], found["plain"], atol=1e-12)
    ratio = best["plain"] / best["ours"]
    print(
        f"PA-HMM search, 4 events x 5 positions: {best['ours'] * 1e3:.1f} ms, plain twin {best['plain']:.1f} s: "
        f"{ratio:.0f}x (at least 50x), same vector: {same}",
        flush=True,
    )
    for states in (4, 8):
        began = time.perf_counter()
        mechanism = PaHmm(topics(0, states=states), secret(0.1), budget=1)
        seconds = time.perf_counter() - began
        began = time.perf_counter()
        more = PaHmm(topics(0, states=states), secret(0.1))
        print(
            f"PA-HMM search, 96 events x 50 positions, {states} topics: one walk {seconds:.2f} s, utility "
            f"{float(mechanism.expected_utility()):.3f}; default budget {time.perf_counter() - began:.1f} s, "
            f"{more.vectors} vectors, utility {float(more.expected_utility()):.3f}",
            flush=True,
        )


# --- adaptive release


def adaptive(outputs: str, events: int, states: int, delta: float) -> None:
    """Events a second, what is published, and what a million would take."""
    model, policy, entropy = topics(0, states=states), secret(delta), SystemEntropy()
    mechanism = Adaptive(model, policy, outputs=outputs, events=PAPER)  # type: ignore[arg-type]
    mechanism.kernel(mechanism.start())  # compiles
    days = model.sample_codes(max(1, events // model.slots), seed=1).tolist()
    shown, times = 0.0, []
    for day in days:
        state = mechanism.start()
        for context in day:
            began = time.perf_counter()
            output = mechanism.kernel(state).sample(context, entropy)
            state = mechanism.advance(state, output)
            times.append(time.perf_counter() - began)
            shown += mechanism.vocabulary.worth_of(model.contexts[context], output)
    spent = np.array(times) * 1e3
    print(
        f"Adaptive {outputs}, {states} topics, delta {delta:g}: {len(times)} events, {1e3 / spent.mean():.0f} a second "
        f"(p50 {np.median(spent):.1f} ms, p99 {np.percentile(spent, 99):.0f} ms), utility {shown / len(times):.3f}, "
        f"{mechanism.effort.given_up} given up; a million would take {spent.mean() * 1e3 / 3600:.1f} hours on one core",
        flush=True,
    )


def utilities() -> None:
    """What each publishes of the same person, beside what is breached by the audit's model on drawn trajectories."""
    from discreet.evaluation.metrics import evaluate

    model = topics(0)
    days = model.sample(5, seed=3)
    for delta in (0.1, 0.3):
        policy = secret(delta)
        made: dict[str, Any] = {
            "PaMarkov": PaMarkov(model, policy, events=PAPER),
            "NoInternal": NoInternal(model, policy, events=PAPER),
            "PaHmm": PaHmm(model, policy),
            "Adaptive attributes": Adaptive(model, policy, outputs="attributes", events=PAPER),
        }
        for name, mechanism in made.items():
            result = evaluate(mechanism, days)
            print(
                f"delta {delta:g}, {name}: utility {result.utility:.3f}, breach rate {result.breach_rate:.3f}, "
                f"worst gain {result.worst_gain:.3f}",
                flush=True,
            )


def seams(people: int = 4, events: int = 150) -> None:
    """The same people in pieces of 50 and as one stream each: what is shown, and processor time, person by person."""
    from discreet.models.topics.simulate import topic_model, trajectories
    from discreet.publish import Plan, TopicHabits, policy_for

    truth = topic_model(people=people, topics=4, sizes=(4, 3, 6), seed=1)
    everybody = trajectories(truth, length=(events, events), seed=1)
    policy = policy_for(Policy("activity=activity 1", delta=0.1), truth.events)
    for outputs in ("suppress", "attributes"):
        whole = Plan(TopicHabits(truth), policy, Spec("adaptive", {"outputs": outputs}))
        in_pieces_and_whole("simulated", whole, everybody)


def recorded_seams(folder: Path, people: int = 8, events: int = 150) -> None:
    """The same of recorded people (dining and check-ins), whose topics are learned from everybody's first events."""
    from collections import Counter

    from discreet.data import read_trajectories
    from discreet.publish import Plan
    from discreet_experiments.s_ppatp.run import FILES
    from discreet_experiments.shared.people import existing, spread

    for data, (name, columns) in FILES.items():
        read = read_trajectories(existing(folder, name), columns=columns, zone="UTC")
        everybody = [replace(one, events=one.events[:events], timestamps=None) for one in read]
        counts = Counter(event.activity for one in everybody for event in one.events)
        frequent = [activity for activity, count in counts.items() if count >= counts.total() / 20]
        chosen = Policy(f"activity={min(frequent, key=lambda one: (counts[one], one))}", delta=0.1)
        long = spread([one for one in everybody if len(one) == events], people)
        learned = Plan.learn(everybody, chosen, topics=4, sweeps=400)
        for outputs in ("suppress", "attributes"):
            in_pieces_and_whole(data, replace(learned, mechanism=Spec("adaptive", {"outputs": outputs})), long)


def in_pieces_and_whole(data: str, whole: Plan, everybody: Sequence[Trajectory]) -> None:
    """Print what people show in pieces of 50, as one stream, and as one day as long as they are; what joined pieces
    tell; and processor time. The day keeps every row: a promise about all of it too, and the square of the length."""
    from discreet.publish import RunKey
    from discreet.publish.joined import join_pieces
    from discreet.publish.person import published

    plans = {
        "pieces of 50": replace(whole, piece_length=50),
        "one stream": replace(whole, piece_length=None),
        "one day of all": replace(whole, piece_length=max(map(len, everybody))),
    }
    draws = 3
    shown, spent = dict.fromkeys(plans, 0.0), dict.fromkeys(plans, 0.0)
    for one in everybody:
        for name, plan in plans.items():
            for seed in range(draws):
                began = time.process_time()
                shown[name] += published(plan, one, RunKey.of_seed(seed)).report.attributes
                spent[name] += time.process_time() - began
    events = sum(map(len, everybody))
    told = ", ".join(
        f"{name} {shown[name] / events / draws:.3f} ({spent[name] * 1e3 / events / draws:.1f} ms an event)"
        for name in plans
    )
    joined = join_pieces(plans["pieces of 50"], everybody, events=events)
    print(
        f"Adaptive {whole.mechanism.options['outputs']}, {data}, {len(everybody)} people, {events} events, {draws} "
        f"draws: {told}; the stream's speed {spent['pieces of 50'] / spent['one stream']:.2f} of the pieces' (bar: "
        f"0.8), utility {shown['one stream'] / shown['pieces of 50']:.2f} of it (bar: 0.97); "
        f"{joined.in_words if joined else 'nothing to join'}",
        flush=True,
    )


def adaptives() -> None:
    """Adaptive's events a second."""
    adaptive("suppress", 10_000, 8, 0.1)
    for states, delta in ((4, 0.1), (8, 0.1), (8, 0.3)):
        adaptive("attributes", 400, states, delta)


PARTS = {
    "pa-markov": pa_markov,
    "pa-hmm": pa_hmm,
    "adaptive": adaptives,
    "utilities": utilities,
    "seams": seams,
    "million": million,
}


def main(options: Sequence[str] = ()) -> None:
    """Print the tables, or one part of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks trajectories")
    parser.add_argument("--part", choices=tuple(PARTS))
    parser.add_argument("--data", type=Path, help="the folder of recorded data, for seams")
    given = parser.parse_args(list(options))
    for name, part in PARTS.items():
        if given.part in (None, name):
            part()
    if given.data is not None and given.part in (None, "seams"):
        recorded_seams(given.data)
