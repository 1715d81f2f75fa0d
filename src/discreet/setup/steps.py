"""The steps from a history to a person's files: their order, what each leaves, and their work.

The terminal goes through them in one process. The page does each in a process of its own, may stop between any two and
may do one again, so what a step leaves is a file of the draft's folder. Neither asks or shows anything here.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.choosing import Choice, Choices, Suggested, choices, suggest
from discreet.choosing.choices import hierarchy_for, spec_of
from discreet.choosing.kept_labels import worth_keeping
from discreet.choosing.policy_text import suggested_text, with_share
from discreet.clock import Clock, duration_text
from discreet.contexts import Day
from discreet.data import read_days, read_place_days, read_sightings
from discreet.errors import DataError, DiscreetError, did_you_mean
from discreet.evaluation.compare import Each
from discreet.evaluation.hold import HeldShare, hold
from discreet.evaluation.truth import Truth
from discreet.hierarchy import Hierarchy
from discreet.listener import Progress
from discreet.models.routine.routine import Routine
from discreet.models.store import load_days, save
from discreet.outputs import Output
from discreet.places import Places, Search, Sightings, find_places, read_places, write_places
from discreet.places.spent import spent_at
from discreet.policy import Policy
from discreet.randomness import SeededEntropy
from discreet.session import Session
from discreet.setup import habits
from discreet.setup.files import READ, Names, SetupResult
from discreet.setup.habits import Mapped
from discreet.setup.history import History

READINGS, FOUND, PLACES, MODEL = "readings.parquet", "found.geojson", "places.geojson", "habits.model"
"""What a draft's folder holds."""

TWICE = 2.0
"""The bound on odds that is offered: applications at most double them."""

HELD = 0.9
"""Of later days, those that are to stay within delta where it is held."""


@dataclass(frozen=True)
class SetupStep:
    """One step: its answers, the one that shows it is done and the others, and the files that it leaves."""

    done: str
    others: tuple[str, ...]
    files: tuple[str, ...] = ()


STEPS: Mapping[int, SetupStep] = {
    2: SetupStep("history", ("names",), (READINGS, FOUND)),
    3: SetupStep("habits", ("secrets", "doubles"), (PLACES, MODEL)),
    4: SetupStep("delta", ("costs", "vocabulary", "held", "share")),
}
"""By number, in order: on the page the owner's password comes before them. After the last the files are made. A step
that is done again takes away what it left and what those after it did."""


@dataclass
class Setup:
    """One person on the way. What earlier steps left is in `draft`, and what a step leaves goes to `out`."""

    draft: Path
    out: Path
    person: str
    clock: Clock
    carry: float
    """Seconds."""
    _mapped: Mapped | None = field(default=None, init=False)

    def _at(self, name: str) -> Path:
        """A file of the draft, or what has just taken its place."""
        path = self.out / name
        return path if path.is_file() else self.draft / name

    # --- 2. the history, and the places in it

    def bring(self, history: History) -> None:
        """These are the person's readings."""
        from discreet.data.importing import write_readings

        write_readings(self.out / READINGS, history.readings)

    def find(self, *, few: bool = False) -> Mapped:
        """Places that are found in the readings; `few` takes those of one stay too, for a short history."""
        gap = self.carry or 1.0
        search = Search(gap=gap, days=1, hours=0.5) if few else Search(gap=gap)
        places, spent = find_places(self._sightings(), Clock(24, self.clock.zone), search)
        write_places(self.out / FOUND, places)
        return Mapped(places, spent, found=True)

    def _sightings(self) -> Sightings:
        (own,) = read_sightings(self._at(READINGS)).people.values()
        return own

    # --- 3. the map as the person wants it, and their habits

    @property
    def found(self) -> Places | None:
        """The places that were found; None where there are labels alone."""
        return _map_at(self._at(FOUND))

    def on_map(self, places: Places) -> Mapped:
        """A map with the time that the readings spend at its places."""
        spent = spent_at(self._sightings(), places, Clock(24, self.clock.zone), self.carry)
        return Mapped(places, spent, found=False)

    def draw(self, places: Places, mapped: Mapped | None = None) -> None:
        """This is the person's map; `mapped` is what is known of the time spent there."""
        write_places(self.out / PLACES, places)
        self._mapped = mapped

    def keep_map(self, path: Path, mapped: Mapped) -> None:
        """This file is the person's map, to the letter: people edit it."""
        shutil.copyfile(path, self.out / PLACES)
        self._mapped = mapped

    @cached_property
    def places(self) -> Places | None:
        """The person's map; None where there are labels alone."""
        return _map_at(self._at(PLACES))

    @cached_property
    def days(self) -> list[Day]:
        """The person's days, a context a slot, nothing merged."""
        readings, clock = self._at(READINGS), self.clock
        if self.places is not None:
            found = read_place_days(readings, clock, self.places, hold=self.carry)
        else:
            found = read_days(readings, clock, carry=int(self.carry // clock.slot_seconds))
        (days,) = found.people.values()
        return days

    def learn(self, keep: Sequence[str] = ()) -> Routine:
        """The person's habits; contexts to `keep` are part of them however rare, as are those that may be secret."""
        routine = habits.learned(self.days, self.clock, sorted({*worth_keeping(self.places), *keep}))
        save(self.out / MODEL, routine)
        self.routine = routine
        return routine

    @cached_property
    def routine(self) -> Routine:
        """The habits that were learned."""
        routine = load_days(self._at(MODEL))
        assert isinstance(routine, Routine)
        return routine

    # --- 4. what is secret, and what it costs

    @cached_property
    def suggested(self) -> Suggested:
        """What the rules propose."""
        return suggest(self.routine, self.places)

    def chosen(self, secrets: Sequence[str], *, doubles: bool = False) -> Suggested:
        """The suggestions of these names, and contexts of these names as secrets of their own.

        `doubles` bounds odds too: what applications see at most doubles anybody's.
        """
        known = {one.name for one in self.suggested.suggestions}
        own = [name for name in secrets if name not in known]
        for name in own:
            if name not in self.routine.contexts:
                raise DiscreetError(f"there is no {name!r}; {did_you_mean(name, {*known, *self.routine.contexts})}")
        if not secrets:
            raise DiscreetError("nothing is secret yet; choose something")
        again = replace(suggest(self.routine, self.places, also=own), odds=TWICE if doubles else None)
        return again.only([name for name in secrets if name in {one.name for one in again.suggestions}])

    def truth(self, policy: Policy) -> Truth:
        """Whether habits of the earlier days hold on the last, for these secrets."""
        keep = sorted({*worth_keeping(self.places), *policy.contexts})
        return habits.truth_of_days(self.days, self.clock, keep, policy)

    @cached_property
    def tree(self) -> Hierarchy | None:
        """Wider places over the contexts, where the map has such."""
        return hierarchy_for(self.routine, self.places)

    def compare(
        self,
        policy: Policy,
        deltas: Sequence[float],
        vocabularies: Sequence[str] | None,
        weeks: int,
        progress: Progress | None = None,
        each: Each | None = None,
        known: Callable[[Choice], object] | None = None,
    ) -> Choices:
        """What each delta and vocabulary would show and tell, on drawn weeks; without `vocabularies`, all there are.

        `each` and `known` are those of `choices`.
        """
        return choices(
            self.routine,
            policy,
            deltas=deltas,
            vocabularies=vocabularies,
            hierarchy=self.tree,
            weeks=weeks,
            progress=progress,
            each=each,
            known=known,
        )

    def held(self, policy: Policy, vocabulary: str, within: float, progress: Progress | None = None) -> HeldShare:
        """The share of delta with which so many of the person's later days stay within it (`evaluation.hold`)."""
        make = spec_of(vocabulary, self.tree).make
        return hold(self.routine, self.days, policy, make, alpha=1 - within, progress=progress)

    def shown(self, policy: Policy) -> Day:
        """The day to show: the last with a secret visit, or the last."""
        fitted = [day.fitted(self.routine.contexts) for day in self.days if day.date is not None]
        return ([day for day in fitted if _holds_a_secret(day, policy)] or fitted)[-1]

    def outputs(self, policy: Policy, vocabulary: str) -> list[Output]:
        """What applications would see of that day, as it might be: drawn once, from a seed."""
        day = self.shown(policy)
        assert day.date is not None
        mechanism = spec_of(vocabulary, self.tree).make(self.routine.since(day.date), policy)  # type: ignore[arg-type]
        with Session(mechanism, rng=SeededEntropy(0)) as today:
            return [today.release(context) for context in day.contexts]

    # --- 5. the files

    def make(
        self,
        to: Path,
        names: Names,
        secrets: Suggested | Path,
        vocabulary: str,
        truth: Mapping[str, Any],
        share: float | None = None,
    ) -> SetupResult:
        """All files of the person but the settings; `secrets` with their delta, or a policy's file to be kept.

        `share` is how much of delta is spent; None leaves it as the secrets have it.
        """
        shutil.copyfile(self.draft / READINGS, to / names.readings)
        if self.places is not None:
            shutil.copyfile(self.draft / PLACES, to / names.places)
            habits.draw_places(self._mapped or self.on_map(self.places), self.person, to / names.page)
        if not isinstance(secrets, Path):
            spent = secrets if share is None else replace(secrets, share=share)
            (to / names.policy).write_text(suggested_text(spent, self.routine), encoding="utf-8")
        elif share is None:
            shutil.copyfile(secrets, to / names.policy)
        else:
            text = with_share(secrets.read_text(encoding="utf-8"), share)
            (to / names.policy).write_text(text, encoding="utf-8")
        save(to / names.model, self.routine, truth, {**READ, "carry": duration_text(self.carry)})
        spec = spec_of(vocabulary, self.tree)
        return SetupResult(self.person, self.clock, self.carry, spec, self.places is not None)


def _holds_a_secret(day: Day, policy: Policy) -> bool:
    """Whether some secret is true of the day, at a slot at which it holds."""
    return any(
        context in secret.contexts and (secret.slots is None or slot in secret.slots)
        for secret in policy.secrets
        for slot, context in enumerate(day.contexts)
    )


def _map_at(path: Path) -> Places | None:
    return read_places(path) if path.is_file() else None


def drawn(found: Places, names: Mapping[int, str | None]) -> Places:
    """A map with these names, two of one name being one place, and without those that have none."""
    kept = found.renamed({number: name for number, name in names.items() if name is not None})
    places = Places(place for place in kept.places if place.number is None or names.get(place.number, "") is not None)
    if not places.places:
        raise DataError("no place is left; keep at least one")
    places.parents()  # an error where no tree can be made of them
    return places
