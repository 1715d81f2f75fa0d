"""The one idea: a mechanism is a state machine over public outputs; the truth enters only when one output is drawn.

`kernel` and `advance` see public state alone, so whatever they decide, an observer can compute too: simulatability is
not proven for each mechanism, it is the shape of the interface.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Protocol, TypeGuard, TypeVar

from discreet.numerics import FloatArray, IntArray
from discreet.outputs import Output
from discreet.policy import Guarantee, Policy

State = TypeVar("State", bound=Hashable)


class Rng(Protocol):
    """A source of uniform integers (discreet.randomness has two)."""

    def bits(self, count: int) -> int:
        """A uniform integer below 2**count."""

    def below(self, bound: int) -> int:
        """A uniform integer below bound."""


class Model(Protocol):
    """A person's habits: T slots, n contexts, K hidden states (the contexts themselves for a Markov chain)."""

    @property
    def contexts(self) -> tuple[str, ...]:
        """The n labels; arrays index them."""

    @property
    def slots(self) -> int:
        """T."""

    @property
    def initial(self) -> FloatArray:
        """(K,)."""

    @property
    def transitions(self) -> FloatArray:
        """(T-1, K, K)."""

    @property
    def emissions(self) -> FloatArray | None:
        """(T, K, n), or None where hidden states and contexts are the same."""

    @property
    def prior(self) -> FloatArray:
        """(T, n): what anybody who knows the habits believes before any output."""


class Kernel(Protocol):
    """P(output | private state) in one slot."""

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

    def sample(self, private: int, rng: Rng) -> Output:
        """Draw the output."""

    def likelihood(self, output: Output) -> FloatArray:
        """Over private states, up to a common factor."""


def is_noisy(kernel: Kernel) -> TypeGuard[Noisy]:
    """Whether a kernel names outputs to try."""
    return hasattr(kernel, "telling")


def covers_everything(kernel: Kernel) -> bool:
    """Whether a kernel has outputs also for private states that the belief holds impossible: those of a possible one."""
    return bool(getattr(kernel, "covers_everything", False))


class Mechanism(Protocol[State]):
    """Decides what is released, slot by slot."""

    @property
    def model(self) -> Model:
        """The habits that observer and mechanism know."""

    @property
    def policy(self) -> Policy | None:
        """The secrets; None for mechanisms that promise likelihood ratios instead of beliefs."""

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""

    @property
    def private_contexts(self) -> IntArray:
        """(P,): the context of each private state."""

    def start(self) -> State:
        """The public state at the start of a day."""

    def kernel(self, state: State) -> Kernel:
        """P(output | private state), from public state alone, deterministic."""

    def advance(self, state: State, output: Output) -> State:
        """The public state after an output; `Suppressed()` is always accepted."""

    def remember(self, memory: int | None, context: int) -> int:
        """The private state after this context, `memory` being the one before (None at the start of a day)."""


@dataclass(frozen=True)
class Utility:
    """Expected fraction of slots released truthfully: mean, give or take half_width (0 where it is exact)."""

    mean: float
    half_width: float = 0.0

    def __float__(self) -> float:
        return self.mean
