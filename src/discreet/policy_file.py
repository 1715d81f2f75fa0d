"""The TOML form of a policy (docs/policy.md): its terms, its secrets and its clock, as they stand in a file."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from discreet.clock import Clock
from discreet.errors import DiscreetError, PolicyError, did_you_mean
from discreet.files import refuse_address
from discreet.secret import Secret, checked_factor, checked_share


class PolicyContent(NamedTuple):
    """What a policy file says."""

    terms: dict[str, float]
    """The policy's own terms, by the names that `Policy` takes: only those that are given."""
    secrets: list[Secret]
    clock: Clock | None


def toml_content(path: Path) -> dict[str, object]:
    """A TOML file as tables."""
    refuse_address(path)
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        raise PolicyError(f"{path}: there is no such policy file; give the path of a TOML file") from None
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror}; give the path of a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: not a TOML file: {error}") from None


def policy_content(content: Mapping[str, object], clock: Clock | None) -> PolicyContent:
    """What the tables of a policy file say; a file's own [clock] stands before the one given."""
    _only(content, {"delta", "share", "odds", "doubt", "secret", "clock"}, "the file")
    if "clock" in content:
        given = _table(content["clock"], "[clock]")
        _only(given, {"slots", "zone", "cut"}, "[clock]")
        if "slots" not in given:
            raise PolicyError("[clock] has no slots; add, for example, slots = 48")
        try:
            clock = Clock(**given)  # type: ignore[arg-type]  # Clock checks its values
        except DiscreetError as error:
            raise PolicyError(f"[clock]: {error}") from None
    shares, factors = ([key for key in keys if key in content] for keys in (("delta", "share"), ("odds", "doubt")))
    terms = {key: checked_share(_number(content[key], key), f"{key} of the policy") for key in shares}
    terms |= {key: checked_factor(_factor(content[key], key), f"{key} of the policy") for key in factors}
    if "secret" not in content:  # an empty file would be kept by whatever is shown
        raise PolicyError(
            'there is no secret in it; add [[secret]] with contexts = ["hospital"], for example, or secret = [] if '
            "there is to be none"
        )
    entries = content["secret"]
    if not isinstance(entries, list):
        raise PolicyError("write each secret under its own [[secret]]")
    secrets = [_secret_from(_table(entry, f"[[secret]] number {k}"), k, clock) for k, entry in enumerate(entries, 1)]
    return PolicyContent(terms, secrets, clock)


def _secret_from(entry: Mapping[str, object], number: int, clock: Clock | None) -> Secret:
    where = f"[[secret]] number {number}"
    _only(
        entry,
        {
            "name",
            "contexts",
            "slots",
            "between",
            "begins",
            "delta",
            "cap",
            "odds",
            "at",
            "over",
            "sliding",
            "pattern",
            "within",
        },
        where,
    )
    if "pattern" in entry:
        return _pattern_from(entry, where)
    contexts = _labels(entry.get("contexts"), where)
    name = entry.get("name", " or ".join(sorted(contexts)))
    at = str(entry.get("at", "each"))
    slots, begins = entry.get("slots"), entry.get("begins", 0)
    if slots is not None and not (isinstance(slots, list) and all(type(slot) is int for slot in slots)):
        raise PolicyError(f"slots of {where} is {slots!r}; give a list of slot numbers")
    if type(begins) is not int:
        raise PolicyError(f"begins of {where} is {begins!r}; give the number of the slot at which the window begins")
    if "between" in entry:
        if "begins" in entry:
            raise PolicyError(f"{where} has both begins and between, which says it already; keep one")
        if slots is not None:
            raise PolicyError(f"{where} has both slots and between; keep one")
        times = entry["between"]
        if not (isinstance(times, list) and len(times) == 2 and all(isinstance(time, str) for time in times)):
            raise PolicyError(f'between of {where} is {times!r}; give two times, such as ["22:00", "06:00"]')
        if clock is None:
            raise PolicyError(f"{where} speaks of clock times but no clock is known; add [clock] with slots and zone")
        try:
            slots = clock.between(*times)
            begins = clock.begins(*times) if at == "any" else 0
        except DiscreetError as error:
            raise PolicyError(f"between of {where}: {error}") from None
    delta, cap, odds = (entry.get(key) for key in ("delta", "cap", "odds"))
    return Secret(
        str(name),
        contexts,
        slots=slots,
        delta=None if delta is None else _number(delta, f"delta of {where}"),
        at=at,  # type: ignore[arg-type]  # Secret checks its value
        begins=begins,
        cap=None if cap is None else _number(cap, f"cap of {where}"),
        odds=None if odds is None else _factor(odds, f"odds of {where}"),
        over=entry.get("over", "day"),  # type: ignore[arg-type]  # Secret checks its value
        sliding=_truth(entry.get("sliding", False), where),
    )


def _pattern_from(entry: Mapping[str, object], where: str) -> Secret:
    """A pattern: its contexts in their order, within so many slots."""
    _only(entry, {"name", "pattern", "within", "slots", "delta", "cap", "odds", "at"}, where)
    sequence, slots = _labels(entry["pattern"], where, "pattern"), entry.get("slots")
    if slots is not None and not (isinstance(slots, list) and all(type(slot) is int for slot in slots)):
        raise PolicyError(f"slots of {where} is {slots!r}; give a list of slot numbers")
    if entry.get("at", "any") != "any" or type(entry.get("within")) is not int:
        raise PolicyError(f"{where} is a pattern; give within, a number of slots, and leave at out")
    name, terms = str(entry.get("name", " then ".join(sequence))), ("delta", "cap")
    numbers = {key: None if entry.get(key) is None else _number(entry[key], f"{key} of {where}") for key in terms}
    odds = None if entry.get("odds") is None else _factor(entry["odds"], f"odds of {where}")
    return Secret.pattern(name, sequence, entry["within"], slots=slots, odds=odds, **numbers)  # type: ignore[arg-type]


def _table(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise PolicyError(f"{where} is {value!r}; write it as a table")
    return value


def _only(table: Mapping[str, object], known: Collection[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise PolicyError(f"{where} has an unknown key {key!r}; {did_you_mean(key, known)}")


def _labels(value: object, where: str, what: str = "contexts") -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value and all(isinstance(label, str) for label in value):
        return list(value)
    raise PolicyError(f'{what} of {where} is {value!r}; give a list of labels, such as ["hospital"]')


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PolicyError(f"{where} is {value!r}, not a number; give one from 0 to 1")
    return float(value)


def _factor(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PolicyError(f"{where} is {value!r}, not a number; give a factor of 1 or more, such as 2")
    return float(value)


def _truth(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise PolicyError(f"sliding of {where} is {value!r}; give true or false")
    return value
