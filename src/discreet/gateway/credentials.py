"""Credentials of a request: a token as Bearer, or as the password of Basic, which is what phones and browsers send."""

from __future__ import annotations

import base64
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

LONGEST = 1024
"""Characters of a header; a token has 43."""


class Granted(Protocol):
    """What a token opens."""

    @property
    def purpose(self) -> str:
        """For whom it was made: source, application or owner."""

    @property
    def person(self) -> str | None:
        """Whose stream."""

    @property
    def view(self) -> str:
        """Which view of it."""

    @property
    def now_only(self) -> bool:
        """Whether the past is closed."""


class Grants(Protocol):
    """Who knows tokens."""

    def grant(self, secret: str) -> Granted | None:
        """What a secret opens; None for one that is unknown, expired or revoked."""


def granted(request: Request, access: Grants, purpose: str) -> Granted | None:
    """What the request may do, if it is for that purpose."""
    secret = secret_of(request.headers.get("authorization", ""))
    found = access.grant(secret) if secret else None
    return found if found is not None and found.purpose == purpose and found.person is not None else None


def secret_of(header: str) -> str | None:
    """The token in an Authorization header; Basic's user name tells nothing."""
    scheme, _, value = header.strip().partition(" ")
    if len(header) > LONGEST:
        return None
    match scheme.lower():
        case "bearer":
            return value.strip() or None
        case "basic":
            try:
                return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2] or None
            except ValueError:
                return None
    return None


def refused() -> Response:
    """Wrong credentials, or none. A browser asks for them."""
    return Response(status_code=401, headers={"WWW-Authenticate": 'Basic realm="discreet"'})
