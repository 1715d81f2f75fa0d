"""The prefix below which a request came: the settings' own, or that of Home Assistant's ingress.

The Supervisor passes on what Home Assistant's own login let through, and says below which path in `X-Ingress-Path`.
Other add-ons share its network and could send that header too, so it is taken from the Supervisor's address alone and
from nobody else; what is not of its form is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.types import Scope

INGRESS = re.compile(r"/api/hassio_ingress/[A-Za-z0-9_-]{16,128}")
"""What the Supervisor sends; nothing else may stand in a cookie's path."""

HEADER = b"x-ingress-path"

Headers = Sequence[tuple[bytes, bytes]]


class PrefixError(Exception):
    """A request whose prefix cannot be believed; its words are for the caller."""


def ingress_of(headers: Headers, client: str | None, trusted: str | None) -> str | None:
    """The ingress path that a request came below; None where it did not come by ingress."""
    given = [value.decode("latin-1") for name, value in headers if name == HEADER]
    if not given:
        return None
    if trusted is None or client != trusted:
        raise PrefixError("X-Ingress-Path is taken from server.ingress of discreet.toml alone")
    if len(given) != 1 or INGRESS.fullmatch(given[0]) is None:
        raise PrefixError("X-Ingress-Path is not one path as the Supervisor sends it")
    return given[0]


def placed_below(scope: Scope, prefix: str) -> Scope:
    """The same request with its prefix known, whether the proxy has left it in the path or taken it away."""
    path, raw = str(scope["path"]), bytes(scope.get("raw_path") or scope["path"].encode())
    if path == prefix or path.startswith(f"{prefix}/"):
        return {**scope, "root_path": prefix}
    return {**scope, "root_path": prefix, "path": prefix + path, "raw_path": prefix.encode() + raw}


def within(scope: Scope) -> str:
    """The path of a request below its prefix."""
    return str(scope["path"])[len(scope.get("root_path", "")) :]


def told_by_home_assistant(headers: Headers) -> list[tuple[bytes, bytes]]:
    """The headers with the host that the browser named, where a proxy before Home Assistant has changed it."""
    named = next((value for name, value in headers if name == b"x-forwarded-host"), None)
    if named is None:
        return list(headers)
    return [(name, named if name == b"host" else value) for name, value in headers]
