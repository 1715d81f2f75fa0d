"""Tables of a TOML file, read key by key with errors that name the file and the key.

A section of the settings is a frozen dataclass with `read(at: Section)`. It asks for the keys that it knows, each with
its kind, and whatever nobody asked for is an error with a hint. Paths are relative to the file.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from discreet.errors import DiscreetError, did_you_mean

Kind = TypeVar("Kind")

UNITS = {"h": 3600, "m": 60, "min": 60, "s": 1}


def key_text(key: str) -> str:
    """A key as the file has it, in quotes where it has to be."""
    import tomlkit

    return tomlkit.key(key).as_string()


class SettingsError(DiscreetError):
    """A file of settings that cannot be used; the message names file and key."""


class Section:
    """One table, of which `where` it stands is known."""

    def __init__(self, file: Path, table: Mapping[str, object], where: tuple[str, ...] = ()) -> None:
        self.file, self._table, self._where = file, table, where
        self._asked: set[str] = set()

    @classmethod
    def of_file(cls, file: Path) -> Section:
        """The whole of a file."""
        try:
            with file.open("rb") as opened:
                return cls(file, tomllib.load(opened))
        except FileNotFoundError:
            raise SettingsError(f"{file}: there is no such file; make it with discreet setup") from None
        except OSError as error:
            raise SettingsError(f"{file}: cannot be read: {error.strerror}; check the path") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{file}: not a TOML file: {error}") from None

    def error(self, key: str | None, what: str) -> SettingsError:
        """An error of a key, or of the section itself: discreet.toml: people.jane.routine: there is no such file."""
        named = ".".join((*self._where, *(() if key is None else (key_text(key),))))
        return SettingsError(f"{self.file}: {named}: {what}" if named else f"{self.file}: {what}")

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def names(self) -> Iterator[str]:
        """The keys, where they are names of somebody's own choosing; they count as asked for."""
        self._asked.update(self._table)
        return iter(self._table)

    def _value(self, key: str, kind: type[Kind], words: str, default: Kind | None) -> Kind:
        self._asked.add(key)
        if key not in self._table:
            if default is None:
                raise self.error(key, f"is missing; {words}")
            return default
        value = self._table[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(key, f"is {value!r}; {words}")
        return value

    def text(self, key: str, words: str, default: str | None = None) -> str:
        """A text; `words` say what to write, such as "give a time zone, such as 'Europe/Paris'"."""
        return self._value(key, str, words, default)

    def topic_part(self, key: str, words: str, default: str | None = None) -> str:
        """A name that can stand between two slashes of an MQTT topic."""
        given = self.text(key, words, default)
        if not given or set(given) & set("/+#\0") or given.startswith("$"):
            raise self.error(
                key, f"is {given!r}, which cannot stand in an MQTT topic; use no /, + or # and no leading $"
            )
        return given

    def whole(
        self, key: str, words: str, default: int | None = None, low: int = -(2**63), high: int = 2**63 - 1
    ) -> int:
        """A whole number from one to another."""
        given = self._value(key, int, words, default)
        if not low <= given <= high:
            raise self.error(key, f"is {given!r}; {words}")
        return given

    def secret(self, key: str, words: str) -> str | None:
        """A secret that may be left out: itself, or, under the key with `_file`, a file that nobody else can read."""
        named = f"{key}_file"
        self._asked |= {key, named}
        if named not in self:
            return self.maybe(key, words)
        if key in self:
            raise self.error(key, f"is given beside {named}; keep one")
        path = self.file.parent / self.text(named, words)
        try:
            mode, text = path.stat().st_mode, path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise self.error(named, f"{path} cannot be read: {error}; {words}") from None
        if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
            raise self.error(named, f"{path} can be read by others; chmod 600 it")
        if not text:
            raise self.error(named, f"{path} is empty; {words}")
        return text

    def pairs(self, key: str, words: str, default: Mapping[str, str] | None = None) -> dict[str, str]:
        """A table of texts."""
        given = self._value(key, dict, words, None if default is None else dict(default))
        if not all(isinstance(one, str) and one for one in given.values()):
            raise self.error(key, f"is {given!r}; {words}")
        return given

    def tables(self, key: str, words: str) -> list[Section]:
        """A list of tables; empty where it is missing."""
        given: list[object] = self._value(key, list, words, [])
        if not all(isinstance(one, dict) for one in given):
            raise self.error(key, f"is no list of tables; {words}")
        return [
            Section(self.file, one, (*self._where, f"{key}[{number}]"))
            for number, one in enumerate(given)
            if isinstance(one, dict)
        ]

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        return self._value(key, bool, "write true or false", default)

    def maybe(self, key: str, words: str) -> str | None:
        """A text that may be left out."""
        return self.text(key, words) if key in self else None

    def texts(self, key: str, words: str, default: Iterable[str] = ()) -> tuple[str, ...]:
        """A list of texts."""
        given: list[object] = self._value(key, list, words, list(default))
        if not all(isinstance(one, str) for one in given):
            raise self.error(key, f"is {given!r}; {words}")
        return tuple(str(one) for one in given)

    def one_of(self, key: str, known: Iterable[str], words: str, default: str | None = None) -> str:
        """A text that is one of those known."""
        given = self.text(key, words, default)
        if given not in known:
            raise self.error(key, f"is {given!r}; {did_you_mean(given, known)}")
        return given

    def section(self, key: str, words: str) -> Section:
        """A table within; empty where it is missing, so that its own keys say what is needed."""
        return Section(self.file, self._value(key, dict, words, {}), (*self._where, key_text(key)))

    def given(self, key: str) -> object:
        """A value as it stands in the file."""
        return self._table[key]

    def plain(self) -> dict[str, object]:
        """All of it as it stands, for whoever checks it by rules of their own."""
        self._asked.update(self._table)
        return dict(self._table)

    def existing(self, key: str, words: str) -> Path:
        """The path of a file that is there."""
        path = self.file.parent / self.text(key, words)
        if not path.is_file():
            raise self.error(key, f"there is no such file as {path}; {words}")
        return path

    def seconds(self, key: str, default: str) -> float:
        """A time such as 4h, 30m or 0, in seconds."""
        words = "write a time such as '4h', '30m' or '0'"
        given = self.text(key, words, default)
        match = re.fullmatch(r"\s*(\d{1,6}(?:\.\d+)?)\s*(h|min|m|s)\s*", given)
        if match is None and given.strip() != "0":
            raise self.error(key, f"is {given!r}; {words}")
        return 0.0 if match is None else float(match[1]) * UNITS[match[2]]

    def done(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self._table:
            if key not in self._asked:
                raise self.error(key, f"is not known; {did_you_mean(key, self._asked)}")
