"""The journal: what was decided, slot by slot, before anybody is told. Public outputs only."""

from discreet.gateway.journal.base import Head, Journal, JournalError, Row
from discreet.gateway.journal.sqlite import SqliteJournal

__all__ = ["Head", "Journal", "JournalError", "Row", "SqliteJournal"]
