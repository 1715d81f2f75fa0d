"""A piece published without a session, for people who share a model: what is public is worked out once for all of them.

`publish_piece` runs a session a slot at a time, and asks after each what an observer believes. Here a piece is drawn
first, as if the habits had a place for each of its events, along public states that are kept with their kernels; then
one compiled loop filters the whole of it, and says whether they had. Where they had not, or the habits do not know an
event, nothing of it is used, and `publish_piece` does it all: draws are by slot, so they are the same.

What is kept is a function of what is public: states, kernels, outputs and their likelihoods, by the mechanism that made
them. Whoever comes later gets the bits that a walk of their own would give. Neither mechanism nor adversary is kept
here: both are asked for where a walk leads to what was not met before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from discreet.adversary import steps
from discreet.adversary.belief import Adversary
from discreet.adversary.process import EmittedProcess, SeenProcess
from discreet.contracts import Kernel, Mechanism
from discreet.kernels import FiniteKernel
from discreet.numerics import BoolArray, FloatArray, IntArray
from discreet.outputs import Output, truthful
from discreet.publish.draws import PieceDraws

MOST_BYTES = 16 * 2**20
"""Of public states and kernels that are kept of one mechanism; beyond it they are forgotten, and walked anew."""

PLACE_BYTES, STEP_BYTES, ARRAY_BYTES, OWN_BYTES = 1_000, 500, 150, 6_000
"""Of what is no array, about: of a public state, an output, an array beside its numbers, and of all else together."""

FIRST_COLUMNS = 8
"""Likelihoods that there is room for at first; then for twice as many, and so on."""


class Parts(NamedTuple):
    """What publishes pieces of one length under one model, and what judges them."""

    mechanism: Mechanism[Any]
    adversary: Adversary


class Judge:
    """What is asked of an adversary at the end of a piece: a small part of it."""

    __slots__ = ("deltas", "priors", "row_slot", "rows_of", "slots")

    def __init__(self, adversary: Adversary) -> None:
        self.slots = adversary.process.slots
        self.row_slot, self.priors, self.deltas = adversary.row_slot, adversary.priors, adversary.deltas
        self.rows_of = adversary.rows_by_secret

    def worst_by_secret(self, gains: FloatArray) -> dict[str, float]:
        """The largest of each secret's gains, whatever its slot."""
        return {name: float(gains[rows].max()) for name, rows in self.rows_of.items()}

    def positions(self, rows: BoolArray) -> int:
        """How many positions have one of these rows; a secret at="any" is about all of them."""
        each: IntArray = self.row_slot[rows[: len(self.row_slot)]]
        return self.slots if rows[len(self.row_slot) :].any() else len(np.unique(each))


class Walked(NamedTuple):
    """What was output for a piece, and what its observer has gained at the end."""

    outputs: list[Output]
    worth: list[float]
    """How much of each event is told."""
    gains: FloatArray


class WalkOutput:
    """An output of a kernel: its likelihood's number, and what it is worth for each label."""

    __slots__ = ("column", "output", "worth")

    def __init__(self, output: Output, column: int) -> None:
        self.output = output
        self.column = column  # which of the walk's likelihoods it has; no other output, or kernel, has the same
        self.worth: dict[str, float] = {}


class SharedKernel:
    """A kernel, which many public states may have, and the outputs that were drawn from it so far."""

    __slots__ = ("certain", "kernel", "steps")

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.steps: dict[Output, WalkOutput] = {}
        draws_nothing = isinstance(kernel, FiniteKernel) and kernel.total == 1
        self.certain: dict[int, WalkOutput] | None = {} if draws_nothing else None  # by private state


class WalkState:
    """A public state with its kernel, and what follows after outputs, by their columns."""

    __slots__ = ("after", "kept", "state")

    def __init__(self, state: Any, kept: SharedKernel) -> None:
        self.state = state
        self.kept = kept
        self.after: dict[int, WalkState] = {}


class Walk:
    """Public states of one mechanism over days of one length, and what its observer's beliefs are filtered by."""

    def __init__(self, parts: Parts) -> None:
        mechanism, adversary = parts
        process, last = adversary.process, adversary.process.slots - 1
        self._slots, self._visits = process.slots, len(adversary.any_index)
        self._code = {context: code for code, context in enumerate(mechanism.model.contexts)}
        self._private_states = len(mechanism.private_contexts)
        predicted, contexts = adversary.start().predicted(), mechanism.private_contexts
        # (n,): whether a context is possible in the first slot, in whatever private state.
        self._first_possible = [bool(predicted[contexts == code].any()) for code in range(len(self._code))]
        # Without memory a private state is its context; otherwise what was remembered is kept.
        self._remembers = not np.array_equal(contexts, np.arange(len(self._code)))
        self._remembered: dict[tuple[int | None, int], int] = {}
        # Transitions and emissions, one for all slots where they are the same.
        emissions = [process.emissions] if isinstance(process, EmittedProcess) else []
        arrays = [process.transitions, *emissions]
        self._habits = tuple(np.ascontiguousarray(one[:1] if one.strides[0] == 0 else one) for one in arrays)
        self._private: tuple[IntArray, ...] = ()
        if isinstance(process, SeenProcess):
            self._private = process.private, process.contexts
        self._secrets = adversary.row_start, adversary.row_members, adversary.any_members, adversary.any_active
        self._end = adversary.ahead[last], adversary.first_visit[last], adversary.priors
        held = (*self._habits, *self._private, *self._secrets, *self._end)
        self._least = OWN_BYTES + sum(one.nbytes + ARRAY_BYTES for one in held)
        self._forget()

    def _forget(self) -> None:
        self._begin: WalkState | None = None
        self._places: dict[Any, WalkState] = {}
        self._kept: dict[int, SharedKernel] = {}  # by the kernel's identity: it is kept, so that no other has the same
        self._columns = np.empty((FIRST_COLUMNS, self._private_states))
        self._first: dict[int, FloatArray] = {}  # by an output's column, the stack after it in the first slot
        self._count = self._bytes = 0

    @classmethod
    def of(cls, parts: Parts) -> Walk | None:
        """The walk, or None where a day is not filtered in one piece: by a judge with habits of their own, say."""
        process = parts.adversary.process
        seen = isinstance(process, SeenProcess) and not process.anew and process.sparse is None
        if parts.adversary.model is not parts.mechanism.model or not (seen or isinstance(process, EmittedProcess)):
            return None
        return cls(parts)

    @property
    def nbytes(self) -> int:
        """What is kept takes about so much."""
        return int(self._least + self._bytes)

    def walked(self, labels: Sequence[str], draws: PieceDraws, parts: Callable[[], Parts]) -> Walked | None:
        """The outputs for a piece as long as the model; None where the habits have no place for it.

        `parts` are the mechanism and the adversary that the walk was begun with, or such as are equal to them.
        """
        truth = self._truth(labels, parts) if len(labels) == self._slots else None
        if truth is None:
            return None  # a piece of another length is refused with a session's words
        if self._bytes > MOST_BYTES:
            self._forget()
        if self._begin is None:
            self._begin = self._place(parts().mechanism.start(), parts)
        chosen: list[WalkOutput] = []
        place = self._begin
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
                        parts().mechanism.advance(place.state, step.output), parts
                    )
                place = following
        gains = self._gains(chosen, np.array(truth), parts)
        return None if gains is None else Walked([s.output for s in chosen], list(map(_worth, chosen, labels)), gains)

    def _truth(self, labels: Sequence[str], parts: Callable[[], Parts]) -> list[int] | None:
        """The private state of each slot; None for a label that was never learned, or that cannot be the first."""
        codes = [self._code.get(label, -1) for label in labels]
        if -1 in codes or not self._first_possible[codes[0]]:
            return None
        if not self._remembers:
            return codes
        truth: list[int] = []
        private: int | None = None
        for code in codes:
            found = self._remembered.get((private, code))
            if found is None:
                found = self._remembered[private, code] = parts().mechanism.remember(private, code)
            private = found
            truth.append(private)
        return truth

    def _place(self, state: Any, parts: Callable[[], Parts]) -> WalkState:
        found = self._places.get(state)
        if found is None:
            kernel = parts().mechanism.kernel(state)
            kept = self._kept.get(id(kernel))
            if kept is None:
                kept = self._kept[id(kernel)] = SharedKernel(kernel)
                self._bytes += STEP_BYTES + getattr(getattr(kernel, "weights", None), "nbytes", 0)
            found = self._places[state] = WalkState(state, kept)
            self._bytes += PLACE_BYTES
        return found

    def _drawn(self, kept: SharedKernel, private: int, draws: PieceDraws) -> WalkOutput:
        output = kept.kernel.sample(private, draws)
        step = kept.steps.get(output)
        if step is None:
            step = kept.steps[output] = WalkOutput(output, self._column(kept.kernel.likelihood(output)))
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

    def _gains(self, chosen: Sequence[WalkOutput], truth: IntArray, parts: Callable[[], Parts]) -> FloatArray | None:
        """(R + A,): at the end; None if an event or an output was impossible."""
        first = self._first.get(chosen[0].column)
        if first is None:
            belief = parts().adversary.start().after(self._columns[chosen[0].column])
            if belief.off_model:
                return None
            first = self._first[chosen[0].column] = belief.stack
        numbers = np.array([step.column for step in chosen])
        day = (self._columns, numbers, truth, *self._secrets)
        filtered: Callable[..., tuple[bool, FloatArray]] = steps.seen_day if self._private else steps.emitted_day
        held, stack = filtered(first, *self._habits, *self._private, *day)
        return steps.beliefs(stack, self._visits, *self._end) if held else None


def _worth(step: WalkOutput, label: str) -> float:
    found = step.worth.get(label)
    if found is None:
        found = step.worth[label] = truthful(label, step.output)
    return found
