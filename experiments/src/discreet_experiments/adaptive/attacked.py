"""The observer who only has data, on recorded people: what was shown of held-out days, attacked on others of them.

Each person's habits are learned from the first days, and the mechanisms release the others. Of these the observer sees
40 % with their truth, is calibrated on 20 %, and judged on the rest: the same people, other days.
Everybody has secrets of their own, so places are called by their part: "secret 1" is the first secret of each, and
"place 1" the most frequent other place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from discreet.adversary.belief import Adversary
from discreet.contexts import Day
from discreet.evaluation.attack import Attack, Attacked, attack
from discreet.evaluation.replay import replay
from discreet.outputs import SUPPRESSED, Output, Released
from discreet.policy import Policy, Secret
from discreet.randomness import SeededEntropy
from discreet_experiments.adaptive.picture import PICTURED, Pictured
from discreet_experiments.charts import marks
from discreet_experiments.shared.cohort import Cohort
from discreet_experiments.shared.figures import NOBODY, Figure
from discreet_experiments.shared.people import NOT_PLACES, Trace
from discreet_experiments.shared.sheets import Cell, Sheet
from discreet_experiments.shared.subjects import Setting, Subject, seed_for, subject
from discreet_experiments.shared.systems import build, label

SILENCE = "silence"
SYSTEMS = ("mask-sensitive", "deceive", "suppress", SILENCE)
"""From the one that tells most to the one that tells nothing."""

DATA = PICTURED[:3]
"""Reality Mining, StudentLife and Foursquare."""

Seen = tuple[list[Day], dict[str, list[list[Output]]]]
"""A person's held-out days, and what each system showed of them, places called by their part."""


def seen_of(trace: Trace, setting: Setting) -> Seen | None:
    """One person's days as the observer comes to see them; None for one who has nothing to hide."""
    one = subject(trace, setting)
    if one is None:
        return None
    names = parts_played(one)
    days = [
        replace(day, contexts=tuple(names.get(place, place) for place in day.contexts), person=str(one.number))
        for day in one.held_out
    ]
    return days, {name: renamed(released(name, one, setting), names) for name in SYSTEMS}


def parts_played(one: Subject) -> dict[str, str]:
    """{place: what part it plays}; `unknown` and `other` are the same for all."""
    names = {secret: f"secret {k}" for k, secret in enumerate(one.secrets, 1)}
    others = [place for place in one.chain.contexts if place not in names and place not in NOT_PLACES]
    return names | {place: f"place {k}" for k, place in enumerate(others, 1)}


def released(name: str, one: Subject, setting: Setting) -> list[list[Output]]:
    """What a system shows of a person's held-out days."""
    if name == SILENCE:
        return [[SUPPRESSED] * len(day) for day in one.held_out]
    mechanism = build(name, one.chain, one.policy(setting.delta))
    quiet = Adversary(mechanism, policy=Policy())  # nobody's belief is asked for here
    rng = SeededEntropy(seed_for(setting.seed, one.number, "release"))
    outputs: list[list[Output]] = [[] for _ in one.held_out]
    place = 0
    for moment in replay(mechanism, one.held_out, rng=rng, judge=quiet):
        outputs[place].append(moment.output)
        place += moment.ends_day
    return outputs


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
    own = replace(setting, pool="places")
    for source in sources:
        each = replace(own, rules=source.rules(setting.rules))
        people = cohort.over(
            source.name, partial(seen_of, setting=each), cohort.read(each.rules, source.reader), needed=True
        )
        for name, found in attacks(people, each).items():
            shown = label(name) if name != SILENCE else "Silence"
            rows += [_row(source.name, shown, found, secret) for secret in found.secrets]
            tested = [one for one in found.secrets if one.verdict != "not tested"]
            drawn[f"{source.name}, {shown}"] = tuple(one.supported - one.limit for one in tested)
    title = "An observer who only has data"
    secrets = f"secret: {own.secrets} places at random, delta {own.delta:g}"
    note = f"{own.rules.slots} slots, smoothing {own.smoothing}, {secrets}"
    remarks = (
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
    days = [day for own, _ in people for day in own]
    policy = Policy([Secret(f"secret {k}") for k in range(1, setting.secrets + 1)], delta=setting.delta)
    return {
        name: attack(days, [day for _, shown in people for day in shown[name]], policy, split="days", seed=setting.seed)
        for name in SYSTEMS
    }


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
