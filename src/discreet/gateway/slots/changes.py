"""Habits and policies that change while a stream goes on: announced at a start with others, or by the owner.

What a stream was of from its beginning on is kept in the own store, because its mechanism is made of all of it. A
change is written there first, and counts when the journal has a checkpoint of the mechanism with it: one that a crash
cut off is as if it had never been, and is announced again. A policy takes effect at the cut after next, so that the
change does not tell of what it was made for; new habits at the first cut from then on at which the change itself
breaks no limit (`Session.change`).
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from discreet.adversary.checkpoint import Checkpoint
from discreet.contracts import AnyMechanism
from discreet.errors import DiscreetError
from discreet.gateway.store.journal.base import Head, Journal
from discreet.gateway.store.own_store import KeptHabits, OwnStore
from discreet.live.mechanism_cache import SharedMechanisms
from discreet.models.routine.routine import Routine
from discreet.models.store import load_days, save
from discreet.policy import Policy, Secret
from discreet.session import Session


@dataclass(frozen=True)
class HabitsFrom:
    """What a stream is of from a date on; announced at a position, with the private state as it was numbered then."""

    date: dt.date
    routine: Routine
    policy: Policy
    position: int
    private: int | None = None

    def same(self, routine: Routine, policy: Policy) -> bool:
        """Whether it is of these."""
        return _name(self.routine) == _name(routine) and self.policy.fingerprint == policy.fingerprint


def known(own: OwnStore, journal: Journal, head: Head, spec: Any, shared: SharedMechanisms) -> tuple[HabitsFrom, ...]:
    """What the stream was of so far, the first first; a change that was never confirmed is erased."""
    found = [_opened(one) for one in own.habits(head.person, head.stream)]
    if len(found) > 1 and not _confirmed(journal, head, found, spec, shared):
        own.drop_habits(head.person, head.stream, len(found) - 1)
        found.pop()
    return tuple(found)


def _confirmed(journal: Journal, head: Head, habits: Sequence[HabitsFrom], spec: Any, shared: SharedMechanisms) -> bool:
    """Whether the last change counts: something was decided since, or there is a checkpoint of its mechanism."""
    last = journal.last(head.person)
    if last is not None and last.stream == head.stream and last.position >= habits[-1].position:
        return True
    mechanism = mechanism_of(spec, habits, head.start, head.first, shared)
    for _, text in journal.checkpoints(head.stream):
        try:
            Checkpoint.from_json(text).state_of(mechanism)
        except DiscreetError:
            continue
        return True
    return False


def mechanism_of(
    spec: Any, habits: Sequence[HabitsFrom], start: dt.date, first: int, shared: SharedMechanisms
) -> AnyMechanism:
    """The mechanism of a stream that began with the first of these and changed to each of the others."""
    mechanism = shared.of(partial(spec.make, policy=habits[0].policy), habits[0].routine, start, first)
    for before, after in itertools.pairwise(habits):
        changing: Any = mechanism
        if _name(before.routine) != _name(after.routine):
            changing = changing.then(after.date, routine=after.routine)
        if before.policy.fingerprint != after.policy.fingerprint:
            changing = changing.then(after.date, policy=after.policy)
        mechanism = changing
    return mechanism


def changed(
    session: Session, before: HabitsFrom, routine: Routine, policy: Policy, date: dt.date | None = None
) -> tuple[Session, HabitsFrom]:
    """The session with these habits and this policy from a later cut on; the one that is given stays as it is."""
    other = _name(routine) != _name(before.routine)
    after = session.branched()
    date = after.change(
        policy=policy if policy.fingerprint != before.policy.fingerprint else None,
        routine=routine if other else None,
        date=date,
    )
    return after, HabitsFrom(date, routine, policy, after.slot, after.private)


def present(history: Sequence[HabitsFrom], date: dt.date) -> HabitsFrom:
    """What is in force on a date; of changes for the same cut the last counts."""
    return next((one for one in reversed(history) if one.date <= date), history[0])


def announced_habits(history: Sequence[HabitsFrom], date: dt.date) -> HabitsFrom | None:
    """The change that brings other habits than those in force on a date, where one is announced."""
    if not history or _name(history[-1].routine) == _name(present(history, date).routine):
        return None
    last = _name(history[-1].routine)
    return next(one for one in history if one.date > date and _name(one.routine) == last)


def announce(session: Session, own: OwnStore, journal: Journal, head: Head, history: Sequence[HabitsFrom]) -> None:
    """Write down the change that is the last of a history; again, where a first try failed halfway."""
    if len(own.habits(head.person, head.stream)) < len(history):
        keep(own, head, history[-1])
    journal.append([], [(head.stream, session.slot, session.checkpoint().to_json())])


def keep(own: OwnStore, head: Head, habits: HabitsFrom) -> None:
    """Write down what a stream is of from a date on."""
    own.keep_habits(
        KeptHabits(
            head.person,
            head.stream,
            len(own.habits(head.person, head.stream)),
            habits.date,
            _model(habits.routine),
            policy_text(habits.policy),
            habits.position,
            habits.private,
        )
    )


def _name(routine: Routine) -> tuple[str, ...]:
    return routine.fingerprint, *(one.fingerprint for one in routine.observers)


def _opened(kept: KeptHabits) -> HabitsFrom:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept.model"
        path.touch(mode=0o600)
        path.write_bytes(kept.model)
        routine = load_days(path)
    if not isinstance(routine, Routine):
        raise DiscreetError(f"{kept.person}: the own store's habits are no routine; it is damaged")
    return HabitsFrom(kept.date, routine, policy_of(kept.policy), kept.position, kept.private)


def _model(routine: Routine) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept.model"
        save(path, routine)
        return path.read_bytes()


def policy_text(policy: Policy) -> str:
    """A policy as JSON, all of it."""
    secrets = [
        {
            "name": one.name,
            "contexts": sorted(one.contexts),
            "slots": None if one.slots is None else sorted(one.slots),
            "delta": one.delta,
            "at": one.at,
            "begins": one.begins,
            "cap": one.cap,
            "odds": one.odds,
            "over": one.over,
            "sliding": one.sliding,
        }
        for one in policy.secrets
    ]
    terms = {key: getattr(policy, key) for key in ("delta", "share", "odds", "doubt")}
    return json.dumps({**terms, "secrets": secrets}, ensure_ascii=False)


def policy_of(text: str) -> Policy:
    """What `policy_text` wrote."""
    content = json.loads(text)
    return Policy([Secret(**one) for one in content.pop("secrets")], **content)


def in_words(person: str, before: HabitsFrom, after: HabitsFrom) -> str:
    """What the owner is told of a change."""
    what = " and ".join(
        name
        for name, other in (
            ("the policy", before.policy.fingerprint != after.policy.fingerprint),
            ("the habits", _name(before.routine) != _name(after.routine)),
        )
        if other
    )
    return f"{person}: {what} changed: the new take effect on {after.date}; until then the old hold"
