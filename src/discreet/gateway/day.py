"""One day of a person as its owner sees it: what was told, what was true, and what an observer may believe by now.

What was true is here, so nothing of this is for an application, nor for a token: `day_http` gives it to the owner's own
session alone.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np

from discreet.adversary.endless import EndlessAdversary
from discreet.clock import Clock
from discreet.errors import DiscreetError
from discreet.gateway.runtime import Gateway
from discreet.numerics import FloatArray
from discreet.outputs import to_wire
from discreet.places.named import Places
from discreet.session import Session


def days_of(gateway: Gateway, person: str) -> dict[str, str | None]:
    """The first and the last date of which something was told; both None before the first slot."""
    shown, heads = gateway.shown(person), gateway.keeper.journal.heads(person)
    if shown is None or not heads:
        return {"first": None, "last": None}
    return {"first": heads[0].start.isoformat(), "last": shown[0].isoformat()}


def day_of(gateway: Gateway, person: str, clock: Clock, date: dt.date) -> dict[str, Any]:
    """Every slot of a date: its times, what was told, and what was true where the own store still has it.

    None stands for what is not told yet, was never decided, or is not kept any more.
    """
    told = {row.slot: to_wire(row.output) for row in gateway.rows(person, (date, -1), (date, clock.slots))}
    true = gateway.keeper.own.truth(person, date)
    slots = [
        {
            "slot": slot,
            "start": clock.start_of(date, slot).astimezone(dt.UTC).isoformat(),
            "end": clock.end_of(date, slot).astimezone(dt.UTC).isoformat(),
            "told": told.get(slot),
            "true": true.get(slot) if slot in told else None,  # what is true before it is told is not shown beside it
        }
        for slot in range(clock.slots)
    ]
    return {"person": person, "date": date.isoformat(), "zone": clock.zone, "slots": slots}


def beliefs_of(session: Session, date: dt.date) -> dict[str, Any]:
    """Belief in each secret of a date by all that was told until now, with its prior and its limit.

    A secret at each slot has a list of them, None where it is not held; one at any slot has one of each, of its window.
    `why` says in words why there are none: the session keeps the last days, and those since habits or policy changed.
    """
    try:
        gains = session.gains(date)
    except DiscreetError as error:
        return {"secrets": [], "why": str(error)}
    adversary: EndlessAdversary = session.belief.adversary
    told = session.already_told
    return {
        "secrets": [
            _any(adversary, g, date, gains[name], told.get(name, {}))
            if adversary.secrets.any_slot[g]
            else _each(adversary, g, date, gains[name], told.get(name, {}))
            for g, name in enumerate(adversary.secrets.names)
        ],
        "why": None,
    }


def _each(adversary: EndlessAdversary, g: int, date: dt.date, gains: FloatArray, told: Any) -> dict[str, Any]:
    model, table = adversary.model, adversary.secrets
    morning, held = model.slot_of(date), max(model.first, int(adversary.held_from[g]))
    prior: list[float | None] = []
    belief: list[float | None] = []
    limit: list[float | None] = []
    for slot, gain in enumerate(np.asarray(gains).tolist()):
        at = morning + slot
        if at < held or not table.active[g, slot]:
            known = most = None
        else:
            known = float(model.prior_at(at)[table.members[g]].sum())
            most = _limit(adversary, g, known, told.get(at))
        prior.append(known)
        belief.append(None if known is None else _share(known + gain))
        limit.append(most)
    return _named(adversary, g) | {"prior": prior, "belief": belief, "limit": limit}


def _any(adversary: EndlessAdversary, g: int, date: dt.date, gain: float, told: Any) -> dict[str, Any]:
    """Of the window that opens on the date."""
    morning, held = adversary.model.slot_of(date), max(adversary.model.first, int(adversary.held_from[g]))
    opens = next(
        (t for t in range(morning, morning + adversary.model.day_slots) if _opens(adversary, g, t, held)), None
    )
    if opens is None:
        return _named(adversary, g) | {"prior": None, "belief": None, "limit": None}
    prior = adversary.window(g, opens).prior
    limit = _limit(adversary, g, prior, told.get(opens))
    return _named(adversary, g) | {"prior": prior, "belief": _share(prior + gain), "limit": limit}


def _opens(adversary: EndlessAdversary, g: int, t: int, held: int) -> bool:
    slot = t % adversary.model.day_slots
    return t >= held and bool(adversary.secrets.active[g, slot]) and adversary.window(g, t).opens == t


def _limit(adversary: EndlessAdversary, g: int, prior: float, told: float | None) -> float:
    """What belief may rise to; where more was told before the secret was declared, that."""
    if told is not None:
        return told
    return _share(prior + adversary.policy.row_delta(adversary.policy.secrets[g], prior))


def _share(value: float) -> float:
    """A sum of probabilities without what rounding adds beyond 0 and 1."""
    return min(1.0, max(0.0, float(value)))


def _named(adversary: EndlessAdversary, g: int) -> dict[str, Any]:
    secret = adversary.policy.secrets[g]
    return {
        "name": secret.name,
        "contexts": sorted(secret.contexts),
        "at": secret.at,
        "delta": adversary.policy.delta_of(secret),
    }


def places_of(places: Places) -> list[dict[str, Any]]:
    """Every place with its middle, in degrees, and the rings of its shape."""
    return [
        {
            "name": place.name,
            "middle": list(place.shape.middle),
            "rings": [ring.tolist() for ring in place.shape.rings],
        }
        for place in places.places
    ]
