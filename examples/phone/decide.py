"""Decide on a phone what applications see, by a table from `discreet export`. Needs Python alone, and no discreet.

    python decide.py decisions.json < contexts.txt

reads the day's true contexts, one a slot, an empty line where there is no reading, and writes what to show: the
context, or an empty line for silence. docs/phone.md describes the file.
"""

import hashlib
import json
import secrets
import sys

UNKNOWN = "unknown"  # the context of a slot without a reading


class TableError(Exception):
    """The file cannot be used; the message says why."""


class Decisions:
    """A table, read and checked whole before anything is decided by it."""

    def __init__(self, text):
        try:
            table = json.loads(text)
            told = table.pop("digest")
            ours, version = table["format"] == "discreet decisions", table["version"]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise TableError("this is no table of decisions, or a part of one; export it again") from None
        if not ours:
            raise TableError("this is another kind of file; give one that discreet export wrote")
        if version != 1:
            raise TableError(f"the table has format version {version}, and this reader knows 1; use a newer reader")
        content = json.dumps(table, ensure_ascii=False, separators=(",", ":"))
        if hashlib.sha256(content.encode()).hexdigest() != told:
            raise TableError("the table is damaged: its digest is another; copy it or export it again")
        self.slots, self.contexts, self.memory = table["slots"], table["contexts"], table["memory"]
        self.index = {context: number for number, context in enumerate(self.contexts)}
        self.runs = {(slot, context): numbers for slot, context, numbers in table["runs"]}
        self.decisions = [(bits, dict(zip(states, weights))) for bits, states, weights in table["decisions"]]  # noqa: B905  for old phones


class Day:
    """One day: `decide` once a slot. `saved` is what to keep, on the phone alone, where the program may be stopped."""

    def __init__(self, table, bits=secrets.randbits, saved=None):
        self.table, self.bits = table, bits
        # the next slot; the last release, when and what; the true context before; readings until memory is sure again
        start = {"slot": 0, "last": [-1, -1], "before": None, "unsure": 0, "skipped": False}
        self.saved = dict(saved or start)

    def decide(self, context=None):
        """What to show in this slot of the true context: the context, or None for silence."""
        now, table = dict(self.saved), self.table
        if now["slot"] >= table.slots:
            raise ValueError(f"the day has {table.slots} slots and all are decided; begin a new day")
        here = table.index.get(UNKNOWN if context is None else context)
        private = self._private(now, here)
        released = not now["skipped"] and private is not None and self._drawn(now, private)
        if released:
            now["last"] = [now["slot"], here]
        now["slot"] += 1
        self.saved = now
        return table.contexts[here] if released else None

    def skip(self):
        """Pass a slot in which the phone was off; it is silent then until the day ends."""
        self.saved = {**self.saved, "slot": self.saved["slot"] + 1, "skipped": True}

    def _private(self, now, here):
        """The private state with this reading; None where the table knows no such context, or memory is not sure."""
        memory, before = self.table.memory, now["before"]
        if here is None:
            now["before"], now["unsure"] = 0, 1 if memory is None else 2
            return None
        now["before"], now["unsure"] = here, max(0, now["unsure"] - 1)
        if now["unsure"]:
            return None
        if memory is None:
            return here
        return memory["first"][here] if before is None else memory["after"][before][here]

    def _drawn(self, now, private):
        """Whether the truth is told: one comparison of integers. What the table holds impossible is not drawn for."""
        slot, context = now["last"]
        bits, weights = self.table.decisions[self.table.runs[slot, context][now["slot"] - slot - 1]]
        return private in weights and self.bits(bits) < weights[private]


def main():
    """Decide a day that stands on standard input."""
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            today = Day(Decisions(file.read()))
    except (TableError, OSError, IndexError, UnicodeDecodeError) as error:
        sys.exit(f"decide: {error if sys.argv[1:] else 'give the table: decide.py decisions.json'}")
    for line in sys.stdin:
        print(today.decide(line.strip() or None) or "", flush=True)


if __name__ == "__main__":
    main()
