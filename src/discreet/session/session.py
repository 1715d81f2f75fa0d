"""One person, live: a mechanism, the belief it leaves an observer with, and chance. No files, no streams.

A day is a stream that ends: a session goes on to the model's last slot, or for ever where there is none.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, NoReturn, SupportsIndex, overload

from discreet.adversary.checkpoint import Checkpoint
from discreet.adversary.endless_belief import EndlessBelief
from discreet.contracts import AnyMechanism, EndlessMechanism, Kernel, Rng, covers_everything
from discreet.errors import DiscreetError
from discreet.given import as_date, checked_mechanism, lacks, words_for
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray
from discreet.outputs import SKIPPED, SUPPRESSED, Output, Skipped, Suppressed
from discreet.policy import Policy
from discreet.randomness import SystemEntropy
from discreet.session.steps import AnyAdversary, SessionSteps

NO_DATES = (
    "a hidden Markov model without end has positions and no dates, and its habits stay: give change a policy, and the "
    "position from which it is in force; start a new session with another model, where a sequence ends anyway"
)


class Session:
    """Releases a day slot by slot: `with Session(mechanism) as today: output = today.release("home")`.

    Over a model without end, slot after slot for as long as you like; a label never learned is `other` there. `skip()`
    passes a slot in which nothing was decided, and `checkpoint()` is where `resume` can go on from.

    Draws from the operating system's entropy unless given a seeded source, which is for experiments. `off_model` counts
    the readings that the model has no place for: labels it never learned, and contexts that it holds impossible now.
    They are suppressed, because what a release of the impossible would tell, no model can say; a kernel that has an
    output for everything (noise around the nearest possible context) gives that instead; they are counted all the same.

    A release happens whole or not at all: if a draw fails, nothing has changed, and the slot may be released again.
    What is possible is judged by the mechanism's own model; `adversary` is whose beliefs `belief` and `gains` show.

    After a label that was never learned, a mechanism that remembers earlier contexts does not know its private state as
    the observer assumes it. It is silent, whatever comes, until the readings since then decide the state by themselves
    (`memory_span`); those slots are off the model too.
    """

    def __init__(
        self, mechanism: AnyMechanism, *, rng: Rng | None = None, adversary: AnyAdversary | None = None
    ) -> None:
        checked_mechanism(mechanism, "Session")
        if rng is not None and lacks(rng, ("bits", "below")):
            raise DiscreetError(
                f"Session: rng is {words_for(rng)}; leave it out for the operating system's entropy, or give "
                "discreet.randomness.SeededEntropy(seed) in an experiment"
            )
        self._rng: Rng = SystemEntropy() if rng is None else rng
        self._steps = SessionSteps(mechanism, adversary)
        self._now = self._steps.start()
        self._ready: tuple[Any, Kernel] | None = None

    @property
    def mechanism(self) -> AnyMechanism:
        """The mechanism that decides; `change` makes another one."""
        return self._steps.mechanism

    @property
    def adversary(self) -> Any:
        """Whose beliefs `belief` and `gains` show."""
        return self._steps.adversary

    @classmethod
    def resume(
        cls,
        mechanism: AnyMechanism,
        outputs: Iterable[Output] = (),
        private: int | None = None,
        *,
        checkpoint: Checkpoint | None = None,
        columns: Iterable[FloatArray | None] | None = None,
        digest: str | None = None,
        rng: Rng | None = None,
        adversary: AnyAdversary | None = None,
    ) -> Session:
        """Go on after a crash: public outputs are replayed, nothing is drawn twice.

        `checkpoint` is where to begin, and `outputs` are those since. `private` is the last private state, from the
        person's own store. Where a mechanism that remembers has lost it, the next slot is skipped, publicly, and memory
        then starts anew; a mechanism that cannot do without its memory is silent until the end of the day, and each
        such slot is counted as off-model. `digest` is `Session.digest` as it was after the last output: where it
        differs, they were drawn by other kernels, and going on would tell more than either set of kernels allows.

        `columns` are the likelihoods that the outputs of a stream had when they were drawn
        (`kernel.likelihood(output)`; None for a skip): the belief is theirs, whatever kernels this build of the program
        would make.
        """
        session = cls(mechanism, rng=rng, adversary=adversary)
        if checkpoint is not None:
            session._restore(checkpoint)
        if columns is not None:
            for output, column in zip(_checked_outputs(outputs), columns, strict=True):
                session._retrace(output, column)
        else:
            for output in _checked_outputs(outputs):
                session.follow(output)
        if digest is not None and digest != session.digest:
            raise DiscreetError(
                f"the {session.slot} outputs were drawn by other kernels than this mechanism's: by another build, "
                "model or policy, or some of them are missing. Resume with the mechanism that drew them, or start a "
                "new day"
            )
        if private is not None:
            session._now = session._now._replace(private=_checked_private(session, private), unsure=0)
        return session

    def _restore(self, checkpoint: Checkpoint) -> None:
        if not checkpoint.measures:  # of a day
            checkpoint.require(self.mechanism)
            for output in checkpoint.outputs or ():
                self.follow(output)
            if self.digest != checkpoint.digest:
                raise DiscreetError(
                    "the checkpoint's outputs were drawn by other kernels than this mechanism's: by another build of "
                    "the program; resume with that one, or start a new day"
                )
            return
        self._now = self._steps.restored(self._now, checkpoint)

    def checkpoint(self) -> Checkpoint:
        """Where `resume` can go on from, in the time of the outputs since; for the own side: it shows habits.

        It holds no private state: that goes to the person's own store (`private`).
        """
        return self._steps.checkpoint(self._now)

    def follow(self, output: Output) -> None:
        """Take an output of the next slot that was told before; the private state that it left is not known from it."""
        if isinstance(output, Skipped):
            self.skip()
            return
        self._require_slot("there are more outputs to resume from than slots")
        kernel = self.mechanism.kernel(self._now.state)
        known = isinstance(output, Output) and (isinstance(output, Suppressed) or kernel.likelihood(output).any())
        if not known:
            raise DiscreetError(
                f"output {self.slot} of those to resume from is {output!r}, which this mechanism never gives there; "
                "the outputs are those of another model, policy or day, or not in their order"
            )
        self._now = self._steps.told_again(self._now, kernel, output)

    def _require_slot(self, otherwise: str) -> None:
        last = self.mechanism.model.slots
        if last is not None and self.slot >= last:
            raise DiscreetError(f"{otherwise}: the day has {last} slots and all are released; start a new session")

    def _retrace(self, output: Output, column: FloatArray | None) -> None:
        """Take an output that was drawn before, by the likelihood that it had then."""
        if column is None:
            self.skip()
            return
        self._now = self._steps.retraced(self._now, output, column)

    def retake(self, context: str, output: Output, column: FloatArray | None) -> None:
        """Take an output that was drawn from this context before the machine stopped; nothing is drawn.

        `column` is the likelihood that it had, None for a skip. An output that the context could not have had was drawn
        from another: memory is lost then, and an observer will know.
        """
        if column is None:
            self.skip()
            return
        private, unsure = self._steps.remembered(self._now, context)
        self._retrace(output, column)
        if not column[private] > 0 and not isinstance(output, Suppressed):
            unsure = math.inf
        self._now = self._now._replace(private=private, unsure=unsure)

    def __repr__(self) -> str:
        """What is public alone: neither readings nor memory, which a log or a notebook would keep."""
        last = self.mechanism.model.slots
        return f"Session({type(self.mechanism).__name__}, slot {self.slot}{f' of {last}' if last is not None else ''})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise DiscreetError(
            "a session is neither copied nor pickled: two of them would draw twice for one slot, and the copy would "
            "hold the truth; keep session.checkpoint() and session.private, and continue with Session.resume"
        )

    def branched(self) -> Session:
        """A second session from here on, for a caller who draws first and decides later which of the two goes on.

        Only one of them may: what both drew would be told twice. That is why `copy` refuses.
        """
        found = object.__new__(Session)
        vars(found).update(vars(self))
        return found

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(4)

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        self.__reduce_ex__(4)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._now = self._now._replace(private=0, unsure=math.inf)  # the truth does not outlive the day

    @property
    def slot(self) -> int:
        """The slot that comes next: how many outputs there were."""
        slot: int = self._now.belief.slot
        return slot

    @property
    def state(self) -> Any:
        """The mechanism's public state: that of the slot that comes next."""
        return self._now.state

    def draw_from(self, rng: Rng) -> None:
        """Take chance from another source from now on."""
        self._rng = rng

    @property
    def kernel(self) -> Kernel:
        """P(output | private state) in the slot that comes next: public, so that it can be had before the reading."""
        state = self._now.state
        if self._ready is None or self._ready[0] is not state:
            self._ready = (state, self.mechanism.kernel(state))
        return self._ready[1]

    @property
    def private(self) -> int | None:
        """The last private state, for the person's own store, never beside public outputs; None where it is unknown."""
        return None if self._now.unsure else self._now.private

    @property
    def belief(self) -> Any:
        """What an observer of the outputs so far believes: a `Belief`, or an `EndlessBelief`."""
        return self._now.belief

    @property
    def off_model(self) -> int:
        """Readings since it began, or was resumed, that the model has no place for: a checkpoint does not have them."""
        return self._now.off_model

    @property
    def skips(self) -> int:
        """Slots that were skipped so far."""
        return self._now.skips

    @property
    def output(self) -> Output | None:
        """The last output, for a caller that was interrupted before it had it; None before the first."""
        return self._now.outputs[-1] if self._now.outputs else None

    @property
    def digest(self) -> str:
        """A digest of the outputs so far and of the kernels that gave them, for `resume`; public, like the outputs."""
        return self._now.trail.digest.hex()

    def release(self, context: str | None) -> Output:
        """What applications see in this slot, given the true context; None where there is no reading."""
        checked_label(context)
        self._require_slot("nothing is left to release")
        steps, now = self._steps, self._now
        if steps.forgets and math.isinf(now.unsure):
            return self.skip()  # memory was lost, and an observer has to know
        kernel = self.kernel
        private, unsure = steps.remembered(now, context)
        possible = not unsure and steps.possible(now, private)
        if possible or (not unsure and covers_everything(kernel)):
            output = kernel.sample(private, self._rng)
        else:
            output = SUPPRESSED
        self._now = steps.told(now, kernel, output, private, unsure, off_model=not possible)
        return output

    def skip(self) -> Skipped:
        """Pass a slot in which nothing was decided: a machine that was off. Public, and it tells nothing.

        What was true in it is not known, so memory starts anew: the next kernel does not look at it. A mechanism that
        cannot do without is silent until readings decide its private state by themselves.
        """
        self._require_slot("nothing is left to skip")
        self._now = self._steps.skipped(self._now)
        return SKIPPED

    @overload
    def change(
        self, *, policy: Policy | None = None, routine: Routine | None = None, date: dt.date | str | None = None
    ) -> dt.date: ...

    @overload
    def change(self, *, policy: Policy, position: int) -> int: ...

    def change(
        self,
        *,
        policy: Policy | None = None,
        routine: Routine | None = None,
        date: dt.date | str | None = None,
        position: int | None = None,
    ) -> dt.date | int:
        """New habits or a new policy from a date on, by default the cut after next; the date is returned.

        A policy that is changed at once would tell of what it was changed for. New habits are in force from the first
        cut from then on for which, under the present belief, nothing exceeds its limit by the change. `already_told`
        lists what was, before the policy.

        A hidden Markov model without end has no dates: a new policy is in force from a `position` on, which everybody
        may know. Choose it by what is public, such as a round number or where a part of the sequence begins.
        """
        model: Any = self.mechanism.model
        if not self._steps.shares:
            raise DiscreetError(
                "only a stream without end, without an adversary of its own, changes its habits or its policy; start a "
                "new session with the new ones"
            )
        if model.day_slots is None:
            if date is not None or routine is not None:
                raise DiscreetError(NO_DATES)
            return self._with_policy_at(policy, position)
        if position is not None:
            raise DiscreetError("a stream of days changes at the cut of a date; give date, and no position")
        at = (self.slot // model.day_slots + 2) * model.day_slots
        chosen = model.date_of(at)[0] if date is None else as_date(date)
        if model.slot_of(chosen) < self.slot + (policy is not None):
            raise DiscreetError(f"{chosen} has begun; a change takes effect at a later cut, by default that after next")
        if routine is not None:
            chosen = self._with_habits(routine, chosen)
        if policy is not None:
            self._go_on_with(self._steps.stream.then(chosen, policy=policy))
        return chosen

    def _with_policy_at(self, policy: Policy | None, position: int | None) -> int:
        """Go on with a new policy from a position on."""
        if policy is None or isinstance(position, bool) or not isinstance(position, int):
            raise DiscreetError(NO_DATES)
        if position <= self.slot:
            raise DiscreetError(
                f"position {position} is no later one: position {self.slot} comes next, and a policy that is changed "
                f"at once would tell of what it was changed for; give {self.slot + 1} or more"
            )
        stream: Any = self._steps.stream
        self._go_on_with(stream.then(position, policy=policy))
        return position

    def _with_habits(self, routine: Routine, date: dt.date) -> dt.date:
        """Go on with new habits from the first date on that allows it.

        One does: whatever lies further ahead than rows are live is within its limit under any belief.
        """
        while True:
            mechanism = self._steps.stream.then(date, routine=routine)
            if self._steps.holds(self._now, mechanism):
                self._go_on_with(mechanism)
                return date
            date += dt.timedelta(days=1)

    def _go_on_with(self, mechanism: EndlessMechanism[Any]) -> None:
        """Take over where the stream is."""
        self._steps, self._now = self._steps.changed(self._now, mechanism)

    @property
    def already_told(self) -> Mapping[str, Mapping[int, float]]:
        """{secret: {slot: belief}} of what was beyond its limit when the secret was declared: it may rise no more."""
        belief = self._now.belief
        told: dict[str, dict[int, float]] = {}
        for g, opens, limit in belief.already_told:
            told.setdefault(belief.adversary.names[g], {})[opens] = limit
        return told

    def gains(self, date: dt.date | str | None = None) -> Mapping[str, Any]:
        """What the outputs so far tell: {secret: (T,) gains at each slot, or one gain for a secret at="any"}.

        Without end, {secret: {slot: gain}} of what is live, by absolute slots (a window's first); or the gains of one
        `date` as above, of the last PAST_DAYS.
        """
        now = self._now
        laid: Mapping[str, Any] = now.belief.by_secret() if date is None else now.log.gains(now.belief, date)
        return laid

    def since(self, date: dt.date | str) -> tuple[EndlessBelief, list[FloatArray]]:
        """Of a stream: the belief that a date began with, one of the last PAST_DAYS, and the likelihoods since."""
        return self._now.log.since(self._now.belief, date)


def checked_label(reading: object) -> None:
    """Refuse a reading that is neither a label nor None, before anything depends on it."""
    if reading is not None and not isinstance(reading, str):
        raise DiscreetError(f"the reading is {words_for(reading)}; give one label, or None where there is no reading")


def _checked_outputs(outputs: object) -> Iterable[Output]:
    """What may hold outputs to resume from; each is judged by the kernel of its slot."""
    if not isinstance(outputs, Iterable):
        raise DiscreetError(
            f"the outputs to resume from are {outputs!r}; give those of the day so far in a list, or leave them out"
        )
    return outputs


def _checked_private(session: Session, private: object) -> int:
    """A private state that is given, if there is one by now and the mechanism has it."""
    states = len(session.mechanism.private_contexts)
    if not session.slot:
        raise DiscreetError(f"private state {private!r} belongs to no slot: there are no outputs yet; leave it out")
    try:
        number = -1 if isinstance(private, bool) else operator.index(private)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not 0 <= number < states:
        raise DiscreetError(
            f"private state {private!r} is none of the mechanism's, which are numbers from 0 to {states - 1}; give "
            "Session.private as it was stored after the last output, or None where it is lost"
        )
    return number
