"""Home Assistant's Supervisor, when discreet runs as one of its apps (add-ons): the broker, the trackers, the recorder.

The Supervisor gives an app a token that opens its own routes and, below `/core`, those of Home Assistant. The token is
another at each start, so that it stands in a file that is written at each start, and the settings name the file.
"""

from __future__ import annotations

import datetime as dt
import http.client
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from discreet.data.formats.home_assistant import PEOPLE
from discreet.data.rows import inside
from discreet.errors import DataError, DiscreetError
from discreet.files import written_whole
from discreet.gateway.config.document import edited, section_text

TOKEN, PASSWORD = "supervisor-token", "supervisor-mqtt"
"""Files beside the settings, for their owner alone."""

ADDRESS = "172.30.32.2"
"""The Supervisor in the network of the apps, always: requests by ingress come from there."""

HEAD = "# Written by discreet as an app of Home Assistant at its first start. It is yours: what you change is kept.\n"

PATIENCE = 30.0
"""Seconds for an answer."""

LARGEST = 256 << 20
"""Bytes of an answer: a week of a phone's states is some megabytes."""

WEEK = dt.timedelta(days=7)
WEEKS, QUIET = 104, 5
"""How far the recorder is asked back, and after how many weeks with nothing no further."""

ENTITY = re.compile(rf"({'|'.join(PEOPLE)})\.[a-z0-9_]{{1,200}}")


class SupervisorError(DiscreetError):
    """The Supervisor, or Home Assistant behind it, does not answer as it should."""


@dataclass(frozen=True)
class Tracker:
    """Somebody or something that is somewhere, as Home Assistant calls it."""

    entity: str
    name: str


@dataclass(frozen=True)
class Supervisor:
    """Where it is, such as http://supervisor, and the token that it gave."""

    url: str
    token: str = field(repr=False)

    @classmethod
    def at(cls, url: str, token: str | None) -> Supervisor:
        """The one at an address; what is wrong is said in words."""
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise DiscreetError(f"{url!r} is no address of a Supervisor; give one such as http://supervisor")
        if not token:
            raise DiscreetError("SUPERVISOR_TOKEN is not set; only Home Assistant's Supervisor sets it, for an app")
        return cls(url.rstrip("/"), token)

    @property
    def ingress(self) -> str:
        """Whose X-Ingress-Path is believed."""
        return ADDRESS if urlsplit(self.url).hostname == "supervisor" else str(urlsplit(self.url).hostname)

    # --- what it is asked

    def broker(self) -> Mapping[str, Any] | None:
        """The MQTT service of another app, such as Mosquitto's; None where there is none."""
        found = inside(self._asked("/services/mqtt", missing={}), "data")
        return found if isinstance(found, dict) and isinstance(found.get("host"), str) else None

    def trackers(self) -> list[Tracker]:
        """Who is somewhere, by their names; what discreet itself tells Home Assistant is left out."""
        states = self._asked("/core/api/states")
        found = []
        for state in states if isinstance(states, list) else ():
            entity, said = inside(state, "entity_id"), inside(state, "attributes")
            if not isinstance(entity, str) or ENTITY.fullmatch(entity) is None:
                continue
            attributes = said if isinstance(said, dict) else {}
            if "released_by" not in attributes:
                name = attributes.get("friendly_name")
                found.append(Tracker(entity, name if isinstance(name, str) and name.strip() else entity))
        return sorted(found, key=lambda one: (one.name.casefold(), one.entity))

    def history(self, entity: str, now: dt.datetime) -> bytes:
        """What the recorder has of an entity, as `home-assistant-json`; an empty list where it has nothing."""
        kept: list[list[Any]] = []
        quiet = 0
        for start in _weeks(now):
            states = self._states(entity, start, min(start + WEEK, now))
            quiet = 0 if states else quiet + 1
            if states:
                kept.insert(0, states)
            if quiet == QUIET:
                break
        return json.dumps(kept, ensure_ascii=False).encode()

    def _states(self, entity: str, start: dt.datetime, end: dt.datetime) -> list[Any]:
        """The states from one instant to another. Without the last argument only those that differ in their state are
        given: somebody who moves while they are away would stand still.
        """
        query = urlencode(
            {
                "filter_entity_id": entity,
                "end_time": end.isoformat(),
                "skip_initial_state": "",
                "significant_changes_only": "0",
            }
        )
        lists = self._asked(f"/core/api/history/period/{quote(start.isoformat())}?{query}")
        return [
            state
            for states in (lists if isinstance(lists, list) else ())
            for state in (states if isinstance(states, list) else ())
            if inside(state, "entity_id") == entity
        ]

    def _asked(self, path: str, missing: Any = None) -> Any:
        """The answer to a GET, as JSON; `missing` where there is none of it, unless that is None."""
        at = urlsplit(self.url)
        kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
        connection = kind(str(at.hostname), at.port, timeout=PATIENCE)
        try:
            connection.request("GET", at.path + path, headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            body = answer.read(LARGEST + 1)
        except (OSError, http.client.HTTPException):
            raise SupervisorError("Home Assistant does not answer; see whether it is running, and try again") from None
        finally:
            connection.close()
        if answer.status in (400, 404) and missing is not None:
            return missing
        if answer.status in (401, 403):
            raise SupervisorError("Home Assistant does not let this app ask; install the app again")
        if answer.status != 200 or len(body) > LARGEST:
            raise SupervisorError(f"Home Assistant answered with status {answer.status}; look at its log")
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise SupervisorError("Home Assistant's answer is not JSON; look at its log") from None

    # --- what is written

    def prepare(self, file: Path) -> bool:
        """Write today's token, and settings as the Supervisor says; before each start. True where a broker is known.

        The settings are their owner's: of a file that is there only a [broker] that came from here is renewed.
        """
        file.parent.mkdir(parents=True, exist_ok=True)
        _write_private(file.parent / TOKEN, self.token)
        text = file.read_text("utf-8") if file.exists() else HEAD + self._server()
        text, broker = self._with_broker(file, text, self.broker())
        if not file.exists() or text != file.read_text("utf-8"):
            _write_private(file, text)
        return broker

    def _server(self) -> str:
        return section_text(("server",), {"host": "0.0.0.0", "ingress": self.ingress})

    def _with_broker(self, file: Path, text: str, service: Mapping[str, Any] | None) -> tuple[str, bool]:
        known = tomllib.loads(text).get("broker")
        ours = known is None or known.get("password_file") == PASSWORD
        if service is None or not ours:
            return text, known is not None
        user, password = service.get("username"), service.get("password")
        table: dict[str, Any] = {"host": service["host"], "port": int(service.get("port") or 1883)}
        if service.get("ssl"):
            table["tls"] = True
        if user and password:
            _write_private(file.parent / PASSWORD, str(password))
            table |= {"user": str(user), "password_file": PASSWORD}
        kept = {key: value for key, value in (known or {}).items() if key not in ("host", "port", "tls", "user")}
        return edited(text, ("broker",), table | {key: value for key, value in kept.items() if key not in table}), True


def sections(text: str, person: str, entity: str, url: str) -> str:
    """What the settings of a new person get besides: their tracker, and the stream told to the Supervisor's broker."""
    import tomlkit

    table = {"entities": {entity: person}, "url": f"{url}/core", "token_file": TOKEN}
    found = "\n[[home_assistant]]\n" + section_text(("x",), table).split("\n", 1)[1]
    if tomllib.loads(text).get("broker", {}).get("password_file") == PASSWORD:
        found += f"\n[[broker.tell]]\nperson = {tomlkit.item(person).as_string()}\n"
    return found


def checked_entity(entity: str) -> str:
    """The name of an entity that somebody is; others, and whatever is none, are refused."""
    if ENTITY.fullmatch(entity) is None:
        raise DataError(f"{entity[:100]!r} is no person and no device tracker; choose one of the list")
    return entity


def _weeks(now: dt.datetime) -> Iterator[dt.datetime]:
    """Starts of weeks, the last first."""
    for number in range(1, WEEKS + 1):
        yield now - number * WEEK


def _write_private(path: Path, text: str) -> None:
    with written_whole(path, private=True) as opened:
        opened.write(text.encode())
