"""Where chance comes from: exact draws from integer weights.

Releases use `SystemEntropy`, or `KeyedEntropy` where a decision may have to be made again. `SeededEntropy` is for
experiments and tests: a stream that anybody who knows the seed can repeat hides nothing. All give whole bits, so a draw
has exactly the probabilities weight / total: no floating-point number is compared anywhere.
"""

from __future__ import annotations

import hashlib
import os

from discreet.errors import DiscreetError

KEY_BYTES = 32


class Entropy:
    """Uniform integers from a stream of random bytes."""

    __slots__ = ("_bits", "_count")

    def __init__(self) -> None:
        self._bits = 0
        self._count = 0

    def _block(self) -> bytes:
        """The next bytes of the stream."""
        raise DiscreetError("use SystemEntropy, KeyedEntropy or SeededEntropy: the base class has no source of bytes")

    def bits(self, count: int) -> int:
        """A uniform integer below 2**count."""
        if count < 0:
            raise DiscreetError(f"{count} bits cannot be drawn; ask for 0 or more")
        while self._count < count:
            block = self._block()
            self._bits |= int.from_bytes(block, "little") << self._count
            self._count += 8 * len(block)
        value = self._bits & ((1 << count) - 1)
        self._bits >>= count
        self._count -= count
        return value

    def below(self, bound: int) -> int:
        """A uniform integer below bound, by rejection: no remainder is favoured."""
        if bound < 1:
            raise DiscreetError(f"no integer lies below {bound} and at least 0; give a bound of 1 or more")
        count = (bound - 1).bit_length()
        while True:
            value = self.bits(count)
            if value < bound:
                return value


class SystemEntropy(Entropy):
    """The operating system's entropy: what every release draws from.

    It keeps nothing back: bits that were left over would be drawn twice by a process and its fork.
    """

    __slots__ = ()

    def bits(self, count: int) -> int:
        """A uniform integer below 2**count."""
        if count < 0:
            raise DiscreetError(f"{count} bits cannot be drawn; ask for 0 or more")
        return int.from_bytes(os.urandom((count + 7) // 8), "little") >> (-count % 8)


class KeyedEntropy(Entropy):
    """The same bits again from the same key: SHAKE-256 of 32 bytes of the operating system's entropy.

    For a decision that must come out the same when it is made again, after a crash or by a repeated task. Whoever has
    the key can tell what was true from what was drawn: it stays on the trusted side, and is erased when it has served.
    """

    __slots__ = ("_index", "_key")

    def __init__(self, key: bytes) -> None:
        super().__init__()
        if len(key) != KEY_BYTES:
            raise DiscreetError(f"the key has {len(key)} bytes; give {KEY_BYTES}, such as os.urandom({KEY_BYTES})")
        self._key = key
        self._index = 0

    def _block(self) -> bytes:
        self._index += 1
        return hashlib.shake_256(b"discreet key:%s:%d" % (self._key, self._index)).digest(64)


class SeededEntropy(Entropy):
    """A repeatable stream for experiments and tests: SHAKE-256 of the seed, the same on every machine and version."""

    __slots__ = ("_index", "_seed")

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = str(int(seed)).encode()
        self._index = 0

    def _block(self) -> bytes:
        self._index += 1
        return hashlib.shake_256(b"discreet:%s:%d" % (self._seed, self._index)).digest(64)
