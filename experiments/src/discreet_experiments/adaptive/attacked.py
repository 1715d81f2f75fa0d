"""The observer who only has data, on recorded people: what was shown of held-out days, attacked on others of them.

Each person's habits are learned from the first days, and the mechanisms release the next. Of these the observer sees
40 % with their truth, is calibrated on 20 %, and judged on the rest: the same people, other days. What the product does
by default (a routine, smoothed, without end) is attacked beside the same with a share of delta that the learned days
chose (`discreet policy hold 0.9`), and beside plain counts, day by day.
Everybody has secrets of their own, so places are called by their part: "secret 1" is the first secret of each, and
"place 1" the most frequent other place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from discreet.adversary.belief import Adversary
from discreet.contexts import Day
from discreet.errors import DiscreetError
from discreet.evaluation.attack import Attack, Attacked, attack
from discreet.evaluation.hold import FEWEST_WEEKS, hold, weeks_of
from discreet.evaluation.joined import without_end
from discreet.evaluation.replay import Moment, replay
from discreet.mechanisms import Adaptive
from discreet.mechanisms.adaptive.adaptive import Memory, Outputs
from discreet.models.routine.routine import Routine
from discreet.outputs import SUPPRESSED, Output, Released
from discreet.policy import Policy, Secret
from discreet.randomness import SeededEntropy
from discreet_experiments.adaptive.picture import PICTURED, Pictured
from discreet_experiments.adaptive.weeks import weekly
from discreet_experiments.charts import marks
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import NOBODY, Figure
from discreet_experiments.shared.people import NOT_PLACES, Trace, prepared
from discreet_experiments.shared.sheets import Cell, Sheet
from discreet_experiments.shared.subjects import Setting, Subject, parted, seed_for, subject
from discreet_experiments.shared.systems import build, label

DAYS = 24
"""Held-out days of a person, unless the setting says."""

HISTORY = 6
"""The last weeks of the learned days, which a share of delta is chosen by."""


@dataclass(frozen=True)
class Endless:
    """A system without end over a routine; with `alpha` its share of delta is chosen by the learned days."""

    name: str
    outputs: Outputs
    memory: Memory
    alpha: float | None = None

    def make(self, model: Any, policy: Policy) -> Adaptive:
        """The mechanism."""
        return Adaptive(model, policy, outputs=self.outputs, memory=self.memory)


ENDLESS = (
    Endless("default, suppress", "suppress", "last"),
    Endless("default, deceive", "deceive", "none"),
    Endless("held 0.9, suppress", "suppress", "last", 0.1),
    Endless("held 0.9, deceive", "deceive", "none", 0.1),
)
COUNTED = ("mask-sensitive", "deceive", "suppress")
"""By plain counts, day by day."""

SILENCE = "silence"
SYSTEMS = (*(one.name for one in ENDLESS), *COUNTED, SILENCE)
"""What the product does first, silence last."""

DATA = PICTURED


@dataclass(frozen=True)
class Seen:
    """A person's held-out days, what each system showed of them, places called by their part, and shares of delta."""

    days: list[Day]
    shown: Mapping[str, list[list[Output]]]
    shares: Mapping[str, float]


def seen_of(trace: Trace, setting: Setting) -> Seen | None:
    """One person's days as the observer comes to see them, without the systems that choose a share where there are too
    few weeks to choose one by.

    None for one who has nothing to hide, or habits too regular to run without end.
    """
    one = subject(trace, replace(setting, smoothing="none", days=None))
    if one is None:
        return None
    one = replace(one, held_out=one.held_out[: setting.days])
    names = parts_played(one)
    learned, _ = parted(prepared(trace, setting.rules), setting.training)
    weeks = weeks_of(learned)[-HISTORY:]
    routine = Routine.fit(learned, smoothing="auto")
    policy = one.policy(setting.delta)
    rng = partial(seed_for, setting.seed, one.number)
    shown: dict[str, list[list[Output]]] = {}
    shares: dict[str, float] = {}
    try:
        for system in ENDLESS:
            share = 1.0
            if system.alpha is not None:
                if len(weeks) < FEWEST_WEEKS:
                    continue
                history = [day for week in weeks for day in week]
                share = hold(routine, history, policy, system.make, alpha=system.alpha, seed=rng("hold")).share
            shares[system.name] = share
            spent = system.make(routine.since(str(one.held_out[0].date)), replace(policy, share=share))
            moments = without_end(spent, one.held_out, rng=SeededEntropy(rng("release")))
            shown[system.name] = _by_day(moments) if share else released(SILENCE, one, setting)
    except DiscreetError:
        return None
    shown |= {name: released(name, one, setting) for name in (*COUNTED, SILENCE)}
    days = [
        replace(day, contexts=tuple(names.get(place, place) for place in day.contexts), person=str(one.number))
        for day in one.held_out
    ]
    return Seen(days, {name: renamed(outputs, names) for name, outputs in shown.items()}, shares)


def _by_day(moments: Iterator[Moment[Any]]) -> list[list[Output]]:
    outputs: list[list[Output]] = [[]]
    for moment in moments:
        outputs[-1].append(moment.output)
        if moment.ends_day:
            outputs.append([])
    return outputs[:-1]


def parts_played(one: Subject) -> dict[str, str]:
    """{place: what part it plays}; `unknown` and `other` are the same for all."""
    names = {secret: f"secret {k}" for k, secret in enumerate(one.secrets, 1)}
    others = [place for place in one.chain.contexts if place not in names and place not in NOT_PLACES]
    return names | {place: f"place {k}" for k, place in enumerate(others, 1)}


def released(name: str, one: Subject, setting: Setting) -> list[list[Output]]:
    """What silence, or a system by plain counts, shows of a person's held-out days."""
    if name == SILENCE:
        return [[SUPPRESSED] * len(day) for day in one.held_out]
    mechanism = build(name, one.chain, one.policy(setting.delta))
    quiet = Adversary(mechanism, policy=Policy())  # nobody's belief is asked for here
    rng = SeededEntropy(seed_for(setting.seed, one.number, "release"))
    return _by_day(replay(mechanism, one.held_out, rng=rng, judge=quiet))


def renamed(outputs: Sequence[Sequence[Output]], names: dict[str, str]) -> list[list[Output]]:
    """The same, places called by their part."""
    return [
        [Released(names.get(one.context, one.context)) if isinstance(one, Released) else one for one in day]
        for day in outputs
    ]


def on_attacks(cohort: Cohort, setting: Setting, sources: Sequence[Pictured] = DATA) -> Figure:
    """Every system on every data set, secret by secret."""
    rows: list[dict[str, Cell]] = []
    drawn: dict[str, tuple[float, ...]] = {}
    own = weekly(replace(setting, days=DAYS if setting.days is None else setting.days))
    for source in sources:
        each = replace(own, rules=source.rules(own.rules))
        people = cohort.over(
            f"attack, {source.name}",
            partial(seen_of, setting=each),
            cohort.read(each.rules, source.reader),
            needed=True,
        )
        for name, found in attacks(people, each).items():
            shown = name if name not in COUNTED else f"{label(name)}, plain counts"
            rows += [_row(source.name, shown, found, secret) | _told(people, name) for secret in found.secrets]
            tested = [one for one in found.secrets if one.verdict != "not tested"]
            drawn[f"{source.name}, {shown}"] = tuple(one.supported - one.limit for one in tested)
    title = "An observer who only has data"
    secrets = f"secret: {own.secrets} places at random, delta {own.delta:g}, cut {own.rules.cut}"
    note = f"{own.rules.slots} slots, {own.days} held-out days a person, {secrets}"
    remarks = (
        "default: a routine, smoothing auto, days joined without end, with suppress (memory last) or deceive (memory "
        f"none); held 0.9: with the share of delta that `discreet policy hold 0.9` chooses by the last {HISTORY} "
        "learned weeks; plain counts: a chain of one day, smoothing none, each day by itself",
        "the observer learned from 40 % of each person's held-out days, with their truth, was calibrated on 20 % and "
        "judged on 40 %; right: of the claims staked, at most one a day, so many were true",
        "supported: the share of right claims, lower confidence bound; limit: prior + delta of the same claims; 1 % "
        "false alarms over the secrets of a row's data and system; beyond: slots believed in beyond their limit",
        "blind: the AUC of the same observer who sees person, hour and weekday, and no output",
    )
    chart = partial(marks.strips, title, note, drawn, across="supported belief minus prior + delta; a tick is a secret")
    return Figure("attacked", title, note, Sheet.of(rows), NOBODY, remarks, chart)


def attacks(people: Sequence[Seen], setting: Setting) -> dict[str, Attack]:
    """{system: the attack on what it showed of everybody}."""
    policy = Policy([Secret(f"secret {k}") for k in range(1, setting.secrets + 1)], delta=setting.delta)
    found = {}
    for name in SYSTEMS:
        own = [one for one in people if name in one.shown]
        if own:
            days, shown = [day for one in own for day in one.days], [day for one in own for day in one.shown[name]]
            found[name] = attack(days, shown, policy, split="days", seed=setting.seed)
    return found


def _told(people: Sequence[Seen], name: str) -> dict[str, Cell]:
    """How much was shown as it was, and the mean share of delta that was spent."""
    slots, true = 0, 0
    own = [one for one in people if name in one.shown]
    for one in own:
        for day, outputs in zip(one.days, one.shown[name], strict=True):
            slots += len(day)
            true += sum(Released(place) == told for place, told in zip(day.contexts, outputs, strict=True))
    shares = [one.shares[name] for one in own if name in one.shares]
    return {"shown": true / slots, "share": sum(shares) / len(shares) if shares else None}


def _row(data: str, system: str, found: Attack, secret: Attacked) -> dict[str, Cell]:
    tested = secret.verdict != "not tested"
    numbers: dict[str, Cell] = {
        "supported": secret.supported,
        "prior": secret.prior,
        "limit": secret.limit,
        "beyond": secret.beyond,
        "true": secret.beyond_true,
        "AUC": secret.auc,
        "blind": secret.auc_blind,
    }
    return {
        "data": data,
        "system": system,
        "secret": secret.name,
        "verdict": secret.verdict,
        "people": found.people,
        "days judged": found.judged,
        "claims": secret.claims,
        "right": secret.right,
        **(numbers if tested else dict.fromkeys(numbers)),
    }
