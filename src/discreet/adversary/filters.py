"""What the observer of a stream filters over, slot by slot: a chain's contexts, or hidden states that emit them.

A belief before slot t is a stack of measures over K states: the weights first, then a row for each event that is kept.
A filter carries it over a slot, and says what each private state of the slot would tell. There are three:

- `ChainFilter`: a state is the context of slot t - 1 (with its class of memory). The private state of slot t is a
  function of the step into it.
- `HiddenFilter`: a state is (memory, hidden state of slot t), the memory being what is left of the context of slot
  t - 1; one and the same without memory. The context, and with it the private state, is drawn from the hidden state.
  Past rows are thus judged by hidden states alone, with memory by the pair with the previous context (theory, section
  15); a row that is about slot t itself is judged by the context.
- `PairFilter`: a state is the pair of contexts of slot t - 1, of habits over two contexts; it is `ChainFilter` over
  pairs, of which outputs show less. Past rows are judged by pairs, with memory too, and so is the present: a pair shows
  its context.

Either way, states hold all that later outputs depend on, so that facts 1 to 3 of mechanisms/adaptive/endless.md apply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from discreet.adversary import doubled
from discreet.adversary.process import Memory, remembers
from discreet.adversary.rows import Rows, Window
from discreet.errors import DiscreetError
from discreet.jit import FLOATS, FLOATS_2D, INT, INTS_2D, compiled, product
from discreet.numerics import BoolArray, FloatArray, IntArray

Pair = tuple[FloatArray, FloatArray]
"""High and low floats (discreet.adversary.doubled)."""


class Looks(NamedTuple):
    """What a filter has to know of a belief's rows in a slot."""

    rows: Rows
    """Those that were kept, in the order of the stack."""
    inside: Sequence[tuple[int, Window, bool]]
    """(row, its window, whether its secret holds now) of those whose window is open."""
    ahead: Rows
    """Those that have not opened before the slot and are live."""
    chance: FloatArray
    """(F, K): P(row | state) of these."""
    present: Mapping[int, Window]
    """{row ahead: its window} of those whose window opens now."""


class Conditionals(NamedTuple):
    """The private states that are possible in a slot (A of them), and what each would tell."""

    private: IntArray
    context: IntArray
    mass: FloatArray
    known: FloatArray
    """(R + F, A): P(row | private state, outputs), of rows that were kept, then of those ahead."""


class Filter(Protocol):
    """Carries measures over a slot."""

    states: int
    """K."""
    private_states: int
    hidden: IntArray
    """(K,): the model's state of each state, for tables of what lies ahead."""

    def start(self) -> FloatArray:
        """(1, K): the weights before the first output."""

    def after(
        self,
        t: int,
        stack: FloatArray,
        low: FloatArray,
        likelihood: FloatArray,
        visits: Sequence[tuple[int, int]],
        fresh: IntArray,
    ) -> Pair:
        """The stack after an output of slot t; all zero where it is impossible.

        `visits` are (row, secret) of rows for which being in the secret now is a visit; `fresh` the secrets of rows
        that open now, which are added at the end.
        """

    def conditionals(self, t: int, stack: FloatArray, looks: Looks) -> Conditionals:
        """What each private state of slot t would tell."""

    def predicted(self, t: int, weights: FloatArray) -> FloatArray:
        """(P,): P(private state of slot t), from normalised weights."""

    def ahead(self, t: int, weights: FloatArray) -> FloatArray:
        """(K,): the weights that tables of rows ahead of slot t are averaged by."""

    def still_to_come(self, window: Window, t: int) -> FloatArray:
        """(K,): for a window that is open before slot t, P(a visit in slot t or later | state, none so far)."""


@compiled(FLOATS, FLOATS_2D, INTS_2D, FLOATS_2D, INT)
def _gathered(
    weights: FloatArray, step: FloatArray, private: IntArray, before: FloatArray, kinds: int
) -> tuple[FloatArray, FloatArray]:
    """(P,) the probability of each private state, and (J, P): rows that depend on the state before, averaged over the
    steps that lead to it."""
    states = len(weights)
    mass, rows = np.zeros(kinds), np.zeros((len(before), kinds))
    for z in range(states):
        line = private[z if len(private) > 1 else 0]
        for k in range(states):
            chance = weights[z] * step[z, k]
            if chance > 0.0:
                m = line[k]
                mass[m] += chance
                for j in range(len(before)):
                    rows[j, m] += chance * before[j, z]
    for j in range(len(before)):
        for m in range(kinds):
            if mass[m] > 0.0:
                rows[j, m] /= mass[m]
    return mass, rows


class ChainFilter:
    """Over the contexts of a Markov chain, each with its class of memory."""

    def __init__(
        self,
        model: Any,
        machine: Any,
        members: BoolArray,
        step: Callable[[int], Pair],
        anew: Callable[[int], IntArray] | None = None,
    ) -> None:
        """`step(t)` (n, n) leads from slot t on; `anew`: where memory starts anew at the first slot of each day."""
        memory = Memory.of(machine.private_contexts, machine.remember, len(model.contexts))
        self.model, self._memory, self._step, self._anew = model, memory, step, anew
        self.hidden = self.contexts = memory.contexts  # (K,): the context of each state
        self.states, self.private_states = len(memory.contexts), len(machine.private_contexts)
        self._private_contexts: IntArray = machine.private_contexts
        self.members: BoolArray = np.asarray(members[:, self.contexts])  # (G, K)
        self._first, self._private = memory.first_of_class, memory.private
        self._plain = np.array_equal(self.contexts, np.arange(len(model.contexts)))

    def start(self) -> FloatArray:
        """The model's initial distribution, on the classes of private states without a memory."""
        weights = np.zeros((1, self.states))
        if self._plain:
            weights[0] = self.model.initial
        else:
            weights[0, self._memory.group[self._memory.first]] = self.model.initial
        return weights

    def arrival(self, t: int) -> tuple[FloatArray, FloatArray, IntArray]:
        """How slot t is entered: the step (K, K) as a pair, and the private state on it; in the first slot, no step."""
        if t == self.model.first:
            every = np.eye(self.states)
            return every, np.zeros_like(every), self._first[None]
        step, low = self._step(t - 1)
        if self._anew is not None and t % self.model.day_slots == 0:
            return self._started_anew(step, low, self._anew(t))
        return (step, low, self._private) if self._plain else (self._lifted(step), self._lifted(low), self._private)

    def _started_anew(
        self, step: FloatArray, low: FloatArray, fresh: IntArray
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """A step whatever was remembered before it: `fresh` (n,) are the private states that it leads to."""
        reached = self._memory.group[fresh]
        lifted, rest = np.zeros((2, self.states, self.states))
        lifted[:, reached], rest[:, reached] = step[self.contexts], low[self.contexts]
        private = np.zeros((1, self.states), dtype=np.int64)
        private[0, reached] = fresh
        return lifted, rest, private

    def _lifted(self, step: FloatArray) -> FloatArray:
        lifted = np.zeros((self.states, self.states))
        for k, row in enumerate(self._memory.following):
            lifted[k, self._memory.group[row]] = step[self.contexts[k]]
        return lifted

    def after(
        self,
        t: int,
        stack: FloatArray,
        low: FloatArray,
        likelihood: FloatArray,
        visits: Sequence[tuple[int, int]],
        fresh: IntArray,
    ) -> Pair:
        """One product with the step and the likelihood on it; the context is seen in the state."""
        stack, low = doubled.pushed(stack, low, *self.arrival(t), likelihood)
        for r, g in visits:
            stack[1 + r] = np.where(self.members[g], stack[0], stack[1 + r])
            low[1 + r] = np.where(self.members[g], low[0], low[1 + r])
        if len(fresh):
            inside = self.members[fresh]
            stack = np.concatenate([stack, np.where(inside, stack[0], 0.0)])
            low = np.concatenate([low, np.where(inside, low[0], 0.0)])
        return stack, low

    def conditionals(self, t: int, stack: FloatArray, looks: Looks) -> Conditionals:
        """Past rows depend on the state before, future ones on the one now, those inside on both."""
        step, _, private = self.arrival(t)
        known = stack[1:] / np.where(stack[0] > 0, stack[0], 1.0)  # (R, K): P(j so far | state before)
        weights = np.asarray(stack[0] / stack[0].sum())
        mass, kept = _gathered(weights, step, private, known, self.private_states)
        possible = np.flatnonzero(mass)
        context = self._private_contexts[possible]  # contexts are the states
        kept = kept[:, possible]
        for r, window, holds in looks.inside:
            kept[r] += (1 - kept[r]) * window.later[t - window.opens][self.contexts][context]
            if holds:
                kept[r][self.members[int(looks.rows.secret[r]), context]] = 1.0
        return Conditionals(possible, context, mass[possible], np.concatenate([kept, looks.chance[:, context]]))

    def predicted(self, t: int, weights: FloatArray) -> FloatArray:
        """Gather the steps by the private state that they lead to."""
        step, _, private = self.arrival(t)
        mass = weights[:, None] * step
        reached = np.broadcast_to(private, mass.shape)
        found = np.bincount(reached.ravel(), weights=mass.ravel(), minlength=self.private_states)
        return np.asarray(found, dtype=np.float64)

    def ahead(self, t: int, weights: FloatArray) -> FloatArray:
        """The predicted states of slot t."""
        return product(weights, self.arrival(t)[0])

    def still_to_come(self, window: Window, t: int) -> FloatArray:
        """After the slot that the states are of."""
        return np.asarray(window.later[t - 1 - window.opens][self.contexts])


class States(NamedTuple):
    """A model's states as a chain of their own, and a machine that remembers nothing of it."""

    contexts: tuple[int, ...]
    initial: FloatArray
    first: int
    private_contexts: IntArray

    def remember(self, memory: int | None, context: int) -> int:
        """The state."""
        return context


class PairFilter:
    """Over the pairs of habits over two contexts, which are a chain; a private state is a function of the pair.

    Without memory that is the pair's context, with memory the pair itself; where memory starts, in the first slot and
    where it starts anew, the context alone.
    """

    def __init__(
        self,
        model: Any,
        machine: Any,
        members: BoolArray,
        step: Callable[[int], Pair],
        anew: Callable[[int], IntArray] | None = None,
    ) -> None:
        self.model, self._pairs, self._anew = model, model.pairs, anew
        self._machine_contexts: IntArray = machine.private_contexts
        self._remembers = remembers(machine.private_contexts, len(model.contexts))
        self.states, self.private_states = self._pairs.states, len(machine.private_contexts)
        every = np.arange(self.states)
        states = States(tuple(range(self.states)), model.initial, model.first, every)
        self._chain = ChainFilter(states, states, np.ascontiguousarray(members[:, self._pairs.now]), step)
        self.hidden = self._chain.hidden
        self.start, self.ahead, self.still_to_come = self._chain.start, self._chain.ahead, self._chain.still_to_come

    @staticmethod
    def fits(model: Any, machine: Any) -> bool:
        """Whether a machine's private states are a function of a model's pairs."""
        pairs = getattr(model, "pairs", None)
        plain = not remembers(machine.private_contexts, len(model.contexts))
        return pairs is not None and (plain or pairs.has(machine.private_contexts, machine.remember))

    def _private(self, t: int) -> IntArray:
        """(S,): the private state of each pair in slot t."""
        pairs = self._pairs
        if not self._remembers:
            return np.asarray(pairs.now)
        if t == self.model.first:
            return np.asarray(pairs.now)
        if self._anew is not None and t % self.model.day_slots == 0:
            return np.asarray(self._anew(t)[pairs.now])
        return np.asarray(len(pairs.contexts) + self.hidden)

    def after(
        self,
        t: int,
        stack: FloatArray,
        low: FloatArray,
        likelihood: FloatArray,
        visits: Sequence[tuple[int, int]],
        fresh: IntArray,
    ) -> Pair:
        """A step of the chain of pairs."""
        return self._chain.after(t, stack, low, np.ascontiguousarray(likelihood[self._private(t)]), visits, fresh)

    def conditionals(self, t: int, stack: FloatArray, looks: Looks) -> Conditionals:
        """What each pair would tell, averaged over those of one private state."""
        each = self._chain.conditionals(t, stack, looks)
        private, where = np.unique(self._private(t)[each.private], return_inverse=True)
        if len(private) == len(where):
            order = np.argsort(where, kind="stable")
            return Conditionals(private, self._machine_contexts[private], each.mass[order], each.known[:, order])
        mass = np.asarray(np.bincount(where, each.mass), dtype=np.float64)
        known = [np.bincount(where, row * each.mass) / mass for row in each.known]
        shaped = np.array(known).reshape(len(each.known), len(private))
        return Conditionals(private, self._machine_contexts[private], mass, shaped)

    def predicted(self, t: int, weights: FloatArray) -> FloatArray:
        """The private states of the pairs."""
        found = np.bincount(self._private(t), self._chain.predicted(t, weights), self.private_states)
        return np.asarray(found, dtype=np.float64)


class HiddenFilter:
    """Over pairs (memory, hidden state): without memory there is one of it."""

    def __init__(self, model: Any, machine: Any, members: BoolArray, step: Callable[[int], Pair]) -> None:
        self.model, self._members, self._step = model, np.ascontiguousarray(members), step
        n, states = len(model.contexts), len(model.initial)
        self._private_contexts: IntArray = machine.private_contexts
        self.private_states = len(machine.private_contexts)
        if remembers(machine.private_contexts, n):
            table = [tuple(machine.remember(m, c) for c in range(n)) for m in range(self.private_states)]
            lines = {line: k for k, line in enumerate(dict.fromkeys(table))}
            self._private = np.array(list(lines), dtype=np.int64)  # (C, n): the private state after a memory
            group = np.array([lines[line] for line in table], dtype=np.int64)  # (P,): its memory
            first = np.array([machine.remember(None, c) for c in range(n)], dtype=np.int64)
        else:
            self._private, group, first = np.arange(n)[None], np.zeros(n, dtype=np.int64), np.arange(n)
        for reached in (self._private, first[None]):
            if (self._private_contexts[reached] != np.arange(n)).any():
                raise DiscreetError("remember(m, c) must return a private state of context c; see private_contexts")
        self._first = np.ascontiguousarray(np.broadcast_to(first, self._private.shape))
        self._group, self._classes, self._hidden_states = group, len(self._private), states
        self.states = self._classes * states
        self.hidden = np.tile(np.arange(states), self._classes)
        self._emission: Pair = doubled.whole_rows(np.ascontiguousarray(model.emission(model.first)))

    def start(self) -> FloatArray:
        """The model's initial distribution; there is no memory yet, so any will do."""
        weights = np.zeros((1, self.states))
        weights[0, : self._hidden_states] = self.model.initial
        return weights

    def _arrival(self, t: int) -> tuple[IntArray, IntArray]:
        """(C, n) each: the private state in slot t, and the memory after it, by the memory before and the context."""
        private = self._first if t == self.model.first else self._private
        return private, self._group[private]

    def after(
        self,
        t: int,
        stack: FloatArray,
        low: FloatArray,
        likelihood: FloatArray,
        visits: Sequence[tuple[int, int]],
        fresh: IntArray,
    ) -> Pair:
        """w(y) P(c | y) b(output | c), with w before its update, over all contexts or a secret's; then the step."""
        secrets = sorted({g for _, g in visits} | set(fresh.tolist()))
        number = {g: k for k, g in enumerate(secrets)}
        inside = self._members[secrets]
        masks = np.concatenate([np.ones((1, len(self.model.contexts)), dtype=np.bool_), inside, ~inside])
        seen = doubled.weighed(*self._emission, likelihood, *self._arrival(t), np.ascontiguousarray(masks))
        lines = len(stack)
        source, by = np.arange(lines + len(fresh)), np.zeros(lines + len(fresh), dtype=np.int64)
        visit = np.full(lines + len(fresh), -1)
        for r, g in visits:
            by[1 + r], visit[1 + r] = 1 + len(secrets) + number[g], 1 + number[g]
        source[lines:] = -1
        visit[lines:] = [1 + number[g] for g in fresh.tolist()]
        return doubled.emitted(stack, low, *seen, source, by, visit, *self._step(t))

    def conditionals(self, t: int, stack: FloatArray, looks: Looks) -> Conditionals:
        """P(row, private state) over P(private state), from the weights of hidden states given each context."""
        stack = stack / stack[0].sum()
        weights, lines = stack[0], stack[1:].copy()
        for r, window, _ in looks.inside:
            lines[r] += (weights - lines[r]) * window.later[t - window.opens][self.hidden]
        lines = np.concatenate([weights[None], lines, weights * looks.chance])
        joint = self._emitted(lines)  # (1 + R + F, C, n)
        for r, _, holds in looks.inside:
            if holds:
                self._visited(joint, 1 + r, int(looks.rows.secret[r]))
        for f in np.flatnonzero(looks.ahead.opens == t).tolist():  # about the slot itself: the context decides
            g, line = int(looks.ahead.secret[f]), 1 + len(looks.rows.secret) + f
            joint[line] = 0.0
            if f in looks.present:  # a window: or later
                to_come = looks.present[f].later[0][self.hidden]
                joint[line] = self._emitted((weights * to_come)[None])[0]
            self._visited(joint, line, g)
        private = self._arrival(t)[0].ravel()
        told = np.array([np.bincount(private, line.ravel(), self.private_states) for line in joint])
        possible = np.flatnonzero(told[0])
        mass = told[0, possible]
        return Conditionals(possible, self._private_contexts[possible], mass, told[1:, possible] / mass)

    def _emitted(self, lines: FloatArray) -> FloatArray:
        """(J, C, n): measures (J, K) on (memory, hidden state) as measures on (memory, context)."""
        shaped = np.ascontiguousarray(lines).reshape(len(lines) * self._classes, self._hidden_states)
        return product(shaped, self._emission[0]).reshape(len(lines), self._classes, -1)

    def _visited(self, joint: FloatArray, line: int, g: int) -> None:
        """Being in the secret now is a visit, in place."""
        joint[line][:, self._members[g]] = joint[0][:, self._members[g]]

    def predicted(self, t: int, weights: FloatArray) -> FloatArray:
        """The contexts of each pair's hidden state."""
        joint = self._emitted(weights[None])[0]
        found = np.bincount(self._arrival(t)[0].ravel(), joint.ravel(), self.private_states)
        return np.asarray(found, dtype=np.float64)

    def ahead(self, t: int, weights: FloatArray) -> FloatArray:
        """The states are of slot t already."""
        return weights

    def still_to_come(self, window: Window, t: int) -> FloatArray:
        """From slot t on."""
        return np.asarray(window.here[t - window.opens][self.hidden])
