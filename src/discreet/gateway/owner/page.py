"""The owner's page: built files of the package, the same for everybody. All that is private comes by the routes."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from discreet.dashboard import FILES, FOLDER


def page_routes() -> list[Route]:
    """The page at `/` and at `/page`, and what it is made of below `/page/`: these names, and no path of a caller's."""
    return [_file("/", "index.html"), _file("/page", "index.html"), *(_file(f"/page/{name}", name) for name in FILES)]


def _file(path: str, name: str) -> Route:
    async def given(request: Request) -> Response:
        return FileResponse(FOLDER / name, headers={"Cache-Control": "no-cache"})

    return Route(path, given, methods=["GET"])
