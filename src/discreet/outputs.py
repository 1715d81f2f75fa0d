"""What an application sees in a slot, whose and when it is, and how both look on the wire."""

from __future__ import annotations

import datetime as dt
import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass

from discreet.errors import DiscreetError


@dataclass(frozen=True, slots=True)
class Released:
    """A context: the true one, or a fake that looks like it."""

    context: str


@dataclass(frozen=True, slots=True)
class Generalized:
    """A node of the hierarchy above the true context."""

    node: str


@dataclass(frozen=True, slots=True)
class Suppressed:
    """Nothing. It is sent on the slot's clock like any other output, because timing speaks."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing was decided: a machine that was off. It has the same likelihood whatever is true, hence tells nothing."""


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A noisy answer to a query, such as coordinates."""

    point: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PartialEvent:
    """An event with the attributes that may be shown; None where one is withheld."""

    activity: str | None = None
    time: str | None = None
    location: str | None = None


Output = Released | Generalized | Suppressed | Skipped | Perturbed | PartialEvent

SUPPRESSED = Suppressed()
SKIPPED = Skipped()

MARK = "|"
"""What stands between the attributes of an event: in its label, and where an output is shown in a word."""


def truthful(context: str, output: Output) -> float:
    """How much of the true context an output tells; utility everywhere is the mean of this, unless a worth is given.

    1 for the context itself, a third for each attribute of an event ("activity|time|location") that is shown as it is,
    and 0 for everything else: silence, fakes, and ancestors, whose worth is their layer's.
    """
    match output:
        case Released(label):
            return float(label == context)
        case PartialEvent(activity, time, location):
            shown, true = (activity, time, location), context.split(MARK)
            return sum(map(operator.eq, shown, true)) / len(shown) if len(true) == len(shown) else 0.0
    return 0.0


def to_wire(output: Output) -> dict[str, object]:
    """The output as a JSON object."""
    match output:
        case Released(context):
            return {"kind": "released", "context": context}
        case Generalized(node):
            return {"kind": "generalized", "node": node}
        case Suppressed():
            return {"kind": "suppressed"}
        case Skipped():
            return {"kind": "skipped"}
        case Perturbed(point):
            return {"kind": "perturbed", "point": list(point)}
        case PartialEvent(activity, time, location):
            return {"kind": "partial event", "activity": activity, "time": time, "location": location}


def from_wire(message: Mapping[str, object]) -> Output:
    """The output that `to_wire` wrote; anything else is an error that names what is missing."""
    kind = message.get("kind")
    try:
        match kind:
            case "released":
                return Released(_text(message["context"]))
            case "generalized":
                return Generalized(_text(message["node"]))
            case "suppressed":
                return SUPPRESSED
            case "skipped":
                return SKIPPED
            case "perturbed":
                point = message["point"]
                if not isinstance(point, list | tuple) or not all(isinstance(value, int | float) for value in point):
                    raise TypeError("point")
                return Perturbed(tuple(float(value) for value in point))
            case "partial event":
                parts = (message["activity"], message["time"], message["location"])
                return PartialEvent(*(None if part is None else _text(part) for part in parts))
    except KeyError as missing:
        raise DiscreetError(f"an output of kind {kind!r} lacks {missing}; write it as to_wire does") from None
    except (TypeError, OverflowError):  # an integer may be too large for a float
        raise DiscreetError(f"an output of kind {kind!r} has a value of the wrong type: {dict(message)!r}") from None
    raise DiscreetError(
        f"an output of kind {kind!r} is not known; kinds: released, generalized, suppressed, skipped, perturbed, "
        "partial event"
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def text_of(output: Output) -> str:
    """The output in a word, for tables and terminals."""
    match output:
        case Released(context):
            return context
        case Generalized(node):
            return node
        case Suppressed() | Skipped():
            return ""
        case Perturbed(point):
            return " ".join(f"{value:.6g}" for value in point)
        case PartialEvent(activity, time, location):
            return MARK.join(part or "" for part in (activity, time, location))


@dataclass(frozen=True, slots=True)
class Release:
    """An output with where it belongs: whose, on which date, in which slot."""

    person: str | None
    date: dt.date
    slot: int
    start: dt.datetime | None
    """When the slot starts, where a clock says so."""
    output: Output

    @property
    def kind(self) -> str:
        """The kind of output, as on the wire."""
        return str(to_wire(self.output)["kind"])

    def to_wire(self) -> dict[str, object]:
        """The release as a JSON object: where it belongs, the output in a word, and its wire form."""
        return {
            "person": self.person,
            "date": self.date.isoformat(),
            "slot": self.slot,
            "start": None if self.start is None else self.start.isoformat(),
            "kind": self.kind,
            "value": text_of(self.output),
        } | to_wire(self.output)

    @classmethod
    def from_wire(cls, message: Mapping[str, object]) -> Release:
        """The release that `to_wire` wrote; anything else is an error that names what is wrong."""
        try:
            person, date, slot, start = (message[key] for key in ("person", "date", "slot", "start"))
        except KeyError as missing:
            raise DiscreetError(f"a release lacks {missing}; write it as Release.to_wire does") from None
        if type(slot) is not int or not (person is None or isinstance(person, str)):
            raise DiscreetError(
                f"person {person!r} and slot {slot!r} of a release must be text (or null) and a whole number"
            )
        try:
            day = dt.date.fromisoformat(_text(date))
            when = None if start is None else dt.datetime.fromisoformat(_text(start))
        except (TypeError, ValueError):
            raise DiscreetError(
                f"date {date!r} and start {start!r} of a release must be ISO 8601, such as 2024-05-01"
            ) from None
        return cls(person, day, slot, when, from_wire(message))

    def to_json(self) -> str:
        """One line of JSON."""
        try:
            return json.dumps(self.to_wire(), ensure_ascii=False, allow_nan=False)
        except ValueError:
            raise DiscreetError(f"{self.output} is not finite, and JSON has no such numbers; leave it out") from None
