"""A file that a passphrase opens: libsodium's secret stream (XChaCha20-Poly1305), by a key that argon2id makes.

The head has a magic line, the salt and the stream's own head; chunks of one size follow, the last one marked. So a file
that was altered, or cut off anywhere, is noticed before its end is believed. It takes PyNaCl.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, BinaryIO

from discreet.errors import DiscreetError

MAGIC = b"discreet sealed 1\n"

SEALED = ".sealed"
"""The ending of such a file."""

CHUNK = 1 << 16

SHORTEST = 10
"""Letters of a passphrase."""

MISSING = "an encrypted backup needs PyNaCl; install it with: pip install 'discreet[owntracks-encryption]'"
WRONG = "the passphrase is wrong, or the archive was altered at its beginning"
ALTERED = "the archive was altered, or is damaged; nothing was taken from it"
CUT_OFF = "the archive is cut off; nothing was taken from it"


def check_passphrase(passphrase: str) -> None:
    """Refuse a passphrase that is too short, and an installation that cannot encrypt."""
    if find_spec("nacl") is None:
        raise DiscreetError(MISSING)
    if len(passphrase) < SHORTEST:
        raise DiscreetError(f"the passphrase has {len(passphrase)} letters; give {SHORTEST} or more")


def is_sealed(file: BinaryIO) -> bool:
    """Whether a file that is at its beginning is a sealed one; it is at its beginning after it, too."""
    found = file.read(len(MAGIC)) == MAGIC
    file.seek(0)
    return found


class SealingFile(io.RawIOBase):
    """Writes to another file what only the passphrase opens; `close` writes the end, and leaves the other file open."""

    def __init__(self, file: BinaryIO, passphrase: str) -> None:
        check_passphrase(passphrase)
        from nacl import bindings
        from nacl.pwhash import argon2id

        self._file, self._held = file, bytearray()
        salt = os.urandom(argon2id.SALTBYTES)
        self._state: Any = bindings.crypto_secretstream_xchacha20poly1305_state()
        head = bindings.crypto_secretstream_xchacha20poly1305_init_push(self._state, _key(passphrase, salt))
        self._push: Callable[..., bytes] = bindings.crypto_secretstream_xchacha20poly1305_push
        self._last = bindings.crypto_secretstream_xchacha20poly1305_TAG_FINAL
        file.write(MAGIC + salt + head)

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Take some bytes."""
        self._held += data
        while len(self._held) > CHUNK:
            self._file.write(self._push(self._state, bytes(self._held[:CHUNK]), MAGIC))
            del self._held[:CHUNK]
        return len(data)

    def close(self) -> None:
        """Write what is left, marked as the last."""
        if not self.closed:
            self._file.write(self._push(self._state, bytes(self._held), MAGIC, self._last))
        super().close()


class UnsealingFile(io.RawIOBase):
    """Reads what was sealed; whatever is not as it was written is an error."""

    def __init__(self, file: BinaryIO, passphrase: str) -> None:
        if find_spec("nacl") is None:
            raise DiscreetError(MISSING)
        from nacl import bindings
        from nacl.pwhash import argon2id

        self._file, self._held, self._over, self._first = file, b"", False, True
        head = len(MAGIC) + argon2id.SALTBYTES + bindings.crypto_secretstream_xchacha20poly1305_HEADERBYTES
        begun = file.read(head)
        if len(begun) < head or not begun.startswith(MAGIC):
            raise DiscreetError(CUT_OFF)
        salt, own = begun[len(MAGIC) :][: argon2id.SALTBYTES], begun[len(MAGIC) + argon2id.SALTBYTES :]
        self._state: Any = bindings.crypto_secretstream_xchacha20poly1305_state()
        bindings.crypto_secretstream_xchacha20poly1305_init_pull(self._state, own, _key(passphrase, salt))
        self._pull: Callable[..., tuple[bytes, int]] = bindings.crypto_secretstream_xchacha20poly1305_pull
        self._last = bindings.crypto_secretstream_xchacha20poly1305_TAG_FINAL
        self._size = CHUNK + bindings.crypto_secretstream_xchacha20poly1305_ABYTES

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, into: Any) -> int:
        """Give some bytes; none at the end, which has to have been written."""
        while not self._held and not self._over:
            self._held = self._opened()
        count = min(len(into), len(self._held))
        into[:count], self._held = self._held[:count], self._held[count:]
        return count

    def _opened(self) -> bytes:
        from nacl.exceptions import CryptoError

        chunk = self._file.read(self._size)
        if not chunk:
            raise DiscreetError(CUT_OFF)
        try:
            plain, tag = self._pull(self._state, chunk, MAGIC)
        except (CryptoError, ValueError, RuntimeError):
            raise DiscreetError(WRONG if self._first else ALTERED) from None
        self._first, self._over = False, tag == self._last
        if self._over and self._file.read(1):
            raise DiscreetError(ALTERED)
        return plain


def _key(passphrase: str, salt: bytes) -> bytes:
    from nacl import bindings
    from nacl.pwhash import argon2id

    size = bindings.crypto_secretstream_xchacha20poly1305_KEYBYTES
    key: bytes = argon2id.kdf(
        size, passphrase.encode(), salt, opslimit=argon2id.OPSLIMIT_MODERATE, memlimit=argon2id.MEMLIMIT_MODERATE
    )
    return key
