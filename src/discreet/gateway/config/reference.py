"""Every key of `discreet.toml`: what it means, its type, what holds without it, and an example.

`discreet serve --template` and `docs/settings.md` are made from here. A test compares the keys with those that the
sections ask for, so that neither can be out of date.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Key(NamedTuple):
    """A key of a section; `default` and `example` are as TOML has them, and an empty default says that it is needed."""

    name: str
    kind: str
    default: str
    example: str
    words: str


class SettingsSection(NamedTuple):
    """A section as it is written, and what it is for."""

    header: str
    words: str
    keys: tuple[Key, ...]


NONE = "none"
"""What holds without a key that has no value of its own."""

REFERENCE: tuple[SettingsSection, ...] = (
    SettingsSection(
        "[clock]",
        "The clock of all people: how many slots a day has, in which time zone, and when it ends.",
        (
            Key("slots", "whole number", "48", "48", "Slots of a day: 48 are half hours."),
            Key("zone", "text", "", '"Europe/Paris"', "The time zone, by its name in the IANA database."),
            Key("cut", "time of day", '"00:00"', '"00:00"', "When a day ends and the next begins."),
        ),
    ),
    SettingsSection(
        "[people.jane]",
        "A person who is served; `jane` is the name in addresses and topics. `discreet setup` and the page write this.",
        (
            Key("routine", "path", "", '"jane.model"', "The model of `discreet learn`."),
            Key("policy", "path", "", '"policy.toml"', "The policy: secrets and delta."),
            Key("places", "path", NONE, '"places.geojson"', "The map. Without one, sources say labels."),
            Key("carry", "duration", '"4h"', '"4h"', "How long a reading counts when none follows."),
            Key(
                "phone",
                "text",
                NONE,
                '"pixel"',
                "The one phone that counts, if several send: its device in OwnTracks, the `source` of its readings, "
                "the id of its token, or its entity in Home Assistant. Without it the one that moved last counts.",
            ),
            Key(
                "mechanism",
                "table",
                '{ name = "adaptive" }',
                '{ name = "adaptive", outputs = "suppress" }',
                "The mechanism, with its options. Its promise must hold over midnight and for all outputs, unless "
                "`accept` says otherwise.",
            ),
            Key(
                "accept",
                "text",
                NONE,
                '"ends at midnight"',
                "Serves mechanisms that start anew each day, such as `hybrid`, `fdh` or `capp` (docs/gateway.md).",
            ),
        ),
    ),
    SettingsSection(
        "[server]",
        "Where the gateway listens, and which proxies it believes.",
        (
            Key("host", "address", '"127.0.0.1"', '"0.0.0.0"', "The address to listen at."),
            Key("port", "whole number", "8321", "8321", "The port."),
            Key(
                "hosts",
                "list of texts",
                "[]",
                '["home.example"]',
                "Host names of the gateway, besides `localhost` and `host`. A request for another name gets 421.",
            ),
            Key("certificate", "path", NONE, '"fullchain.pem"', "TLS: the certificate, as PEM."),
            Key("key", "path", NONE, '"privkey.pem"', "TLS: its key, as PEM."),
            Key(
                "hsts",
                "true or false",
                "true",
                "false",
                "Whether browsers that came over TLS are told to use TLS for a year. That holds for every port of the "
                "name: set it to false where another service of that name has no TLS.",
            ),
            Key(
                "proxies",
                "list of addresses",
                "[]",
                '["127.0.0.1"]',
                "Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed. From others they are an error.",
            ),
            Key(
                "root_path",
                "path of an address",
                '""',
                '"/discreet"',
                "The prefix below which a proxy serves the gateway. The proxy may pass it on or remove it.",
            ),
            Key(
                "ingress",
                "address",
                NONE,
                '"172.30.32.2"',
                "Home Assistant's Supervisor, whose `X-Ingress-Path` is believed. From others it is an error.",
            ),
            Key("data", "path", '"discreet-data"', '"discreet-data"', "The folder of the gateway's files."),
        ),
    ),
    SettingsSection(
        "[keeping]",
        "When outputs leave, and how long private data is kept. All of it is public.",
        (
            Key("margin", "duration", '"2s"', '"2s"', "How long after its end a slot is published; at most 60 s."),
            Key(
                "grace",
                "duration",
                '"60s"',
                '"60s"',
                "How late a slot is still decided after the machine was off. Later slots are skipped, in public.",
            ),
            Key("retention_days", "whole number", "30", "30", "Days that readings and the true day are kept."),
        ),
    ),
    SettingsSection(
        "[backup]",
        "Archives that the gateway makes by itself. Without this section it makes none.",
        (
            Key("every", "text", '"daily"', '"weekly"', "How often: `daily` or `weekly`."),
            Key("keep", "whole number", "7", "7", "How many archives are kept."),
            Key("dir", "path", '"backups"', '"backups"', "The folder that they are written to."),
            Key("passphrase", "text", NONE, '"olive tram ladder"', "Encrypts them. It has ten letters or more."),
            Key("passphrase_file", "path", NONE, '"backup.passphrase"', "The file of the passphrase instead."),
        ),
    ),
    SettingsSection(
        "[journal]",
        "Where decisions are written.",
        (
            Key(
                "url",
                "text",
                NONE,
                '"postgresql://discreet@localhost/discreet"',
                "A PostgreSQL database instead of SQLite in the data folder. Keep the password in `~/.pgpass`; one in "
                "the address is warned about.",
            ),
        ),
    ),
    SettingsSection(
        "[limits]",
        "Limits for each caller.",
        (
            Key(
                "application",
                "whole number",
                "20",
                "20",
                "Requests a second of one application's token; ten seconds' worth at once. A hundred rows count as a "
                "request.",
            ),
            Key("source", "whole number", "500", "500", "The same for a source."),
            Key(
                "connections",
                "whole number",
                "200",
                "200",
                "Open connections of one address (of IPv6, a /64). Those of `server.proxies` are not counted.",
            ),
            Key(
                "upload", "whole number", "2000", "2000", "Megabytes of files that may be uploaded to the page in all."
            ),
        ),
    ),
    SettingsSection(
        "[page]",
        "The owner's page.",
        (
            Key(
                "tiles",
                "path",
                NONE,
                '"paris.pmtiles"',
                "A map to draw places on: PMTiles or MBTiles of vectors or pictures. Nothing is fetched for it.",
            ),
        ),
    ),
    SettingsSection(
        "[views.family]",
        "A coarser view of what was released. It never shows more.",
        (
            Key(
                "groups",
                "table of lists",
                "",
                '{ home = ["home"] }',
                "Released contexts that are shown under one name.",
            ),
            Key(
                "rest",
                "text",
                NONE,
                '"out"',
                "The name of all others. Silence stays silence, and `unknown` stays `unknown` unless a group has it.",
            ),
        ),
    ),
    SettingsSection(
        "[applications.kitchen]",
        "Defaults of `discreet token add application kitchen`.",
        (
            Key("person", "text", "", '"jane"', "Whose stream it reads."),
            Key("view", "text", '"whole"', '"family"', "In which view; `whole` is everything that was released."),
            Key("now_only", "true or false", "false", "true", "Whether it reads the present alone, without a history."),
        ),
    ),
    SettingsSection(
        "[broker]",
        "Your own MQTT broker.",
        (
            Key("host", "text", '"127.0.0.1"', '"mosquitto"', "Its name or address."),
            Key("port", "whole number", "1883, or 8883 with TLS", "1883", "Its port."),
            Key("user", "text", NONE, '"discreet"', "The gateway's account there."),
            Key("password", "text", NONE, '"..."', "Its password."),
            Key("password_file", "path", NONE, '"broker-password"', "Or a file with it, that nobody else can read."),
            Key("tls", "true or false", "false", "true", "Whether to use TLS."),
            Key(
                "authority",
                "path",
                NONE,
                '"ca.pem"',
                "The certificate that signed the broker's, unless the system knows it.",
            ),
            Key("version", "text", '"3.1.1"', '"5"', "The version of MQTT: `3.1.1` or `5`."),
            Key(
                "name", "text", '"discreet"', '"discreet"', "The first part of the gateway's topics, and its client id."
            ),
            Key("discovery", "text", '"homeassistant"', '"homeassistant"', "Where Home Assistant looks for devices."),
        ),
    ),
    SettingsSection(
        "[[broker.tell]]",
        "A view that is published there. One table for each.",
        (
            Key("person", "text", "", '"jane"', "Whose stream."),
            Key("view", "text", '"whole"', '"family"', "In which view."),
            Key(
                "forms",
                "list of texts",
                '["json", "owntracks", "home_assistant"]',
                '["home_assistant"]',
                "In which forms.",
            ),
            Key("now_only", "true or false", "false", "true", "Whether outputs that were missed are not sent later."),
            Key(
                "token",
                "text",
                NONE,
                '"a1b2c3"',
                "A token's public name. When it is revoked, retained messages are cleared.",
            ),
        ),
    ),
    SettingsSection(
        "[[owntracks]]",
        "A phone with OwnTracks. One table for each.",
        (
            Key("person", "text", "", '"jane"', "Whose phone."),
            Key("user", "text", "the person's name", '"jane"', "The user name in the app."),
            Key("device", "text", "any", '"phone"', "The device's name in the app."),
            Key("key", "text", NONE, '"..."', "The encryption key in the app, if it encrypts."),
            Key("key_file", "path", NONE, '"owntracks-key"', "Or a file with it, that nobody else can read."),
            Key(
                "clear",
                "true or false",
                "false",
                "true",
                "Whether unencrypted messages are read although there is a key. Whoever has the phone's password and "
                "not its key could then say where somebody is.",
            ),
        ),
    ),
    SettingsSection(
        "[[friend]]",
        "A person who is shown on another's map of OwnTracks (HTTP). One table for each; without one nobody is shown.",
        (
            Key("person", "text", "", '"jane"', "Who is shown."),
            Key("to", "text", "", '"joe"', "Whose phones show it."),
            Key("view", "text", '"whole"', '"family"', "In which view."),
        ),
    ),
    SettingsSection(
        "[[home_assistant]]",
        "Entities of a Home Assistant. One table for each; give `url` or `statestream`.",
        (
            Key("entities", "table of texts", "", '{ "person.jane" = "jane" }', "Whose each entity is."),
            Key("labels", "table of texts", "{}", '{ "Work" = "office" }', "States that have another name here."),
            Key("url", "text", NONE, '"http://homeassistant.local:8123"', "Its address; the WebSocket API is used."),
            Key("token", "text", NONE, '"..."', "A long-lived access token."),
            Key("token_file", "path", NONE, '"home-assistant-token"', "Or a file with it, that nobody else can read."),
            Key("again", "whole number", "900", "900", "Seconds until states are asked for again; 0 for never."),
            Key("statestream", "text", NONE, '"statestream"', "Instead of `url`: the base topic of mqtt_statestream."),
        ),
    ),
)


MARK = "#   "
"""Before what a key means; a line with a key has one space."""


def template() -> str:
    """A file with every key as a comment: its meaning, its default, an example."""
    lines = [
        "# discreet.toml, with every key of the gateway's settings: from discreet serve --template. Paths are relative",
        "# to this file. Remove the # before a section and the keys that you want; others have their defaults.",
    ]
    for section in REFERENCE:
        lines += ["", *_comment(section.words), f"# {section.header}"]
        for key in section.keys:
            told = "needed" if not key.default else f"default {key.default}"
            lines += [*_comment(f"{key.words} ({key.kind}, {told})", MARK), f"# {key.name} = {key.example}"]
    return "\n".join(lines) + "\n"


def _name(header: str) -> str:
    """A section's first key, in an address of a page."""
    name = header.strip("[]")
    return name if name.startswith("broker.") else name.partition(".")[0]


def _comment(words: str, mark: str = "# ") -> Iterator[str]:
    import textwrap

    yield from textwrap.wrap(words.replace("`", ""), 118, initial_indent=mark, subsequent_indent=mark)


def page() -> str:
    """The same as a page of the documentation."""
    lines = [
        "# Settings",
        "",
        "Every key of `discreet.toml`, made from the program. `discreet serve --template` prints them as a file with",
        "comments. Paths are relative to the file. An unknown key is refused, with a suggestion. A file that",
        "holds a password, a token or a key is refused if everybody on the machine can read it.",
    ]
    for section in REFERENCE:
        lines += [
            "",
            f"## {_name(section.header)}",
            "",
            f"`{section.header}`",
            "",
            section.words,
            "",
            "| key | type | default | example | meaning |",
            "|---|---|---|---|---|",
        ]
        for key in section.keys:
            default = (
                "**needed**" if not key.default else key.default if key.default[0].isalpha() else f"`{key.default}`"
            )
            default = f"`{key.default}`" if key.default in ("true", "false") else default
            lines.append(f"| `{key.name}` | {key.kind} | {default} | `{key.example}` | {key.words} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
