from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.contexts import Day
from discreet.errors import DiscreetError
from discreet.models import MarkovChain, Models
from discreet.models.arrays import Labels
from discreet.models.chain.week import weekpart
from discreet.models.learning.counts import STRENGTHS, Smoothing, steps_of

Row = tuple[str, ...]


def habits(seed: int, days: int, slots: int = 5, labels: str = "abc") -> list[Row]:
    """Days of a made-up person who mostly stays where they are."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(days):
        row = [str(rng.choice(list(labels)))]
        while len(row) < slots:
            row.append(row[-1] if rng.random() < 0.7 else str(rng.choice(list(labels))))
        rows.append(tuple(row))
    return rows


# The slow twin, from the docstrings: readings are really left out, one by one, and the rest counted again.

Reading = tuple[object, str]  # the row it belongs to, and what was read


def left_out(readings: list[Reading], backing: list[Reading], average_of: dict[object, object]) -> float:
    """The strength under which each reading is best predicted from all others."""
    best, best_score = 1.0, None
    for strength in [Fraction(float(s)) for s in STRENGTHS]:
        score, predicted = Fraction(1), 0
        for row, label in readings:
            rest, usual = readings.copy(), backing.copy()
            rest.remove((row, label))
            usual.remove((average_of[row], label))
            same = [what for where, what in usual if where == average_of[row]]
            if label not in same:
                continue  # seen once in all: no strength predicts it
            predicted += 1
            here = [what for where, what in rest if where == row]
            share = Fraction(same.count(label), len(same))
            score *= (here.count(label) + strength * share) / (len(here) + strength)
        if predicted and (best_score is None or score > best_score):
            best, best_score = float(strength), score
    return best


def slow_fit(rows: list[Row], labels: Row) -> tuple[dict[str, Fraction], dict[tuple[int, str, str], Fraction]]:
    """initial and transitions of smoothing="auto", in fractions."""
    steps: list[Reading] = [((t, row[t]), row[t + 1]) for row in rows for t in range(len(row) - 1)]
    averages: list[Reading] = [(row[t], row[t + 1]) for row in rows for t in range(len(row) - 1)]
    average_of: dict[object, object] = {(t, a): a for t in range(len(rows[0])) for a in labels}
    strength = Fraction(left_out(steps, averages, average_of))
    transitions = {}
    for t, a, b in itertools.product(range(len(rows[0]) - 1), labels, labels):
        usual = [what for where, what in averages if where == a]
        here = [what for where, what in steps if where == (t, a)]
        share = Fraction(usual.count(b), len(usual)) if usual else Fraction(int(a == b))
        transitions[t, a, b] = (here.count(b) + strength * share) / (len(here) + strength)
    starts: list[Reading] = [("start", row[0]) for row in rows]
    everywhere: list[Reading] = [("day", label) for row in rows for label in row]
    start = Fraction(left_out(starts, everywhere, {"start": "day"}))
    seen = Counter(label for row in rows for label in row)
    first = Counter(row[0] for row in rows)
    initial = {a: (first[a] + start * Fraction(seen[a], seen.total())) / (len(rows) + start) for a in labels}
    return initial, transitions


# The last line's data are such that slips (not leaving the reading out of the average, counting a cell once instead of
# each of its readings) choose another strength.
@pytest.mark.parametrize(
    ("seed", "days", "slots"),
    [
        *((0, 6, 5), (1, 12, 4), (2, 3, 6), (3, 1, 4), (4, 9, 2), (5, 5, 1)),
        *((3, 6, 4), (14, 6, 4), (9, 6, 4), (36, 8, 5), (27, 8, 5), (7, 10, 3), (19, 10, 3), (4, 12, 6)),
    ],
)
def test_auto_equals_a_twin_that_leaves_readings_out(seed: int, days: int, slots: int) -> None:
    rows = habits(seed, days, slots)
    chain = MarkovChain.fit(rows)
    initial, transitions = slow_fit(rows, chain.contexts)
    for k, a in enumerate(chain.contexts):
        assert chain.initial[k] == pytest.approx(float(initial[a]), abs=1e-12)
    for (t, a, b), p in transitions.items():
        cell = chain.transitions[t, chain.contexts.index(a), chain.contexts.index(b)]
        assert cell == pytest.approx(float(p), abs=1e-12)


def test_the_strength_follows_the_data() -> None:
    """Where every slot has its own habit the back-off is weak; where slots do not differ it is strong."""
    timed = [("a", "a", "b", "b", "a"), ("a", "b", "b", "a", "a")] * 20
    same = habits(7, 60, 30, "ab")
    weak, strong = MarkovChain.fit(timed), MarkovChain.fit(same)
    index = weak.contexts.index
    assert weak.transitions[2, index("b"), index("a")] == pytest.approx(0.5, abs=0.01)
    assert np.ptp(strong.transitions[:, 0, 0]) < 0.15 < np.ptp(MarkovChain.fit(same, "none").transitions[:, 0, 0])


def test_none_divides_counts_and_a_row_never_seen_stays_put() -> None:
    chain = MarkovChain.fit([("a", "b", "a"), ("a", "a", "a"), ("a", "b", "c")], smoothing="none")
    assert chain.contexts == ("a", "b", "c")
    np.testing.assert_array_equal(chain.initial, [1, 0, 0])
    np.testing.assert_allclose(chain.transitions[0], [[1 / 3, 2 / 3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(chain.transitions[1], [[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]])


def test_contexts_are_ordered_by_falling_frequency_then_name() -> None:
    assert MarkovChain.fit([("z", "b", "z", "a", "unknown", "z")]).contexts == ("z", "a", "b", "unknown")
    given_order = MarkovChain.fit([("a", "b", "b")], contexts=("a", "c", "b"))
    assert given_order.contexts == ("a", "c", "b")
    np.testing.assert_array_equal(given_order.transitions[0, 1], [0, 1, 0])  # never seen: stays put


def test_every_form_of_days_gives_the_same_chain() -> None:
    rows = habits(1, 8)
    forms: list[Labels] = [
        [Day(row) for row in rows],
        rows,
        [list(row) for row in rows],
        np.array(rows),
        np.array(rows, object),
    ]
    assert len({MarkovChain.fit(form).fingerprint for form in forms}) == 1


def same_chain(one: MarkovChain, other: MarkovChain) -> bool:
    """Bit for bit, the counts too."""
    assert one.counts is not None
    assert other.counts is not None
    return (
        one.fingerprint == other.fingerprint
        and one.clock == other.clock
        and (one.counts.contexts, one.counts.smoothing, one.counts.fixed)
        == (other.counts.contexts, other.counts.smoothing, other.counts.fixed)
        and np.array_equal(one.counts.initial, other.counts.initial)
        and np.array_equal(one.counts.transitions, other.counts.transitions)
    )


many_days = st.lists(st.tuples(*[st.sampled_from("abcde")] * 4), min_size=2, max_size=8)


@settings(max_examples=60)
@given(rows=many_days, cut=st.integers(1, 7), smoothing=st.sampled_from(["auto", "none"]))
def test_updated_equals_a_refit_bit_for_bit(rows: list[Row], cut: int, smoothing: Smoothing) -> None:
    cut = min(cut, len(rows) - 1)
    whole = MarkovChain.fit(rows, smoothing)
    parts = MarkovChain.fit(rows[:cut], smoothing).updated(rows[cut:])
    one_by_one = MarkovChain.fit(rows[:1], smoothing)
    for row in rows[1:]:
        one_by_one = one_by_one.updated(Day(row))
    assert same_chain(parts, whole)
    assert same_chain(one_by_one, whole)


def test_updated_takes_new_labels_and_a_new_order() -> None:
    before = [("a", "a", "b")]
    after = [("c", "b", "b"), ("c", "b", "c")]
    first = MarkovChain.fit(before)
    assert first.contexts == ("a", "b")
    learned = first.updated(after)
    assert learned.contexts == ("b", "c", "a")
    assert same_chain(learned, MarkovChain.fit(before + after))
    assert first.contexts == ("a", "b")  # the old chain is as it was


def test_updated_keeps_contexts_that_were_given() -> None:
    labels = ("c", "a", "b")
    learned = MarkovChain.fit([("a", "a", "b")], contexts=labels).updated([("b", "b", "b")])
    assert same_chain(learned, MarkovChain.fit([("a", "a", "b"), ("b", "b", "b")], contexts=labels))
    with pytest.raises(DiscreetError, match=r"slot 1 of day 0 is 'x', which is not a context of the model"):
        learned.updated([("a", "x", "a")])


def dated(rows: list[Row], start: dt.date = dt.date(2026, 1, 1)) -> list[Day]:
    """Consecutive days from a Thursday."""
    return [Day(row, start + dt.timedelta(days=k)) for k, row in enumerate(rows)]


def test_weekparts_are_learned_apart_over_the_same_contexts() -> None:
    days = dated(habits(2, 14))
    week = MarkovChain.fit(days, by="weekpart")
    assert list(week) == ["weekday", "weekend"]
    assert len(week) == 2
    order = MarkovChain.fit(days).contexts
    for part, chain in week.items():
        alone = MarkovChain.fit([day for day in days if day.date and weekpart(day.date) == part], contexts=order)
        assert chain.fingerprint == alone.fingerprint
    assert week.for_date(dt.date(2026, 1, 3)) is week["weekend"]
    assert week.for_date(dt.date(2026, 1, 5)) is week["weekday"]


@pytest.mark.parametrize("contexts", [None, tuple("edcba")])
@pytest.mark.parametrize("known", [1, 2, 5, 13])
def test_weeks_updated_equal_a_refit_bit_for_bit(known: int, contexts: Row | None) -> None:
    """New labels, a new order, and (from one known day) the first weekend."""
    days = dated(habits(3, 7, labels="ab") + habits(4, 7, labels="edc"))
    week = MarkovChain.fit(days[:known], contexts=contexts, by="weekpart")
    for day in days[known:]:
        week = week.updated(day)
    whole = MarkovChain.fit(days, contexts=contexts, by="weekpart")
    assert list(week) == list(whole)
    assert all(same_chain(week[part], whole[part]) for part in whole)


@pytest.mark.parametrize("bad", [None, "", 3, 1.5])
def test_what_is_no_label_is_named_with_its_place(bad: str) -> None:
    with pytest.raises(DiscreetError, match=r"slot 1 of day 1 is .*, not a label; use 'unknown'"):
        MarkovChain.fit([("a", "b"), ("a", bad)])


def test_days_that_cannot_be_learned_say_why() -> None:
    chain = MarkovChain.fit([("a", "b")])
    with pytest.raises(DiscreetError, match=r"there are no days; give at least one"):
        MarkovChain.fit([])
    with pytest.raises(DiscreetError, match=r"day 1 has 1 slots, the first has 2; cut all days with one clock"):
        MarkovChain.fit([("a", "b"), ("a",)])
    with pytest.raises(DiscreetError, match=r"day 0 is 'ab'; a day is a sequence of labels"):
        MarkovChain.fit(["ab"])
    with pytest.raises(DiscreetError, match=r"smoothing='some' is not known; use 'auto' or 'none'"):
        MarkovChain.fit([("a", "b")], "some")  # type: ignore[call-overload]  # the mistake
    with pytest.raises(DiscreetError, match=r"by='month' is not known; use 'weekpart'"):
        MarkovChain.fit([("a", "b")], by="month")  # type: ignore[call-overload]  # the mistake
    with pytest.raises(DiscreetError, match=r"the new days have 3 slots, the chain 2; cut all days with one clock"):
        chain.updated([("a", "b", "a")])
    with pytest.raises(DiscreetError, match=r"slot 1 of day 0 is 'b', which is not a context.*known: 'a'"):
        MarkovChain.fit([("a", "b")], contexts=("a",))


def test_weeks_that_cannot_be_learned_say_why() -> None:
    with pytest.raises(DiscreetError, match=r"learning by weekpart needs the date of each day; give Day"):
        MarkovChain.fit([("a", "b")], by="weekpart")
    week = MarkovChain.fit(dated([("a", "b")]), by="weekpart")
    with pytest.raises(DiscreetError, match=r"2026-01-03 is a weekend, and no weekend was learned; learn from days"):
        week.for_date(dt.date(2026, 1, 3))
    with pytest.raises(DiscreetError, match=r"the new day has no date.*; give Day\(\.\.\., date="):
        week.updated(Day(("a", "b")))
    with pytest.raises(DiscreetError, match=r"the new days have 3 slots, the chain 2"):
        week.updated(Day(("a", "b", "a"), dt.date(2026, 1, 3)))
    given_chain = MarkovChain.homogeneous(("a",), [1], [[1]], 2)
    with pytest.raises(DiscreetError, match=r"the weekday chain was not learned from days.*use MarkovChain.fit"):
        Models({"weekday": given_chain}).updated(Day(("a", "a"), dt.date(2026, 1, 1)))


def test_sequences_of_any_length_give_one_transition() -> None:
    walks = [("a", "b", "a", "a"), ("b",), (), ("b", "c")]
    chain = MarkovChain.fit_sequences(walks, 5)
    assert chain.contexts == ("a", "b", "c")
    assert chain.slots == 5
    # By hand: a is followed by b and a, b by a and c; c is never left. No step leads over an end.
    assert chain.transitions[3].tolist() == [[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0, 1]]
    assert chain.initial.tolist() == [3 / 7, 3 / 7, 1 / 7]
    known = MarkovChain.fit_sequences(walks, 2, start="c", contexts=("c", "b", "a", "never"))
    assert known.initial.tolist() == [1, 0, 0, 0]
    assert known.transitions[0][2].tolist() == [0, 0.5, 0.5, 0]


def test_sequences_agree_with_a_plain_loop() -> None:
    rng = np.random.default_rng(3)
    walks = [[f"c{k}" for k in rng.integers(0, 6, rng.integers(0, 9))] for _ in range(40)]
    order, visits, steps = steps_of(walks)
    for k, one in enumerate(order):
        assert visits[k] == sum(walk.count(one) for walk in walks)
        for j, other in enumerate(order):
            assert steps[k, j] == sum((a, b) == (one, other) for walk in walks for a, b in itertools.pairwise(walk))


@pytest.mark.parametrize(
    ("walks", "told"),
    [([], "no sequences"), ([()], "no sequences"), (["ab"], "one string"), ([("a", "")], "not a label")],
)
def test_bad_sequences_are_told(walks: list[Sequence[str]], told: str) -> None:
    with pytest.raises(DiscreetError, match=told):
        MarkovChain.fit_sequences(walks, 3)
