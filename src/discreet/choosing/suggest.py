"""Secrets that a routine's contexts suggest, by rules that anybody can check.

A rule names contexts, says why, and how much may be gained on them. Rules know words and hours, and no person: what
they propose is a beginning, to be edited by the one person who knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.choosing import words
from discreet.choosing.odds import percent
from discreet.choosing.presence import Presence, main_home, presence
from discreet.contexts import OTHER, UNKNOWN
from discreet.errors import DiscreetError, did_you_mean
from discreet.models.routine.routine import Routine
from discreet.places.named import AWAY, MOVING, Places
from discreet.policy import At, Policy, Secret

DELTA = 0.1
"""The gain that is tolerated unless a rule or the person says otherwise: from 2 % to at most 12 %."""

STRICT = 0.5
"""The part of delta for what the law itself singles out: health, belief, politics, sex life (GDPR, Article 9), and
offences (Article 10)."""

NOTHING = (AWAY, MOVING, UNKNOWN, OTHER)
"""Contexts that are no place, so that there is nothing to visit."""

NIGHTS_FROM, NIGHTS_TO = 1 / 60, 0.5
"""Nights now and then: from one in two months on; somewhere with half of the nights is a home of one's own."""

NIGHT = ("22:00", "06:00")

RARE_DAYS = 1 / 30
"""Seldom: on fewer than one day in a month."""

RARE_MOST = 3
"""Rare places that are proposed where no other rule finds anything."""

OFTEN = 2 / 7
"""From two visits a week on, that one goes there is known, and only when is not."""


@dataclass(frozen=True)
class SuggestionRule:
    """A reason to propose contexts as a secret."""

    name: str
    because: str
    share: float = 1.0
    """The part of the policy's delta that its secrets get."""
    patterns: str = ""

    @property
    def unless(self) -> str:
        """Names that look alike."""
        return words.UNLESS.get(self.name, "")


BY_NAME = (
    SuggestionRule("medical", "the name suggests health", STRICT, words.MEDICAL),
    SuggestionRule("worship", "the name suggests religion", STRICT, words.WORSHIP),
    SuggestionRule("politics", "the name suggests politics or a union", STRICT, words.POLITICS),
    SuggestionRule("intimate", "the name suggests sex life", STRICT, words.INTIMATE),
    SuggestionRule("justice", "the name suggests courts, lawyers or the police", STRICT, words.JUSTICE),
    SuggestionRule("pleasure", "the name suggests bars, clubs or gambling", 1.0, words.PLEASURE),
)
NIGHTS = SuggestionRule("nights", "you spend some nights there, and it is not home", 1.0, words.OTHER_HOMES)
RARE = SuggestionRule("rare", "rarely visited, so a visit stands out")
OWN = SuggestionRule("own", "your choice")
RULES = (*BY_NAME, NIGHTS, RARE)
"""In the order in which they are tried: a context belongs to the first that fits."""


@dataclass(frozen=True)
class Suggestion:
    """One secret that is proposed, by which rule, and why."""

    rule: SuggestionRule
    secret: Secret
    why: str
    proposed: bool = True
    """Whether it is in the policy unless somebody says otherwise; else it is only listed."""
    between: tuple[str, str] | None = None
    """The clock times of its window, as a policy file has them."""

    @property
    def name(self) -> str:
        """The secret's."""
        return self.secret.name


@dataclass(frozen=True)
class Suggested:
    """What was found, and the delta that shares refer to."""

    suggestions: tuple[Suggestion, ...]
    delta: float = DELTA
    odds: float | None = None
    """What odds may be multiplied by, if anything bounds that (`Policy.odds`)."""
    share: float = 1.0
    """How much of delta is spent (`Policy.share`)."""

    @property
    def proposed(self) -> tuple[Suggestion, ...]:
        """Those that are in the policy."""
        return tuple(one for one in self.suggestions if one.proposed)

    def policy(self) -> Policy:
        """The secrets that are proposed, each with its share of delta."""
        own = [self.secret_of(one) for one in self.proposed]
        return Policy(own, delta=self.delta, odds=self.odds, share=self.share)

    def secret_of(self, one: Suggestion) -> Secret:
        """The secret with its delta, which is None where it is the policy's."""
        return one.secret if one.rule.share == 1 else replace(one.secret, delta=one.rule.share * self.delta)

    def at(self, delta: float) -> Suggested:
        """The same with another delta; shares of it stay."""
        return replace(self, delta=delta)

    def only(self, names: Iterable[str]) -> Suggested:
        """With these secrets proposed, and no others; one that is not known is an error."""
        wanted = list(names)
        known = [one.name for one in self.suggestions]
        for name in wanted:
            if name not in known:
                raise DiscreetError(f"there is no suggestion {name!r}; {did_you_mean(name, known)}")
        return replace(self, suggestions=tuple(replace(one, proposed=one.name in wanted) for one in self.suggestions))


def suggest(
    routine: Routine, places: Places | None = None, *, also: Sequence[str] = (), delta: float = DELTA
) -> Suggested:
    """The secrets that a routine's contexts suggest; `places` may say more of them than their names do.

    `also` are contexts that the person named: each is a secret, whatever the rules say.
    """
    for context in also:
        if context not in routine.contexts:
            raise DiscreetError(f"the routine has no context {context!r}; {did_you_mean(context, routine.contexts)}")
    left = [context for context in routine.contexts if context not in (*NOTHING, *also)]
    home = _home(routine, left)
    left = [context for context in left if context != home]
    found = [_visits(routine, OWN, context, {context: OWN.because}) for context in also]
    said = _said_of(places)
    for rule in BY_NAME:
        fits = {context: why for context in left if (why := _by_name(rule, context, said)) is not None}
        if fits:
            found.append(_visits(routine, rule, rule.name, fits))
            left = [context for context in left if context not in fits]
    nights = {context: why for context in left if (why := _by_night(routine, context)) is not None}
    if nights:
        found.append(_nights(routine, nights))
        left = [context for context in left if context not in nights]
    found += [_month(one) for one in found if one.rule.share == STRICT and one.secret.at == "any"]
    return Suggested((*found, *_rare(routine, left, propose=not found)), delta)


def _home(routine: Routine, contexts: Sequence[str]) -> str | None:
    """The person's own home: by its name, else where most nights are."""
    named = [context for context in contexts if words.says(context, words.HOMES) and len(words.words_of(context)) == 1]
    return named[0] if named else main_home(routine, contexts)


def _said_of(places: Places | None) -> dict[str, str]:
    """What a map says of a place beside its name, as maps of OpenStreetMap do: amenity, a description, a note."""
    said: dict[str, str] = {}
    for place in () if places is None else places.places:
        told = [
            place.properties.get(key)
            for key in ("amenity", "category", "type", "shop", "leisure", "description", "note")
        ]
        text = " ".join(value for value in told if isinstance(value, str))
        said[place.name] = f"{said.get(place.name, '')} {text}".strip()
    return said


def _by_name(rule: SuggestionRule, context: str, said: Mapping[str, str]) -> str | None:
    if words.says(context, rule.patterns, rule.unless):
        return rule.because
    if words.says(said.get(context, ""), rule.patterns, rule.unless):
        return f"{rule.because.replace('the name suggests', 'the map suggests')}"
    return None


def _by_night(routine: Routine, context: str) -> str | None:
    """Some nights and not most are spent there, or its name is that of somebody's home; never at work."""
    if words.says(context, words.WORKPLACES):
        return None
    nights = presence(routine, {context}).nights
    if nights is None:
        return None
    if NIGHTS_FROM <= nights < NIGHTS_TO:
        return NIGHTS.because
    return None if words.says(context, NIGHTS.patterns) is None else "the name suggests somebody's home"


def _visits(routine: Routine, rule: SuggestionRule, name: str, contexts: Mapping[str, str]) -> Suggestion:
    """A secret of visits: that there was one on a day, or, where there is one on most days, when."""
    often = presence(routine, contexts)
    at: At = "each" if often.days >= OFTEN else "any"
    when = (
        "hides when you are there, as it is known that you go" if at == "each" else "hides that you go there on a day"
    )
    return Suggestion(rule, Secret(name, contexts, at=at), f"{_reasons(contexts)}; {_often(often)}; {when}")


def _month(one: Suggestion) -> Suggestion:
    """That one goes there at all, in a calendar month: listed beside the secret of a day, which it does not imply.

    Only listed, because it costs more than the day's and habits often tell most of it already.
    """
    secret = replace(one.secret, name=f"{one.name} in a month", over="month")
    why = f"hides that you go to {' or '.join(sorted(secret.contexts))} at all (this month)"
    return Suggestion(one.rule, secret, why, proposed=False)


def _nights(routine: Routine, contexts: Mapping[str, str]) -> Suggestion:
    clock = routine.clock
    assert clock is not None  # without one nothing is known of nights
    secret = Secret("nights elsewhere", contexts, slots=clock.between(*NIGHT), at="any", begins=clock.begins(*NIGHT))
    nights = presence(routine, contexts).nights or 0.0
    why = f"{_reasons(contexts)}; {percent(nights)} of the nights; hides that you stay there"
    return Suggestion(NIGHTS, secret, why, between=NIGHT)


def _rare(routine: Routine, contexts: Sequence[str], *, propose: bool) -> list[Suggestion]:
    """Rare places one by one, the rarest first: each stands out by itself."""
    days = {context: presence(routine, {context}).days for context in contexts}
    rare = sorted((context for context in contexts if days[context] < RARE_DAYS), key=lambda context: days[context])
    found = [_visits(routine, RARE, context, {context: RARE.because}) for context in rare]
    return [replace(one, proposed=propose and k < RARE_MOST) for k, one in enumerate(found)]


def _reasons(contexts: Mapping[str, str]) -> str:
    """hospital, pharmacy: its name speaks of health."""
    by_reason: dict[str, list[str]] = {}
    for context, reason in contexts.items():
        by_reason.setdefault(reason, []).append(context)
    return "; ".join(f"{', '.join(own)}: {reason}" for reason, own in by_reason.items())


def _often(often: Presence) -> str:
    return f"on {percent(often.days)} of the days"
