"""Adaptive without end: the time of a decision, what a stream of months holds, and its share of what is possible.

Times of decisions are of the processor, so that what else the machine does stays out of the 99th percentile, and of the
wall clock beside them.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from benchmarks._timing import alternating
from benchmarks.adaptive import PEOPLE, SECRETS
from discreet.adversary import doubled, steps
from discreet.adversary.checkpoint import Checkpoint
from discreet.adversary.unrolled import Unrolled
from discreet.evaluation.limit import Outputs, limit
from discreet.mechanisms import Adaptive
from discreet.mechanisms.adaptive.slots import Pacing
from discreet.mechanisms.utility import tree_utility
from discreet.models import MarkovChain
from discreet.models.routine.endless import EndlessChain
from discreet.models.routine.routine import Routine
from discreet.models.simulate import person
from discreet.numerics import FloatArray
from discreet.policy import Policy
from discreet.randomness import SeededEntropy
from discreet.session import Session

SINCE = "2026-11-16"
OUTPUTS: tuple[Outputs, ...] = ("suppress", "deceive")
BEFORE, TIMED = 7, 3
"""Days that are walked before decisions are timed, and days that are."""

WHOLE = 10**6
"""More kernels than the trees of outputs here have."""

PACINGS = ((0.0, 0.95), (0.01, 0.95), (0.02, 0.95), (0.05, 0.95), (0.1, 0.8), (0.1, 0.95), (0.2, 0.95), (0.3, 0.95))
"""Schedules that are compared, as (held, fading)."""


class Walk(NamedTuple):
    """A stream slot by slot: seconds of each decision, by the processor and by the wall clock, and its session."""

    processor: FloatArray
    wall: FloatArray
    session: Session


def habits(contexts: int, slots: int) -> EndlessChain:
    """A simulated person's routine with about so many contexts: `other` is added to theirs."""
    places, seeds = PEOPLE[contexts]
    days = person(days=200, slots=slots, contexts=places, seed=seeds[0])
    if len(seeds) > 1:  # one who moved house
        days = days[:100] + person(days=200, slots=slots, contexts=places, seed=seeds[1])[100:]
    return Routine.fit(days, secrets=SECRETS).since(SINCE)


def drawn(endless: EndlessChain, days: int, seed: int = 3) -> list[str]:
    """A path of the chain, as labels."""
    rng = np.random.default_rng(seed)
    code = int(rng.choice(len(endless.contexts), p=endless.initial))
    path = [code]
    for t in range(endless.first, endless.first + days * endless.day_slots - 1):
        code = int(rng.choice(len(endless.contexts), p=endless.transition(t)[code]))
        path.append(code)
    return [endless.contexts[code] for code in path]


def walk(mechanism: Adaptive, labels: list[str]) -> Walk:
    """Release them in a session; its release is what is timed."""
    session = Session(mechanism, rng=SeededEntropy(1))
    processor, wall = np.empty(len(labels)), np.empty(len(labels))
    for t, label in enumerate(labels):
        began, on_the_wall = time.thread_time(), time.perf_counter()
        session.release(label)
        processor[t], wall[t] = time.thread_time() - began, time.perf_counter() - on_the_wall
    return Walk(processor, wall, session)


def decisions(contexts: int, slots: int, outputs: Outputs) -> None:
    """Decisions with memory, seven days in."""
    endless = habits(contexts, slots)
    began = time.thread_time()
    mechanism = Adaptive(endless, Policy(SECRETS, delta=0.1), outputs=outputs)
    made = time.thread_time() - began
    found = walk(mechanism, drawn(endless, BEFORE + TIMED))
    later = BEFORE * slots
    line = f"{outputs}, n = {len(endless.contexts)}, T = {slots}, horizon {mechanism.horizon}:"
    for name, seconds in (("processor", found.processor), ("wall", found.wall)):
        middle, high = np.percentile(1e3 * seconds[later:], [50, 99])
        line += f" {name} p50 {middle:.2f} ms, p99 {high:.1f} ms, most {1e3 * seconds[later:].max():.1f} ms;"
    effort = mechanism.effort
    print(
        f"{line} made in {made:.1f} s; {effort.programmes} programmes, {effort.without_memory} without memory, "
        f"{effort.simple} simple, {effort.given_up} given up",
        flush=True,
    )


def resident() -> float:
    """Megabytes that this process holds now (Linux); a peak of the past would hide what a stream takes."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize() / 1e6


def stretches(contexts: int, slots: int, outputs: Outputs, until: tuple[int, ...]) -> None:
    """What a long stream holds and takes, in a process of its own."""
    process = multiprocessing.get_context("spawn").Process(target=_stretches, args=(contexts, slots, outputs, until))
    process.start()
    process.join()


def _stretches(contexts: int, slots: int, outputs: Outputs, until: tuple[int, ...]) -> None:
    endless = habits(contexts, slots)
    mechanism = Adaptive(endless, Policy(SECRETS, delta=0.1), outputs=outputs)
    labels = drawn(endless, until[-1])
    session = Session(mechanism, rng=SeededEntropy(1))
    before, began, most, held = resident(), time.thread_time(), 0, 0.0
    for t, label in enumerate(labels, 1):
        session.release(label)
        most = max(most, len(session.belief.rows.secret))
        if t % slots == 0:
            held = max(held, resident())
        if t % slots == 0 and t // slots in until:
            belief = session.belief
            size = belief.stack.nbytes + belief.low.nbytes + sum(part.nbytes for part in belief.rows)
            seconds = time.thread_time() - began
            print(
                f"{outputs}, n = {len(endless.contexts)}, T = {slots}, {t // slots} days: {len(belief.rows.secret)} "
                f"past rows live (most {most}), {len(belief.live()[0].secret)} with those to come; a belief "
                f"{size / 1e3:.0f} kB; {held:.0f} MB in all, {held - before:.0f} MB more than before the "
                f"first slot; {seconds:.0f} s, {1e3 * seconds / t:.2f} ms a slot",
                flush=True,
            )


def resuming(contexts: int, slots: int, outputs: Outputs) -> None:
    """From a checkpoint, with no outputs since and with a day's."""
    endless = habits(contexts, slots)
    mechanism = Adaptive(endless, Policy(SECRETS, delta=0.1), outputs=outputs)
    labels = drawn(endless, BEFORE)
    session = Session(mechanism, rng=SeededEntropy(1))
    for label in labels[:-slots]:
        session.release(label)
    text = session.checkpoint().to_json()
    since = [session.release(label) for label in labels[-slots:]]
    digest = session.digest
    alone, after = [], []
    for _ in range(5):
        fresh = Adaptive(endless, Policy(SECRETS, delta=0.1), outputs=outputs)
        began = time.perf_counter()
        Session.resume(fresh, checkpoint=Checkpoint.from_json(text))
        alone.append(time.perf_counter() - began)
        began = time.perf_counter()
        resumed = Session.resume(fresh, since, checkpoint=Checkpoint.from_json(text), digest=digest)
        after.append(time.perf_counter() - began)
        assert resumed.slot == session.slot
    print(
        f"resume, {outputs}, n = {len(endless.contexts)}, T = {slots}: {1e3 * min(alone):.1f} ms from a checkpoint of "
        f"{len(text) / 1e3:.0f} kB, {1e3 * min(after):.0f} ms with {slots} outputs since",
        flush=True,
    )


def filtering(contexts: int, slots: int, rows: int = 64) -> None:
    """One slot of the filter in pairs of floats against plain floats, on the same rows, all of them dense."""
    endless = habits(contexts, slots)
    adversary = Adaptive(endless, Policy(SECRETS, delta=0.1), outputs="deceive").adversary
    step, step_low, private = adversary.filter.arrival(endless.first + 1)
    rng, n = np.random.default_rng(1), len(endless.contexts)
    likelihood, stack = rng.random(adversary.private_states), rng.random((rows, n)) / n
    low, none, nobody = 2.0**-60 * stack, np.zeros((0, n)), np.zeros(0)

    def pairs() -> object:
        return doubled.pushed(stack, low, step, step_low, private, likelihood)

    def plain() -> object:
        gains = np.zeros(rows - 1)
        return steps.seen_step(
            stack, step, private, adversary.filter.hidden, likelihood, none, none, nobody, none, none, gains
        )

    best = alternating({"pairs": pairs, "plain": plain}, 500)
    print(
        f"filter, n = {n}, {rows} rows: pairs of floats {1e6 * best['pairs']:.0f} us, plain floats "
        f"{1e6 * best['plain']:.0f} us: {best['pairs'] / best['plain']:.1f}x",
        flush=True,
    )


# --- shares of the limit


def random_routine(seed: int, contexts: int, slots: int) -> Routine:
    """A total one: rows from Dirichlet(0.7), mixed with a thousandth of everything."""
    rng = np.random.default_rng(seed)

    def rows(*shape: int) -> FloatArray:
        return np.asarray(0.999 * rng.dirichlet(np.full(contexts, 0.7), size=shape) + 0.001 / contexts)

    chain = MarkovChain([f"c{k}" for k in range(contexts)], rows(), rows(slots - 1, contexts))
    return Routine({"day": chain}, {("day", "day"): rows(contexts)})


class _Tree:
    """The sequence form of evaluation/limit.py, in floats: a variable for each path of contexts and of outputs."""

    def __init__(self, endless: EndlessChain, slots: int, outputs: Outputs) -> None:
        self.equal: list[tuple[int, int, float]] = []
        self.right: list[float] = []
        self.worth: list[float] = []
        n, first = len(endless.contexts), endless.first
        self.leaves: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {(): {(): -1}}
        for t in range(slots):
            step = np.tile(endless.initial, (n, 1)) if t == 0 else endless.transition(first + t - 1)
            before, self.leaves = self.leaves, {}
            for path, histories in before.items():
                for c in range(n):
                    chance = float(step[path[-1] if path else 0, c])
                    allowed = range(n) if outputs == "deceive" else (c, n)  # n: silence
                    self.leaves[*path, c] = {
                        (*history, o): variable
                        for history, above in histories.items()
                        for o, variable in zip(allowed, self._shared(above, chance, c, allowed), strict=True)
                    }

    def _shared(self, above: int, chance: float, context: int, allowed: range | tuple[int, int]) -> list[int]:
        """The variables of the outputs after a history, which share what the history has."""
        row = len(self.right)
        made = []
        for o in allowed:
            made.append(len(self.worth))
            self.worth.append(float(o == context))
            self.equal.append((row, made[-1], 1.0))
        if above >= 0:
            self.equal.append((row, above, -chance))
        self.right.append(0.0 if above >= 0 else chance)
        return made


def limit_without_end(endless: EndlessChain, slots: int, policy: Policy, outputs: Outputs, later: int = 100) -> float:
    """The most that any causal mechanism tells in the first `slots` slots if the promise holds for later ones too.

    The limit of a chain that ends asks nothing of slots after its last: what the last output tells of them is free
    there. A stream goes on, so these rows belong to its limit: P(secret at u | last context) for u from `slots` on.
    """
    tree = _Tree(endless, slots, outputs)
    table, first = policy.for_days(endless.contexts, endless.day_slots), endless.first
    paths = np.array(list(tree.leaves))  # (X, slots)
    beyond = []
    for g in range(len(table.names)):
        member, ahead = table.members[g].astype(np.float64), np.eye(len(endless.contexts))
        for u in range(slots + later):
            if u >= slots:
                ahead = ahead @ endless.transition(first + u - 1)
            inside = member[paths[:, u]] if u < slots else (ahead @ member)[paths[:, -1]]
            row = inside - float(endless.prior_at(first + u) @ member) - policy.delta_of(policy.secrets[g])
            if row.max() > 0:
                beyond.append(row)
    histories = {history for own in tree.leaves.values() for history in own}
    number = {history: k * len(beyond) for k, history in enumerate(sorted(histories))}
    told = [
        (number[history] + j, variable, row[x])
        for x, own in enumerate(tree.leaves.values())
        for history, variable in own.items()
        for j, row in enumerate(beyond)
    ]

    def matrix(entries: list[tuple[int, int, float]], rows: int) -> object:
        at, column, value = zip(*entries, strict=True)
        return coo_array((value, (at, column)), shape=(rows, len(tree.worth))).tocsr()

    below = (
        {}
        if not beyond
        else {"A_ub": matrix(told, len(number) * len(beyond)), "b_ub": [0.0] * len(number) * len(beyond)}
    )
    best = linprog(-np.array(tree.worth), **below, A_eq=matrix(tree.equal, len(tree.right)), b_eq=tree.right)
    assert best.status == 0, best.message
    return float(-best.fun) / slots


def paced(pacing: tuple[float, float]) -> type[Adaptive]:
    """Adaptive with another pacing."""

    class Paced(Adaptive):
        pass

    Paced.pacing = Pacing(*pacing)
    return Paced


def shares(routines: int = 30, slots: int = 4) -> None:
    """Expected utility over the first four slots, over the tree of outputs, as a share of two limits."""
    policy = Policy("c0", delta=0.1)
    for outputs in OUTPUTS:
        lines: dict[str, list[tuple[float, float]]] = {}
        for contexts in (2, 3):
            for day in (2, 4):
                for seed in range(900_000, 900_000 + routines):
                    endless = random_routine(seed, contexts, day).since(SINCE)
                    chain = endless.unrolled(slots // day)
                    ends = float(limit(chain, policy, outputs))
                    goes_on = limit_without_end(endless, slots, policy, outputs)
                    if goes_on < 1e-9:
                        continue
                    known = {"the best without end": goes_on}
                    known["on the chain that ends"] = float(Adaptive(chain, policy, outputs=outputs).expected_utility())
                    for pacing in PACINGS:
                        mechanism = paced(pacing)(endless, policy, outputs=outputs)
                        utility = tree_utility(Unrolled(mechanism, slots // day), mechanism.worth, WHOLE)
                        assert utility is not None
                        known[f"held {pacing[0]:g}, fading {pacing[1]:g}"] = float(utility)
                    for name, value in known.items():
                        lines.setdefault(name, []).append((value / ends, value / goes_on))
        for name, found in lines.items():
            of_ends, of_goes_on = np.mean(found, axis=0)
            print(
                f"{outputs}, {name}: {of_ends:.4f} of the limit of the chain that ends, {of_goes_on:.4f} of that "
                f"without end, on {len(found)} routines",
                flush=True,
            )


def main() -> None:
    """Print the tables."""
    for outputs in OUTPUTS:
        for contexts, slots in ((20, 48), (20, 96), (40, 48), (40, 96)):
            decisions(contexts, slots, outputs)
    for contexts, slots in ((20, 48), (40, 96)):
        filtering(contexts, slots)
        resuming(contexts, slots, "deceive")
    for outputs in OUTPUTS:
        stretches(12, 24, outputs, (3, 30, 300))
    stretches(20, 96, "suppress", (3, 30, 365))
    shares()
