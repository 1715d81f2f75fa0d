"""How a session goes from slot to slot: every step is a function of one state, which `Session` holds and replaces.

A day is a stream that ends. Where public states hold the belief (`in_state`), as over models without end, it is not
computed a second time, and the state alone can be gone on from; a day is resumed from all of its outputs.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.adversary.checkpoint import Checkpoint
from discreet.adversary.endless import EndlessAdversary
from discreet.adversary.process import remembers
from discreet.contexts import UNKNOWN, fitted
from discreet.contracts import AnyMechanism, EndlessMechanism, Kernel, Retraces, StartsDays, is_endless
from discreet.errors import DiscreetError
from discreet.numerics import FloatArray
from discreet.outputs import SKIPPED, Output, Suppressed
from discreet.policy import Policy
from discreet.session.trail import RecentDays, Trail, memory_span

AnyAdversary = Adversary | EndlessAdversary

FOLDED = 64
"""Kernels after which a trail is hashed, so that they need not be kept."""


class SessionState(NamedTuple):
    """All that a release changes, replaced at once: an interrupt finds the slot released or not, never half."""

    state: Any
    """The mechanism's public state."""
    belief: Any
    own: Any
    """The belief of an observer with the mechanism's own model: what is possible."""
    private: int | None
    """None where memory starts: before the first slot, and after a skip."""
    unsure: float
    """Readings in a row until `private` is what the observer assumes; 0 where it is."""
    off_model: int
    skips: int
    outputs: tuple[Output, ...]
    """Of a day, all so far; of a stream the last one."""
    trail: Trail
    log: RecentDays


class SessionSteps:
    """The steps of one mechanism before one observer."""

    def __init__(self, mechanism: AnyMechanism, adversary: AnyAdversary | None = None) -> None:
        self.mechanism = mechanism
        self.in_state = is_endless(mechanism.model)
        """Whether public states hold the belief of the mechanism's own observer, so that nobody computes it again: a
        stream's mechanism decides by it. A day's observer follows beside the mechanism."""
        if adversary is None:
            adversary = cast(Any, mechanism).adversary if self.in_state else Adversary(mechanism)
        self.adversary: Any = adversary
        self.shares = self.in_state and self.adversary is self.stream.adversary
        """Whether the observer is the one whose belief public states hold."""
        self._index = {context: k for k, context in enumerate(mechanism.model.contexts)}
        self.remembers = remembers(mechanism.private_contexts, len(self._index))
        given: Any = mechanism
        self._days: StartsDays | None = given if self.in_state and isinstance(given, StartsDays) else None
        self._day_slots: int | None = given.model.day_slots if self.in_state else None
        self.forgets = not self.remembers or bool(getattr(mechanism, "forgets", False))

    @property
    def stream(self) -> EndlessMechanism[Any]:
        """The mechanism, where its public states hold the belief."""
        return cast(EndlessMechanism[Any], self.mechanism)

    @cached_property
    def _span(self) -> float:
        return memory_span(self.mechanism) if self.remembers else 1

    def start(self) -> SessionState:
        """Nothing was output yet."""
        state: Any = self.mechanism.start()
        belief = state.belief if self.shares else self.adversary.start()
        own = belief
        if not self.shares and self.adversary.model is not self.mechanism.model:
            own = state.belief if self.in_state else Adversary(self.mechanism, policy=Policy()).start()
        return SessionState(state, belief, own, None, 0, 0, 0, (), Trail(), RecentDays.of(belief))

    def remembered(self, now: SessionState, context: str | None) -> tuple[int, float]:
        """The private state with this reading, and how many more readings in a row until it is the true one."""
        label = UNKNOWN if context is None else context
        if self.in_state:  # the habits in force may change
            label = fitted(label, self.stream.known(now.state))
        index = self._index.get(label)
        if index is None:
            return 0, max(now.unsure, self._span)  # any private state will do until readings decide it
        if self._days is not None and self._day_slots and now.belief.slot % self._day_slots == 0:
            return int(self._days.starting(now.belief.slot)[index]), 0
        return self.mechanism.remember(now.private, index), max(0, now.unsure - 1)

    def possible(self, now: SessionState, private: int) -> bool:
        """Whether the habits have a place for this private state now.

        Where memory starts, they have it for the context: after a skip an observer holds states with a memory possible,
        and kernels look at the context alone.
        """
        predicted = now.own.predicted()
        if now.private is None:
            contexts = self.mechanism.private_contexts
            return bool(predicted[contexts == contexts[private]].any())
        return bool(predicted[private] > 0)

    def told(
        self, now: SessionState, kernel: Kernel, output: Output, private: int, unsure: float, *, off_model: bool
    ) -> SessionState:
        """One slot on, after an output of its kernel."""
        state = self.mechanism.advance(now.state, output)
        trail = Trail(now.trail, kernel, output)
        return self._moved(now, state, kernel.likelihood(output), trail, output)._replace(
            private=private, unsure=unsure, off_model=now.off_model + off_model
        )

    def told_again(self, now: SessionState, kernel: Kernel, output: Output) -> SessionState:
        """The same where the output is all that is known of the slot."""
        return self.told(now, kernel, output, 0, math.inf if self.remembers else 1, off_model=False)

    def skipped(self, now: SessionState) -> SessionState:
        """One slot on in which nothing was decided: it tells nothing, and memory starts anew."""
        ones = np.ones(len(self.mechanism.private_contexts))
        state = self.mechanism.advance(now.state, SKIPPED)
        private, unsure = (None, 0.0) if self.forgets else (0, self._span)
        return self._moved(now, state, ones, Trail(now.trail, None, SKIPPED), SKIPPED)._replace(
            private=private, unsure=unsure, skips=now.skips + 1
        )

    def retraced(self, now: SessionState, output: Output, column: FloatArray) -> SessionState:
        """One slot on, by the likelihood that an output had when it was drawn, perhaps by another build's kernel."""
        if not self.shares or not isinstance(self.mechanism, Retraces):
            raise DiscreetError("this mechanism is not resumed by columns; resume from its outputs alone")
        states = len(self.mechanism.private_contexts)
        told = column.any() or isinstance(output, Suppressed)  # silence about what habits have no place for
        if column.shape != (states,) or not (np.isfinite(column).all() and (column >= 0).all() and told):
            raise DiscreetError(
                f"the likelihood of output {now.belief.slot} is none of {states} private states; the journal is "
                "damaged, or of another model"
            )
        state = self.mechanism.retraced(now.state, output, column)
        return self._moved(now, state, column, Trail(now.trail, None, output), output)._replace(
            private=0, unsure=math.inf if self.remembers else 0
        )

    def _moved(
        self, now: SessionState, state: Any, likelihood: FloatArray, trail: Trail, output: Output
    ) -> SessionState:
        """One slot on; the private side is the caller's."""
        belief = state.belief if self.shares else now.belief.after(likelihood)
        if now.own is now.belief:
            own = belief
        else:
            own = state.belief if self.in_state else now.own.after(likelihood)
        if trail.length >= FOLDED:
            _ = trail.digest  # hashed now: what came before need not be kept
        outputs = (output,) if self.in_state else (*now.outputs, output)
        log = now.log.after(belief, likelihood)
        return now._replace(state=state, belief=belief, own=own, outputs=outputs, trail=trail, log=log)

    # --- checkpoints

    def checkpoint(self, now: SessionState) -> Checkpoint:
        """Where `restored` can go on from."""
        counts: dict[str, Any] = {"skips": now.skips, "digest": now.trail.digest.hex()}
        if not self.in_state:
            return Checkpoint.of_day(self.mechanism, now.outputs, **counts)
        if not self.shares:
            raise DiscreetError("a stream's checkpoint is of its own observer; begin the session without an adversary")
        return Checkpoint.of(self.mechanism, now.state, **counts)

    def restored(self, now: SessionState, checkpoint: Checkpoint) -> SessionState:
        """The state of a stream's checkpoint."""
        if not self.shares:
            raise DiscreetError(
                "this checkpoint is of a stream without end and of its own observer; give a mechanism over "
                "routine.since(date), and no adversary"
            )
        state = checkpoint.state_of(self.mechanism)
        return now._replace(
            state=state,
            belief=state.belief,
            own=state.belief,
            private=None if checkpoint.skipped else 0,
            unsure=0 if checkpoint.skipped or not self.remembers else math.inf,
            skips=checkpoint.skips,
            trail=Trail(digest=bytes.fromhex(checkpoint.digest)),
            log=RecentDays.of(state.belief),
        )

    # --- changes of habits and policy

    def changed(self, now: SessionState, mechanism: EndlessMechanism[Any]) -> tuple[SessionSteps, SessionState]:
        """The steps of a mechanism that takes over where the stream is, and its state.

        Contexts are matched by label, and all that is remembered is the last one.
        """
        following = SessionSteps(cast(AnyMechanism, mechanism))
        cuts = now.state.cuts
        watching = zip((now.belief, *now.state.others), mechanism.adversaries_at(cuts), strict=True)
        belief, *others = (one.over(adversary) for one, adversary in watching)
        private, same = now.private, mechanism.model.fingerprint == self.mechanism.model.fingerprint
        if private is not None and not now.unsure and not same:
            last = self.mechanism.model.contexts[self.mechanism.private_contexts[private]]
            private = mechanism.remember(None, following._index[last])
        state = mechanism.restored(belief, now.state.skipped, cuts, tuple(others))
        log = RecentDays.of(belief)
        return following, now._replace(state=state, belief=belief, own=belief, private=private, log=log)

    def holds(self, now: SessionState, mechanism: EndlessMechanism[Any]) -> bool:
        """Whether nothing exceeds its limit by going on with a mechanism's habits, under the present belief."""
        within: bool = mechanism.adversaries_at(now.state.cuts)[0].holds(now.belief)
        return within
