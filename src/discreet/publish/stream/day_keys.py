"""Where a stream's draws come from: a key for each day, on the trusted side, erased when the day cannot come again.

A stream has no end at which its key could go, so it has one key a day, by UTC. The bits of the draw at one slot are

    slot key = HMAC-SHA256(day's key, digest_of("discreet stream", person, date, slot, decision, build))
    bits     = SHAKE-256 of the slot key and a counter, block after block (`KeyedEntropy`)

with the key of the day on which the slot ends, and `decision` and `build` as in `draws`: a slot that is decided again,
by a repeated task or a resumed query, from the same readings, comes out the same.

The keys are files in one folder that every worker sees; whoever needs a day's key first makes it, and a key is on the
disk before it is drawn from. A day that is erased stays so: to draw for it once more would be another draw beside what
was told, and is an error instead.
"""

from __future__ import annotations

import datetime as dt
import hmac
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.files import private_folder, written_whole
from discreet.numerics import digest_of
from discreet.publish.draws import RunKey
from discreet.publish.key_file import erase_key, read_key, write_key
from discreet.randomness import Entropy, KeyedEntropy

ERASED = "erased"
"""The file that says before which day keys are gone."""

REMEMBERED = 3
"""Days whose keys a process keeps in mind."""

DAY = 86_400_000
"""Milliseconds."""

_EPOCH = dt.date(1970, 1, 1)


def day_of(end: int) -> dt.date:
    """The day of whose key a slot is drawn that ends then, in milliseconds; midnight is the end of the day before."""
    return _EPOCH + dt.timedelta(days=(end - 1) // DAY)


class DayKeys:
    """The keys of a stream, a file a day."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[dt.date, RunKey] = {}

    @classmethod
    def kept_in(cls, folder: Path) -> DayKeys:
        """The folder, made for its owner alone where there is none."""
        return cls(private_folder(folder, "choose a folder for the keys"))

    def of(self, day: dt.date) -> RunKey:
        """The key of a day, made now where there is none; one that was erased is an error."""
        known = self._known.get(day)
        if known is None:
            known = self._known[day] = self._read(day)
            for earlier in sorted(self._known)[:-REMEMBERED]:
                del self._known[earlier]
        return known

    def _read(self, day: dt.date) -> RunKey:
        path = self.folder / day.isoformat()
        self._refuse_erased(day)
        if not path.exists():
            self._make(path)
            try:
                self._refuse_erased(day)  # erased since it was looked at: the file before was gone, not yet to come
            except DiscreetError:
                path.unlink(missing_ok=True)
                raise
        return read_key(path)

    def _make(self, path: Path) -> None:
        """Whole or not at all, and once: of several workers that make it, all read the first one's."""
        beside = self.folder / f".{path.name}.{secrets.token_hex(6)}"
        write_key(beside, RunKey.new())
        try:
            os.link(beside, path)
        except FileExistsError:
            pass
        finally:
            beside.unlink()
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _refuse_erased(self, day: dt.date) -> None:
        if day < self.erased_before():
            raise DiscreetError(
                f"{self.folder}: the key of {day} is erased, because all that was drawn from it is written; it cannot "
                "be drawn again. Go on from the checkpoint as it was last, or begin a new stream"
            )

    def erased_before(self) -> dt.date:
        """The first day whose key is not erased."""
        try:
            return dt.date.fromisoformat((self.folder / ERASED).read_text(encoding="ascii"))
        except FileNotFoundError:
            return dt.date.min
        except (OSError, ValueError):
            raise DiscreetError(
                f"{self.folder / ERASED}: cannot be read, so it is not known which keys are gone; begin a new stream"
            ) from None

    def erase(self, before: dt.date) -> int:
        """Erase the keys of all days before this one, and say how many. What is erased is written down first."""
        found = [day for day in self._days() if day < before]
        if found:
            with written_whole(self.folder / ERASED) as file:
                file.write(max(before, self.erased_before()).isoformat().encode())
        for day in found:
            self._known.pop(day, None)
            erase_key(self.folder / day.isoformat())
        return len(found)

    def _days(self) -> Iterator[dt.date]:
        for entry in self.folder.iterdir():
            if re.fullmatch(r"\d{4}-\d\d-\d\d", entry.name):
                yield dt.date.fromisoformat(entry.name)


class SlotDraws(Entropy):
    """The draws of one person's stream: nothing at first, and the bits of a slot from `at` on."""

    __slots__ = ("_decision", "_keys", "_person", "_slot")

    def __init__(self, keys: DayKeys, person: str, decision: str) -> None:
        super().__init__()
        self._keys, self._person, self._decision = keys, person, decision
        self._slot: KeyedEntropy | None = None

    def at(self, date: dt.date, slot: int, end: int) -> None:
        """From here on, the bits of this slot, which ends then (in milliseconds), from its first."""
        self._bits = self._count = 0  # what the slot before has left over is not drawn
        run = self._keys.of(day_of(end))
        drawn_for = ["discreet stream", self._person, date.isoformat(), slot, self._decision, run.build]
        self._slot = KeyedEntropy(hmac.digest(run.key, digest_of(drawn_for), "sha256"))

    def _block(self) -> bytes:
        if self._slot is None:
            raise DiscreetError("nothing is drawn before it is said for which slot; call `at` first")
        return self._slot._block()
