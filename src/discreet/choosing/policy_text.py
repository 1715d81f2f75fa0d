"""A policy as the TOML file that a person edits: every secret with why it is there and what its delta means."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from discreet.adversary.known import Known
from discreet.choosing.odds import odds, odds_in_words
from discreet.choosing.suggest import Suggested, Suggestion
from discreet.models.routine.routine import Routine
from discreet.policy import Policy, Secret

WIDTH = 100

HEAD = (
    "What is secret, and how much belief anybody may gain in it. Proposed by rules that know words and hours and not "
    "you: take out what is no secret, add what is. docs/policy.md explains every key."
)

CHOSEN = (
    "What is secret, and how much belief anybody may gain in it, as chosen on the owner's page, which writes this file "
    "anew: comments of your own are lost then. docs/policy.md explains every key."
)


def policy_file_text(policy: Policy, routine: Routine) -> str:
    """The file of any policy, which `read_policy` reads as the same one: each secret with what its delta means."""
    clock = routine.clock
    told = odds(routine, policy)
    parts = [*_comment(CHOSEN), *_terms(policy)]
    parts += [] if policy.secrets else ["secret = []"]
    if clock is not None:
        parts += ["", "[clock]", *(_line(key, getattr(clock, key)) for key in ("slots", "zone", "cut"))]
    for one in policy.secrets:
        limit = [f"A stranger's guess may rise {odds_in_words(told[one.name])}."] if one.name in told else []
        parts += ["", *(line for words in limit for line in _comment(words)), *_entry(one, None)]
    return "\n".join(parts) + "\n"


def suggested_text(suggested: Suggested, routine: Routine) -> str:
    """The policy file of suggestions; those that are only listed are comments, to be uncommented."""
    own = [suggested.secret_of(one) for one in suggested.suggestions]
    everything = Policy(own, delta=suggested.delta, odds=suggested.odds, share=suggested.share)
    told = odds(routine, everything)
    parts = [*_comment(HEAD), *_terms(everything)]
    for one in suggested.suggestions:
        parts += ["", *_comment(_why(one, told))]
        entry = _entry(suggested.secret_of(one), one.between)
        parts += entry if one.proposed else [f"# {_printable(line)}" for line in entry]
    if not suggested.proposed:
        parts += ["", "secret = []"]
    return "\n".join(parts) + "\n"


def with_share(text: str, share: float) -> str:
    """The text of a policy file with this share of delta; every other line stays as it is."""
    import tomlkit

    document = tomlkit.parse(text)
    document["share"] = share
    return tomlkit.dumps(document)


def _terms(policy: Policy) -> list[str]:
    """The policy's own terms, those that are not as they would be without a line."""
    given = {"delta": policy.delta, "share": policy.share, "odds": policy.odds, "doubt": policy.doubt}
    left_out = {"share": 1.0, "odds": None, "doubt": None}
    return [_line(key, value) for key, value in given.items() if left_out.get(key, "") != value]


def _why(one: Suggestion, told: Mapping[str, Known]) -> str:
    limit = f" A stranger's guess may rise {odds_in_words(told[one.name])}." if one.name in told else ""
    listed = "" if one.proposed else " Not in force: uncomment it to make it a secret."
    return f"{one.rule.name}: {one.why}.{limit}{listed}"


def _entry(secret: Secret, between: tuple[str, str] | None) -> list[str]:
    pairs: dict[str, object] = {"name": secret.name, "contexts": sorted(secret.contexts), "at": secret.at}
    if secret.sequence:
        pairs = {"name": secret.name, "pattern": list(secret.sequence), "within": secret.within}
    if between is not None:
        pairs["between"] = list(between)
    elif secret.slots is not None:
        pairs["slots"] = sorted(secret.slots)
    if between is None and secret.begins:
        pairs["begins"] = secret.begins
    if secret.delta is not None:
        pairs["delta"] = secret.delta
    if secret.cap is not None:
        pairs["cap"] = secret.cap
    if secret.over != "day":
        pairs |= {"over": secret.over} | ({"sliding": True} if secret.sliding else {})
    if secret.odds is not None:
        pairs["odds"] = secret.odds
    return ["[[secret]]", *(_line(key, value) for key, value in pairs.items())]


def _line(key: str, value: object) -> str:
    import tomlkit

    return tomlkit.dumps({key: value}).rstrip("\n")


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(_printable(text), WIDTH - 2)]


def _printable(text: str) -> str:
    """Text without what a comment may not hold, as a name in it may."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
