"""S-PPATP's publishing of events attribute by attribute (Li and Sun 2020): PA-Markov and the paper's baselines.

The activities, times and locations of a trajectory are taken for three Markov chains that know nothing of each other.
At each position and for each attribute, the *external* check asks of that attribute's chain whether any value that
could come may be published: MaskIt's simulatable check over all positions (paper, Algorithm 2; `Simulatable` has it as
a table). Then the *internal* check withholds a value that by itself implies a secret of any attribute: if the rule
"attribute y is v => secret" has a confidence of more than the secret's prior + delta (Algorithm 3, Eq. 16).

Chains. The paper counts transitions. What counting tends to, position by position, are the *marginals* of the model:
P(b at t+1 | a at t) = P(a at t, b at t+1) / P(a at t). They are used unless `chains` are given (homogeneous ones
learned from data, say), and agree with the model on every prior. Rule confidences, too, are the model's at each slot.

What is proven, and what is not. To an observer who sees one attribute's outputs and takes its chain for the habits, the
external check is MaskIt's and exact (Theorem 4); if the attributes really are independent chains, that covers the
observer of all three, and rules never have a confidence above the prior (`NoInternal` and `PaMarkov` are then the
same). Three things are the paper's claims and do not hold against a person whose attributes depend on each other:
(a) the internal check looks at the true value, so that its silence speaks: at the first position it withholds exactly
the values v with P(s | v) > q_s + delta, so with one secret P(s | withheld), an average of those, is more than
q_s + delta as well: its first silence always breaches. External checks later on take that silence for nothing.
(b) two attributes together may imply what neither does alone.
(c) one attribute's past tells of another's, and marginals of a Markov model are not Markov.
Under three independent chains none of this shows, so the judge is the event model (theory, section 7g).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from discreet.contracts import DayModel, Needs, Utility
from discreet.errors import DiscreetError, PolicyError
from discreet.events import ATTRIBUTES, Events
from discreet.jit import product
from discreet.kernels import FiniteKernel, publishing_kernel
from discreet.mechanisms.base import ContextMechanism, events_of
from discreet.mechanisms.baselines import MaskSensitive
from discreet.mechanisms.maskit.simulatable import LastRelease, Simulatable
from discreet.models import MarkovChain
from discreet.models.arrays import state_prior
from discreet.numerics import ROOM, BoolArray, FloatArray, IntArray
from discreet.outputs import Output, PartialEvent, Released, Skipped, Suppressed
from discreet.policy import Guarantee, Policy, Secret

State = tuple[LastRelease, ...]
"""The public state: that of each attribute's external check."""

ATTRIBUTE_ALONE = (
    "seen alone, by an observer who takes the attribute's chain for the habits, each attribute's outputs keep the gain "
    "on that attribute's secrets within delta (MaskIt, Theorem 4). What attributes tell about each other is not "
    "bounded, and breaches. Secrets at='any' are not bounded"
)

SILENCE_SPEAKS = (
    "nothing is proven: the internal check withholds values that imply a secret, so that its silence implies one too, "
    "and the external checks do not count with it. Secrets at='any' are not bounded"
)


class PaMarkov(ContextMechanism):
    """Publishes each attribute of an event where its chain's check allows any value, less values that imply a secret.

    `model` is the event model that judges: its contexts are those of `events`, which by default are read off them.
    Secrets are on values of one attribute (`events.secret("activity", "gambling")`). `chains` are three Markov chains
    over the values of activity, time and location; by default the model's marginals. `internal=False` leaves out the
    internal check, as `NoInternal` does. `checks` are the external ones.
    """

    needs: Needs = "events"

    def __init__(
        self,
        model: DayModel,
        policy: Policy,
        *,
        events: Events | None = None,
        internal: bool = True,
        chains: Sequence[DayModel] | None = None,
    ) -> None:
        super().__init__(model, policy)
        self.events, self.internal = events_of(model, events), internal
        self.guarantee = (
            Guarantee("none", SILENCE_SPEAKS, proven=False) if internal else Guarantee("window only", ATTRIBUTE_ALONE)
        )
        self._index: IntArray = self.events.attribute_index  # (n, 3)
        policies = self._policies()
        self.chains: tuple[DayModel, ...] = self._marginals() if chains is None else self._given(chains)
        self.checks = tuple(Simulatable(chain, own) for chain, own in zip(self.chains, policies, strict=True))
        self._implying = self._implications() if internal else None
        self._published: list[dict[LastRelease, bytes]] = [{} for _ in ATTRIBUTES]
        self._kernels: dict[tuple[bytes, ...], FiniteKernel] = {}
        self._shown: dict[Output, tuple[int, ...]] = {}

    def _policies(self) -> list[Policy]:
        """For each attribute the secrets on its values."""
        secrets: list[list[Secret]] = [[] for _ in ATTRIBUTES]
        for secret, inside in zip(self.policy.secrets, self.secrets.members, strict=True):
            found = False
            for k, attribute in enumerate(ATTRIBUTES):
                named = named_values(self.events, inside, k)
                if named is not None:
                    values = self.events.values(attribute)
                    secrets[k].append(replace(secret, contexts=frozenset(values[v] for v in named)))
                    found = True
            if not found:
                raise PolicyError(
                    f"secret {secret.name!r} is not on values of one attribute, as PaMarkov's checks need; make it "
                    "with events.secret(attribute, value), or use Adaptive, which takes any set of events"
                )
        return [replace(self.policy, secrets=tuple(own)) for own in secrets]

    def _seen(self, k: int) -> FloatArray:
        """(T, K, values): P(attribute k | hidden state); a stack of one where emissions are the same at every slot."""
        values = np.eye(len(self.events.values(ATTRIBUTES[k])))[self._index[:, k]]  # (n, values)
        emissions = self.model.emissions
        if emissions is None:
            return values[None]
        return np.array([product(one, values) for one in (emissions[:1] if emissions.strides[0] == 0 else emissions)])

    def _marginals(self) -> tuple[MarkovChain, ...]:
        """The model's chain of each attribute; a value that cannot occur at a slot stays put."""
        states = state_prior(self.model.initial, self.model.transitions)
        return tuple(self._marginal(k, states) for k in range(len(ATTRIBUTES)))

    def _marginal(self, k: int, states: FloatArray) -> MarkovChain:
        values, seen = self.events.values(ATTRIBUTES[k]), self._seen(k)
        before, after = (seen, seen) if len(seen) == 1 else (seen[:-1], seen[1:])
        shown = (states[:-1, :, None] * before).transpose(0, 2, 1)  # (T-1, values, K): P(a and the hidden state at t)
        both = np.empty((self.model.slots - 1, len(values), len(values)))  # P(a at t, b at t + 1)
        for t, step in enumerate(self.model.transitions):
            both[t] = product(shown[t], product(step, after[t if len(after) > 1 else 0]))
        total = both.sum(axis=2, keepdims=True)
        with np.errstate(invalid="ignore"):
            transitions = np.where(total > 0, both / total, np.eye(len(values)))
        return MarkovChain(values, product(states[0], seen[0]), transitions)

    def _given(self, chains: Sequence[DayModel]) -> tuple[DayModel, ...]:
        if len(chains) != len(ATTRIBUTES):
            raise DiscreetError(f"chains has {len(chains)} chains; give three, of activities, times and locations")
        for attribute, chain in zip(ATTRIBUTES, chains, strict=True):
            if chain.contexts != self.events.values(attribute):
                raise DiscreetError(
                    f"the chain of the {attribute} has contexts {chain.contexts}, "
                    f"the events {self.events.values(attribute)}; give a chain over the same values in the same order"
                )
            if chain.slots != self.model.slots:
                raise DiscreetError(
                    f"the chain of the {attribute} has {chain.slots} slots, the model {self.model.slots}; use the same"
                )
        return tuple(chains)

    def _implications(self) -> list[BoolArray]:
        """For each attribute (T, values): whether the value there implies a secret (Algorithm 3, with Eq. 16)."""
        each = ~self.secrets.any_slot
        members = self.secrets.members[each].astype(np.float64)
        priors = product(members, self.model.prior.T)
        limits = priors + self.secrets.slot_deltas(priors, np.flatnonzero(each)) + ROOM  # (G, T): q + delta
        limits[~self.secrets.active[each]] = 2.0  # no confidence is above it
        found = []
        for k, attribute in enumerate(ATTRIBUTES):
            values = np.eye(len(self.events.values(attribute)))[self._index[:, k]]
            both = np.array(
                [product(member * self.model.prior, values) for member in members]
            )  # (G, T, values): of both
            both = both.reshape(len(members), *limits.shape[1:], values.shape[1])
            found.append(np.asarray((both > limits[:, :, None] * product(self.model.prior, values)).any(axis=0)))
        return found

    def start(self) -> State:
        """Nothing published of any attribute."""
        return tuple(check.start() for check in self.checks)

    def kernel(self, state: State) -> FiniteKernel:
        """What is published of each event: its attributes that both checks allow."""
        kept = tuple(self._kept(k, last) for k, last in enumerate(state))
        found = self._kernels.get(kept)
        if found is None:
            tables = [np.frombuffer(values, dtype=np.bool_) for values in kept]
            table = np.stack([values[self._index[:, k]] for k, values in enumerate(tables)], axis=1)
            found = self._kernels[kept] = publishing_kernel(self.events, table)
        return found

    def _kept(self, k: int, state: LastRelease) -> bytes:
        """(values,) booleans: which values of attribute k are published; bytes, so that equal ones are one kernel."""
        found = self._published[k].get(state)
        if found is None:
            shown = self.checks[k].shown(state)
            if self._implying is not None:
                shown = shown & ~self._implying[k][state.slot]
            found = self._published[k][state] = shown.tobytes()
        return found

    def advance(self, state: State, output: Output) -> State:
        """Every attribute's check moves on with what was published of it; what was withheld is silence to it."""
        shown = self._shown.get(output)
        if shown is None:
            shown = self._shown[output] = self._values_of(output)
        slot = state[0].slot
        return tuple(
            LastRelease(slot + 1, slot, value) if value >= 0 else last._replace(slot=slot + 1)
            for last, value in zip(state, shown, strict=True)
        )

    def _values_of(self, output: Output) -> tuple[int, ...]:
        """The index of each attribute's value that an output shows, -1 where it is withheld."""
        match output:
            case Suppressed() | Skipped():
                return -1, -1, -1
            case PartialEvent(activity, time, location):
                values = zip(self.checks, (activity, time, location), strict=True)
                start = LastRelease(0)  # a check refuses a value that is not its chain's
                return tuple(-1 if v is None else check.advance(start, Released(v)).released for check, v in values)
        raise DiscreetError(f"PaMarkov publishes partial events or nothing, never {output!r}")

    def expected_utility(self, days: int | None = None) -> Utility:
        """Expected fraction of the attributes that are published: exact, by recursion over each attribute's states."""
        return self._utility

    @cached_property
    def _utility(self) -> Utility:
        shown = sum(self._expected(k) for k in range(len(ATTRIBUTES)))
        return Utility(shown / (len(ATTRIBUTES) * self.model.slots))

    def _expected(self, k: int) -> float:
        """At how many positions attribute k is expected to be published: its state moves with its own outputs alone."""
        level = {self.checks[k].start(): np.array(self.model.initial)}  # state: P(state, hidden state)
        total, table = 0.0, self._seen(k)
        for t in range(self.model.slots):
            seen = table[t if len(table) > 1 else 0]
            following: dict[LastRelease, FloatArray] = {}
            silent: dict[LastRelease, FloatArray] = {}
            published = np.zeros_like(seen)  # (K, values)
            for state, mass in level.items():
                kept = np.frombuffer(self._kept(k, state), dtype=np.bool_)
                published += mass[:, None] * seen * kept
                silent[LastRelease(t + 1, state.released_slot, state.released)] = mass * (seen @ ~kept)
            total += float(published.sum())
            for v in np.flatnonzero(published.any(axis=0)).tolist():
                following[LastRelease(t + 1, t, v)] = published[:, v]
            following |= {state: mass for state, mass in silent.items() if mass.any()}
            if t + 1 < self.model.slots:
                level = {state: mass @ self.model.transitions[t] for state, mass in following.items()}
        return total


class NoInternal(PaMarkov):
    """PA-Markov without its internal check (the paper's baseline c): each attribute looks after itself."""

    def __init__(
        self, model: DayModel, policy: Policy, *, events: Events | None = None, chains: Sequence[DayModel] | None = None
    ) -> None:
        super().__init__(model, policy, events=events, internal=False, chains=chains)


class SensitiveMask(MaskSensitive):
    """Withholds exactly what is sensitive (the paper's baseline b): whole events, or with `events` the values alone.

    With `events`, an attribute is withheld where a secret on that attribute names its value; an event of a secret that
    is not on values of one attribute is withheld whole. Both breach: silence says that a secret is there. (The paper's
    Eq. 25 has a sensitive event both published and withheld with certainty: its rows sum to 2. Here it is withheld.)
    """

    def __init__(self, model: DayModel, policy: Policy, *, events: Events | None = None) -> None:
        super().__init__(model, policy)
        self.events = events
        if events is not None:
            kept = self._kept(events_of(model, events))
            self._kernels = tuple(publishing_kernel(events, table) for table in kept)
            self._hidden = 1 - kept.mean(axis=2)

    def _kept(self, events: Events) -> BoolArray:
        """(T, n, 3): which attributes of which events are published at each slot."""
        kept = np.ones((self.model.slots, len(self.model.contexts), len(ATTRIBUTES)), dtype=np.bool_)
        for g, inside in enumerate(self.secrets.members):
            about = [k for k in range(len(ATTRIBUTES)) if named_values(events, inside, k) is not None]
            hidden = self.secrets.active[g][:, None] & inside  # (T, n)
            for k in about or range(len(ATTRIBUTES)):
                kept[:, :, k] &= ~hidden
        return kept


def named_values(events: Events, inside: BoolArray, attribute: int) -> IntArray | None:
    """The values of an attribute that a secret (n,) names; None if the secret is not about that attribute alone."""
    column = events.attribute_index[:, attribute]
    having = np.bincount(column)
    secret = np.bincount(column[inside], minlength=len(having))
    return np.flatnonzero(secret) if ((secret == 0) | (secret == having)).all() else None
