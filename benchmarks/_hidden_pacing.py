"""Of what is held back over hidden Markov models without end: what is released, and how long a decision takes.

`python -m benchmarks._hidden_pacing` prints a line a pacing and vocabulary, over twenty random models: 2 to 4 hidden
states, 3 to 5 contexts, one secret at delta 0.1, 120 positions each. It takes a minute.
"""

from __future__ import annotations

import time
from typing import Literal

import numpy as np

import discreet as d
from discreet.mechanisms.adaptive import machine
from discreet.mechanisms.adaptive.slots import HIDDEN_PACING, Pacing
from discreet.models.hidden.endless import EndlessHidden
from discreet.outputs import Released
from discreet.randomness import SeededEntropy

PACINGS = [
    HIDDEN_PACING,
    Pacing(0.0, 0.8),
    Pacing(0.02, 0.95),
    Pacing(0.1, 0.95),
    Pacing(0.2, 0.95),
    Pacing(0.3, 0.6),
    Pacing(0.3, 0.8),
    Pacing(0.3, 0.9),
    Pacing(0.5, 0.8),
    Pacing(0.7, 0.8),
]
MODELS, POSITIONS = 20, 120


def model_of(seed: int) -> EndlessHidden:
    """States that stay with probability 0.4 or more, and emit few contexts each."""
    rng = np.random.default_rng(seed)
    states, contexts = int(rng.integers(2, 5)), int(rng.integers(3, 6))
    step = 0.4 * np.eye(states) + 0.6 * rng.dirichlet(np.full(states, 0.8), size=states)
    emission = rng.dirichlet(np.full(contexts, 0.5), size=states)
    initial = rng.dirichlet(np.ones(states))
    return EndlessHidden([f"c{k}" for k in range(contexts)], initial, step, emission)


def lived(model: EndlessHidden, seed: int) -> list[str]:
    """A path of the model."""
    rng, found = np.random.default_rng([seed, 9]), []
    state = rng.choice(len(model.initial), p=model.initial)
    for t in range(POSITIONS):
        found.append(model.contexts[rng.choice(len(model.contexts), p=model.emissions[state])])
        state = rng.choice(len(model.initial), p=model.transition(t)[state])
    return found


def measured(seed: int, outputs: Literal["suppress", "deceive"], pacing: Pacing) -> tuple[float, float]:
    """The share that was released as it was, and milliseconds of processor time a decision."""
    machine.HIDDEN_PACING = pacing  # type: ignore[attr-defined]
    model = model_of(seed)
    mechanism = d.mechanisms.Adaptive(model, d.Policy(["c0"], delta=0.1), outputs=outputs)
    session, contexts = d.Session(mechanism, rng=SeededEntropy(seed)), lived(model, seed)
    began = time.process_time()
    true = sum(session.release(context) == Released(context) for context in contexts)
    return true / POSITIONS, (time.process_time() - began) / POSITIONS * 1000


def main() -> None:
    """Print the table."""
    for outputs in ("suppress", "deceive"):
        for pacing in PACINGS:
            found = [measured(seed, outputs, pacing) for seed in range(MODELS)]
            utility, milliseconds = np.mean(found, axis=0)
            held, fading, kept = pacing
            told = f"held {held:4} fading {fading:4} kept {kept:3}"
            print(f"{outputs:9} {told}: {utility:.3f} released, {milliseconds:.1f} ms")


if __name__ == "__main__":
    main()
