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
from discreet.errors import DiscreetError, OneDayError

if TYPE_CHECKING:
    from discreet.clock import Clock
    from discreet.live import Stream
    from discreet.live.slots import Schedule
    from discreet.live.standing import Heard, Label, StandingRule
    from discreet.models.routine.parts import AnyModel, Make
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
    if now is not None and habits.clock is None:
        raise DiscreetError("--now needs the model's clock, and it carries none; learn it with discreet learn")
    if now is not None and date is not None:
        raise DiscreetError("--now starts at the present slot, --date at a day's first; leave one of them out")
    try:
        stream = _begun(habits, make, carry, date, now, state)
    except OneDayError:
        raise _not_endless(now) from None
    if not stream.endless and (now is not None or state is not None):
        raise _not_endless(now)
    return stream


def _not_endless(now: Now | None) -> DiscreetError:
    option = "--now" if now is not None else "--state"
    return DiscreetError(
        f"{option} is for streams without end, and here each day starts anew; give a routine (discreet learn without "
        "--day-by-day) and adaptive or dphmm"
    )


def _begun(habits: AnyModel, make: Make, carry: int, date: str | None, now: Now | None, state: Path | None) -> Stream:
    from discreet.live import Stream

    if state is None or not state.exists():
        start, first = _first_slot(date, habits.clock, now)
        return Stream(habits, make, start=start, first=first, carry=carry)
    if date is not None:
        raise DiscreetError(f"{state}: says where the stream continues; leave --date out, or name another file")
    stream = _resumed(habits, make, carry, state)
    note(f"going on at {stream.date}, slot {stream.slot}, from {state}")
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


def _first_slot(date: str | None, clock: Clock | None, now: Now | None) -> tuple[dt.date, int]:
    """Where a new stream begins: in the present slot by the clock, else with the first slot of a date."""
    from discreet.live.slots import slot_at

    if date is None and clock is not None:
        present, slot = slot_at(clock, _instant(now or utc_now))
        return present, 0 if now is None else slot
    if date is None:
        return utc_now().date(), 0
    try:
        return dt.date.fromisoformat(date), 0
    except ValueError:
        raise DiscreetError(f"--date is {date!r}; write it as YYYY-MM-DD") from None


def _instant(now: Now) -> int:
    return round(now().timestamp() * 1_000_000)


def keep(stream: Stream, state: Path | None, heard: Heard | None = None) -> None:
    """Write where the stream is, whole or not at all, for the person's eyes only: it holds the last readings."""
    if state is None:
        return
    from discreet.files import written_whole

    with written_whole(state) as file:
        os.chmod(file.fileno(), 0o600)
        file.write(stream.state(heard).encode())


# --- slots by lines, and slots by the clock


def by_lines(stream: Stream, state: Path | None = None) -> Iterator[Release]:
    """One line in, one slot out. Where the stream is is kept first: what was drawn is never drawn again."""
    if sys.stdin.isatty():
        note("one context a line and slot, an empty line where there is no reading; Ctrl-D ends")
    for line in iter(sys.stdin.readline, ""):
        released = stream.release(line.strip() or None)
        keep(stream, state)
        yield released


class Lines:
    """Lines as they come, each with its time, read beside the program's own work."""

    poll = 5.0
    """Seconds until the clock is looked at again: a computer that slept has waited less than it seems."""

    def __init__(self, file: TextIO, now: Now = utc_now) -> None:
        self._waiting: queue.SimpleQueue[Label | None] = queue.SimpleQueue()
        self._ended = False
        threading.Thread(target=self._read, args=(file, now), daemon=True).start()

    def _read(self, file: TextIO, now: Now) -> None:
        from discreet.live.standing import Label

        for line in iter(file.readline, ""):
            if line.strip():
                self._waiting.put(Label(_instant(now), line.strip()))
        self._waiting.put(None)

    def until(self, due: int, now: Now) -> tuple[list[Label], bool]:
        """The lines that come until an instant; False if there will be no more after these."""
        heard: list[Label] = []
        while not (self._ended and not heard):
            left = max(0, due - _instant(now)) / 1_000_000
            try:
                line = self._waiting.get(timeout=min(left, self.poll)) if left else self._waiting.get_nowait()
            except queue.Empty:
                if not left:
                    break
                continue
            if line is None:
                self._ended = True
            else:
                heard.append(line)
        return heard, not self._ended


def by_the_clock(
    stream: Stream,
    rule: StandingRule,
    lines: Lines,
    now: Now,
    *,
    state: Path | None = None,
    schedule: Schedule | None = None,
) -> Iterator[Release]:
    """An output when its slot ends, whether or not a line came: when outputs come says nothing of the readings.

    A line is a reading of when it came, and `live` says which reading stands; an empty one says nothing. After the last
    line the slot that it is in is finished. Where the stream is is kept first, as for lines.
    """
    from discreet.live.slots import Schedule, instants
    from discreet.live.standing import Heard
    from discreet.live.stream import heard_in

    assert stream.clock is not None  # `opened` has seen to it
    heard = Heard() if state is None or not state.exists() else heard_in(state.read_text("utf-8"), stream.clock)
    plan, more = schedule or Schedule(), True
    while True:
        for ends, skips in stream.due(plan, _instant(now)):
            begins, _ = instants(stream.clock, stream.date, stream.slot)
            released = stream.skip() if skips else stream.release(rule.context(heard, begins, ends))
            heard = heard.since(ends, rule.hold)
            keep(stream, state, heard)
            yield released
        if not more:
            return
        came, more = lines.until(plan.due(instants(stream.clock, stream.date, stream.slot)[1]), now)
        if not came and not more:
            return
        heard = heard.hear(came)
