"""Habits that the owner learns anew on the page: found in a process, looked at, announced, and taken back until then.

A routine that is announced is written to the person's file first, so that a start after a crash at any point finds the
old habits or the new ones, and announces what is missing. It holds from the cut after next on, like a policy, or from
the first cut after that at which the change itself breaks no limit. A map that was drawn for it comes into force with
it (`Maps.take_over`). Until then it can be undone: the habits before are announced for the same cut.
"""

from __future__ import annotations

import datetime as dt
import itertools
import shutil
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.files import written_whole
from discreet.gateway.owner.maps import Maps, known_names, secret_names, version_of
from discreet.gateway.owner.relearn import MODEL, RelearnOrder, relearned
from discreet.gateway.owner.secrets import trial_of
from discreet.gateway.setup.job import Job
from discreet.gateway.setup.steps import NotNowError
from discreet.gateway.slots.changes import announced_habits, present
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.person import PersonStream
from discreet.live.slots import SECOND
from discreet.models.routine.routine import Routine
from discreet.models.store import load_days, save
from discreet.places.named import Places

FOLDER = "learned"
"""Within the data folder; what a stop left there is erased at the start."""

NO_FILE = "this person's routine is not in a file of discreet.toml, so a restart would undo the change"
NOT_LEARNED = "there is no new routine to start; learn it first"
MAP_CHANGED = "the map was changed since this routine was learned; learn it again"
UNTRUE = "your recent days do not match this routine; tick that you want to start it anyway"
LATER = "by now this would start on {}; look at it again"


@dataclass(frozen=True)
class RoutineFiles:
    """Where a person's routine stands, and what was imported for it, where that is kept."""

    routine: Path
    past: Path | None = None

    @property
    def before(self) -> Path:
        """The file of the routine before."""
        return self.routine.with_name(f"{self.routine.stem}.before{self.routine.suffix}")


@dataclass
class Learning:
    """What is under way for a person, and what came of it."""

    job: Job | None = None
    result: dict[str, Any] | None = None
    version: str = ""
    """Of the map that it was learned with."""
    problem: str | None = None


class Routines:
    """Everybody's routine, as the page looks at it and changes it. Safe to use from several threads."""

    def __init__(self, keeper: Keeper, maps: Maps, files: Mapping[str, RoutineFiles], data: Path) -> None:
        self._keeper, self._maps, self._files = keeper, maps, dict(files)
        self._folder = data / FOLDER
        shutil.rmtree(self._folder, ignore_errors=True)
        self._lock = threading.RLock()
        self._of: dict[str, Learning] = {}

    def admit(self, person: str, files: RoutineFiles) -> None:
        """One more person's."""
        self._files[person] = files

    def past(self, person: str) -> Path | None:
        """Where what was imported is kept."""
        own = self._files.get(person)
        return None if own is None else own.past

    def why_not(self, person: str) -> str | None:
        """Why a person's routine cannot be changed here; None where it can."""
        own = self._files.get(person)
        if own is None:
            return NO_FILE
        others = [name for name, one in self._files.items() if name != person and one.routine == own.routine]
        if others:
            return (
                f"{own.routine.name} is the routine of {', '.join(sorted(others))} too; give each a file of their own"
            )
        return None

    def document(self, person: str) -> dict[str, Any]:
        """Where it stands, for the page. Asked between two slots."""
        stream, history = self._keeper.people[person], self._keeper.people[person].config.history
        today, _ = stream.next
        now, coming = present(history, today), announced_habits(history, today)
        with self._lock:
            found = self._of.get(person, Learning())
            job, result = found.job, found.result
            stale = result is not None and found.version != version_of(self._maps.drawn(person))
            return {
                "can": self.why_not(person),
                "learned": _learned(now.routine),
                "past": (past := self.past(person)) is not None and past.is_file(),
                "coming": coming
                and {
                    "from": coming.date.isoformat(),
                    "new": sorted(set(coming.routine.contexts) - set(now.routine.contexts)),
                    "gone": sorted(set(now.routine.contexts) - set(coming.routine.contexts)),
                },
                "job": None if job is None else {"name": job.name, **asdict(job.far)},
                "result": result,
                "stale": stale,
                "problem": found.problem,
            }

    # --- learned

    def order(self, person: str, weeks: int | None, now: float) -> RelearnOrder:
        """What is learned from, but for the readings. Asked between two slots."""
        why = self.why_not(person)
        if why is not None:
            raise DiscreetError(why)
        stream = self._keeper.people[person]
        config, drawn = stream.config, self._maps.drawn(person)
        date, _ = config.clock.locate(dt.datetime.fromtimestamp(now, dt.UTC))
        trial = trial_of(self._keeper, person, config.policy)
        return RelearnOrder(
            person,
            config.clock,
            config.hold,
            self._files[person].past,
            (),
            None if weeks is None else date - dt.timedelta(weeks=weeks),
            date,
            drawn,
            kept_names(stream, drawn),
            trial,
        )

    def begin(self, person: str, order: RelearnOrder) -> None:
        """Start the work; what was learned before is gone."""
        with self._lock:
            if any(one.job is not None for one in self._of.values()):
                raise NotNowError("a routine is being learned already; wait for it, or cancel it")
            self._folder.mkdir(mode=0o700, exist_ok=True)
            own = self._of[person] = Learning(version=version_of(order.places))
            own.job = Job("routine", self._folder, relearned, (order,), partial(self._ended, person))

    def _ended(self, person: str, job: Job, result: Any, problem: str | None) -> None:
        with self._lock:
            own = self._of.get(person)
            if own is None or own.job is not job:
                return
            own.job, own.problem = None, problem
            if problem is None:
                (job.out / MODEL).replace(self._learned(person))
                own.result = result

    def _learned(self, person: str) -> Path:
        number = sorted(self._keeper.people).index(person)
        return self._folder / f"{number}.model"

    def discard(self, person: str) -> None:
        """End what is under way, and let go of what came of it."""
        with self._lock:
            own = self._of.pop(person, Learning())
        if own.job is not None:
            own.job.cancel()
        if own.result is not None:
            self._learned(person).unlink(missing_ok=True)

    def cancel(self) -> None:
        """End everything, as the gateway stops."""
        for person in list(self._of):
            self.discard(person)

    # --- announced

    def announce(self, person: str, date: str, accept: bool) -> None:
        """Start what was learned, from that date on; called between two slots. An error says why that cannot be."""
        with self._lock:
            own = self._of.get(person)
            if own is None or own.result is None:
                raise NotNowError(NOT_LEARNED)
            drawn = self._maps.drawn(person)
            if own.version != version_of(drawn):
                raise NotNowError(MAP_CHANGED)
            if own.result["truth"]["holds"] is False and not accept:
                raise DiscreetError(UNTRUE)
            routine = load_days(self._learned(person))
            assert isinstance(routine, Routine)
            begins = trial_date(self._keeper, person, routine)
            if begins.isoformat() != date:
                own.result["from"] = begins.isoformat()
                raise NotNowError(LATER.format(begins))
            self._keeper.change(person, None, partial(self._write, person), routine=routine)
            self._of.pop(person)
            self._learned(person).unlink(missing_ok=True)

    def _write(self, person: str) -> None:
        files = self._files[person]
        _copied(files.routine, files.before)
        _copied(self._learned(person), files.routine)

    def undo(self, person: str) -> None:
        """Take back what is announced: the habits before hold on, as if nothing had been. Called between two slots."""
        stream = self._keeper.people[person]
        history, (today, _) = stream.config.history, stream.next
        coming = announced_habits(history, today)
        if coming is None:
            raise NotNowError("no new routine is announced, or it has started")
        before = present(history, today).routine
        self._keeper.change(person, None, partial(self._back, person, before), routine=before, date=history[-1].date)

    def _back(self, person: str, before: Routine) -> None:
        files = self._files[person]
        if files.before.is_file() and _is(files.before, before):
            files.before.replace(files.routine)
        else:
            save(files.routine, before)


def trial_date(keeper: Keeper, person: str, routine: Routine) -> dt.date:
    """From when habits would hold that are announced now; nothing changes."""
    from discreet.gateway.slots.changes import changed

    keeper.finish_change()
    stream = keeper.people[person]
    return changed(stream.session, stream.config.history[-1], routine, stream.config.policy)[1].date


def kept_names(person: PersonStream, drawn: Places) -> tuple[str, ...]:
    """Names that habits have to know, however rare: secrets, and of the map those that are new or known already."""
    known, before = known_names(person), person.config.places.names
    return tuple(sorted({*secret_names(person), *(one for one in drawn.names if one in known or one not in before)}))


def _learned(routine: Routine) -> dict[str, Any]:
    """From what a routine was learned, as far as it says."""
    until = [date for date, _ in routine.learned.until.values()] if routine.learned is not None else []
    return {"until": max(until).isoformat() if until else None}


def _copied(source: Path, to: Path) -> None:
    with written_whole(to, private=True) as file:
        file.write(source.read_bytes())


def _is(path: Path, routine: Routine) -> bool:
    try:
        found = load_days(path)
    except DiscreetError:
        return False
    return isinstance(found, Routine) and found.fingerprint == routine.fingerprint


def instants_of(days: int, now: float) -> list[tuple[int, int]]:
    """The last days, from and to in microseconds, the earliest first: readings are read a day at a time."""
    edges = [round((now + 1 - k * 86_400) * SECOND) for k in range(days, -1, -1)]
    return list(itertools.pairwise(edges))
