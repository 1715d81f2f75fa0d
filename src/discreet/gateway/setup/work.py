"""The page's steps as work in a process of its own (`job`): each does a step of `discreet.setup`, and says for the page
what came of it, in plain values as JSON has them.

It writes only into `out`, a folder that is thrown away unless the work ends well.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.adversary.known import Known
from discreet.choosing import Suggested, Suggestion
from discreet.choosing.choices import DELTAS, VOCABULARIES, at_delta, choice_json
from discreet.choosing.odds import odds
from discreet.choosing.suggest import DELTA, NOTHING, suggest
from discreet.clock import Clock
from discreet.contexts import UNKNOWN, shares
from discreet.deferred import pl
from discreet.errors import DataError, DiscreetError
from discreet.gateway.config.settings import Settings
from discreet.gateway.setup.files import names_of, stage_settings
from discreet.models.routine.routine import Routine
from discreet.outputs import Generalized, Output, Released
from discreet.places.pace import records_changes
from discreet.places.palette import colour_of, colours_of, numbered
from discreet.policy import Policy
from discreet.setup import habits
from discreet.setup.history import history_of, imported, users_of, whose
from discreet.setup.steps import HELD, Setup, drawn

if TYPE_CHECKING:
    from discreet.data.importing import Imported

Report = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

UPLOADS = "uploads"
"""The files that were brought, in a draft's folder."""

LISTED = 20
"""Labels, faults and files that are shown of many."""

WEEKS = 8
"""Weeks that are drawn to say what a choice costs, as `discreet setup` has it."""


@dataclass
class Task(Setup):
    """Somebody on the way, and who listens."""

    report: Report
    part: Callable[[dict[str, Any]], None]
    """Called with a result as far as it goes, where somebody can go on from that already."""


# --- 2. bring a file


def read(task: Task, user: str | None) -> dict[str, Any]:
    """The files that were brought as one person's readings, and the places in them.

    Where the files speak of several people and none is called so, all that is returned is who there is to choose from.
    """
    sources = sorted((task.draft / UPLOADS).glob("*/*"))
    if not sources:
        raise DataError("there is no file yet; add one")
    found = imported(sources, task.person, task.clock.zone, lambda done, of: task.report("reading", done, of))
    users = users_of(found)
    user = whose(found, task.person) if user is None else user
    if user not in users:
        return {"people": users}
    task.report("finding", 0, 0)
    history = history_of(found, user, task.person)
    task.bring(history)
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
    try:
        mapped = task.find()
    except DataError:
        mapped = task.find(few=True)
    spent, found = mapped.spent, []
    for k, place in enumerate(mapped.places.places):
        part, _ = habits.usual(spent, k)
        first, after = habits.usual_hours(spent, k, part)
        found.append(
            {
                "number": place.number,
                "colour": colour_of((place.number or 1) - 1),
                "name": place.name,
                "middle": list(place.shape.middle),
                "rings": [ring.tolist() for ring in place.shape.rings],
                "hours": float(spent.hours[k]),
                "days": int(spent.days[k]),
                "part": part,
                "from": f"{first:02}:00",
                "to": f"{after:02}:00",
            }
        )
    return {"places": found, "unexplained": spent.unexplained}


def _labels(readings: pl.DataFrame) -> dict[str, Any]:
    """The labels of a source that says no positions, the most frequent first."""
    counts = readings["context"].drop_nulls().value_counts(sort=True, name="count")
    return {"labels": [name for name, _ in counts.iter_rows()][: 5 * LISTED]}


# --- 3. look at the places


def learn(task: Task, names: Mapping[int, str | None]) -> dict[str, Any]:
    """The map as the person wants it, their habits, and what of them may be secret."""
    if (found := task.found) is not None:
        task.draw(drawn(found, names))
    task.report("learning", 0, 0)
    task.learn()
    task.report("suggesting", 0, 0)
    return {
        "days": len(task.days),
        "few": len(task.days) < habits.FEWEST_DAYS,
        "unknown": shares(task.days).get(UNKNOWN, 0.0),
        "colours": colours_of(numbered(task.places, task.routine.contexts)),
        **suggestions(task),
    }


def suggestions(task: Setup) -> dict[str, Any]:
    """What the rules propose, and every other context as a secret of its own, each with what its delta means."""
    routine, found = task.routine, task.suggested
    known = {one.name for one in found.suggestions}
    others = [context for context in routine.contexts if context not in (*NOTHING, *known)]
    own = suggest(routine, task.places, also=others)
    return {
        "suggestions": _described(found, found.suggestions, routine),
        "others": _described(own, [one for one in own.suggestions if one.name in others], routine),
    }


def _described(found: Suggested, some: Sequence[Suggestion], routine: Routine) -> list[dict[str, Any]]:
    if not some:
        return []
    clock = routine.clock
    assert clock is not None  # setup learns with one
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
            **_odds(told[one.name], clock),
        }
        for one in some
        if one.name in told
    ]


def _odds(one: Known, clock: Clock) -> dict[str, Any]:
    """What habits tell, what they may rise to, and when anybody is `sure` already: all day, some hours, or never."""
    sure = None if not one.told else clock.times(one.told_at) if one.told_at and not one.hides_nothing else ""
    return {"delta": one.delta, "prior": one.highest, "limit": one.limit, "sure": sure}


# --- 4. choose secrets


def compare(task: Task, secrets: Sequence[str], weeks: int = WEEKS, doubles: bool = False) -> dict[str, Any]:
    """What each delta and vocabulary would show and tell, on drawn weeks and on a day; whether the habits are true.

    The usual delta comes first, and each choice is told when it is known: nobody waits for those they do not want.
    """
    task.report("testing", 0, 0)
    policy = task.chosen(secrets, doubles=doubles).policy()
    truth, day = task.truth(policy), task.shown(policy)
    assert day.date is not None
    told = {"holds": truth.holds, "words": truth.untested or truth.figure, "remedy": truth.remedy}
    result: dict[str, Any] = {
        "choices": [],
        "weeks": weeks,
        "day": {"date": day.date.isoformat(), "true": list(day.contexts), "secret": sorted(policy.contexts)},
        "truth": {**told, "summary": truth.summary()},
    }
    vocabularies = [one for one in VOCABULARIES if one != "generalize" or task.tree is not None]
    wanted = [(delta, one) for delta in sorted(DELTAS, key=lambda delta: abs(delta - DELTA)) for one in vocabularies]
    for k, (delta, vocabulary) in enumerate(wanted):
        one = _choice(task, policy, delta, vocabulary, weeks, (k, len(wanted)))
        result = {**result, "choices": sorted([*result["choices"], one], key=lambda one: one["delta"])}
        task.part(result)
    return result


def _choice(
    task: Task, policy: Policy, delta: float, vocabulary: str, weeks: int, number: tuple[int, int]
) -> dict[str, Any]:
    """One of the choices, with each secret's limit and the day as it might be told."""

    def far(done: int, of: int) -> None:
        task.report("drawing", number[0] * of + done, number[1] * of)

    (compared,) = task.compare(policy, [delta], [vocabulary], weeks, far).choices
    own = at_delta(policy, delta)
    limits = {name: _odds(known, task.clock) for name, known in odds(task.routine, own).items()}
    told = [_told(output) for output in task.outputs(own, vocabulary)]
    return {**choice_json(compared), "limits": limits, "told": told}


def held(task: Task, secrets: Sequence[str], delta: float, vocabulary: str, doubles: bool = False) -> dict[str, Any]:
    """How much of delta to spend, so that 9 of 10 of the person's own days stay within it before strangers, and what
    that costs (`evaluation.hold`); a `share` of 0 where no share does."""
    policy = at_delta(task.chosen(secrets, doubles=doubles).policy(), delta)
    task.report("holding", 0, 0)
    found = task.held(policy, vocabulary, HELD, lambda done, of: task.report("holding", done, of))
    chosen, whole = found.of(found.share), found.of(1.0)
    return {
        "delta": delta,
        "vocabulary": vocabulary,
        "share": found.share,
        "shown": chosen.utility,
        "instead": whole.utility,
        "beyond": chosen.beyond,
        "without": whole.beyond,
        "weeks": found.weeks,
        "enough": found.history,
        "guaranteed": found.guaranteed,
    }


def _told(output: Output) -> dict[str, str]:
    """As the day's strip draws it."""
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
    doubles: bool = False,
    also: str = "",
    share: float | None = None,
) -> dict[str, Any]:
    """All files of the person in `out`, and the mechanism tried once."""
    task.report("writing", 0, 0)
    chosen, names = task.chosen(secrets, doubles=doubles), names_of(task.person, before)
    decided = task.make(task.out, names, chosen.at(delta), vocabulary, truth, share)
    stage_settings(task.out, file, names, before, decided, also)
    task.report("trying", 0, 0)
    today, policy = dt.datetime.now(dt.UTC).date(), at_delta(chosen.policy(), delta)
    policy = policy if share is None else replace(policy, share=share)
    try:
        decided.mechanism.make(task.routine.since(today), policy)  # type: ignore[arg-type]  # without end
    except DiscreetError as error:
        raise DiscreetError(f"{task.person}: the mechanism cannot be made: {error}") from None
    return {"files": sorted(path.name for path in task.out.iterdir())}
