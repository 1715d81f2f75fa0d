"""The terminal's walk through the steps of `discreet.setup`; what it asks and prints at each is in `steps.py`."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from discreet.choosing import Choice, Choices, Suggested
from discreet.choosing.choices import DELTAS, VOCABULARIES, at_delta, choice_json, possible
from discreet.choosing.kept_labels import is_unnamed
from discreet.cli.compiling import on_cores
from discreet.cli.inputs import seconds_of_duration
from discreet.cli.policy import WIDTH, ChoiceRows
from discreet.cli.setup import steps
from discreet.cli.setup.questions import Asker
from discreet.cli.setup.steps import Given
from discreet.cli.terminal import note, progress
from discreet.clock import duration_text
from discreet.contexts import shares
from discreet.data.importing import Imported
from discreet.errors import DiscreetError, did_you_mean
from discreet.evaluation.hold import FEWEST_WEEKS, weeks_of
from discreet.evaluation.truth import Truth
from discreet.gateway.config.settings import NAME, PersonSettings, Settings
from discreet.gateway.setup.files import names_of, stage_settings
from discreet.mechanisms.named import Spec
from discreet.places.find import NO_HOME
from discreet.places.pace import records_changes, stands_for
from discreet.policy import Policy, read_policy
from discreet.setup.files import move
from discreet.setup.habits import Mapped
from discreet.setup.history import History, users_of, zones_in
from discreet.setup.steps import HELD, Setup

CARRY = 4 * 3600.0
"""Seconds that a reading stands unless somebody or the history says otherwise."""

DELTA, VOCABULARY = "0.1", "suppress"
"""What is taken unless the person says otherwise: nothing false is told that nobody asked for."""


class SetupWalk:
    """One walk through the questions: what was answered, and what came of it."""

    def __init__(self, ask: Asker, given: Given, folder: Path, staging: Path, *, quiet: bool) -> None:
        self.ask, self.given, self.folder, self.staging, self.quiet = ask, given, folder, staging, quiet
        self.before = self._settings()
        self.known: PersonSettings | None = None
        """Who is set up again, as the settings have them."""
        self.number = 0
        self.files = staging / "files"
        self.files.mkdir()

    def _settings(self) -> Settings | None:
        """Those of the last time; a file that cannot be read is an error rather than overwritten."""
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
        self._check()
        found = steps.brought(self.given, None if self.before is None else self.before.clock)
        self.head("You")
        self._who(found)
        positions = self._history(found)
        if positions:
            self._places()
        kept = self._habits()
        suggested, policy = self._secrets(kept)
        truth = self._truth(policy)
        policy, choice = self._choice(policy, new=kept is None)
        share = self._share(policy, choice)
        secrets = self.folder / self.names.policy if suggested is None else suggested.at(policy.delta)
        files = self._make(secrets, choice, truth, share)
        self._end(files, choice)
        setup = self.setup
        return {
            "dir": str(self.folder),
            "person": setup.person,
            "files": [str(file) for file in files],
            "days": len(setup.days),
            "contexts": list(setup.routine.contexts),
            "places": None if setup.places is None else len(setup.places),
            "secrets": {one.name: policy.delta_of(one) for one in policy.secrets},
            "share": policy.share if share is None else share,
            **_cost(choice),
            "truth": truth.summary(),
        }

    def _check(self) -> None:
        """What options say is checked before anything long is begun."""
        if self.given.delta is not None:
            _a_delta(str(self.given.delta))
        if self.given.vocabulary is not None:
            _one_of(VOCABULARIES)(self.given.vocabulary)
        if self.given.hold is not None and not 0 < self.given.hold < 1:
            raise DiscreetError(f"--hold {self.given.hold:g} is no share of the days; give one such as 0.9")
        seconds_of_duration(self.given.carry or "0")

    # --- the steps

    def _who(self, found: Imported | None) -> None:
        """Who it is, by which clock, and what is known of them from the last time."""
        before, zones = self.before, None if found is None else zones_in(found.readings)
        person = self._name(found)
        self.names = names_of(person, before)
        self.known = None if before is None else before.people.get(person)
        carry = CARRY if self.known is None else self.known.carry
        if self.given.carry is not None:
            carry = seconds_of_duration(self.given.carry)
        clock = steps.ask_clock(self.ask, self.given, None if before is None else before.clock, zones)
        if before is not None and set(before.people) - {person} and clock != before.clock:
            raise DiscreetError(f"{before.file}: the clock of everybody is {before.clock}; use the same for {person}")
        self.say(f"{person}: {clock.zone}, {clock.slots} slots a day, cut at {clock.cut}")
        self.setup = Setup(self.staging, self.staging, person, clock, carry)

    def _name(self, found: Imported | None) -> str:
        """The name of the last time, or the one that the source uses."""
        if self.given.person is not None:
            return _a_name(self.given.person)
        people = [] if self.before is None else list(self.before.people)
        users = [] if found is None else users_of(found)
        usual = people[0] if people else users[0] if len(users) == 1 else "me"
        return self.ask.answer("--person", "What are you called here?", _a_name, usual)

    def _history(self, found: Imported | None) -> int:
        """The readings; how many of them have a position."""
        self.head("Your history")
        history = steps.ask_history(
            self.ask, self.given, self.setup.person, self.setup.clock.zone, self.folder / self.names.readings, found
        )
        self._when(history)
        stamps = history.readings["timestamp"]
        self.say(f"{len(stamps)} readings, {str(stamps.min())[:10]} to {str(stamps.max())[:10]}: {history.sentence}")
        self.setup.bring(history)
        return history.positions

    def _when(self, history: History) -> None:
        """Say by which zone days are cut, and for how long a reading stands where nobody said."""
        zones, seen = history.zones(), history.instants
        if zones is not None:
            warning = zones.warning(self.setup.clock, int(seen[0]))
            if warning is not None:
                note(f"{warning} --zone {zones.home} cuts them there")
            elif self.given.zone is None:
                self.say(f"{zones.sentence()[0].upper()}{zones.sentence()[1:]} (--zone).")
        if self.known is None and self.given.carry is None and records_changes(seen):
            self.setup.carry = stands_for(seen)
            carry = duration_text(self.setup.carry)
            self.say(f"It records changes only: a reading stands until the next one, for up to {carry} (--carry).")

    def _places(self) -> None:
        self.head("Your places")
        before = self.folder / self.names.places
        mapped = steps.ask_places(self.ask, self.given, self.setup, before, self.files / self.names.page)
        if not (self.ask.asks and mapped.found) and not self.quiet:
            steps.print_places(mapped)
        self.say(f"{mapped.spent.unexplained:.0%} of the time is at none of them.".replace("%", " %"))
        if "home" not in mapped.places.names and mapped.found:
            note(NO_HOME)
        self._tell_of_names(mapped)
        if mapped.found or self.given.names:
            self.setup.draw(mapped.places, mapped)
        else:
            self.setup.keep_map(before, mapped)

    def _tell_of_names(self, mapped: Mapped) -> None:
        """Say how places get names, where nobody was there to be asked."""
        numbers = [place.number for place in mapped.places.places if is_unnamed(place.name)]
        if self.ask.asks or not mapped.found or not numbers:
            return
        named = " ".join(f"--name {number}=NAME" for number in numbers[:2])
        sources = " ".join(shlex.quote(str(one)) for one in self.given.sources)
        note(
            f"{len(numbers)} of {len(mapped.places.places)} places have no name but when you are there, so that no "
            "secret can be suggested for what they are; name them: "
            f"discreet setup {sources} --dir {shlex.quote(str(self.folder))} --find-places {named}"
        )

    def _habits(self) -> Policy | None:
        """Learn them; the policy of the last time, if it is kept."""
        self.head("Your habits")
        days = steps.days_of(self.setup)
        kept, path = None, self.folder / self.names.policy
        if path.is_file() and not self.given.secrets:
            own = self.setup.clock
            before, clock = read_policy(path, own)
            if clock != own:
                raise DiscreetError(f"{path}: its [clock] is {clock}, and yours {own}; leave [clock] out of it")
            names = ", ".join(secret.name for secret in before.secrets)
            question = f"Keep the secrets of {path.name} ({names})?"
            kept = before if self.ask.agreed("--secret NAME", question, default=True) else None
        given = [label for label in self.given.secrets if label in shares(days)]
        self.setup.learn([*given, *(() if kept is None else kept.contexts)])
        if not self.quiet:
            steps.print_days(self.setup)
        return kept

    def _secrets(self, kept: Policy | None) -> tuple[Suggested | None, Policy]:
        if kept is not None:
            for option, given in (("--delta", self.given.delta), ("--odds", self.given.odds)):
                if given is not None:
                    raise DiscreetError(
                        f"{option} is for new secrets, and {self.folder / self.names.policy} has terms of its own; "
                        "change them there, or give --secret"
                    )
            return None, kept
        self.head("Your secrets")
        suggested = steps.ask_secrets(self.ask, self.given, self.setup)
        suggested = replace(suggested, odds=self.given.odds)
        self.say(f"Secret: {', '.join(one.name for one in suggested.proposed)}")
        if suggested.odds is not None:
            self.say(f"What applications see multiplies anybody's odds of it by at most {suggested.odds:g}.")
        return suggested, suggested.policy()

    def _choice(self, policy: Policy, *, new: bool) -> tuple[Policy, Choice]:
        """Delta and vocabulary, with a look at a day, until the person is content; `new` secrets have any delta."""
        self.head("What applications see")
        vocabularies = (
            None if self.given.vocabulary is None and self.ask.asks else [self.given.vocabulary or self._vocabulary()]
        )
        if not new:
            deltas: Sequence[float] = (policy.delta,)
        elif self.given.delta is None and self.ask.asks:
            deltas = DELTAS
        else:
            deltas = (float(DELTA) if self.given.delta is None else self.given.delta,)
        rows = ChoiceRows(vocabularies or possible(self.setup.tree), self.given.weeks)
        several = self.ask.asks and len(deltas) * len(rows.vocabularies) > 1
        compared = self._compared(policy, deltas, vocabularies, rows.known if several else None)
        if several:
            rows.end(compared)
        while True:
            delta, vocabulary = self._chosen(compared)
            if delta not in compared.deltas:
                more = self._compared(policy, (delta,), compared.vocabularies)
                compared = replace(compared, choices=(*compared.choices, *more.choices))
            choice, own = compared.of(delta, vocabulary), at_delta(policy, delta)
            if not self.quiet:
                steps.print_preview(self.setup, own, choice)
            if not self.ask.asks or self.ask.agreed("--yes", "Keep this?", default=True):
                return own, choice
            if not several:
                note("nothing was written")
                raise typer.Exit(1)

    def _compared(
        self,
        policy: Policy,
        deltas: Sequence[float],
        vocabularies: Sequence[str] | None,
        known: Callable[[Choice], object] | None = None,
    ) -> Choices:
        with progress("drawing weeks") as report:
            return self.setup.compare(policy, deltas, vocabularies, self.given.weeks, report, on_cores(), known)

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
        return VOCABULARY if self.known is None else str(self.known.mechanism.options.get("outputs", VOCABULARY))

    def _share(self, policy: Policy, choice: Choice) -> float | None:
        """How much of delta is spent, where the person wants it held by their own weeks; None leaves it as it is."""
        within = self.given.hold
        if within is None and self.ask.asks and len(weeks_of(self.setup.days)) >= FEWEST_WEEKS:
            question = (
                "Reserve part of delta, so that 9 of 10 later days stay within it even against somebody who learned "
                "your habits elsewhere? It takes a minute"
            )
            within = HELD if self.ask.agreed(f"--hold {HELD:g}", question, default=False) else None
        if within is None:
            return None
        with progress("releasing each week") as report:
            found = self.setup.held(policy, choice.vocabulary, within, report)
        self.say(found.words)
        if found.share:
            return found.share
        if self.ask.asks and self.ask.agreed("--yes", "Continue with all of delta?", default=False):
            return None
        note("nothing was written: no share of delta holds; bring more weeks, or leave --hold out")
        raise typer.Exit(1)

    def _truth(self, policy: Policy) -> Truth:
        """Whether the habits hold on days that were held out; if not, only the person can say to go on."""
        truth = self.setup.truth(policy)
        self.say(f"Are the habits true? {truth.untested or truth.figure}.")
        if truth.holds is False and not self.given.accept_model:
            self.say(f"They are not: what is promised rests on them. What to do: {truth.remedy}.")
            if not self.ask.asks or not self.ask.agreed("--accept-model", "Go on all the same?", default=False):
                note("nothing was written: the habits do not hold on held-out days; --accept-model continues anyway")
                raise typer.Exit(1)
        return truth

    # --- the files

    def _make(self, secrets: Suggested | Path, choice: Choice, truth: Truth, share: float | None) -> list[Path]:
        """All files, read once as the gateway will read them, and then to their places."""
        decided = self.setup.make(self.files, self.names, secrets, choice.vocabulary, truth.summary(), share)
        stage_settings(self.files, self.folder / NAME, self.names, self.before, decided)
        self._tell_of_mechanism(decided.mechanism)
        return move(self.files, self.folder / NAME)

    def _tell_of_mechanism(self, now: Spec) -> None:
        """Say what of a mechanism that somebody wrote by hand gives way."""
        told, before = ("outputs", "hierarchy"), self.known
        if before is not None and (
            before.mechanism.name != now.name or any(key not in told for key in before.mechanism.options)
        ):
            note(f"the mechanism of the settings was {before.mechanism}, and is now {now}")

    def _end(self, files: Sequence[Path], choice: Choice) -> None:
        if self.quiet:
            return
        names = self.names
        print()
        self.say(f"Written to {self.folder}, for you alone: {', '.join(file.name for file in files)}.")
        look = f"Look at {names.page}. " if self.setup.places is not None else ""
        self.say(f"{look}Edit {names.policy} as you like, and run this again at any time.")
        here = shlex.quote(str(self.folder))
        print(f"\nTo serve it at home (docs/gateway.md):\n\n  cd {here}\n  discreet serve --check\n  discreet serve")
        if choice.vocabulary == "generalize":  # its hierarchy is in the settings, and in no option
            return
        places = f" --places {names.places}" if self.setup.places is not None else ""
        told = "" if choice.vocabulary == VOCABULARY else f" --option outputs={choice.vocabulary}"
        print(f"\nTo see what applications would have seen of your days:\n\n  cd {here}")
        print(f"  discreet release {names.readings}{places} \\")
        print(f"      --model {shlex.quote(names.model)} --policy {names.policy}{told}")


def _cost(choice: Choice) -> dict[str, object]:
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
