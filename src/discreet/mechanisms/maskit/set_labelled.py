"""Weaker adversaries (MaskIt, Section 6): one who knows frequencies only, and one who knows sets of contexts only.

Protection against those who know the habits is no protection against those who know less: what is output may teach them
the habits, and their belief is counted from a lower prior (the paper's Example 6).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from discreet.adversary.endless import EndlessAdversary
from discreet.adversary.endless_belief import EndlessBelief
from discreet.contracts import AnyMechanism, DayModel, Needs, Utility, is_finite, secrets_over
from discreet.errors import DiscreetError, OneDayError, PolicyError
from discreet.kernels import FiniteKernel
from discreet.mechanisms.base import ContextMechanism
from discreet.mechanisms.maskit.hybrid import Hybrid
from discreet.mechanisms.unchanging import UnchangingStream
from discreet.models import MarkovChain
from discreet.models.arrays import reachable
from discreet.models.routine.changing import ChangingChain
from discreet.models.routine.endless import EndlessChain
from discreet.models.routine.routine import Routine
from discreet.numerics import SLACK, BoolArray, FloatArray, IntArray
from discreet.outputs import Generalized, Output, Released, Skipped
from discreet.policy import Guarantee, Policy, Secret, SecretTable

KNOWN_SETS = Guarantee(
    "exact delta",
    "whatever is output, the gain on each secret at each slot of an adversary who knows the set-labelled chain, or any "
    "refinement of it, stays within its delta (MaskIt, Theorem 7). Secrets at='any' are not bounded",
)


@dataclass(frozen=True)
class LabelledState:
    """The public state without end: the inner check's, and the belief of the observer who knows the habits."""

    inner: Any
    belief: EndlessBelief = field(compare=False, repr=False)
    cuts: tuple[int, ...] = ()  # habits do not change

    @property
    def slot(self) -> int:
        """The slot that comes next."""
        return self.belief.slot

    @property
    def skipped(self) -> bool:
        """Whether nothing was decided in the slot before."""
        return bool(self.inner.skipped)

    @property
    def others(self) -> tuple[EndlessBelief, ...]:
        """The beliefs that the inner check decides by."""
        return (self.inner.belief, *self.inner.others)


class SetLabelled(UnchangingStream, ContextMechanism):
    """Releases not the context but the numbered set of contexts that the adversary takes it for (Theorem 7).

    `labels` gives for each context the set of contexts that the adversary cannot tell it from; one left out is known to
    the adversary as it is. The output for context number a with a set of several is `Generalized("a: x | y")`: the
    paper's pair of the state's ID and its set; a context that stands for itself is `Released`. Inputs are mapped before
    the check sees them, every state whose set contains a secret is treated as sensitive, and each such state is bounded
    by delta/mu, mu being the number of states that can carry the secret, counted secret by secret and slot by slot
    (`mu`, (G, T)). Under a cap delta is the least that the cap leaves of it, about half: what the adversary guessed
    before is not known.

    Proof. For a secret g at slot t the weak adversary's gain is the sum over states a whose set meets g of P(X_t in g
    | a) times the gain on a: outputs depend on a alone (Claim 8), so the factor is the same before and after. Each
    factor is at most 1, each gain at most delta/mu, and there are mu terms (Claim 9); states of probability zero add
    nothing. Each term may use the project's slack, so where mu is above 1 the inner check is asked for delta/mu less
    that slack, and the sum stays within delta itself. A check that remembers earlier states (`Adaptive`) is no
    different: outputs still depend on states alone. The output distribution is known to the adversary beforehand, so
    nothing is learned about the habits (Claim 10). Since a context is in its own set, the bound holds for one who
    knows the habits as well. Nothing of this depends on the number of slots: over a model without end, with a check
    that runs without end (`mechanism=Adaptive`), the sum is over the states that can carry the secret at any slot, and
    mu counts them all. All applications are shown one stream. A stream for each one's knowledge would be a second look
    at the truth: what two streams tell together is not bounded by what each tells.
    """

    needs: Needs = "chain"

    def __init__(
        self,
        model: DayModel,
        policy: Policy,
        *,
        labels: Mapping[str, Iterable[str]],
        mechanism: Callable[..., AnyMechanism] = Hybrid,
        **options: Any,
    ) -> None:
        super().__init__(model, policy)
        _refuse_odds(policy)
        self._maker, self._given = mechanism, options
        self.labels = _complete(labels, model.contexts)
        carriers = _carriers(self.secrets, self.labels, model.contexts)  # (G, n): does the state's set meet the secret
        states = [str(number) for number in range(len(model.contexts))]
        chain: Any
        if isinstance(endless := cast(Any, model), EndlessChain):
            chain = _stream_of(states, endless)
            self.mu: IntArray = np.repeat(carriers.sum(axis=1)[:, None], self.secrets.slots, axis=1)
        else:
            chain = MarkovChain(states, model.initial, model.transitions)
            self.mu = carriers.astype(np.int64) @ reachable(model).T.astype(np.int64)  # (G, T)
        inner = Policy(_state_secrets(self.secrets, carriers, self.mu), delta=policy.delta)
        self.mechanism: Any = mechanism(chain, inner, **options)
        self.private_contexts = self.mechanism.private_contexts  # states are numbered as contexts are
        self.forgets = bool(getattr(self.mechanism, "forgets", False))
        self.guarantee = KNOWN_SETS if self.mechanism.guarantee.promises_delta("each") else self.mechanism.guarantee
        self._outward = {
            Released(state): _output(number, context, self.labels[context])
            for number, (state, context) in enumerate(zip(states, model.contexts, strict=True))
        }
        self._inward = {outward: inward for inward, outward in self._outward.items()}
        self._kernels: dict[Hashable, FiniteKernel] = {}
        self.adversary: Any = EndlessAdversary(self) if isinstance(endless, EndlessChain) else None

    def _laid(self) -> SecretTable:
        """Over days without end, windows over the cut stay whole."""
        return secrets_over(self.policy, self.model)

    @classmethod
    def law_cases(cls, model: DayModel) -> Iterable[Mapping[str, Any]]:
        """The first two contexts cannot be told apart."""
        first = frozenset(model.contexts[:2])
        return ({"labels": dict.fromkeys(first, first)},)

    def start(self) -> Hashable:
        """The inner check's public state; without end, with the belief of the observer who knows the habits."""
        state: Hashable = self.mechanism.start()
        return state if self.adversary is None else LabelledState(state, self.adversary.start())

    def remember(self, memory: int | None, context: int) -> int:
        """The inner check's."""
        return int(self.mechanism.remember(memory, context))

    def kernel(self, state: Hashable) -> FiniteKernel:
        """The inner check's kernel with sets in place of states."""
        if isinstance(state, LabelledState):
            return self._outwards(state.inner)  # a stream has no end of states
        found = self._kernels.get(state)
        if found is None:
            found = self._kernels[state] = self._outwards(state)
        return found

    def _outwards(self, state: Hashable) -> FiniteKernel:
        inner = self.mechanism.kernel(state)
        if not is_finite(inner):
            raise DiscreetError("SetLabelled needs a mechanism with finitely many outputs, such as Hybrid")
        outputs = tuple(self._outward[output] if isinstance(output, Released) else output for output in inner.outputs)
        return FiniteKernel(outputs, inner.weights, inner.total)

    def advance(self, state: Hashable, output: Output) -> Hashable:
        """The inner check's next state."""
        if isinstance(state, LabelledState):
            skipped = isinstance(output, Skipped)
            column = np.ones(len(self.private_contexts)) if skipped else self.kernel(state).likelihood(output)
            inner = self.mechanism.advance(state.inner, self._inward.get(output, output))
            return LabelledState(inner, state.belief.after(column))
        following: Hashable = self.mechanism.advance(state, self._inward.get(output, output))
        return following

    # --- without end

    def retraced(self, state: LabelledState, output: Output, column: FloatArray) -> LabelledState:
        """The public state after an output that had this likelihood (P,) when it was drawn."""
        inner = self.mechanism.retraced(state.inner, self._inward.get(output, output), column)
        return LabelledState(inner, state.belief.after(column))

    def restored(
        self,
        belief: EndlessBelief,
        skipped: bool,
        cuts: tuple[int, ...] = (),
        others: tuple[EndlessBelief, ...] = (),
    ) -> LabelledState:
        """The public state of a checkpoint, whose other beliefs are those that the inner check decides by."""
        return LabelledState(self.mechanism.restored(others[0], skipped, (), others[1:]), belief)

    def adversaries_at(self, cuts: tuple[int, ...]) -> tuple[Any, ...]:
        """The observer who knows the habits, then those of the inner check."""
        return (*super().adversaries_at(cuts), *self.mechanism.adversaries_at(cuts))

    @property
    def settings(self) -> str:
        """What, beside model and policy, kernels depend on."""
        labels = {context: sorted(held) for context, held in sorted(self.labels.items())}
        return f"{type(self).__name__}, {getattr(self.mechanism, 'settings', type(self.mechanism).__name__)}, {labels}"

    def since(self, date: dt.date | str) -> SetLabelled:
        """The same from another date on."""
        routine: Any = cast(Any, self.model).routine
        return type(self)(routine.since(date), self.policy, labels=self.labels, mechanism=self._maker, **self._given)

    def expected_utility(self, days: int | None = None) -> Utility:
        """The inner check's: a set counts as released, as in the paper's Figure 7."""
        found: Utility = self.mechanism.expected_utility(days)
        return found

    def worth(self, context: str, output: Output) -> float:
        """The inner check's: the set that stands for the context is worth what the context is."""
        return float(self.mechanism.worth(str(self.model.contexts.index(context)), self._inward.get(output, output)))


def _stream_of(states: Sequence[str], model: EndlessChain) -> EndlessChain:
    """The same habits over numbered states."""
    if isinstance(model, ChangingChain):
        raise OneDayError("SetLabelled over a model that has no end needs habits that do not change")
    routine = model.routine
    days = {}
    for kind in routine.kinds:
        day = routine.day(kind)
        days[kind] = MarkovChain(states, day.initial, day.transitions, clock=day.clock)
    numbered = Routine(days, routine.nights, kind_of=routine.rule)
    return numbered.since(model.start, None if model.periodic else model.initial, model.first)


def _complete(labels: Mapping[str, Iterable[str]], contexts: tuple[str, ...]) -> dict[str, frozenset[str]]:
    for context in labels:
        if context not in contexts:
            raise PolicyError(
                f"labels name context {context!r}, which the model has never seen; name the model's contexts"
            )
    complete = {context: frozenset(labels.get(context, {context})) for context in contexts}
    for context, held in complete.items():
        if isinstance(labels.get(context), str) or context not in held:
            raise PolicyError(f"the label of {context!r} is {labels[context]!r}; give a set that contains {context!r}")
    return complete


def _output(number: int, context: str, held: frozenset[str]) -> Output:
    return Released(context) if held == {context} else Generalized(f"{number}: {' | '.join(sorted(held))}")


def _refuse_odds(policy: Policy) -> None:
    """Theorem 7 shares delta among states, and says nothing of odds."""
    for secret in policy.secrets:
        if policy.bounds_odds(secret):
            raise PolicyError(
                f"odds of secret {secret.name!r} are bounded, and delta / mu of a set-labelled adversary bounds sums, "
                "not factors; leave odds and doubt out, or use Adaptive"
            )


def _carriers(secrets: SecretTable, labels: Mapping[str, frozenset[str]], contexts: Sequence[str]) -> BoolArray:
    """(G, n): whether the state's set meets the secret; false for secrets at="any"."""
    named = [secret.contexts if secret.at == "each" else frozenset() for secret in secrets.policy.secrets]
    met = [[not labels[context].isdisjoint(members) for context in contexts] for members in named]
    return np.array(met, dtype=np.bool_).reshape(len(named), len(contexts))


def _state_secrets(secrets: SecretTable, carriers: BoolArray, mu: IntArray) -> list[Secret]:
    """Each state that carries a secret is one itself, bounded at every slot by the smallest delta / mu there.

    Where several do, less the slack that each may use: the floats' own error, some 1e-16, is then covered by far. Under
    a cap, delta is the least that any prior leaves, for the weak adversary's is not known.
    """
    split, deltas = secrets.active & (mu > 1), secrets.least_delta
    lost = split & (deltas[:, None] < mu * SLACK)
    if lost.any():
        g, t = (int(k) for k in np.argwhere(lost)[0])
        raise PolicyError(
            f"delta of secret {secrets.names[g]!r} is {deltas[g]:g}, too little to be shared by the {mu[g, t]} "
            f"states that can carry it at slot {t}; give at least {mu[g, t] * SLACK:.1e}, or labels that set it apart"
        )
    share = deltas[:, None] / np.maximum(mu, 1) - np.where(split, SLACK, 0.0)
    shares = np.where(secrets.active & (mu > 0), share, np.inf)  # (G, T)
    found = []
    for state in range(carriers.shape[1]):
        bounds = np.min(shares[carriers[:, state]], axis=0, initial=np.inf)  # (T,)
        for delta in np.unique(bounds[np.isfinite(bounds)]):
            slots = np.flatnonzero(bounds == delta)
            found.append(Secret(f"{state} within {delta!r}", {str(state)}, slots=slots, delta=float(delta)))
    return found
