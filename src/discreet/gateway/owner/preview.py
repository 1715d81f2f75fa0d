"""What a draft of secrets would cost, computed in a process of its own: `python -m discreet.gateway.owner.preview`.

Weeks drawn from the habits are released under the policy as it is and under the draft, with the same draws, and both
are audited; then the last real days are released under the draft. Draws have a seed that is taken for one preview and
kept nowhere: nothing of the gateway's own chance is used or learned. The truth comes in by a pipe, and what is written
out are lines of JSON for the owner.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np

from discreet.contexts import Day
from discreet.errors import DiscreetError
from discreet.gateway.owner.trial import Trial
from discreet.mechanisms.named import Spec
from discreet.models.routine.parts import Make, made_once
from discreet.models.routine.routine import Routine
from discreet.policy import Policy

resource: Any = import_module("resource") if os.name == "posix" else None

WEEKS = 8
"""Weeks that are drawn."""

SECONDS = 180
"""Seconds of the processor that a preview may take."""

BYTES = 3 << 30
"""Memory that it may take."""

LENGTH = struct.Struct("!Q")
"""How many bytes of work follow."""

EntryContent = Callable[[int, int], object]


@dataclass(frozen=True)
class PreviewWork:
    """What a preview is made from."""

    routine: Routine
    spec: Spec
    before: Policy
    after: Policy
    days: tuple[Day, ...]
    """The last real days, with labels as they were read."""
    seed: int
    weeks: int = WEEKS
    trial: Trial | None = None
    """The change that it would be, which is tried first."""


def packed(work: PreviewWork | Trial) -> bytes:
    """The work as the process reads it."""
    body = pickle.dumps(work)
    return LENGTH.pack(len(body)) + body


def preview(work: PreviewWork, told: EntryContent) -> dict[str, Any]:
    """All of it; `told` hears how many days are done, and of how many."""
    from discreet.choosing.choices import Choice, choice_of, drawn_weeks, mean_of_weeks
    from discreet.models.kinds import MONDAY

    drawn = drawn_weeks(work.routine, work.weeks, work.seed)
    total, done = 2 * len(drawn) + len(work.days), 0

    def one_more() -> None:
        nonlocal done
        done += 1
        told(done, total)

    told(0, total)

    def choice(policy: Policy, make: Make) -> Choice:
        return choice_of(make(work.routine.since(MONDAY)), policy.delta, work.spec.name, drawn, work.seed, one_more)

    make = made_once(partial(work.spec.make, policy=work.after))  # for the real days too
    before = choice(work.before, partial(work.spec.make, policy=work.before))
    after = choice(work.after, make)
    difference = mean_of_weeks(np.array(after.by_week) - np.array(before.by_week))
    return {
        "weeks": work.weeks,
        "before": _described(before, work.before),
        "after": _described(after, work.after),
        "difference": {"mean": difference.mean, "half_width": difference.half_width},
        "would": _would(work, make, one_more),
    }


def _described(one: Any, policy: Policy) -> dict[str, Any]:
    """A choice without its delta, which each secret may have its own of; of a window of any day its secret is named."""
    worst = None if one.worst is None else {key: getattr(one.worst, key) for key in ("secret", "prior", "belief")}
    if worst is not None:
        gains = {str(worst["secret"]): 0.0}
        worst["secret"] = next(secret.name for secret in policy.secrets if policy.worst(secret, gains) is not None)
    shares = {key: getattr(one, key) for key in ("true", "coarse", "false", "silent", "holds", "rests_on")}
    return {"utility": dataclasses.asdict(one.utility), **shares, "worst": worst}


def _would(work: PreviewWork, make: Make, day_done: Callable[[], object]) -> dict[str, list[dict[str, Any]]]:
    """{date: what would have been told in each slot}, in a stream that begins on the first of the days."""
    from discreet.evaluation.joined import streams, without_end
    from discreet.given import as_date
    from discreet.outputs import to_wire
    from discreet.randomness import SeededEntropy

    found: dict[str, list[dict[str, Any]]] = {}
    for days in streams(work.days, work.routine.slots, work.routine.contexts).values():
        mechanism: Any = make(work.routine.since(as_date(days[0].date)))
        for moment in without_end(mechanism, days, rng=SeededEntropy(work.seed + 1)):
            found.setdefault(str(moment.day.date), []).append(to_wire(moment.output))
            if moment.ends_day:
                day_done()
    return found


# --- the process


def main(given: BinaryIO, out: BinaryIO) -> None:
    """Read the work, say how far it is, then what was found or why not."""
    (length,) = LENGTH.unpack(given.read(LENGTH.size))
    work: PreviewWork | Trial = pickle.loads(given.read(length))  # from the gateway that started this, and nobody else
    threading.Thread(target=_end_with, args=(given,), daemon=True).start()
    say = _Said(out)

    def told(done: int, total: int) -> None:
        within_bounds()
        say(done=done, total=total)

    try:
        if isinstance(work, Trial):
            say(result={"from": work.date().isoformat()})
            return
        if work.trial is not None:
            work.trial.date()
        say(result=preview(work, told))
    except DiscreetError as error:
        say(problem=str(error))
    except MemoryError:
        say(problem="this needs more memory than a preview may use; try fewer secrets")


class _Said:
    """A line of JSON a message."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def __call__(self, **message: object) -> None:
        self._out.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
        self._out.flush()


def _end_with(given: BinaryIO) -> None:
    """End when the gateway does: its end of the pipe is closed then, however it ended."""
    given.read()
    os._exit(1)


def bounded() -> None:
    """Take no more than is allowed, and let slots that are due go first."""
    with suppress(OSError, AttributeError):
        os.nice(10)
    if resource is None:
        return
    for what, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_DATA, BYTES)):
        with suppress(ValueError, OSError):  # a service may not be allowed to; `within_bounds` looks all the same
            resource.setrlimit(what, (most, most))


def within_bounds() -> None:
    """Stop where limits that the system could not set are passed; looked at after each day."""
    if resource is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        if used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) > BYTES:
            raise MemoryError
        if used.ru_utime > SECONDS:
            raise DiscreetError(f"this takes more than {SECONDS} seconds; try fewer secrets")


def command() -> Sequence[str]:
    """What starts the process."""
    return (sys.executable, "-m", "discreet.gateway.owner.preview")


if __name__ == "__main__":
    bounded()
    main(sys.stdin.buffer, sys.stdout.buffer)
