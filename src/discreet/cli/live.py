"""Standard input, live: contexts come line by line, and what may be seen of them leaves slot by slot."""

from __future__ import annotations

import datetime as dt
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from discreet.cli.terminal import note
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.clock import Clock
    from discreet.live import Stream
    from discreet.models.parts import AnyModel, Make
    from discreet.outputs import Release

Now = Callable[[], dt.datetime]
"""What time it is, with its zone."""


def utc_now() -> dt.datetime:
    """The time by the computer's clock."""
    return dt.datetime.now(dt.UTC)


# --- where a stream starts


def opened(
    habits: AnyModel, make: Make, *, carry: int, date: str | None, now: Now | None, state: Path | None
) -> Stream:
    """The stream that standard input is released by: a new one, or the one of the state where there is its file."""
    from discreet.live import Stream

    if now is not None and habits.clock is None:
        raise DiscreetError("--now needs the model's clock, and it carries none; learn it with discreet learn")
    if now is not None and date is not None:
        raise DiscreetError("--now starts at the present slot, --date at a day's first; leave one of them out")
    resumed = state is not None and state.exists()
    if state is not None and resumed:
        if date is not None:
            raise DiscreetError(f"{state}: says where the stream goes on; leave --date out, or name another file")
        stream = _resumed(habits, make, carry, state)
        note(f"going on at {stream.date}, slot {stream.slot}, from {state}")
    else:
        stream = Stream(habits, make, start=_first_date(date, habits.clock, now or utc_now), carry=carry)
    if not stream.endless and (now is not None or state is not None):
        option = "--now" if now is not None else "--state"
        raise DiscreetError(
            f"{option} is for streams without end, and here each day starts anew; give a routine (discreet learn "
            "without --day-by-day) and adaptive or dphmm"
        )
    if now is not None and habits.clock is not None:
        present = habits.clock.locate(now())
        while not resumed and (stream.date, stream.slot) < present:
            stream.skip()  # there was no stream before its first slot, and nothing is shown of it
    return stream


def _resumed(habits: AnyModel, make: Make, carry: int, state: Path) -> Stream:
    from discreet.live import Stream

    try:
        return Stream.resume(habits, make, state.read_text(encoding="utf-8"), carry=carry)
    except OSError as error:
        raise DiscreetError(f"{state}: cannot be read: {error.strerror}; check the path") from None
    except UnicodeDecodeError:
        raise DiscreetError(f"{state}: is no state of a stream; name another file, or remove this one") from None
    except DiscreetError as error:
        raise DiscreetError(f"{state}: {error}") from None


def _first_date(date: str | None, clock: Clock | None, now: Now) -> dt.date:
    if date is None:
        return now().date() if clock is None else clock.locate(now())[0]
    try:
        return dt.date.fromisoformat(date)
    except ValueError:
        raise DiscreetError(f"--date is {date!r}; write it as YYYY-MM-DD") from None


def keep(stream: Stream, state: Path | None) -> None:
    """Write where the stream is, whole or not at all, for the person's eyes only: it holds the last readings."""
    if state is None:
        return
    from discreet.files import written_whole

    with written_whole(state) as file:
        os.chmod(file.fileno(), 0o600)
        file.write(stream.state().encode())


# --- slots by lines, and slots by the clock


def by_lines(stream: Stream) -> Iterator[Release]:
    """One line in, one slot out."""
    if sys.stdin.isatty():
        note("one context a line and slot, an empty line where there is no reading; Ctrl-D ends")
    for line in iter(sys.stdin.readline, ""):
        yield stream.release(line.strip() or None)


class Lines:
    """Lines as they come, read beside the program's own work."""

    poll = 5.0
    """Seconds until the clock is looked at again: a computer that slept has waited less than it seems."""

    def __init__(self, file: TextIO) -> None:
        self._waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ended = False
        threading.Thread(target=self._read, args=(file,), daemon=True).start()

    def _read(self, file: TextIO) -> None:
        for line in iter(file.readline, ""):
            self._waiting.put(line)
        self._waiting.put("")

    def until(self, end: float, now: Now) -> tuple[str | None, bool]:
        """The last line before an instant, None where it is empty or none came; False if there will be no more."""
        reading = None
        while (left := end - now().timestamp()) > 0:
            if self._ended and reading is None:
                return None, False
            try:
                line = self._waiting.get(timeout=min(left, self.poll))
            except queue.Empty:
                continue
            if line:
                reading = line.strip() or None
            else:
                self._ended = True
        return reading, True


def by_the_clock(stream: Stream, clock: Clock, lines: Lines, now: Now) -> Iterator[Release]:
    """An output when its slot ends, whether or not a line came: when outputs come says nothing of the readings.

    The last line within a slot is its reading. Slots that passed before the program looked at them were not decided:
    they are skipped. Slots of an hour that clocks leave out have no time, and no reading. After the last line the
    present slot is finished.
    """
    while True:
        date, slot = stream.date, stream.slot
        start, end = clock.start_of(date, slot).timestamp(), clock.end_of(date, slot).timestamp()
        if end <= now().timestamp():
            yield stream.skip() if start < end else stream.release(None)
            continue
        reading, more = lines.until(end, now)
        if not more:
            return
        yield stream.release(reading)
