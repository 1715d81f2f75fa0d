"""The observer who only has data: no model, no mechanism, just outputs and the truth of other days or other people.

They learn to guess each secret from what is shown (`shown`), are calibrated on a second part of the data, and judged on
a third that neither saw. Beside them stands the blind observer, the same learner who sees the hour, the weekday and
perhaps the person, and no output: what the blind believe is the prior.

**The claims.** With b the observer's belief in a slot and q the prior, a claim goes beyond by b - min(1, q + delta), or
by b - cap where a cap applies. Each judged cluster (a person where people are parted, else a day) can stake one claim,
its slot that goes furthest beyond, and as many of them are staked as would prove most if the beliefs were right. All of
this depends on outputs alone, not on the truth of judged slots. So if no output makes a secret likelier than its limit,
each claim is right with a probability of at most its limit, whatever the observer has learned; slots of one cluster are
never counted as independent of each other. The number of right claims then exceeds n times the mean limit no more
easily than a binomial one does (Hoeffding, 1956, theorem 4), and the interval of Clopper and Pearson (1934) for x of n
is exact. One set of claims is tried, so there is nothing to correct for but the number of secrets (Bonferroni).

**The prior on judged days.** Habits drift, and where delta is small an error of q could pass for a leak. So a claim's
prior is q, or how often the secret was true of all judged slots of that hour (and person, if known) where that is more;
and to be called within, claims must be so by the lesser of the two.

What stays assumed: clusters are independent of each other. People nearly are. Days of one person are less so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from discreet.contexts import Day
from discreet.errors import DiscreetError, PolicyError
from discreet.evaluation.shown import Features, Shown
from discreet.factors import factor
from discreet.frames import Rows, Tabular
from discreet.given import checked_policy, counted, words_for
from discreet.listener import Progress
from discreet.models.arrays import given_days
from discreet.numerics import BoolArray, FloatArray, IntArray
from discreet.outputs import Output
from discreet.policy import At, Policy, Secret

if TYPE_CHECKING:
    import polars as pl

Split = Literal["auto", "people", "days"]
Word = Literal["beyond", "within", "open", "not tested"]
LEARN, CALIBRATE, JUDGE = 0, 1, 2
SHARES = (0.4, 0.2, 0.4)
"""Of the people or days: to learn from, to calibrate on, to be judged by."""

BLOCKS = (LEARN, JUDGE, LEARN, JUDGE, CALIBRATE) * 2
"""The parts of a person's days in order of time, ten blocks of equal length."""

FALSE_ALARMS = 0.01
"""How often a table that tells nothing may be called beyond, over all its secrets."""

SEVERAL = 20
"""People from which on the observer is judged on people never seen, because eight of them can then prove something."""

KNOWN = 250
"""People up to whom the observer tells them apart, where their other days were seen. Learners take up to 255."""

LEAST = {LEARN: 5, CALIBRATE: 2}
"""Days or people of a part in which a secret must be true at some time, and as many in which it is not throughout, for
anything to be learned from it."""


@dataclass(frozen=True)
class Attacked:
    """What the observer made of one secret, on days or people that they never saw before.

    `claims` are staked, one a judged day or person, and `right` of them true. Their share is between `supported` and
    `at_most` with the confidence that the false-alarm rate leaves; `believed` is what the observer said on average.
    `prior` and `limit` (prior + delta, or the cap) are means over the same claims. All are NaN where the secret was not
    tested.
    """

    name: str
    at: At
    delta: float
    verdict: Word
    reason: str
    judged: int
    """Slots that were judged; days for at="any"."""
    base_rate: float = math.nan
    """How often the secret was true in them."""
    claims: int = 0
    right: int = 0
    believed: float = math.nan
    supported: float = math.nan
    at_most: float = math.nan
    prior: float = math.nan
    limit: float = math.nan
    beyond: int = 0
    """Slots in which the observer believes more than prior + delta."""
    beyond_true: int = 0
    """Those of them in which the secret is true."""
    auc: float = math.nan
    auc_blind: float = math.nan

    @property
    def odds(self) -> float:
        """By what the odds of the claims exceed the prior's, at most, with the same confidence; NaN if not tested."""
        return math.nan if math.isnan(self.prior) or not self.claims else factor(self.prior, self.at_most)


@dataclass(frozen=True)
class Attack(Tabular):
    """An attack on every secret of a policy; `false_alarms` is for all of them together, on either side."""

    secrets: tuple[Attacked, ...]
    split: Literal["people", "days"]
    people: int
    days: int
    slots: int
    learned: int
    """People, or days where those are parted, that were learned from; likewise the next two."""
    calibrated: int
    judged: int
    false_alarms: float
    seed: int

    @property
    def found(self) -> bool:
        """Whether some secret was found out beyond its limit."""
        return any(one.verdict == "beyond" for one in self.secrets)

    def to_frame(self) -> pl.DataFrame:
        """A row for each secret."""
        import polars as pl

        return pl.DataFrame([asdict(one) | {"odds": one.odds} for one in self.secrets])

    def __repr__(self) -> str:
        said = ", ".join(f"{one.name!r}: {one.verdict}" for one in self.secrets)
        return f"Attack({counted(self.people, 'person', 'people')}, {counted(self.days, 'day')}; {said})"

    def to_wire(self) -> dict[str, Any]:
        """All of it as a JSON object; numbers that JSON does not have are None."""
        document = {**asdict(self), "found": self.found}
        listed = [asdict(one) | {"odds": one.odds} for one in self.secrets]
        document["secrets"] = [
            {key: value if not isinstance(value, float) or math.isfinite(value) else None for key, value in one.items()}
            for one in listed
        ]
        return document

    def to_json(self) -> str:
        """The same in one line."""
        return json.dumps(self.to_wire(), ensure_ascii=False, allow_nan=False)


def attack(
    days: Sequence[Day] | Rows,
    outputs: Sequence[Sequence[Output]],
    policy: Policy,
    *,
    by_hour: bool = True,
    split: Split = "auto",
    false_alarms: float = FALSE_ALARMS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Attack:
    """Learn to guess every secret of the policy from outputs, and say what the guesses on held-out data support.

    `days` are the truth, and `outputs` what was shown of each, slot by slot. Whose and when is known to everybody. With
    `by_hour=False` slots are events of trajectories and say nothing of the hour. The data are parted by people where
    there are `SEVERAL`, otherwise by days, in blocks of time; `split` asks for one of them. The same data and
    seed give the same answer. Needs scikit-learn: `pip install discreet[attack]`.

    The verdict on a secret is `beyond` where its claims prove more than prior + delta, `within` where they prove less
    (which says that this observer found nothing, not that there is nothing), `open` where neither is proven, and
    `not tested`, with the reason, where there is too little to learn from or to judge by.
    """
    checked_policy(policy, "attack")
    days = cast(Sequence[Day], given_days(days, None, "attack"))
    if not isinstance(outputs, Sequence):
        raise DiscreetError(f"the outputs are {words_for(outputs)}; give a list for each day, with one output a slot")
    _learner(Features.of({}, {}, 1), seed)  # what is not installed is told before the work
    if not 0 < false_alarms < 1:
        raise DiscreetError(f"the false-alarm rate is {false_alarms}; give a number above 0 and below 1, such as 0.01")
    shown = Shown(days, outputs, by_hour=by_hour)
    parting = _Parting.of(shown, split, seed)
    secrets = (policy.in_one_day(len(days[0])) if by_hour else policy).secrets
    _check_slots(secrets, len(days[0]), by_hour)
    if not secrets:
        raise PolicyError("nothing is secret, so there is nothing to guess; give a policy with secrets")
    found = []
    for done, secret in enumerate(secrets, 1):
        delta = policy.delta_of(secret)
        if secret.over != "day" or secret.sequence:
            why = "a pattern" if secret.sequence else f"about {secret.over_in_words}"
            reason = f"it is {why}, and this observer guesses slots and days"
            found.append(Attacked(secret.name, secret.at, delta, "not tested", reason, 0))
            continue
        question = _question(shown, parting, secret, delta)
        found.append(_attacked(question, secret, 0.5 * false_alarms / len(secrets), seed))
        if progress is not None:
            progress(done, len(secrets))
    learned, calibrated, judged = (int((parting.part == part).sum()) for part in (LEARN, CALIBRATE, JUDGE))
    return Attack(
        secrets=tuple(found),
        split=parting.by,
        people=shown.people,
        days=len(days),
        slots=len(shown.day),
        learned=learned,
        calibrated=calibrated,
        judged=judged,
        false_alarms=false_alarms,
        seed=seed,
    )


def _check_slots(secrets: Sequence[Secret], slots: int, by_hour: bool) -> None:
    for secret in secrets:
        if secret.slots is None:
            continue
        if not by_hour:
            raise PolicyError(f"secret {secret.name!r} is limited to slots, which events do not have; leave them out")
        if not 0 <= min(secret.slots) <= max(secret.slots) < slots:
            raise PolicyError(
                f"secret {secret.name!r} holds at slot {max(secret.slots)}, but the day has slots 0 to {slots - 1}; "
                "use the clock that the outputs were made with"
            )


# --- what is learned from, calibrated on and judged by


@dataclass(frozen=True)
class _Parting:
    """Which part each cluster belongs to, (C,), and which cluster each day, (D,)."""

    by: Literal["people", "days"]
    part: IntArray
    cluster: IntArray
    knows_person: bool

    @classmethod
    def of(cls, shown: Shown, split: Split, seed: int) -> _Parting:
        if split not in ("auto", "people", "days"):
            raise DiscreetError(f"split is {split!r}; use 'auto', 'people' or 'days'")
        people = shown.people
        if split == "people" or (split == "auto" and people >= SEVERAL):
            part = np.empty(people, dtype=np.int64)
            part[np.random.default_rng(seed).permutation(people)] = _parts(people)
            return cls("people", part, shown.day_person, knows_person=False)
        part = np.concatenate([_blocks(own) for own in np.bincount(shown.day_person).tolist()])
        return cls("days", part, np.arange(len(part)), knows_person=1 < people <= KNOWN)


def _parts(count: int) -> IntArray:
    """The parts of so many in any order."""
    bounds = np.round(np.cumsum(SHARES[:-1]) * count).astype(np.int64)
    return np.searchsorted(bounds, np.arange(count), side="right").astype(np.int64)


def _blocks(count: int) -> IntArray:
    """The parts of so many days in order of time: in blocks by turns, for habits drift and no part shall miss out."""
    return np.array(BLOCKS, dtype=np.int64)[len(BLOCKS) * np.arange(count) // max(count, 1)]


class _Question(NamedTuple):
    """A secret as rows, of slots or of days: what is true, what is known, and to which cluster each row belongs."""

    true: BoolArray
    part: IntArray
    cluster: IntArray
    cell: IntArray  # rows of the same hour, and person where known
    public: Features
    all: Features
    delta: float
    cap: float | None
    one: str  # what a cluster is called

    def limit(self, prior: FloatArray) -> FloatArray:
        """What may be believed where so much was before: prior + delta, or the cap where it applies (`Secret.cap`)."""
        plain = np.minimum(1.0, prior + self.delta)
        if self.cap is None:
            return plain
        return np.where(prior <= self.cap - self.delta / 2, np.minimum(plain, self.cap), plain)


def _question(shown: Shown, parting: _Parting, secret: Secret, delta: float) -> _Question:
    there = shown.is_in(secret.contexts)
    window = np.ones(len(there), dtype=np.bool_)
    if secret.slots is not None:
        window = np.isin(shown.slot, list(secret.slots))
    knows = parting.knows_person
    if secret.at == "any":
        true = np.bincount(shown.day, there & window, minlength=len(shown.day_person)) > 0
        public, seen = shown.public_of_days(person=knows), shown.of_days(window)
        cluster, cell = parting.cluster, shown.day_person if knows else np.zeros_like(shown.day_person)
    else:
        rows = np.flatnonzero(window)
        true, day = there[rows], shown.day[rows]
        public, seen = (_rows(each, rows) for each in (shown.public_of_slots(person=knows), shown.of_slots))
        hour = shown.slot[rows] if shown.by_hour else np.zeros_like(rows)
        cluster = parting.cluster[day]
        cell = hour + (int(hour.max()) + 1) * shown.person[rows] if knows else hour
    one = "person" if parting.by == "people" else "day"
    return _Question(true, parting.part[cluster], cluster, cell, public, public.hstack(seen), delta, secret.cap, one)


def _rows(features: Features, rows: IntArray) -> Features:
    return Features(features.names, features.values[rows], features.categories)


# --- learning


def _learner(features: Features, seed: int) -> Any:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise DiscreetError("an attack needs scikit-learn; pip install discreet[attack]") from None
    return HistGradientBoostingClassifier(
        max_iter=60,
        learning_rate=0.15,
        max_leaf_nodes=15,
        l2_regularization=1.0,
        early_stopping=False,
        categorical_features=features.categories if features.categories.any() else None,
        random_state=seed,
    )


def _beliefs(question: _Question, features: Features, seed: int) -> FloatArray:
    """(N,): learned on the first part, calibrated on the second; NaN in the rows that were learned from."""
    from threadpoolctl import threadpool_limits  # scikit-learn brings it along

    learner = _learner(features, seed)
    learning, calibrating = (question.part == part for part in (LEARN, CALIBRATE))
    scores = np.full(len(learning), np.nan)
    # One thread: several wait for each other wherever the machine has something else to do, for a minute instead of a
    # second, and sums in another order would be other beliefs.
    with threadpool_limits(1, user_api="openmp"):
        learner.fit(features.values[learning], question.true[learning])
        scores[~learning] = learner.decision_function(features.values[~learning])
    return calibrated(scores, scores[calibrating], question.true[calibrating])


def calibrated(scores: FloatArray, against: FloatArray, true: BoolArray) -> FloatArray:
    """Beliefs of scores, by the logistic curve that fits other scores and their truth best (Platt, 1999).

    Its targets are his too, (n + 1) / (n + 2) of the true ones instead of 1: no finite number of slots makes certain.
    """
    positive = int(true.sum())
    target = np.where(true, (positive + 1) / (positive + 2), 1 / (len(true) - positive + 2))
    centre, spread = float(against.mean()), float(against.std()) or 1.0
    design = np.column_stack([(against - centre) / spread, np.ones(len(against))])
    weight = np.array([0.0, math.log(target.mean() / (1 - target.mean()))])
    ridge = 1e-9 * len(true) * np.eye(2)  # scores that are all alike have no slope
    loss = _log_loss(design @ weight, target)
    for _ in range(100):
        belief = _logistic(design @ weight)
        hessian = (design * (belief * (1 - belief))[:, None]).T @ design + ridge
        step = np.linalg.solve(hessian, design.T @ (target - belief))
        while (after := _log_loss(design @ (weight + step), target)) > loss:  # a full step of Newton's can go too far
            step *= 0.5
            if np.abs(step).max() < 1e-10:
                break
        weight, loss = weight + step, after
        if np.abs(step).max() < 1e-10:
            break
    return _logistic(weight[0] * (scores - centre) / spread + weight[1])


def _log_loss(x: FloatArray, target: FloatArray) -> float:
    return float(np.logaddexp(0.0, x).sum() - target @ x)


def _logistic(x: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))


# --- judging


def _attacked(question: _Question, secret: Secret, alpha: float, seed: int) -> Attacked:
    """The verdict on one secret; `alpha` is the chance that each end of the interval misses."""
    judged = question.part == JUDGE
    untested = Attacked(secret.name, secret.at, question.delta, "not tested", _too_little(question), int(judged.sum()))
    if untested.reason:
        return untested
    belief, prior = (_beliefs(question, features, seed) for features in (question.all, question.public))
    limit = question.limit(prior)
    staked = _staked(question, belief, limit, alpha)
    rate = _rate_by_cell(question, judged)[staked]
    base = np.maximum(prior[staked], rate)
    least, allowed = (float(question.limit(each).mean()) for each in (np.minimum(prior[staked], rate), base))
    count, right = len(staked), int(question.true[staked].sum())
    low, high = interval(right, count, alpha)
    word: Word = "beyond" if low > allowed else "within" if high <= least else "open"
    reason = ""
    most = len(np.unique(question.cluster[judged]))
    if word == "open" and interval(most, most, alpha)[0] <= allowed:
        word, reason = "not tested", f"even if a claim for each of {most} were right, that would prove nothing"
    over = judged & (belief > limit)
    return Attacked(
        name=secret.name,
        at=secret.at,
        delta=question.delta,
        verdict=word,
        reason=reason,
        judged=int(judged.sum()),
        base_rate=float(question.true[judged].mean()),
        claims=count,
        right=right,
        believed=float(belief[staked].mean()),
        supported=low,
        at_most=high,
        prior=float(base.mean()),
        limit=allowed,
        beyond=int(over.sum()),
        beyond_true=int((over & question.true).sum()),
        auc=area(belief[judged], question.true[judged]),
        auc_blind=area(prior[judged], question.true[judged]),
    )


def _too_little(question: _Question) -> str:
    """Why nothing can be learned or judged; empty where it can."""
    doing = {LEARN: "learned from", CALIBRATE: "calibrated on"}
    for part, least in LEAST.items():
        rows = question.part == part
        for word, which in (("true", question.true), ("not true", ~question.true)):
            count = len(np.unique(question.cluster[rows & which]))
            if count < least:
                some = "person" if question.one == "person" else "day"
                return f"{word} for {count} {some}(s) of those {doing[part]}, and {least} are needed"
    return "" if (question.part == JUDGE).any() else "nobody is left to be judged by"


def _staked(question: _Question, belief: FloatArray, limit: FloatArray, alpha: float) -> IntArray:
    """The rows that are staked: of each judged cluster one, and of these as many as prove most if beliefs are right.

    A cluster's is the one that goes furthest beyond, the surer and then the earlier of equals. Where nothing would be
    proven, all are staked, to see whether that little is true. None of it depends on the truth of judged rows.
    """
    rows = np.flatnonzero(question.part == JUDGE)
    order = rows[np.lexsort((-belief[rows], limit[rows] - belief[rows], question.cluster[rows]))]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = np.diff(question.cluster[order]) != 0
    each = order[first]
    each = each[np.argsort((limit - belief)[each], kind="stable")]
    count = np.arange(1, len(each) + 1)
    margin = clopper_pearson(np.cumsum(belief[each]), count, alpha)[0] - np.cumsum(limit[each]) / count
    return each[: int(margin.argmax()) + 1] if margin.max() > 0 else each


def _rate_by_cell(question: _Question, judged: BoolArray) -> FloatArray:
    """(N,): how often the secret is true of the judged rows of the same hour (and person)."""
    cells = int(question.cell.max()) + 1
    rows = np.bincount(question.cell[judged], minlength=cells)
    true = np.bincount(question.cell[judged], question.true[judged], minlength=cells)
    return np.asarray((true / np.maximum(rows, 1))[question.cell])


def clopper_pearson(right: FloatArray, count: IntArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    """The interval for a binomial share of which each end misses with at most `alpha` (Clopper and Pearson, 1934)."""
    from scipy.special import betaincinv

    wrong = count - right
    low = np.where(right > 0, betaincinv(np.maximum(right, 1e-9), wrong + 1, alpha), 0.0)
    high = np.where(wrong > 0, betaincinv(right + 1, np.maximum(wrong, 1e-9), 1 - alpha), 1.0)
    return low, high


def interval(right: int, count: int, alpha: float) -> tuple[float, float]:
    """The same for one share."""
    low, high = clopper_pearson(np.array([float(right)]), np.array([count]), alpha)
    return float(low[0]), float(high[0])


def area(belief: FloatArray, true: BoolArray) -> float:
    """The area under the ROC curve: how often a true slot is believed more than another; equals count half."""
    positive = int(true.sum())
    negative = len(true) - positive
    if not positive or not negative:
        return math.nan
    _, place, count = np.unique(belief, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - 0.5 * (count - 1))[place]  # the mean rank of equals
    return float((rank[true].sum() - positive * (positive + 1) / 2) / (positive * negative))
