"""The observer who only has data: leaks are found out, what tells nothing is not, and what is judged is held out."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import pytest

from discreet.contexts import Day
from discreet.errors import DiscreetError, PolicyError
from discreet.evaluation.replay import replay
from discreet.mechanisms import MaskSensitive
from discreet.models import MarkovChain
from discreet.models.simulate import people
from discreet.outputs import SUPPRESSED, Output, PartialEvent, Released
from discreet.policy import Policy, Secret
from discreet.randomness import SeededEntropy

pytest.importorskip("sklearn", reason="scikit-learn is not installed; pip install discreet[attack]")

from discreet.evaluation import attack as module
from discreet.evaluation.attack import area, attack, calibrated, clopper_pearson, interval

POLICY = Policy(["gym", Secret("hospital today", {"hospital"}, at="any")], delta=0.1)
Outputs = list[list[Output]]


def lives(count: int, days: int, seed: int = 3) -> list[Day]:
    return [day for own in people(count, days, slots=24, seed=seed).values() for day in own]


def silence(days: list[Day]) -> Outputs:
    return [[SUPPRESSED] * len(day) for day in days]


def coins(days: list[Day], seed: int) -> Outputs:
    """Outputs that have nothing to do with the day."""
    draw = np.random.default_rng(seed)
    drawn: tuple[Output, ...] = (Released("a"), Released("b"), SUPPRESSED)
    return [[drawn[k] for k in draw.integers(0, 3, len(day))] for day in days]


def flips(seed: int, count: int = 40, days: int = 5, slots: int = 12, chance: float = 0.2) -> list[Day]:
    """Days on which each slot is secret with that chance, whatever came before."""
    draw = np.random.default_rng(seed)
    return [
        Day(
            tuple("secret" if x < chance else "other" for x in draw.random(slots)),
            dt.date(2026, 1, 5) + dt.timedelta(days=day),
            f"p{person}",
        )
        for person in range(count)
        for day in range(days)
    ]


def told(days: list[Day], seed: int, secret: float, other: float) -> Outputs:
    """Something shown with one chance where it is secret, and with another where it is not."""
    draw = np.random.default_rng(seed)
    return [
        [Released("sign") if draw.random() < (secret if c == "secret" else other) else SUPPRESSED for c in day.contexts]
        for day in days
    ]


# --- found out or not


@pytest.fixture(scope="module")
def masked() -> tuple[list[Day], Outputs]:
    """MaskSensitive's own releases of everybody's days."""
    days = lives(40, 20)
    chain = MarkovChain.fit(days)
    policy = Policy(["gym", "hospital"])
    moments = replay(MaskSensitive(chain, policy), days, rng=SeededEntropy(1))
    outputs: Outputs = [[]]
    for moment in moments:
        outputs[-1].append(moment.output)
        if moment.ends_day:
            outputs.append([])
    return days, outputs[:-1]


def test_a_mechanism_that_leaks_is_found_out(masked: tuple[list[Day], Outputs]) -> None:
    found = attack(*masked, POLICY)
    assert (found.split, found.people, found.learned, found.calibrated, found.judged) == ("people", 40, 16, 8, 16)
    for secret in found.secrets:
        assert secret.verdict == "beyond", secret
        assert secret.supported > secret.limit >= secret.prior + 0.1 - 1e-12
        assert secret.auc > 0.95 > secret.auc_blind
        assert secret.beyond_true > 0.6 * secret.beyond > 0
    assert found.found


def test_silence_and_coins_are_not_found_out() -> None:
    days = lives(30, 20)
    for outputs in (silence(days), coins(days, 1)):
        found = attack(days, outputs, POLICY)
        assert {secret.verdict for secret in found.secrets} <= {"within", "open"}
        assert not found.found


@pytest.mark.parametrize(
    ("outputs", "delta"),
    [(coins, 0.0), (lambda days, seed: told(days, seed, 0.75, 0.4375), 0.1)],
    ids=["coins, delta 0", "exactly delta"],
)
def test_false_alarms_are_rare(outputs: Callable[[list[Day], int], Outputs], delta: float) -> None:
    """Posteriors of the second are 0.3 where the sign is shown: prior 0.2 + delta. A rate of 1 % for each attack is
    stated, half of it on this side, so that even one alarm in 8 comes up in at most 4 % of such runs; two would in
    0.1 %. (In 100 attacks, there were none and one.)"""
    alarms = 0
    for seed in range(8):
        days = flips(seed)
        alarms += attack(days, outputs(days, seed), Policy(["secret"], delta=delta), seed=seed).found
    assert alarms <= 1


def test_a_leak_beyond_delta_is_found_every_time() -> None:
    """Posterior 0.69 at prior 0.2: of 40 claims at least 24 must be right, and 27 are expected; missed at most once."""
    found = []
    for seed in range(4):
        days = flips(seed, count=100)
        found.append(attack(days, told(days, seed, 0.9, 0.1), Policy(["secret"]), seed=seed).found)
    assert sum(found) >= 3


def test_habits_that_change_are_no_leak() -> None:
    """The secret becomes four times as frequent in the last of the ten blocks but one, which is judged, and outputs do
    not tell."""
    days = [*flips(1, count=1, days=160, chance=0.1), *flips(2, count=1, days=40, chance=0.4)]
    dated = [Day(day.contexts, dt.date(2026, 1, 1) + dt.timedelta(days=k)) for k, day in enumerate(days)]
    found = attack(dated, coins(dated, 1), Policy(["secret"]))
    assert (found.split, found.learned, found.calibrated, found.judged) == ("days", 80, 40, 80)
    assert found.secrets[0].verdict in ("within", "open")


def test_withheld_rows_of_a_table_give_the_casino_away() -> None:
    """Location determines activity: whoever withholds the casino and what was done there says it."""
    draw = np.random.default_rng(1)
    days, outputs = [], []
    for person in range(60):
        gambling = draw.random(40) < 0.05
        other = draw.random(40) < 0.03
        days.append(Day(tuple("gamble" if x else "shop" for x in gambling), person=f"p{person}"))
        outputs.append(
            [PartialEvent(None, "noon", None) if x else PartialEvent("shop", "noon", "mall") for x in gambling | other]
        )
    found = attack(days, outputs, Policy(["gamble"]), by_hour=False).secrets[0]
    assert found.verdict == "beyond"
    assert found.limit < found.supported < 0.05 / (0.05 + 0.95 * 0.03) < found.at_most


# --- held out


def test_labels_that_are_shuffled_are_not_guessed(masked: tuple[list[Day], Outputs]) -> None:
    """Were a judged slot's truth among what is learned, it would be guessed. With 7,680 slots, 1,536 of them true, the
    AUC of a guess has a deviation of 0.0083: four are 0.034."""
    days, outputs = masked
    draw = np.random.default_rng(2)
    shuffled = [Day(tuple(np.where(draw.random(24) < 0.2, "gym", "home")), day.date, day.person) for day in days]
    found = attack(shuffled, outputs, POLICY).secrets[0]
    assert abs(found.auc - 0.5) < 0.034
    assert abs(found.auc_blind - 0.5) < 0.034
    assert found.verdict != "beyond"


def test_what_is_judged_is_not_learned(masked: tuple[list[Day], Outputs], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the truth of judged people, beliefs in it are the same."""
    days, outputs = masked
    seen: list[np.ndarray] = []
    beliefs = module._beliefs

    def spied(question: module._Question, *arguments: object) -> np.ndarray:
        judged = question.part == module.JUDGE
        flipped = question._replace(true=question.true ^ judged)
        seen.append(beliefs(question, *arguments))  # type: ignore[arg-type]
        assert np.array_equal(seen[-1], beliefs(flipped, *arguments), equal_nan=True)  # type: ignore[arg-type]
        assert np.array_equal(np.isnan(seen[-1]), question.part == module.LEARN)
        return seen[-1]

    monkeypatch.setattr(module, "_beliefs", spied)
    attack(days, outputs, Policy(["gym"]))
    assert len(seen) == 2


def test_a_cluster_has_one_claim_and_one_part(masked: tuple[list[Day], Outputs]) -> None:
    for split, most in (("people", 16), ("days", 40 * 8)):
        found = attack(*masked, Policy(["gym"]), split=split)  # type: ignore[arg-type]
        assert found.split == split
        assert found.judged == most
        assert 0 < found.secrets[0].claims <= most


def test_the_same_seed_the_same_attack(masked: tuple[list[Day], Outputs]) -> None:
    first, again, other = (attack(*masked, Policy(["gym"]), seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.secrets[0] != other.secrets[0]


# --- too little, and what is wrong


def test_too_little_is_said() -> None:
    days = lives(1, 40)
    found = attack(days, silence(days), Policy(["hospital", "nowhere"]))
    assert [secret.verdict for secret in found.secrets] == ["not tested"] * 2
    assert "5 are needed" in found.secrets[0].reason
    assert "true for 0 day(s)" in found.secrets[1].reason
    assert not found.found
    few = flips(1, count=1, days=20, chance=0.5)
    assert "would prove nothing" in attack(few, told(few, 1, 1, 0), Policy(["secret"])).secrets[0].reason


def test_bad_use_is_told() -> None:
    days = flips(0, count=2, days=3)
    shown = silence(days)
    with pytest.raises(PolicyError, match="nothing is secret"):
        attack(days, shown, Policy())
    with pytest.raises(DiscreetError, match="false-alarm rate is 1"):
        attack(days, shown, Policy(["secret"]), false_alarms=1)
    with pytest.raises(DiscreetError, match="split is 'weeks'"):
        attack(days, shown, Policy(["secret"]), split="weeks")  # type: ignore[arg-type]
    late = Policy([Secret("late", {"secret"}, slots=[12])])
    with pytest.raises(PolicyError, match="slots 0 to 11"):
        attack(days, shown, late)
    with pytest.raises(PolicyError, match="events do not have"):
        attack(days, shown, late, by_hour=False)


def test_scikit_learn_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.ensemble", None)
    days = flips(0, count=2, days=3)
    with pytest.raises(DiscreetError, match=r"pip install discreet\[attack\]"):
        attack(days, silence(days), Policy(["secret"]))


# --- the parts


def test_json_has_every_field(masked: tuple[list[Day], Outputs]) -> None:
    found = attack(*masked, Policy(["gym", "nowhere"]))
    document = json.loads(found.to_json())
    assert document["found"] is True
    assert document["false_alarms"] == 0.01
    tested, untested = document["secrets"]
    assert tested["supported"] == found.secrets[0].supported
    assert untested["supported"] is None
    assert set(tested) == set(untested) == {*asdict(found.secrets[0]), "odds"}


@pytest.mark.parametrize(("right", "count"), [(0, 5), (5, 5), (3, 10), (40, 60)])
def test_the_interval_is_exact(right: int, count: int) -> None:
    """At its ends, outcomes as far out have a probability of exactly alpha, summed from the binomial itself."""
    low, high = interval(right, count, 0.005)

    def between(share: float, first: int, last: int) -> float:
        return sum(math.comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(first, last + 1))

    if right:
        assert between(low, right, count) == pytest.approx(0.005)
    else:
        assert low == 0
    if right < count:
        assert between(high, 0, right) == pytest.approx(0.005)
    else:
        assert high == 1
    assert clopper_pearson(np.array([float(right)]), np.array([count]), 0.005)[0][0] == low


def test_the_area_counts_pairs() -> None:
    draw = np.random.default_rng(1)
    belief, true = draw.integers(0, 6, 80) / 6, draw.random(80) < 0.3
    pairs = [
        (belief[i] > belief[j]) + 0.5 * (belief[i] == belief[j])
        for i in range(80)
        for j in range(80)
        if true[i] > true[j]
    ]
    assert area(belief, true) == pytest.approx(sum(pairs) / len(pairs))
    assert math.isnan(area(belief, np.zeros(80, dtype=np.bool_)))


def test_beliefs_are_calibrated() -> None:
    """Scores that are three times too sure: of 20,000, those believed to some extent are true as often, within four
    deviations."""
    draw = np.random.default_rng(1)
    log_odds = draw.normal(-2, 1.5, 40_000)
    true = draw.random(40_000) < 1 / (1 + np.exp(-log_odds))
    scores = 3 * log_odds + 5
    belief = calibrated(scores[:20_000], scores[20_000:], true[20_000:])
    for low, high in ((0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 1)):
        rows = (belief >= low) & (belief < high)
        expected = belief[rows].mean()
        deviation = math.sqrt(expected * (1 - expected) / rows.sum())
        assert abs(true[:20_000][rows].mean() - expected) < 4 * deviation + 0.005  # the curve itself is learned


def test_scores_that_part_truth_completely_do_not_make_certain() -> None:
    scores = np.array([-1000.0] * 50 + [1000.0] * 50)
    belief = calibrated(scores, scores, scores > 0)
    assert np.allclose(belief, [1 / 52] * 50 + [51 / 52] * 50)


def test_the_largest_factor_is_reported_and_long_windows_and_patterns_are_not_tested() -> None:
    days = flips(4, count=40, days=3, slots=6)
    told: Outputs = [[Released(label) for label in day.contexts] for day in days]
    month = Secret("in a month", {"secret"}, at="any", over="month")
    twice = Secret.pattern("twice", ["secret", "secret"], within=2)
    found = attack(days, told, Policy(["secret", month, twice], delta=0.1))
    shown, *others = found.secrets
    assert shown.verdict != "not tested"
    before, most = (
        shown.prior / (1 - shown.prior),
        shown.at_most / (1 - shown.at_most) if shown.at_most < 1 else math.inf,
    )
    assert shown.odds == pytest.approx(most / before)
    assert [one.verdict for one in others] == ["not tested", "not tested"]
    assert [one["odds"] for one in found.to_wire()["secrets"][1:]] == [None, None]
