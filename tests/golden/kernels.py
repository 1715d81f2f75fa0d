"""Small models of every mechanism, and a digest of the integer weights of each: what must be the same on every machine.

`python -m tests.golden.kernels` prints the digests as JSON, of every case or, with a number, of one in so many; with
`--write` it writes the file that the tests compare with. Models are made of small integers, so that they are the same
everywhere: a library's gamma or logarithm is not.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import discreet as d
from discreet.contracts import is_finite
from discreet.numerics import FloatArray
from discreet.outputs import SUPPRESSED, Output
from tests.mechanisms.perturbation import hulls_digest

FILE = Path(__file__).with_name("kernels.json")

WALKS = 3
"""Days whose kernels are digested for each mechanism."""


def rows(rng: np.random.Generator, shape: tuple[int, ...], zeros: float = 0.25) -> FloatArray:
    """Rows of probabilities from integers up to 1,000 cubed, some of them zero: some likely, some rare."""
    counts = rng.integers(1, 1000, size=shape) ** 3
    counts = np.where(rng.integers(1000, size=shape) < 1000 * zeros, 0, counts)
    counts[..., 0] += counts.sum(axis=-1) == 0  # no row is empty
    return np.asarray(counts / counts.sum(axis=-1, keepdims=True))


def total(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Rows in which nothing is impossible."""
    return np.asarray(0.95 * rows(rng, shape) + 0.05 / shape[-1])


def chain(seed: int, n: int, slots: int, zeros: float = 0.25) -> d.MarkovChain:
    rng = np.random.default_rng(seed)
    return d.MarkovChain(tuple(f"c{k}" for k in range(n)), rows(rng, (n,), zeros), rows(rng, (slots - 1, n, n), zeros))


def hidden(seed: int, states: int, n: int, slots: int) -> d.HiddenMarkovModel:
    rng = np.random.default_rng(seed)
    steps, emissions = rows(rng, (slots - 1, states, states)), rows(rng, (states, n), 0.1)
    return d.HiddenMarkovModel(tuple(f"c{k}" for k in range(n)), rows(rng, (states,), 0.0), steps, emissions)


def events(seed: int, slots: int) -> tuple[d.Events, d.HiddenMarkovModel]:
    rng = np.random.default_rng(seed)
    vocabulary = d.Events(("work", "play"), ("day", "night"), ("here", "there"))
    n = len(vocabulary.contexts)
    model = d.HiddenMarkovModel(
        vocabulary.contexts, rows(rng, (2,), 0.0), rows(rng, (slots - 1, 2, 2), 0.0), rows(rng, (2, n), 0.2)
    )
    return vocabulary, model


def policy(seed: int, n: int, slots: int, any_slot: bool = True) -> d.Policy:
    rng = np.random.default_rng([seed, 1])
    secrets = [d.Secret("first", {f"c{rng.integers(n)}"})]
    if any_slot and seed % 3 == 0:
        secrets.append(d.Secret("today", {f"c{rng.integers(n)}"}, at="any", delta=0.2))
    if seed % 2:
        secrets.append(d.Secret("early", {f"c{rng.integers(n)}"}, slots=range(max(1, slots // 2))))
    return d.Policy(secrets, delta=(0.05, 0.1, 0.2, 1 / 3)[seed % 4])


def tree(n: int) -> d.Hierarchy:
    half = [f"c{k}" for k in range(n)]
    return d.Hierarchy({"all": {"left": half[: n // 2], "right": half[n // 2 :]}})


Case = tuple[str, Callable[[], Any]]


def adaptive() -> Iterator[Case]:
    kind: Any = d.mechanisms.Adaptive
    for seed in range(24):
        n, slots = 3 + seed % 6, 4 + seed % 5
        habits, own = chain(seed, n, slots), policy(seed, n, slots)
        for memory in ("last", "none"):
            for outputs in ("suppress", "deceive"):
                yield (
                    f"adaptive {outputs} {memory} {seed}",
                    partial(kind, habits, own, outputs=outputs, memory=memory),
                )
        if n < 5:  # with more, days are long enough to take seconds: their utility is enumerated
            yield f"adaptive generalize {seed}", partial(kind, habits, own, outputs="generalize", hierarchy=tree(n))
        states, few = 2 + seed % 3, 3 + seed % 3
        veiled, its = hidden(seed, states, few, slots), policy(seed, few, slots)
        for outputs in ("suppress", "deceive"):
            yield f"adaptive hidden {outputs} {seed}", partial(kind, veiled, its, outputs=outputs)


def larger() -> Iterator[Case]:
    """Sums longer than eight lanes, programmes with many pivots, and more pairs than memory tells apart."""
    kind: Any = d.mechanisms.Adaptive
    for seed, (n, slots, zeros) in enumerate(((12, 10, 0.3), (17, 6, 0.1), (24, 4, 0.0))):
        given = chain(300 + seed, n, slots, zeros), policy(seed, n, slots)
        yield f"adaptive larger suppress {seed}", partial(kind, *given, plan="lazy")
        yield f"adaptive larger deceive {seed}", partial(kind, *given, outputs="deceive")
        yield f"hybrid larger {seed}", partial(d.mechanisms.Hybrid, given[0], policy(seed, n, slots, any_slot=False))
        yield f"capp larger {seed}", partial(d.mechanisms.Capp, *given)


def without_end() -> Iterator[Case]:
    """Routines of weekdays and weekends, total by a floor; windows over midnight; a start that is known."""
    kind: Any = d.mechanisms.Adaptive
    for seed in range(16):
        n, slots = 2 + seed % 4, 1 + seed % 4
        labels = tuple(f"c{k}" for k in range(n))
        rng = np.random.default_rng([seed, 2])
        parts = ("weekday", "weekend")
        chains = {part: d.MarkovChain(labels, np.full(n, 1 / n), total(rng, (slots - 1, n, n))) for part in parts}
        routine = d.Routine(chains, {(a, b): total(rng, (n, n)) for a in parts for b in parts})
        own = policy(seed, n, slots)
        if seed % 5 == 4 and slots > 1:
            night = d.Secret("night", {"c0"}, slots=[0, slots - 1], at="any", delta=0.2, begins=slots - 1)
            own = d.Policy([*own.secrets, night], delta=own.delta)
        initial = np.eye(n)[0] if seed % 4 == 3 else None
        model = routine.since("2026-11-20", initial)
        for memory in ("last", "none"):
            for outputs in ("suppress", "deceive"):
                yield f"endless {outputs} {memory} {seed}", partial(kind, model, own, outputs=outputs, memory=memory)


def published() -> Iterator[Case]:
    """MaskIt, CAPP and FDH."""
    m = d.mechanisms
    for seed in range(12):
        n, slots = 3 + seed % 4, 4 + seed % 4
        given = chain(100 + seed, n, slots), policy(seed, n, slots, any_slot=False)
        yield f"no mask {seed}", partial(m.NoMask, *given)
        yield f"mask sensitive {seed}", partial(m.MaskSensitive, *given)
        yield f"simulatable {seed}", partial(m.Simulatable, *given)
        yield f"simulatable ahead {seed}", partial(m.Simulatable, *given, lookahead=True)
        yield f"probabilistic exact {seed}", partial(m.Probabilistic, *given, search="exact")
        yield f"probabilistic best {seed}", partial(m.Probabilistic, *given)
        yield f"probabilistic mondrian {seed}", partial(m.Probabilistic, *given, search="mondrian")
        short = chain(200 + seed, 3, 2), policy(seed, 3, 2, any_slot=False)
        yield f"probabilistic algpr {seed}", partial(m.Probabilistic, *short, search="algpr", grid=5)
        yield f"hybrid {seed}", partial(m.Hybrid, *given)
        yield f"hybrid exact {seed}", partial(m.Hybrid, *given, search="exact")
        labels = {f"c{k}": frozenset({f"c{k}", f"c{k ^ 1}"} & set(given[0].contexts)) for k in range(n)}
        yield f"set-labelled {seed}", partial(m.SetLabelled, *given, labels=labels)
        yield f"capp published {seed}", partial(m.Capp, *given, constraints="published")
        yield f"capp bayes {seed}", partial(m.Capp, *given, constraints="bayes")
        yield f"efficient fake {seed}", partial(m.EfficientFake, *given)
        yield f"fdh {seed}", partial(m.Fdh, *given, hierarchy=tree(n))


def of_events() -> Iterator[Case]:
    m = d.mechanisms
    for seed in range(6):
        vocabulary, model = events(seed, 4)
        own = d.Policy([vocabulary.secret("activity", "play")], delta=(0.1, 0.2)[seed % 2])
        yield f"sensitive mask {seed}", partial(m.SensitiveMask, model, own)
        yield f"pa-markov {seed}", partial(m.PaMarkov, model, own)
        yield f"no internal {seed}", partial(m.NoInternal, model, own)
        if seed < 3:
            yield f"pa-hmm {seed}", partial(m.PaHmm, model, own, window=3, grid=3)
        yield f"adaptive attributes {seed}", partial(m.Adaptive, model, own, outputs="attributes")


def digest(name: str, mechanism: Any) -> str:
    """Of the kernels met on a few days, whose outputs are drawn by the case's name: outputs and integer weights."""
    found = hashlib.sha256()
    rng = np.random.default_rng(list(name.encode()))
    for _ in range(WALKS):
        state = mechanism.start()
        for _ in range(mechanism.model.slots or 5 * mechanism.model.day_slots + 3):
            kernel = mechanism.kernel(state)
            assert is_finite(kernel)
            found.update(repr(kernel.outputs).encode())
            found.update(np.ascontiguousarray(kernel.weights).tobytes())
            found.update(str(kernel.total).encode())
            given = [k for k, column in enumerate(kernel.weights.T) if column.any()]
            output: Output = kernel.outputs[given[int(rng.integers(len(given)))]] if given else SUPPRESSED
            state = mechanism.advance(state, output)
    return found.hexdigest()


def cases() -> dict[str, Callable[[], str]]:
    """How to make the digest of every case."""
    finite = [*adaptive(), *larger(), *without_end(), *published(), *of_events()]
    found: dict[str, Callable[[], str]] = {name: partial(_of, name, make) for name, make in finite}
    return found | {f"dphmm {name}": make for name, make in hulls_digest.cases()}


def _of(name: str, make: Callable[[], Any]) -> str:
    return digest(name, make())


def some(every: int, first: int = 0) -> list[str]:
    """The names of one case in `every`, of each family."""
    return list(cases())[first::every]


def digests(names: list[str] | None = None) -> dict[str, str]:
    """The digests of these cases, or of every one."""
    return {name: make() for name, make in cases().items() if names is None or name in names}


def main() -> None:
    """Print the digests, or write them."""
    every = next((int(word) for word in sys.argv[1:] if word.isdigit()), 1)
    text = json.dumps(digests(some(every)), indent=0, sort_keys=True) + "\n"
    if "--write" in sys.argv:
        FILE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
