"""The page's steps from files to a person who is served: what may be done when, and where it stands.

One draft at a time, one piece of work at a time. Every step can be done again; it then begins where it was.
"""

from __future__ import annotations

import datetime as dt
import shutil
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from discreet.clock import Clock
from discreet.errors import DiscreetError
from discreet.gateway.config.settings import WRITING, Settings
from discreet.gateway.setup import work
from discreet.gateway.setup.draft import Draft, DraftAnswers, File, Incoming
from discreet.gateway.setup.job import OUT, Job
from discreet.gateway.setup.supervisor import Supervisor, Tracker, checked_entity, sections
from discreet.gateway.setup.work import Task
from discreet.setup.files import move

FOLDER = "setup"
"""Within the data folder."""

LONGEST_CARRY = 48

TAKEN = "{!r} is already in use here; choose another name"

CHANGED = "{} was changed meanwhile; do this step again, so that the change is not lost"


class NotNowError(DiscreetError):
    """A step whose turn has not come, or while another is under way."""


class SetupSteps:
    """A draft with the work that is under way on it; safe to use from several threads."""

    def __init__(self, data: Path, settings: Settings, limit: int) -> None:
        self.settings, self.limit = settings, limit
        self.known: Callable[[], Collection[str]] = tuple
        """Of whom the journal has a stream: under such a name it would go on, with habits that it is not of."""
        self.weeks = work.WEEKS
        self.supervisor: Supervisor | None = None
        """Home Assistant's, where discreet is one of its apps."""
        self.tiles: Mapping[str, Any] | None = None
        """What the page has to know of the owner's tiles."""
        self._lock = threading.RLock()
        self._draft = Draft(data / FOLDER)
        self._job: Job | None = None
        self._problem: str | None = None
        self._made = False
        self._found: bytes | None = None
        """The settings that the last step was begun with."""
        for path in settings.file.parent.glob(f"{OUT}*"):
            shutil.rmtree(path, ignore_errors=True)  # the last step was cut off
        if self.answers.moving and self.answers.person in settings.people:
            self._draft.erase()  # it was done, and cut off before it was cleared away

    @property
    def answers(self) -> DraftAnswers:
        """As far as they go."""
        return self._draft.answers

    @property
    def clock(self) -> Clock:
        """Everybody's clock, or, for the first person, one in their zone."""
        if self.settings.people:
            return self.settings.clock
        return replace(self.settings.clock, zone=self.answers.zone or self.settings.clock.zone)

    def document(self) -> dict[str, Any]:
        """Where it stands, for the page."""
        with self._lock:
            answers, job = self.answers, self._job
            costs = self._costs()
            if costs is not None:
                truth = {key: value for key, value in costs["truth"].items() if key != "summary"}
                costs = {**costs, "truth": truth}
            return {
                "step": answers.step,
                "person": answers.person,
                "zone": self.clock.zone,
                "zone_is_fixed": bool(self.settings.people),
                "slots": self.clock.slots,
                "cut": self.clock.cut,
                "carry": answers.carry / 3600,
                "taken": sorted(self.settings.people),
                "limit": self.limit,
                "tiles": self.tiles,
                "files": [asdict(file) for file in answers.files],
                "home_assistant": self.supervisor is not None,
                "entity": answers.entity,
                "history": answers.history,
                "names": answers.names,
                "habits": answers.habits,
                "secrets": list(answers.secrets),
                "doubles": answers.doubles,
                "costs": costs,
                "delta": answers.delta,
                "vocabulary": answers.vocabulary,
                "held": answers.held,
                "share": answers.share,
                "job": None if job is None else {"name": job.name, **asdict(job.far)},
                "problem": self._problem,
            }

    # --- files

    def incoming(self, name: str) -> Incoming:
        """A file that is about to come."""
        with self._lock:
            self._check_idle()
            return self._draft.incoming(name, self.limit)

    def accept(self, incoming: Incoming) -> File:
        """A file that has come."""
        with self._lock:
            self._check_idle()
            incoming.end()
            return self._draft.accept(incoming, self.limit)

    def remove(self, id: str) -> None:
        """Take a file away again."""
        with self._lock:
            self._check_idle()
            self._draft.remove(id)

    # --- Home Assistant, where discreet is one of its apps

    def trackers(self) -> list[Tracker]:
        """Who Home Assistant knows to be somewhere."""
        return self._house().trackers()

    def choose_tracker(self, entity: str) -> File | None:
        """The tracker that says where the person is, and what the recorder has of it as a file; None for nothing."""
        house, entity = self._house(), checked_entity(entity)
        history = house.history(entity, dt.datetime.now(dt.UTC))
        file = None
        if history != b"[]":
            incoming = self.incoming(f"{entity}.json")
            try:
                incoming.check(len(history))
                incoming.write(history)
                file = self.accept(incoming)
            finally:
                incoming.gone()
        with self._lock:
            self._check_idle()
            self._draft.keep(replace(self.answers, entity=entity))
        return file

    def _house(self) -> Supervisor:
        if self.supervisor is None:
            raise DiscreetError("discreet does not run as an app of Home Assistant here; bring a file instead")
        return self.supervisor

    # --- steps

    def read(self, person: str, zone: str, carry: float, user: str | None) -> None:
        """Step 2: the files are this person's, whose name in them is `user`; places are found in them."""
        person = checked_person(person)
        if person in self.settings.people:
            raise DiscreetError(TAKEN.format(person))
        if person in self.known() and not (self.answers.moving and self.answers.person == person):
            raise DiscreetError(
                f"{person!r} was used here before, and their record would be continued; choose another name"
            )
        if not 0 < carry <= LONGEST_CARRY:
            raise DiscreetError(f"a reading cannot count for {carry:g} hours; give at most {LONGEST_CARRY}")
        with self._lock:
            if not self.settings.people:
                replace(self.settings.clock, zone=zone)  # an error where there is no such zone
            moving = self.answers.moving and self.answers.person == person  # the files that may be there are theirs
            changed = replace(self.answers, person=person, zone=zone, carry=carry * 3600, moving=moving)
            self._begin("read", 2, changed.without(2), work.read, (user,), "history")

    def learn(self, names: Mapping[int, str | None]) -> None:
        """Step 3: the places are called so; habits are learned with them."""
        with self._lock:
            self._check_step(3)
            own = {str(number): name for number, name in names.items()}
            changed = replace(self.answers.without(3), names=own)
            self._begin("learn", 3, changed, work.learn, (dict(names),), "habits")

    def compare(self, secrets: Sequence[str], *, doubles: bool = False) -> None:
        """Step 4: these are secret, perhaps with a bound on odds; what would it cost?"""
        with self._lock:
            self._check_step(4)
            changed = replace(self.answers.without(4), secrets=tuple(dict.fromkeys(secrets)), doubles=doubles)
            self._begin("compare", 4, changed, work.compare, (changed.secrets, self.weeks, doubles), "costs")

    def hold(self, delta: float, vocabulary: str) -> None:
        """Still step 4: what would it cost to keep part of this choice's delta back, for habits that are not true?"""
        costs = self._settled(delta, vocabulary)
        with self._lock:
            answers = replace(self.answers, costs=costs, delta=None, vocabulary=None, held=None, share=None)
            given = (answers.secrets, delta, vocabulary, answers.doubles)
            self._begin("hold", 4, answers, work.held, given, "held")

    def choose(self, delta: float, vocabulary: str, accept: bool, *, hold: bool = False) -> None:
        """Still step 4: one of the choices; `accept` goes on where the habits are not true of later days, and `hold`
        keeps part of delta back, as much as was found for this choice."""
        with self._lock:
            held = self.answers.held or {}
            if hold and not (held.get("share") and (held["delta"], held["vocabulary"]) == (delta, vocabulary)):
                raise DiscreetError("find out first what holding it on later days costs")
        costs = self._settled(delta, vocabulary, accept=accept)
        with self._lock:
            share = held["share"] if hold else None
            self._draft.keep(replace(self.answers, costs=costs, delta=delta, vocabulary=vocabulary, share=share))

    def _settled(self, delta: float, vocabulary: str, *, accept: bool = True) -> Mapping[str, Any]:
        """What the choices cost, of which this is one; others that are still being found out are not wanted."""
        with self._lock:
            costs, job = self._costs(), self._job
            if costs is None:
                raise NotNowError("choose the secrets first")
            if not any(one["delta"] == delta and one["vocabulary"] == vocabulary for one in costs["choices"]):
                raise DiscreetError(f"delta {delta:g} with {vocabulary!r} is not among the choices")
            if costs["truth"]["holds"] is False and not accept:
                raise DiscreetError("your recent days do not match your routine; tick that you want to continue anyway")
        if job is not None:
            self.cancel()
        return costs

    def finish(self) -> str:
        """Step 5: make the person's files and move them to their places, the settings last; the person's name.

        It returns when that is done. What is moved cannot be cancelled; before, nothing is there.
        """
        with self._lock:
            self._check_step(5)
            if self.answers.person in self.settings.people:
                if self.answers.moving:
                    return self.answers.person  # made and served; their files may have been changed since
                raise DiscreetError(TAKEN.format(self.answers.person))
            self._found = _content(self.settings.file)
            before = self._settings_now()
            answers, file = self.answers, self.settings.file
            assert answers.costs is not None
            given = (
                file,
                before,
                answers.secrets,
                answers.delta,
                answers.vocabulary,
                answers.costs["truth"]["summary"],
                answers.doubles,
                self._also(answers),
                answers.share,
            )
            job = self._begin("make", 5, answers, work.make, given, None, file.parent)
        job.wait()
        with self._lock:
            if self._problem is not None:
                raise DiscreetError(self._problem)
            if not self._made:
                raise NotNowError("it was cancelled")
            return answers.person

    def cancel(self) -> None:
        """End what is under way."""
        job = self._job
        if job is not None:
            job.cancel()
            with self._lock:
                self._job = None if self._job is job else self._job

    def forget(self) -> None:
        """Erase all of it."""
        self.cancel()
        with self._lock:
            self._problem = None
            self._draft.erase()

    # --- within

    def _also(self, answers: DraftAnswers) -> str:
        """Sections of the settings besides the person's own: of the tracker that was chosen."""
        if self.supervisor is None or answers.entity is None:
            return ""
        before = _content(self.settings.file) or b""
        return sections(before.decode(), answers.person, answers.entity, self.supervisor.url)

    def _settings_now(self) -> Settings:
        """As the file has them now: somebody may have edited it."""
        file = self.settings.file
        return Settings.read(file, nobody=True) if file.exists() else self.settings

    def _costs(self) -> Mapping[str, Any] | None:
        """What the choices cost, as far as it is known."""
        job = self._job
        return job.part if job is not None and job.name == "compare" else self.answers.costs

    def _check_idle(self) -> None:
        if self._job is not None:
            raise NotNowError("something is still running; wait for it, or cancel it")

    def _check_step(self, step: int) -> None:
        self._check_idle()
        if self.answers.step < step:
            raise NotNowError(f"step {self.answers.step} comes first")

    def _begin(
        self,
        name: str,
        step: int,
        answers: DraftAnswers,
        call: Callable[..., dict[str, Any]],
        given: tuple[Any, ...],
        answer: str | None,
        folder: Path | None = None,
    ) -> Job:
        """Start work; what came of the step before is gone first. Its result is kept as `answer`."""
        self._check_idle()
        self._problem, self._made = None, False
        if answers != self.answers:
            self._draft.keep(answers)
        about = (self._draft.folder, answers.person, self.clock, answers.carry)

        def ended(job: Job, result: Any, problem: str | None) -> None:
            with self._lock:
                self._job = None
                if problem is not None:
                    self._problem = self._draft.without_paths(problem)
                elif answer is None:
                    self._move(job.out, result["files"])
                else:
                    self._draft.take(job.out)
                    self._draft.keep(replace(self.answers, **{answer: result}))

        self._job = Job(name, folder or self._draft.folder, _in_task, (call, about, *given), ended)
        return self._job

    def _move(self, out: Path, files: Sequence[str]) -> None:
        """The person's files to their places; files of other origin are not overwritten."""
        home, settings = self.settings.file.parent, self.settings.file.name
        there = [name for name in files if name != settings and (home / name).exists()]
        if there and not self.answers.moving:
            self._problem = (
                f"{home / there[0]} already exists and belongs to something else; move it away, or start discreet "
                "serve in another folder"
            )
            return
        try:
            with WRITING:
                if settings in files and _content(self.settings.file) != self._found:
                    self._problem = CHANGED.format(settings)
                    return
                self._draft.keep(replace(self.answers, moving=True))
                move(out, self.settings.file)
            self._made = True
        except OSError as error:
            self._problem = f"{home}: cannot be written to: {error.strerror}; make room, or check the folder"


def _content(file: Path) -> bytes | None:
    """The bytes of a file; None where there is none."""
    return file.read_bytes() if file.exists() else None


def checked_person(name: str) -> str:
    """A name that can stand in the settings, in an address and in a topic."""
    name = name.strip()
    if not name or len(name) > 60 or not name.isprintable() or set(name) & set("/+#"):
        raise DiscreetError(f"{name[:60]!r} cannot be used as a name; use up to 60 letters without / + #")
    return name


# --- in the process of the work

About = tuple[Path, str, Clock, float]


def _in_task(
    out: Path,
    report: work.Report,
    part: Callable[[dict[str, Any]], None],
    call: Callable[..., dict[str, Any]],
    about: About,
    *given: Any,
) -> dict[str, Any]:
    draft, person, clock, carry = about
    return call(Task(draft, out, person, clock, carry, report, part), *given)
