"""What is secret and how much may be gained on it; what a mechanism promises."""

from __future__ import annotations

import operator
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from discreet.clock import Clock
from discreet.contexts import OTHER
from discreet.errors import DiscreetError, OneDayError, PolicyError, did_you_mean
from discreet.numerics import CLOSE, SLACK, BoolArray, FloatArray, IntArray, digest_of, read_only

At = Literal["each", "any"]


@dataclass(frozen=True)
class Secret:
    """A set of contexts, perhaps only at some slots, in which nobody may gain more than delta belief.

    `at="each"` bounds the gain on "there at slot t" for each slot; `at="any"` bounds the gain on "there at some slot of
    the window". The first does not imply the second. `delta=None` takes the policy's. `begins`, for `at="any"`, says
    where the window of a day begins: slots before it belong to the window that began the day before, as in a night.

    `cap` bounds belief itself: where the prior q is at most cap - delta/2, the limit is min(q + delta, cap); elsewhere
    it is q + delta, for silence alone would be beyond a cap below q, and one just above q leaves nothing to show
    (`Policy.row_delta`). Copies of a secret are made by `dataclasses.replace`, so that none of its terms is lost.
    """

    name: str
    contexts: frozenset[str]
    slots: frozenset[int] | None = None
    delta: float | None = None
    at: At = "each"
    begins: int = 0
    cap: float | None = None

    def __init__(
        self,
        name: str,
        contexts: Iterable[str] | str | None = None,
        slots: Iterable[int] | None = None,
        delta: float | None = None,
        at: At = "each",
        begins: int = 0,
        cap: float | None = None,
    ) -> None:
        if contexts is None:
            contexts = {name}
        elif isinstance(contexts, str):
            contexts = {contexts}
        values = {
            "name": name,
            "contexts": frozenset(contexts),
            "slots": None if slots is None else _checked_slots(slots, name),
            "delta": None if delta is None else _checked_share(delta, f"delta of secret {name!r}"),
            "at": at,
            "begins": _checked_begins(begins, name),
            "cap": None if cap is None else _checked_share(cap, f"cap of secret {name!r}"),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        if not name:
            raise PolicyError("a secret has no name; name it so that reports can speak of it")
        if not self.contexts:
            raise PolicyError(f"secret {name!r} names no context; list at least one")
        for context in self.contexts:
            if not isinstance(context, str) or not context:
                raise PolicyError(f"secret {name!r} names {context!r}, which is not a label; use non-empty strings")
        if self.slots is not None and not self.slots:
            raise PolicyError(f"secret {name!r} is limited to no slot; leave slots out to mean the whole day")
        if at not in ("each", "any"):
            raise PolicyError(f"secret {name!r} has at={at!r}; use 'each' (at each slot) or 'any' (at some slot)")
        if begins and at != "any":
            raise PolicyError(f"secret {name!r} is at each slot, so it has no window that begins; leave begins out")
        if self.begins and self.slots is not None and max(self.slots) < self.begins:
            raise PolicyError(
                f"the window of secret {name!r} begins at slot {begins}, after all of its slots; give one of them"
            )

    def in_one_day(self, slots: int) -> tuple[Secret, ...]:
        """The secret on a model of one day of so many slots: a window that runs over the cut is two, each on its own.

        The window that begins on the day keeps the name; the end of the one that began before is "... (night before)".
        """
        if self.begins == 0:
            return (self,)
        self.require_begins_within(slots)
        window = range(slots) if self.slots is None else sorted(self.slots)
        after = [slot for slot in window if slot >= self.begins]
        before = [slot for slot in window if slot < self.begins]
        parts = [(self.name, after), (self.name + NIGHT_BEFORE, before)]
        return tuple(replace(self, name=name, slots=frozenset(own), begins=0) for name, own in parts if own)

    def require_begins_within(self, slots: int) -> None:
        """Refuse a window that begins after the day's last slot."""
        if self.begins >= slots:
            raise PolicyError(
                f"the window of secret {self.name!r} begins at slot {self.begins}, but the day has slots 0 to "
                f"{slots - 1}; use the clock that the model was learned with"
            )


NIGHT_BEFORE = " (night before)"
"""What the end of a window that began the day before is called, after its secret's name."""


def on_day(name: str, day: int) -> str:
    """What a secret at="any" is called on one of several days in a row, of which the first is 1."""
    return f"{name} (day {day})"


def _checked_slots(slots: Iterable[int], name: str) -> frozenset[int]:
    try:
        return frozenset(operator.index(slot) for slot in slots)
    except TypeError:
        raise PolicyError(f"slots of secret {name!r} is {slots!r}; give slot numbers, such as range(44, 48)") from None


def _checked_begins(begins: int, name: str) -> int:
    try:
        slot = -1 if isinstance(begins, bool) else operator.index(begins)
    except TypeError:
        slot = -1
    if slot < 0:
        raise PolicyError(f"the window of secret {name!r} begins at {begins!r}; give a slot number, 0 or more")
    return slot


def _checked_share(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:  # also catches NaN
        raise PolicyError(f"{what} is {value}; give a number from 0 to 1")
    return float(value)


@dataclass(frozen=True)
class Policy:
    """Secrets, each bounded on its own, and the gain delta that is tolerated unless a secret has its own.

    A string is the secret of that one context. A union is one `Secret` with several contexts.
    """

    secrets: tuple[Secret, ...] = ()
    delta: float = 0.1

    def __init__(self, secrets: Iterable[Secret | str] | Secret | str = (), delta: float = 0.1) -> None:
        if isinstance(secrets, str | Secret):
            secrets = (secrets,)
        named = tuple(secret if isinstance(secret, Secret) else Secret(secret) for secret in secrets)
        seen: set[str] = set()
        for secret in named:
            if secret.name in seen:
                raise PolicyError(f"two secrets are named {secret.name!r}; give each a name of its own")
            seen.add(secret.name)
        object.__setattr__(self, "secrets", named)
        object.__setattr__(self, "delta", _checked_share(delta, "delta of the policy"))
        for secret in named:
            if secret.cap is not None and secret.cap < self.delta_of(secret) / 2:
                raise PolicyError(
                    f"the cap of secret {secret.name!r} is {secret.cap:g}, below half of its delta, "
                    f"{self.delta_of(secret):g}: it would apply to no prior; give a larger cap or a smaller delta"
                )

    def delta_of(self, secret: Secret) -> float:
        """The gain tolerated on a secret, where no cap leaves less."""
        return self.delta if secret.delta is None else secret.delta

    def cap_applies(self, secret: Secret, prior: float) -> bool:
        """Whether a secret's cap bounds a belief that starts from this prior: it is at most cap - delta/2."""
        delta = self.delta_of(secret)
        return secret.cap is not None and prior <= secret.cap - delta / 2 + min(CLOSE, delta / 4)

    def row_delta(self, secret: Secret, prior: float) -> float:
        """The gain tolerated on a secret at a slot, or in a window, of this prior: delta, or what its cap leaves.

        Everything that bounds a gain goes by this, so that a cap is as exact as a delta. It is never below a quarter of
        delta, hence silence keeps it.
        """
        delta = self.delta_of(secret)
        if secret.cap is None or not self.cap_applies(secret, prior):
            return delta
        return min(delta, secret.cap - prior)

    @cached_property
    def fingerprint(self) -> str:
        """A digest: equal policies have equal fingerprints."""
        parts: list[object] = [self.delta]
        for one in self.secrets:
            slots = None if one.slots is None else sorted(one.slots)
            parts += [one.name, sorted(one.contexts), slots, one.delta, one.at, one.begins]
            parts += [] if one.cap is None else [("cap", one.cap)]  # policies without one keep their fingerprints
        return digest_of(parts).hex()

    @property
    def contexts(self) -> frozenset[str]:
        """Every context that is secret at some time."""
        return frozenset().union(*(secret.contexts for secret in self.secrets))

    @property
    def bounds_any(self) -> bool:
        """Whether some secret is about "at some slot"."""
        return any(secret.at == "any" for secret in self.secrets)

    def for_model(self, contexts: Sequence[str], slots: int | None) -> SecretTable:
        """The policy as arrays over a model's contexts and slots; names what does not fit.

        The model is of one day: a window that runs over the cut is two secrets (`in_one_day`).
        """
        if slots is None:  # a model without end has no number of slots, and whoever takes one looks for none
            raise OneDayError(
                "a model of one day is needed here, and this one has no end; use routine.day(kind), or a mechanism "
                "that runs without end, such as Adaptive"
            )
        return SecretTable(self.in_one_day(slots), tuple(contexts), slots)

    def for_days(self, contexts: Sequence[str], slots: int) -> SecretTable:
        """The policy over a model of days without end, of so many slots each: windows over the cut stay whole.

        The table's `begins` says where they begin.
        """
        return SecretTable(self, tuple(contexts), slots)

    def for_positions(self, contexts: Sequence[str]) -> SecretTable:
        """The policy over positions without end, 0, 1, 2, ...: a secret's slots are positions, and none repeats."""
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
        return Policy([part for secret in self.secrets for part in secret.in_one_day(slots)], delta=self.delta)

    def worst(self, secret: Secret, gains: Mapping[str, float]) -> float | None:
        """The worst of a secret's gains by name: of both where its window is two, and of each of several days'."""
        names = {secret.name, secret.name + NIGHT_BEFORE * (secret.begins > 0)}
        if secret.at == "any":
            names.update(on_day(secret.name, day) for day in range(len(gains) + 1))
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
        if secret.cap is not None and (excess is None or (bounds is not None and bound_excess is None)):
            raise PolicyError(
                f"secret {secret.name!r} has a cap, so that its limits differ from slot to slot; give excess= (and "
                "bound_excess=), the largest gain beyond its own limit"
            )
        over = None if excess is None else self.worst(secret, excess)
        most = None if bound_excess is None else self.worst(secret, bound_excess)
        return Verdict(
            secret,
            delta,
            gain,
            bound,
            gain - delta if over is None else over,
            None if bound is None else bound - delta if most is None else most,
        )

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

    @property
    def terms(self) -> str:
        """Delta, and the cap where there is one."""
        cap = self.secret.cap
        return f"{self.delta:.4f}" if cap is None else f"{self.delta:.4f}, cap {cap:g}"

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
            if members[g].all():
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
        fields = {
            "names": tuple(secret.name for secret in secrets),
            "members": members,
            "active": active,
            "least_delta": np.array([_least_delta(self.policy, secret) for secret in secrets], dtype=np.float64),
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
        found = np.array([self.policy.delta_of(secret) for secret in own], dtype=np.float64)[secrets]
        capped = np.array([secret.cap is not None for secret in own], dtype=np.bool_)[secrets]
        for row in np.flatnonzero(capped).tolist():
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


def _least_delta(policy: Policy, secret: Secret) -> float:
    """Where a cap applies, what it leaves is least for the largest prior that it applies to."""
    delta = policy.delta_of(secret)
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
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except FileNotFoundError:
        raise PolicyError(f"{path}: there is no such policy file; give the path of a TOML file") from None
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror}; give the path of a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: not a TOML file: {error}") from None
    try:
        return _policy_from(content, clock)
    except (PolicyError, TypeError, ValueError) as error:
        raise PolicyError(f"{path}: {error}") from None


def _policy_from(content: Mapping[str, object], clock: Clock | None) -> tuple[Policy, Clock | None]:
    _only(content, {"delta", "secret", "clock"}, "the file")
    if "clock" in content:
        given = _table(content["clock"], "[clock]")
        _only(given, {"slots", "zone", "cut"}, "[clock]")
        if "slots" not in given:
            raise PolicyError("[clock] has no slots; add, for example, slots = 48")
        try:
            clock = Clock(**given)  # type: ignore[arg-type]  # Clock checks its values
        except DiscreetError as error:
            raise PolicyError(f"[clock]: {error}") from None
    delta = _checked_share(_number(content.get("delta", 0.1), "delta"), "delta of the policy")
    if "secret" not in content:  # an empty file would be kept by whatever is shown
        raise PolicyError(
            'there is no secret in it; add [[secret]] with contexts = ["hospital"], for example, or secret = [] if '
            "there is to be none"
        )
    entries = content["secret"]
    if not isinstance(entries, list):
        raise PolicyError("write each secret under its own [[secret]]")
    secrets = [_secret_from(_table(entry, f"[[secret]] number {k}"), k, clock) for k, entry in enumerate(entries, 1)]
    return Policy(secrets, delta=delta), clock


def _secret_from(entry: Mapping[str, object], number: int, clock: Clock | None) -> Secret:
    where = f"[[secret]] number {number}"
    _only(entry, {"name", "contexts", "slots", "between", "begins", "delta", "cap", "at"}, where)
    contexts = _labels(entry.get("contexts"), where)
    name = entry.get("name", " or ".join(sorted(contexts)))
    at = str(entry.get("at", "each"))
    slots, begins = entry.get("slots"), entry.get("begins", 0)
    if slots is not None and not (isinstance(slots, list) and all(type(slot) is int for slot in slots)):
        raise PolicyError(f"slots of {where} is {slots!r}; give a list of slot numbers")
    if type(begins) is not int:
        raise PolicyError(f"begins of {where} is {begins!r}; give the number of the slot at which the window begins")
    if "between" in entry:
        if "begins" in entry:
            raise PolicyError(f"{where} has both begins and between, which says it already; keep one")
        if slots is not None:
            raise PolicyError(f"{where} has both slots and between; keep one")
        times = entry["between"]
        if not (isinstance(times, list) and len(times) == 2 and all(isinstance(time, str) for time in times)):
            raise PolicyError(f'between of {where} is {times!r}; give two times, such as ["22:00", "06:00"]')
        if clock is None:
            raise PolicyError(f"{where} speaks of clock times but no clock is known; add [clock] with slots and zone")
        try:
            slots = clock.between(*times)
            begins = clock.begins(*times) if at == "any" else 0
        except DiscreetError as error:
            raise PolicyError(f"between of {where}: {error}") from None
    delta, cap = entry.get("delta"), entry.get("cap")
    return Secret(
        str(name),
        contexts,
        slots=slots,
        delta=None if delta is None else _number(delta, f"delta of {where}"),
        at=at,  # type: ignore[arg-type]  # Secret checks its value
        begins=begins,
        cap=None if cap is None else _number(cap, f"cap of {where}"),
    )


def _table(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise PolicyError(f"{where} is {value!r}; write it as a table")
    return value


def _only(table: Mapping[str, object], known: Collection[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise PolicyError(f"{where} has an unknown key {key!r}; {did_you_mean(key, known)}")


def _labels(value: object, where: str) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value and all(isinstance(label, str) for label in value):
        return list(value)
    raise PolicyError(f'contexts of {where} is {value!r}; give a list of labels, such as ["hospital"]')


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PolicyError(f"{where} is {value!r}, not a number; give one from 0 to 1")
    return float(value)
