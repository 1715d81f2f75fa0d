"""A journal that is older than what was told: completed from who heard it, or broken off in public. Never in silence.

The belief is a function of all outputs that were told, so a journal that lacks some of them promises nothing (theory,
section 10, Recovery). A backup carries a mark, and an own store that is ahead says the same of an unmarked copy; a
keeper refuses both. `mended` is what the owner then chooses.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.gateway.slots.changes import known
from discreet.gateway.slots.person import PersonConfig, PersonStream
from discreet.gateway.slots.recovery import begun, gone_on, utc, without_private_state
from discreet.gateway.slots.wall_clock import BACK
from discreet.gateway.store.journal.base import Head, Journal, JournalRow, Key
from discreet.gateway.store.journal.queries import PAGE
from discreet.gateway.store.own_store import OwnStore
from discreet.live.mechanism_cache import SharedMechanisms
from discreet.live.slots import micros, slot_at
from discreet.outputs import Output, from_wire, to_wire

TOKENS = "tokens that were revoked since the backup are valid again: look at discreet token list"


def mended(
    people: Sequence[PersonConfig],
    journal: Journal,
    own: OwnStore,
    key: bytes,
    now: float,
    *,
    complete: Path | None = None,
    new_stream: bool = False,
    aside: Path | None = None,
) -> list[str]:
    """Make a journal fit to go on with, before a keeper opens it; what the owner has to know, in words.

    `complete` is a file of events, a JSON object a line, as an application heard them in the whole view. `new_stream`
    begins anew where going on is refused: the promise is then of each stream by itself, and `Head.why` says so. Slots
    that lie in the future, because the clock was ahead, are then written to the file `aside` and taken out.
    """
    if complete is not None and new_stream:
        raise DiscreetError("give --complete or --new-stream, not both: the one keeps the promise, the other breaks it")
    notes: list[str] = []
    if complete is not None:
        notes = _completed(people, journal, own, key, _events(complete), complete)
    elif new_stream:
        notes = _begun_anew(people, journal, own, now, aside)
    if notes and journal.mark() is not None:
        journal.set_mark(None)
        notes.append(TOKENS)
    return notes


# --- completed


def _completed(
    people: Sequence[PersonConfig],
    journal: Journal,
    own: OwnStore,
    key: bytes,
    told: Mapping[str, Mapping[Key, Output]],
    file: Path,
) -> list[str]:
    """The slots that are missing, as they were told, with the likelihoods that this build's kernels give them."""
    shared, notes = SharedMechanisms(), []
    for config in people:
        last, heard = journal.last(config.name), told.get(config.name, {})
        if last is not None and not any(slot >= last.key for slot in heard):
            raise DiscreetError(
                f"{file}: has nothing of {config.name} from {last.date} slot {last.slot} on, where the journal ends; "
                "give the file of an application that received the last output"
            )
        config = _with_history(config, journal, own, shared)
        rows = _told_rows(config, journal, key, heard, shared, file) if last is not None else []
        if rows:
            notes.append(f"{config.name}: {len(rows)} slots are completed, up to {rows[-1].date} slot {rows[-1].slot}")
            gone_on(config, journal, own, _head(journal, config), shared)  # refuses where the own store knows of more
    return [*notes, f"the journal is completed from {file.name}; where memory was lost, the next slot is skipped"]


def _told_rows(
    config: PersonConfig,
    journal: Journal,
    key: bytes,
    heard: Mapping[Key, Output],
    shared: SharedMechanisms,
    file: Path,
) -> list[JournalRow]:
    for row in journal.latest(config.name, len(heard)):
        if row.key in heard and heard[row.key] != row.output:
            raise DiscreetError(
                f"{file}: {config.name}, {row.date} slot {row.slot} is another output than the journal's; give what "
                "was heard in the whole view, of this gateway"
            )
    person: PersonStream = without_private_state(config, journal, _head(journal, config), shared)
    missing = sorted(slot for slot in heard if slot >= person.next)
    rows: list[JournalRow] = []
    points: list[tuple[int, int, str]] = []
    for slot in missing:
        if slot != person.next:
            date, number = person.next
            raise DiscreetError(
                f"{file}: {config.name}, {date} slot {number} is missing between those that were told; add it from "
                "another application or the broker"
            )
        drawn = person.decided(person.stream.heard(heard[slot]), key)
        rows.append(drawn.row)
        points += drawn.checkpoint
        person.take(drawn)
    if rows:
        journal.append(rows, points)
    return rows


def _with_history(config: PersonConfig, journal: Journal, own: OwnStore, shared: SharedMechanisms) -> PersonConfig:
    """With all habits and policies that the stream was of: it is not of those alone that the settings name now."""
    head = journal.head(config.name)
    return config if head is None else replace(config, history=known(own, journal, head, config.spec, shared))


def _head(journal: Journal, config: PersonConfig) -> Head:
    head = journal.head(config.name)
    assert head is not None  # it has rows
    return head


def _events(file: Path) -> dict[str, dict[Key, Output]]:
    """What was heard: {person: {(date, slot): output}}. The same slot twice must say the same."""
    found: dict[str, dict[Key, Output]] = {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DiscreetError(f"{file}: cannot be read: {error}; give a file of JSON lines") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
            key = (dt.date.fromisoformat(event["date"]), int(event["slot"]))
            person, output = str(event["person"]), from_wire(event)
        except (ValueError, KeyError, TypeError) as error:
            raise DiscreetError(
                f"{file}, line {number}: is no event: {error}; write one JSON object a line, as the gateway's stream "
                "or its releases gave them"
            ) from None
        if found.setdefault(person, {}).setdefault(key, output) != output:
            raise DiscreetError(f"{file}, line {number}: {person}, {key[0]} slot {key[1]} was another output above")
    return found


# --- broken off


def _begun_anew(
    people: Iterable[PersonConfig], journal: Journal, own: OwnStore, now: float, aside: Path | None
) -> list[str]:
    """A new stream for each person whose old one cannot go on; of a backup, everybody's."""
    shared, notes, mark = SharedMechanisms(), [], journal.mark()
    for config in people:
        why = (
            f"the journal is {mark}, and what was told since is not known"
            if mark
            else _ahead(config, journal, now) or _refused(_with_history(config, journal, own, shared), journal, own)
        )
        if why is None:
            continue
        _set_aside(config, journal, now, aside)
        begun(config, journal, now, f"a break: {why}", shared)
        own.forget_stamp(config.name)  # after the new stream: without a stamp the old one would go on
        notes.append(
            f"{config.name}: THE PROMISE IS BROKEN OFF: a new stream begins, because {why}. What was told before and "
            "what is told from now on are each within delta, together they may tell more"
        )
    return notes


def _ahead(config: PersonConfig, journal: Journal, now: float) -> str | None:
    """Why slots of the future cannot be gone on from; None where there are none."""
    last = journal.last(config.name)
    if last is None or last.ends <= now + BACK:
        return None
    return f"slots up to {utc(last.ends)} were written, and the clock says {utc(now)}: it was ahead then"


def _set_aside(config: PersonConfig, journal: Journal, now: float, aside: Path | None) -> None:
    """Take out the slots that end in the future: their keys would forbid those that come. The file has them first."""
    if _ahead(config, journal, now) is None:
        return
    date, slot = slot_at(config.clock, micros(now))
    rows = journal.page(config.name, after=(date, slot - 1), limit=PAGE)
    while rows:
        if aside is not None:
            _append(aside, [row for row in rows if row.ends > now])
        rows = journal.page(config.name, after=rows[-1].key, limit=PAGE)
    journal.set_aside(config.name, int(now))


def _append(file: Path, rows: Sequence[JournalRow]) -> None:
    with open(os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "ab") as kept:
        for row in rows:
            said = {"person": row.person, "date": row.date.isoformat(), "slot": row.slot, **to_wire(row.output)}
            kept.write(json.dumps(said, ensure_ascii=False).encode() + b"\n")
        kept.flush()
        os.fsync(kept.fileno())


def _refused(config: PersonConfig, journal: Journal, own: OwnStore) -> str | None:
    """Why a person's stream cannot go on; None where it can."""
    head = journal.head(config.name)
    if head is None:
        return None if own.stamped(config.name) is None else "the journal was lost"
    try:
        gone_on(config, journal, own, head)
    except DiscreetError as error:
        return str(error).split(". ")[0].removeprefix(f"{config.name}: ")
    return None
