"""`discreet.toml`: who is served, by which clock, habits, secrets and mechanism, and who writes and reads.

One class a section. A new one is a frozen dataclass with `read(at)`, a field of `Settings`, and a line in
`Settings.read`; those of the server's own are in `sections`. The file is its owner's: the program changes one section
at a time, and nothing else in it (`document`).
"""

from __future__ import annotations

import os
import stat
import threading
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from discreet.clock import Clock, duration_text, local_zone
from discreet.errors import DiscreetError, did_you_mean
from discreet.files import written_whole
from discreet.gateway.config.broker import Broker
from discreet.gateway.config.document import edited, section_text
from discreet.gateway.config.section import Section
from discreet.gateway.config.sections import (
    Application,
    Backups,
    JournalAt,
    Keeping,
    Page,
    Rates,
    Server,
    read_view,
    view_table,
)
from discreet.gateway.config.views import WHOLE, View
from discreet.gateway.wires.home_assistant import HomeAssistantSource
from discreet.gateway.wires.owntracks_friends import Friend
from discreet.gateway.wires.owntracks_source import OwnTracksSource
from discreet.mechanisms.day_by_day import EachDaySpec
from discreet.mechanisms.named import Spec
from discreet.models.routine.pairs import PairRoutine
from discreet.models.routine.parts import secrets_by_part
from discreet.models.routine.routine import Routine
from discreet.models.store import load_days
from discreet.places import Places, read_places
from discreet.policy import Policy, read_policy

Read = TypeVar("Read")

NAME = "discreet.toml"

WIRES = {"broker": "password", "owntracks": "key", "home_assistant": "token", "backup": "passphrase"}
"""Sections that may hold a secret, and its key."""

WRITING = threading.Lock()
"""One change of the settings at a time, whether a person is added or a view is written: each begins with the other's.
"""

CARRY = "4h"

SLOTS, CUT = 48, "00:00"
"""Of a clock that says nothing of them."""

ADAPTIVE = "adaptive"

ACCEPT = "ends at midnight"
"""What the settings say where a mechanism that starts anew each day is to be served."""

NOT_SERVED = {
    "no-mask": "shows everything, secrets too",
    **dict.fromkeys(("pa-markov", "no-internal", "pa-hmm", "sensitive-mask"), "is for events, and slots have contexts"),
}
"""What a gateway never serves, and why."""

HEAD = "# Who is served, and how. Paths are relative to this file. Made by discreet setup, which can be run again."


@dataclass(frozen=True)
class PersonFiles:
    """What a person's files hold, once they are read."""

    routine: Routine
    policy: Policy
    places: Places | None


@dataclass(frozen=True)
class PersonSettings:
    """One person: the files that speak of them, who decides what is shown, and how long a reading stands."""

    name: str
    routine: Path
    policy: Path
    places: Path | None = None
    mechanism: Spec = field(default_factory=lambda: Spec(ADAPTIVE))
    carry: float = 4 * 3600.0
    """Seconds that a reading stands when none follows."""
    accept: bool = False
    """Whether a mechanism is accepted whose promise ends at midnight."""
    phone: str | None = None
    """The one source that counts, of several; without it the one that moved last."""

    @classmethod
    def read(cls, name: str, at: Section) -> PersonSettings:
        """From [people.NAME]."""
        found = cls(
            name,
            at.existing("routine", "give the model of discreet learn"),
            at.existing("policy", "give a policy file (docs/policy.md)"),
            at.existing("places", "give the map of discreet places, or leave it out") if "places" in at else None,
            _mechanism(at),
            at.seconds("carry", CARRY),
            _accepted(at),
            at.text("phone", "give the name of a phone, as the page shows it") if "phone" in at else None,
        )
        at.done()
        found._check_served(at)
        return found

    def _check_served(self, at: Section) -> None:
        name = self.mechanism.name
        if name in NOT_SERVED:
            raise at.error("mechanism", f"{name} {NOT_SERVED[name]}; use another one, such as adaptive")

    @property
    def spec(self) -> Spec:
        """The mechanism as it is served."""
        return EachDaySpec(self.mechanism.name, self.mechanism.options) if self.accept else self.mechanism

    def table(self, folder: Path) -> dict[str, object]:
        """The section as a file in that folder has it."""
        files = {"routine": self.routine, "policy": self.policy, "places": self.places}
        paths = {key: Path(os.path.relpath(path, folder)).as_posix() for key, path in files.items() if path is not None}
        accept = {"accept": ACCEPT} if self.accept else {}
        phone = {} if self.phone is None else {"phone": self.phone}
        return {**paths, "carry": duration_text(self.carry), **phone, **accept, "mechanism": self.mechanism.to_table()}

    def moved(self, folder: Path) -> PersonSettings:
        """The same person, their files in another folder."""
        places = None if self.places is None else folder / self.places.name
        return replace(self, routine=folder / self.routine.name, policy=folder / self.policy.name, places=places)

    def opened(self, at: Section, clock: Clock) -> PersonFiles:
        """What the files hold, if they fit each other and the clock."""
        try:
            model = load_days(self.routine)
        except DiscreetError as error:
            raise at.error("routine", str(error)) from None
        if isinstance(model, PairRoutine):
            raise at.error("routine", f"{self.routine} has habits over two contexts; learn it again with --order 1")
        if not isinstance(model, Routine):
            raise at.error("routine", f"{self.routine} has habits of single days; learn it without --day-by-day")
        if model.clock != clock:
            raise at.error("routine", f"was learned with {model.clock}, and the clock here is {clock}; use the same")
        try:
            policy, own = read_policy(self.policy, clock)
            secrets_by_part(model, policy, own)
        except DiscreetError as error:
            raise at.error("policy", str(error)) from None
        try:
            places = None if self.places is None else read_places(self.places)
        except DiscreetError as error:
            raise at.error("places", str(error)) from None
        return PersonFiles(model, policy, places)


def _accepted(at: Section) -> bool:
    words = f"write {ACCEPT!r} where a mechanism that starts anew each day is to be served, or leave it out"
    if "accept" not in at:
        return False
    if at.text("accept", words) != ACCEPT:
        raise at.error("accept", words)
    return True


def _mechanism(at: Section) -> Spec:
    if "mechanism" not in at:
        return Spec(ADAPTIVE)
    own = at.section("mechanism", "write it as a table, [people.NAME.mechanism]")
    try:
        return Spec.from_table({"name": ADAPTIVE, **own.plain()})
    except DiscreetError as error:
        raise own.error(None, str(error)) from None


@dataclass(frozen=True)
class Settings:
    """The whole file: one clock, the people, and how they are served."""

    file: Path
    clock: Clock
    people: Mapping[str, PersonSettings]
    server: Server = field(default_factory=Server)
    keeping: Keeping = field(default_factory=Keeping)
    journal: JournalAt = field(default_factory=JournalAt)
    limits: Rates = field(default_factory=Rates)
    views: Mapping[str, View] = field(default_factory=dict)
    applications: Mapping[str, Application] = field(default_factory=dict)
    broker: Broker | None = None
    owntracks: tuple[OwnTracksSource, ...] = ()
    home_assistant: tuple[HomeAssistantSource, ...] = ()
    secrets: tuple[str, ...] = ()
    """The keys that hold something to keep to oneself."""
    page: Page = field(default_factory=Page)
    backups: Backups | None = None
    friends: tuple[Friend, ...] = ()

    @classmethod
    def read(cls, file: str | Path, *, nobody: bool = False) -> Settings:
        """Read it; what is wrong is an error that names the key. The files it names are there; `opened` reads them.

        With `nobody` there need not be people yet, nor a time zone: the owner's page adds them.
        """
        at = Section.of_file(Path(file))
        people = _named(at, "people", PersonSettings.read)
        zone = local_zone() if nobody and not people else None
        clock = _clock(at.section("clock", "write it as a table, [clock]"), zone)
        if not people and not nobody:
            raise at.error(
                "people", "there is nobody; add [people.NAME] with routine and policy, or run discreet setup"
            )
        views = _named(at, "views", read_view)
        known = (WHOLE, *views)
        table = "write it as a table, [{}]"
        broker = at.section("broker", table.format("broker"))
        journal = JournalAt.read(at.section("journal", table.format("journal")))
        found = cls(
            Path(file),
            clock,
            people,
            Server.read(at.section("server", table.format("server"))),
            Keeping.read(at.section("keeping", table.format("keeping"))),
            journal,
            Rates.read(at.section("limits", table.format("limits"))),
            views,
            _named(at, "applications", lambda name, one: Application.read(name, one, people, known)),
            Broker.read(broker) if "broker" in at else None,
            tuple(OwnTracksSource.read(one) for one in at.tables("owntracks", "write each as [[owntracks]]")),
            tuple(
                HomeAssistantSource.read(one) for one in at.tables("home_assistant", "write each as [[home_assistant]]")
            ),
            _secrets(at, journal),
            Page.read(at.section("page", table.format("page"))),
            Backups.read(at.section("backup", table.format("backup"))) if "backup" in at else None,
            tuple(Friend.read(one) for one in at.tables("friend", "write each as [[friend]]")),
        )
        at.done()
        found._check_together(at)
        return found

    @classmethod
    def of_nobody(cls, file: Path) -> Settings:
        """Where there is no file yet: all as it is unless said otherwise, and nobody to serve."""
        return cls(file, Clock(48, local_zone()), {})

    def _check_together(self, at: Section) -> None:
        """What only the whole file shows: names of people and views elsewhere, and that secrets are for few eyes."""
        known = (WHOLE, *self.views)
        for number, told in enumerate(self.broker.tells if self.broker else ()):
            where = Section(self.file, {}, (f"broker.tell[{number}]",))
            self._check_person(where, told.person)
            if told.view not in known:
                raise where.error("view", f"is {told.view!r}; {did_you_mean(told.view, known)}")
        for number, phone in enumerate(self.owntracks):
            self._check_person(Section(self.file, {}, (f"owntracks[{number}]",)), phone.person)
        for number, friend in enumerate(self.friends):
            where = Section(self.file, {}, (f"friend[{number}]",))
            self._check_person(where, friend.person)
            self._check_person(where, friend.to, "to")
            if friend.view not in known:
                raise where.error("view", f"is {friend.view!r}; {did_you_mean(friend.view, known)}")
        for number, home in enumerate(self.home_assistant):
            where = Section(self.file, {}, (f"home_assistant[{number}]",))
            for person in home.entities.values():
                self._check_person(where, person, "entities")
            if home.statestream is not None and self.broker is None:
                raise where.error("statestream", "comes over MQTT, and there is no [broker]; add it")
        if self.secrets and self.file.stat().st_mode & stat.S_IROTH:
            raise at.error(
                None, f"everybody on this machine can read it, and it holds {self.secrets[0]}; chmod 600 {self.file}"
            )

    def _check_person(self, where: Section, person: str, key: str = "person") -> None:
        if person not in self.people:
            raise where.error(key, f"is of {person!r}, who is not in [people]; {did_you_mean(person, self.people)}")

    @property
    def warnings(self) -> list[str]:
        """What is taken as it is, and should not stay so."""
        found = []
        key = self.server.key
        if key is not None and os.name == "posix" and key.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH):
            found.append(f"server.key: everybody on this machine can read the TLS key; chmod 600 {key}")
        if self.journal.has_password:
            found.append(
                "journal.url: holds a password, which shows in copies of the settings; put it in a file for PostgreSQL "
                "(~/.pgpass, or the one that PGPASSFILE names) and take it out of the address"
            )
        return found

    def opened(self) -> dict[str, PersonFiles]:
        """What everybody's files hold, checked against each other and the clock."""
        return {
            name: person.opened(Section(self.file, {}, ("people", name)), self.clock)
            for name, person in self.people.items()
        }

    def text(self) -> str:
        """The text of a new file with this clock and these people."""
        parts = [HEAD + "\n", section_text(("clock",), _clock_table(self.clock))]
        for name, person in self.people.items():
            parts.append(section_text(("people", name), person.table(self.file.parent), deep=1))
        return "\n".join(parts)

    def text_with(self, text: str, clock: Clock, person: PersonSettings) -> str:
        """The file's text with this clock and this person, new or changed; all else in it stays to the byte."""
        found = tomllib.loads(text)
        kept = {"slots": SLOTS, "cut": CUT, **found.get("clock", {})}
        if changed := {key: value for key, value in _clock_table(clock).items() if kept.get(key) != value}:
            text = edited(text, ("clock",), {**found.get("clock", {}), **changed})
        table, known = person.table(self.file.parent), self.people.get(person.name)
        if known is not None:
            before = known.table(self.file.parent)
            keys = {*table, "phone"}  # setup does not ask for that
            own = {key: value for key, value in found["people"][person.name].items() if key in keys}
            table = {**own, **{key: value for key, value in table.items() if before.get(key) != value}}
        return edited(text, ("people", person.name), table, deep=1)


def _clock_table(clock: Clock) -> dict[str, object]:
    return {"slots": clock.slots, "zone": clock.zone, "cut": clock.cut}


def _secrets(at: Section, journal: JournalAt) -> tuple[str, ...]:
    """The keys of the file that hold a secret; one in a file of its own is named there by `KEY_file`."""
    held = []
    for key, hidden in WIRES.items():
        tables: Any = at.given(key) if key in at else ()
        if any(table.get(hidden) for table in ([tables] if isinstance(tables, Mapping) else tables)):
            held.append(f"{key}.{hidden}")
    return (*held, *(["journal.url"] if journal.has_password else []))


def _named(at: Section, key: str, read: Callable[[str, Section], Read]) -> dict[str, Read]:
    """The tables of a section by their names, which stand in addresses and topics too."""
    tables = at.section(key, f"write each as a table, [{key}.NAME]")
    found = {}
    for name in tables.names():
        if not name.strip() or not name.isprintable() or set(name) & set("/+#"):
            raise tables.error(name, "cannot be part of an address or a topic; use a name without / + #")
        found[name] = read(name, tables.section(name, "write it as a table"))
    return found


def _clock(at: Section, zone_there: str | None) -> Clock:
    slots = at.whole("slots", "give the number of slots of a day, such as 48", SLOTS)
    zone = at.text("zone", "give a time zone, such as 'Europe/Paris'", zone_there)
    cut = at.text("cut", "give the time at which a day is cut, such as '00:00'", CUT)
    at.done()
    try:
        return Clock(slots, zone, cut)
    except DiscreetError as error:
        raise at.error(None, str(error)) from None


# --- views, changed while the gateway runs


def view_of(name: str, groups: Mapping[str, object], rest: str | None) -> View:
    """A view as the settings would read it; what is wrong is an error."""
    if not name.strip() or not name.isprintable() or set(name) & set("/+#") or len(name) > 100:
        raise DiscreetError("the view's name cannot be part of an address or a topic; use a name without / + #")
    table: dict[str, object] = {"groups": dict(groups)} | ({} if rest is None else {"rest": rest})
    return read_view(name, Section(Path("discreet.toml"), table, ("views", name)))


def write_view(file: Path, name: str, view: View | None) -> None:
    """Put a view into the file, or take it out; whole or not at all, and for the same eyes as before."""
    if name == WHOLE:
        raise DiscreetError(f"{WHOLE} is the view that shows all as it is; give another name")
    file = file.resolve()  # a link stays one
    with WRITING:
        try:
            text, mode = file.read_bytes().decode(), file.stat().st_mode & 0o777
            after = edited(text, ("views", name), None if view is None else view_table(view))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            remedy = "look at it, and start the gateway anew"
            raise DiscreetError(f"{file.name} cannot be read any more; {remedy}") from None
        with written_whole(file, private=True) as opened:
            opened.write(after.encode())
        file.chmod(mode)
