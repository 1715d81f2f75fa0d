"""The secrets of a person as the owner's page shows and changes them: in force, announced, and drafts of others.

What is refused, and why, are the library's own errors. A change is written to the person's policy file first and then
announced to the stream that runs, so that a start after a crash at any point finds the old policy or the new one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.adversary.known import Known
from discreet.choosing.choices import checked_delta
from discreet.choosing.odds import odds
from discreet.choosing.policy_text import policy_file_text
from discreet.errors import DiscreetError, PolicyError
from discreet.files import written_whole
from discreet.gateway.owner.trial import Trial
from discreet.gateway.slots.changes import HabitsFrom
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.person import PersonStream
from discreet.models.kinds import ONE_DAY
from discreet.models.routine.routine import Routine
from discreet.policy import Policy, Secret, read_policy
from discreet.session import Session

MOST = 50
"""Secrets of a draft."""

LONGEST = 200
"""Letters of a secret's name."""

KEYS = {"name", "contexts", "slots", "delta", "at", "begins", "cap", "odds", "over", "sliding"}


class PolicyFiles:
    """Which file each person's policy stands in; somebody without one can look at secrets, and not change them."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = {name: path.resolve() for name, path in files.items()}  # a link stays one

    def why_not(self, person: str) -> str | None:
        """Why a person's policy cannot be written; None where it can."""
        file = self._files.get(person)
        if file is None:
            return "this person's policy is not in a file, so a restart would undo the change"
        others = sorted(name for name, path in self._files.items() if name != person and path == file)
        if others:
            return (
                f"{file.name} is the policy of {', '.join(others)} too; give each a file of their own in discreet.toml"
            )
        return None

    def admit(self, person: str, file: Path) -> None:
        """One more person's."""
        self._files[person] = file.resolve()

    def changed(self, person: str, policy: Policy, routine: Routine) -> bool:
        """Whether somebody has written another policy there since."""
        file = self._files.get(person)
        return file is not None and read_policy(file, routine.clock)[0].fingerprint != policy.fingerprint

    def write(self, person: str, policy: Policy, routine: Routine) -> None:
        """Write it, whole or not at all, for its owner alone."""
        with written_whole(self._files[person], private=True) as file:
            file.write(policy_file_text(policy, routine).encode("utf-8"))


# --- looking


def secrets_of(keeper: Keeper, files: PolicyFiles, name: str) -> dict[str, Any]:
    """What is in force, what is announced, and what a draft can be made of."""
    person = keeper.people[name]
    config, history = person.config, person.config.history
    today, _ = person.next
    changes = list({one.date: one for one in history}.values())  # of those for the same cut the last counts
    in_force = next((one for one in reversed(changes) if one.date <= today), changes[0])
    return {
        "person": name,
        "clock": {"slots": config.clock.slots, "zone": config.clock.zone, "cut": config.clock.cut},
        "times": [config.clock.label(slot) for slot in range(config.clock.slots)],
        "contexts": list(config.routine.contexts),
        "in_force": _described_habits(in_force),
        "announced": [_described_habits(one) for one in changes if one.date > today],
        "draft": {"of": config.policy.fingerprint, "delta": config.policy.delta},
        "already_told": already_told(person, person.session),
        "fixed": files.why_not(name),
    }


def _described_habits(one: HabitsFrom) -> dict[str, Any]:
    return {"from": one.date.isoformat(), "secrets": described(one.policy, one.routine)}


def described(policy: Policy, routine: Routine) -> list[dict[str, Any]]:
    """Every secret with its terms, and what habits alone tell of it.

    `prior` is what they tell where they tell most, over the slots (or windows) at which it is held and all days of the
    week; `limit` is what belief may rise to there, `mean` their average.
    """
    return _with_odds(policy, routine, odds(routine, policy))


def _with_odds(policy: Policy, routine: Routine, known: Mapping[str, Known]) -> list[dict[str, Any]]:
    return [_described(policy, one, known.get(one.name), routine) for one in policy.secrets]


def _described(policy: Policy, secret: Secret, known: Known | None, routine: Routine) -> dict[str, Any]:
    return {
        "name": secret.name,
        "contexts": sorted(secret.contexts),
        "slots": None if secret.slots is None else sorted(secret.slots),
        "delta": secret.delta,
        "at": secret.at,
        "begins": secret.begins,
        "cap": secret.cap,
        "odds": secret.odds,
        "over": secret.over,
        "sliding": secret.sliding,
        "gain": policy.delta_of(secret),
        "prior": None if known is None else known.highest,
        "prior_at": None if known is None else known.highest_at,
        "mean": None if known is None else known.mean,
        "limit": None if known is None else known.limit,
        "warnings": [] if known is None else known.warnings(routine.clock),
        "by_slot": by_slot(routine, secret),
    }


def by_slot(routine: Routine, secret: Secret) -> list[float]:
    """(T,): how likely the secret is at each slot by habits alone, on the day of the week where that is most.

    Nothing where days do not repeat, so that a slot has no one prior.
    """
    own = [k for k, context in enumerate(routine.contexts) if context in secret.contexts]
    if routine.cycle is None:
        return []
    return [round(share, 6) for share in np.asarray(routine.cycle)[:, :, own].sum(axis=2).max(axis=0).tolist()]


def already_told(person: PersonStream, session: Session) -> list[dict[str, Any]]:
    """What was beyond its limit when a secret came into force, with when that was: it may rise no more."""
    clock, start = person.config.clock, person.head.start
    found = []
    for name, beliefs in session.already_told.items():
        for at, belief in beliefs.items():
            days, slot = divmod(at, clock.slots)
            found.append(
                {"secret": name, "date": (start + days * ONE_DAY).isoformat(), "slot": slot, "belief": float(belief)}
            )
    return found


# --- drafts


def draft_of(given: Sequence[object], before: Policy, routine: Routine) -> Policy:
    """A policy of the secrets that the page sent; what is wrong is the library's error.

    One without a delta of its own has that of the policy before.
    """
    if len(given) > MOST:
        raise PolicyError(f"there are {len(given)} secrets; keep at most {MOST}")
    policy = replace(before, secrets=tuple(_secret_of(one, routine.slots, before) for one in given))
    for secret in policy.secrets:
        checked_delta(policy.delta_of(secret), f"delta of secret {secret.name!r}")
    policy.for_days(routine.contexts, routine.slots)
    return policy


def _secret_of(given: object, slots: int, before: Policy) -> Secret:
    if not isinstance(given, dict) or not given.keys() <= KEYS or not isinstance(given.get("name"), str):
        raise PolicyError(f"a secret is an object with {', '.join(sorted(KEYS))}")
    terms = {**given, "name": given["name"].strip(), "at": given.get("at", "each")}
    known = next((one for one in before.secrets if one.name == terms["name"]), None)
    if known is not None:  # a page that does not know a term leaves it as it was
        terms = {"odds": known.odds} | terms
        terms = ({"over": known.over, "sliding": known.sliding} if terms["at"] == "any" else {}) | terms
    if len(terms["name"]) > LONGEST:
        raise PolicyError(f"the name of a secret has {len(terms['name'])} letters; give it at most {LONGEST}")
    contexts = terms.get("contexts")
    if not isinstance(contexts, list):
        raise PolicyError(f"contexts of secret {terms['name']!r} is not a list of places")
    held = terms.get("slots")
    if held is not None and not (isinstance(held, list) and all(type(slot) is int for slot in held)):
        raise PolicyError(f"slots of secret {terms['name']!r} is not a list of slot numbers")
    if terms.get("begins") is None:
        terms["begins"] = begins_of(held, slots) if terms["at"] == "any" else 0
    try:
        return Secret(**terms)
    except TypeError:  # a label that has no hash, say
        raise PolicyError(f"secret {terms['name']!r} has a term of the wrong kind") from None


def begins_of(held: Sequence[int] | None, slots: int) -> int:
    """Where the window of a day begins: with the run of slots that goes on over the cut, so that a night is whole."""
    within = set(range(slots)).intersection(held or ())
    if len(within) == slots or not {0, slots - 1} <= within:
        return 0
    first = slots - 1
    while first - 1 in within:
        first -= 1
    return first


def checked(keeper: Keeper, name: str, policy: Policy) -> dict[str, Any]:
    """What the secrets of a draft mean, by habits alone.

    A secret that habits leave no doubt of is refused, unless it was declared like this before. For many secrets over
    weeks this takes many seconds, so it is never asked in the thread that decides.
    """
    config = keeper.people[name].config
    known = odds(config.routine, policy)
    for secret in policy.secrets:
        one = known.get(secret.name)
        if one is not None and one.hides_nothing and secret not in config.policy.secrets:
            raise PolicyError("; ".join(one.warnings(config.routine.clock)))
    return {
        "secrets": _with_odds(policy, config.routine, known),
        "same": policy.fingerprint == config.policy.fingerprint,
    }


def trial_of(keeper: Keeper, name: str, policy: Policy) -> Trial:
    """What a process needs to find out from when a draft would hold. Asked between two slots; it takes a moment."""
    keeper.finish_change()
    person = keeper.people[name]
    config, head = person.config, person.head
    checkpoint = person.session.checkpoint().to_json()
    return Trial(config.spec, config.history, head.start, head.first, checkpoint, policy)


# --- saving


def save(keeper: Keeper, files: PolicyFiles, name: str, policy: Policy, of: str) -> dt.date:
    """Write the policy file, then announce the change; the date from which it holds. Called between two slots.

    The draft has been `checked`. `of` is the fingerprint of the policy that it was made from: another one since is not
    overwritten unseen.
    """
    keeper.finish_change()
    config = keeper.people[name].config
    why = files.why_not(name)
    if why is not None:
        raise DiscreetError(why)
    if of != config.policy.fingerprint:
        raise PolicyChangedError(
            "the secrets were changed elsewhere, perhaps in another window; reload them and try again"
        )
    if files.changed(name, config.policy, config.routine):
        raise PolicyChangedError("the policy file was edited by hand; restart discreet to use it, then try again")
    return keeper.change(name, policy, partial(files.write, name, policy, config.routine)).date


class PolicyChangedError(DiscreetError):
    """A draft of secrets that are not the latest any more."""
