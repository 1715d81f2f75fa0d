"""Whether the journal is as it was written: its end and a sample at the start, the rest in the background, and nightly.

`discreet journal verify` asks the same while nothing runs. What is found is for the owner: the gateway goes on, because
what was told is told, and whether to restore a backup or to begin a new stream is not for a program to choose.
"""

from __future__ import annotations

import hmac
import random
from collections.abc import Iterator, Sequence

from discreet.gateway.health import Health
from discreet.gateway.store.journal.base import Journal, JournalError, JournalRow

TAIL = 200
"""Rows at the end that are checked at the start: they are what the gateway goes on from."""

SAMPLES = 20
"""Days that are looked at besides."""

CHAIN, CHECK = "chain", "journal check"
"""What health calls a chain that does not hold, and a check that could not be made: of a database that is away, say."""


def check_some(journal: Journal, key: bytes, health: Health, rng: random.Random | None = None) -> None:
    """The end of everybody's chain, and some days of it. It takes milliseconds, however long the journal is."""
    chance = rng or random.SystemRandom()
    for person in _people(journal, health):
        try:
            _say(health, person, _some(journal, person, key, chance))
        except JournalError as error:
            _not_checked(health, error)


def check_all(journal: Journal, key: bytes, health: Health) -> Iterator[None]:
    """Every row of everybody, a page a step: a slot that ends waits for one at most.

    What cannot be read ends the check, and says nothing of the chain; the next check that reads everything withdraws
    the notice.
    """
    try:
        for person in journal.people():
            before: JournalRow | None = None
            found: str | None = None
            while found is None and (rows := journal.page(person, after=None if before is None else before.key)):
                found = _broken([*([] if before is None else [before]), *rows], key, whole=before is None)
                before = rows[-1]
                yield
            _say(health, person, found)
    except JournalError as error:
        _not_checked(health, error)
    else:
        health.mended(CHECK)


def _some(journal: Journal, person: str, key: bytes, chance: random.Random) -> str | None:
    tail = journal.latest(person, TAIL + 1)
    found = _broken(tail, key, whole=len(tail) <= TAIL)
    heads = journal.heads(person)
    if found is not None or not tail or not heads:
        return found
    days = max(0, (tail[0].date - heads[0].start).days)
    for back in sorted(chance.randrange(days) for _ in range(SAMPLES)) if days else ():
        date = heads[0].start.fromordinal(heads[0].start.toordinal() + back)
        if (found := _broken(journal.page(person, after=(date, -1), limit=100), key, whole=False)) is not None:
            return found
    return None


def _broken(rows: Sequence[JournalRow], key: bytes, *, whole: bool) -> str | None:
    """The first row whose link does not fit the one before; the first of all has none before it where it is `whole`."""
    before = b"" if whole or not rows else rows[0].chain
    for row in rows if whole else rows[1:]:
        if not hmac.compare_digest(row.linked(key, before).chain, row.chain):
            return f"the journal is not as it was written, at {row.date} slot {row.slot}"
        before = row.chain
    return None


def _people(journal: Journal, health: Health) -> list[str]:
    try:
        return journal.people()
    except JournalError as error:
        _not_checked(health, error)
        return []


def _not_checked(health: Health, error: JournalError) -> None:
    health.broken(
        CHECK, "the journal could not be checked; it is tried again", f"the journal could not be checked: {error}"
    )


def _say(health: Health, person: str, found: str | None) -> None:
    if found is not None:
        health.broken(
            CHAIN,
            "the journal is not as it was written; run discreet journal verify",
            f"{person}: {found}. Run discreet journal verify; restore a backup and complete it, or begin a new stream "
            "(docs/gateway-data.md)",
        )
