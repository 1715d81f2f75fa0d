"""The person's broker: how it is reached, and which views are told there; one topic a view, so that an ACL parts them.

`NAME/PERSON/VIEW` has a retained message a slot; below it are the state and the attributes for Home Assistant;
`released/PERSON/VIEW` has OwnTracks locations, which need three parts. `NAME` is `discreet` unless two gateways share a
broker.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from discreet.gateway.config.section import Section
from discreet.gateway.config.views import WHOLE

Version = Literal["3.1.1", "5"]

Form = Literal["json", "owntracks", "home_assistant"]

RELEASED = "released"
"""The first part of topics with OwnTracks locations: never that of the phones, whose positions are raw."""


@dataclass(frozen=True)
class ToldView:
    """A view of a person that is told on the broker."""

    person: str
    view: str = WHOLE
    forms: frozenset[str] = frozenset(get_args(Form))
    now_only: bool = False
    """The present alone: at most once (QoS 0), which a broker does not queue for who is away."""
    token: str | None = None
    """The public name of a token; when it is revoked, what is retained is cleared."""

    @classmethod
    def read(cls, at: Section) -> ToldView:
        """From one table of [[broker.tell]]."""
        person = at.topic_part("person", "say whose stream is told, by a name of [people]")
        view = at.topic_part("view", "give a name of [views]", WHOLE)
        known = get_args(Form)
        forms = at.texts("forms", f"list some of {', '.join(known)}", known)
        for form in forms:
            if form not in known:
                raise at.error("forms", f"has {form!r}; list some of {', '.join(known)}")
        now_only = at.flag("now_only", False)
        token = at.maybe("token", "give the name of a token that discreet token list shows")
        at.done()
        if not forms:
            raise at.error("forms", f"is empty; list some of {', '.join(known)}, or leave the whole table out")
        return cls(person, view, frozenset(forms), now_only, token)


@dataclass(frozen=True)
class Broker:
    """Where the broker is, who the gateway is there, and what it tells."""

    host: str = "127.0.0.1"
    port: int = 1883
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: bool = False
    authority: Path | None = None
    """A file with the certificate that the broker's is signed by; without one, the system's."""
    version: Version = "3.1.1"
    name: str = "discreet"
    """Who the gateway is to the broker (a fixed client id: the broker keeps what it missed), and its topics' first
    part."""
    discovery: str = "homeassistant"
    """Where Home Assistant looks for new devices."""
    tells: tuple[ToldView, ...] = ()

    @classmethod
    def read(cls, at: Section) -> Broker:
        """From [broker]."""
        version = _version(at)
        tls = at.flag("tls", False)
        found = cls(
            at.text("host", "give the broker's name or address", "127.0.0.1"),
            at.whole("port", "give a port, such as 1883, or 8883 with TLS", 8883 if tls else 1883, 1, 65535),
            at.maybe("user", "give the gateway's user name at the broker"),
            at.secret("password", "give the gateway's password at the broker"),
            tls,
            at.existing("authority", "give the path of a certificate") if "authority" in at else None,
            version,
            at.topic_part("name", "give a name", "discreet"),
            at.text("discovery", "give Home Assistant's discovery prefix", "homeassistant"),
            tuple(ToldView.read(one) for one in at.tables("tell", "write each as [[broker.tell]]")),
        )
        at.done()
        found._check(at)
        return found

    def _check(self, at: Section) -> None:
        if self.password is not None and self.user is None:
            raise at.error("user", "is missing, and there is a password; give both")
        if self.authority is not None and not self.tls:
            raise at.error("tls", "is not true, and there is an authority; set it, or leave the authority out")
        if self.name == RELEASED or set(self.discovery) & set("+#\0"):
            raise at.error("name" if self.name == RELEASED else "discovery", "cannot begin topics; choose another")
        pairs = [(one.person, one.view) for one in self.tells]
        for pair in pairs:
            if pairs.count(pair) > 1:
                raise at.error("tell", f"{pair[0]} has the view {pair[1]} twice; keep one")

    @property
    def context(self) -> ssl.SSLContext | None:
        """How the broker proves itself; None without TLS."""
        return ssl.create_default_context(cafile=self.authority) if self.tls else None

    @property
    def status(self) -> str:
        """Where the gateway says that it is there; the broker says when it is not."""
        return f"{self.name}/status"

    def topic(self, person: str, view: str) -> str:
        """The topic of a view."""
        return f"{self.name}/{person}/{view}"


def _version(at: Section) -> Version:
    match at.text("version", "write '3.1.1' or '5'", "3.1.1"):
        case "3.1.1":
            return "3.1.1"
        case "5":
            return "5"
        case other:
            raise at.error("version", f"is {other!r}; write '3.1.1' or '5'")


def identifier(*parts: str) -> str:
    """A name of letters, digits, - and _ for texts of any letters; different texts have different names."""
    return "-".join(re.sub("[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):x}_", part) for part in parts)
