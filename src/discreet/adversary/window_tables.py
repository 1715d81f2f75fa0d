"""Windows of secrets at="any" over a model without end: which slots they have, and the chance of a first visit."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from discreet.adversary import doubled
from discreet.adversary.filters import Pair
from discreet.adversary.rows import Tables, Window
from discreet.numerics import IntArray, read_only
from discreet.policy import Policy, SecretTable

BLOCKS = 16
"""Days whose tables are kept."""


class WindowTables:
    """What the adversary of a model without end knows of windows; it says which model, secrets and tables."""

    model: Any
    policy: Policy
    secrets: SecretTable
    tables: Tables
    held_from: IntArray
    _changed: bool  # the policy came into force in mid-stream
    _own_windows: dict[tuple[int, int, int], Window]

    # --- the model, slot by slot

    def _step(self, t: int) -> Pair:
        """(S, S): from slot t to the next, rows exactly whole, as a pair."""
        name, steps = self.model.step_name(t), self.tables.steps
        if name not in steps:
            steps[name] = doubled.whole_rows(np.ascontiguousarray(self.model.transition(t)))
        return steps[name]

    def _emission(self, t: int) -> Pair | None:
        """(S, n): the contexts of each state, as a pair; None where states are contexts."""
        emission = self.model.emission(t)
        if emission is None:
            return None
        if ("emission",) not in self.tables.steps:  # hidden models without end have one
            self.tables.steps["emission",] = doubled.whole_rows(np.ascontiguousarray(emission))
        return self.tables.steps["emission",]

    def _inside(self, g: int, t: int) -> tuple[Pair, Pair]:
        """(S,) each: P(context in the secret | model's state in slot t), and P(not in it), as pairs."""
        member, emission = self.secrets.members[g], self._emission(t)
        if emission is None:
            now, zero = member.astype(np.float64), np.zeros(len(member))
            return (now, zero), (1.0 - now, zero)
        (now, rest), (low, rest_low) = doubled.within(*emission, np.array([member, ~member]))
        return (now, low), (rest, rest_low)

    def phase(self, t: int) -> int | None:
        """Where in the cycle slot t is, if habits and secrets repeat from there on; None elsewhere.

        Windows longer than a day go by date: months differ, and N days need not fit into a week.
        """
        if self.policy.beyond_a_day:
            return None
        if (
            not self.secrets.repeats and t < self.secrets.slots - 1
        ):  # some secret is about this position, or a later one
            return None
        phase: int | None = self.model.phase(t)
        return phase

    # --- windows

    def _spans(self, g: int, t: int) -> list[tuple[int, int]]:
        """The windows that slot t belongs to, or would if the secret held there: the first day, and how many days.

        Days are counted from the stream's first. Of a sliding window that is cut by a change of policy, nothing is
        left: the next one begins on the next day.
        """
        secret, slots = self.policy.secrets[g], self.model.day_slots
        if slots is None:  # positions have one window
            return [(0, 1)]
        day = (t - int(self.secrets.begins[g])) // slots
        if secret.over == "day":
            return [(day, 1)]
        date = self.model.date_of(day * slots)[0]
        found = [(day + (first - date).days, days) for first, days in secret.windows_of(date)]
        if secret.sliding and self._changed:
            found = [one for one in found if one[0] * slots >= self.held_from[g]] or found[-1:]
        return found

    def _held(self, g: int, first: int, days: int) -> IntArray:
        """The slots of a window at which its secret is held."""
        slots, held, begins = self.secrets.slots, np.flatnonzero(self.secrets.active[g]), int(self.secrets.begins[g])
        of_a_day = np.sort(np.where(held >= begins, held, held + slots))
        absolute = (np.arange(first, first + days)[:, None] * slots + of_a_day).ravel()
        return np.asarray(absolute[absolute >= self.held_from[g]])

    def _opening(self, g: int, t: int) -> list[Window]:
        """The windows of a secret at="any" that open at slot t, where it is held."""
        return [self._found(g, *span) for span in self._spans(g, t) if self._held(g, *span)[:1].tolist() == [t]]

    def beginning(self, g: int, slots: range) -> list[tuple[int, float]]:
        """The whole windows of a secret that begin in some slots: where each opens, and its prior.

        Windows that are alike, of the same length and with the same phase, are computed once.
        """
        found, alike = [], {}
        size = self.model.day_slots
        for day in range(slots.start // size, slots.stop // size):
            for first, days in self._spans(g, day * size + int(self.secrets.begins[g])):
                if first == day:
                    phase = self.model.phase(day * size)
                    key = (day, days) if phase is None else (phase, days)
                    if key not in alike:
                        window = self._window(g, day, days)
                        alike[key] = window.opens, window.prior
                    opens, prior = alike[key]
                    found.append((day * size + opens, prior))
        return found

    def window(self, g: int, t: int, closes: int | None = None) -> Window:
        """The window of a secret at="any" that slot t belongs to, or would if the secret held there.

        Of several, the one that closes at a slot, or the last.
        """
        spans = self._spans(g, t)
        if len(spans) > 1 and closes is not None:
            spans = [span for span in spans if int(self._held(g, *span)[-1]) == closes]
        return self._found(g, *spans[-1])

    def _found(self, g: int, first: int, days: int) -> Window:
        slots = self.model.day_slots
        if slots is None or first * slots < max(self.model.first, int(self.held_from[g])):
            found = self._own_window(g, first, days)
        else:
            phase = self.phase(first * slots)
            key = (g, phase is not None, first if phase is None else phase, days)
            kept = self.tables.windows.get(key)
            if kept is None:
                kept = self.tables.windows[key] = self._window(g, first, days)
                if len(self.tables.windows) > (BLOCKS + self._most_open) * len(self.secrets.names):
                    self.tables.windows.popitem(last=False)
            found = kept
        moved = first * (slots or 0)
        return found._replace(opens=moved + found.opens, closes=moved + found.closes)

    @cached_property
    def _most_open(self) -> int:
        """Windows of one secret that are open at once, besides those whose tables are kept anyway."""
        return max(
            (int(one.over) for one in self.policy.secrets if one.sliding and isinstance(one.over, int)), default=0
        )

    def _own_window(self, g: int, first: int, days: int) -> Window:
        """One of the first days, or of positions: kept by this adversary alone."""
        if (g, first, days) not in self._own_windows:
            self._own_windows[g, first, days] = self._window(g, first, days)
        return self._own_windows[g, first, days]

    def _window(self, g: int, first: int, days: int) -> Window:
        """Its slots counted from its first day's first; those before the secret was held are left out."""
        slots, absolute = self.secrets.slots, self._held(g, first, days)
        held = frozenset(absolute.tolist())
        opens, closes = int(absolute[0]), int(absolute[-1])
        later, later_low, here, here_low = np.zeros((4, closes - opens + 1, len(self.model.initial)))
        for t in range(closes, opens - 1, -1):
            k = t - opens
            if t < closes:
                high, low = doubled.pulled_back(here[k + 1 : k + 2], here_low[k + 1 : k + 2], *self._step(t))
                later[k], later_low[k] = high[0], low[0]
            here[k], here_low[k] = later[k], later_low[k]
            if t in held:
                now, rest = self._inside(g, t)
                here[k], here_low[k] = doubled.or_else(*now, *rest, later[k], later_low[k])
        prior = float((self.model.state_prior_at(opens) * here[0]).sum())
        read_only((later, here))
        moved = first * slots
        return Window(opens - moved, closes - moved, later, here, np.array([here[0], here_low[0]]), prior)

    @cached_property
    def _last_cut(self) -> int:
        """The last slot at which what is left of a window could open; -1 where all windows are whole."""
        begins, slots = self.secrets.begins, self.model.day_slots
        if slots is None:
            return -1
        cut = self.secrets.any_slot & ((self.held_from - begins) % slots > 0)
        if self.policy.beyond_a_day:
            for g in np.flatnonzero(self.secrets.any_slot).tolist():
                first = min(first for first, _ in self._spans(g, int(self.held_from[g])))
                cut[g] = first * slots + begins[g] < self.held_from[g]
        return int((self.held_from[cut] + slots - 1).max(initial=-1))
