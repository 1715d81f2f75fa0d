"""The map of each person, changed while the gateway runs: what can be in force at once, what waits, what is refused.

Places name contexts of the habits, and secrets name contexts. So a change is one of three:

- **In force at the next slot**: shapes change, and every name is known to the habits as before. The file is written
  first, whole or not at all.
- **Drawn, and waiting**: a name comes or goes. The habits know nothing of it, and its slots would be told as `other`.
  The map is written beside the file (`places.drawn.geojson`), and nothing changes until habits are learned with it.
  When such habits come into force, at a cut, so does the map (`take_over`).
- **Refused**: a secret place would lose ground. From then on visits there would be told; so a secret's ground only
  grows as long as it is secret. Where what is secret is no place, such as `away`, no place may grow.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.clock import duration_text
from discreet.contexts import OTHER, UNKNOWN
from discreet.errors import DataError, DiscreetError
from discreet.gateway.slots.changes import HabitsFrom, announced_habits, present
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.person import PersonStream
from discreet.places.ground import same_shape, spreads, taken_from
from discreet.places.named import Place, Places, checked_name
from discreet.places.palette import colours_of, numbered
from discreet.places.placefile import document_of, places_of, read_places, write_places
from discreet.places.shapes import Circle, Polygon, Shape

LOG = logging.getLogger("discreet.gateway.maps")

NO_FILE = "discreet.toml names no map for {0}; add people.{0}.places and restart the gateway"
COMING = (
    "your new routine starts on {}, and this map with it. Until then a place can change its shape, and none can be "
    "added, renamed or removed. Undo the new routine first, or change the map afterwards"
)
CHANGED = "the map was changed elsewhere, perhaps in another window; reload it and try again"


class MapChangedError(DiscreetError):
    """Somebody else has changed the map since it was looked at."""


@dataclass(frozen=True)
class Said:
    """What became of a change: `taken` has who goes by another map from now on, and `waits` why nobody does yet."""

    taken: Mapping[str, Places]
    waits: str = ""


def drawn_file(path: Path) -> Path:
    """Where a map waits for habits: places.drawn.geojson beside places.geojson."""
    return path.with_name(f"{path.stem}.drawn{path.suffix}")


class Maps:
    """Everybody's map: in force, as drawn, and its file. All of it is asked for in the thread that decides slots."""

    def __init__(
        self,
        keeper: Keeper,
        files: Mapping[str, Path],
        taken: Callable[[str, Places], None] = lambda name, places: None,
    ) -> None:
        """`taken` is told, in the thread that decides, of a map that came into force with its habits."""
        self._keeper, self._files, self._taken = keeper, files, taken
        keeper.before_deciding = self.on_slot

    def in_force(self, person: str) -> Places:
        """By which slots are decided."""
        return self._keeper.people[person].config.places

    def waiting(self, person: str) -> Places | None:
        """What is drawn and not in force, if anything is."""
        file = self._files.get(person)
        if file is None or not drawn_file(file).exists():
            return None
        return read_places(drawn_file(file))

    def drawn(self, person: str) -> Places:
        """The map as its owner sees and changes it."""
        return self.waiting(person) or self.in_force(person)

    def described(self, person: str) -> dict[str, Any]:
        """The map for the page."""
        places, present = self.drawn(person), self.in_force(person)
        one = self._keeper.people[person]
        secret, colours = secret_names(one), self.colours(person)
        parents, why = _parents(places)
        before = (
            places if places is present else places_of(document_of(present))
        )  # as a file would have it, to the digit
        return {
            "version": version_of(places),
            "file": None if person not in self._files else self._files[person].name,
            "places": [
                _described(place, k, secret, parents)
                | {
                    "waits": not any(_same(place, other) for other in before.places),
                    "colour": colours[place.name],
                }
                for k, place in enumerate(places.places)
            ],
            "no_tree": why,
            "waiting": None if places is present else self._remedy(one, places),
        }

    def colours(self, person: str) -> dict[str, str]:
        """The colour of each place and context of a person: the same everywhere and for ever, for it is kept."""
        own = self._keeper.own
        kept = own.colours(person)
        numbers = numbered(self.drawn(person), self._keeper.people[person].config.routine.contexts, kept)
        if numbers.keys() != kept.keys():
            own.keep_colours(person, numbers)
        return colours_of(numbers)

    def recolour(self, person: str, name: str, to: str) -> None:
        """A place that is called otherwise keeps its colour."""
        kept = self._keeper.own.colours(person)
        if name in kept:
            self._keeper.own.keep_colours(person, {to: kept[name]})

    def change(self, person: str, version: str, made: Callable[[Places], Places]) -> Said:
        """Draw the map anew; an error says why that cannot be, and then nothing has changed."""
        file = self._file(person)
        self._keeper.finish_change()  # one that a failing disk cut short would put the old map back
        before = self.drawn(person)
        if version != version_of(before):
            raise MapChangedError(CHANGED)
        after = places_of(document_of(made(before)))  # as the file will have it
        sharing = [name for name, path in self._files.items() if path == file]
        for name in sharing if set(after.names) != set(before.names) else ():
            if (coming := _coming(self._keeper.people[name])) is not None:
                raise DiscreetError(COMING.format(coming.date))
        waits = [words for name in sharing for words in judged(self._keeper.people[name], after)]
        if waits:
            write_places(drawn_file(file), after, private=True)
            return Said({}, waits[0])
        return Said(self._put(file, sharing, after))

    def _put(self, file: Path, sharing: Sequence[str], after: Places) -> Mapping[str, Places]:
        """A map comes into force for everybody who shares its file."""
        write_places(file.resolve(), after, private=True)  # a link stays one
        drawn_file(file).unlink(missing_ok=True)
        for name in sharing:
            one = self._keeper.people[name]
            one.config = replace(one.config, places=after)
        return dict.fromkeys(sharing, after)

    def on_slot(self, person: PersonStream) -> None:
        """Before a slot is decided: on the first day of other habits the map that was drawn for them is put in force.

        Where that fails, the map before stays; the slot is decided all the same, and the next tries again.
        """
        history, (today, _) = person.config.history, person.next
        if len(history) > 1 and present(history, today).date == today:
            try:
                taken = self.take_over(person.name)
            except (DiscreetError, OSError) as error:
                LOG.error("a map could not be put into force", extra={"kind": type(error).__name__})
            else:
                for name, places in taken.items():
                    self._taken(name, places)

    def take_over(self, person: str) -> Mapping[str, Places]:
        """Put a drawn map into force if the habits in force know it by now; who goes by another map then."""
        drawn = self.waiting(person)
        if drawn is None:
            return {}
        file = self._file(person)
        sharing = [name for name, path in self._files.items() if path == file]
        if any(judged(self._keeper.people[name], drawn) for name in sharing):
            return {}
        return self._put(file, sharing, drawn)

    def discard(self, person: str) -> None:
        """Let go of what is drawn and not in force."""
        if (coming := _coming(self._keeper.people[person])) is not None:
            raise DiscreetError(COMING.format(coming.date))
        drawn_file(self._file(person)).unlink(missing_ok=True)

    def _file(self, person: str) -> Path:
        file = self._files.get(person)
        if file is None:
            raise DiscreetError(NO_FILE.format(person))
        return file

    def _remedy(self, person: PersonStream, drawn: Places) -> dict[str, Any]:
        """What brings a drawn map into force. New names and secrets are kept, however rare: else they are `other`."""
        file, config, clock = drawn_file(self._files[person.name]), person.config, person.config.clock
        new = [name for name in drawn.names if name not in known_names(person)]
        words = ["discreet", "learn", "READINGS", "--places", file.name]
        words += ["--slots", str(clock.slots), "--zone", clock.zone, "--cut", clock.cut]
        words += ["--carry", duration_text(config.hold)]
        words += [word for name in (*sorted(secret_names(person)), *new) for word in ("--keep", name)]
        model = f"{person.name}.drawn.model"
        return {
            "file": file.name,
            "learn": shlex.join([*words, "--out", model]),
            "settings": {"routine": model, "places": file.name},
        }


def judged(person: PersonStream, after: Places) -> list[str]:
    """Why a map waits for habits, in words; nothing if it can be in force at once. An error where a secret loses."""
    before, secret, known = person.config.places, secret_names(person), known_names(person)
    unknown = [name for name in before.names if name not in known]  # to the habits they are `other`
    lost = taken_from(before, after, secret.union(unknown if OTHER in secret else ()))
    if lost is not None:
        raise DiscreetError(_refusal(*lost))
    elsewhere = sorted(secret.difference(before.names, [UNKNOWN]))  # such as `away`: its ground is where no place is
    if elsewhere and (taker := spreads(before, after)) is not None:
        raise DiscreetError(_refusal(elsewhere[0], taker))
    new = [name for name in after.names if name not in before.names and name not in known]
    gone = [name for name in before.names if name not in after.names and name in known]
    return [f"{name!r} is not part of your routine yet" for name in new] + [
        f"{name!r} is still part of your routine" for name in gone
    ]


def _coming(person: PersonStream) -> HabitsFrom | None:
    """Other habits that are announced: until they hold no name of the map comes or goes."""
    return announced_habits(person.config.history, person.next[0])


def _refusal(place: str, taker: str | None) -> str:
    how = "would lose ground or its name" if taker is None else f"would lose ground to {taker!r}"
    return (
        f"{place!r} is secret, and with this change it {how}: visits there would be shared as something else. Draw it "
        "so that everything that was inside stays inside, or drop the secret first and change the map afterwards"
    )


def secret_names(person: PersonStream) -> frozenset[str]:
    """The contexts that are secret now, or will be by a change that is announced."""
    config = person.config
    policies = [config.policy, *(one.policy for one in _from_now(person))]
    return frozenset(context for policy in policies for secret in policy.secrets for context in secret.contexts)


def known_names(person: PersonStream) -> frozenset[str]:
    """The contexts of the habits in force, and of those that are announced."""
    config = person.config
    routines = [one.routine for one in _from_now(person)] or [config.routine]
    return frozenset.intersection(*(frozenset(one.contexts) for one in routines))


def _from_now(person: PersonStream) -> list[HabitsFrom]:
    """What is in force at a person's next slot, and what is announced; of changes for the same cut the last counts."""
    history, (today, _) = person.config.history, person.next
    later = {one.date: one for one in history if one.date > today}
    return [present(history, today), *later.values()] if history else []


def version_of(places: Places) -> str:
    """A map's own name: the same for the same map."""
    text = json.dumps(document_of(places), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


# --- changes


def added(name: str, shape: Shape) -> Callable[[Places], Places]:
    """With one place more; it may have the name of another, and is then another part of it."""
    return lambda places: Places([*places.places, Place(name, shape)])


def reshaped(number: int, shape: Shape) -> Callable[[Places], Places]:
    """With another shape for a place, by its index."""

    def made(places: Places) -> Places:
        place = _at(places, number)
        return Places([replace(one, shape=shape) if one is place else one for one in places.places])

    return made


def renamed(name: str, to: str) -> Callable[[Places], Places]:
    """With another name for all places of a name; that of other places makes them one."""
    to = checked_name(to)

    def made(places: Places) -> Places:
        if name not in places.names:
            raise DiscreetError(f"there is no place called {name!r}; reload the map")
        return Places([replace(one, name=to) if one.name == name else one for one in places.places])

    return made


def removed(number: int) -> Callable[[Places], Places]:
    """Without a place, by its index."""

    def made(places: Places) -> Places:
        place = _at(places, number)
        if len(places) == 1:
            raise DiscreetError("this is the only place, and a map needs one; add another first")
        return Places([one for one in places.places if one is not place])

    return made


def _at(places: Places, number: int) -> Place:
    if not 0 <= number < len(places):
        raise DiscreetError(f"there is no place {number}; reload the map")
    return places.places[number]


def shape_of(given: object) -> Shape:
    """A circle by `middle` and `radius`, or a polygon by `points`; positions are latitude and longitude."""
    if not isinstance(given, Mapping):
        raise DataError("the shape is missing; give a middle and a radius, or points")
    if set(given) == {"middle", "radius"}:
        ((latitude, longitude),) = _positions([given["middle"]]).tolist()
        if not isinstance(given["radius"], int | float) or isinstance(given["radius"], bool):
            raise DataError("the radius is not a number; give metres, such as 100")
        return Circle(latitude, longitude, float(given["radius"]))
    if set(given) == {"points"} and isinstance(given["points"], list):
        if len(given["points"]) < 3:
            raise DataError("an outline needs at least three corners; add some")
        return Polygon((_positions(given["points"]),))
    raise DataError("the shape has other keys; give a middle and a radius, or points")


def _positions(given: list[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    for pair in given:
        numbers = isinstance(pair, list) and len(pair) == 2 and all(type(one) in (int, float) for one in pair)
        if not numbers or not (abs(pair[0]) <= 90 and abs(pair[1]) <= 180):
            raise DataError("that is not a position; give latitude (-90 to 90) and longitude (-180 to 180) in degrees")
    return np.array(given, dtype=np.float64)


# --- as the page has it


def _described(place: Place, number: int, secret: frozenset[str], parents: Mapping[str, str | None]) -> dict[str, Any]:
    shape = place.shape
    return {
        "number": number,
        "name": place.name,
        "middle": list(shape.middle),
        "rings": [ring.tolist() for ring in shape.rings],
        "radius": shape.radius if isinstance(shape, Circle) else None,
        "area": shape.area,
        "secret": place.name in secret,
        "within": parents.get(place.name),
    }


def _parents(places: Places) -> tuple[Mapping[str, str | None], str | None]:
    """Which place lies in which, by name; where that is no tree, why."""
    try:
        return places.parents(), None
    except DataError as error:
        return {}, str(error)


def _same(one: Place, other: Place) -> bool:
    return one.name == other.name and same_shape(one.shape, other.shape)
