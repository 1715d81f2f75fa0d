"""What is published for a row, a view at a time: topics, and the bytes that `Forms` makes."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.errors import DiscreetError
from discreet.gateway.config.broker import RELEASED, Broker, ToldView
from discreet.gateway.config.views import View
from discreet.gateway.forms import SILENT, Forms, encoded
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.journal.base import JournalRow
from discreet.gateway.wires.home_assistant import discovery
from discreet.gateway.wires.mqtt.connection import Message
from discreet.gateway.wires.recorder import tracker_of
from discreet.outputs import SUPPRESSED
from discreet.places.named import Places


class Wire:
    """One view of one person on the broker."""

    def __init__(self, broker: Broker, told: ToldView, forms: Forms) -> None:
        self.told, self.forms = told, forms
        forms.circle(SUPPRESSED)  # the map is looked at now, and not when the first slot ends
        self._qos = 0 if told.now_only else 1
        self.topic = broker.topic(told.person, told.view)
        self._located = f"{RELEASED}/{told.person}/{told.view}"
        shown = discovery(broker, told.person, told.view) if "home_assistant" in told.forms else ()
        self.discovery = [Message(topic, encoded(document)) for topic, document in shown]

    def of(self, row: JournalRow) -> list[Message]:
        """The messages of a row.

        The sensors of Home Assistant read the JSON, so it is told to both. Locations are not retained: silence is no
        message there, and what was retained before it would look like the present.
        """
        forms, found = self.told.forms, []
        if forms & {"json", "home_assistant"}:
            found.append(Message(self.topic, encoded(self.forms.event(row)), self._qos))
        if "home_assistant" in forms:
            state, attributes = self.forms.home_assistant(row)
            told = [
                Message(f"{self.topic}/state", state.encode(), self._qos),
                Message(f"{self.topic}/attributes", encoded(attributes), self._qos),
            ]
            # Home Assistant makes a state of coordinates that have none: `not_home`, wherever they are. So the state is
            # there before they come, and until they are gone.
            found += told if state != SILENT else reversed(told)
        location = self.forms.owntracks(row, tracker_of(self.told.person)) if "owntracks" in forms else None
        if location is not None:
            found.append(Message(self._located, encoded(location), self._qos, retain=False))
        return found

    def change(self, *, places: Places | None = None, view: View | None = None) -> None:
        """Another map, or another view of that name, from now on."""
        before = self.forms
        forms = Forms(before.person, before.clock, places or before.places, view or before.view)
        forms.circle(SUPPRESSED)
        self.forms = forms

    @property
    def retained(self) -> frozenset[str]:
        """Every topic on which something may be retained."""
        below = ("", "/state", "/attributes") if "home_assistant" in self.told.forms else ("",)
        topics = [self.topic + end for end in below] if self.told.forms & {"json", "home_assistant"} else []
        return frozenset(topics) | {one.topic for one in self.discovery}

    @property
    def cleared(self) -> list[Message]:
        """What makes the broker forget it, and Home Assistant its devices, and a phone the friend."""
        located = [self._located] if "owntracks" in self.told.forms else []
        return [Message(topic, b"") for topic in sorted(self.retained, reverse=True) + located]


def wires(broker: Broker, people: Mapping[str, PersonConfig], views: Mapping[str, View]) -> list[Wire]:
    """The wires of a broker's settings."""
    found = []
    for number, told in enumerate(broker.tells):
        for key, name, known in (("person", told.person, people), ("view", told.view, views)):
            if name not in known:
                raise DiscreetError(
                    f"broker.tell[{number}].{key}: there is no {key} {name!r}; known: {', '.join(sorted(known))}"
                )
        person = people[told.person]
        found.append(Wire(broker, told, Forms(person.name, person.clock, person.places, views[told.view])))
    return found
