"""Windows longer than a day: calendar and sliding, enumerated over several of them; refusals; what reports say."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet.adversary.known import known
from discreet.adversary.unrolled import Unrolled
from discreet.errors import PolicyError
from discreet.mechanisms import Adaptive
from discreet.models.routine.routine import Routine
from discreet.policy import read_policy
from discreet.randomness import SeededEntropy
from tests.endless.oracle import search
from tests.endless.routines import Case, random_case
from tests.endless.searched import Event
from tests.mechanisms.test_odds import with_odds
from tests.strategies import searches

AHEAD = 3
"""Days after the last that is released whose windows are looked at too."""


def long_case(seed: int) -> Case:
    """A small routine, and among its secrets one over two or three days, sliding or not, perhaps over midnight."""
    rng = np.random.default_rng([seed, 71])
    case = random_case(seed, family=("total", "sparse", "nearly deterministic")[seed % 3], contexts=2, slots=2)
    over = int(rng.integers(2, 4))
    slots = None if rng.random() < 0.5 else {int(rng.integers(2))}
    begins = 1 if rng.random() < 0.4 and (slots is None or 1 in slots) else 0
    long = d.Secret(
        "long",
        {case.endless.contexts[0]},
        slots=slots,
        at="any",
        over=over,
        sliding=bool(rng.random() < 0.5),
        begins=begins,
        delta=float(rng.choice([0.05, 0.1, 0.3])),
    )
    policy = d.Policy([*case.policy.secrets[:1], long], delta=case.policy.delta)
    return replace(case, policy=with_odds(seed, policy) if seed % 4 == 0 else policy)


def windows_by_hand(secret: d.Secret, start: dt.date, day_slots: int, days: int) -> set[frozenset[int]]:
    """The slots of every window of N dates that ends within so many days, cut to those from the stream's start on."""
    assert isinstance(secret.over, int)
    own = range(day_slots) if secret.slots is None else sorted(secret.slots)
    found = set()
    for first in range(-secret.over, days):
        ordinal = start.toordinal() + first - 1  # days since Monday, 1 January of the year 1
        if ordinal % secret.over == 0 or secret.sliding:
            window = [
                (first + k) * day_slots + slot + (day_slots if slot < secret.begins else 0)
                for k in range(secret.over)
                for slot in own
            ]
            left = frozenset(slot for slot in window if slot >= 0)
            if left and max(window) < days * day_slots:
                found.add(left)
    return found


def events_by_hand(case: Case, days: int) -> list[Event]:
    found = []
    for secret in case.policy.secrets:
        members = frozenset(case.endless.contexts.index(context) for context in secret.contexts)
        slots = case.endless.day_slots
        if secret.over != "day":
            groups = sorted(windows_by_hand(secret, case.endless.start, slots, days), key=sorted)
        else:
            own = range(slots) if secret.slots is None else sorted(secret.slots)
            per_day = [[day * slots + slot for slot in own] for day in range(days)]
            groups = [frozenset(one) for one in per_day]
            if secret.at == "each":
                groups = [frozenset([slot]) for one in per_day for slot in one]
        delta = Fraction(case.policy.delta_of(secret))
        found += [Event(secret.name, members, group, delta) for group in groups]
    return found


@pytest.mark.parametrize("outputs", ["suppress", "deceive"])
def test_no_window_exceeds_its_limit(outputs: str) -> None:
    telling = decisions = refused = 0
    for number in searches(4, 12):
        seed = number + 1
        case, days = long_case(seed), 5
        for memory in ("last", "none"):
            try:
                machine = Adaptive(case.endless, case.policy, outputs=outputs, memory=memory)  # type: ignore[arg-type]
            except d.DiscreetError as error:
                if "slots later" not in str(error):
                    raise
                refused += 1
                continue
            chain = case.endless.unrolled(days + AHEAD)
            found = search(machine, chain, events_by_hand(case, days + AHEAD), 2 * days, budget=60, seed=seed)
            assert not found.worst.breached, (seed, memory, float(found.worst.excess), found.worst)
            telling, decisions = telling + found.telling, decisions + found.decisions
    assert telling > decisions / 6  # a promise that is kept by silence is no release


def test_a_days_secret_alone_lets_the_window_be_told() -> None:
    """What windows are for: "today" within delta every day, and the three days' belief rises by far more."""
    chain = d.MarkovChain(("clinic", "home"), [0.2, 0.8], np.zeros((0, 2, 2)))
    routine = Routine({"day": chain}, {("day", "day"): [[0.2, 0.8], [0.2, 0.8]]})
    today = d.Policy([d.Secret("today", {"clinic"}, at="any")], delta=0.1)
    three = replace(today, secrets=(d.Secret("days", {"clinic"}, at="any", over=3),))
    start = dt.date.fromordinal(3 * 246_000 + 1)  # windows of three days begin here
    loose, tight = (Adaptive(routine.since(start), one) for one in (today, three))
    assert d.audit(loose, three, days=3).worst_gain > 0.12
    assert d.audit(tight, days=3).worst_gain <= 0.1 + 2**-40
    assert d.audit(tight, days=6).holds is True


def test_windows_by_date() -> None:
    date = dt.date(2026, 11, 18)
    month = d.Secret("m", {"a"}, at="any", over="month")
    week, slide = (d.Secret("w", {"a"}, at="any", over=7, sliding=sliding) for sliding in (False, True))
    assert month.windows_of(date) == [(dt.date(2026, 11, 1), 30)]
    assert month.windows_of(dt.date(2028, 2, 29)) == [(dt.date(2028, 2, 1), 29)]
    assert week.windows_of(date) == [(dt.date(2026, 11, 16), 7)]
    assert week.windows_of(date) == d.Secret("w", {"a"}, at="any", over="week").windows_of(date)
    assert len(slide.windows_of(date)) == 7
    assert slide.windows_of(date)[-1] == (date, 7)
    assert d.Secret("one", {"a"}, at="any", over=1) == d.Secret("one", {"a"}, at="any")


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"at": "any", "over": "ever"}, r"secret 'a': 'ever' cannot be a secret: whoever knows the habits"),
        ({"at": "any", "over": "year"}, r"secret 'a' is over 'year'; use 'day', 'week', 'month' or a number of days"),
        ({"at": "any", "over": 0}, r"secret 'a' is over 0; use"),
        ({"at": "any", "over": True}, r"secret 'a' is over True; use"),
        ({"at": "each", "over": "week"}, r"secret 'a' is at each slot, so it has no window over a week; use at='any'"),
        ({"at": "any", "over": "month", "sliding": True}, r"secret 'a' slides over a month, .*; give over=30"),
    ],
)
def test_a_window_without_meaning_is_refused(terms: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        d.Secret("a", **terms)


def test_models_of_one_day_and_positions_refuse_it() -> None:
    policy = d.Policy([d.Secret("a", at="any", over="month")])
    chain = d.MarkovChain.homogeneous(("a", "b"), [0.5, 0.5], np.full((2, 2), 0.5), 3)
    with pytest.raises(PolicyError, match=r"the window of secret 'a' is the month, and a model of one day knows one"):
        Adaptive(chain, policy)
    hidden = d.HiddenMarkovModel.homogeneous(("a", "b"), [0.5, 0.5], np.full((2, 2), 0.5), np.eye(2))
    with pytest.raises(PolicyError, match=r"is the month, and positions have no dates"):
        Adaptive(hidden, policy)


def test_a_file_has_windows_and_fingerprints_stay_without(tmp_path: Any) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('[[secret]]\ncontexts = ["clinic"]\nat = "any"\nover = "month"\n')
    assert read_policy(path)[0].secrets[0].over == "month"
    path.write_text('[[secret]]\ncontexts = ["clinic"]\nat = "any"\nover = 7\nsliding = true\n')
    found = read_policy(path)[0]
    assert (found.secrets[0].over, found.secrets[0].sliding) == (7, True)
    plain = d.Policy([d.Secret("clinic", at="any")])
    assert len({plain.fingerprint, found.fingerprint, replace_over(plain, "week"), replace_over(plain, "month")}) == 4
    assert replace_over(plain, "day") == plain.fingerprint


def replace_over(policy: d.Policy, over: Any) -> str:
    return replace(policy, secrets=(replace(policy.secrets[0], over=over),)).fingerprint


def test_what_habits_tell_of_a_month_is_its_own_prior() -> None:
    """Days that are independent, a visit on each with 1/10: 1 - 0.9^n for a month of n days."""
    chain = d.MarkovChain(("clinic", "home"), [0.1, 0.9], np.zeros((0, 2, 2)))
    routine = Routine({"day": chain}, {("day", "day"): [[0.1, 0.9], [0.1, 0.9]]})
    policy = d.Policy([d.Secret("clinic", at="any", over="month"), d.Secret("today", {"clinic"}, at="any")], odds=2.0)
    told = {one.name: one for part in known(routine, policy).values() for one in part}
    assert told["today"].highest == pytest.approx(0.1)
    assert told["clinic"].highest == pytest.approx(1 - 0.9**31)
    assert told["clinic"].least >= 1 - 0.9**28 - 1e-12
    assert told["clinic"].limit < told["clinic"].highest + (1 - told["clinic"].highest) * 0.6


def test_a_policy_with_a_window_that_comes_in_mid_stream_holds_what_was_not_told() -> None:
    chain = d.MarkovChain(("s", "c"), [0.3, 0.7], [[[0.6, 0.4], [0.2, 0.8]]])
    routine = Routine({"day": chain}, {("day", "day"): [[0.5, 0.5], [0.3, 0.7]]})
    for over, sliding in (("week", False), (3, True)):
        window = d.Policy([d.Secret("long", {"s"}, at="any", over=over, sliding=sliding)], delta=0.05)  # type: ignore[arg-type]
        stream = d.Session(Adaptive(routine.since("2026-11-18"), d.Policy("s", delta=0.3)), rng=SeededEntropy(1))
        for context in "ccsc":
            stream.release(context)
        stream.change(policy=window)
        for context in "csccssccccscsscc":
            stream.release(context)
            rows, beliefs = stream.belief.live()
            assert (beliefs <= rows.limit + 2.0**-40).all()
        point = stream.checkpoint()
        assert stream.belief.rows.closes.max() > stream.slot  # a window is open
        again = d.Session.resume(stream.mechanism, checkpoint=point)
        assert again.belief.digest() == stream.belief.digest()


def test_unrolled_days_have_one_secret_for_each_window() -> None:
    chain = d.MarkovChain(("s", "c"), [0.3, 0.7], [[[0.6, 0.4], [0.2, 0.8]]])
    routine = Routine({"day": chain}, {("day", "day"): [[0.5, 0.5], [0.3, 0.7]]})
    policy = d.Policy([d.Secret("two", {"s"}, at="any", over=2)], delta=0.1)
    machine = Adaptive(routine.since("2026-11-16"), policy)  # an odd ordinal begins a window of two days
    first = dt.date(2026, 11, 16).toordinal() % 2 == 1
    names = [one.name for one in Unrolled(machine, 4).policy.secrets]  # type: ignore[union-attr]
    whole = ["two (days 1 to 2)", "two (days 3 to 4)"]
    assert names == (whole if first else ["two (days 0 to 1)", "two (days 2 to 3)"])
