"""Which mechanisms are served, and what they do not promise of a stream: for the owner, in the log and on the page.

Applications see every output of every day. A mechanism that promises something of single days, or of single outputs,
is served where the settings say `accept = "ends at midnight"`.
"""

from __future__ import annotations

from discreet.contracts import AnyMechanism
from discreet.errors import DiscreetError, OneDayError
from discreet.gateway.slots.person import PersonConfig
from discreet.mechanisms.day_by_day import DayByDay, EachDaySpec
from discreet.mechanisms.named import kebab
from discreet.policy import Guarantee

REMEDY = 'use adaptive, or accept that its promise ends at midnight (accept = "ends at midnight" beside it)'


def checked_mechanism(config: PersonConfig, mechanism: AnyMechanism) -> AnyMechanism:
    """The mechanism, if its promise is of all outputs, or the settings accept that it is not."""
    if mechanism.guarantee.kind == "window only" and not isinstance(config.spec, EachDaySpec):
        raise DiscreetError(
            f"people.{config.name}.mechanism: {type(mechanism).__name__} promises something of a part of the outputs "
            f"only, and applications see all of them; {REMEDY}"
        )
    return mechanism


def of_one_day(config: PersonConfig, error: OneDayError) -> DiscreetError:
    """What to say of a mechanism that releases one day at a time."""
    return DiscreetError(
        f"people.{config.name}.mechanism: {config.spec.name} releases one day at a time ({error}); {REMEDY}"
    )


def unpromised(mechanism: AnyMechanism) -> str | None:
    """What is not promised of a stream, in a sentence or two; None where the promise is of all outputs."""
    if isinstance(mechanism, DayByDay):
        of_day = mechanism.of(mechanism.model.start)
        name, own = kebab(type(of_day).__name__), of_day.guarantee
        if own.kind == "exact delta":
            return (
                f"What {name} promises ends at midnight: it starts anew each day, and what several days tell together "
                f"is not bounded. Of a day it promises: {own.statement}."
            )
        return f"{_of(name, own)} It starts anew each day, and what several days tell together is not bounded."
    own = mechanism.guarantee
    return None if own.kind in ("exact delta", "epsilon") else _of(kebab(type(mechanism).__name__), own)


def _of(name: str, own: Guarantee) -> str:
    if own.kind == "none":
        return f"{name} promises nothing: {own.statement}."
    return f"{name} promises something of a part of the outputs only: {own.statement}."
