"""An observer who has bytes and nothing else: a plain filter over private states, told what everybody may know.

It shares nothing with the adversary of the library but the mechanism, which is public, and the habits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.numerics import FloatArray
from discreet.outputs import Output, from_wire


def outputs_of(events: Iterable[Mapping[str, Any]]) -> list[Output]:
    """The outputs of events as they came over the wire."""
    return [from_wire(event) for event in events]


def events_in(stream: bytes) -> list[tuple[str, Mapping[str, Any]]]:
    """The events of a stream's bytes, each with its id."""
    found = []
    for block in stream.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in lines:
            found.append((lines["id"], json.loads(lines["data"])))
    return found


class Observer:
    """Runs the public machine along outputs and keeps P(private state now, secret at slot s, all outputs) for every s.

    `gains[t]` has the belief after t + 1 outputs minus the prior, at every slot up to `ahead` slots from then.
    """

    def __init__(self, mechanism: Any, secret: str, ahead: int = 24) -> None:
        self._machine, self._model = mechanism, mechanism.model
        self._secret = self._model.contexts.index(secret)
        self._contexts = np.array([int(c) for c in mechanism.private_contexts])
        self._ahead = ahead

    def _step(self, t: int) -> FloatArray:
        """(P, P): from the private state in slot t to that in the next."""
        chances = np.asarray(self._model.transition(t))
        step = np.zeros((len(self._contexts),) * 2)
        for before, context in enumerate(self._contexts):
            for following, chance in enumerate(chances[context]):
                step[before, self._machine.remember(before, following)] += chance
        return step

    def gains(self, outputs: Sequence[Output]) -> list[dict[int, float]]:
        """After each output, {slot: belief in the secret there minus its prior}."""
        first = self._model.first
        there = self._contexts == self._secret
        now = np.zeros(len(self._contexts))
        for context, chance in enumerate(np.asarray(self._model.prior_at(first))):
            now[self._machine.remember(None, context)] += chance
        past = np.zeros((0, len(now)))
        state = self._machine.start()
        found = []
        for t, output in enumerate(outputs, first):
            past = np.vstack([past, now * there])
            likelihood = np.asarray(self._machine.kernel(state).likelihood(output))
            state = self._machine.advance(state, output)
            past, now = past * likelihood, now * likelihood
            scale = now.sum()
            past, now = past / scale, now / scale
            found.append(self._told(first, t, past.sum(axis=1), now))
            step = self._step(t)
            past, now = past @ step, now @ step
        return found

    def _told(self, first: int, t: int, past: FloatArray, now: FloatArray) -> dict[int, float]:
        believed = dict(enumerate(past.tolist(), first))
        contexts = np.zeros(len(self._model.contexts))
        np.add.at(contexts, self._contexts, now)
        for later in range(t + 1, t + 1 + self._ahead):
            contexts = contexts @ np.asarray(self._model.transition(later - 1))
            believed[later] = float(contexts[self._secret])
        return {slot: belief - float(self._model.prior_at(slot)[self._secret]) for slot, belief in believed.items()}
