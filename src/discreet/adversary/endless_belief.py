"""What the observer of a stream without end believes, of what is live (adversary/endless.py says what that is)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.adversary.filters import Conditionals, Looks
from discreet.adversary.rows import DROPPED, Front, Rows, Window
from discreet.errors import DiscreetError
from discreet.jit import product
from discreet.numerics import BoolArray, FloatArray, digest_of, read_only, slack_of

if TYPE_CHECKING:
    from discreet.adversary.endless import EndlessAdversary

LIVE = 512
"""Past rows that may be live; above it a slot is silent, and constant silence forgets at the habits' own rate."""

SMALLEST = 2.0**-900
"""Below this a state's probability is no number to divide by."""

BARELY = 2.0**-1074
"""The second float of a state that is possible while its weight is zero; a pair of floats is never (0, positive)."""


def _beyond_somewhere(stack: FloatArray, limits: FloatArray) -> BoolArray:
    """(R,): whether some possible state brings a row beyond its limit."""
    possible = stack[0] > 0
    weights = stack[0, possible]
    beyond = stack[1:, possible] / weights > (limits + slack_of(limits) / 4)[:, None]
    return np.asarray((beyond | (weights < SMALLEST)).any(axis=1))


def _alike_everywhere(stack: FloatArray) -> BoolArray:
    """(R,): whether a row is as likely given one possible state as given any other, up to DROPPED."""
    possible = stack[0] > 0
    weights = stack[0, possible]
    if (weights < SMALLEST).any():
        return np.zeros(len(stack) - 1, dtype=np.bool_)
    chance = stack[1:, possible] / weights
    return np.asarray(chance.max(axis=1) - chance.min(axis=1) <= DROPPED)


@dataclass(frozen=True, slots=True, eq=False)
class EndlessBelief:
    """What the adversary believes before slot `slot`, of what is live. Never changed once made.

    stack[0] (K,) are the weights of hidden states of the slot before, up to a factor; stack[1 + r] the measure of row r
    of `rows`, inside or past, on them. `low` is the second float of each. `off_model` says that the last output had
    probability zero, so that it was taken to say nothing. A state that was told to be possible though its weight is
    below every float (`holding`) has weight 0 and BARELY as its second float.
    """

    adversary: EndlessAdversary
    slot: int
    stack: FloatArray
    low: FloatArray
    rows: Rows
    off_model: bool = False
    already_told: tuple[tuple[int, int, float], ...] = ()
    """(secret, slot at which the row opens, limit) of future rows beyond their delta when the secret was declared."""

    def __post_init__(self) -> None:
        read_only((self.stack, self.low, *self.rows))

    def after(self, likelihood: FloatArray) -> EndlessBelief:
        """The belief after an output with this likelihood (P,) over private states."""
        adversary, t = self.adversary, self.slot
        if len(likelihood) != adversary.private_states:
            raise DiscreetError(
                f"a likelihood over {len(likelihood)} private states, where the adversary has "
                f"{adversary.private_states}"
            )
        fresh, _, _ = adversary.opened(t, every=adversary.keeps_all(t), over_cuts=True)
        fresh = self._as_told(fresh)
        inside = np.flatnonzero(self.rows.closes >= t).tolist()
        visits = [(r, g) for r in inside if adversary.secrets.holds(g := int(self.rows.secret[r]), t)]
        seen = np.ascontiguousarray(likelihood)
        stack, low = adversary.filter.after(t, self.stack, self.low, seen, visits, fresh.secret)
        if not stack[0].any():
            silent = self.after(np.ones(adversary.private_states))
            return replace(silent, off_model=True)
        rows = self.rows.and_then(fresh) if len(fresh.secret) else self.rows
        live = (rows.closes > t) | _beyond_somewhere(stack, rows.limit)
        if adversary.whole is not None:
            live |= adversary.keeps_all(rows.opens)
        if not live.all():
            kept = np.concatenate([[True], live])
            stack, low, rows = stack[kept], low[kept], rows.only(live)
        told = tuple(one for one in self.already_told if one[1] > t)
        return EndlessBelief(adversary, t + 1, stack, low, rows, already_told=told)

    def _as_told(self, rows: Rows) -> Rows:
        """The rows, with the limits of those that were told already."""
        if not self.already_told:
            return rows
        delta = rows.delta.copy()
        for g, opens, limit in self.already_told:
            mine = (rows.secret == g) & (rows.opens == opens)
            delta[mine] = limit - rows.prior[mine]
        return rows._replace(delta=delta)

    def front(self) -> Front:
        """The rows that have not opened yet and are live, with P(j | state in the slot that comes next)."""
        front = self.adversary.front(self.slot)
        return front._replace(rows=self._as_told(front.rows))

    @property
    def possible(self) -> BoolArray:
        """(K,): hidden states of the slot before that outputs leave possible, also those too unlikely for a float."""
        return np.asarray((self.stack[0] > 0) | (self.low[0] > 0))

    def holding(self, possible: BoolArray) -> EndlessBelief:
        """The same belief, which also knows of states (K,) that are possible though their weight underflowed to zero.

        For mechanisms whose kernels depend on what is possible. It is marked in the pair, so that digests tell such
        beliefs apart and checkpoints hold it; no measure depends on the mark.
        """
        low = self.low.copy()
        low[0] = np.where(self.stack[0] > 0, low[0], np.where(possible, BARELY, 0.0))
        return replace(self, low=low)

    def unsettled(self, most: int) -> EndlessBelief:
        """The same belief without past rows that are settled, and of other past rows the `most` latest.

        Settled: given any state, the row is as likely, so that nothing that is still output tells more or less of it
        (theory, section 10, fact 1). Such a row may be beyond its limit, and would then be live for good. For
        mechanisms that promise no delta: their kernels depend on no row, and rows are kept to be shown.
        """
        past = self.rows.closes < self.slot
        if not past.any():
            return self
        kept = ~past | ~_alike_everywhere(self.stack)
        kept[np.flatnonzero(kept & past)[:-most]] = False  # rows stand in the order in which they opened
        if kept.all():
            return self
        lines = np.concatenate([[True], kept])
        return replace(self, stack=self.stack[lines], low=self.low[lines], rows=self.rows.only(kept))

    @property
    def ready(self) -> bool:
        """Whether a programme can be made of it: rows are few, none is too far ahead, and states can be divided by."""
        return len(self.rows.secret) <= LIVE and self.front().whole and self.sound

    @property
    def sound(self) -> bool:
        """Whether every state that is possible has a probability that can be divided by."""
        weights = self.stack[0]
        return bool(weights[weights > 0].min() >= SMALLEST)

    @property
    def weights(self) -> FloatArray:
        """(K,): P(Z | outputs) at the slot before; the initial distribution before any output."""
        return np.asarray(self.stack[0] / self.stack[0].sum())

    def hidden(self) -> FloatArray:
        """(K,): the belief over states that the chances of rows ahead are averaged by."""
        return self.adversary.filter.ahead(self.slot, self.weights)

    def predicted(self) -> FloatArray:
        """(P,): the predicted belief over private states of the slot that comes next."""
        return self.adversary.filter.predicted(self.slot, self.weights)

    def _window(self, rows: Rows, r: int) -> Window:
        return self.adversary.window(int(rows.secret[r]), int(rows.opens[r]), int(rows.closes[r]))

    def _open(self) -> list[int]:
        """The rows whose window is open."""
        return np.flatnonzero(self.rows.closes >= self.slot).tolist()

    def tells(self) -> tuple[Rows, FloatArray, Conditionals]:
        """Every live row, the belief in it, and what each private state of the next slot would tell of it."""
        t, table, front = self.slot, self.adversary.secrets, self.front()
        inside = [(r, self._window(self.rows, r), table.holds(int(self.rows.secret[r]), t)) for r in self._open()]
        opening = np.flatnonzero((front.rows.opens == t) & (front.rows.closes > t)).tolist()
        present = {f: self._window(front.rows, f) for f in opening}
        looks = Looks(self.rows, inside, front.rows, front.chance, present)
        return *self._live(front), self.adversary.filter.conditionals(t, self.stack, looks)

    def kept(self) -> FloatArray:
        """(R,): the belief in each row of `rows`."""
        total = self.stack[0].sum()
        found = self.stack[1:].sum(axis=1)
        for r in self._open():
            unvisited = self.stack[0] - self.stack[1 + r]
            to_come = self.adversary.filter.still_to_come(self._window(self.rows, r), self.slot)
            found[r] += (unvisited * to_come).sum()
        return np.asarray(found / total)

    def live(self) -> tuple[Rows, FloatArray]:
        """Every live row, inside, past and future, and the belief in it."""
        return self._live(self.front())

    def _live(self, front: Front) -> tuple[Rows, FloatArray]:
        return self.rows.and_then(front.rows), np.concatenate([self.kept(), product(front.chance, self.hidden())])

    @property
    def gains(self) -> FloatArray:
        """Belief minus prior of every live row; what is not live is within its delta."""
        rows, beliefs = self.live()
        return beliefs - rows.prior

    def by_secret(self) -> dict[str, dict[int, float]]:
        """The gains of live rows, {secret: {slot at which the row opens: gain}}."""
        names = self.adversary.names
        rows, beliefs = self.live()
        laid: dict[str, dict[int, float]] = {name: {} for name in names}
        for g, opens, gain in zip(rows.secret, rows.opens, beliefs - rows.prior, strict=True):
            laid[names[g]][int(opens)] = float(gain)
        return laid

    def on(self, date: dt.date) -> dict[str, FloatArray | float]:
        """The gains of a date whose rows were all kept: (T,) for secrets at each slot, a float for those at="any"."""
        table, slots = self.adversary.secrets, self.adversary.model.day_slots
        morning = self.adversary.model.slot_of(date)
        each, anytime = np.zeros((len(table.names), slots)), np.zeros(len(table.names))
        for rows, beliefs in ((self.rows, self.kept()), *self._rest_of(morning)):
            for g, opens, gain in zip(rows.secret, rows.opens, beliefs - rows.prior, strict=True):
                if morning <= opens < morning + slots:
                    each[g, opens - morning] = anytime[g] = gain
        return {name: float(anytime[g]) if table.any_slot[g] else each[g] for g, name in enumerate(table.names)}

    def _rest_of(self, morning: int) -> Iterator[tuple[Rows, FloatArray]]:
        """The rows of the rest of a day, by slot, with the belief in them."""
        adversary, ahead = self.adversary, self.hidden()
        for t in range(self.slot, morning + adversary.model.day_slots):
            if t > self.slot:
                ahead = adversary.filter.ahead(t, ahead)
            rows, chance, _ = adversary.opened(t, every=True)
            yield rows, product(chance[:, adversary.filter.hidden], ahead)

    def over(self, adversary: EndlessAdversary) -> EndlessBelief:
        """The same belief for an adversary of the same secrets, over the same contexts or more."""
        stack, low = self._over_contexts_of(adversary)
        prior, delta = self.rows.prior.copy(), self.rows.delta.copy()
        for r in np.flatnonzero(self.rows.closes >= self.slot):  # a window that is open may last until habits change
            g = int(self.rows.secret[r])
            policy, secret = adversary.policy, adversary.policy.secrets[g]
            prior[r] = adversary.window(g, int(self.rows.opens[r]), int(self.rows.closes[r])).prior
            told = delta[r] != policy.row_delta(secret, float(self.rows.prior[r]))  # by when it was declared
            delta[r] = self.rows.limit[r] - prior[r] if told else policy.row_delta(secret, float(prior[r]))
        rows = self.rows._replace(prior=prior, delta=delta)
        return replace(self, adversary=adversary, stack=stack, low=low, rows=rows)

    def _over_contexts_of(self, adversary: EndlessAdversary) -> tuple[FloatArray, FloatArray]:
        """The stack, and its second floats, over another adversary's states: of the same model, they are the same."""
        own, other = self.adversary.model, adversary.model
        if own.fingerprint == other.fingerprint:
            return self.stack, self.low
        place = [other.contexts.index(own.contexts[c]) for c in self.adversary.filter.hidden]
        stack, low = (np.zeros((len(self.stack), adversary.filter.states)) for _ in range(2))
        stack[:, place], low[:, place] = self.stack, self.low
        return stack, low

    def at(self, slot: int, adversary: EndlessAdversary) -> EndlessBelief:
        """The same belief at another slot, perhaps of another stream, where habits are the same."""
        return replace(self, adversary=adversary, slot=slot, rows=self.rows.shifted(slot - self.slot))

    def digest(self) -> bytes:
        """Of the belief: equal beliefs have equal digests."""
        return digest_of((self.slot, self.stack, self.low, *self.rows, self.already_told))
