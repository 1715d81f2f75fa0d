"""A day's decisions as a table of integers, for a device that decides by itself: the machine trains, the phone decides.

What applications saw so far is told by the last release and how long ago it was, wherever a release settles the past
(theory, section 4). A run is the silent slots after one release, or from the start of the day; in each of its slots the
table has a decision: the private states that are possible, and each one's weight of truth over 2**bits. docs/phone.md
says what the file holds, examples/phone has readers of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np

from discreet.adversary.belief import Adversary, Belief
from discreet.contracts import Kernel, covers_everything, require_end
from discreet.errors import DiscreetError
from discreet.listener import Progress
from discreet.models.chain.markov import MarkovChain
from discreet.numerics import IntArray
from discreet.outputs import SUPPRESSED, Released
from discreet.policy import Policy
from discreet.session.trail import memory_span

FORMAT, VERSION = "discreet decisions", 1
"""Of the document. A reader refuses a later version."""

LIMIT = 8_000_000
"""Weights in a table: with one each for a private state, a file has about twenty bytes."""


class RunStart(NamedTuple):
    """Where a run begins: the slot of the release and the context's index; -1 for both at the start of the day."""

    slot: int
    context: int


def decisions_of(mechanism: Any, *, progress: Progress | None = None) -> dict[str, Any]:
    """The document of a mechanism of a day that tells the truth or is silent, by its last release alone.

    It is made from habits and policy; there is no truth in it, whatever the mechanism has released before.
    """
    refuse(mechanism)
    table = _Table(mechanism)
    runs = []
    for place, numbers in table.runs(progress):
        runs.append([place.slot, place.context, numbers])
    model = mechanism.model
    clock = None if model.clock is None else {"zone": model.clock.zone, "cut": model.clock.cut}
    document = {
        "format": FORMAT,
        "version": VERSION,
        "mechanism": type(mechanism).__name__,
        "guarantee": mechanism.guarantee.kind,
        "model": model.fingerprint,
        "policy": mechanism.policy.fingerprint,
        "clock": clock,
        "slots": model.slots,
        "contexts": list(model.contexts),
        "memory": table.memory,
        "decisions": table.decisions,
        "runs": runs,
    }
    return {**document, "digest": digest_of_document(document)}


def digest_of_document(document: dict[str, Any]) -> str:
    """SHA-256 of the document without its digest, as the shortest JSON text in the order that it has."""
    content = {name: value for name, value in document.items() if name != "digest"}
    return hashlib.sha256(_text(content)).hexdigest()


def document_bytes(document: dict[str, Any]) -> bytes:
    """The file."""
    return _text(document) + b"\n"


def _text(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def refuse(mechanism: Any) -> None:
    """An error that says why a mechanism's decisions are no such table, and what to do; nothing if they may be one."""
    model = mechanism.model
    require_end(model, "export the decisions of a single day: learn with --day-by-day")
    if not isinstance(model, MarkovChain):
        raise DiscreetError(
            f"after a release a {type(model).__name__} still hides what comes next, so decisions depend on all "
            "outputs; export the habits of a MarkovChain over single contexts: learn with --day-by-day"
        )
    if mechanism.policy.bounds_any:
        raise DiscreetError(
            'a secret at="any" remembers the whole day, so decisions depend on all outputs; declare it at="each", or '
            "release with a gateway or a session"
        )
    outputs = getattr(mechanism, "outputs", "suppress")
    if outputs != "suppress":
        raise DiscreetError(
            f"a mechanism with outputs={outputs!r} decides by all outputs before, which no table holds; use "
            "outputs=suppress, or release with a gateway or a session"
        )


class _Table:
    """The runs of a mechanism, and decisions, each kept once."""

    def __init__(self, mechanism: Any) -> None:
        self.mechanism = mechanism
        self.contexts: tuple[str, ...] = mechanism.model.contexts
        self.private: IntArray = mechanism.private_contexts
        self.memory = _memory(mechanism)
        self.decisions: list[list[Any]] = []
        self._numbers: dict[bytes, int] = {}
        self._weights = 0
        self._begun: dict[RunStart, Hashable] = {RunStart(-1, -1): mechanism.start()}
        self._filter = Adversary(mechanism, policy=Policy())  # of what is possible; secrets are the mechanism's affair

    def runs(self, progress: Progress | None) -> Iterator[tuple[RunStart, list[int]]]:
        """Every run that outputs can lead to, by the slot that it begins in, and the numbers of its decisions."""
        slots = self.mechanism.model.slots
        yield RunStart(-1, -1), self._run(RunStart(-1, -1))
        for slot in range(slots - 1):
            if progress is not None:
                progress(slot, slots)
            for place in sorted(place for place in self._begun if place.slot == slot):
                yield place, self._run(place)

    def _run(self, place: RunStart) -> list[int]:
        """The decisions of the silent slots after a release, until the day ends."""
        state, belief, found = self._begun[place], self._belief(place), []
        for slot in range(place.slot + 1, self.mechanism.model.slots):
            kernel = self.mechanism.kernel(state)
            weights = self._truth(kernel)
            possible = self._possible(slot, belief, kernel)
            found.append(self._number(kernel, possible, weights[possible]))
            for context in np.unique(self.private[possible[weights[possible] > 0]]).tolist():
                after = self.mechanism.advance(state, Released(self.contexts[context]))
                if self._begun.setdefault(RunStart(slot, context), after) != after:
                    raise self._no_table("depend on more than its last release")
            state, belief = self.mechanism.advance(state, SUPPRESSED), belief.after(kernel.likelihood(SUPPRESSED))
        return found

    def _belief(self, place: RunStart) -> Belief:
        """What is possible where a run begins: after a release all that can follow it."""
        return self._filter.start() if place.slot < 0 else self._filter.revealed(place.slot + 1, place.context)

    def _possible(self, slot: int, belief: Belief, kernel: Kernel) -> IntArray:
        """The private states that a session draws for; in all others it is silent. Where memory starts, by context."""
        if covers_everything(kernel):
            return np.arange(len(self.private))
        possible = belief.predicted() > 0
        if slot:
            return np.flatnonzero(possible)
        here = np.unique(self.private[possible]).tolist()
        return np.array(sorted(self.mechanism.remember(None, context) for context in here), dtype=np.int64)

    def _truth(self, kernel: Any) -> IntArray:
        """(P,): the weight of truth in each private state, if a draw below it is what the kernel's own draw means."""
        outputs = getattr(kernel, "outputs", ())
        total = getattr(kernel, "total", None)
        if total is None or not all(isinstance(one, Released) or one == SUPPRESSED for one in outputs):
            raise self._no_table("are not truth or silence alone")
        weights = np.zeros(len(self.private), dtype=np.int64)
        for number, output in enumerate(outputs):
            column = (kernel.likelihood(output) * total).astype(np.int64)  # exact: the total is a power of two
            if output == SUPPRESSED:
                if number < len(outputs) - 1:
                    raise self._no_table("are drawn with silence first, and not with truth first")
            elif column[self.private != self.contexts.index(output.context)].any():
                raise self._no_table("may be another context than the true one")
            else:
                weights += column
        return weights

    def _number(self, kernel: Any, possible: IntArray, weights: IntArray) -> int:
        """The number of a decision; equal ones are one."""
        bits = int(kernel.total).bit_length() - 1
        key = bytes([bits]) + possible.tobytes() + weights.tobytes()
        if key not in self._numbers:
            self._weights += len(weights)
            if self._weights > LIMIT:
                raise DiscreetError(
                    f"the table has more than {LIMIT:,} weights, too many for a phone; use longer slots, fewer "
                    "contexts or memory=none"
                )
            self._numbers[key] = len(self.decisions)
            self.decisions.append([bits, possible.tolist(), weights.tolist()])
        return self._numbers[key]

    def _no_table(self, why: str) -> DiscreetError:
        return DiscreetError(
            f"what {type(self.mechanism).__name__} shows cannot be exported: its outputs {why}; use adaptive with "
            "outputs=suppress, or simulatable, probabilistic or hybrid"
        )


def _memory(mechanism: Any) -> dict[str, Any] | None:
    """How private states come about: `first` by context, `after` by the context before and this one; None: contexts."""
    contexts = range(len(mechanism.model.contexts))
    first = [int(mechanism.remember(None, context)) for context in contexts]
    after = [[int(mechanism.remember(first[before], context)) for context in contexts] for before in contexts]
    if all(row == list(contexts) for row in (first, *after)):
        return None
    by_context = all(
        [int(mechanism.remember(state, context)) for context in contexts] == after[before]
        for state, before in enumerate(mechanism.private_contexts.tolist())
    )
    if not by_context or memory_span(mechanism) != 2:
        raise DiscreetError(
            f"{type(mechanism).__name__} remembers more than the context before; use memory=none or another mechanism"
        )
    return {"first": first, "after": after}
