"""The journal: what was decided, slot by slot, before anybody is told. Public outputs only."""

from discreet.gateway.store.journal.base import Head, Journal, JournalError, JournalRow
from discreet.gateway.store.journal.sqlite import SqliteJournal

__all__ = ["Head", "Journal", "JournalError", "JournalRow", "SqliteJournal"]
