"""The long work of the page's steps: reading files, finding places, learning habits, drawing weeks, making the files.

Each function works in a process of its own (`job`), on the folder of a draft. It writes only into `out`, a folder
that is thrown away unless it ends well, and returns what the page is to show: plain values, as JSON has them.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.clock import Clock
from discreet.contexts import UNKNOWN, Day, shares
from discreet.errors import DataError, DiscreetError
from discreet.gateway.setup import habits
from discreet.gateway.setup.history import history_of, imported, users_of, whose

if TYPE_CHECKING:
    import polars as pl

    from discreet.adversary.known import Known
    from discreet.choosing import Suggested, Suggestion
    from discreet.data.importing import Imported
    from discreet.gateway.config.settings import Settings
    from discreet.hierarchy import Hierarchy
    from discreet.models.routine.routine import Routine
    from discreet.outputs import Output
    from discreet.places import Places
    from discreet.policy import Policy

Report = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

UPLOADS, READINGS, MODEL = "uploads", "readings.parquet", "habits.model"
FOUND, PLACES = "found.geojson", "places.geojson"
"""What a draft's folder holds."""

LISTED = 20
"""Labels, faults and files that are shown of many."""

WEEKS = 8
"""Weeks that are drawn to say what a choice costs, as `discreet setup` has it."""


@dataclass(frozen=True)
class Task:
    """Where somebody works, for whom, and by which clock."""

    draft: Path
    out: Path
    person: str
    clock: Clock
    carry: float
    report: Report
    part: Callable[[dict[str, Any]], None]
    """Called with a result as far as it goes, where somebody can go on from that already."""


# --- 2. bring a file


def read(task: Task, user: str | None) -> dict[str, Any]:
    """The files that were brought as one person's readings, and the places in them.

    Where the files speak of several people and none is called so, all that is returned is who there is to choose from.
    """
    from discreet.data.importing import write_readings
    from discreet.places.pace import records_changes

    sources = sorted((task.draft / UPLOADS).glob("*/*"))
    if not sources:
        raise DataError("there is no file yet; bring one")
    found = imported(sources, task.person, task.clock.zone, lambda done, of: task.report("reading", done, of))
    users = users_of(found)
    user = whose(found, task.person) if user is None else user
    if user not in users:
        return {"people": users}
    task.report("finding", 0, 0)
    history = history_of(found, user, task.person)
    write_readings(task.out / READINGS, history.readings)
    zones, seen = history.zones(), history.instants
    result = _summary(task, found, history.readings)
    result["zone"] = None if zones is None else zones.home
    result["zone_warning"] = None if zones is None else zones.warning(task.clock, int(seen[0]))
    result["changes_only"] = records_changes(seen)
    return result | (_places(task) if history.positions else _labels(history.readings))


def without_paths(draft: Path, text: str) -> str:
    """Words on files that were brought, without where our copies of them lie."""
    return re.sub(re.escape(f"{draft / UPLOADS}{os.sep}") + r"\d+" + re.escape(os.sep), "", text)


def _summary(task: Task, found: Imported, readings: pl.DataFrame) -> dict[str, Any]:
    """How much there is, and what was left out."""
    stamps = readings["timestamp"]
    return {
        "readings": readings.height,
        "first": str(stamps.min())[:10],
        "last": str(stamps.max())[:10],
        "files": [
            {
                "file": Path(one.file).name,
                "format": one.format,
                "records": one.records,
                "bad": one.bad,
                "left_out": dict(one.left_out),
            }
            for one in found.files[:LISTED]
        ],
        "first_bad": [without_paths(task.draft, one) for one in found.first_bad],
        "not_read": [[Path(file).name, without_paths(task.draft, why)] for file, why in found.not_read[:LISTED]],
        "unknown": [Path(file).name for file in found.unknown[:LISTED]],
    }


def _places(task: Task) -> dict[str, Any]:
    """Places that are found, with when one is there; in a short history also those of one stay."""
    from discreet.places import Search, write_places

    gap = task.carry or 1.0
    try:
        mapped = habits.found_places(task.out / READINGS, task.clock, Search(gap=gap))
    except DataError:
        mapped = habits.found_places(task.out / READINGS, task.clock, Search(gap=gap, days=1, hours=0.5))
    write_places(task.out / FOUND, mapped.places)
    spent, found = mapped.spent, []
    for k, place in enumerate(mapped.places.places):
        part, quarter = habits.usual(spent, k)
        found.append(
            {
                "number": place.number,
                "name": place.name,
                "middle": list(place.shape.middle),
                "rings": [ring.tolist() for ring in place.shape.rings],
                "hours": float(spent.hours[k]),
                "days": int(spent.days[k]),
                "part": part,
                "quarter": quarter,
            }
        )
    return {"places": found, "unexplained": spent.unexplained}


def _labels(readings: pl.DataFrame) -> dict[str, Any]:
    """The labels of a source that says no positions, the most frequent first."""
    counts = readings["context"].drop_nulls().value_counts(sort=True, name="count")
    return {"labels": [name for name, _ in counts.iter_rows()][: 5 * LISTED]}


# --- 3. look at the places


def drawn(found: Places, names: Mapping[int, str | None]) -> Places:
    """The map with these names, two of one name being one place, and without those that have none."""
    from discreet.places import Places

    kept = found.renamed({number: name for number, name in names.items() if name is not None})
    places = Places(place for place in kept.places if place.number is None or names.get(place.number, "") is not None)
    if not places.places:
        raise DataError("no place is left; keep one at least")
    places.parents()  # an error where no tree can be made of them
    return places


def learn(task: Task, names: Mapping[int, str | None]) -> dict[str, Any]:
    """The map as the person wants it, their habits, and what of them may be secret."""
    from discreet.choosing.keeping import worth_keeping
    from discreet.models.store import save
    from discreet.places import read_places, write_places

    places = None
    if (task.draft / FOUND).is_file():
        places = drawn(read_places(task.draft / FOUND), names)
        write_places(task.out / PLACES, places)
    task.report("learning", 0, 0)
    days = habits.days_of(task.draft / READINGS, places, task.clock, task.carry)
    routine = habits.learned(days, task.clock, worth_keeping(places))
    save(task.out / MODEL, routine)
    task.report("suggesting", 0, 0)
    return {
        "days": len(days),
        "few": len(days) < habits.FEWEST_DAYS,
        "unknown": shares(days).get(UNKNOWN, 0.0),
        **suggestions(routine, places),
    }


def suggestions(routine: Routine, places: Places | None) -> dict[str, Any]:
    """What the rules propose, and every other context as a secret of its own, each with what its delta means."""
    from discreet.choosing.suggest import NOTHING, suggest

    found = suggest(routine, places)
    known = {one.name for one in found.suggestions}
    others = [context for context in routine.contexts if context not in (*NOTHING, *known)]
    own = suggest(routine, places, also=others)
    return {
        "suggestions": _described(found, found.suggestions, routine),
        "others": _described(own, [one for one in own.suggestions if one.name in others], routine),
    }


def _described(found: Suggested, some: Sequence[Suggestion], routine: Routine) -> list[dict[str, Any]]:
    from discreet.choosing.odds import odds
    from discreet.policy import Policy

    if not some:
        return []
    told = odds(routine, Policy([found.secret_of(one) for one in some], delta=found.delta))
    return [
        {
            "name": one.name,
            "rule": one.rule.name,
            "why": one.why,
            "contexts": sorted(one.secret.contexts),
            "proposed": one.proposed,
            "at": one.secret.at,
            "between": None if one.between is None else list(one.between),
            **_odds(told[one.name]),
        }
        for one in some
        if one.name in told
    ]


def _odds(one: Known) -> dict[str, float]:
    return {"delta": one.delta, "prior": one.highest, "limit": one.limit}


# --- 4. choose secrets


def compare(task: Task, secrets: Sequence[str], weeks: int = WEEKS) -> dict[str, Any]:
    """What each delta and vocabulary would show and tell, on drawn weeks and on a day; whether the habits are true.

    The usual delta comes first, and each choice is told when it is known: nobody waits for those they do not want.
    """
    from discreet.choosing.choices import DELTAS, VOCABULARIES, hierarchy_for
    from discreet.choosing.keeping import worth_keeping
    from discreet.choosing.suggest import DELTA

    task.report("testing", 0, 0)
    routine, places, suggested = chosen_of(task.draft, secrets)
    policy, days = suggested.policy(), habits.days_of(task.draft / READINGS, places, task.clock, task.carry)
    truth = habits.truth_of_days(days, task.clock, (*worth_keeping(places), *policy.contexts), policy)
    tree = hierarchy_for(routine, places)
    day = habits.day_to_show(days, routine, policy)
    assert day.date is not None
    told = {"holds": truth.holds, "words": truth.untested or truth.figure, "remedy": truth.remedy}
    result: dict[str, Any] = {
        "choices": [],
        "weeks": weeks,
        "day": {"date": day.date.isoformat(), "true": list(day.contexts), "secret": sorted(policy.contexts)},
        "truth": {**told, "summary": truth.summary()},
    }
    vocabularies = [one for one in VOCABULARIES if one != "generalize" or tree is not None]
    wanted = [(delta, one) for delta in sorted(DELTAS, key=lambda delta: abs(delta - DELTA)) for one in vocabularies]
    for k, (delta, vocabulary) in enumerate(wanted):
        one = _choice(task, routine, policy, delta, vocabulary, tree, day, weeks, (k, len(wanted)))
        result = {**result, "choices": sorted([*result["choices"], one], key=lambda one: one["delta"])}
        task.part(result)
    return result


def _choice(
    task: Task,
    routine: Routine,
    policy: Policy,
    delta: float,
    vocabulary: str,
    tree: Hierarchy | None,
    day: Day,
    weeks: int,
    number: tuple[int, int],
) -> dict[str, Any]:
    """One of the choices, with each secret's limit and the day as it might be told."""
    from discreet.choosing import choices
    from discreet.choosing.choices import at_delta, choice_json
    from discreet.choosing.odds import odds

    def far(done: int, of: int) -> None:
        task.report("drawing", number[0] * of + done, number[1] * of)

    compared = choices(
        routine, policy, deltas=[delta], vocabularies=[vocabulary], hierarchy=tree, weeks=weeks, progress=far
    )
    own = at_delta(policy, delta)
    told = habits.told_on(day, routine, own, vocabulary, tree)
    limits = {name: _odds(known) for name, known in odds(routine, own).items()}
    return {**choice_json(compared.choices[0]), "limits": limits, "told": [_told(output) for output in told]}


def chosen_of(draft: Path, secrets: Sequence[str]) -> tuple[Routine, Places | None, Suggested]:
    """Habits and map of a draft, and the secrets of these names."""
    from discreet.choosing import suggest
    from discreet.models.routine.routine import Routine
    from discreet.models.store import load_days
    from discreet.places import read_places

    routine = load_days(draft / MODEL)
    assert isinstance(routine, Routine)
    places = read_places(draft / PLACES) if (draft / PLACES).is_file() else None
    return routine, places, habits.chosen(suggest(routine, places), secrets, routine, places)


def _told(output: Output) -> dict[str, str]:
    """As the day's strip draws it."""
    from discreet.outputs import Generalized, Released

    if isinstance(output, Released):
        return {"kind": "released", "context": output.context}
    return {"kind": "generalized", "node": output.node} if isinstance(output, Generalized) else {"kind": "suppressed"}


# --- 5. the files


def make(
    task: Task,
    file: Path,
    before: Settings | None,
    secrets: Sequence[str],
    delta: float,
    vocabulary: str,
    truth: Mapping[str, Any],
) -> dict[str, Any]:
    """All files of the person in `out`, as `discreet setup` makes them, and the mechanism tried once."""
    from discreet.choosing.choices import at_delta, hierarchy_for, spec_of
    from discreet.choosing.policy_text import suggested_text
    from discreet.gateway.setup.files import Names, SetupResult, stage

    task.report("writing", 0, 0)
    routine, places, suggested = chosen_of(task.draft, secrets)
    policy: Policy = at_delta(suggested.policy(), delta)
    names = Names.of(task.person, before)
    shutil.copyfile(task.draft / READINGS, task.out / names.readings)
    (task.out / names.policy).write_text(suggested_text(suggested.at(delta), routine), encoding="utf-8")
    if places is not None:
        shutil.copyfile(task.draft / PLACES, task.out / names.places)
        _draw(task, places, task.out / names.page)
    spec = spec_of(vocabulary, hierarchy_for(routine, places))
    decided = SetupResult(task.person, task.clock, task.carry, spec, places is not None)
    stage(task.out, file, names, before, decided, routine, truth)
    task.report("trying", 0, 0)
    try:
        spec.make(routine.since(dt.datetime.now(dt.UTC).date()), policy)  # type: ignore[arg-type]  # without end
    except DiscreetError as error:
        raise DiscreetError(f"{task.person}: the mechanism cannot be made: {error}") from None
    return {"files": sorted(path.name for path in task.out.iterdir())}


def _draw(task: Task, places: Places, page: Path) -> None:
    from discreet.data import read_sightings
    from discreet.places.spent import spent_at

    (sightings,) = read_sightings(task.draft / READINGS).people.values()
    spent = spent_at(sightings, places, Clock(24, task.clock.zone), task.carry)
    habits.draw_places(habits.Mapped(places, spent, found=True), task.person, page)
