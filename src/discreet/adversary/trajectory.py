"""What an observer of a whole trajectory has gained at its end, on every position of it, however long it is.

The observer joins all outputs and knows a hidden Markov model without end. A row "in the secret at position u" changes
with every later output, by less and less: what is believed of it is an average over hidden states y of P(row | y,
outputs so far), and later outputs only weigh these states anew. So a row is judged, and let go, once all states say the
same of it. Memory is that of the rows on which states still differ, not of the length of the trajectory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from discreet.adversary import doubled
from discreet.adversary.filters import HiddenFilter
from discreet.adversary.known import Known, Row, known_of, merged
from discreet.adversary.rows import DROPPED
from discreet.errors import DiscreetError
from discreet.models.hidden.endless import EndlessHidden
from discreet.numerics import BoolArray, FloatArray, IntArray, exceeds
from discreet.policy import Policy

SAME = 1e-6
"""States that differ by no more say the same of a row that none of them brings beyond its limit: gains are printed to
four digits. Of a row that some state would bring beyond it, they have to agree up to DROPPED."""

MOST_ROWS = 1024
"""Rows that are kept at most: of habits that never forget, the oldest are judged by what is believed so far."""

LOOKED = 16
"""Positions between looks at which rows can be let go."""

TOLD = 1_000
"""Priors that are kept as they are before they are summed up."""


class TrajectoryJudge:
    """Follows outputs by their likelihoods; `by_secret`, `breached` and the like say at the end what they tell."""

    def __init__(self, model: EndlessHidden, policy: Policy) -> None:
        self.model, self.policy = model, policy
        contexts, secrets = model.contexts, policy.secrets
        self._members: BoolArray = np.array([[c in one.contexts for c in contexts] for one in secrets], dtype=np.bool_)
        self._members = self._members.reshape(len(secrets), len(contexts))
        self._any = np.array([g for g, one in enumerate(secrets) if one.at == "any"], dtype=np.int64)
        self._each = np.array([g for g, one in enumerate(secrets) if one.at != "any"], dtype=np.int64)
        self._step = doubled.whole_rows(np.ascontiguousarray(model.transition(0)))
        self._stack: FloatArray = np.array(model.initial)[None]
        self._low: FloatArray = np.zeros_like(self._stack)
        self._secret: IntArray = np.zeros(0, dtype=np.int64)  # (R,): of each row, those at="any" first
        self._position: IntArray = self._secret
        self._prior: FloatArray = np.zeros(0)
        self._delta: FloatArray = np.zeros(0)
        self._fresh: list[tuple[IntArray, IntArray, FloatArray, FloatArray]] = []  # rows that are not yet among these
        self._unvisited = np.tile(np.array(model.initial), (len(self._any), 1))  # P(not yet, Y), of those at="any"
        self._filter: HiddenFilter | None = None
        self._began = 0
        self._settled_terms: tuple[FloatArray, FloatArray] | None = None
        self._untold: list[Row] = []
        self._known: tuple[Known, ...] = ()
        self._alike = 0  # positions whose priors are the stationary ones
        self._over: set[int] = set()
        self._all_over = False
        self.events = 0
        """How many outputs there were."""
        self.settled = 0
        """Positions where the habits alone put some secret within delta of certainty."""
        self.by_secret: dict[str, float] = {}
        """The largest gain on each secret, below 0 where outputs speak against it."""
        self.excess_by_secret: dict[str, float] = {}
        """The largest gain on each secret beyond its own limit."""

    def begin(self, mechanism: Any) -> None:
        """From now on outputs are this mechanism's, whose memory starts anew; what is believed is carried over."""
        if mechanism.model.contexts != self.model.contexts:
            raise DiscreetError("the mechanism's model and the judge's have different contexts; use the same")
        self._filter = HiddenFilter(self.model, mechanism, self._members, lambda _: self._step)
        states, before = len(self.model.initial), (self._stack, self._low)
        self._stack, self._low = (np.zeros((len(self._stack), self._filter.states)) for _ in range(2))
        for now, was in zip((self._stack, self._low), before, strict=True):
            now[:, :states] = was.reshape(len(was), -1, states).sum(axis=1)  # where memory starts, any will do
        self._began = self.events

    def after(self, likelihood: FloatArray) -> None:
        """One output more, by its likelihood (P,) over private states; an impossible one is taken to say nothing."""
        assert self._filter is not None, "begin first"
        t, fresh = self.events, self._opened(self.events)
        visits = [] if t == 0 else list(enumerate(self._any.tolist()))
        given = (t - self._began, self._stack, self._low)
        stack, low = self._filter.after(*given, np.ascontiguousarray(likelihood), visits, fresh)
        if not stack[0].any():
            stack, low = self._filter.after(*given, np.ones(self._filter.private_states), visits, fresh)
        self._stack, self._low = stack, low
        self.events += 1
        if self.events % LOOKED == 0:
            self._let_go()

    def end(self) -> None:
        """Judge what is left."""
        self._gather()
        if len(self._secret):
            self._prior[: len(self._any)] = 1 - self._unvisited.sum(axis=1)
            for r, g in enumerate(self._any.tolist()):
                secret, prior = self.policy.secrets[g], float(self._prior[r])
                self._delta[r] = self.policy.row_delta(secret, prior)
                self._untold.append(Row(secret.name, None, prior))
            if (self._prior + self._delta)[: len(self._any)].max(initial=0.0) >= 1:
                self.settled = self.events
            self._judge(np.ones(len(self._secret), dtype=np.bool_))
        self._sum_up()

    @property
    def breached(self) -> int:
        """Positions where some secret's gain is over its delta; a secret at="any" is about all of them."""
        return self.events if self._all_over else len(self._over)

    @property
    def known(self) -> tuple[Known, ...]:
        """What habits alone tell of each secret; which positions it is, is left out."""
        return self._known

    # --- rows

    def _opened(self, t: int) -> IntArray:
        """The secrets of the rows that open at position t, which are added to those that are kept."""
        prior, delta = self._terms(t)
        for k, g in enumerate(self._any.tolist()):
            stays = product_of(self._unvisited[k] * (self.model.emissions * ~self._members[g]).sum(axis=1), self._step)
            self._unvisited[k] = stays
        fresh = self._each
        if t == 0:
            fresh = np.concatenate([self._any, self._each])
            prior, delta = (np.concatenate([np.zeros(len(self._any)), one]) for one in (prior, delta))
        self.settled += bool((prior + delta >= 1).any())
        self._fresh.append((fresh, np.full(len(fresh), t), prior, delta))
        return fresh

    def _gather(self) -> None:
        """Add what has opened since rows were last looked at."""
        kept = (self._secret, self._position, self._prior, self._delta)
        self._secret, self._position, self._prior, self._delta = (
            np.concatenate(parts) for parts in zip(kept, *self._fresh, strict=True)
        )
        self._fresh = []

    def _terms(self, t: int) -> tuple[FloatArray, FloatArray]:
        """Priors and deltas of the secrets at each position, at position t."""
        if self._settled_terms is not None:
            self._alike += 1
            return self._settled_terms
        chance, secrets = self.model.prior_at(t), [self.policy.secrets[g] for g in self._each.tolist()]
        prior = np.array([float((chance * self._members[g]).sum()) for g in self._each.tolist()])
        delta = np.array([self.policy.row_delta(*one) for one in zip(secrets, prior.tolist(), strict=True)])
        self._untold += [Row(secret.name, t, own) for secret, own in zip(secrets, prior.tolist(), strict=True)]
        if len(self._untold) > TOLD:
            self._sum_up()
        if self.model.cyclic_at(t):
            self._settled_terms = prior, delta
        return prior, delta

    def _sum_up(self) -> None:
        """What priors tell, of all positions so far."""
        found = [self._known, known_of(self.policy, self._untold)]
        if self._alike and self._settled_terms is not None:
            priors = zip(self._each.tolist(), self._settled_terms[0].tolist(), strict=True)
            own = known_of(self.policy, [Row(self.policy.secrets[g].name, self.events, prior) for g, prior in priors])
            found.append(tuple(times(one, self._alike) for one in own))
        self._known = tuple(replace(one, told_at=(), uncapped_at=()) for one in merged(found))
        self._untold, self._alike = [], 0

    def _let_go(self) -> None:
        """Judge rows on which hidden states agree."""
        self._gather()
        weights = self._stack[0]
        possible = weights > 0
        chance = self._stack[1:, possible] / weights[possible]
        highest, lowest = chance.max(axis=1), chance.min(axis=1)
        near = np.where(highest <= self._prior + self._delta + DROPPED, SAME, DROPPED)
        done = np.asarray(highest - lowest <= near)
        done[: len(done) - MOST_ROWS] = True
        done[: len(self._any)] = False
        if done.any():
            self._judge(done)

    def _judge(self, done: BoolArray) -> None:
        """Take down what these rows have come to, and forget them."""
        believed = self._stack[1:][done].sum(axis=1) / self._stack[0].sum()
        gains = believed - self._prior[done]
        secret, position, delta = self._secret[done], self._position[done], self._delta[done]
        for g in np.unique(secret).tolist():
            name, own = self.policy.secrets[g].name, secret == g
            for told, values in ((self.by_secret, gains[own]), (self.excess_by_secret, (gains - delta)[own])):
                told[name] = max(told.get(name, -np.inf), float(values.max()))
        over = exceeds(gains, delta)
        anytime = np.isin(secret, self._any)
        self._over.update(position[over & ~anytime].tolist())
        self._all_over |= bool((over & anytime).any())
        kept = np.concatenate([[True], ~done])
        self._stack, self._low = self._stack[kept], self._low[kept]
        self._secret, self._position = self._secret[~done], self._position[~done]
        self._prior, self._delta = self._prior[~done], self._delta[~done]


def product_of(weights: FloatArray, step: tuple[FloatArray, FloatArray]) -> FloatArray:
    """(K,): one position on."""
    return np.asarray((weights[:, None] * step[0]).sum(axis=0))


def times(one: Known, positions: int) -> Known:
    """The same at so many positions."""
    return replace(one, rows=positions * one.rows, told=positions * one.told, uncapped=positions * one.uncapped)
