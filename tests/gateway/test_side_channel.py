"""What the operating system sees of a slot, beyond its output: nothing of the truth.

Two gateways tell the same hundreds of outputs while their people are elsewhere. Readings arrive at the same moments and
have the same length, so that all that differs is the truth.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import logging
import os
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from discreet.gateway.metrics import GatewayMetrics
from discreet.gateway.runtime import Gateway
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.store.own_store import Reading
from discreet.gateway.wires.sse import Streams
from discreet.outputs import Output, Released
from discreet.randomness import KeyedEntropy
from tests.gateway.people import CLOCK, START, WHERE, closed, habits, keeper, person_config
from tests.gateway.test_runtime import Wall, eventually
from tests.strategies import LONG

SLOTS = 1000 if LONG else 300
ROUTINE = habits()
PLACES = ("home", "work", "clinic")
RARE = 0.01
NOW = START.timestamp()


@dataclass
class Seen:
    """One slot as the operating system saw it, up to the next boundary."""

    written: tuple[int, int]
    """Calls that write, and their bytes."""
    sizes: dict[str, int]
    lines: int
    metrics: str
    waits: int
    """How often the thread gave the processor up."""
    processor: float


@dataclass
class Watched:
    """A keeper whose every slot is looked at from outside; what it draws from is chosen."""

    folder: Path
    lines: list[logging.LogRecord]
    bits: bytes = bytes(32)
    seen: list[Seen] = field(default_factory=list)
    told: list[Output] = field(default_factory=list)
    true: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir()
        who = person_config(routine=ROUTINE, outputs="deceive")
        self.keeper: Keeper = keeper(self.folder, NOW, who, bits=lambda _: self.bits)
        self.wall = Wall(NOW)
        gateway = Gateway(self.keeper, wall=self.wall)
        self.figures = GatewayMetrics(gateway, Streams.__new__(Streams))
        self.figures._streams = ()  # type: ignore[assignment]  # nobody listens

    def drawn(self, context: str, bits: bytes) -> Output:
        """What these bits would make of a context; nothing changes."""
        return self.keeper.people["jane"].stream.drawn(context, KeyedEntropy(bits)).release.output

    def likely(self, context: str, output: Output) -> bool:
        """Whether a context has this output often enough to be waited for."""
        session = self.keeper.people["jane"].session
        private = session.mechanism.remember(session.private, session.mechanism.model.contexts.index(context))
        return bool(session.kernel.likelihood(output)[private] > RARE)

    def live(self, context: str, bits: bytes) -> None:
        """A slot: its reading, the boundary, and what comes before the next one."""
        end, self.bits, before = self.keeper.next, bits, len(self.lines)
        reading = Reading("jane", "phone", int((end - CLOCK.slot_seconds / 2) * 1e6), WHERE[context], 20.0)
        self.keeper.prepare()
        calls, waits, used = _written(), _waits(), time.thread_time()
        self.keeper.read([reading], end)
        (row,) = self.keeper.turn(end)
        self.keeper.prepare()
        used, waits = time.thread_time() - used, _waits() - waits
        self.wall.now = end + 5
        written = tuple(after - one for one, after in zip(calls, _written(), strict=True))
        sizes = {name: os.path.getsize(self.folder / name) for name in sorted(os.listdir(self.folder))}
        metrics = "".join(line for line in self.figures.text(["jane"]).splitlines() if "started" not in line)
        self.seen.append(Seen(written, sizes, len(self.lines) - before, metrics, waits, used))  # type: ignore[arg-type]
        self.told.append(row.output)
        self.true.append(context)


def _written() -> tuple[int, int]:
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
    return int(fields["syscw"]), int(fields["wchar"])


def _waits() -> int:
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def _bits() -> Iterator[bytes]:
    return (hashlib.sha256(b"%d" % number).digest() for number in itertools.count())


def _chosen(one: Watched, other: Watched, rng: np.random.Generator, chance: Iterator[bytes]) -> None:
    """The same output of both; the other's truth differs wherever it can. Both remember: not all outputs are both's."""
    while True:
        context, bits = str(rng.choice(PLACES, p=[0.5, 0.3, 0.2])), next(chance)
        output = one.drawn(context, bits)
        for elsewhere in (*rng.permutation([place for place in PLACES if place != context]).tolist(), context):
            if other.likely(elsewhere, output):
                found = next(found for found in chance if other.drawn(elsewhere, found) == output)
                one.live(context, bits)
                other.live(elsewhere, found)
                return


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="/proc/self/io is Linux's")
def test_for_equal_outputs_of_different_truths_the_machine_does_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rng, chance = np.random.default_rng(3), _bits()
    with caplog.at_level(logging.DEBUG, "discreet"):
        one, other = (Watched(tmp_path / name, caplog.records) for name in ("one", "other"))
        for _ in range(SLOTS):
            _chosen(one, other, rng, chance)
    assert one.told == other.told
    differ = [k for k in range(SLOTS) if one.true[k] != other.true[k]]
    hidden = [k for k in differ if (one.told[k] == Released(one.true[k])) != (one.told[k] == Released(other.true[k]))]
    assert len(hidden) > SLOTS / 10, "in many slots one told the truth and the other did not"
    for k in range(SLOTS):
        a, b = one.seen[k], other.seen[k]
        assert (a.written, a.sizes, a.lines, a.metrics) == (b.written, b.sizes, b.lines, b.metrics), k
    truths, lies = [], []
    for k in hidden:
        pair = (one, other) if one.told[k] == Released(one.true[k]) else (other, one)
        truths.append(pair[0].seen[k])
        lies.append(pair[1].seen[k])
    for what in ("processor", "waits"):
        told, withheld = (float(np.median([getattr(slot, what) for slot in some])) for some in (truths, lies))
        assert max(told, withheld) <= 2 * max(min(told, withheld), 1e-4), (
            "of one class; explaining took a thousand times"
        )
    closed(one.keeper)
    closed(other.keeper)


@pytest.mark.parametrize("place", PLACES)
def test_between_slots_the_gateway_wakes_for_the_clock_alone(tmp_path: Path, place: str) -> None:
    """What its deciding thread is asked to do after a slot: the next kernel, whatever was true."""

    async def story() -> None:
        wall = Wall(NOW)
        one = keeper(tmp_path, NOW, person_config(routine=ROUTINE, outputs="suppress"))
        gateway, asked = Gateway(one, wall=wall), []
        real = gateway._decider.submit

        def submit(call: object, *given: object) -> object:
            asked.append(getattr(call, "__name__", ""))
            return real(call, *given)  # type: ignore[arg-type]

        gateway._decider.submit = submit  # type: ignore[method-assign, assignment]
        async with gateway.running():
            await eventually(lambda: asked == ["prepare"])
            for _ in range(3):
                asked.clear()
                end = one.next
                wall.now = end - 1
                await gateway.accept([Reading("jane", "phone", int((end - 60) * 1e6), label=place)])
                wall.now = end + 2
                await eventually(lambda: asked[-1:] == ["prepare"])
                await asyncio.sleep(0.05)
                assert asked == ["step", "step", "prepare"]

    asyncio.run(story())
