"""One session: a mechanism, the belief that it leaves an observer with, and chance, slot by slot."""

from discreet.session.session import Session, checked_label

__all__ = ["Session", "checked_label"]
