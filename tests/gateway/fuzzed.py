"""Requests that nobody sends in good faith, made from the OpenAPI description and from chance, the same for a seed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from discreet.gateway.wires.openapi import PATHS

WORDS = (
    "",
    "0",
    "-1",
    "1e999",
    "9" * 400,
    "2026-03-02",
    "2026-03-02.5",
    "2026-02-30",
    "9999-12-31.999999999999",
    "0001-01-01",
    "null",
    "%00",
    "\x00",
    "../../etc/passwd",
    "' OR 1=1 --",
    "<script>",
    "ä€😀",
    "\u2028",
    "a" * 3000,
    "*",
    'W/"x"',
    "application/json",
    "text/csv;q=0.1, */*",
    "json",
    "csv",
)
METHODS = ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW")
OTHERS = ("/v1/nowhere", "/v1/owner/", "/page/other.js", "//", "/v1/people//now")
"""Beside every route that is described."""
HEADERS = ("Accept", "If-None-Match", "Last-Event-ID", "Content-Type", "Cookie", "Origin", "X-CSRF-Token", "Range")
PEOPLE = [path for path in PATHS if path.startswith("/v1/people/")]


@dataclass(frozen=True)
class Sent:
    """One request."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


class Fuzz:
    """Requests one after the other; `tokens` are secrets, some of which hold."""

    def __init__(self, seed: int, tokens: Sequence[str]) -> None:
        self._chance, self._tokens = random.Random(seed), tokens

    def request(self) -> Sent:
        """The next one."""
        chance = self._chance
        path = chance.choice([*PATHS, *PEOPLE, *PEOPLE, *OTHERS])  # half of them where tokens get further
        methods = [name.upper() for name in PATHS.get(path, {"get": None, "post": None})]
        method = chance.choice(METHODS if chance.random() < 0.2 else methods)
        asked = []
        for described in PATHS.get(path, {}).values():
            asked += [one["name"] for one in described["parameters"] if one["in"] == "query"]
        path = path.replace("{person}", quote(chance.choice(["jane", "jane", "joe", self._word()]), safe=""))
        path = re.sub(r"\{\w+\}", lambda _: quote(chance.choice(["1", "0", self._word()]), safe=""), path)
        query = "&".join(f"{name}={quote(self._word())}" for name in asked if chance.random() < 0.3)
        headers = {name: self._header() for name in HEADERS if chance.random() < 0.15}
        if chance.random() < 0.9:
            headers["Authorization"] = f"Bearer {chance.choice([*self._tokens, self._header()])}"
        if chance.random() < 0.03:
            headers["Host"] = self._header()
        if chance.random() < 0.02:
            headers["X-Forwarded-For"] = self._header()
        return Sent(method, f"{path}?{query}" if query else path, headers, self._body())

    def _word(self) -> str:
        return self._chance.choice(WORDS)

    def _header(self) -> str:
        return "".join(letter for letter in self._word() if " " <= letter <= "~")

    def _body(self) -> bytes:
        chance = self._chance
        match chance.randrange(6):
            case 0:
                return b""
            case 1:
                return chance.randbytes(chance.randrange(200))
            case 2:
                return b"[" * chance.randrange(1, 20_000)
            case 3:
                text = json.dumps([self._reading() for _ in range(chance.randrange(4))])
                cut = chance.randrange(len(text) + 1)
                return text[:cut].encode()
            case 4:
                return json.dumps(self._value(3)).encode("utf-8", "surrogatepass")
        return json.dumps(self._reading()).encode("utf-8", "surrogatepass")

    def _reading(self) -> dict[str, Any]:
        chance = self._chance
        reading: dict[str, Any] = {"time": 1_772_410_000 + chance.randrange(10_000), "label": "home"}
        for key in ("time", "label", "latitude", "longitude", "accuracy", "source", "battery"):
            if chance.random() < 0.25:
                reading[key] = self._value(1)
            if chance.random() < 0.05:
                reading.pop(key, None)
        return reading

    def _value(self, depth: int) -> Any:
        chance = self._chance
        plain = [None, True, 0, -1, 2**70, 1e308, 48.5, -181, "home", "\ud800", "2026-03-02T10:00:00Z", self._word()]
        if depth == 0 or chance.random() < 0.5:
            return chance.choice(plain)
        if chance.random() < 0.5:
            return [self._value(depth - 1) for _ in range(chance.randrange(4))]
        return {self._word(): self._value(depth - 1) for _ in range(chance.randrange(4))}
