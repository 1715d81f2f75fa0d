"""One walk through the questions of `discreet setup`, in order; the steps are in `steps.py`."""

from __future__ import annotations

import shlex
import shutil
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.policy import WIDTH
from discreet.cli.setup import steps
from discreet.cli.setup.asking import Asker
from discreet.cli.terminal import note, progress
from discreet.errors import DiscreetError, did_you_mean
from discreet.gateway.setup import habits
from discreet.gateway.setup.habits import Mapped

if TYPE_CHECKING:
    from discreet.choosing import Choice, Choices, Suggested
    from discreet.cli.setup.steps import Given
    from discreet.contexts import Day
    from discreet.evaluation.truth import Truth
    from discreet.gateway.settings import Person, Settings
    from discreet.hierarchy import Hierarchy
    from discreet.mechanisms.named import Spec
    from discreet.models.routine import Routine
    from discreet.policy import Policy

DELTA, VOCABULARY = "0.1", "suppress"
"""What is taken unless the person says otherwise: nothing false is told that nobody asked for."""


class Walk:
    """One walk through the questions: what was answered, and what came of it."""

    def __init__(self, ask: Asker, given: Given, folder: Path, staging: Path, *, quiet: bool) -> None:
        self.ask, self.given, self.folder, self.staging, self.quiet = ask, given, folder, staging, quiet
        self.before = self._settings()
        self.number = 0

    def _settings(self) -> Settings | None:
        """Those of the last time; a file that cannot be read is an error rather than overwritten."""
        from discreet.gateway.settings import NAME, Settings

        path = self.folder / NAME
        return Settings.read(path) if path.exists() else None

    def say(self, text: str) -> None:
        """Words for the person; machines have the document."""
        if not self.quiet:
            print(textwrap.fill(text, WIDTH))

    def head(self, title: str) -> None:
        """Where the walk is."""
        self.number += 1
        if not self.quiet:
            line = f"{self.number}. {title}"
            print(f"\n{line}\n{'-' * len(line)}")

    def through(self) -> dict[str, Any]:
        """All questions, and then the files."""
        from discreet.gateway.section import duration_text
        from discreet.gateway.settings import CARRY
        from discreet.gateway.setup.files import Names

        self._check()
        self.head("You")
        self.person = self._who()
        self.names = Names.of(self.person, self.before)
        known = None if self.before is None else self.before.people.get(self.person)
        self.carry = self.given.carry or (CARRY if known is None else duration_text(known.carry))
        self.clock = steps.ask_clock(self.ask, self.given, None if self.before is None else self.before.clock)
        others = set(() if self.before is None else self.before.people) - {self.person}
        if self.before is not None and others and self.clock != self.before.clock:
            raise DiscreetError(
                f"{self.before.file}: the clock of everybody is {self.before.clock}; use the same for {self.person}"
            )
        self.say(f"{self.person}: {self.clock.zone}, {self.clock.slots} slots a day, cut at {self.clock.cut}")
        readings = self._history()
        mapped = self._places(readings)
        days, routine, keep, kept = self._habits(readings, mapped)
        suggested, policy = self._secrets(routine, mapped, kept)
        truth = self._truth(days, keep, policy)
        policy, choice, tree = self._choice(days, routine, mapped, suggested, policy)
        self._stage(routine, truth, suggested, policy, choice, mapped, tree)
        files = self._move()
        self._end(files, choice)
        return {
            "dir": str(self.folder),
            "person": self.person,
            "files": [str(file) for file in files],
            "days": len(days),
            "contexts": list(routine.contexts),
            "places": None if mapped is None else len(mapped.places),
            "secrets": {one.name: policy.delta_of(one) for one in policy.secrets},
            **_cost(choice),
            "truth": truth.summary(),
        }

    def _check(self) -> None:
        """What options say is checked before anything long is begun."""
        from discreet.choosing.choices import VOCABULARIES
        from discreet.cli.inputs import seconds_of_duration

        if self.given.delta is not None:
            _a_delta(str(self.given.delta))
        if self.given.vocabulary is not None:
            _one_of(VOCABULARIES)(self.given.vocabulary)
        seconds_of_duration(self.given.carry or "0")

    # --- the steps

    def _who(self) -> str:
        if self.given.person is not None:
            return _a_name(self.given.person)
        people = [] if self.before is None else list(self.before.people)
        return self.ask.answer("--person", "What are you called here?", _a_name, people[0] if people else "me")

    def _history(self) -> Path:
        from discreet.data.importing import write_readings

        self.head("Your history")
        history = steps.ask_history(
            self.ask, self.given, self.person, self.clock.zone, self.folder / self.names.readings
        )
        rows, first, last = (
            history.readings.height,
            history.readings["timestamp"].min(),
            history.readings["timestamp"].max(),
        )
        self.say(f"{rows} readings, {str(first)[:10]} to {str(last)[:10]}: {history.told}")
        path = self.staging / self.names.readings
        write_readings(path, history.readings)
        self.positions = history.positions
        return path

    def _places(self, readings: Path) -> Mapped | None:
        from discreet.cli.inputs import seconds_of_duration
        from discreet.places import write_places

        if not self.positions:
            return None
        self.head("Your places")
        before = self.folder / self.names.places
        page, hold = self.staging / self.names.page, seconds_of_duration(self.carry)
        mapped = steps.ask_places(self.ask, self.given, self.person, readings, self.clock, hold, before, page)
        if not (self.ask.asks and mapped.found) and not self.quiet:
            steps.print_places(mapped)
        self.say(f"{mapped.spent.unexplained:.0%} of the time is at none of them.".replace("%", " %"))
        if mapped.found or self.given.names:
            write_places(self.staging / self.names.places, mapped.places)
        else:
            shutil.copyfile(before, self.staging / self.names.places)  # to the letter: people edit it
        habits.draw_places(mapped, self.person, page)
        return mapped

    def _habits(
        self, readings: Path, mapped: Mapped | None
    ) -> tuple[list[Day], Routine, tuple[str, ...], Policy | None]:
        """Days, the routine, what it keeps however rare, and the policy of the last time, if it is kept."""
        from discreet.contexts import shares
        from discreet.policy import read_policy

        self.head("Your habits")
        days = steps.days_of(readings, mapped, self.clock, self.carry)
        kept, path = None, self.folder / self.names.policy
        if path.is_file() and not self.given.secrets:
            before, clock = read_policy(path, self.clock)
            if clock != self.clock:
                raise DiscreetError(f"{path}: its [clock] is {clock}, and yours {self.clock}; leave [clock] out of it")
            names = ", ".join(secret.name for secret in before.secrets)
            question = f"Keep the secrets of {path.name} ({names})?"
            kept = before if self.ask.agreed("--secret NAME", question, default=True) else None
        named = habits.named(None if mapped is None else mapped.places)
        given = tuple(label for label in self.given.secrets if label in shares(days))
        keep = tuple(sorted({*named, *given, *(() if kept is None else kept.contexts)}))
        routine = habits.learned(days, self.clock, keep)
        if not self.quiet:
            steps.print_days(days, routine, self.carry)
        return days, routine, keep, kept

    def _secrets(self, routine: Routine, mapped: Mapped | None, kept: Policy | None) -> tuple[Suggested | None, Policy]:
        if kept is not None:
            for option, given in (("--delta", self.given.delta), ("--odds", self.given.odds)):
                if given is not None:
                    raise DiscreetError(
                        f"{option} is for new secrets, and {self.folder / self.names.policy} has terms of its own; "
                        "change them there, or give --secret"
                    )
            return None, kept
        self.head("Your secrets")
        suggested = steps.ask_secrets(self.ask, self.given, routine, None if mapped is None else mapped.places)
        suggested = replace(suggested, odds=self.given.odds)
        self.say(f"Secret: {', '.join(one.name for one in suggested.proposed)}")
        if suggested.odds is not None:
            self.say(f"What applications see multiplies anybody's odds of it by at most {suggested.odds:g}.")
        return suggested, suggested.policy()

    def _choice(
        self, days: Sequence[Day], routine: Routine, mapped: Mapped | None, suggested: Suggested | None, policy: Policy
    ) -> tuple[Policy, Choice, Hierarchy | None]:
        """Delta and vocabulary, with a look at a day, until the person is content."""
        from discreet.choosing.choices import DELTAS, at_delta, hierarchy_for
        from discreet.cli.policy import print_choices

        self.head("What applications see")
        tree = hierarchy_for(routine, None if mapped is None else mapped.places)
        vocabularies = (
            None if self.given.vocabulary is None and self.ask.asks else [self.given.vocabulary or self._vocabulary()]
        )
        if suggested is None:
            deltas: Sequence[float] = (policy.delta,)
        elif self.given.delta is None and self.ask.asks:
            deltas = DELTAS
        else:
            deltas = (float(DELTA) if self.given.delta is None else self.given.delta,)
        compared = self._compared(routine, policy, deltas, vocabularies, tree)
        several = self.ask.asks and len(compared.choices) > 1
        if several:
            print_choices(compared)
        while True:
            delta, vocabulary = self._chosen(compared)
            if delta not in compared.deltas:
                more = self._compared(routine, policy, (delta,), compared.vocabularies, tree)
                compared = replace(compared, choices=(*compared.choices, *more.choices))
            choice, own = compared.of(delta, vocabulary), at_delta(policy, delta)
            if not self.quiet:
                steps.print_preview(days, routine, own, choice, tree)
            if not self.ask.asks or self.ask.agreed("--yes", "Keep this?", default=True):
                return own, choice, tree
            if not several:
                note("nothing was written")
                raise typer.Exit(1)

    def _compared(
        self,
        routine: Routine,
        policy: Policy,
        deltas: Sequence[float],
        vocabularies: Sequence[str] | None,
        tree: Hierarchy | None,
    ) -> Choices:
        from discreet.choosing import choices

        with progress("drawing weeks") as report:
            return choices(
                routine,
                policy,
                deltas=deltas,
                vocabularies=vocabularies,
                hierarchy=tree,
                weeks=self.given.weeks,
                progress=report,
            )

    def _chosen(self, compared: Choices) -> tuple[float, str]:
        """Any delta, and one of the vocabularies."""
        delta, vocabulary = compared.deltas[0], compared.vocabularies[0]
        if len(compared.deltas) > 1:
            print()
            delta = self.ask.answer("--delta", "Delta?", _a_delta, DELTA)
        if len(compared.vocabularies) > 1:
            words, before = ", ".join(compared.vocabularies), self._vocabulary()
            read = _one_of(compared.vocabularies)
            default = before if before in compared.vocabularies else VOCABULARY
            vocabulary = self.ask.answer("--vocabulary", f"Vocabulary ({words})?", read, default)
        return delta, vocabulary

    def _vocabulary(self) -> str:
        """That of the last time, if there was one."""
        known = None if self.before is None else self.before.people.get(self.person)
        return VOCABULARY if known is None else str(known.mechanism.options.get("outputs", VOCABULARY))

    def _truth(self, days: Sequence[Day], keep: Sequence[str], policy: Policy) -> Truth:
        """Whether the habits hold on days that were held out; if not, only the person can say to go on."""
        truth = habits.truth_of_days(days, self.clock, (*keep, *policy.contexts), policy)
        self.say(f"Are the habits true? {truth.untested or truth.figure}.")
        if truth.holds is False and not self.given.accept_model:
            self.say(f"They are not: what is promised rests on them. What to do: {truth.remedy}.")
            if not self.ask.asks or not self.ask.agreed("--accept-model", "Go on all the same?", default=False):
                note(
                    "nothing was written: the habits do not hold on held-out days; --accept-model goes on all the same"
                )
                raise typer.Exit(1)
        return truth

    # --- the files

    def _stage(
        self,
        routine: Routine,
        truth: Truth,
        suggested: Suggested | None,
        policy: Policy,
        choice: Choice,
        mapped: Mapped | None,
        tree: Hierarchy | None,
    ) -> None:
        """All files in the staging folder, read once as the gateway will read them."""
        from discreet.choosing.choices import spec_of
        from discreet.choosing.policy_text import suggested_text
        from discreet.cli.inputs import seconds_of_duration
        from discreet.gateway.settings import NAME
        from discreet.gateway.setup.files import Decided, stage

        target = self.staging / self.names.policy
        if suggested is None:
            shutil.copyfile(self.folder / self.names.policy, target)
        else:
            target.write_text(suggested_text(suggested.at(policy.delta), routine), encoding="utf-8")
        spec, carry = spec_of(choice.vocabulary, tree), seconds_of_duration(self.carry)
        decided = Decided(self.person, self.clock, carry, spec, mapped is not None)
        stage(self.staging, self.folder / NAME, self.names, self.before, decided, routine, truth.summary())
        known = None if self.before is None else self.before.people.get(self.person)
        self._tell_of_mechanism(known, spec)

    def _tell_of_mechanism(self, before: Person | None, now: Spec) -> None:
        """Say what of a mechanism that somebody wrote by hand gives way."""
        told = ("outputs", "hierarchy")
        if before is not None and (
            before.mechanism.name != now.name or any(key not in told for key in before.mechanism.options)
        ):
            note(f"the mechanism of the settings was {before.mechanism}, and is now {now}")

    def _move(self) -> list[Path]:
        """Every file to its place, the settings last: what they name is then there."""
        from discreet.gateway.settings import NAME
        from discreet.gateway.setup.files import move

        return move(self.staging, self.folder / NAME)

    def _end(self, files: Sequence[Path], choice: Choice) -> None:
        if self.quiet:
            return
        names = self.names
        print()
        self.say(f"Written to {self.folder}, for you alone: {', '.join(file.name for file in files)}.")
        look = f"Look at {names.page}. " if self.positions else ""
        self.say(f"{look}Edit {names.policy} as you like, and run this again at any time.")
        here = shlex.quote(str(self.folder))
        print(f"\nTo serve it at home (docs/gateway.md):\n\n  cd {here}\n  discreet serve --check\n  discreet serve")
        if choice.vocabulary == "generalize":  # its hierarchy is in the settings, and in no option
            return
        places = f" --places {names.places}" if self.positions else ""
        told = "" if choice.vocabulary == VOCABULARY else f" --option outputs={choice.vocabulary}"
        print(f"\nTo see your days as told:\n\n  cd {here}")
        print(f"  discreet release {names.readings}{places} \\")
        print(f"      --model {shlex.quote(names.model)} --policy {names.policy}{told}")


def _cost(choice: Choice) -> dict[str, object]:
    from discreet.choosing.choices import choice_json

    return choice_json(choice)


def _a_name(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise DiscreetError(f"{text!r} is no name; use letters")
    return text


def _a_delta(text: str) -> float:
    try:
        delta = float(text)
    except ValueError:
        delta = 0.0
    if not 0 < delta <= 1:
        raise DiscreetError(f"{text!r} is no delta; write a number above 0 and up to 1, such as 0.1")
    return delta


def _one_of(known: Sequence[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in known:
            raise DiscreetError(f"{text!r} is not among them; {did_you_mean(text, known)}")
        return text

    return read
