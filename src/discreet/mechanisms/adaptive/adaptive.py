"""Adaptive release: one linear programme a slot keeps every gain within delta, exactly, and releases the most.

The proof stands beside this file, in proof.md.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, cast

from discreet.adversary.belief import Adversary
from discreet.contracts import DayModel, Kernel, Needs, Utility
from discreet.errors import DiscreetError
from discreet.events import Events
from discreet.given import as_date
from discreet.hierarchy import Hierarchy
from discreet.mechanisms.adaptive.changing import Change, Changes
from discreet.mechanisms.adaptive.machine import PAIRS, AdaptiveMachine, Memory
from discreet.mechanisms.adaptive.observers import Observer, fingerprints, observers_of, observing
from discreet.mechanisms.adaptive.slots import Pacing
from discreet.mechanisms.adaptive.table import SuppressTable
from discreet.mechanisms.adaptive.vocabulary import Outputs, Value, vocabulary_of
from discreet.mechanisms.adaptive.withheld import Withheld, withheld
from discreet.mechanisms.base import checked_given, described
from discreet.mechanisms.maskit.hybrid import Hybrid
from discreet.mechanisms.utility import DAYS, STREAM_DAYS, TREE, simulated_utility, stream_utility, tree_utility
from discreet.models.hidden.endless import EndlessHidden
from discreet.models.routine.changing import ChangingChain
from discreet.models.routine.endless import EndlessChain
from discreet.models.routine.pairs import EndlessPairs, PairRoutine
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import Output
from discreet.policy import Guarantee, Policy

__all__ = ["Adaptive", "Memory", "Outputs"]

Plan = Literal["full", "lazy"]
Follows = Literal["adaptive", "hybrid", "suppress"]

AHEAD = 1e-9
"""Another machine is followed where it is ahead by more than this: the silence that is mixed in costs 2**-40."""


class ChosenMachine(NamedTuple):
    """A finished machine, whose it is, and what it is known to be worth."""

    follows: Follows
    machine: Any
    memory: Memory
    adversary: Any
    utility: Utility | None


class Adaptive:
    """The kernel of each slot is the best that keeps every secret's gain within its delta, given the outputs so far.

    outputs="suppress": truth or silence; "generalize": any ancestor in the hierarchy; "deceive": any context, true or
    not, or silence; "attributes": any of the attributes of an event (`events`; by default read off the contexts), or
    silence. memory="last" lets the kernel look at the previous true context too (default for chains), which is never
    published. `value(context, output)` says what an output is worth: by default truth 1, an ancestor k layers up
    max(0, 1 - k/2), a partial event the fraction of attributes that it shows, everything else 0.

    `observers` are models of others who may have learned the person's habits elsewhere (routines, over
    `routine.since(date)`, by default those that the routine has): every gain stays within its delta before each of them
    too, relative to their own priors.

    Suppressing on a chain with secrets at each slot is tabled. plan="full" decides all that is likely to occur before
    the first release, compares with `Hybrid` and follows the better: `follows` says which. Likewise "generalize"
    follows "suppress" where that is better, on days short enough to know. plan="lazy" starts at once and decides as it
    goes. `effort` counts programmes, those given up (silence instead), and kernels mended after rounding.
    """

    needs: Needs = "any"
    forgets: ClassVar[bool] = True  # after a skip kernels do not look at memory
    shares_tables: ClassVar[Literal[True]] = True  # `since` begins with what was decided before
    pairs: ClassVar[int] = PAIRS  # of memory; a class of one's own may keep others, as an experiment does
    pacing: ClassVar[Pacing | None] = None  # over a model without end; likewise, None for the one measured to be best

    def __init__(
        self,
        model: DayModel | EndlessChain | EndlessHidden,
        policy: Policy,
        *,
        outputs: Outputs = "suppress",
        memory: Memory | None = None,
        hierarchy: Hierarchy | None = None,
        events: Events | None = None,
        value: Value | None = None,
        plan: Plan = "full",
        observers: Sequence[Observer] | None = None,
        _like: AdaptiveMachine | None = None,
        _policies: tuple[tuple[dt.date | int, Policy], ...] = (),
    ) -> None:
        checked_given(model, policy, "Adaptive")
        if plan not in ("full", "lazy"):
            raise DiscreetError(f"plan={plan!r} is not known; use 'full' or 'lazy'")
        self.model: Any = model  # of one day, or without end
        self.policy = policy
        self.outputs: Outputs = outputs
        self.observers = observing(model, observers_of(model) if observers is None else observers)
        self._options: dict[str, Any] = {"hierarchy": hierarchy, "events": events, "value": value, "plan": plan}
        before = f", against each of {len(self.observers) + 1} observers" if self.observers else ""
        self.guarantee = Guarantee(
            "exact delta",
            f"whatever is output, the gain on each secret, at each slot or at any, stays within its delta{before}",
            covers=frozenset({"each", "any"}),
        )
        self.vocabulary = vocabulary_of(cast(Any, model), outputs, hierarchy, events, value)
        self._policies = _policies
        machine = self._made(_memory(model, memory), _like)
        self.decider, self.effort = machine.decider, machine.decider.effort
        chosen = ChosenMachine("adaptive", machine, machine.memory, machine.adversary, None)
        if plan == "full" and isinstance(machine, SuppressTable) and not self.observers:  # Hybrid knows of none
            chosen = self._or_hybrid(chosen, machine.plan())
        elif plan == "full" and outputs == "generalize" and value is None and machine.horizon is None:
            chosen = self._or_suppress(chosen)
        self.follows: Follows = chosen.follows
        self.memory: Memory = chosen.memory
        self.adversary = chosen.adversary
        self.private_contexts: IntArray = chosen.machine.private_contexts
        self._chosen, self._utility = chosen, chosen.utility
        self._large = False  # the tree of outputs is too large for an exact utility

    def __repr__(self) -> str:
        return described("Adaptive", self.model, self.policy, f"outputs={self.outputs!r}")

    def _made(self, memory: Memory, like: AdaptiveMachine | None) -> Any:
        """The machine of a day or of a stream; several, one after the other, where the policy changes."""

        def make(habits: Any, policy: Policy, before: tuple[AdaptiveMachine, int] | None) -> AdaptiveMachine:
            settles = self.outputs == "suppress" and self._options["value"] is None and not policy.bounds_any
            tabled = settles and habits.emission(habits.first) is None  # a release shows the state
            table, endless = tabled and habits.slots is not None, habits.slots is None
            return (SuppressTable if table else AdaptiveMachine)(
                habits,
                policy,
                self.vocabulary,
                self.outputs,
                memory,
                self.pairs,
                pacing=self.pacing,
                tabled=tabled and endless,
                like=like if before is None else None,
                before=before,
                observers=self.observers,
            )

        if not self._policies:
            return make(self.model, self.policy, None)
        policies = {
            at if isinstance(at, int) else self.model.slot_of(at): policy for at, policy in self._policies
        }  # of a date, the last one given
        changes = tuple(Change(slot, policies[slot]) for slot in sorted(policies))
        return Changes(self.model, self.policy, make, changes)

    def _or_hybrid(self, own: ChosenMachine, utility: Utility) -> ChosenMachine:
        """Follow Hybrid where it is better: a function of model and policy, which are public, hence sound."""
        hybrid = Hybrid(self.model, self.policy)
        known = hybrid.expected_utility()
        if float(known) > utility.mean + utility.half_width + AHEAD:
            return ChosenMachine("hybrid", hybrid, "none", Adversary(hybrid), known)
        return own._replace(utility=utility)

    def _or_suppress(self, own: ChosenMachine) -> ChosenMachine:
        """Follow suppress where it is better, on days so short that both are known exactly; sound likewise."""
        utility = tree_utility(own.machine, self.worth, TREE)
        if utility is None:
            return own
        plain = Adaptive(self.model, self.policy, memory=own.memory, observers=self.observers)
        known = plain._utility or tree_utility(plain, plain.worth, TREE)
        if known is not None and float(known) > float(utility) + AHEAD:
            return plain._chosen._replace(follows="suppress", utility=known)
        return own._replace(utility=utility)

    @property
    def horizon(self) -> int | None:
        """Over a model without end, how many slots ahead something could tell of a secret; None for a day's."""
        horizon: int | None = getattr(self.machine, "horizon", None)  # a hybrid check has none
        return horizon

    @property
    def machine(self) -> Any:
        """The machine that is followed."""
        return self._chosen.machine

    def remember(self, memory: int | None, context: int) -> int:
        """The private state after this context: the machine's."""
        return int(self.machine.remember(memory, context))

    def worth(self, context: str, output: Output) -> float:
        """What an output is worth in a context: `value`, or its default."""
        return self.vocabulary.worth_of(context, output)

    @classmethod
    def law_cases(cls, model: DayModel) -> Iterable[Mapping[str, Any]]:
        """The defaults, fakes, and a hierarchy of two layers."""
        tree = Hierarchy({"top": list(model.contexts)})
        return {}, {"outputs": "deceive"}, {"outputs": "generalize", "hierarchy": tree, "memory": "none"}

    def start(self) -> Any:
        """The public state at the start of a day."""
        return self.machine.start()

    def kernel(self, state: Any) -> Kernel:
        """The best kernel that keeps every gain within its delta, or the one that `Hybrid` has."""
        kernel: Kernel = self.machine.kernel(state)
        return kernel

    def advance(self, state: Any, output: Output) -> Any:
        """The public state after an output."""
        return self.machine.advance(state, output)

    def retraced(self, state: Any, output: Output, column: FloatArray) -> Any:
        """The public state of a stream after an output, by the likelihood (P,) that it had when it was drawn."""
        return self.machine.retraced(state, output, column)

    def withheld(self, state: Any, private: int, told: Output) -> Withheld | None:
        """Over a model without end, the rows because of which this was told and not the truth; None where it was."""
        machine = self.machine.machine(state.cuts) if isinstance(self.machine, Changes) else self.machine
        if self.horizon is None:
            raise DiscreetError("why something was withheld is known of streams; give Adaptive a routine.since(date)")
        return withheld(machine, state, private, told)

    def restored(self, belief: Any, skipped: bool, cuts: tuple[int, ...] = (), others: tuple[Any, ...] = ()) -> Any:
        """The public state of a checkpoint, over a model without end."""
        return self.machine.restored(belief, skipped, cuts, others)

    def adversaries_at(self, cuts: tuple[int, ...]) -> tuple[Any, ...]:
        """The adversaries after changes at these cuts: the mechanism's own, then the other observers."""
        return tuple(self.machine.adversaries_at(cuts))

    def known(self, state: Any) -> frozenset[str]:
        """The contexts of the habits that a public state of a stream is about; any other label is `other`."""
        model: Any = self.model
        return model.known_at(state.slot) if isinstance(model, ChangingChain) else frozenset(model.contexts)

    @property
    def settings(self) -> str:
        """What, beside model and policy, kernels depend on."""
        later = "".join(f", policy {policy.fingerprint} from {at} on" for at, policy in self._policies)
        before = f", before {len(self.observers)} observers {fingerprints(self.observers)}" if self.observers else ""
        return f"adaptive, outputs {self.outputs}, memory {self.memory}{before}{later}"

    def then(
        self, at: dt.date | str | int, *, policy: Policy | None = None, routine: Routine | None = None
    ) -> Adaptive:
        """The same mechanism with new habits, or a new policy, from the cut of a date on (`Session.change`).

        Over positions, which have no dates, with a new policy from a position on.
        """
        model: Any = self.model
        if self.horizon is None or isinstance(at, int) != (model.day_slots is None):
            raise DiscreetError(
                "days without end change at a date, and a hidden Markov model without end at a position; give Adaptive "
                "a routine.since(date)"
            )
        if isinstance(routine, PairRoutine) or (routine is not None and not _has_habits_that_change(model)):
            raise DiscreetError("habits over two contexts, or hidden ones, stay; begin a new stream with the others")
        if routine is not None and not isinstance(at, int):
            if self.observers or routine.observers:
                raise DiscreetError(
                    "habits that change are held before one observer so far; start a new stream with the new routine "
                    "and its observers, or leave observers out (routine.with_observers([]))"
                )
            before = model.changing if isinstance(model, ChangingChain) else model.routine
            initial = None if model.periodic else model.initial
            model = before.then(routine, at).since(model.start, initial, model.first)
        when = at if isinstance(at, int) else as_date(at)
        policies = self._policies if policy is None else (*self._policies, (when, policy))
        options = {"outputs": self.outputs, "memory": self.memory, "observers": self.observers, **self._options}
        return Adaptive(model, self.policy, **options, _policies=policies)

    def since(self, date: dt.date | str, first: int = 0) -> Adaptive:
        """The same mechanism from another date and slot on, what it has decided shared where habits repeat."""
        if self.horizon is None or isinstance(self.machine, Changes) or not isinstance(self.model, EndlessChain):
            raise DiscreetError("only a mechanism over routine.since(date), without changes, begins on other dates")
        other: EndlessChain = self.model.beginning(date, first=first)
        shared = other.periodic and self.model.periodic and not self.policy.beyond_a_day  # windows go by date
        like = self.machine if shared else None
        observers = [observer.routine for observer in self.observers]
        options = {"outputs": self.outputs, "memory": self.memory, "observers": observers, **self._options}
        return type(self)(other, self.policy, **options, _like=like)

    def expected_utility(self, days: int | None = None) -> Utility:
        """Expected worth of a slot: exact where it is tabled or days are short, else the mean over days of the model.

        half_width is then the 95 % half-width; the draws are seeded. Without end, over a stream of some weeks.
        """
        if self.horizon is not None:
            return stream_utility(self, self.worth, STREAM_DAYS if days is None else days)
        if self._utility is None and isinstance(self.machine, SuppressTable):
            self._utility = self.machine.plan()
        if self._utility is None and not self._large:
            self._utility = tree_utility(self, self.worth, TREE)
            self._large = self._utility is None
        if self._utility is None:
            return simulated_utility(self, self.worth, DAYS if days is None else days)
        return self._utility


def _has_habits_that_change(model: Any) -> bool:
    return isinstance(model, EndlessChain) and not isinstance(model, EndlessPairs)


def _memory(model: Any, memory: Memory | None) -> Memory:
    if memory is None:
        free = model.emission(model.first) is None or hasattr(model, "pairs")  # no further states to filter over
        return "last" if free else "none"
    if memory not in ("last", "none"):
        raise DiscreetError(f"memory={memory!r} is not known; use 'last' or 'none'")
    return memory
