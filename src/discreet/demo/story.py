"""A day that shows the problem: a simulated person, what each mechanism shows of it, what an observer makes of that.

The day is the first of a week, which `week.py` tells.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet import mechanisms
from discreet.adversary.belief import Adversary, Belief
from discreet.adversary.known import Known, known
from discreet.clock import Clock
from discreet.contexts import Day
from discreet.contracts import Mechanism
from discreet.demo.beliefs import DayBelief, SecretBelief
from discreet.demo.week import DAYS, Week, WeekShowing, make_week
from discreet.errors import DiscreetError
from discreet.evaluation.replay import replay
from discreet.evaluation.truth import Truth, check_days
from discreet.models.chain.markov import MarkovChain
from discreet.models.learning.held_out import split
from discreet.models.simulate import person
from discreet.numerics import SLACK, FloatArray
from discreet.outputs import Output, to_wire, truthful
from discreet.policy import Policy, Secret
from discreet.randomness import SeededEntropy

LEARNED = 60
"""Past days that the habits are learned from."""

SIMULATED = 150

SHOWN = ("NoMask", "MaskSensitive", "Adaptive")
"""The mechanisms that tell the story, of those that there are."""

DAY_ONLY = ("NoMask",)
"""Those that a week tells nothing new of."""

CLOCK = Clock(48)

WHERE = "hospital"

IF = "if the habits are as learned"
"""What is kept, is kept of this."""


def demo_policy(clock: Clock = CLOCK) -> Policy:
    """The hospital at each slot, the hospital at some time today, and being home at night."""
    night = clock.between("22:00", "06:00")
    return Policy(
        [
            Secret(WHERE),
            Secret(f"{WHERE} today", {WHERE}, at="any"),
            Secret("home at night", {"home"}, slots=night),
        ],
        delta=0.1,
    )


@dataclass(frozen=True)
class Showing:
    """One mechanism on the day."""

    mechanism: str
    outputs: tuple[Output, ...]
    utility: float  # the fraction of slots shown as they were
    beliefs: tuple[DayBelief, ...]

    @property
    def worst(self) -> DayBelief:
        """The secret that is furthest over its limit, one at each slot rather than one at="any"."""
        return max(self.beliefs, key=lambda belief: (belief.excess, belief.at == "each"))

    @property
    def kept(self) -> bool:
        """Whether every secret stayed within its delta."""
        return not any(belief.breached for belief in self.beliefs)


@dataclass(frozen=True)
class Demo:
    """The day, and what became of it under each mechanism."""

    seed: int
    day: Day
    learned: int
    clock: Clock
    contexts: tuple[str, ...]
    policy: Policy
    known: tuple[Known, ...]
    """What habits alone tell of each secret."""
    showings: tuple[Showing, ...]
    simple: Showing
    """A filter that hides the one secret place and shows the rest of the day."""
    week: Week
    truth: Truth
    """How habits of the earlier of the learned days fare on the later."""

    @property
    def date(self) -> dt.date:
        """When it is."""
        assert self.day.date is not None  # the simulator dates its days
        return self.day.date


def make_demo(seed: int = 7, policy: Policy | None = None) -> Demo:
    """Simulate a person, learn their habits, and release a day with a hospital visit by each mechanism; then a week."""
    past, days = _life(seed)
    today = days[0]
    chain = MarkovChain.fit(past, clock=CLOCK)
    policy = demo_policy() if policy is None else policy
    classes = [getattr(mechanisms, name) for name in SHOWN if name in mechanisms.__all__]
    showings = tuple(_showing(cls(chain, policy), today, seed) for cls in classes)
    joined = [cls.__name__ for cls in classes if cls.__name__ not in DAY_ONLY] or [classes[-1].__name__]
    week = make_week(past, days, CLOCK, policy, joined, seed)
    return Demo(
        seed,
        today,
        len(past),
        CLOCK,
        chain.contexts,
        policy,
        known(chain, policy)[None],
        showings,
        _showing(mechanisms.MaskSensitive(chain, Policy([Secret(WHERE)], delta=policy.delta)), today, seed),
        week,
        _truth(past, policy),
    )


def _truth(past: list[Day], policy: Policy) -> Truth:
    """The day that is shown is chosen for its visit, so it is no test; the last fifth of the days before it are."""
    earlier, last = split(past)
    habits = MarkovChain.fit(earlier, clock=CLOCK)
    on = f"the last {len(last)} of them, by habits of the {len(earlier)} before,"
    return check_days(habits, last, policy, on=on, held_out=True, learned_from=len(earlier))


def _life(seed: int) -> tuple[list[Day], list[Day]]:
    """Past days with a hospital visit among them, and a later week that begins with another."""
    for attempt in range(100):
        days = person("demo", days=SIMULATED, slots=CLOCK.slots, seed=seed + 1_000_003 * attempt)
        visits = [number for number, day in enumerate(days) if WHERE in day.contexts]
        for today in visits:
            before = any(today - LEARNED <= visit < today for visit in visits)
            if LEARNED <= today <= len(days) - DAYS and before:
                return days[today - LEARNED : today], days[today : today + DAYS]
    raise DiscreetError(f"no simulated life of seed {seed} has two hospital visits; take another seed")


def _showing(mechanism: Mechanism[Any], today: Day, seed: int) -> Showing:
    adversary = Adversary(mechanism)
    moments = list(replay(mechanism, [today], rng=SeededEntropy(seed), judge=adversary))
    along = [adversary.start(), *(moment.belief for moment in moments)]
    worth = [truthful(moment.context, moment.output) for moment in moments]
    beliefs = tuple(_secret_belief(adversary, secret, along) for secret in adversary.secrets.policy.secrets)
    outputs = tuple(moment.output for moment in moments)
    return Showing(type(mechanism).__name__, outputs, sum(worth) / len(worth), beliefs)


def _secret_belief(adversary: Adversary, secret: Secret, along: list[Belief]) -> DayBelief:
    rows = [k for k, (name, _) in enumerate(adversary.gain_names) if name == secret.name]
    slots = [slot or 0 for name, slot in adversary.gain_names if name == secret.name]
    size = 1 if secret.at == "any" else adversary.process.slots
    prior, room = np.full((2, size), np.nan)
    prior[slots], room[slots] = adversary.priors[rows], adversary.deltas[rows]
    moments = np.full((len(along), size), np.nan)
    for k, belief in enumerate(along):
        moments[k, slots] = belief.beliefs[rows]
    # Sums of many rounded numbers may end a hair outside; what is shown is a probability.
    moments = np.clip(moments, 0.0, 1.0)
    return DayBelief(secret.name, secret.at, adversary.policy.delta_of(secret), room, prior, moments[-1], moments)


# --- words and numbers


def headline(demo: Demo) -> str:
    """What to take away: what hiding only the secrets gave away, in numbers, and that it can be done."""
    by_name = {showing.mechanism: showing for showing in demo.showings}
    hiding = by_name.get("MaskSensitive", demo.showings[-1])
    kept = [showing for showing in demo.showings if showing.kept and showing is not hiding]
    better = "".join(
        f" {one.mechanism} kept every secret, {IF}, and showed {percent(one.utility)} of the day." for one in kept
    )
    return sentence_of(demo, hiding) + better


def if_true(demo: Demo) -> str:
    """Of what all of it is, and how true that was."""
    return f"All of this holds {IF} from {demo.learned} earlier days; {demo.truth.figure}."


def how_true(demo: Demo) -> str:
    """The same for the page."""
    if not demo.truth.holds:
        return if_true(demo)
    off, chance = (f"{100 * share:.1f}" for share in (demo.truth.main.off, demo.truth.main.by_chance))
    return (
        f"All of this holds {IF}. The last fifth of the {demo.learned} days matched the days before it: guesses were "
        f"off by {off} points on average, and by chance alone they would be off by {chance}."
    )


def already_known(demo: Demo) -> list[str]:
    """What anybody guesses of each secret who knows the habits and sees nothing, a sentence each."""
    return [_guessed(one, demo.clock) for one in demo.known]


def _guessed(one: Known, clock: Clock) -> str:
    when = "" if one.highest_at is None else f" (at {clock.label(one.highest_at)})"
    least = "" if one.rows == 1 else f"{percent(one.least)} to "
    said = (
        f"“{one.name}”: habits alone say {least}{percent(one.highest)}{when}; the limit there is {percent(one.limit)}"
    )
    return ". ".join([said, *(f"{text[0].upper()}{text[1:]}" for text in one.warnings(clock))]) + "."


def sentence_of(demo: Demo, showing: Showing) -> str:
    """What one mechanism gave away, or kept, in a sentence."""
    worst = showing.worst
    belief, prior = worst.final[worst.worst], worst.prior[worst.worst]
    when = "some time today" if worst.at == "any" else demo.clock.label(worst.worst)
    guess = f"without any output they would have guessed {percent(prior)}"
    if showing.kept:
        return (
            f"{showing.mechanism} kept every secret, {IF}, and still showed {percent(showing.utility)} of the day: the "
            f"most an observer gained is on “{worst.name}” at {when}, {percent(belief)} sure; {guess}."
        )
    there = f"that you were there at {when}" if worst.name == WHERE else f"of “{worst.name}” at {when}"
    sure = f"an observer who knows the habits is {percent(belief)} sure {there}"
    opening = {
        "MaskSensitive": f"MaskSensitive hid the {WHERE} and still gave it away",
        "NoMask": f"NoMask shows the whole day, the {WHERE} too",
    }.get(showing.mechanism, f"{showing.mechanism} gave a secret away")
    return f"{opening}: {sure}; {guess}."


def percent(share: float) -> str:
    """A probability as people say it: whole percents, and never 100 % for what is not certain."""
    if 0 < share < 0.005:
        return "under 1 %"
    if 0.995 <= share < 1 - SLACK:
        return "over 99 %"
    return f"{100 * share:.0f} %"


def as_json(demo: Demo) -> dict[str, object]:
    """The demo for machines: labels, outputs and beliefs after the whole day."""
    clock = demo.clock
    return {
        "seed": demo.seed,
        "date": demo.date.isoformat(),
        "learned_days": demo.learned,
        "headline": headline(demo),
        "if": if_true(demo),
        "truth": demo.truth.summary(),
        "known": [{**asdict(one), "hides_nothing": one.hides_nothing} for one in demo.known],
        "slots": [clock.label(slot) for slot in range(clock.slots)],
        "true_day": list(demo.day.contexts),
        "mechanisms": [_showing_json(demo, showing) for showing in demo.showings],
        "week": {
            "dates": [date.isoformat() for date in demo.week.dates],
            "true_days": [list(day.contexts) for day in demo.week.days],
            "mechanisms": [_week_json(showing) for showing in demo.week.showings],
        },
    }


def week_told(week: Week) -> str:
    """What to take away of the week, a sentence a mechanism."""
    return " ".join(_week_sentence(showing) for showing in week.showings)


def _week_sentence(showing: WeekShowing) -> str:
    shown = f"showed {percent(showing.utility)} of the week"
    if showing.kept:
        how = ", over six midnights" if showing.endless else ""
        return f"{showing.mechanism} kept every secret of every day{how}, {IF}, and {shown}."
    out = sum(one.breached for one in showing.beliefs)
    return f"{showing.mechanism} gave away {out} of {len(showing.beliefs)} secrets, and {shown}."


def _week_json(showing: WeekShowing) -> dict[str, object]:
    return {
        "mechanism": showing.mechanism,
        "without_end": showing.endless,
        "utility": showing.utility,
        "kept": showing.kept,
        "outputs": [to_wire(output) for output in showing.outputs],
        "secrets": [_week_secret_json(one) for one in showing.beliefs],
    }


def _week_secret_json(one: SecretBelief) -> dict[str, object]:
    return {
        "name": one.name,
        "at": one.at,
        "delta": one.delta,
        "gain": one.gain,
        "breached": one.breached,
        "prior": numbers(one.prior),
        "limit": numbers(one.limit),
        "belief": numbers(one.final),
    }


def _showing_json(demo: Demo, showing: Showing) -> dict[str, object]:
    return {
        "mechanism": showing.mechanism,
        "told": sentence_of(demo, showing),
        "utility": showing.utility,
        "kept": showing.kept,
        "outputs": [to_wire(output) for output in showing.outputs],
        "secrets": [
            {
                "name": one.name,
                "at": one.at,
                "delta": one.delta,
                "gain": one.gain,
                "breached": one.breached,
                "worst_slot": None if one.at == "any" else one.worst,
                "prior": numbers(one.prior),
                "limit": numbers(one.limit),
                "belief": numbers(one.final),
            }
            for one in showing.beliefs
        ],
    }


def numbers(values: FloatArray) -> list[float | None]:
    """For JSON: four digits, None where the secret does not hold."""
    return [None if np.isnan(value) else round(float(value), 4) for value in values]
