"""What a delta means, in words: from what habits alone tell to what belief may reach."""

from __future__ import annotations

from discreet.adversary.known import Known, known, merged
from discreet.clock import Clock
from discreet.models.routine.parts import AnyModel
from discreet.policy import Policy, Secret


def percent(share: float) -> str:
    """A probability as people say it: 12 %, 2.3 %, and neither 0 nor 100 % of what is neither."""
    if 0 < share < 0.0005:
        return "under 0.1 %"
    if 0.9995 <= share < 1:
        return "over 99.9 %"
    digits = 1 if share < 0.0995 or 0.99 < share < 1 else 0
    return f"{100 * share:.{digits}f}".removesuffix(".0") + " %"


def odds(model: AnyModel, policy: Policy) -> dict[str, Known]:
    """What habits tell of each secret over all kinds of day, and the limit, by the secret's name."""
    return {one.name: one for one in merged(known(model, policy).values())}


def odds_in_words(one: Known) -> str:
    """Such as: from 8 % to at most 13 %."""
    return f"from {percent(one.highest)} to at most {percent(one.limit)}"


def when_in_words(secret: Secret, clock: Clock | None) -> str:
    """When a secret holds, such as: at some time between 22:00 and 06:00."""
    at = "at some time" if secret.at == "any" else "at each time"
    over = "" if secret.over == "day" else f" of {secret.over_in_words}"
    if secret.slots is None:
        return f"{at}{over or ' of the day'}"
    if clock is None:
        return f"{at} of {len(secret.slots)} slots of the day{over and ',' + over}"
    return f"{at}{over}, {clock.times(secret.slots)}"


def reserves_in_words(policy: Policy, secret: Secret) -> list[str]:
    """What odds, doubt and share add to a secret's delta, a sentence each."""
    found, odds = [], policy.odds_of(secret)
    if odds is not None:
        found.append(f"What is shown multiplies nobody's odds of it by more than {odds:g}.")
    if policy.doubt is not None and policy.doubt > 1:
        found.append(f"That holds for whoever thinks it up to {policy.doubt:g} times as likely as habits say, or less.")
    if policy.share < 1:
        found.append(f"Of delta {percent(policy.share)} is spent; the rest is a reserve for habits learned wrongly.")
    return found
