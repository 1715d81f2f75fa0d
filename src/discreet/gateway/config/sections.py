"""Sections of `discreet.toml` that say how the gateway serves: where it listens, who writes, who reads which view."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from discreet.errors import DiscreetError
from discreet.gateway.config.section import Section
from discreet.gateway.config.views import WHOLE, View
from discreet.gateway.rate_limits import APPLICATION, SOURCE, Rate
from discreet.gateway.sealed import check_passphrase
from discreet.live.slots import GRACE, MARGIN

PORT = 8321

LONGEST_MARGIN = 60.0

CONNECTIONS = 200
"""Connections of one address at once: a browser has six, a token ten streams."""

ROOT_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
"""A prefix below which a proxy serves the gateway; it stands in a cookie's path and in a redirect."""

UPLOAD = 2000
"""Megabytes that may be brought to the page in all: ten years of a phone's positions are some hundred."""


@dataclass(frozen=True)
class Server:
    """[server]: the address, names that it answers to, TLS by files, proxies whose word is taken, and a prefix."""

    host: str = "127.0.0.1"
    port: int = PORT
    hosts: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    data: Path | None = None
    hsts: bool = True
    """Whether browsers that came over TLS are told to come so for a year."""
    root_path: str = ""
    """The prefix below which a proxy serves the gateway, such as /discreet."""
    ingress: str | None = None
    """The address of Home Assistant's Supervisor, whose X-Ingress-Path is taken."""

    @classmethod
    def read(cls, at: Section) -> Server:
        """From [server]; all of it may be left out."""
        tls = "give both certificate and key, as PEM files, or leave both out"
        found = cls(
            at.text("host", "give an address to listen at, such as '127.0.0.1'", cls.host),
            at.whole("port", "give a port from 1 to 65535", cls.port),
            at.texts("hosts", "list the names that it is reached by, such as ['home.example']"),
            at.texts("proxies", "list the addresses of proxies, such as ['127.0.0.1']"),
            at.existing("certificate", tls) if "certificate" in at else None,
            at.existing("key", tls) if "key" in at else None,
            at.file.parent / data if (data := at.maybe("data", "give the folder of its files")) else None,
            at.flag("hsts", True),
            at.text("root_path", "give the prefix of a proxy, such as '/discreet'", "").rstrip("/"),
            at.maybe("ingress", "give the Supervisor's address, such as '172.30.32.2'"),
        )
        if not 1 <= found.port <= 65535:
            raise at.error("port", f"is {found.port}; give a port from 1 to 65535")
        if (found.certificate is None) != (found.key is None):
            raise at.error("key" if found.key is None else "certificate", f"is missing; {tls}")
        if found.root_path and ROOT_PATH.fullmatch(found.root_path) is None:
            raise at.error("root_path", f"is {found.root_path!r}; give the prefix of a proxy, such as '/discreet'")
        for proxy in found.proxies:
            _check_address(at, "proxies", proxy)
        if found.ingress is not None:
            _check_address(at, "ingress", found.ingress)
        at.done()
        return found

    @property
    def behind(self) -> tuple[str, ...]:
        """Addresses that speak for others: proxies, and the Supervisor."""
        return self.proxies if self.ingress is None else (*self.proxies, self.ingress)

    @property
    def secure(self) -> bool:
        """Whether it speaks TLS itself."""
        return self.certificate is not None

    @property
    def answers_to(self) -> frozenset[str]:
        """Host names, without a port, that are answered: others are a page of somebody else's, rebound to here."""
        return frozenset({"localhost", "127.0.0.1", "[::1]", self.host, *self.hosts})


def _check_address(at: Section, key: str, address: str) -> None:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        raise at.error(key, f"{address!r} is no address; write it as numbers, such as '10.0.0.2'") from None


@dataclass(frozen=True)
class Keeping:
    """[keeping]: when outputs leave, how late a slot is still decided, how long readings are kept. All of it public."""

    margin: float = MARGIN
    grace: float = GRACE
    retention_days: int = 30

    @classmethod
    def read(cls, at: Section) -> Keeping:
        """From [keeping]; all of it may be left out."""
        found = cls(
            at.seconds("margin", f"{MARGIN}s"),
            at.seconds("grace", f"{GRACE}s"),
            at.whole("retention_days", "give a number of days, such as 30", cls.retention_days),
        )
        if not 0 < found.margin <= LONGEST_MARGIN:
            raise at.error("margin", f"is {found.margin:g} s; give more than 0 and at most {LONGEST_MARGIN:g}")
        if found.retention_days < 1:
            raise at.error("retention_days", f"is {found.retention_days}; give a day at least")
        at.done()
        return found


@dataclass(frozen=True)
class Page:
    """[page]: what the owner's page shows besides; `tiles` is a file of MBTiles or PMTiles below the places."""

    tiles: Path | None = None

    @classmethod
    def read(cls, at: Section) -> Page:
        """From [page]; all of it may be left out."""
        words = "give a file of PMTiles or MBTiles, such as 'paris.pmtiles', or leave it out"
        found = cls(at.existing("tiles", words) if "tiles" in at else None)
        at.done()
        return found


EVERY = {"daily": 1, "weekly": 7}
"""Days between two backups."""


@dataclass(frozen=True)
class Backups:
    """[backup]: one archive of everything every so often, the latest of them kept, encrypted where there is a
    passphrase."""

    every: str
    keep: int = 7
    folder: Path = Path("backups")
    passphrase: str | None = field(default=None, repr=False)

    @classmethod
    def read(cls, at: Section) -> Backups:
        """From [backup]."""
        found = cls(
            at.one_of("every", EVERY, "say how often, 'daily' or 'weekly'", "daily"),
            at.whole("keep", "give how many are kept, such as 7", cls.keep, 1, 10_000),
            at.file.parent / at.text("dir", "give the folder that they are written to", str(cls.folder)),
            at.secret("passphrase", "give ten letters or more, better in a file: passphrase_file"),
        )
        at.done()
        if found.passphrase is not None:
            try:
                check_passphrase(found.passphrase)
            except DiscreetError as error:
                raise at.error("passphrase", str(error)) from None
        return found

    @property
    def days(self) -> int:
        """Days between two."""
        return EVERY[self.every]


@dataclass(frozen=True)
class JournalAt:
    """[journal]: where decisions are written; SQLite in the data folder unless a PostgreSQL address is given."""

    url: str | None = field(default=None, repr=False)

    @classmethod
    def read(cls, at: Section) -> JournalAt:
        """From [journal]; all of it may be left out."""
        words = "give an address such as 'postgresql://user@host/discreet', or leave it out for SQLite"
        url = at.maybe("url", words)
        if url is not None and not url.startswith(("postgresql://", "postgres://")):
            raise at.error("url", f"does not begin with postgresql://; {words}")
        at.done()
        return cls(url)

    @property
    def has_password(self) -> bool:
        """Whether the address holds one: before the host, or among the parameters."""
        if self.url is None:
            return False
        try:
            parts = urlsplit(self.url)
            return bool(parts.password) or "password" in parse_qs(parts.query)
        except ValueError:
            return False


@dataclass(frozen=True)
class Application:
    """[applications.NAME]: who reads a person's stream, in which view."""

    name: str
    person: str
    view: str = WHOLE
    now_only: bool = False

    @classmethod
    def read(cls, name: str, at: Section, people: Container[str], views: Iterable[str]) -> Application:
        """From [applications.NAME]."""
        words = "give the name of a view, [views.NAME], or 'whole'"
        found = cls(
            name,
            _person(at, people),
            at.one_of("view", views, words, WHOLE),
            at.flag("now_only", False),
        )
        at.done()
        return found


@dataclass(frozen=True)
class Rates:
    """[limits]: requests a second of one token, and ten seconds' worth at once; megabytes of files that are brought;
    connections of one address."""

    application: Rate = APPLICATION
    source: Rate = SOURCE
    upload: int = UPLOAD
    connections: int = CONNECTIONS

    @classmethod
    def read(cls, at: Section) -> Rates:
        """From [limits]; all of it may be left out."""
        rates: dict[str, Rate] = {}
        for key, rate in (("application", APPLICATION), ("source", SOURCE)):
            given = at.whole(key, "give requests a second, such as 20", int(rate.a_second))
            if given < 1:
                raise at.error(key, f"is {given}; give one a second at least")
            rates[key] = Rate(10 * given, given)
        upload = at.whole("upload", "give megabytes, such as 2000", UPLOAD, 1, 1_000_000)
        connections = at.whole("connections", "give a number, such as 200", CONNECTIONS, 1, 100_000)
        at.done()
        return cls(rates["application"], rates["source"], upload, connections)


def read_view(name: str, at: Section) -> View:
    """From [views.NAME]: `groups` joins released contexts under a name, `rest` is what all others are called."""
    if name == WHOLE:
        raise at.error(None, "is the name of the view that shows all as it is; give another")
    groups = at.section("groups", "write it as a table, such as groups = { home = ['home'] }")
    words = "list the contexts of the group, such as ['home']"
    found: Mapping[str, frozenset[str]] = {group: frozenset(groups.texts(group, words)) for group in groups.names()}
    if not found:
        raise at.error("groups", "is missing; write it as a table, such as groups = { home = ['home'] }")
    rest = at.maybe("rest", "give a name for all the rest, such as 'away'")
    at.done()
    try:
        return View(name, found, rest)
    except DiscreetError as error:
        raise at.error(None, str(error)) from None


def view_table(view: View) -> dict[str, object]:
    """The section of a view as a file has it, which `read_view` reads."""
    groups = {group: sorted(contexts) for group, contexts in (view.groups or {}).items()}
    return {"groups": groups} | ({} if view.rest is None else {"rest": view.rest})


def _person(at: Section, people: Container[str]) -> str:
    person = at.text("person", "give the name of somebody in [people]")
    if person not in people:
        raise at.error("person", f"{person!r} is not in [people]; add [people.{person}], or give another name")
    return person
