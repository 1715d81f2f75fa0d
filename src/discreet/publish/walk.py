"""A piece published without a session, for people who share a model: what is public is worked out once for all of them.

`publish_piece` runs a session a slot at a time, and asks after each what an observer believes. Here a piece is drawn
first, as if the habits had a place for each of its events, along public states that are kept with their kernels; then
one compiled loop filters the whole of it, and says whether they had. Where they had not, or the habits do not know an
event, nothing of it is used, and `publish_piece` does it all: draws are by slot, so they are the same.

What is kept is a function of what is public: states, kernels, outputs and their likelihoods, by the mechanism that made
them. Whoever comes later gets the bits that a walk of their own would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from discreet.adversary import steps
from discreet.adversary.belief import Adversary
from discreet.adversary.process import EmittedProcess, SeenProcess
from discreet.contracts import Kernel, Mechanism
from discreet.kernels import FiniteKernel
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import Output, truthful
from discreet.publish.draws import PieceDraws

MOST_BYTES = 16 * 2**20
"""Of public states and kernels that are kept of one mechanism; beyond it they are forgotten, and walked anew."""

PLACE_BYTES, STEP_BYTES = 1_000, 500
"""Of what is no array, about."""


class Walked(NamedTuple):
    """What was output for a piece, and what its observer has gained at the end."""

    outputs: list[Output]
    worth: list[float]
    """How much of each event is told."""
    gains: FloatArray


class Step:
    """An output of a kernel: its likelihood's number, and what it is worth for each label."""

    __slots__ = ("column", "output", "worth")

    def __init__(self, output: Output, column: int) -> None:
        self.output = output
        self.column = column  # which of the walk's likelihoods it has; no other output, or kernel, has the same
        self.worth: dict[str, float] = {}


class Kept:
    """A kernel, which many public states may have, and the outputs that were drawn from it so far."""

    __slots__ = ("certain", "kernel", "steps")

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.steps: dict[Output, Step] = {}
        draws_nothing = isinstance(kernel, FiniteKernel) and kernel.total == 1
        self.certain: dict[int, Step] | None = {} if draws_nothing else None  # by private state


class Place:
    """A public state with its kernel, and what follows after outputs, by their columns."""

    __slots__ = ("after", "kept", "state")

    def __init__(self, state: Any, kept: Kept) -> None:
        self.state = state
        self.kept = kept
        self.after: dict[int, Place] = {}


class Walk:
    """Public states of one mechanism over days of one length, and its observer."""

    def __init__(self, mechanism: Mechanism[Any], adversary: Adversary) -> None:
        self._mechanism, self._adversary = mechanism, adversary
        self._code = {context: code for code, context in enumerate(mechanism.model.contexts)}
        self._forget()

    def _forget(self) -> None:
        self._places: dict[Any, Place] = {}
        self._kept: dict[int, Kept] = {}  # by the kernel's identity: it is kept, so that no other has the same
        self._columns = np.empty((64, len(self._mechanism.private_contexts)))
        self._first: dict[int, FloatArray] = {}  # by an output's column, the stack after it in the first slot
        self._count = self._bytes = 0

    @classmethod
    def of(cls, mechanism: Mechanism[Any], adversary: Adversary) -> Walk | None:
        """The walk, or None where a day is not filtered in one piece: by a judge with habits of their own, say."""
        process = adversary.process
        seen = isinstance(process, SeenProcess) and not process.anew and process.sparse is None
        if adversary.model is not mechanism.model or not (seen or isinstance(process, EmittedProcess)):
            return None
        return cls(mechanism, adversary)

    @property
    def nbytes(self) -> int:
        """What is kept takes about so much."""
        return self._bytes

    def walked(self, labels: Sequence[str], draws: PieceDraws) -> Walked | None:
        """The outputs for a piece as long as the model; None where the habits have no place for it."""
        truth = self._truth(labels) if len(labels) == self._adversary.process.slots else None
        if truth is None:
            return None  # a piece of another length is refused with a session's words
        if self._bytes > MOST_BYTES:
            self._forget()
        chosen: list[Step] = []
        place = self._place(self._mechanism.start())
        for slot, private in enumerate(truth):
            certain = place.kept.certain
            step = None if certain is None else certain.get(private)
            if step is None:
                draws.at(slot)
                step = self._drawn(place.kept, private, draws)
            chosen.append(step)
            if slot + 1 < len(truth):
                following = place.after.get(step.column)
                if following is None:
                    following = place.after[step.column] = self._place(
                        self._mechanism.advance(place.state, step.output)
                    )
                place = following
        gains = self._gains(chosen, np.array(truth))
        return None if gains is None else Walked([s.output for s in chosen], list(map(_worth, chosen, labels)), gains)

    def _truth(self, labels: Sequence[str]) -> list[int] | None:
        """The private state of each slot; None for a label that was never learned, or that cannot be the first."""
        codes = [self._code.get(label, -1) for label in labels]
        if -1 in codes or not self._first_possible[codes[0]]:
            return None
        truth: list[int] = []
        private: int | None = None
        for code in codes:
            private = self._mechanism.remember(private, code)
            truth.append(private)
        return truth

    @cached_property
    def _first_possible(self) -> list[bool]:
        """(n,): whether a context is possible in the first slot, in whatever private state."""
        predicted, contexts = self._adversary.start().predicted(), self._mechanism.private_contexts
        return [bool(predicted[contexts == code].any()) for code in range(len(self._code))]

    def _place(self, state: Any) -> Place:
        found = self._places.get(state)
        if found is None:
            kernel = self._mechanism.kernel(state)
            kept = self._kept.get(id(kernel))
            if kept is None:
                kept = self._kept[id(kernel)] = Kept(kernel)
                self._bytes += STEP_BYTES + getattr(getattr(kernel, "weights", None), "nbytes", 0)
            found = self._places[state] = Place(state, kept)
            self._bytes += PLACE_BYTES
        return found

    def _drawn(self, kept: Kept, private: int, draws: PieceDraws) -> Step:
        output = kept.kernel.sample(private, draws)
        step = kept.steps.get(output)
        if step is None:
            step = kept.steps[output] = Step(output, self._column(kept.kernel.likelihood(output)))
        if kept.certain is not None:
            kept.certain[private] = step
        return step

    def _column(self, likelihood: FloatArray) -> int:
        """Keep a likelihood, and number it."""
        number = self._count
        if number == len(self._columns):
            self._columns = np.concatenate([self._columns, np.empty_like(self._columns)])
        self._columns[number] = likelihood
        self._count += 1
        self._bytes += STEP_BYTES + self._columns[number].nbytes
        return number

    def _gains(self, chosen: Sequence[Step], truth: IntArray) -> FloatArray | None:
        """(R + A,): at the end; None if an event or an output was impossible."""
        adversary, process = self._adversary, self._adversary.process
        first = self._first.get(chosen[0].column)
        if first is None:
            belief = adversary.start().after(self._columns[chosen[0].column])
            if belief.off_model:
                return None
            first = self._first[chosen[0].column] = belief.stack
        numbers = np.array([step.column for step in chosen])
        day = (self._columns, numbers, truth, *self._secrets)
        if isinstance(process, EmittedProcess):
            transitions, emissions = self._habits
            held, stack = steps.emitted_day(first, transitions, emissions, *day)
        else:
            held, stack = steps.seen_day(first, self._habits[0], process.private, process.contexts, *day)
        if not held:
            return None
        last, visits = process.slots - 1, len(adversary.any_index)
        return steps.beliefs(stack, visits, adversary.ahead[last], adversary.first_visit[last], adversary.priors)

    @cached_property
    def _secrets(self) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        adversary = self._adversary
        return adversary.row_start, adversary.row_members, adversary.any_members, adversary.any_active

    @cached_property
    def _habits(self) -> tuple[FloatArray, ...]:
        """Transitions and emissions, one for all slots where they are the same."""
        process = self._adversary.process
        arrays = [process.transitions] + ([process.emissions] if isinstance(process, EmittedProcess) else [])
        return tuple(np.ascontiguousarray(one[:1] if one.strides[0] == 0 else one) for one in arrays)


def _worth(step: Step, label: str) -> float:
    found = step.worth.get(label)
    if found is None:
        found = step.worth[label] = truthful(label, step.output)
    return found
