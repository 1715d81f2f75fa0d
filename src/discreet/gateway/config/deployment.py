"""Who may do what at the broker: the accounts and the ACL of Mosquitto, from the names in one's own settings.

An application's account reads its view's topics, and the documents by which Home Assistant finds that view. Those of
other views do not reach it: they would say which views there are, and of whom.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from discreet.errors import DiscreetError
from discreet.gateway.config.broker import RELEASED, Broker, ToldView
from discreet.gateway.config.settings import Settings
from discreet.gateway.config.views import WHOLE
from discreet.gateway.wires.home_assistant import discovery

HOME_ASSISTANT, RECORDER = "home-assistant", "recorder"
"""Accounts of the two applications that the docs name; both read whole streams."""

STATESTREAM = "statestream"
"""Where Home Assistant tells its states, unless the settings say otherwise."""

HEAD = """\
# Who may do what at the broker. One account for each phone, for the gateway, and for each application.
# Mosquitto answers a subscription that is not allowed with nothing at all: test by what does not arrive.

# Phones write their own positions, and read nothing of other phones. The account's name is the topic's user.
pattern write owntracks/%u/+
pattern write owntracks/%u/+/#
"""

GATEWAY = "# The gateway reads what the sources say, and is alone in writing what is released."

OF_HOME_ASSISTANT = """\
# Home Assistant: whole streams, how it finds them, and its own statestream if that is a source. Other devices of yours
# that announce themselves at this broker need a line each: topic read homeassistant/+/THEIR_NAME/+/config"""

OF_RECORDER = "# The OwnTracks Recorder: released locations, and nothing of the phones."

OF_FRIENDS = "# The OwnTracks map of {phone}: who shows it where they are, by [[friend]] of the settings."

OF_VIEW = (
    "# An application with the view {view}. To let it go, remove these lines, and revoke its token (discreet token "
    "revoke)."
)


@dataclass(frozen=True)
class Accounts:
    """Everybody who has an account at the broker."""

    broker: Broker
    phones: tuple[str, ...]
    statestream: str = STATESTREAM
    friends: Mapping[str, Sequence[ToldView]] = field(default_factory=dict)
    """What a phone's account reads of others, for its map."""

    @classmethod
    def of(cls, settings: Settings) -> Accounts:
        """As the settings have it; where they tell the broker nothing yet, every view of everybody."""
        broker = settings.broker or Broker()
        phones = [one.user for one in settings.owntracks] or list(settings.people)
        base = next((one.statestream for one in settings.home_assistant if one.statestream), STATESTREAM)
        named = cls.named(list(settings.people), list(settings.views))
        if not broker.tells:
            broker = Broker(user=broker.user, name=broker.name, discovery=broker.discovery, tells=named.broker.tells)
        return cls(broker, tuple(dict.fromkeys(phones)), base, _friends(settings, broker))

    @classmethod
    def named(cls, people: Sequence[str], views: Sequence[str] = ()) -> Accounts:
        """Of people and views by their names, where there are no settings yet."""
        for name in (*people, *views):
            if not name.strip() or not name.isprintable() or set(name) & set("/+#") or name.startswith("$"):
                raise DiscreetError(f"{name!r} cannot be part of a topic; use a name without / + # and no leading $")
        tells = tuple(ToldView(person, view) for view in (WHOLE, *views) for person in people)
        return cls(Broker(tells=tells), tuple(people))

    def __post_init__(self) -> None:
        for phone in self.phones:
            if phone in (self.gateway, HOME_ASSISTANT, RECORDER):
                raise DiscreetError(
                    f"a phone's account cannot be {phone!r}, which is another's; give it another user in [[owntracks]]"
                )

    @property
    def gateway(self) -> str:
        """The gateway's own account."""
        return self.broker.user or "discreet"

    @property
    def applications(self) -> Mapping[str, Sequence[ToldView]]:
        """What each application's account reads; a view is read by an account of its name, or one that is free."""
        found: dict[str, list[ToldView]] = {}
        taken = {self.gateway, HOME_ASSISTANT, RECORDER, *self.phones}
        for told in self.broker.tells:
            own = f"view-{told.view}" if told.view in taken else told.view
            for account in (HOME_ASSISTANT, RECORDER) if told.view == WHOLE else (own,):
                found.setdefault(account, []).append(told)
        return {account: told for account, told in found.items() if account != RECORDER or any(map(_located, told))}

    @property
    def names(self) -> list[str]:
        """All of them: phones, the gateway, and applications."""
        return list(dict.fromkeys([*self.phones, self.gateway, *self.applications]))

    def acl(self) -> str:
        """The text of `mosquitto.acl`."""
        blocks = [HEAD, _block(GATEWAY, self.gateway, self._of_gateway())]
        for account, told in self.applications.items():
            words = {HOME_ASSISTANT: OF_HOME_ASSISTANT, RECORDER: OF_RECORDER}.get(account)
            lines = self._read_by(account, told)
            blocks.append(_block(words or OF_VIEW.format(view=told[0].view), account, lines))
        for phone, told in self.friends.items():
            lines = (f"read {RELEASED}/{one.person}/{one.view}" for one in told)
            blocks.append(_block(OF_FRIENDS.format(phone=phone), phone, lines))
        return "\n".join(blocks)

    def _of_gateway(self) -> Iterable[str]:
        broker = self.broker
        yield "read owntracks/#"
        yield f"read {self.statestream}/#"
        yield f"read {broker.discovery}/status"
        yield f"readwrite {broker.name}/#"
        yield f"write {RELEASED}/#"
        for kind in ("device_tracker", "sensor"):
            yield f"readwrite {broker.discovery}/{kind}/+/config"

    def _read_by(self, account: str, views: Iterable[ToldView]) -> Iterable[str]:
        broker = self.broker
        if account == HOME_ASSISTANT:
            yield f"write {broker.discovery}/status"
            yield f"write {self.statestream}/#"
        if account != RECORDER:
            yield f"read {broker.status}"
        for told in views:
            if account != RECORDER:
                yield f"read {broker.topic(told.person, told.view)}/#"
            if _located(told):
                yield f"read {RELEASED}/{told.person}/{told.view}"
            if account != RECORDER and "home_assistant" in told.forms:
                yield from (f"read {topic}" for topic, _ in discovery(broker, told.person, told.view))


def _friends(settings: Settings, broker: Broker) -> dict[str, list[ToldView]]:
    """By the account of each phone that shows friends: those of whom locations are told to the broker."""
    found: dict[str, list[ToldView]] = {}
    for one in settings.friends:
        phones = dict.fromkeys(phone.user for phone in settings.owntracks if phone.person == one.to)
        told = [told for told in broker.tells if (told.person, told.view) == (one.person, one.view) and _located(told)]
        for phone in phones or (one.to,):
            if told:
                found.setdefault(phone, []).extend(told)
    return found


def _located(told: ToldView) -> bool:
    return "owntracks" in told.forms


def _block(words: str, account: str, lines: Iterable[str]) -> str:
    return "\n".join([words, f"user {account}", *(f"topic {line}" for line in lines)]) + "\n"
