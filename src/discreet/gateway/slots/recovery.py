"""How a person's stream begins, and goes on after a stop, whenever that came: nothing that was told is decided again.

The journal is what was told; the own store is written before and after each of its rows. From where the two stand it
follows what was going on (theory, section 10, Recovery).
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from discreet.adversary.checkpoint import Checkpoint
from discreet.contracts import AnyMechanism
from discreet.errors import DiscreetError, OneDayError
from discreet.gateway.slots.changes import mechanism_of
from discreet.gateway.slots.person import PersonConfig, PersonStream
from discreet.gateway.slots.served import checked_mechanism, of_one_day
from discreet.gateway.store.journal.base import Head, Journal, JournalRow
from discreet.gateway.store.own_store import OwnStore, Stamp
from discreet.live.mechanism_cache import SharedMechanisms
from discreet.live.slots import SECOND, instants, micros, next_slot, slot_at
from discreet.session import Session

REMEDY = (
    "Complete the journal from what an application or a broker heard (discreet serve --complete FILE), or begin a new "
    "stream, which breaks the promise in public (discreet serve --new-stream)"
)


FIRST = "the first"
"""Why a person's first stream began."""


class OlderJournalError(DiscreetError):
    """The journal is older than what was told; going on would decide slots again that everybody knows."""


def begun(
    config: PersonConfig, journal: Journal, now: float, why: str, shared: SharedMechanisms | None = None
) -> PersonStream:
    """A new stream from the slot that is under way, or the one after the last decided.

    The checkpoint of its beginning says which model and policy it is of.
    """
    last = journal.last(config.name)
    date, slot = slot_at(config.clock, micros(now))
    if last is not None and (date, slot) <= last.key:
        date, slot = next_slot(config.clock, *last.key)
    session = Session(_mechanism(config, date, slot, shared))
    head = journal.begin(config.name, date, slot, why, session.checkpoint().to_json())
    return PersonStream(config, head, session, b"" if last is None else last.chain)


def gone_on(
    config: PersonConfig, journal: Journal, own: OwnStore, head: Head, shared: SharedMechanisms | None = None
) -> PersonStream:
    """The stream as the journal and the own store have it: nothing is drawn.

    A slot that was stamped and not written is pending: it is decided from its stamp. Of one whose row was written
    before its bits were erased, the private state follows from its stamp. Where the own store has no stamp of the last
    slot, memory is lost, and the next slot will be skipped.
    """
    last, stamp = journal.last(config.name), own.stamped(config.name)
    chain = b"" if last is None else last.chain
    if last is not None and last.stream != head.stream:
        last = None
    _same_clock(config, last)
    decided = head.first - 1 if last is None else last.position
    _not_older(config, head, stamp, decided)
    if stamp is not None and stamp.stream != head.stream:
        stamp = None
    unfinished = last is not None and stamp is not None and stamp.bits is not None and stamp.position == decided
    mechanism = _mechanism(config, head.start, head.first, shared)
    checkpoint = _latest(journal.checkpoints(head.stream), decided + (not unfinished))
    since = journal.of_stream(head.stream, -1 if checkpoint is None else checkpoint.slot - 1)
    if unfinished and last is not None and stamp is not None:
        session = _resumed(mechanism, since[:-1], checkpoint, stamp.before)
        session.retake(stamp.context, last.output, last.likelihood())
        return PersonStream(config, head, session, chain)
    pending = stamp is not None and stamp.bits is not None and stamp.position == decided + 1
    private = None
    if stamp is not None:
        private = stamp.before if pending else stamp.after if stamp.position == decided else None
    if not pending and config.history and config.history[-1].position == decided + 1:
        private = config.history[-1].private  # numbered anew by the change
    return PersonStream(
        config, head, _resumed(mechanism, since, checkpoint, private), chain, stamp if pending else None
    )


def without_private_state(
    config: PersonConfig, journal: Journal, head: Head, shared: SharedMechanisms | None = None
) -> PersonStream:
    """The stream as the journal alone has it: what an observer may believe; nothing can be decided from it."""
    last = journal.last(config.name)
    checkpoint = _latest(journal.checkpoints(head.stream), 2**62)
    since = journal.of_stream(head.stream, -1 if checkpoint is None else checkpoint.slot - 1)
    session = _resumed(_mechanism(config, head.start, head.first, shared), since, checkpoint, None)
    return PersonStream(config, head, session, b"" if last is None else last.chain)


def _latest(points: list[tuple[int, str]], reached: int) -> Checkpoint | None:
    """The last checkpoint up to a slot that can be read."""
    problem: DiscreetError | None = None
    for position, text in points:
        if position <= reached:
            try:
                return Checkpoint.from_json(text)
            except DiscreetError as error:
                problem = problem or error
    if problem is not None:
        raise problem
    return None


def _same_clock(config: PersonConfig, last: JournalRow | None) -> None:
    """Slots are counted by a clock: another one would decide some instants twice, or never."""
    if config.clock.slots != config.routine.slots:
        raise DiscreetError(
            f"{config.name}: the clock has {config.clock.slots} slots a day, the routine {config.routine.slots}; "
            "learn the routine with this clock"
        )
    if last is not None and instants(config.clock, *last.key)[1] != last.ends * SECOND:
        raise DiscreetError(
            f"{config.name}: {last.date} slot {last.slot} was decided when another clock ended it, {utc(last.ends)}; "
            "give the clock (slots, zone, cut) that it had, or begin a new stream (discreet serve --new-stream)"
        )


def _not_older(config: PersonConfig, head: Head, stamp: Stamp | None, decided: int) -> None:
    """The own store is written before and after each row: it cannot be ahead of a journal that lost nothing."""
    if stamp is None or (stamp.stream, stamp.position) <= (head.stream, decided):
        return
    if stamp.stream == head.stream and stamp.position == decided + 1 and stamp.bits is not None:
        return
    raise OlderJournalError(
        f"{config.name}: the own store has decided slots that the journal does not have: the journal was restored "
        f"from an older copy, and what was published since must not be decided again. {REMEDY}"
    )


def unmarked(journal: Journal) -> None:
    """Refuse a backup: slots that were told after it was made would be decided again."""
    mark = journal.mark()
    if mark is not None:
        raise OlderJournalError(
            f"the journal is {mark}: it lacks what was published after that, which must not be decided again. {REMEDY}"
        )


def unknown_to_own_store(config: PersonConfig, own: OwnStore) -> None:
    """Refuse to start again, as if nothing had been told, where the journal is gone."""
    if own.stamped(config.name) is not None:
        raise OlderJournalError(
            f"{config.name}: the own store has decided slots of which the journal has none: it was lost. {REMEDY}"
        )


def _resumed(
    mechanism: AnyMechanism, since: list[JournalRow], checkpoint: Checkpoint | None, private: int | None
) -> Session:
    """The session after these rows; what it cannot go on with is said with the remedy."""
    try:
        return _following(mechanism, since, checkpoint, private)
    except DiscreetError as error:
        raise DiscreetError(
            f"{error}. Give the habits, the policy and the mechanism that the stream is of, or begin a new stream, "
            "which breaks the promise in public (discreet serve --new-stream)"
        ) from None


def _following(
    mechanism: AnyMechanism, since: list[JournalRow], checkpoint: Checkpoint | None, private: int | None
) -> Session:
    """By the likelihoods that the rows had: another build goes on from them too."""
    if not since and (checkpoint is None or checkpoint.slot == _first(mechanism)):
        if checkpoint is not None:
            checkpoint.state_of(mechanism)  # refuses what is of another model or policy
        return Session(mechanism)
    outputs, columns = [row.output for row in since], [row.likelihood() for row in since]
    if checkpoint is not None and checkpoint.slot == _first(mechanism):
        checkpoint.state_of(mechanism)
        checkpoint = None
    return Session.resume(mechanism, outputs, private, checkpoint=checkpoint, columns=columns)


def _first(mechanism: AnyMechanism) -> int:
    model: Any = mechanism.model
    return int(model.first)


def _mechanism(config: PersonConfig, start: dt.date, first: int, shared: SharedMechanisms | None) -> AnyMechanism:
    shared = SharedMechanisms() if shared is None else shared
    try:
        if config.history:
            return checked_mechanism(config, mechanism_of(config.spec, config.history, start, first, shared))
        return checked_mechanism(config, shared.of(config.make, config.routine, start, first))
    except OneDayError as error:
        raise of_one_day(config, error) from None


def utc(seconds: float) -> str:
    """An instant for the owner to read."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="seconds")
