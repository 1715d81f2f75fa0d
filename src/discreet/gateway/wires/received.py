"""What one application gets, to the byte: for its owner and for ours to look at, by the same code that it is sent by.

All of it is made by `Forms` of rows that everybody may know of, in the token's own view. Nothing of the truth is in
reach.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from discreet.gateway.auth.tokens import Grant
from discreet.gateway.config.views import View
from discreet.gateway.forms import Forms, encoded
from discreet.gateway.runtime import Gateway

SHOWN = 12
"""Slots that are shown, the last ones."""

UNTOLD = 4
"""Slots that may be decided and not told yet."""


def gets(gateway: Gateway, forms: Forms, grant: Grant) -> dict[str, Any]:
    """Requests that a token may make, each with the answer's text: the present, events of the stream, and a table.

    A token for the present alone gets the last slot and no other. What a view joins is not said: whoever reads
    "elsewhere" would learn which places are meant (`grouped` is for the owner).
    """
    shown, last = gateway.shown(forms.person), 1 if grant.now_only else SHOWN
    rows = gateway.keeper.journal.latest(forms.person, last + UNTOLD)
    told = [row for row in rows if shown is not None and row.key <= shown][-last:]
    path = f"/v1/people/{quote(forms.person, safe='')}"
    answers = [
        _answer(f"GET {path}/now", encoded(forms.event(told[-1])) if told else b""),
        _answer(f"GET {path}/stream", b"".join(forms.server_sent(row) for row in told)),
    ]
    if not grant.now_only:
        answers.append(_answer(f"GET {path}/releases?format=csv", forms.table(told)))
    return {
        "person": forms.person,
        "view": forms.view.name,
        "now_only": grant.now_only,
        "slots": len(told),
        "answers": answers,
    }


def grouped(view: View) -> dict[str, Any]:
    """Which contexts a view joins under which name, for the owner alone."""
    groups = None if view.groups is None else {name: sorted(inside) for name, inside in view.groups.items()}
    return {"groups": groups, "rest": view.rest}


def _answer(request: str, body: bytes) -> dict[str, str]:
    return {"request": request, "body": body.decode()}
