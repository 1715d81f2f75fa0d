"""Forms of dates that spreadsheets write: which one a column has, where its values leave no doubt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

PARTS = re.compile(
    r"(?P<a>\d{1,4})(?P<mark>[/.-])(?P<b>\d{1,2})(?P=mark)(?P<c>\d{4}|\d{1,2})"
    r"(?:[ T,]+(?P<hour>\d{1,2}):\d{2}(?P<second>:\d{2})?(?P<half> ?[AaPp][Mm])?)?"
)

OFFSET = re.compile(r"\d(?P<ahead>[+-](?!00:?00$)\d{2}:?\d{2})$")


class Form(NamedTuple):
    """The form of a column of dates, in the codes of strptime."""

    code: str
    certain: bool
    """Whether the values leave no other; else day and month may be the other way round."""


def form_of(values: Sequence[str]) -> Form | None:
    """The form that all of these values have; None if they have none of those known here, as ISO 8601 has not."""
    parts = []
    for value in map(str.strip, values):
        found = PARTS.fullmatch(value)
        if found is not None:
            parts.append(found)
        elif value:
            return None  # most often at the first: ISO 8601
    if not parts:
        return None
    first = parts[0]
    if len({_shape(one) for one in parts}) > 1:
        return None
    mark, year = first["mark"], "%Y" if len(first["c"]) == 4 else "%y"
    if len(first["a"]) == 4:
        return None if mark == "-" or len(first["c"]) == 4 else Form(f"%Y{mark}%m{mark}%d{_time(first)}", True)
    if len(first["a"]) == 3 or len(first["c"]) == 1:
        return None
    day_first = any(int(one["a"]) > 12 for one in parts)
    month_first = any(int(one["b"]) > 12 for one in parts)
    if day_first and month_first:
        return None
    certain = day_first or month_first or mark == "." or bool(first["half"])  # dots are never written month first
    american = month_first or (not day_first and mark != "." and bool(first["half"]))
    code = f"%m{mark}%d{mark}{year}" if american else f"%d{mark}%m{mark}{year}"
    return Form(code + _time(first), certain)


def _shape(one: re.Match[str]) -> tuple[object, ...]:
    return len(one["a"]) > 2, one["mark"], len(one["c"]) > 2, *(bool(one[name]) for name in ("hour", "second", "half"))


def _time(one: re.Match[str]) -> str:
    if one["hour"] is None:
        return ""
    between = one.group()[one.end("c") : one.start("hour")]
    second = ":%S" if one["second"] else ""
    if not one["half"]:
        return f"{between}%H:%M{second}"
    return f"{between}%I:%M{second}{' ' if one['half'].startswith(' ') else ''}%p"


def offset_of(values: Sequence[str]) -> str | None:
    """The first offset from UTC, other than none, that timestamps state: +01:00."""
    return next((found["ahead"] for value in values if (found := OFFSET.search(value.strip()))), None)
