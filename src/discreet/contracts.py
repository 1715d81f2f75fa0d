"""The one idea: a mechanism is a state machine over public outputs; the truth enters only when one output is drawn.

`kernel` and `advance` see public state alone, so whatever they decide, an observer can compute too: simulatability is
not proven for each mechanism, it is the shape of the interface.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeGuard, TypeVar, cast, runtime_checkable

from discreet.errors import OneDayError
from discreet.numerics import FloatArray, IntArray
from discreet.outputs import Output
from discreet.policy import Guarantee, Policy, SecretTable

State = TypeVar("State", bound=Hashable)

if TYPE_CHECKING:
    computed_once = property
    """A property that is computed when it is first asked for, and kept. Checkers take it for what it stands for in the
    protocols below, a property; of `cached_property` some of them say that it is none."""
else:
    computed_once = cached_property

Needs = Literal["chain", "events", "any"]
"""What a mechanism needs of its model: a Markov chain over contexts, contexts that are events, or nothing special."""


class Rng(Protocol):
    """A source of uniform integers (discreet.randomness has two)."""

    def bits(self, count: int) -> int:
        """A uniform integer below 2**count."""

    def below(self, bound: int) -> int:
        """A uniform integer below bound."""


class Model(Protocol):
    """A person's habits: n contexts and S states of the model, which are the contexts themselves for a Markov chain.

    Asked slot by slot, from `first` on: to the last of `slots`, or without end where that is None. `MarkovChain` and
    `HiddenMarkovModel` are of one day, and have arrays of it (`DayModel`); `Routine.since(date)` and
    `HiddenMarkovModel.homogeneous(..., slots=None)` have no end (`EndlessModel`).
    """

    @property
    def contexts(self) -> tuple[str, ...]:
        """The n labels; arrays index them."""

    @property
    def first(self) -> int:
        """The first slot."""

    @property
    def slots(self) -> int | None:
        """T, or None where there is no last slot."""

    @property
    def initial(self) -> FloatArray:
        """(S,): at the first slot."""

    def transition(self, t: int) -> FloatArray:
        """(S, S): from slot t to slot t + 1."""

    def emission(self, t: int) -> FloatArray | None:
        """(S, n): the contexts of each state in slot t; None where states and contexts are the same."""

    def prior_at(self, t: int) -> FloatArray:
        """(n,): what anybody who knows the habits believes of slot t before any output."""

    def phase(self, t: int) -> int | None:
        """Where in its cycle slot t is: equal phases have equal transitions and priors; None where nothing repeats."""

    @property
    def fingerprint(self) -> str:
        """A digest: equal models have equal fingerprints."""


class DayModel(Model, Protocol):
    """Habits of one day, also as arrays."""

    @property
    def slots(self) -> int:
        """T."""

    @property
    def transitions(self) -> FloatArray:
        """(T-1, S, S)."""

    @property
    def emissions(self) -> FloatArray | None:
        """(T, S, n), or None where states and contexts are the same."""

    @property
    def prior(self) -> FloatArray:
        """(T, n)."""


class EndlessModel(Model, Protocol):
    """Habits without end: of days whose slots are counted on over midnight, or of positions."""

    @property
    def slots(self) -> None:
        """None: there is no last slot."""

    @property
    def day_slots(self) -> int | None:
        """T, of one day; None where positions are counted, and there are no days."""

    @property
    def cycle_slots(self) -> int:
        """After how many slots habits repeat, where they do."""

    def state_prior_at(self, t: int) -> FloatArray:
        """(S,): the prior of the model's states in slot t."""

    def step_name(self, t: int) -> tuple[str | int, ...]:
        """What the transition from slot t on is called: slots with equal names have equal ones."""


def is_endless(model: Model) -> TypeGuard[EndlessModel]:
    """Whether a model has no last slot."""
    return model.slots is None


def require_end(model: Model, remedy: str) -> None:
    """Refuse a model without end."""
    if is_endless(model):
        raise OneDayError(f"a model that ends is needed here, and this one has no last slot; {remedy}")


def secrets_over(policy: Policy, model: Model, *, patterns: bool = False) -> SecretTable:
    """The policy as arrays over a model's contexts and slots: of one day, of days that repeat, or of positions."""
    if not is_endless(model):
        return policy.for_model(model.contexts, model.slots, patterns=patterns)
    if model.day_slots is None:
        return policy.for_positions(model.contexts)
    return policy.for_days(model.contexts, model.day_slots)


def cycle_of(model: Model) -> range:
    """The slots whose priors are all that there are: those of a day, or of one cycle where they repeat."""
    return range(model.first, model.first + (model.cycle_slots if is_endless(model) else cast(int, model.slots)))


def is_chain(model: Model) -> bool:
    """Whether contexts are seen: the model is a Markov chain over them."""
    return model.emission(model.first) is None


class Kernel(Protocol):
    """P(output | private state) in one slot."""

    @property
    def digest(self) -> bytes:
        """Of all that `sample` and `likelihood` depend on: equal kernels have equal digests, on every machine."""

    def sample(self, private: int, rng: Rng) -> Output:
        """Draw the output: the only place that sees the truth."""

    def likelihood(self, output: Output) -> FloatArray:
        """(P,) over private states, up to a common factor: all that an observer learns from the output."""


class Finite(Protocol):
    """A kernel with finitely many outputs; `matrix` equals `weights / total` exactly."""

    @property
    def outputs(self) -> tuple[Output, ...]:
        """O outputs."""

    @property
    def weights(self) -> IntArray:
        """(P, O): the integers that are sampled."""

    @property
    def total(self) -> int:
        """What every row of weights sums to."""

    @property
    def matrix(self) -> FloatArray:
        """(P, O)."""

    @property
    def digest(self) -> bytes:
        """Of outputs, weights and total."""

    def sample(self, private: int, rng: Rng) -> Output:
        """Draw the output."""

    def likelihood(self, output: Output) -> FloatArray:
        """The output's column."""


def is_finite(kernel: Kernel) -> TypeGuard[Finite]:
    """Whether a kernel has finitely many outputs."""
    return hasattr(kernel, "weights")


class Noisy(Protocol):
    """A kernel whose outputs cannot be listed, but which can name some for an audit to try."""

    def telling(self, private: IntArray | None = None) -> tuple[Output, ...]:
        """Outputs that tell much about these private states, or about any."""

    @property
    def digest(self) -> bytes:
        """Of what the noise is made from."""

    def sample(self, private: int, rng: Rng) -> Output:
        """Draw the output."""

    def likelihood(self, output: Output) -> FloatArray:
        """Over private states, up to a common factor."""


def is_noisy(kernel: Kernel) -> TypeGuard[Noisy]:
    """Whether a kernel names outputs to try."""
    return hasattr(kernel, "telling")


@runtime_checkable
class CoversEverything(Protocol):
    """A kernel with outputs also for private states that the belief holds impossible: those of a possible one."""

    @property
    def covers_everything(self) -> Literal[True]:
        """Declared, because a session asks: elsewhere such a reading is silence."""


def covers_everything(kernel: Kernel) -> TypeGuard[CoversEverything]:
    """Whether a kernel has outputs for what the belief holds impossible."""
    return isinstance(kernel, CoversEverything) and kernel.covers_everything is True


@dataclass(frozen=True)
class Utility:
    """Expected fraction of slots released truthfully, or their mean worth, give or take half_width (0 where exact)."""

    mean: float
    half_width: float = 0.0

    def __float__(self) -> float:
        return self.mean


class Machine(Protocol[State]):
    """The state machine over public outputs, and the private states that its kernels have rows for."""

    @property
    def model(self) -> DayModel:
        """The habits that observer and mechanism know."""

    @property
    def policy(self) -> Policy | None:
        """The secrets; None for mechanisms that promise likelihood ratios instead of beliefs."""

    @property
    def private_contexts(self) -> IntArray:
        """(P,): the context of each private state."""

    def start(self) -> State:
        """The public state at the start of a day."""

    def kernel(self, state: State) -> Kernel:
        """P(output | private state), from public state alone, deterministic."""

    def advance(self, state: State, output: Output) -> State:
        """The public state after an output; `Suppressed()` and `Skipped()` are always accepted."""

    def remember(self, memory: int | None, context: int) -> int:
        """The private state after this context; `memory` is the one before, None in a day's first slot only."""


class Mechanism(Machine[State], Protocol[State]):
    """Decides what is released, slot by slot: a machine, what it promises, and what it is worth."""

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""

    @property
    def needs(self) -> Needs:
        """What it needs of its model; the constructor refuses a model that lacks it."""

    def worth(self, context: str, output: Output) -> float:
        """What an output is worth in a context; `outputs.truthful` unless the mechanism has a measure of its own."""

    def expected_utility(self, days: int | None = None) -> Utility:
        """Expected worth of a slot's output, by the model.

        Exact where that is within reach, else the mean over so many `days` drawn from the model (None: as many as the
        mechanism thinks fit). A `DiscreetError` where outputs have no worth in this sense says what to measure instead.
        """


@runtime_checkable
class Retraces(Protocol):
    """A mechanism that can follow outputs by the likelihoods that they had, whatever its own kernels would be."""

    def retraced(self, state: Any, output: Output, column: FloatArray) -> Any:
        """The public state after an output with this likelihood (P,)."""


class EndlessMechanism(Mechanism[State], Protocol[State]):
    """A mechanism over a model without end. Its public states have `slot`, `belief`, `others`, `skipped` and `cuts`.

    Beliefs and adversaries are those of discreet.adversary.endless, which knows contracts, not the other way round.
    """

    @property
    def adversary(self) -> Any:
        """The observer whose belief the public state holds."""

    @property
    def settings(self) -> str:
        """What, beside model and policy, kernels depend on."""

    def restored(self, belief: Any, skipped: bool, cuts: tuple[int, ...] = (), others: tuple[Any, ...] = ()) -> State:
        """The public state of a checkpoint; `cuts` are those at which habits or the policy changed so far.

        `others` are the beliefs of other observers whom the mechanism has in mind.
        """

    def adversaries_at(self, cuts: tuple[int, ...]) -> tuple[Any, ...]:
        """The adversaries after changes at these cuts: the mechanism's own, then the other observers."""

    def known(self, state: State) -> frozenset[str]:
        """The contexts of the habits in force; any other label is `other`."""

    def since(self, date: dt.date | str) -> EndlessMechanism[State]:
        """The same mechanism from another date on."""

    def then(self, date: dt.date | str, *, policy: Any = None, routine: Any = None) -> EndlessMechanism[State]:
        """The same mechanism with a new policy or new habits (a `Routine`) from the cut of a date on."""


AnyMachine: TypeAlias = Machine[Any]
AnyMechanism: TypeAlias = Mechanism[Any]


@runtime_checkable
class WithoutEnd(Protocol):
    """A mechanism that runs without end, where its model has none."""

    @property
    def adversary(self) -> Any:
        """Whose belief its public states hold."""

    def since(self, date: dt.date | str) -> AnyMechanism:
        """The same mechanism from another date on."""


@runtime_checkable
class SharesTables(Protocol):
    """A mechanism without end that can begin at another slot with the tables of one that began earlier."""

    @property
    def shares_tables(self) -> Literal[True]:
        """Declared, because others have a `since` that starts with empty tables."""

    def since(self, date: dt.date | str, first: int = 0) -> AnyMechanism:
        """The same mechanism from another date and slot on; what was decided before is not decided again."""


@runtime_checkable
class Explains(Protocol):
    """A mechanism that can say, when asked, because of what it withheld the truth in a slot."""

    def withheld(self, state: Any, private: int, told: Output) -> Any:
        """The share that is shown and the rows that bind (`mechanisms.adaptive.withheld`); None: nothing withheld."""


def runs_without_end(mechanism: AnyMechanism) -> bool:
    """Whether a mechanism goes on over midnight: its model has no last slot, and it can do without one."""
    return is_endless(mechanism.model) and isinstance(mechanism, WithoutEnd)


class MechanismClass(Protocol):
    """What `discreet.mechanisms` exports: called with a model, a policy and options it gives a mechanism."""

    def __call__(self, *model_and_policy: Any, **options: Any) -> AnyMechanism:
        """The mechanism: `Name(model, policy, *, options)`."""

    def law_cases(self, model: DayModel) -> Iterable[Mapping[str, Any]]:
        """Options to hold it to the laws with, on a small model; one empty mapping where it needs none."""


@runtime_checkable
class StartsAnew(Protocol):
    """A machine over several days, whose private memory starts anew on some of them: a day's own, day after day."""

    @property
    def anew(self) -> Mapping[int, IntArray]:
        """{slot: (n,)}: the private state of each context in a slot that nothing before is remembered in."""


def memory_starts(machine: AnyMachine) -> Mapping[int, IntArray]:
    """The slots after the first at which memory starts anew, with each context's private state then."""
    return machine.anew if isinstance(machine, StartsAnew) else {}


def private_in(machine: AnyMachine, slot: int, memory: int | None, context: int) -> int:
    """The private state of a slot, after the one before: `remember`, except where memory starts anew."""
    starts = memory_starts(machine)
    return int(starts[slot][context]) if slot in starts else machine.remember(memory, context)


@runtime_checkable
class StartsDays(Protocol):
    """A mechanism without end whose private memory starts anew at each cut."""

    def starting(self, t: int) -> IntArray:
        """(n,): the private state of each context in the first slot of the day that begins at slot t."""


@runtime_checkable
class BoundsRatios(Protocol):
    """A mechanism that bounds how far apart private states can make an output's probability, whatever came before."""

    def largest_log_ratios(self) -> FloatArray:
        """(T,): no output of the slot has a larger log-ratio between two possible contexts; inf where none is known."""


def bounds_ratios(mechanism: AnyMechanism) -> TypeGuard[BoundsRatios]:
    """Whether a mechanism bounds ratios of probabilities: an audit then has a bound without following its states."""
    return isinstance(mechanism, BoundsRatios)
