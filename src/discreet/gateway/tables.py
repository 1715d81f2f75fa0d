"""A table of the settings, read key by key: what is wrong is an error that names the key and the remedy."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.errors import DiscreetError, did_you_mean


class Table:
    """One table; `where` is its name in errors, `folder` is where the paths in it start."""

    def __init__(self, values: Mapping[str, object], where: str, folder: Path = Path()) -> None:
        self._values, self.where, self.folder = values, where, folder
        self._asked: set[str] = set()

    def error(self, key: str, what: str) -> DiscreetError:
        """What is wrong with a key."""
        return DiscreetError(f"{self.where}.{key}: {what}")

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def text(self, key: str, words: str, default: str | None = None) -> str:
        """A text; `words` say what to write."""
        value = self._given(key, words, default)
        if not isinstance(value, str) or not value:
            raise self.error(key, f"is {value!r}; {words}")
        return value

    def texts(self, key: str, words: str, default: Sequence[str]) -> tuple[str, ...]:
        """A list of texts."""
        values = self._given(key, words, default)
        if not isinstance(values, list | tuple) or not all(isinstance(one, str) for one in values):
            raise self.error(key, f"is {values!r}; {words}")
        return tuple(values)

    def pairs(self, key: str, words: str, default: Mapping[str, str] | None = None) -> dict[str, str]:
        """A table of texts."""
        values = self._given(key, words, default)
        if not isinstance(values, Mapping) or not all(isinstance(one, str) and one for one in values.values()):
            raise self.error(key, f"is {values!r}; {words}")
        return dict(values)

    def whole(self, key: str, words: str, default: int, low: int = 0, high: int = 2**31) -> int:
        """A whole number."""
        value = self._given(key, words, default)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.error(key, f"is {value!r}; {words}")
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        value = self._given(key, "", default)
        if not isinstance(value, bool):
            raise self.error(key, f"is {value!r}; write true or false")
        return value

    def secret(self, key: str, words: str) -> str | None:
        """A secret: itself, or the path of a file that nobody else can read, under the key with `_file`."""
        named = f"{key}_file"
        self._asked |= {key, named}
        if named not in self:
            return self.text(key, words) if key in self else None
        if key in self:
            raise self.error(key, f"is given beside {named}; keep one")
        path = self.folder / self.text(named, words)
        try:
            mode, text = path.stat().st_mode, path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise self.error(named, f"{path} cannot be read: {error}; {words}") from None
        if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
            raise self.error(named, f"{path} can be read by others; chmod 600 it")
        if not text:
            raise self.error(named, f"{path} is empty; {words}")
        return text

    def tables(self, key: str, words: str) -> list[Table]:
        """A list of tables; empty where it is missing."""
        values = self._given(key, words, [])
        if not isinstance(values, list) or not all(isinstance(one, Mapping) for one in values):
            raise self.error(key, f"is no list of tables; {words}")
        return [Table(one, f"{self.where}.{key}[{number}]", self.folder) for number, one in enumerate(values)]

    def done(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self._values:
            if key not in self._asked:
                raise self.error(key, f"is not known; {did_you_mean(key, self._asked)}")

    def _given(self, key: str, words: str, default: object) -> object:
        self._asked.add(key)
        value = self._values.get(key, default)
        if value is None:
            raise self.error(key, f"is missing; {words}")
        return value


def topic_part(table: Table, key: str, value: str) -> str:
    """A name that can stand between two slashes of a topic."""
    if not value or set(value) & set("/+#\0") or value.startswith("$"):
        raise table.error(key, f"is {value!r}, which cannot stand in an MQTT topic; use no /, + or # and no leading $")
    return value
