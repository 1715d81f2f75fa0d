"""What is already known: what habits alone tell of each secret before any output, and what its terms leave to hide.

A promise bounds what outputs add. Where a guess is near certainty already, keeping it is easy and hides nothing: "home
at night" with a prior of 99.6 % may be shown all night. So whoever reports on a promise says this first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from discreet.adversary.belief import Adversary
from discreet.adversary.endless import EndlessAdversary
from discreet.clock import Clock
from discreet.contracts import DayModel
from discreet.models.kinds import MONDAY, ONE_DAY
from discreet.models.routine.parts import AnyModel, AnyRoutine, parts_of
from discreet.numerics import IntArray
from discreet.policy import At, Policy, Secret

WEEK = 7
"""Days that are looked at where kinds of day do not repeat."""


MANY_DAYS = 366
"""Days in which windows longer than a day are looked for: every month of a year begins in them."""


class Row(NamedTuple):
    """What a secret is about, and how likely it is before any output: a slot, or None for a window of at="any"."""

    secret: str
    slot: int | None
    prior: float


@dataclass(frozen=True)
class Known:
    """What habits alone tell of one secret, over its rows: the slots at which it holds, or its windows."""

    name: str
    at: At
    delta: float
    """What limits are made of: the share of the secret's delta that is spent."""
    cap: float | None
    rows: int
    least: float
    """The least prior; then their mean and the highest."""
    mean: float
    highest: float
    highest_at: int | None
    """The slot of the highest prior; None for at="any"."""
    limit: float
    """The highest that belief may reach, whatever is shown: the limit where the prior is highest, at most 1."""
    told: int
    """Rows whose limit is 1, so that the truth may be shown: there declaring the secret hides nothing."""
    told_at: tuple[int, ...]
    """Their slots, of a day."""
    uncapped: int
    """Rows to which the cap does not apply; 0 without one."""
    uncapped_at: tuple[int, ...]

    @property
    def hides_nothing(self) -> bool:
        """Whether habits tell it everywhere, so that declaring it is of no use."""
        return self.told == self.rows

    def warnings(self, clock: Clock | None) -> list[str]:
        """What to know of the secret before trusting "kept", in words: where it hides nothing, and has no cap."""
        found = []
        if self.told:
            where = "" if self.hides_nothing else f" {_where(self.told, self.rows, self.told_at, clock)}"
            found.append(
                f"declaring {self.name!r} hides nothing{where}: whoever knows the habits is nearly certain already, "
                "so the truth may be shown"
            )
        if self.uncapped and self.cap is not None:
            where = (
                "anywhere" if self.uncapped == self.rows else _where(self.uncapped, self.rows, self.uncapped_at, clock)
            )
            found.append(
                f"the cap of {self.name!r} does not apply {where}: habits alone put it above "
                f"{self.cap - self.delta / 2:g}, so its limit is the prior plus delta"
            )
        return found


def _where(rows: int, of: int, slots: tuple[int, ...], clock: Clock | None) -> str:
    """The times of some rows, or how many they are."""
    return f"at {clock.times(slots)}" if clock is not None and slots else f"at {rows} of {of} places"


def known(model: AnyModel, policy: Policy) -> dict[str | None, tuple[Known, ...]]:
    """What the habits of a model tell of each secret, for each part of the week, or each kind of a routine's days.

    A routine's windows over midnight are whole and count on the day on which they begin.
    """
    if isinstance(model, AnyRoutine):
        rows = _rows_of_routine(model, policy)
        return {kind: known_of(policy, own) for kind, own in rows.items()}
    return {
        part: known_of(policy.in_one_day(habits.slots), _rows_of_day(habits, policy))
        for part, habits in parts_of(model).items()
    }


def known_of(policy: Policy, rows: Iterable[Row]) -> tuple[Known, ...]:
    """The same from rows; a secret without any is left out."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.secret, []).append(row)
    return tuple(_known(policy, secret, by_name[secret.name]) for secret in policy.secrets if secret.name in by_name)


def _known(policy: Policy, secret: Secret, rows: list[Row]) -> Known:
    highest = max(rows, key=lambda row: row.prior)
    told = [row for row in rows if row.prior + policy.row_delta(secret, row.prior) >= 1]
    free = [row for row in rows if secret.cap is not None and not policy.cap_applies(secret, row.prior)]
    return Known(
        name=secret.name,
        at=secret.at,
        delta=policy.spent_of(secret),
        cap=secret.cap,
        rows=len(rows),
        least=min(row.prior for row in rows),
        mean=float(np.mean([row.prior for row in rows])),
        highest=highest.prior,
        highest_at=highest.slot,
        limit=min(1.0, highest.prior + policy.row_delta(secret, highest.prior)),
        told=len(told),
        told_at=_slots(told),
        uncapped=len(free),
        uncapped_at=_slots(free),
    )


def _slots(rows: list[Row]) -> tuple[int, ...]:
    return tuple(sorted({row.slot for row in rows if row.slot is not None}))


def merged(parts: Iterable[tuple[Known, ...]]) -> tuple[Known, ...]:
    """What is known of each secret over the rows of all parts together."""
    by_name: dict[str, Known] = {}
    for part in parts:
        for one in part:
            by_name[one.name] = one if one.name not in by_name else _both(by_name[one.name], one)
    return tuple(by_name.values())


def _both(one: Known, other: Known) -> Known:
    rows = one.rows + other.rows
    top = max(one, other, key=lambda known: (known.highest, -(known.highest_at or 0)))  # of equals the first slot
    return Known(
        name=one.name,
        at=one.at,
        delta=one.delta,
        cap=one.cap,
        rows=rows,
        least=min(one.least, other.least),
        mean=(one.rows * one.mean + other.rows * other.mean) / rows,
        highest=top.highest,
        highest_at=top.highest_at,
        limit=max(one.limit, other.limit),
        told=one.told + other.told,
        told_at=tuple(sorted({*one.told_at, *other.told_at})),
        uncapped=one.uncapped + other.uncapped,
        uncapped_at=tuple(sorted({*one.uncapped_at, *other.uncapped_at})),
    )


# --- rows


class _Onlooker:
    """Whoever knows the habits and sees nothing: a machine to ask priors of."""

    def __init__(self, model: Any, policy: Policy) -> None:
        self.model, self.policy = model, policy
        self.private_contexts: IntArray = np.arange(len(model.contexts))

    def remember(self, memory: int | None, context: int) -> int:
        return context


def rows_of(adversary: Adversary) -> list[Row]:
    """What an adversary of one day knows before the first output."""
    priors = adversary.priors.tolist()
    return [Row(name, slot, prior) for (name, slot), prior in zip(adversary.gain_names, priors, strict=True)]


def _rows_of_day(model: DayModel, policy: Policy) -> list[Row]:
    """Secrets at each slot from the model's prior; of those at="any" an adversary is asked, without any slot's rows."""
    table = policy.for_model(model.contexts, model.slots, patterns=True)
    rows = [Row(table.names[g], slot, float((model.prior[slot] * table.members[g]).sum())) for slot, g in table.rows]
    anytime = [secret for secret in table.policy.secrets if secret.at == "any"]
    asked: Any = _Onlooker(model, replace(policy, secrets=tuple(anytime)))
    return rows + rows_of(Adversary(asked))


def _rows_of_routine(routine: AnyRoutine, policy: Policy) -> dict[str, list[Row]]:
    """By kind of day, over one cycle; the day before it is there for windows that run over midnight into it.

    Windows longer than a day are looked at one by one, those that begin within a year (MANY_DAYS).
    """
    chain = routine.since(MONDAY - ONE_DAY)
    adversary, slots = EndlessAdversary(_Onlooker(chain, policy)), routine.slots
    found: dict[str, list[Row]] = {}
    for t in range(slots, slots * (1 + (routine.period or WEEK))):
        rows, _, _ = adversary.opened(t, every=True)
        own = found.setdefault(routine.kind_of(chain.date_of(t)[0]), [])
        for g, prior in zip(rows.secret.tolist(), rows.prior.tolist(), strict=True):
            secret = policy.secrets[g]
            if secret.over == "day":
                own.append(Row(secret.name, None if secret.at == "any" else t % slots, prior))
    for g, secret in enumerate(policy.secrets):
        if secret.over != "day":
            for t, prior in adversary.beginning(g, range(slots, slots * (1 + MANY_DAYS))):
                found[routine.kind_of(chain.date_of(t)[0])].append(Row(secret.name, None, prior))
    return found
