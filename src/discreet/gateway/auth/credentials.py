"""Credentials of a request: a token as Bearer, or as the password of Basic, which is what phones and browsers send."""

from __future__ import annotations

import base64

from starlette.responses import Response

LONGEST = 1024
"""Characters of a header; a token has 43."""


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
