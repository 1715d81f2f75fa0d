"""`discreet.toml`: who is served, by which clock, habits, secrets and mechanism.

One class a section. A new one is a frozen dataclass with `read(at)` and `lines()`, a field of `Settings`, and a line in
each of its two methods.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from discreet.clock import Clock
from discreet.errors import DiscreetError
from discreet.gateway.section import Section, duration_text
from discreet.mechanisms.named import Spec
from discreet.models.parts import secrets_by_part
from discreet.models.routine import Routine
from discreet.models.store import load
from discreet.places import Places, read_places
from discreet.policy import Policy, read_policy
from discreet.toml_text import toml_comment, toml_key, toml_value

NAME = "discreet.toml"

CARRY = "4h"

ADAPTIVE = "adaptive"

HEAD = "Who is served, and how. Paths are relative to this file. Made by discreet setup, which can be run again."


@dataclass(frozen=True)
class Served:
    """What a person's files hold, once they are read."""

    routine: Routine
    policy: Policy
    places: Places | None


@dataclass(frozen=True)
class Person:
    """One person: the files that speak of them, who decides what is shown, and how long a reading stands."""

    name: str
    routine: Path
    policy: Path
    places: Path | None = None
    mechanism: Spec = field(default_factory=lambda: Spec(ADAPTIVE))
    carry: float = 4 * 3600.0
    """Seconds that a reading stands when none follows."""

    @classmethod
    def read(cls, name: str, at: Section) -> Person:
        """From [people.NAME]."""
        found = cls(
            name,
            at.existing("routine", "give the model of discreet learn"),
            at.existing("policy", "give a policy file (docs/policy.md)"),
            at.existing("places", "give the map of discreet places, or leave it out") if "places" in at else None,
            _mechanism(at),
            at.seconds("carry", CARRY),
        )
        at.done()
        return found

    def lines(self, folder: Path) -> list[str]:
        """The section as a file in that folder has it."""
        where = f"people.{toml_key(self.name)}"
        files = {"routine": self.routine, "policy": self.policy, "places": self.places}
        pairs = {key: Path(os.path.relpath(path, folder)).as_posix() for key, path in files.items() if path is not None}
        pairs["carry"] = duration_text(self.carry)
        return [*_pairs(where, pairs), "", *_pairs(f"{where}.mechanism", self.mechanism.to_table())]

    def moved(self, folder: Path) -> Person:
        """The same person, their files in another folder."""
        places = None if self.places is None else folder / self.places.name
        return replace(self, routine=folder / self.routine.name, policy=folder / self.policy.name, places=places)

    def opened(self, at: Section, clock: Clock) -> Served:
        """What the files hold, if they fit each other and the clock."""
        try:
            model = load(self.routine)
        except DiscreetError as error:
            raise at.error("routine", str(error)) from None
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
        return Served(model, policy, places)


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
    """The whole file: one clock, and the people."""

    file: Path
    clock: Clock
    people: Mapping[str, Person]

    @classmethod
    def read(cls, file: str | Path) -> Settings:
        """Read it; what is wrong is an error that names the key. The files it names are there; `opened` reads them."""
        at = Section.of_file(Path(file))
        clock = _clock(at.section("clock", "write it as a table, [clock]"))
        people = at.section("people", "write each as a table, [people.NAME]")
        found = {name: Person.read(name, people.section(name, "write it as a table")) for name in people.names()}
        if not found:
            raise at.error(
                "people", "there is nobody; add [people.NAME] with routine and policy, or run discreet setup"
            )
        at.done()
        return cls(Path(file), clock, found)

    def opened(self) -> dict[str, Served]:
        """What everybody's files hold, checked against each other and the clock."""
        return {
            name: person.opened(Section(self.file, {}, ("people", name)), self.clock)
            for name, person in self.people.items()
        }

    def text(self) -> str:
        """The file's text, which `read` reads."""
        clock = {"slots": self.clock.slots, "zone": self.clock.zone, "cut": self.clock.cut}
        parts = [toml_comment(HEAD), "", *_pairs("clock", clock)]
        for person in self.people.values():
            parts += ["", *person.lines(self.file.parent)]
        return "\n".join(parts) + "\n"


def _clock(at: Section) -> Clock:
    slots = at.whole("slots", "give the number of slots of a day, such as 48", 48)
    zone = at.text("zone", "give a time zone, such as 'Europe/Paris'")
    cut = at.text("cut", "give the time at which a day is cut, such as '00:00'", "00:00")
    at.done()
    try:
        return Clock(slots, zone, cut)
    except DiscreetError as error:
        raise at.error(None, str(error)) from None


def _pairs(section: str, values: Mapping[str, object]) -> list[str]:
    return [f"[{section}]", *(f"{toml_key(key)} = {toml_value(value)}" for key, value in values.items())]
