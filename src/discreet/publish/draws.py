"""Where a table's draws come from: a keyed pseudo-random function of what is drawn for, and of nothing else.

A run has one key of 32 bytes (`RunKey`). The bits of the draw at one slot of one piece of one person are

    piece key = HMAC-SHA256(run key, digest_of("discreet publish", person, number of the piece, decision, build))
    slot key  = HMAC-SHA256(piece key, number of the slot, in 8 bytes, big-endian)
    bits      = SHAKE-256 of the slot key and a counter, block after block (`KeyedEntropy`)

where `decision` is a digest of the model, the policy and the mechanism with its options (`decision_of`), and `build`
one of the program (`build`). So a draw depends neither on who else is published, nor on the order, the process or the
engine, and a task that is run again draws the same: whatever was seen of its first run, the second tells no more.

Why the digests: two kernels that are given the same bits give outputs that tell, together, more than either promises.
Under another model, policy or build the bits are hence others, although the key is the same.

The promise then rests on HMAC-SHA256 and SHAKE-256 instead of on perfect chance: whoever cannot break them cannot tell
the draws from perfect ones. Whoever has the key can tell what was true from what was drawn, of everybody. It stays on
the trusted side, and is erased when the table is written.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from heapq import nsmallest
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable

from discreet.contracts import DayModel
from discreet.errors import DiscreetError
from discreet.events import Events
from discreet.mechanisms.named import Spec
from discreet.models.hidden.endless import EndlessHidden
from discreet.models.routine.parts import AnyModel, parts_of
from discreet.models.routine.routine import Routine
from discreet.numerics import FloatArray, digest_of
from discreet.policy import Policy
from discreet.randomness import KEY_BYTES, Entropy, KeyedEntropy

ARITHMETIC = ("numpy", "scipy", "numba")
"""Packages whose version may change a kernel's weights."""


@dataclass(frozen=True)
class RunKey:
    """The key of all draws of one run: `RunKey.new()` for what is published, `RunKey.of_seed(1)` for experiments."""

    key: bytes = field(repr=False)
    seed: int | None = None
    """The seed that the key was derived from; None for one of the operating system's entropy."""

    def __post_init__(self) -> None:
        if len(self.key) != KEY_BYTES:
            raise DiscreetError(f"a run's key has {KEY_BYTES} bytes, this one {len(self.key)}; make it by RunKey.new()")

    @classmethod
    def new(cls) -> RunKey:
        """From the operating system's entropy."""
        return cls(os.urandom(KEY_BYTES))

    @classmethod
    def of_seed(cls, seed: int) -> RunKey:
        """SHA-256 of "discreet:publish:SEED". Whoever guesses the seed can undo the draws: it hides nothing."""
        return cls(hashlib.sha256(f"discreet:publish:{int(seed)}".encode()).digest(), int(seed))

    @property
    def build(self) -> str:
        """The program's digest; left out with a seed, so that an experiment comes out the same with the next build."""
        return build() if self.seed is None else ""

    def piece(self, person: str, number: int, decision: str) -> PieceDraws:
        """The draws for one of a person's pieces, under a model, policy and mechanism (`decision_of`)."""
        drawn_for = digest_of(["discreet publish", person, number, decision, self.build])
        return PieceDraws(_hmac(self.key, drawn_for))

    def stream(self, person: str, decision: str) -> PieceDraws:
        """The draws for one person's recorded days (`discreet release`), slot by slot from the first; see `piece`."""
        drawn_for = digest_of(["discreet release", person, decision, self.build])
        return PieceDraws(_hmac(self.key, drawn_for))


class PieceDraws(Entropy):
    """The draws of one piece: those of slot 0 at first, and of another from `at` on.

    A slot's key is derived when its first bit is drawn: where a kernel has one output for what is true, none is.
    """

    __slots__ = ("_key", "_number", "_slot")

    def __init__(self, key: bytes) -> None:
        super().__init__()
        self._key = key
        self._slot: KeyedEntropy | None = None
        self.at(0)

    def at(self, slot: int) -> None:
        """From here on, the bits of this slot, from its first."""
        self._bits = self._count = 0  # what the slot before has left over is not drawn
        self._number, self._slot = slot, None

    def _block(self) -> bytes:
        if self._slot is None:
            self._slot = KeyedEntropy(_hmac(self._key, self._number.to_bytes(8, "big")))
        return self._slot._block()


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


# --- what is drawn under


def decision_of(model: DayModel, policy: Policy, mechanism: Spec, events: Events) -> str:
    """A digest of what decides: where model, policy, events and mechanism with its options are equal, so is it."""
    emissions = [] if model.emissions is None else _slots(model.emissions)
    habits = [model.contexts, model.slots, model.initial, *_slots(model.transitions), "emissions", *emissions]
    attributes = [events.activities, events.times, events.locations, events.contexts]
    return digest_of([policy.fingerprint, *in_words(mechanism), *attributes, *habits]).hex()


def stream_decision_of(model: EndlessHidden, policy: Policy, mechanism: Spec, events: Events) -> str:
    """The same for a stream of events without end."""
    attributes = [events.activities, events.times, events.locations, events.contexts]
    return digest_of(["stream", policy.fingerprint, *in_words(mechanism), *attributes, model.fingerprint]).hex()


def habits_decision_of(habits: AnyModel, policy: Policy, mechanism: Spec) -> str:
    """The same for a person's habits of days: equal parts, nights, observers, policy and mechanism make it equal."""
    parts = [(part, own.fingerprint) for part, own in parts_of(habits).items()]
    if isinstance(habits, Routine):
        parts += [("", one.fingerprint) for one in (habits, *habits.observers)]
    return digest_of([parts, policy.fingerprint, *in_words(mechanism)]).hex()


def in_words(spec: Spec) -> tuple[str, str]:
    """The mechanism in words that are the same in every process."""
    options = repr(sorted(spec.options.plain().items()))
    if re.search(r" at 0x[0-9a-f]+>", options, re.IGNORECASE):
        raise DiscreetError(
            f"{spec.name} has an option that every process writes in its own way, so that its draws could not be "
            f"repeated: {options}; give plain values, or an object whose repr says what it is"
        )
    return spec.name, options


def _slots(array: FloatArray) -> list[object]:
    """What stands for an array with an entry a slot: its number, and one entry where all are equal.

    By the values and not by how they are stored: a worker may have been sent a copy. Where they are stored once, as
    those of events are, they need not be compared.
    """
    if len(array) > 1 and (array.strides[0] == 0 or (array[1:] == array[0]).all()):
        return ["each", array.shape, array[0]]
    return ["every", array.shape, array]


@cache
def build() -> str:
    """A digest of this program: its source, and the versions of the packages that it calculates with."""
    package = files("discreet")
    parts: list[object] = [(name, _version(name)) for name in ARITHMETIC]
    parts += [(name, hashlib.sha256(source.read_bytes()).hexdigest()) for name, source in _sources(package, "")]
    return digest_of(parts).hex()


def _sources(folder: Traversable, above: str) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        name = f"{above}/{entry.name}"
        if entry.is_dir():
            yield from _sources(entry, name)
        elif name.endswith(".py"):
            yield name, entry


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # brought along without its metadata, by a bundle
        return ""


# --- a sample of people, to learn from or to test on where there are too many
#
# Those whose HMAC-SHA256 under the run's key is smallest are chosen. So the choice depends neither on the order of
# people nor on what they did, nobody without the key can know or seek it, and a resumed run has the same sample.


LEARN_FROM = 10_000
"""People that habits are learned from, at most, and held against, unless told otherwise."""


def checked_sample(most: int) -> None:
    """Refuse to learn from nobody."""
    if most < 1:
        raise DiscreetError(f"habits cannot be learned from {most} people; give 1 or more")


def sampled(people: Iterable[str], most: int, key: RunKey) -> list[str]:
    """At most so many of the people, in order of their names; the others are not held."""
    lots = ((lot(one, key), one) for one in people)
    return sorted(one for _, one in nsmallest(most, lots))


def lot(person: str, key: RunKey) -> bytes:
    """What a person draws."""
    return hmac.digest(key.key, b"discreet sample:" + person.encode(), "sha256")
