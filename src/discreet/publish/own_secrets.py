"""Secrets of each person: who hides what, with which delta and cap (Li and Sun 2020, section 3.1).

What is secret differs from person to person: a hospital to a patient, not to a doctor. A row says that a person has a
secret, perhaps with a delta and a cap of its own. What everybody has besides stands in the plan's policy; where both
name a secret, the person's row is the one that counts.

Millions of people fit: names are kept end to end in order, rows as numbers, 20 bytes each besides the name, and a
person's policy is made when it is asked for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import DataError, DiscreetError, PolicyError
from discreet.numerics import FloatArray, IntArray, digest_of
from discreet.policy import Policy, Secret

COLUMNS = ("person", "secret", "delta", "cap")

NAMED = 3
"""People that an error names."""


@dataclass(frozen=True, eq=False)
class OwnSecrets:
    """Who has which secrets, by name: values of attributes as in a policy ("activity=gambling")."""

    source: str
    secrets: tuple[str, ...]
    """Each once, in order."""
    _names: bytes = field(repr=False)
    _ends: IntArray = field(repr=False)  # (P,) of the names, in their order
    _rows: IntArray = field(repr=False)  # (P + 1,) where each person's rows start
    _secret: IntArray = field(repr=False)  # (R,)
    _delta: FloatArray = field(repr=False)  # (R,) NaN: the policy's
    _cap: FloatArray = field(repr=False)  # (R,) NaN: none

    @classmethod
    def of(cls, given: OwnSecrets | Mapping[str, Policy] | pl.DataFrame | str | Path) -> OwnSecrets:
        """From a file (.csv, .csv.gz or .parquet), a data frame of its columns, or policies by people's names."""
        if isinstance(given, OwnSecrets):
            return given
        if isinstance(given, str | Path):
            return cls._of_frame(_read(Path(given)), str(given))
        if isinstance(given, pl.DataFrame):
            return cls._of_frame(given, "the secrets of people")
        if not isinstance(given, Mapping):
            raise DiscreetError("secrets of people are a table with columns person, secret, delta, cap, or a mapping")
        rows = [
            (person, secret.name, policy.delta_of(secret), secret.cap)
            for person, policy in given.items()
            for secret in policy.secrets
            if _plain(person, policy, secret)
        ]
        schema = {"person": pl.String, "secret": pl.String, "delta": pl.Float64, "cap": pl.Float64}
        return cls._of_frame(pl.DataFrame(rows, schema=schema, orient="row"), "the secrets of people")

    @classmethod
    def _of_frame(cls, frame: pl.DataFrame, source: str) -> OwnSecrets:
        missing = [name for name in COLUMNS[:2] if name not in frame.columns]
        if missing:
            raise DataError(f"{source}: there is no column {missing[0]!r}; expected {', '.join(COLUMNS)}")
        rows = frame.select(
            pl.col("person").cast(pl.String),
            pl.col("secret").cast(pl.String),
            _share(frame, "delta", source),
            _share(frame, "cap", source),
        ).with_row_index("row")
        for name in COLUMNS[:2]:
            empty = rows.filter(pl.col(name).is_null() | (pl.col(name) == ""))
            if empty.height:
                raise DataError(f"{source}: row {empty['row'][0] + 1} has no {name}; give one, or remove the row")
        if not rows.height:
            raise DataError(f"{source}: the table has no rows; give one for each secret of each person")
        twice = rows.filter(pl.struct("person", "secret").is_duplicated())
        if twice.height:
            person, secret = twice["person"][-1], twice["secret"][-1]
            where = f"row {twice['row'][-1] + 1}"
            raise DataError(f"{source}: {where} gives {person!r} the secret {secret!r} once more; keep one of them")
        rows = rows.sort("person", "secret")
        secrets = tuple(rows["secret"].unique().sort().to_list())
        people = rows.group_by("person", maintain_order=True).len()
        names = [name.encode() for name in people["person"]]  # polars sorts text by its bytes
        number = {name: k for k, name in enumerate(secrets)}
        return cls(
            source,
            secrets,
            b"".join(names),
            np.cumsum([len(name) for name in names]),
            np.concatenate([[0], np.cumsum(people["len"].to_numpy().astype(np.int64))]),
            rows["secret"].replace_strict(number, return_dtype=pl.Int32).to_numpy(),
            rows["delta"].fill_null(np.nan).to_numpy(),
            rows["cap"].fill_null(np.nan).to_numpy(),
        )

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[str]:
        return (self._name(k).decode() for k in range(len(self)))

    def _name(self, place: int) -> bytes:
        start = int(self._ends[place - 1]) if place else 0
        return self._names[start : int(self._ends[place])]

    def place(self, person: str) -> int | None:
        """The number of a person; None for one who has no rows."""
        wanted = person.encode()
        found = bisect_left(range(len(self)), wanted, key=self._name)
        return found if found < len(self) and self._name(found) == wanted else None

    def rows(self, place: int) -> tuple[tuple[str, float | None, float | None], ...]:
        """(secret, delta, cap) of each row of a person, by number."""
        first, end = int(self._rows[place]), int(self._rows[place + 1])
        numbers = zip(self._secret[first:end], self._delta[first:end], self._cap[first:end], strict=True)
        return tuple((self.secrets[secret], _stated(delta), _stated(cap)) for secret, delta, cap in numbers)

    def policy(self, everybody: Policy, rows: Iterable[tuple[str, float | None, float | None]]) -> Policy:
        """A person's policy: everybody's secrets, and those of these rows."""
        own = {secret: Secret(secret, delta=delta, cap=cap) for secret, delta, cap in rows}
        kept = [secret for secret in everybody.secrets if secret.name not in own]
        return replace(everybody, secrets=(*kept, *own.values()))

    def union(self, everybody: Policy) -> Policy:
        """All secrets that anybody has, each with the least delta that is given for it: what reports go by."""
        deltas = np.where(np.isnan(self._delta), everybody.delta, self._delta)
        least = np.ones(len(self.secrets))
        np.minimum.at(least, self._secret, deltas)
        return self.policy(everybody, ((name, float(least[k]), None) for k, name in enumerate(self.secrets)))

    @property
    def fingerprint(self) -> str:
        """A digest: equal tables have equal ones, whatever the order of their rows."""
        arrays = [np.asarray(one, dtype=np.float64) for one in (self._ends, self._rows, self._secret)]
        numbers = [np.nan_to_num(one, nan=-1.0) for one in (self._delta, self._cap)]
        return digest_of(["own secrets", self.secrets, self._names.hex(), *arrays, *numbers]).hex()

    def check(self, everybody: Policy) -> None:
        """Refuse deltas and caps that no policy can have, and name the person."""
        seen: set[tuple[tuple[str, float | None, float | None], ...]] = set()
        for place in range(len(self)):
            rows = self.rows(place)
            if rows not in seen:
                try:
                    self.policy(everybody, rows)
                except PolicyError as error:
                    raise DataError(f"{self.source}: {self._name(place).decode()}: {error}") from None
            if len(seen) < REMEMBERED:
                seen.add(rows)

    def check_people(self, people: Iterable[str], everybody: Policy) -> None:
        """Refuse people of the table who are not there, and people without any secret."""
        found = bytearray(len(self))
        without: list[str] = []
        number = 0
        for person in people:
            place = self.place(person)
            if place is not None:
                found[place] = 1
            elif not everybody.secrets:
                number += 1
                without += [person] if len(without) < NAMED else []
        if number:
            raise DataError(
                f"{self.source}: {_people(number, without)} no secret here; add rows, or give everybody one with "
                "--secret (in Python, in the policy)"
            )
        absent = [k for k, seen in enumerate(found) if not seen]
        if absent:
            names = [self._name(k).decode() for k in absent[:NAMED]]
            raise DataError(
                f"{self.source}: {_people(len(absent), names)} no events in the data; remove the rows, or check how "
                "people are written"
            )


REMEMBERED = 10_000
"""Policies that were found to be sound, so that they are not made again to be checked."""


def _people(number: int, names: list[str]) -> str:
    shown = ", ".join(map(repr, names)) + (" and others" if number > len(names) else "")
    return f"{shown} has" if number == 1 else f"{number} people ({shown}) have"


def _stated(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _plain(person: str, policy: Policy, secret: Secret) -> bool:
    """Refuse what a row cannot say."""
    if secret != Secret(secret.name, delta=secret.delta, cap=secret.cap) or policy.share != 1:
        raise PolicyError(
            f"the policy of {person!r}: secret {secret.name!r} has more than a value, a delta and a cap; secrets of "
            "each person have no more"
        )
    return True


def _read(path: Path) -> pl.DataFrame:
    if not path.exists():
        raise DataError(f"{path}: there is no such file; give a table with columns {', '.join(COLUMNS)}")
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        ".csv": lambda file: pl.read_csv(file, infer_schema=False),
        ".csv.gz": lambda file: pl.read_csv(file, infer_schema=False),
        ".parquet": pl.read_parquet,
    }
    for ending, reader in readers.items():
        if path.name.endswith(ending):
            try:
                return reader(path)
            except (pl.exceptions.PolarsError, OSError) as error:
                raise DataError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None
    raise DataError(f"{path}: secrets of people are read from {', '.join(readers)}; let the name end so")


def _share(frame: pl.DataFrame, name: str, source: str) -> pl.Series:
    """A column of numbers, some of them empty; without the column all are."""
    if name not in frame.columns:
        return pl.Series(name, [None] * frame.height, dtype=pl.Float64)
    given = frame[name]
    if given.dtype == pl.String:
        given = given.str.strip_chars().replace("", None)
    found = given.cast(pl.Float64, strict=False)
    wrong = (found.is_null() & given.is_not_null()) | ~found.fill_null(0.5).is_between(0, 1)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise DataError(f"{source}: row {row + 1}: {name} is {given[row]!r}; give a number from 0 to 1, or nothing")
    return found
