"""What is secret and how much may be gained on it; what a mechanism promises."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from discreet.clock import Clock
from discreet.contexts import OTHER
from discreet.errors import OneDayError, PolicyError, did_you_mean
from discreet.factors import doubted_growth, gain_within
from discreet.given import words_for
from discreet.numerics import CLOSE, SLACK, BoolArray, FloatArray, IntArray, digest_of, read_only
from discreet.policy_file import policy_content, toml_content
from discreet.secret import NIGHT_BEFORE, At, Secret, checked_factor, checked_share, on_day

__all__ = [
    "NIGHT_BEFORE",
    "At",
    "Guarantee",
    "GuaranteeKind",
    "Policy",
    "Secret",
    "SecretTable",
    "Verdict",
    "on_day",
    "read_policy",
]


@dataclass(frozen=True)
class Policy:
    """Secrets, each bounded on its own, and the gain delta that is tolerated unless a secret has its own.

    A string is the secret of that one context. A union is one `Secret` with several contexts.

    `share` is how much of delta is spent: limits are made of share x delta, and the rest is a reserve for habits that
    were learned wrongly (docs/theory.md, section 16). `odds` and `doubt` tighten limits further (section 13): no
    outputs multiply the odds of a secret by more than `odds`; and delta holds before observers whose prior of a row is
    within a factor `doubt` of ours. Copies are made by `dataclasses.replace`, so that no term is lost.
    """

    secrets: tuple[Secret, ...] = ()
    delta: float = 0.1
    share: float = 1.0
    odds: float | None = None
    doubt: float | None = None

    def __init__(
        self,
        secrets: Iterable[Secret | str] | Secret | str = (),
        delta: float = 0.1,
        share: float = 1.0,
        odds: float | None = None,
        doubt: float | None = None,
    ) -> None:
        if isinstance(secrets, str | Secret):
            secrets = (secrets,)
        if not isinstance(secrets, Iterable) or isinstance(secrets, Mapping):
            raise PolicyError(
                f"the secrets of a policy are {words_for(secrets)}; give a list of contexts or of Secret(...), and "
                "delta= by its name"
            )
        named = tuple(secret if isinstance(secret, Secret) else Secret(secret) for secret in secrets)
        seen: set[str] = set()
        for secret in named:
            if secret.name in seen:
                raise PolicyError(f"two secrets are named {secret.name!r}; give each a name of its own")
            seen.add(secret.name)
        object.__setattr__(self, "secrets", named)
        object.__setattr__(self, "delta", checked_share(delta, "delta of the policy"))
        object.__setattr__(self, "share", checked_share(share, "share of the policy"))
        for key, value in (("odds", odds), ("doubt", doubt)):
            object.__setattr__(self, key, None if value is None else checked_factor(value, f"{key} of the policy"))
        for secret in named:
            if secret.cap is not None and secret.cap < self.spent_of(secret) / 2:
                raise PolicyError(
                    f"the cap of secret {secret.name!r} is {secret.cap:g}, below half of its delta, "
                    f"{self.spent_of(secret):g}: it would apply to no prior; give a larger cap or a smaller delta"
                )

    def __repr__(self) -> str:
        own = ", ".join(repr(one.name) if one == Secret(one.name) else repr(one) for one in self.secrets)
        terms = {"delta": self.delta, "share": None if self.share == 1 else self.share}
        terms |= {"odds": self.odds, "doubt": self.doubt}
        shown = ", ".join(f"{key}={value!r}" for key, value in terms.items() if value is not None)
        return f"Policy([{own}], {shown})"

    def delta_of(self, secret: Secret) -> float:
        """The gain tolerated on a secret. Its limits may leave less: see `row_delta`."""
        return self.delta if secret.delta is None else secret.delta

    def spent_of(self, secret: Secret) -> float:
        """The part of a secret's delta that limits are made of."""
        return self.share * self.delta_of(secret)

    def odds_of(self, secret: Secret) -> float | None:
        """The factor that a secret's odds may be multiplied by; None where nothing bounds it."""
        odds = self.odds if secret.odds is None else secret.odds
        return None if odds == np.inf else odds

    def bounds_odds(self, secret: Secret) -> bool:
        """Whether limits depend on odds: then what is left to gain goes to nothing with the prior."""
        return self.odds_of(secret) is not None or (self.doubt or 1.0) > 1

    def least_factor(self, secret: Secret) -> float:
        """The least that odds may be multiplied by, whatever the prior; infinite where nothing bounds odds."""
        odds, delta = self.odds_of(secret), self.spent_of(secret)
        found = np.inf if odds is None else odds
        if self.doubt is not None and self.doubt > 1 and delta < 1:
            found = min(found, ((1 + delta) / (1 - delta)) * ((1 + delta) / (1 - delta)))
        return float(found)

    def cap_applies(self, secret: Secret, prior: float) -> bool:
        """Whether a secret's cap bounds a belief that starts from this prior: it is at most cap - delta/2."""
        delta = self.spent_of(secret)
        return secret.cap is not None and prior <= secret.cap - delta / 2 + min(CLOSE, delta / 4)

    def row_delta(self, secret: Secret, prior: float) -> float:
        """The gain tolerated on a secret at a slot, or in a window, of this prior.

        First share x delta, then what odds and doubt leave of it, then what the cap does. Everything that bounds a gain
        goes by this, so that each term is as exact as a delta. It is never negative, hence silence keeps it.
        """
        delta = self.spent_of(secret)
        found, odds = delta, self.odds_of(secret)
        if odds is not None:
            found = min(found, gain_within(prior, odds - 1))
        if self.doubt is not None and self.doubt > 1:
            found = min(found, gain_within(prior, doubted_growth(prior, delta, self.doubt)))
        if secret.cap is not None and self.cap_applies(secret, prior):
            found = min(found, secret.cap - prior)
        return found

    def terms_of(self, secret: Secret) -> tuple[object, ...]:
        """What limits on a secret depend on, and not on its name: equal terms are one promise."""
        odds, doubt = self.odds_of(secret), self.doubt if (self.doubt or 1.0) > 1 else None
        window = secret.contexts, secret.slots, secret.at, secret.over, secret.sliding, secret.sequence, secret.within
        return *window, self.delta_of(secret), self.share, odds, doubt, secret.cap

    @cached_property
    def fingerprint(self) -> str:
        """A digest: equal policies have equal fingerprints."""
        parts: list[object] = [self.delta]
        parts += [] if self.share == 1 else [("share", self.share)]  # policies without a term keep their fingerprints
        parts += [] if self.odds is None else [("odds", self.odds)]
        parts += [] if self.doubt is None else [("doubt", self.doubt)]
        for one in self.secrets:
            slots = None if one.slots is None else sorted(one.slots)
            parts += [one.name, sorted(one.contexts), slots, one.delta, one.at, one.begins]
            parts += [] if one.cap is None else [("cap", one.cap)]
            parts += [] if one.odds is None else [("odds", one.odds)]
            parts += [("pattern", one.sequence, one.within)] if one.sequence else []
            parts += [] if one.over == "day" else [("over", one.over, one.sliding)]
        return digest_of(parts).hex()

    @property
    def contexts(self) -> frozenset[str]:
        """Every context that is secret at some time."""
        return frozenset().union(*(secret.contexts for secret in self.secrets))

    @cached_property
    def bounds_any(self) -> bool:
        """Whether some secret is about "at some slot"."""
        return any(secret.at == "any" for secret in self.secrets)

    @cached_property
    def beyond_a_day(self) -> bool:
        """Whether some window is longer than a day: then tables go by date."""
        return any(secret.over != "day" for secret in self.secrets)

    def for_model(self, contexts: Sequence[str], slots: int | None, *, patterns: bool = False) -> SecretTable:
        """The policy as arrays over a model's contexts and slots; names what does not fit.

        A pattern is more than its contexts: only who follows it (`adversary.patterns`) may ask for `patterns`.

        The model is of one day: a window that runs over the cut is two secrets (`in_one_day`).
        """
        if slots is None:  # a model without end has no number of slots, and whoever takes one looks for none
            raise OneDayError(
                "a model of one day is needed here, and this one has no end; use routine.day(kind), or a mechanism "
                "that runs without end, such as Adaptive"
            )
        self._refuse_long("a model of one day knows one day; use routine.since(date), or over='day'")
        if not patterns:
            self._refuse_patterns()
        return SecretTable(self.in_one_day(slots), tuple(contexts), slots)

    def for_days(self, contexts: Sequence[str], slots: int) -> SecretTable:
        """The policy over a model of days without end, of so many slots each: windows over the cut stay whole.

        The table's `begins` says where they begin.
        """
        self._refuse_patterns()
        return SecretTable(self, tuple(contexts), slots)

    def _refuse_patterns(self) -> None:
        for secret in self.secrets:
            if secret.sequence:
                raise PolicyError(
                    f"secret {secret.name!r} is a pattern, which Adaptive over a Markov chain of one day bounds, and "
                    "nothing else; use that, or name its contexts as a secret"
                )

    def _refuse_long(self, why: str) -> None:
        for secret in self.secrets:
            if secret.over != "day":
                raise PolicyError(f"the window of secret {secret.name!r} is {secret.over_in_words}, and {why}")

    def for_positions(self, contexts: Sequence[str]) -> SecretTable:
        """The policy over positions without end, 0, 1, 2, ...: a secret's slots are positions, and none repeats."""
        self._refuse_patterns()
        self._refuse_long("positions have no dates; give the positions of a window (slots=range(0, 20))")
        last = -1
        for secret in self.secrets:
            if secret.begins:
                raise PolicyError(
                    f"the window of secret {secret.name!r} begins at slot {secret.begins} of a day, and positions have "
                    "no days; leave begins out"
                )
            if secret.slots is None and secret.at == "any":
                raise PolicyError(
                    f"secret {secret.name!r} is about some position, ever: who knows the habits is nearly sure of that "
                    "already, so it is no secret; give the positions of a window (slots=range(0, 20)), or at='each'"
                )
            last = max([last, *(secret.slots or ())])
        return SecretTable(self, tuple(contexts), last + 2, repeats=False)

    def in_one_day(self, slots: int) -> Policy:
        """The policy on a model of one day: see `Secret.in_one_day`."""
        if not any(secret.begins for secret in self.secrets):
            return self
        return replace(self, secrets=tuple(part for secret in self.secrets for part in secret.in_one_day(slots)))

    def worst(self, secret: Secret, gains: Mapping[str, float]) -> float | None:
        """The worst of a secret's gains by name: of both where its window is two, and of each of several days'."""
        names = {secret.name, secret.name + NIGHT_BEFORE * (secret.begins > 0)}
        if secret.at == "any":
            names.update(name for name in gains if name.startswith(f"{secret.name} (day"))  # `on_day`
        return max((gain for name, gain in gains.items() if name in names), default=None)

    def verdicts(
        self,
        gains: Mapping[str, float],
        bounds: Mapping[str, float] | None = None,
        *,
        excess: Mapping[str, float] | None = None,
        bound_excess: Mapping[str, float] | None = None,
    ) -> tuple[Verdict, ...]:
        """What became of each secret, by its worst gain; `bounds` are those that an audit has proven.

        `excess` and `bound_excess` are the largest gain, and the largest bound, beyond its own row's limit. Without
        them gains are held against delta, which is all that there is to a secret without a cap.
        """
        return tuple(self._verdict(secret, gains, bounds, excess, bound_excess) for secret in self.secrets)

    def _verdict(
        self,
        secret: Secret,
        gains: Mapping[str, float],
        bounds: Mapping[str, float] | None,
        excess: Mapping[str, float] | None,
        bound_excess: Mapping[str, float] | None,
    ) -> Verdict:
        delta, gain = self.delta_of(secret), self.worst(secret, gains) or 0.0
        bound = None if bounds is None else self.worst(secret, bounds) or 0.0
        by_prior = secret.cap is not None or self.bounds_odds(secret)
        if by_prior and (excess is None or (bounds is not None and bound_excess is None)):
            raise PolicyError(
                f"secret {secret.name!r} has a cap or a bound on odds, so that its limits differ from slot to slot; "
                "give excess= (and bound_excess=), the largest gain beyond its own limit"
            )
        spent = self.spent_of(secret)
        over = None if excess is None else self.worst(secret, excess)
        most = None if bound_excess is None else self.worst(secret, bound_excess)
        return Verdict(
            secret,
            delta,
            gain,
            bound,
            gain - spent if over is None else over,
            None if bound is None else bound - spent if most is None else most,
            self.terms_in_words(secret),
        )

    def terms_in_words(self, secret: Secret) -> str:
        """Delta, and the other terms where there are any, such as: 0.1000, cap 0.2, odds at most x 3."""
        odds = self.odds_of(secret)
        found = [f"{self.delta_of(secret):.4f}"]
        found += [] if self.share == 1 else [f"of which {self.share:g} is spent"]
        found += [] if secret.cap is None else [f"cap {secret.cap:g}"]
        found += [] if odds is None else [f"odds at most x {odds:g}"]
        found += [] if (self.doubt or 1.0) == 1 else [f"doubt {self.doubt:g}"]
        return ", ".join(found)

    @classmethod
    def read(cls, path: str | Path, clock: Clock | None = None) -> Policy:
        """Read the TOML form (docs/policy.md); `clock` turns clock times into slots where the file has no [clock]."""
        return read_policy(path, clock)[0]


@dataclass(frozen=True)
class Verdict:
    """Whether a secret's limits were kept: by gains that came about, or, with a bound, by all that could."""

    secret: Secret
    delta: float
    gain: float
    """The worst that was found."""
    bound: float | None = None
    """What no gain exceeds, where that is proven; None where gains of recorded outputs are judged."""
    excess: float = 0.0
    """The largest gain beyond its own limit, not of the worst gain alone: under a cap, limits differ from slot to slot.

    Negative: the room that is left."""
    bound_excess: float | None = None
    """What no gain exceeds its own limit by."""
    terms: str = ""
    """Delta and the other terms, in words."""

    @property
    def word(self) -> Literal["breached", "kept", "exceeded", "open", "within"]:
        """Of what came about `breached` or `kept`; of all that could `exceeded`, `within`, or `open` in between."""
        over = self.excess > SLACK
        if self.bound_excess is None:
            return "breached" if over else "kept"
        return "exceeded" if over else "open" if self.bound_excess > SLACK else "within"


@dataclass(frozen=True)
class SecretTable:
    """A policy laid over a model: G secrets, T slots, n contexts.

    Of days without end, slots repeat. Of positions without end they do not: the last one stands for all later ones,
    which no secret with slots of its own is about.
    """

    policy: Policy
    model_contexts: tuple[str, ...]
    slots: int
    repeats: bool = True
    names: tuple[str, ...] = field(init=False)
    members: BoolArray = field(init=False, repr=False, compare=False)  # (G, n): is the context in the secret
    active: BoolArray = field(init=False, repr=False, compare=False)  # (G, T): does the secret hold at the slot
    least_delta: FloatArray = field(init=False, repr=False, compare=False)  # (G,): whatever the prior, no row has less
    least_factor: FloatArray = field(init=False, repr=False, compare=False)  # (G,): nor a smaller bound on odds
    plain_delta: FloatArray = field(init=False, repr=False, compare=False)  # (G,): least_delta, but for bounds on odds
    any_slot: BoolArray = field(init=False, repr=False, compare=False)  # (G,): at="any"
    begins: IntArray = field(init=False, repr=False, compare=False)  # (G,): where windows begin; 0 on one day's model

    def __post_init__(self) -> None:
        index = {context: k for k, context in enumerate(self.model_contexts)}
        secrets = self.policy.secrets
        members = np.zeros((len(secrets), len(index)), dtype=np.bool_)
        active = np.ones((len(secrets), self.slots), dtype=np.bool_)
        for g, secret in enumerate(secrets):
            for context in sorted(secret.contexts):
                if context not in index:
                    raise PolicyError(_never_seen(secret, context, index))
                members[g, index[context]] = True
            if members[g].all() and not secret.sequence:
                raise PolicyError(
                    f"secret {secret.name!r} covers every context of the model, so there is nothing to hide it among; "
                    "name fewer contexts"
                )
            secret.require_begins_within(self.slots)
            if secret.slots is not None:
                active[g] = False
                for slot in sorted(secret.slots):
                    if not 0 <= slot < self.slots:
                        raise PolicyError(
                            f"secret {secret.name!r} holds at slot {slot}, but the day has slots 0 to "
                            f"{self.slots - 1}; use the clock that the model was learned with"
                        )
                    active[g, slot] = True
        plain = np.array([_plain_delta(self.policy, secret) for secret in secrets], dtype=np.float64)
        fields = {
            "names": tuple(secret.name for secret in secrets),
            "members": members,
            "active": active,
            "least_delta": np.where([self.policy.bounds_odds(secret) for secret in secrets], 0.0, plain),
            "least_factor": np.array([self.policy.least_factor(secret) for secret in secrets], dtype=np.float64),
            "plain_delta": plain,
            "any_slot": np.array([secret.at == "any" for secret in secrets], dtype=np.bool_),
            "begins": np.array([secret.begins for secret in secrets], dtype=np.int64),
        }
        read_only(fields.values())
        for key, value in fields.items():
            object.__setattr__(self, key, value)

    def holds(self, g: int, t: int) -> bool:
        """Whether a secret, by number, is about slot t, counted on over days or positions."""
        return bool(self.active[g, t % self.slots if self.repeats else min(t, self.slots - 1)])

    def row_deltas(self, secrets: IntArray, priors: FloatArray) -> FloatArray:
        """(R,): the gain tolerated on rows of these secrets, by number, with these priors (`Policy.row_delta`)."""
        own = self.policy.secrets
        found = np.array([self.policy.spent_of(secret) for secret in own], dtype=np.float64)[secrets]
        by_prior = [secret.cap is not None or self.policy.bounds_odds(secret) for secret in own]
        for row in np.flatnonzero(np.array(by_prior, dtype=np.bool_)[secrets]).tolist():
            found[row] = self.policy.row_delta(own[secrets[row]], float(priors[row]))
        return found

    def slot_deltas(self, priors: FloatArray, secrets: IntArray) -> FloatArray:
        """(S, T): the same for some secrets, by number, at each slot, from their priors (S, T)."""
        return self.row_deltas(np.repeat(secrets, self.slots), priors.ravel()).reshape(priors.shape)

    @cached_property
    def rows(self) -> tuple[tuple[int, int], ...]:
        """The (slot, secret index) pairs of secrets at each slot, by slot: one gain each."""
        return tuple(
            (slot, g)
            for slot in range(self.slots)
            for g in range(len(self.names))
            if self.active[g, slot] and not self.any_slot[g]
        )


def _plain_delta(policy: Policy, secret: Secret) -> float:
    """Where a cap applies, what it leaves is least for the largest prior that it applies to."""
    delta = policy.spent_of(secret)
    return delta if secret.cap is None else delta / 2 - min(CLOSE, delta / 4)


def _never_seen(secret: Secret, context: str, known: Collection[str]) -> str:
    merged = f"; if it was merged into {OTHER!r} as rare, learn again with keep=[{context!r}]" if OTHER in known else ""
    return (
        f"secret {secret.name!r} names context {context!r}, which the model has never seen; "
        f"{did_you_mean(context, known)}{merged}"
    )


GuaranteeKind = Literal["exact delta", "window only", "none", "epsilon"]


@dataclass(frozen=True)
class Guarantee:
    """What a mechanism promises, in words that an audit can check.

    `exact delta`: every secret's gain stays within its delta, whatever is output. `window only`: within a stated part
    of the output only. `epsilon`: likelihood ratios, not beliefs. `none`: nothing. `covers` says which secrets it
    bounds, `proven` whether a proof stands beside the code.
    """

    kind: GuaranteeKind
    statement: str
    covers: frozenset[At] = frozenset({"each"})
    proven: bool = True

    def promises_delta(self, at: At) -> bool:
        """Whether secrets of that kind are bounded by delta for every output."""
        return self.kind == "exact delta" and at in self.covers


def read_policy(path: str | Path, clock: Clock | None = None) -> tuple[Policy, Clock | None]:
    """Read a policy file: the policy, and the clock that its clock times refer to."""
    content = toml_content(Path(path))
    try:
        found = policy_content(content, clock)
        return Policy(found.secrets, **found.terms), found.clock
    except (PolicyError, TypeError, ValueError) as error:
        raise PolicyError(f"{path}: {error}") from None
