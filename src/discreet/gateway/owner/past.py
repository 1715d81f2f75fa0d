"""The days before somebody was served, as applications would have seen them: simulated, for the owner to look at.

They are computed in a process of its own (`setup.job`) from what was imported, under the policy and the habits that are
in force, with chance of their own that is kept nowhere. Nothing is told, and nothing is decided by it. What was found
is in memory, until the gateway stops or something else is in force.
"""

from __future__ import annotations

import secrets
import shutil
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from discreet.gateway.owner.maps import version_of
from discreet.gateway.owner.relearn import READINGS, HistoryOrder, days_of
from discreet.gateway.setup.job import Job
from discreet.gateway.setup.work import Report
from discreet.gateway.slots.changes import present
from discreet.gateway.slots.keeper import Keeper
from discreet.mechanisms.named import Spec
from discreet.models.routine.routine import Routine
from discreet.outputs import to_wire
from discreet.policy import Policy

FOLDER = "past"
"""Within the data folder; what a stop left there is erased at the start."""

WEEKS = 8
"""The last weeks of what was imported, which are looked at."""

TOGETHER = 1
"""Processes at a time."""


@dataclass(frozen=True)
class PastOrder:
    """The days, and what decides them."""

    history: HistoryOrder
    routine: Routine
    spec: Spec
    policy: Policy
    seed: int


def past_told(out: Path, report: Report, part: object, order: PastOrder) -> dict[str, Any]:
    """Each day's labels, and what would have been told of them: empty for silence."""
    from discreet.evaluation.joined import streams, without_end
    from discreet.given import as_date
    from discreet.randomness import SeededEntropy

    report("reading", 0, 0)
    days = days_of(order.history, out / READINGS)
    days = days[max(0, len(days) - 7 * WEEKS) :]
    fitted = [day for own in streams(days, order.routine.slots, order.routine.contexts).values() for day in own]
    found: list[dict[str, Any]] = []
    if fitted:
        report("past", 0, len(fitted))
        make: Any = partial(order.spec.make, policy=order.policy)
        mechanism = make(order.routine.since(as_date(fitted[0].date)))
        told: list[str] = []
        for moment in without_end(mechanism, fitted, rng=SeededEntropy(order.seed)):
            wire = to_wire(moment.output)
            told.append(str(wire.get("context", wire.get("node", ""))))
            if moment.ends_day:
                true = list(moment.day.contexts)
                shown = sum(bool(one) for one in told)
                found.append(
                    {"date": str(moment.day.date), "true": true, "told": told, "shown": shown, "decided": len(told)}
                )
                told = []
                report("past", len(found), len(fitted))
    return {"days": found}


@dataclass
class _Looked:
    """What is under way for a person, or what came of it, and under which terms."""

    terms: tuple[str, ...]
    job: Job | None = None
    days: list[dict[str, Any]] | None = None
    problem: str | None = None


class Pasts:
    """Everybody's past, as the page looks at it. Safe to use from several threads."""

    def __init__(self, keeper: Keeper, past_of: Callable[[str], Path | None], data: Path) -> None:
        self._keeper, self._past_of = keeper, past_of
        self._folder = data / FOLDER
        shutil.rmtree(self._folder, ignore_errors=True)
        self._lock = threading.RLock()
        self._of: dict[str, _Looked] = {}

    def order(self, person: str) -> PastOrder | None:
        """What it is made from; None where nothing that was imported is kept. Asked between two slots."""
        past = self._past_of(person)
        if past is None or not past.is_file():
            return None
        stream = self._keeper.people[person]
        config, first = stream.config, stream.head.start
        now = present(config.history, stream.next[0])
        history = HistoryOrder(person, config.clock, config.hold, past, (), None, first, config.places)
        return PastOrder(history, now.routine, config.spec, now.policy, secrets.randbits(63))

    def document(self, person: str, order: PastOrder | None) -> dict[str, Any]:
        """Where it stands; the work begins with the first question, and again where something else is in force."""
        clock = self._keeper.people[person].config.clock
        found = _Looked(()) if order is None else self._looked(person, order)
        job = found.job
        return {
            "kept": order is not None,
            "secret": [] if order is None else sorted(order.policy.contexts),
            "times": [clock.label(slot) for slot in range(clock.slots)],
            "job": None if job is None else {"name": job.name, **asdict(job.far)},
            "days": found.days,
            "problem": found.problem,
        }

    def _looked(self, person: str, order: PastOrder) -> _Looked:
        terms = (order.routine.fingerprint, order.policy.fingerprint, version_of(order.history.places))
        with self._lock:
            found = self._of.get(person)
            if found is not None and found.terms == terms:
                return found
            self._of.pop(person, None)
        if found is not None and found.job is not None:
            found.job.cancel()  # not with the lock: its end may wait for that
        with self._lock:
            if sum(one.job is not None for one in self._of.values()) >= TOGETHER:
                return _Looked(terms)  # it is asked for again, and begun when another's has ended
            self._folder.mkdir(mode=0o700, exist_ok=True)
            own = self._of[person] = _Looked(terms)
            own.job = Job("past", self._folder, past_told, (order,), partial(self._ended, person))
            return own

    def _ended(self, person: str, job: Job, result: Any, problem: str | None) -> None:
        with self._lock:
            own = self._of.get(person)
            if own is not None and own.job is job:
                own.job, own.problem = None, problem
                own.days = None if result is None else result["days"]

    def cancel(self) -> None:
        """End everything, as the gateway stops."""
        with self._lock:
            jobs = [one.job for one in self._of.values() if one.job is not None]
            self._of.clear()
        for job in jobs:
            job.cancel()
