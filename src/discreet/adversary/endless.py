"""The exact adversary over a model without end: only what could still exceed its limit is kept (theory, section 10).

A *row* is something that a secret is about: "there at slot u", or "there at some slot of that day's window". It opens
and closes at absolute slots (one and the same for a secret at each slot), and its belief must stay within its limit,
prior + delta. At slot t a row is
    future  before it opens:  F[j](z) = P(j | Z_t = z), a matter of the model alone, tabled (`Front`)
    inside  while it is open: V[j](z) = P(visited so far, Z_t = z | outputs), with P(first visit later | Z_t = z)
    past    once it closed:   L[j](z) = P(j, Z_t = z | outputs)
and *live* while some state could bring its belief beyond the limit. What is not live never matters again (past) or not
yet (future), whatever is output; the proof is in mechanisms/adaptive/endless.md. So a belief keeps a stack of measures
over hidden states: the weights, rows inside, and past rows that are live; the tables of what is ahead hold live rows
alone. Nothing is approximated, and a stream of years takes the memory of a few days.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from discreet.adversary import doubled
from discreet.adversary.endless_belief import EndlessBelief
from discreet.adversary.filters import ChainFilter, Filter, HiddenFilter, PairFilter
from discreet.adversary.rows import Front, Rows, Tables, Window
from discreet.adversary.window_tables import BLOCKS, WindowTables
from discreet.contracts import secrets_over
from discreet.errors import DiscreetError, HorizonError
from discreet.jit import product
from discreet.models.routine.changing import PHASES
from discreet.numerics import BoolArray, FloatArray, IntArray, read_only
from discreet.policy import Policy, SecretTable

HELD = 3
"""Quarters of the slack. Kernels keep rows within two of them, up to rounding: what is within three is held."""

HORIZON = 2_000
"""Slots ahead that rows may be live: tables grow with them."""

NOISE = 1e-9
"""More than rounding does to distributions some HORIZON slots ahead."""

POSITIONS = 16
"""Positions whose tables are made together, where there are no days."""


def _furthest_odds(reached: FloatArray) -> float:
    """By what a state multiplies the odds of anything later, at most, from states' distributions (Z, S) in some slot.

    What anybody believed before is an average of these distributions, so that M and m are bounded by ratios of them.
    """
    seen = reached[:, reached.any(axis=0)]
    if not seen.all():
        return float(np.inf)
    most, fewest = seen / seen.min(axis=0), seen / seen.max(axis=0)
    return float((most.max(axis=1) / fewest.min(axis=1)).max())


class Follows(NamedTuple):
    """Whose belief an adversary takes over, and at which cut: there the policy changes."""

    adversary: EndlessAdversary
    cut: int

    def kept(self, policy: Policy) -> dict[str, int]:
        """The secrets that a policy has on the same terms, and their number before."""
        before = self.adversary.policy
        return {
            one.name: g
            for g, one in enumerate(before.secrets)
            if one in policy.secrets and before.terms_of(one) == policy.terms_of(one)
        }

    def retired(self, policy: Policy) -> tuple[str, ...]:
        """The secrets that a policy has no more, or not on the same terms: past rows of theirs may still be live."""
        kept, own = self.kept(policy), self.adversary.secrets.names
        gone = [name for name in own if name not in kept]
        return tuple(dict.fromkeys([*gone, *self.adversary.retired]))


class EndlessAdversary(WindowTables):
    """All that an observer knows of a stream without end before its first output."""

    def __init__(
        self,
        mechanism: Any,
        model: Any = None,
        policy: Policy | None = None,
        tables: Tables | None = None,
        *,
        anew: Callable[[int], IntArray] | None = None,
        whole: int | None = None,
        follows: Follows | None = None,
    ) -> None:
        """`anew`: where memory starts anew on each day, (n,) each context's private state in a day's first slot.

        `follows`: the adversary whose belief this one takes over at a cut (`carried`).
        """
        own, chosen = mechanism.model, mechanism.model if model is None else model
        if own.slots is not None or getattr(chosen, "slots", 0) is not None:
            raise DiscreetError("a model of one day was given where one without end is needed; use routine.since(date)")
        if chosen.contexts != own.contexts or chosen.day_slots != own.day_slots:
            raise DiscreetError(
                f"the adversary's model has contexts {chosen.contexts} and {chosen.day_slots} slots a day, the "
                f"mechanism's {own.contexts} and {own.day_slots}; use the same"
            )
        self.model = chosen
        wanted = mechanism.policy if policy is None else policy
        self.policy = Policy() if wanted is None else wanted
        self.secrets: SecretTable = secrets_over(self.policy, self.model)
        self.tables = Tables() if tables is None else tables
        self._anew = anew
        self.filter = self._filter(mechanism)
        self.private_states = self.filter.private_states
        self.follows, self._changed = follows, follows is not None
        self.retired = () if follows is None else follows.retired(self.policy)
        self.held_from = self._held_from()
        self._own_windows: dict[tuple[int, int, int], Window] = {}  # of the first days: of no other stream
        self._own_fronts: dict[int, list[Front]] = {}
        self._asked: tuple[int, Front] | None = None
        self.whole = whole  # the day, counted from the first, of which every row is kept, live or not
        self._mechanism = mechanism
        read_only(vars(self).values())

    def _filter(self, mechanism: Any) -> Filter:
        if self._emission(self.model.first) is None:
            return ChainFilter(self.model, mechanism, self.secrets.members, self._step, self._anew)
        if PairFilter.fits(self.model, mechanism):
            return PairFilter(self.model, mechanism, self.secrets.members, self._step, self._anew)
        if self._anew is not None:
            raise DiscreetError(
                "a memory that starts anew every day is followed on Markov chains, and on pairs where it is of pairs; "
                "use memory='none', or habits of order 1"
            )
        return HiddenFilter(self.model, mechanism, self.secrets.members, self._step)

    def _held_from(self) -> IntArray:
        """(G,): the slot from which each secret is held; of a window that began before it, what is left counts."""
        first = np.full(len(self.secrets.names), self.model.first)
        if self.follows is not None:
            before, kept = self.follows.adversary.held_from, self.follows.kept(self.policy)
            for g, name in enumerate(self.secrets.names):
                first[g] = before[kept[name]] if name in kept else self.follows.cut
        return first

    # --- the model, slot by slot

    def _possible(self, t: int) -> BoolArray:
        """(S,): the model's states that are possible in slot t before any output."""
        return np.asarray(self.model.state_prior_at(t) > 0)

    @property
    def _block(self) -> int:
        """Slots whose fronts are computed together: a day's, or some positions'."""
        return int(self.model.day_slots or POSITIONS)

    # --- what lies ahead

    @property
    def horizon(self) -> int:
        """How many slots ahead rows are live at most; habits for which that is more than HORIZON are refused.

        Where priors do not repeat (yet), of the first day alone: those of later ones are found when they come.
        """
        if self.tables.horizon is None:
            self.tables.horizon = max(map(self._horizon_of, self.model.legs))
        return self.tables.horizon

    def _horizon_of(self, model: Any) -> int:
        """Of one model's slots: in its cycle, and before priors repeat."""
        alone = self if model is self.model else EndlessAdversary(self._mechanism, model, self.policy)
        first = model.first
        if alone.phase(first) is not None:
            return alone.reach(first)
        far = alone._far(first + alone._block - 1)
        if far == HORIZON:  # further than distributions tell: is some row live as far ahead?
            far = alone._furthest(first, range(first, first + HORIZON + alone._block))
        settled = None if self.policy.beyond_a_day else model.once_cyclic()  # windows by date do not repeat
        if settled is None:
            return far
        later = EndlessAdversary(self._mechanism, settled, self.policy)
        return max(far, later.reach(0 if later.secrets.repeats else later.secrets.slots))

    def reach(self, t: int) -> int:
        """How many slots ahead rows are live at most, in the cycle that slot t is in."""
        phase = self.phase(t)
        assert phase is not None
        key = phase // PHASES
        if key not in self.tables.reach:
            later = t + HORIZON
            self.tables.reach[key] = self._furthest(t, range(later, later + self.model.cycle_slots))
        return self.tables.reach[key]

    def _furthest(self, first: int, opening: range) -> int:
        """How many slots before they open rows are live at most, of those that open in a range; not before `first`."""
        reach = 0
        for t, rows, _, _ in self._back_from(opening[-1], first, opening):
            reach = max(reach, int((rows.opens - t).max(initial=0)))
            if reach >= HORIZON:
                raise HorizonError(
                    f"what is known of a slot still tells of a secret {HORIZON} slots later: habits this regular, or a "
                    f"delta this small, would need tables without end. {self._milder}, or give the secret a larger "
                    "delta (larger odds, or less doubt)"
                )
            if t < opening.start and not len(rows.opens):
                break
        return reach

    @property
    def _milder(self) -> str:
        """What makes habits less regular, in words of the model that they were given as."""
        if self.model.day_slots is None:
            return "Give the hidden model a transition that mixes its states faster, or cut streams to whole sequences"
        return "Learn the routine with a larger floor, use fewer slots a day"

    def _far(self, t: int) -> int:
        """So many slots after t no row that opens is live at t, or before it; at most HORIZON.

        P(j | state) is an average over what the state leads to in the slot where j opens, and so is P(j): they differ
        by no more than two states' distributions in that slot do, in total variation. More steps between bring those
        closer. Where odds are bounded: with M and m the largest and smallest P(X_u = c | state) / P(X_u = c), the odds
        of j are at most M / m times those before.
        """
        possible = self._possible(t)
        if self.model.day_slots is not None:
            return self._apart_until(t, possible)
        key = possible.tobytes()  # all steps are alike
        if key not in self.tables.far:
            self.tables.far[key] = self._apart_until(t, possible)
        return self.tables.far[key]

    def _apart_until(self, t: int, possible: BoolArray) -> int:
        least = min((delta for delta in self.secrets.plain_delta.tolist() if delta < 1), default=1.0)
        factor = float(self.secrets.least_factor.min(initial=np.inf))
        reached = np.eye(len(possible))[possible]
        for ahead in range(HORIZON):
            apart = np.abs(reached[:, None] - reached[None]).sum(axis=2).max() / 2
            if apart <= least - NOISE and (factor == np.inf or _furthest_odds(reached) <= factor * (1 - NOISE)):
                return ahead
            reached = product(reached, self._step(t + ahead)[0])
        return HORIZON

    def _back_from(self, last: int, first: int, opening: range) -> Iterator[tuple[int, Rows, FloatArray, FloatArray]]:
        """From slot to slot backwards: the live rows that open in `opening`, with P(j | state) as a pair (F, S)."""
        states = len(self.model.initial)
        rows, high, low = Rows.none(), np.zeros((0, states)), np.zeros((0, states))
        for t in range(last, first - 1, -1):
            if len(high):
                high, low = doubled.pulled_back(high, low, *self._step(t))
                possible = self._possible(t)
                live = np.asarray((high[:, possible] > (rows.limit + rows.dropped)[:, None]).any(axis=1))
                if not live.all():
                    rows, high, low = rows.only(live), high[live], low[live]
            if t in opening:
                fresh, chance, chance_low = self.opened(t)
                if len(chance):
                    rows = fresh.and_then(rows)
                    high, low = np.concatenate([chance, high]), np.concatenate([chance_low, low])
            yield t, rows, high, low

    def opened(self, t: int, *, every: bool = False, over_cuts: bool = False) -> tuple[Rows, FloatArray, FloatArray]:
        """The rows that open at slot t and could exceed their limit (or all), with P(j | X_t) as a pair (F, n).

        `over_cuts`: also those open at the next cut, where habits may change, and with them priors. Where habits and
        windows repeat, they are found once for each phase of the cycle.
        """
        phase = None if t <= self._last_cut else self.phase(t)
        if phase is None:
            return self._opened(t, every, over_cuts)
        key = phase, every, over_cuts
        found = self.tables.opened.get(key)
        if found is None:
            rows, high, low = self._opened(t, every, over_cuts)
            found = self.tables.opened[key] = rows.shifted(-t), high, low
            read_only((*found[0], high, low))
        return found[0].shifted(t), *found[1:]

    def _opened(self, t: int, every: bool, over_cuts: bool) -> tuple[Rows, FloatArray, FloatArray]:
        table = self.secrets
        rows, high, low = [], [], []
        for g in range(len(table.names)):
            if not table.holds(g, t):
                continue
            if not table.any_slot[g]:
                prior = float((self.model.prior_at(t) * table.members[g].astype(np.float64)).sum())
                found = [(prior, t, *self._inside(g, t)[0])]
            else:
                found = [(window.prior, window.closes, *window.chance) for window in self._opening(g, t)]
            for prior, closes, chance, rest in found:
                delta = self.policy.row_delta(self.policy.secrets[g], prior)
                if every or prior + delta < 1 or (over_cuts and self._over_a_cut(t, closes)):
                    rows.append((g, t, closes, prior, delta))
                    high.append(chance)
                    low.append(rest)
        if not rows:
            empty = np.zeros((0, len(self.model.initial)))
            return Rows.none(), empty, empty
        numbers = np.array([row[:3] for row in rows], dtype=np.int64)
        values = np.array([row[3:] for row in rows], dtype=np.float64)
        return Rows(*numbers.T, *values.T), np.array(high), np.array(low)

    def _over_a_cut(self, opens: int, closes: int) -> bool:
        """Whether habits may change while a window is open."""
        slots = self.model.day_slots
        return slots is not None and closes // slots > opens // slots

    def front(self, t: int) -> Front:
        """The rows that have not opened before slot t and are live."""
        asked = self._asked
        if asked is None or asked[0] != t:  # a decision asks twice
            asked = self._asked = t, self._front(t)
        return asked[1]

    def _front(self, t: int) -> Front:
        slots = self._block
        begin, end = max(t // slots * slots, int(self.model.first)), (t // slots + 1) * slots
        if begin <= self._last_cut:  # windows that are cut open here, as on no other day
            if begin not in self._own_fronts:
                self._own_fronts[begin] = self._fronts(begin, end)
            return self._own_fronts[begin][t - begin].shifted(begin)
        phase = self.phase(begin)
        key = (phase is not None, begin if phase is None else phase)
        block = self.tables.fronts.get(key)
        if block is None:
            block = self.tables.fronts[key] = self._fronts(begin, end)
            if len(self.tables.fronts) > BLOCKS:
                self.tables.fronts.popitem(last=False)
        return block[t - begin].shifted(begin)

    def _fronts(self, begin: int, end: int) -> list[Front]:
        """The fronts of slots begin to end, counted from the first of them.

        A model whose days do not repeat may come to days that look further ahead than tables reach: not `whole`.
        """
        slots, repeating = self._block, self.phase(begin) is not None
        ahead = self.reach(begin) if repeating else self._far(end - 1)
        if begin <= self._last_cut:
            ahead = max(ahead, slots)
        found, whole = [], True
        for t, rows, high, _ in self._back_from(end - 1 + ahead, begin, range(begin, end + ahead)):
            if t == end - 1 and ahead == HORIZON and not repeating:
                whole = not (rows.opens > t + ahead - min(slots, HORIZON // 2)).any()
            if t < end:
                chance = np.ascontiguousarray(high[:, self.filter.hidden])
                chance.setflags(write=False)
                found.append(Front(rows.shifted(-begin), chance, whole))
        return found[::-1]

    # --- beliefs

    def start(self) -> EndlessBelief:
        """The belief before any output."""
        weights = self.filter.start()
        return EndlessBelief(self, self.model.first, weights, np.zeros_like(weights), Rows.none())

    def keeps_all(self, opens: Any) -> Any:
        """Whether rows that open at a slot, or at each of some, are kept live or not."""
        return self.whole is not None and opens // self.model.day_slots == self.whole

    def watching(self, morning: EndlessBelief) -> EndlessBelief:
        """The same belief, of which every row of the day that begins is kept."""
        day = morning.slot // self.model.day_slots
        watched = EndlessAdversary(
            self._mechanism, self.model, self.policy, self.tables, anew=self._anew, whole=day, follows=self.follows
        )
        return replace(morning, adversary=watched)

    @property
    def names(self) -> tuple[str, ...]:
        """What the secrets of rows are called."""
        return self.secrets.names + self.retired

    def holds(self, belief: EndlessBelief) -> bool:
        """Whether every row is within its limit under a belief that other habits led to."""
        rows, beliefs = belief.over(self).live()
        ahead = rows.closes >= belief.slot  # what is past, habits to come do not change
        return bool((beliefs <= rows.limit + HELD * rows.dropped)[ahead].all())

    def carried(self, belief: EndlessBelief) -> EndlessBelief:
        """The belief of the adversary that this one follows, carried over the cut at which the policy changes.

        Secrets that both know, on the same terms, are as before; past rows of others stay. A row of a secret that is
        new, or has new terms, may be beyond its limit already: its present belief is then its limit (`told`). A window
        of a secret that ends here is judged by what was visited so far.
        """
        assert self.follows is not None
        names, shared = self.secrets.names, self.follows.kept(self.policy)
        kept = {g: names.index(name) for name, g in shared.items()}
        before = self.follows.adversary.names
        numbers = [kept[g] if g in kept else len(names) + self.retired.index(name) for g, name in enumerate(before)]
        rows = belief.rows
        number = np.array(numbers, dtype=np.int64)[rows.secret]
        closes = np.where(number < len(names), rows.closes, np.minimum(rows.closes, belief.slot - 1))
        told = tuple((kept[g], opens, limit) for g, opens, limit in belief.already_told if g in kept)
        rows = rows._replace(secret=number, closes=closes)
        carried = EndlessBelief(self, belief.slot, belief.stack, belief.low, rows, already_told=told)
        front = carried.front()
        believed = product(front.chance, carried.hidden())
        new = ~np.isin(front.rows.secret, sorted(kept.values())) & (believed > front.rows.limit + front.rows.dropped)
        listed = zip(front.rows.secret[new], front.rows.opens[new], believed[new], strict=True)
        return replace(
            carried, already_told=told + tuple((int(g), int(opens), float(limit)) for g, opens, limit in listed)
        )

    def revealed(self, slot: int, state: int) -> EndlessBelief:
        """The belief after an output that revealed the hidden state of the slot before `slot`, secrets at="each".

        The past is settled: given that state, nothing that is still to come depends on it.
        """
        weights = np.zeros((1, self.filter.states))
        weights[0, state] = 1.0
        return EndlessBelief(self, slot, weights, np.zeros_like(weights), Rows.none())
