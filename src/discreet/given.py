"""What callers give, checked where it comes in: dates, time zones, numbers, models, policies, mechanisms.

Each check says what was given, where, and what to give instead, so that a slip is a sentence and not a traceback from
somewhere inside. They look at names that an object has, not at its class: somebody else's model or mechanism will do.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Sequence
from os import PathLike
from typing import Any, cast

from discreet.errors import DiscreetError, ModelError, PolicyError

MODEL = ("contexts", "first", "slots", "initial", "transition", "emission", "prior_at", "fingerprint")
"""What every model has (`contracts.Model`)."""

POLICY = ("secrets", "delta", "for_model")

MECHANISM = ("model", "policy", "start", "kernel", "advance", "remember", "private_contexts", "guarantee", "worth")
"""What every mechanism has (`contracts.Mechanism`); `expected_utility` is asked for where it is used."""


def words_for(given: object) -> str:
    """A thing as an error names it: the class Adaptive, a Policy, the text '4', a list of 3, None."""
    if given is None:
        return "None"
    if isinstance(given, type):
        return f"the class {given.__name__}"
    if isinstance(given, str):
        return f"the text {given[:60]!r}"
    kind = type(given).__name__
    article = "an" if kind[:1].lower() in "aeiou" else "a"
    if isinstance(given, list | tuple | dict | set | frozenset):
        return f"{article} {kind} of {len(given)}"
    if isinstance(given, bool | int | float):
        return f"the number {given!r}" if not isinstance(given, bool) else repr(given)
    return f"{article} {kind}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things: 1 person, 2 people."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def lacks(given: object, names: Sequence[str]) -> list[str]:
    """Which of these names a thing does not have; all of them where it is a class, which is nothing yet."""
    return list(names) if isinstance(given, type) else [name for name in names if not hasattr(given, name)]


def checked_model(model: object, who: str) -> None:
    """Refuse what is no model."""
    missing = lacks(model, MODEL)
    if not missing:
        return
    if not lacks(model, POLICY):
        raise ModelError(f"{who}: the model is a policy; give a model in its place, such as MarkovChain.fit(days)")
    if not lacks(model, ("kinds", "since", "day")):
        raise ModelError(f"{who}: a routine has no first day; give routine.since(date), or routine.day(kind)")
    if not lacks(model, ("part_of", "for_date")):
        raise ModelError(f"{who}: these are models of parts of the week; give one of them, models.for_date(date)")
    if len(missing) < len(MODEL) // 2:
        raise ModelError(
            f"{who}: the model, {words_for(model)}, lacks {', '.join(missing)}; docs/own-model.md says what a model has"
        )
    raise ModelError(
        f"{who}: the model is {words_for(model)}; give a MarkovChain, such as MarkovChain.fit(days), or another model"
    )


def checked_policy(policy: object, who: str) -> None:
    """Refuse what is no policy."""
    if not lacks(policy, POLICY):
        return
    if not lacks(policy, MODEL):
        raise PolicyError(f"{who}: the policy is a model; give Policy(['clinic'], delta=0.1) in its place")
    remedy = "give Policy(['clinic'], delta=0.1)"
    if isinstance(policy, str | list | tuple | set | frozenset):
        remedy = "put the secrets into a policy: Policy([...], delta=0.1)"
    elif type(policy).__name__ == "Secret":
        remedy = "put it into a policy: Policy([secret], delta=0.1)"
    elif isinstance(policy, int | float):
        remedy = f"name what is secret too: Policy(['clinic'], delta={policy!r})"
    raise PolicyError(f"{who}: the policy is {words_for(policy)}; {remedy}")


def checked_pair(model: object, policy: object, who: str) -> None:
    """Refuse a model or a policy that is none; two that are swapped are called so."""
    if not lacks(model, POLICY) and not lacks(policy, MODEL):
        raise DiscreetError(f"{who}: model and policy are swapped; write {who}(model, policy)")
    checked_model(model, who)
    checked_policy(policy, who)


def checked_mechanism(mechanism: object, who: str, also: tuple[str, ...] = ()) -> None:
    """Refuse what is no mechanism, or lacks what is asked of it besides."""
    missing = lacks(mechanism, MECHANISM + also)
    if not missing:
        return
    if isinstance(mechanism, type):
        raise DiscreetError(
            f"{who}: the mechanism is {words_for(mechanism)} and not one of its mechanisms; make one, "
            f"{mechanism.__name__}(model, policy)"
        )
    if isinstance(mechanism, str):
        raise DiscreetError(
            f"{who}: the mechanism is {words_for(mechanism)}; make one, such as mechanisms.Adaptive(model, policy), or "
            "discreet.mechanisms.named.Spec(name).make(model, policy)"
        )
    if not lacks(mechanism, ("make", "options")):
        raise DiscreetError(f"{who}: the mechanism is a Spec, which has no model yet; use spec.make(model, policy)")
    if not lacks(mechanism, MODEL) or not lacks(mechanism, POLICY):
        kind = "policy" if not lacks(mechanism, POLICY) else "model"
        raise DiscreetError(
            f"{who}: the mechanism is a {kind}; make a mechanism of model and policy, "
            "such as mechanisms.Adaptive(model, policy)"
        )
    if len(missing) < len(MECHANISM) // 2 + 1:
        raise DiscreetError(
            f"{who}: {words_for(mechanism)} is no mechanism, because it lacks {', '.join(missing)}; derive it from "
            "discreet.mechanisms.base.ContextMechanism (docs/mechanisms.md)"
        )
    raise DiscreetError(
        f"{who}: the mechanism is {words_for(mechanism)}; make one, such as mechanisms.Adaptive(model, policy)"
    )


def checked_count(value: object, what: str, *, least: int = 1) -> int:
    """A whole number from `least` on; text that looks like one is not one."""
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(cast(Any, value))
    except TypeError:
        number = least - 1
    if number < least:
        quoted = ", without quotes" if isinstance(value, str) else ""
        raise DiscreetError(f"{what} is {value!r}; give a whole number, {least} or more{quoted}")
    return number


def checked_path(path: object, who: str) -> None:
    """Refuse what is no path."""
    if not isinstance(path, str | PathLike):
        raise DiscreetError(f"{who}: the path is {words_for(path)}; give the name of a file, first")


# --- dates and zones, as people write them


def as_date(date: object, what: str = "the date") -> dt.date:
    """A date: as such, as ISO text, or as a datetime (of Python, pandas or NumPy) at midnight."""
    if type(date) is dt.date:
        return date
    if isinstance(date, str):
        try:
            return dt.date.fromisoformat(date.strip())
        except ValueError:
            date = _as_datetime(date, what)
    elif type(date).__name__ == "datetime64":
        date = _as_datetime(str(date), what)
    if isinstance(date, dt.datetime):
        if date != date:
            raise DiscreetError(f"{what} is missing ({date}); give a date, such as 2026-11-16")
        if date.time() != dt.time():
            raise DiscreetError(
                f"{what} is {date.isoformat()}, which has a time of day; give a date: clock.locate(timestamp)[0], or "
                f"{date.date().isoformat()!r}"
            )
        return date.date()
    if isinstance(date, dt.date):
        return dt.date(date.year, date.month, date.day)
    raise DiscreetError(f"{what} is {words_for(date)}; give a date, or text such as '2026-11-16'")


def _as_datetime(text: str, what: str) -> dt.datetime:
    try:
        return dt.datetime.fromisoformat(text.strip())
    except ValueError:
        raise DiscreetError(f"{what} is {text!r}, which is no date; write it as YYYY-MM-DD") from None


def as_zone(zone: object) -> str:
    """The name of a time zone: as such, of a `ZoneInfo`, or of UTC; an offset alone is no zone."""
    if isinstance(zone, str):
        return zone
    key = getattr(zone, "key", None) or getattr(zone, "zone", None)  # zoneinfo's, or pytz's
    if isinstance(key, str):
        return key
    if zone is dt.UTC:
        return "UTC"
    if isinstance(zone, dt.tzinfo):
        raise DiscreetError(
            f"time zone {zone} is an offset, which does not say when clocks change; give a name such as 'Europe/Paris'"
        )
    raise DiscreetError(f"time zone {zone!r} is not known; use an IANA name such as Europe/Paris, or a ZoneInfo")
