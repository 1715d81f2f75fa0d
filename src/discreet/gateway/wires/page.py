"""The owner's page: built files, the same for everybody; all that is private comes by the routes.

Nothing that is private is compressed: the size of what is would tell of it.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.dashboard import FILES, FOLDER

KINDS = {
    "html": "text/html",
    "js": "text/javascript",
    "css": "text/css",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
}


class Built(NamedTuple):
    """A file of the page, as it is and compressed."""

    plain: bytes
    packed: bytes
    etag: str


def routes() -> list[Route]:
    """The page at `/` and at `/page`, and what it is made of below `/page/`: these names, and no path of a caller's."""
    return [_file("/", "index.html"), _file("/page", "index.html"), *(_file(f"/page/{name}", name) for name in FILES)]


def kind_of(name: str) -> str:
    """The media type of a file of the page."""
    return KINDS[name.rpartition(".")[2]]


@cache
def built(name: str) -> Built:
    """Read and compressed once."""
    plain = (FOLDER / name).read_bytes()
    return Built(plain, gzip.compress(plain, mtime=0), f'"{hashlib.sha256(plain).hexdigest()[:16]}"')


def _file(path: str, name: str) -> Route:
    async def answer(request: Request) -> Response:
        file = built(name)
        headers = {"Cache-Control": "no-cache", "ETag": file.etag, "Vary": "Accept-Encoding"}
        if file.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(file.plain, headers=headers, media_type=kind_of(name))
        return Response(file.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=kind_of(name))

    return Route(path, answer, methods=["GET"])
