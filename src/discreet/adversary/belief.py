"""The exact adversary: it knows the habits, the mechanism and every output, and applies Bayes (theory section 2).

After the outputs up to slot t, for hidden states z of slot t, a `Belief` keeps one stack of measures:
    w(z)      = P(Z_t = z | outputs)
    V[g](z)   = P(secret g was visited so far, Z_t = z | outputs)        for secrets at="any"
    L[u,g](z) = P(X_u in g, Z_t = z | outputs)                            for secrets at="each", slots u <= t
A slot is one matrix product with the stack (compiled: discreet.adversary.steps). What lies ahead depends on the model
alone and is tabled:
    H[t][u,g](z) = P(X_u in g | Z_t = z)  and  F[t][g](z) = P(first visit of g after t | Z_t = z).
Nothing is floored or clipped; every slot is normalised, so that long days do not underflow.
Memory of a belief: (1 + G T) K floats; of the tables: (G T^2 / 2) K floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discreet.adversary import steps
from discreet.adversary.patterns import watched
from discreet.adversary.process import SeenProcess, process_of
from discreet.contracts import AnyMachine, DayModel, memory_starts
from discreet.errors import DiscreetError
from discreet.jit import product
from discreet.numerics import FloatArray, IntArray, digest_of, read_only, tightness
from discreet.outputs import Output
from discreet.policy import Policy


class Adversary:
    """All that an observer knows before the first output: habits, secrets, and how private states arise.

    Shared by every belief over the same mechanism; `model` and `policy` may be others than the mechanism's own, for an
    observer with other knowledge, or secrets that the mechanism was not told.
    """

    def __init__(self, mechanism: AnyMachine, model: DayModel | None = None, policy: Policy | None = None) -> None:
        self.model = mechanism.model if model is None else model
        if self.model.contexts != mechanism.model.contexts:
            raise DiscreetError(
                f"the adversary's model has contexts {self.model.contexts}, "
                f"the mechanism's {mechanism.model.contexts}; give a model over the same contexts in the same order"
            )
        if self.model.slots != mechanism.model.slots:
            raise DiscreetError(
                f"the adversary's model has {self.model.slots} slots, "
                f"the mechanism's {mechanism.model.slots}; use the same"
            )
        chosen = mechanism.policy if policy is None else policy
        self.policy = Policy() if chosen is None else chosen
        self.secrets = self.policy.for_model(self.model.contexts, self.model.slots, patterns=True)
        self.process = process_of(self.model, mechanism.private_contexts, mechanism.remember, memory_starts(mechanism))
        self._lay_rows()
        self.context_of: IntArray | None = None  # of patterns: the model's context of each that the process knows
        if any(secret.sequence for secret in self.secrets.policy.secrets):
            self._watch_patterns()
        self._look_ahead()
        self.any_delta = self.secrets.row_deltas(self.any_index, self.any_prior)
        self.priors = np.concatenate([self.row_prior, self.any_prior])  # (R + A,): before any output
        self.deltas = np.concatenate([self.row_delta, self.any_delta])  # (R + A,), in the order of `Belief.gains`
        self.tightness = tightness(self.priors + self.deltas)  # (R + A,): of each row's slack
        read_only(vars(self).values())

    def _lay_rows(self) -> None:
        secrets = self.secrets
        members = secrets.members.astype(np.float64)
        self.any_index = np.flatnonzero(secrets.any_slot)  # (A,)
        self.row_slot = np.array([slot for slot, _ in secrets.rows], dtype=np.int64)  # (R,)
        self.row_secret = np.array([g for _, g in secrets.rows], dtype=np.int64)
        slots = np.arange(self.process.slots + 1)
        self.row_start = np.searchsorted(self.row_slot, slots)  # rows of slot u: row_start[u] to row_start[u + 1]
        self.row_members = members[self.row_secret]  # (R, n)
        self.any_members = members[self.any_index]  # (A, n)
        self.any_active = np.ascontiguousarray(secrets.active[self.any_index].T, dtype=np.float64)  # (T, A)
        prior = self.model.prior
        self.row_prior = np.asarray((prior[self.row_slot] * self.row_members).sum(axis=1))
        self.row_delta = secrets.row_deltas(self.row_secret, self.row_prior)

    def _watch_patterns(self) -> None:
        """Let states know how far patterns have come; members are then those of the states."""
        self.process, self.context_of, met = watched(self.process, self.secrets)
        self.row_members, self.any_members = (
            np.ascontiguousarray(members[:, self.context_of]) for members in (self.row_members, self.any_members)
        )
        own = [bool(self.secrets.policy.secrets[g].sequence) for g in self.any_index.tolist()]
        self.any_members[own] = met
        self.any_active = self.any_active.copy()
        self.any_active[:, own] = 1.0  # what was met stays met

    def _look_ahead(self) -> None:
        """H by pulling later slots' rows back through the transitions; F likewise, stopping at the first visit."""
        process, last = self.process, self.process.slots - 1
        states = len(process.initial)
        ahead = np.zeros((0, states))
        first_visit = np.zeros((len(self.any_index), states))
        self.ahead: list[FloatArray] = [ahead] * (last + 1)
        self.first_visit: list[FloatArray] = [first_visit] * (last + 1)
        if not len(self.secrets.members):  # nothing to look for
            self.any_prior = np.zeros(0)
            return
        for t in range(last - 1, -1, -1):
            emission = process.emission(t + 1)
            here = product(self.row_members[self.row_start[t + 1] : self.row_start[t + 2]], emission.T)
            ahead = product(np.concatenate([here, ahead]), process.transitions[t].T)
            visit = self.any_active[t + 1][:, None] * product(self.any_members, emission.T)
            first_visit = product(visit + (1 - visit) * first_visit, process.transitions[t].T)
            self.ahead[t], self.first_visit[t] = ahead, first_visit
        emission = process.emission(0)
        visit = self.any_active[0][:, None] * product(self.any_members, emission.T)
        self.any_prior = product(visit + (1 - visit) * first_visit, process.initial)

    def start(self) -> Belief:
        """The belief before any output."""
        return Belief(self, 0, np.zeros((0, len(self.process.initial))), np.zeros(len(self.priors)))

    def revealed(self, slot: int, state: int, visited: FloatArray | None = None) -> Belief:
        """The belief after `slot` outputs, the last of which revealed the hidden state; visited (A,) as it was then.

        The past is settled: given that state, nothing that is still to come depends on it, so the rows of past slots
        are not kept. A secret at="any" keeps how likely it was visited.
        """
        if visited is None:
            visited = np.zeros(len(self.any_index))
        stack = np.zeros((1 + len(visited), len(self.process.initial)))
        stack[0, state] = 1.0
        stack[1:, state] = visited
        closed = int(self.row_start[slot])
        priors = self.priors[closed:]
        gains = steps.beliefs(stack, len(visited), self.ahead[slot - 1], self.first_visit[slot - 1], priors)
        return Belief(self, slot, stack, gains, closed=closed)

    def first_step(self, likelihood: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """P(output), the stack after it and its gains, for the first slot of the day."""
        process, visits = self.process, len(self.any_index)
        rows = slice(int(self.row_start[0]), int(self.row_start[1]))
        weights = process.push(0, process.initial, likelihood)
        total = float(weights.sum())
        if not total > 0:
            return 0.0, np.zeros((0, len(weights))), np.zeros(0)
        stack = np.empty((1 + visits + rows.stop - rows.start, len(weights)))
        stack[0] = weights
        visited = process.present(0, process.initial, weights, likelihood, self.any_members)
        stack[1 : 1 + visits] = visited * self.any_active[0][:, None]
        stack[1 + visits :] = process.present(0, process.initial, weights, likelihood, self.row_members[rows])
        stack /= total
        return total, stack, steps.beliefs(stack, visits, self.ahead[0], self.first_visit[0], self.priors)

    def step(self, belief: Belief, likelihood: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """The same for a later slot, compiled."""
        process, t = self.process, belief.slot
        if not len(self.priors) and isinstance(process, SeenProcess) and process.sparse is not None:
            weights = process.push(t, belief.stack[0], likelihood)  # no secrets: the filter alone
            total = float(weights.sum())
            return (total, weights[None] / total, np.zeros(0)) if total > 0 else (0.0, belief.stack, np.zeros(0))
        tables, likelihood = self._tables[t], np.ascontiguousarray(likelihood)
        priors = self.priors[belief.closed :] if belief.closed else self.priors
        if isinstance(process, SeenProcess):
            return steps.seen_step(
                belief.stack,
                process.transitions[t - 1],
                process.private_on(t),
                process.contexts,
                likelihood,
                *tables,
                priors,
            )
        return steps.emitted_step(
            belief.stack, process.transitions[t - 1], process.emissions[t], likelihood, *tables, priors
        )

    @cached_property
    def _tables(self) -> list[tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]]:
        """What the compiled step reads of each slot: members now, members and slots of at="any", what lies ahead."""
        rows = zip(self.row_start[:-1], self.row_start[1:], strict=True)
        return [
            (self.row_members[a:b], self.any_members, self.any_active[t], self.ahead[t], self.first_visit[t])
            for t, (a, b) in enumerate(rows)
        ]

    @cached_property
    def gain_names(self) -> list[tuple[str, int | None]]:
        """(secret, slot) of each gain; the slot is None for a secret at="any"."""
        names = self.secrets.names
        rows = [(names[g], int(u)) for u, g in zip(self.row_slot, self.row_secret, strict=True)]
        return rows + [(names[int(g)], None) for g in self.any_index]

    @cached_property
    def rows_by_secret(self) -> dict[str, IntArray]:
        """Which gains are each secret's."""
        rows: dict[str, list[int]] = {}
        for row, (name, _) in enumerate(self.gain_names):
            rows.setdefault(name, []).append(row)
        return {name: np.array(own) for name, own in rows.items()}

    def worst_by_secret(self, gains: FloatArray) -> dict[str, float]:
        """The largest of each secret's gains (R + A,), or of what they exceed their deltas by, whatever its slot."""
        return {name: float(gains[rows].max()) for name, rows in self.rows_by_secret.items()}

    def by_secret(self, gains: FloatArray) -> dict[str, FloatArray | float]:
        """Gains laid out per secret: (T,) with 0 where the secret does not hold, or a float for at="any"."""
        laid: dict[str, FloatArray | float] = {}
        for g, name in enumerate(self.secrets.names):
            if self.secrets.any_slot[g]:
                laid[name] = float(gains[len(self.row_slot) + int(np.searchsorted(self.any_index, g))])
            else:
                line = np.zeros(self.process.slots)
                mine = self.row_secret == g
                line[self.row_slot[mine]] = gains[: len(self.row_slot)][mine]
                laid[name] = line
        return laid


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """What the adversary believes after `slot` outputs. Never changed once made: `after` gives the next one.

    stack (1 + A + rows so far, K) holds w, V and L (`weights`, `visited` and `past`); it is empty before the first
    output. gains (R + A,) are belief minus prior, in the order of `Adversary.gain_names`: past, present and future
    slots, then secrets at="any". `off_model` says that the last output had probability zero, so that it was taken to
    say nothing. The first `closed` rows are settled for good and are no longer kept (see `Adversary.revealed`). Neither
    array can be written.
    """

    adversary: Adversary
    slot: int
    stack: FloatArray
    gains: FloatArray
    off_model: bool = False
    closed: int = 0

    def __post_init__(self) -> None:
        self.stack.setflags(write=False)
        self.gains.setflags(write=False)

    def after(self, likelihood: FloatArray) -> Belief:
        """The belief after an output with this likelihood (P,) over private states.

        An output of probability zero leaves the predicted belief as it was, and is marked `off_model`.
        """
        adversary, t = self.adversary, self.slot
        if t >= adversary.process.slots:
            raise DiscreetError(
                f"the day has {adversary.process.slots} slots and all have been output; start a new day"
            )
        if len(likelihood) != adversary.process.private_states:
            raise DiscreetError(
                f"a likelihood over {len(likelihood)} private states, "
                f"where the adversary has {adversary.process.private_states}"
            )
        total, stack, gains = adversary.first_step(likelihood) if t == 0 else adversary.step(self, likelihood)
        if not total > 0:
            silent = self.after(np.ones(adversary.process.private_states))
            return Belief(adversary, t + 1, silent.stack, silent.gains, off_model=True, closed=self.closed)
        return Belief(adversary, t + 1, stack, gains, closed=self.closed)

    @property
    def weights(self) -> FloatArray:
        """(K,): P(Z | outputs) at the last slot that was output; the initial distribution before any."""
        return self.stack[0] if len(self.stack) else self.adversary.process.initial

    @property
    def visited(self) -> FloatArray:
        """(A, K): V, P(visited so far, Z | outputs) for each secret at="any"."""
        visits = len(self.adversary.any_index)
        return self.stack[1 : 1 + visits] if len(self.stack) else np.zeros((visits, len(self.weights)))

    @property
    def past(self) -> FloatArray:
        """(rows so far, K): L, P(X_u in g, Z | outputs) for each slot u that was output and is not settled."""
        return self.stack[1 + len(self.adversary.any_index) :]

    @property
    def beliefs(self) -> FloatArray:
        """(R + A,): P(X_u in g | outputs) for every slot u, past, present, future; then P(g at some slot | outputs)."""
        return np.asarray(self.gains + self.adversary.priors[self.closed :])

    def predicted(self) -> FloatArray:
        """(P,): the predicted belief over private states of the slot that comes next."""
        return self.adversary.process.predicted(self.slot, self.weights)

    @property
    def ready(self) -> bool:
        """Whether a programme can be made of it: always, of a day."""
        return True

    @property
    def already_told(self) -> tuple[tuple[int, int, float], ...]:
        """Rows beyond their delta when their secret was declared: a day's policy does not change."""
        return ()

    def digest(self) -> bytes:
        """Of the belief: equal beliefs have equal digests."""
        return digest_of((self.slot, self.stack, self.closed))

    def by_secret(self) -> Mapping[str, FloatArray | float]:
        """The gains per secret."""
        if self.closed:
            raise DiscreetError("rows of past slots are settled and no longer kept; take the gains before they are")
        return self.adversary.by_secret(self.gains)

    def outcomes(self, columns: FloatArray) -> Outcomes:
        """What each output of a kernel (P, O) would tell."""
        adversary, t = self.adversary, self.slot
        process = adversary.process
        before = self.weights
        joint = process.joint(t, before, columns)
        total = joint.sum(axis=0)
        visits = len(adversary.any_index)
        past = product(self.past, process.outlook(t, columns)) if t else np.zeros((0, len(total)))
        rows = range(int(adversary.row_start[t]), int(adversary.row_start[t + 1]))
        present = [process.present_joint(t, before, joint, columns, adversary.row_members[r]).sum(axis=0) for r in rows]
        visited = [self._visited(a, before, columns) for a in range(visits)]
        anytime = [
            (seen + (joint - seen) * adversary.first_visit[t][a][:, None]).sum(axis=0) for a, seen in enumerate(visited)
        ]
        parts = [
            past,
            *(row[None] for row in present),
            product(adversary.ahead[t], joint),
            *(row[None] for row in anytime),
        ]
        possible = total > 0
        inside = np.concatenate(parts)[:, possible] / total[possible]
        gains = np.full((len(inside), len(total)), -np.inf)
        gains[:, possible] = inside - adversary.priors[self.closed :, None]
        return Outcomes(total, gains, joint, visited)

    def _visited(self, a: int, before: FloatArray, columns: FloatArray) -> FloatArray:
        """(K, O): P(secret a visited by now, Z, output)."""
        adversary, t = self.adversary, self.slot
        process = adversary.process
        old = self.visited[a]
        visited = process.joint(t, old, columns)
        if adversary.any_active[t, a]:
            fresh = process.joint(t, before - old, columns)
            visited = visited + process.present_joint(t, before - old, fresh, columns, adversary.any_members[a])
        return visited


class Outcomes(NamedTuple):
    """What each of O outputs would tell, before any is drawn."""

    total: FloatArray  # (O,): its probability
    gains: FloatArray  # (R + A, O): the gains after it, settled rows left out; -inf where it is impossible
    joint: FloatArray  # (K, O): P(Z, output)
    visited: list[FloatArray]  # for each secret at="any", (K, O): P(visited by now, Z, output)


def beliefs_along(mechanism: AnyMachine, outputs: list[Output], adversary: Adversary | None = None) -> list[Belief]:
    """The beliefs before and after each of a day's outputs: T + 1 of them for a whole day."""
    adversary = Adversary(mechanism) if adversary is None else adversary
    state, belief = mechanism.start(), adversary.start()
    along = [belief]
    for output in outputs:
        belief = belief.after(mechanism.kernel(state).likelihood(output))
        state = mechanism.advance(state, output)
        along.append(belief)
    return along
