"""Why the truth was not shown: the rows of a slot's programme that stand in its way, exactly.

A private state m has the probabilities b(o | m) of the slot's kernel. The truth x was worth most, and o was told in its
place. Would a kernel do that shows x a share e more often in m, o as much less often, and is otherwise the same? It
keeps row j (a secret at a slot, or in a window) within the limit of the programme iff (proof.md, inequality 1)
    r_j(x) + e d a[j, m] <= 0   and   r_j(o) - e d a[j, m] <= 0,                                       (2)
    r_j(o) = sum_n p(n) b(o | n) a[j, n],   d = p(m) b(o | m),   a[j, n] = P(j | n, outputs) - limit of j.
The *room* of row j is the largest e that keeps both: -r_j / slope, where the slope of one of them is positive, that of
x where the truth tells of j (a > 0), that of o where silence without this state would (a < 0). A row of room below one
*stands in the way*: x cannot take o's place always. It *binds* where it has no room at all.

What follows, and is tested:
- Were all binding rows without a limit, a kernel that differs in this state alone, and shows x more often in it, would
  keep all others, and be worth more. So a programme that was solved has binding rows wherever something was withheld.
- As long as one of them has its limit, no such kernel keeps it, whatever becomes of rows that are not named.
- Rows that no output meets with equality could be left out altogether, and the kernel would still be the best.
A row that is met with equality and not named may matter all the same, for kernels that differ in other states too.

A programme that was cut short, or solved without memory, may withhold what nothing forbids to this state: then the
states of one context are asked for together, and where that finds nothing either, no row is named.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from discreet.adversary.endless import EndlessAdversary
from discreet.adversary.rows import Rows
from discreet.mechanisms.adaptive.machine import AdaptiveMachine, AdaptiveState
from discreet.mechanisms.adaptive.slots import ObserverView, Slot
from discreet.numerics import TOTAL, BoolArray, FloatArray
from discreet.outputs import Output

BINDING = 1e-6
"""Room that is rounding: kernels are solved to 1e-13 of a column's mass, and silence is mixed in with 2**-40."""

By = Literal["truth", "told"]


class InTheWay(NamedTuple):
    """A row that would be beyond its limit, had the truth been shown whenever this private state is the true one."""

    secret: str
    opens: int
    closes: int
    by: By
    """Which output would tell: the truth, or what was told in its place, which then were more of the others'."""
    belief: float
    """What the row would be believed with after that output."""
    limit: float
    """What it was decided by: the row's limit, less what is held back for later slots."""
    room: float
    """How much more often the truth could be shown before this row is beyond its limit; 0 where it binds."""
    own: bool
    """Whether the truth is the secret itself."""
    observer: int
    """Before whom: 0 is who knows the mechanism's own habits."""


class Withheld(NamedTuple):
    """Why something else was told than the truth."""

    share: float
    """How often the truth is shown in such a slot: chance chose otherwise where it is above 0."""
    rows: tuple[InTheWay, ...]
    """The rows that bind: those first that the truth itself is about, then by how far beyond their limits they'd be."""


def withheld(machine: AdaptiveMachine, state: AdaptiveState, private: int, told: Output) -> Withheld | None:
    """Why `told` was output in this public state, and not the truth; None where nothing was withheld.

    That is: the truth was told, or is worth no more, or the habits have no place for the private state.
    """
    slot, rows = _slot(machine, state)
    vocabulary = machine.decider.vocabulary
    context = int(machine.private_contexts[private])
    here = np.flatnonzero(slot.private == (context if state.skipped else private))
    truth, instead = int(vocabulary.worth[context].argmax()), vocabulary.outputs.index(told)
    if not len(here) or not vocabulary.worth[context, truth] > vocabulary.worth[context, instead]:
        return None
    weights = machine.kernel(state).weights[slot.private] / float(TOTAL)
    share = float(weights[here[0], truth])
    alone = np.arange(len(slot.private)) == here[0]
    for states in (alone, slot.context == context):
        found = [
            one
            for number, (view, own) in enumerate(zip(slot.views, rows, strict=True))
            for one in _in_the_way(
                machine.adversaries[number],
                number,
                view,
                own,
                weights[:, [truth, instead]],
                states,
                context,
                state.slot,
            )
        ]
        if found:
            return Withheld(share, _binding(found))
    return Withheld(share, ())


def _slot(machine: AdaptiveMachine, state: AdaptiveState) -> tuple[Slot, tuple[Rows, ...]]:
    """The slot as it was decided, and the rows of each observer's view."""
    each = [one.with_rows(belief) for one, belief in zip(machine.slots, state.beliefs.each, strict=True)]
    slot = Slot.joined([one for one, _ in each])
    return slot.by_context() if state.skipped else slot, tuple(rows for _, rows in each)


def _in_the_way(
    adversary: EndlessAdversary,
    observer: int,
    view: ObserverView,
    rows: Rows,
    weights: FloatArray,
    states: BoolArray,
    context: int,
    t: int,
) -> list[InTheWay]:
    """Equation 2 for one observer; `weights` (A, 2) are those of the truth and of what was told."""
    flows = view.mass[:, None] * weights  # (A, 2)
    moved = np.where(states, flows[:, 1], 0.0)
    now = view.coefficients @ flows  # (J, 2): r
    slopes = (view.coefficients @ moved)[:, None] * np.array([1.0, -1.0])
    room = np.where(slopes > 0, np.maximum(-now, 0.0) / np.where(slopes > 0, slopes, 1.0), np.inf)
    after = flows + moved[:, None] * np.array([1.0, -1.0])
    found = []
    for j in np.flatnonzero(room.min(axis=1, initial=np.inf) < 1).tolist():
        side = int(room[j].argmin())
        limit = float(rows.limit[j])
        would = min(1.0, limit + float(view.beyond[j] @ after[:, side] / after[:, side].sum()))
        allowed = limit + float((view.beyond[j] - view.coefficients[j]).min())
        g, opens, closes = int(rows.secret[j]), int(rows.opens[j]), int(rows.closes[j])
        own = _is_own(adversary, g, context, t) and opens <= t <= closes
        by: By = "told" if side else "truth"
        name = adversary.names[g]
        found.append(InTheWay(name, opens, closes, by, would, allowed, float(room[j, side]), own, observer))
    return found


def _is_own(adversary: EndlessAdversary, g: int, context: int, t: int) -> bool:
    """Whether being in a context at slot t is what secret g is about; one of an earlier policy is no more."""
    table = adversary.secrets
    return g < len(table.names) and bool(table.members[g, context] and table.holds(g, t))


def _binding(found: list[InTheWay]) -> tuple[InTheWay, ...]:
    """Those without room, up to rounding; of a kernel that was mended, those with the least."""
    least = max(BINDING, min(one.room for one in found))
    named = [one for one in found if one.room <= least]
    return tuple(sorted(named, key=lambda one: (not one.own, one.limit - one.belief)))
