"""One day of a person as its owner sees it: what was told, what was true, and what an observer may believe by now.

What was true is here, so nothing of this is for an application, nor for a token: `day_http` gives it to the owner's own
session alone.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np

from discreet.adversary.endless import EndlessAdversary
from discreet.clock import Clock
from discreet.errors import DiscreetError
from discreet.gateway.owner.beliefs import WatchedDay, Watching
from discreet.gateway.runtime import Gateway
from discreet.gateway.slots.served import unpromised
from discreet.outputs import to_wire
from discreet.places.named import Places
from discreet.session import Session


def days_of(gateway: Gateway, person: str, clock: Clock) -> dict[str, str | None]:
    """The first and the last date of which something was told, both None before the first slot; when the slot ends
    that is decided next; and what is not promised of the stream."""
    shown, heads = gateway.shown(person), gateway.keeper.journal.heads(person)
    stream = gateway.keeper.people[person]
    next_end = clock.end_of(*stream.next).astimezone(dt.UTC).isoformat()
    found = {"next": next_end, "zone": clock.zone, "unpromised": unpromised(stream.session.mechanism)}
    if shown is None or not heads:
        return {"first": None, "last": None, **found}
    return {"first": heads[0].start.isoformat(), "last": shown[0].isoformat(), **found}


def day_of(gateway: Gateway, person: str, clock: Clock, date: dt.date, first: int = 0) -> dict[str, Any]:
    """Every slot of a date from one on: its times, what was told, what was true where the own store still has it, and
    why something else was told than that (`silences`).

    None stands for what is not told yet, was never decided, or is not kept any more.
    """
    rows = gateway.rows(person, (date, first - 1), (date, clock.slots))
    told = {row.slot: to_wire(row.output) for row in rows}
    own = gateway.keeper.own
    true, why = own.truth(person, date), own.why(person, date)
    slots = [
        {
            "slot": slot,
            "start": clock.start_of(date, slot).astimezone(dt.UTC).isoformat(),
            "end": clock.end_of(date, slot).astimezone(dt.UTC).isoformat(),
            "told": told.get(slot),
            "true": true.get(slot) if slot in told else None,  # what is true before it is told is not shown beside it
            "why": json.loads(why[slot]) if slot in told and slot in why else None,
        }
        for slot in range(first, clock.slots)
    ]
    return {"person": person, "date": date.isoformat(), "zone": clock.zone, "slots": slots}


def beliefs_of(
    watching: Watching, person: str, session: Session, date: dt.date, *, whole: bool = True
) -> dict[str, Any]:
    """Belief in each secret of a date by all that was told until now, with its prior and its limit.

    A secret at each slot has a list of them, None where it is not held: its belief is by all that was told until now,
    later slots and days included. One at any slot has one of each, of its window, and a `line`: the belief after each
    slot of the date, by what had been told until then. Not `whole`: belief and line alone, for who has the rest.
    `why` says in words why there are none: the session keeps the last days, and those since habits or policy changed.
    """
    try:
        watched = watching.of(person, session, date)
    except DiscreetError as error:
        return {"secrets": [], "why": str(error)}
    belief = watched.belief
    gains = belief.on(date)
    adversary: EndlessAdversary = session.belief.adversary
    told = session.already_told
    secrets = []
    for g, name in enumerate(adversary.secrets.names):
        one = _any if adversary.secrets.any_slot[g] else _each
        secrets.append(one(adversary, g, watched, gains[name], told.get(name, {})))
    if not whole:
        secrets = [{key: one[key] for key in ("name", "belief", "line") if key in one} for one in secrets]
    return {"secrets": secrets, "why": None}


def _each(adversary: EndlessAdversary, g: int, watched: WatchedDay, gains: Any, told: Any) -> dict[str, Any]:
    model, table = adversary.model, adversary.secrets
    morning, held = model.slot_of(watched.date), max(model.first, int(adversary.held_from[g]))
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


def _any(adversary: EndlessAdversary, g: int, watched: WatchedDay, gain: Any, told: Any) -> dict[str, Any]:
    """Of the window that opens on the date."""
    opens = watched.windows.get(g)
    if opens is None:
        return _named(adversary, g) | {"prior": None, "belief": None, "limit": None, "line": None}
    prior = adversary.window(g, opens).prior
    limit = _limit(adversary, g, prior, told.get(opens))
    line = [None if one is None else _share(one) for one in watched.lines[g]]
    return _named(adversary, g) | {"prior": prior, "belief": _share(prior + gain), "limit": limit, "line": line}


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
        "over": secret.over,
        "sliding": secret.sliding,
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
