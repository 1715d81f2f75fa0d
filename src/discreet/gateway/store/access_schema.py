"""The tables of `access.db`: tokens, the owner's password, sessions, accounts."""

SCHEMA = (
    """
    CREATE TABLE token (
        token TEXT PRIMARY KEY, digest BLOB NOT NULL UNIQUE, purpose TEXT NOT NULL, person TEXT, view TEXT NOT NULL,
        now_only INTEGER NOT NULL, name TEXT NOT NULL, made INTEGER NOT NULL, expires INTEGER, used INTEGER,
        revoked INTEGER
    ) WITHOUT ROWID;
    CREATE TABLE owner (one INTEGER PRIMARY KEY CHECK (one = 1), password TEXT NOT NULL);
    """,
    """
    CREATE TABLE session (digest BLOB PRIMARY KEY, name TEXT NOT NULL, ends INTEGER NOT NULL) WITHOUT ROWID;
    """,
    """
    CREATE TABLE account (
        person TEXT PRIMARY KEY, password TEXT, invitation BLOB, until INTEGER, owed INTEGER NOT NULL,
        gone INTEGER NOT NULL
    ) WITHOUT ROWID;
    ALTER TABLE session ADD COLUMN person TEXT;
    """,
)
"""One script a version."""
